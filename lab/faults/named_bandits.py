"""The bandits with names of fleets under real faults: one of each kind. This file knows no processes."""

from collections.abc import Mapping
from typing import Any

from cobandit.live.decide.full_names import split

BANDITS: Mapping[str, Mapping[str, Any]] = {
    "home": {"arms": ("red", "green", "blue"), "policy": "ucb"},
    "mail": {"arms": ("red", "green"), "policy": "thompson"},
    "profit": {"arms": ("low", "high"), "policy": "ucb-v", "rewards": (-50.0, 200.0)},
    "season": {"arms": ("old", "new"), "policy": "ucb", "window": "10d"},
    "trend": {"arms": ("up", "down"), "policy": "kl-ucb", "half_life": "2d"},
}
"""How each is declared, by everybody."""

SEGMENTS = ("", "de", "fr/mobile")


def in_range(arm: str, share: float) -> float:
    r"""Return a reward in the range of its bandit, from a number between 0 and 1 and the arm's full name.

    >>> in_range("red", 0.5), in_range("\x1f".join(("profit", "de", "low")), 0.5)
    (0.5, 75.0)
    """
    low, high = BANDITS.get(split(arm)[0][0], {}).get("rewards", (0.0, 1.0))
    return float(low + (high - low) * share)
