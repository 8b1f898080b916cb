"""The status of a member and of a fleet, as values."""
