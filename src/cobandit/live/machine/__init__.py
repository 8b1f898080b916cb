"""Packets, rewards and time in; a batch and packets out. No I/O, no loop, one thread."""
