"""The only package with a loop, a thread and a clock: it assembles the others into a member."""
