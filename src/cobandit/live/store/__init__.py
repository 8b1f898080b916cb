"""A member's persistent state: what was written survives any crash, and every start begins from it."""
