"""What a scenario found: counts, and every sentence that did not hold."""

from typing import NamedTuple


class Verdict(NamedTuple):
    """One scenario, after its faults."""

    scenario: str
    members: int = 0
    faults: int = 0
    """Kills, pauses, restarts, lost packets: whatever the scenario counts."""
    handed: int = 0
    """Decisions for which a reward was handed over, at least once."""
    synced: int = 0
    """Those for which a sync has said that the reward is safe."""
    counted: int = 0
    """Observations that the fleet has counted in the end."""
    lost: int = 0
    """Synced, but not counted. Must be 0."""
    twice: int = 0
    """Counted beyond what was handed over. Must be 0."""
    talking: int = 0
    """Directed pairs of which one has heard the other's last word, made after the faults."""
    pairs: int = 0
    seconds: float = 0.0
    violations: tuple[str, ...] = ()
    skipped: str | None = None
    """Why it was not tried, if so."""
    notes: str = ""
    """What else there was to see."""

    @property
    def is_good(self) -> bool:
        """Whether everything held, or it was not tried."""
        return not self.violations
