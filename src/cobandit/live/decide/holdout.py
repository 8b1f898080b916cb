"""The hold-out: a share of decisions that are made evenly over the arms on offer, and that nobody learns from.

What they bring is what there would be without a bandit, so it says whether the bandit helps. Their rewards are counted
apart, beside their bandit: cells as any others, so each counts once in the whole fleet, after any restart.
Where an arm's name is written (the journal, ids of decisions) that of a held-out decision has a mark before it. This
file owns the mark and who is held out. It knows no rewards.
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
    """Return how the arm of a held-out decision is written."""
    return _MARK + arm


def unmarked(written: str) -> tuple[At, Arm]:
    r"""Return where the reward of a decision is counted, and its arm, as they are written in full.

    >>> unmarked(marked("A")), unmarked("A"), unmarked("home\x1fde\x1f" + marked("A"))
    ((('', 'held out'), 'A'), (('', ''), 'A'), (('home', '\x1fheld out'), 'A'))
    """
    at, arm = split(written)  # of the plain bandit, the mark says the place as any full name does
    return (apart(at[0], HELD_OUT), arm[len(_MARK) :]) if arm.startswith(_MARK) else (at, arm)


def is_marked(written: str) -> bool:
    """Return whether this is how the arm of a held-out decision is written, without its bandit and segment."""
    return written.startswith(_MARK)


def is_held_out(written: str) -> bool:
    r"""Return the same of an arm that is written in full.

    >>> is_held_out("home\x1fde\x1f" + marked("A")), is_held_out("home\x1fheld out\x1fA"), is_held_out("A")
    (True, False, False)
    """
    return is_marked(written) or is_marked(split(written)[1])


class Holdout:
    """Who is held out.

    Args:
        share: The share of decisions, or of subjects.
        seed: Of the chance by which decisions without a subject are held out.
        salt: By which subjects are: the same at every member, so that a subject is held out everywhere or nowhere.
    """

    def __init__(self, share: float, seed: int, salt: str) -> None:
        self._share, self._key, self._salt = share, stream(seed, 1), salt

    def draw(self, arms: Sequence[Arm], subject: str | None, number: int) -> tuple[Arm, float] | None:
        """Return an arm, and how likely it was, if this decision is held out; `None` if it is not."""
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
    """Refuse what cannot be the share of a hold-out."""
    is_number = isinstance(share, int | float) and not isinstance(share, bool)
    if not (is_number and 0.0 <= share <= LARGEST_HOLDOUT):  # type: ignore[operator]
        raise LocalError(
            f"holdout must be a number from 0 to {LARGEST_HOLDOUT}, such as 0.05 for one decision in twenty, not "
            f"{share!r}"
        )
