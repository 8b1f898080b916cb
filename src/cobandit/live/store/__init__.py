"""What was written is there after any crash, and is the only way to start."""
