"""Real time: the same agents in live services, over real networks, with a journal on a real disk."""
