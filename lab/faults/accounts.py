"""Compares what members know with what really happened. This file knows looks and truths, and no processes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lab.faults.orders import Look
from lab.faults.truth import THOUSAND, Bounds, Tallies

HONEST_REFUSALS = frozenset({"stranger", "replayed", "flood"})
"""What may be refused though everybody is honest: after restarts, and on networks that double packets."""


class Balance(NamedTuple):
    """What the fleet counted, against what really happened."""

    counted: int
    lost: int
    twice: int
    violations: tuple[str, ...]


def known_of(look: Look, member: str) -> Tallies:
    """Return what one member knows of another's observations, of all starts."""
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for origin in look.origins:
        if origin.member == member:
            for arm, count, total, _ in origin.tallies:
                counts[arm] += count
                sums[arm] += total
    return {arm: (count, sums[arm]) for arm, count in counts.items() if count}


def disagreements(looks: Mapping[str, Look]) -> list[str]:
    """Return which members know something else of another than that one itself.

    A leaf has no rows of others: it must decide by as many observations as its relay.
    """
    most = {
        arm: max(look.known.get(arm, 0) for look in looks.values()) for look in looks.values() for arm in look.known
    }
    found = [
        f"{name} decides by {look.known}, others by {most}"
        for name, look in looks.items()
        if look.homes and look.known != most
    ]
    for owner in looks:
        own = known_of(looks[owner], owner)
        found += [
            f"{name} knows {_written(known)} of {owner}, which has {_written(own)}"
            for name, look in looks.items()
            if name != owner and not look.homes and (known := known_of(look, owner)) != own
        ]
    return found


def balance(looks: Mapping[str, Look], bounds: Bounds) -> Balance:
    """Return what the members have counted of themselves, arm by arm, and whether that can be."""
    counted = lost = twice = 0
    violations = []
    for name, look in looks.items():
        own, least, most = known_of(look, name), bounds.least.get(name, {}), bounds.most.get(name, {})
        for arm in sorted({*own, *least, *most}):
            (count, total), (fewest, lowest), (many, highest) = (
                tallies.get(arm, (0, 0)) for tallies in (own, least, most)
            )
            counted += count
            lost += max(0, fewest - count)
            twice += max(0, count - many)
            if not (fewest <= count <= many and lowest <= total <= highest):
                violations.append(
                    f"{name} has counted {count} of {arm} with sum {total}; synced were {fewest} with sum {lowest}, "
                    f"handed over {many} with sum {highest}"
                )
            if (total - count) % THOUSAND:
                violations.append(
                    f"{name} has a sum of {total} for {count} observations of {arm}: no rewards add to that"
                )
    return Balance(counted, lost, twice, tuple(violations))


def refusals(looks: Iterable[tuple[str, Look]], excepted: str = "") -> list[str]:
    """Return what members refused that no honest member says."""
    return [
        f"{name} has refused {count} packets as {reason}"
        for name, look in looks
        for reason, count in look.refused.items()
        if reason not in HONEST_REFUSALS and reason != excepted
    ]


def talking(looks: Mapping[str, Look]) -> int:
    """Return of how many directed pairs the second knows everything of the first, its last word included."""
    own = {name: known_of(look, name) for name, look in looks.items()}
    return sum(
        bool(look.homes) or known_of(look, speaker) == own[speaker]  # of a leaf `disagreements` looks at the totals
        for name, look in looks.items()
        for speaker in looks
        if speaker != name
    )


def _written(tallies: Tallies) -> str:
    return ", ".join(f"{arm} {count}/{total}" for arm, (count, total) in sorted(tallies.items())) or "nothing"
