"""Picks an arm in microseconds, on the caller's thread: no I/O, no waiting, no peers."""
