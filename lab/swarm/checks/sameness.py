"""Invariant 8: the same seed does the same."""


def difference(seed: int, first: str, second: str) -> list[str]:
    """Return whether two runs of one seed have different fingerprints."""
    return [] if first == second else [f"seed {seed} was run twice and did not do the same"]
