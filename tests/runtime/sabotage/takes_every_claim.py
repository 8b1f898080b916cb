"""Breaks the memory of decisions: a reward for one of an earlier start always counts. Run inside a worker."""

from cobandit.runtime.outstanding import PLACES, Outstanding


def claim_everything(self: Outstanding, number: int, run: int) -> bool:
    del self
    return number >> PLACES < run


Outstanding.claim_unwritten = claim_everything  # type: ignore[method-assign]
