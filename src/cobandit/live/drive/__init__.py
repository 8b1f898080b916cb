"""The only room with a loop, a thread and a clock: it brings the others together as a member."""
