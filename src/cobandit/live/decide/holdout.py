"""The hold-out: a share of decisions that choose evenly from the arms on offer, and that no member learns from.

Their rewards show what would happen without a bandit, and therefore whether the bandit helps. They are counted apart
from the bandit's own, in ordinary cells, so each counts once in the whole fleet, after any restart.
Wherever an arm's name is written (the journal, ids of decisions), the name for a held-out decision has a mark in front.
This file owns the mark and the choice of who is held out. It knows no rewards.
"""

from collections.abc import Sequence

from cobandit.core.places import HELD_OUT, At, apart
from cobandit.live.decide.full_names import split
from cobandit.live.decide.subjects import place_of
from cobandit.values.chance import stream, uniform
from cobandit.values.errors import LocalError
from cobandit.values.tally import Arm

_MARK = f"\x1f{HELD_OUT}\x1f"

LARGEST_HOLDOUT = 0.5
"""The largest share of decisions that may be held out."""


def marked(arm: Arm) -> str:
    """Return the written form of an arm in a held-out decision."""
    return _MARK + arm


def unmarked(written: str) -> tuple[At, Arm]:
    r"""Return the place where a decision's reward is counted, and its arm, given the full name.

    >>> unmarked(marked("A")), unmarked("A"), unmarked("home\x1fde\x1f" + marked("A"))
    ((('', 'held out'), 'A'), (('', ''), 'A'), (('home', '\x1fheld out'), 'A'))
    """
    at, arm = split(written)  # for the plain bandit, the mark parses as the place, like any full name
    return (apart(at[0], HELD_OUT), arm[len(_MARK) :]) if arm.startswith(_MARK) else (at, arm)


def is_marked(written: str) -> bool:
    """Return whether this is the written form of a held-out arm, without bandit and segment."""
    return written.startswith(_MARK)


def is_held_out(written: str) -> bool:
    r"""Return whether a full name is that of a held-out arm.

    >>> is_held_out("home\x1fde\x1f" + marked("A")), is_held_out("home\x1fheld out\x1fA"), is_held_out("A")
    (True, False, False)
    """
    return is_marked(written) or is_marked(split(written)[1])


class Holdout:
    """Chooses which decisions are held out.

    Args:
        share: The share of decisions, or of subjects.
        seed: Seeds the random numbers for decisions without a subject.
        salt: Determines the place of each subject. It is the same at every member, so that a subject is held out
            everywhere or nowhere.
    """

    def __init__(self, share: float, seed: int, salt: str) -> None:
        self._share, self._key, self._salt = share, stream(seed, 1), salt

    def draw(self, arms: Sequence[Arm], subject: str | None, number: int) -> tuple[Arm, float] | None:
        """Return an arm and how likely it was, or `None` if this decision is not held out."""
        if subject is None:
            if uniform(self._key, 2 * number) >= self._share:
                return None
            chance = uniform(self._key, 2 * number + 1)
        else:
            if place_of(subject, f"{self._salt}\0held out") >= self._share:
                return None
            chance = place_of(subject, f"{self._salt}\0evenly")
        return sorted(arms)[int(chance * len(arms))], 1.0 / len(arms)


def check_holdout(share: object) -> None:
    """Refuse a value that cannot be a hold-out's share."""
    is_number = isinstance(share, int | float) and not isinstance(share, bool)
    if not (is_number and 0.0 <= share <= LARGEST_HOLDOUT):  # type: ignore[operator]
        raise LocalError(
            f"holdout must be a number from 0 to {LARGEST_HOLDOUT}, such as 0.05 for one decision in twenty, not "
            f"{share!r}"
        )
