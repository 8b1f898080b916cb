"""How a member and a fleet are, as values."""
