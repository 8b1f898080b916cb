"""In which value two members declare one bandit differently, in the words in which it is declared.

What must be the same is for the core (`places.difference`), which counts quanta and periods. Users say `quantum`,
`window` and `half_life`; this file says it as they do.
"""

from cobandit.core.places import Bandit, difference

_UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def difference_in_words(mine: Bandit, theirs: Bandit, here: str = "here", there: str = "there") -> str | None:
    """Return what differs, and how it is here and there; `None` if the two can share the bandit.

    >>> week, fortnight = (Bandit("home", ("A",), 100, days * 8640.0, 10) for days in (7, 14))
    >>> difference_in_words(week, fortnight)
    'window: 7d here, 14d there'
    >>> difference_in_words(week, week._replace(units_per_reward=200))
    'quantum: 0.01 here, 0.005 there'
    """
    if difference(mine, theirs) is None:
        return None
    if mine.rewards != theirs.rewards:
        return f"rewards: {mine.rewards} {here}, {theirs.rewards} {there}"
    if mine.units_per_reward != theirs.units_per_reward:
        return f"quantum: {_quantum(mine)} {here}, {_quantum(theirs)} {there}"
    (kind, one), (other_kind, other) = _forgets(mine), _forgets(theirs)
    if kind is not None and other_kind not in (None, kind):
        return f"{kind} of {one} {here}, {other_kind} of {other} {there}"
    return f"{kind or other_kind}: {one} {here}, {other} {there}"


def _quantum(bandit: Bandit) -> str:
    low, high = bandit.rewards
    return f"{(high - low) / bandit.units_per_reward:g}"


def _forgets(bandit: Bandit) -> tuple[str | None, str]:
    if not bandit.period:
        return None, "none"
    if bandit.half_life:
        return "half_life", _duration(bandit.half_life)
    return "window", _duration(bandit.period * bandit.periods)


def _duration(seconds: float) -> str:
    """Return seconds as they are usually said.

    >>> _duration(604_800.0), _duration(90.0), _duration(0.5)
    ('7d', '90s', '0.5s')
    """
    size, unit = next((one for one in _UNITS if seconds % one[0] == 0.0), _UNITS[-1])
    return f"{seconds / size:g}{unit}"
