"""The page: what a fleet has learned, and who talks to whom. It reads statistics, and owns no protocol logic."""
