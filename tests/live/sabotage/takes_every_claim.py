"""Breaks the memory of decisions: a reward for one of an earlier start always counts. Run inside a worker."""

from cobandit.live.machine.open_decisions import PLACES, OpenDecisions


def claim_everything(self: OpenDecisions, number: int, run: int) -> bool:
    del self
    return number >> PLACES < run


OpenDecisions.claim_unwritten = claim_everything  # type: ignore[method-assign]
