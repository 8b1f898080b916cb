"""Takes packets, rewards and time; returns a batch to write and packets to send. No I/O, no loop, one thread."""
