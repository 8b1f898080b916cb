"""The value in which two members declare one bandit differently, in the terms of its declaration.

The core (`places.difference`) decides what must be equal, and counts in quanta and periods. Users write `quantum`,
`window` and `half_life`; this file translates.
"""

from cobandit.core.places import Bandit, difference

_UNITS = ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


def difference_in_words(mine: Bandit, theirs: Bandit, here: str = "here", there: str = "there") -> str | None:
    """Return what differs, and both values; `None` if the two members can share the bandit.

    >>> week, fortnight = (Bandit("home", ("A",), 100, days * 8640.0, 10) for days in (7, 14))
    >>> difference_in_words(week, fortnight)
    'window: 7d here, 14d there'
    >>> difference_in_words(week, week._replace(units_per_reward=200))
    'quantum: 0.01 here, 0.005 there'
    >>> difference_in_words(week, week._replace(period=30_240.0, periods=20))
    'periods: 10 of 60480s here, 20 of 30240s there'
    """
    if difference(mine, theirs) is None:
        return None
    if mine.rewards != theirs.rewards:
        return f"rewards: {mine.rewards} {here}, {theirs.rewards} {there}"
    if mine.units_per_reward != theirs.units_per_reward:
        one, other = _quantum(mine), _quantum(theirs)
        if one == other:
            one, other = (f"1/{bandit.units_per_reward} of the range" for bandit in (mine, theirs))
        return f"quantum: {one} {here}, {other} {there}"
    (kind, one), (other_kind, other) = _forgets(mine), _forgets(theirs)
    if kind == other_kind and one == other:
        return f"periods: {_periods(mine)} {here}, {_periods(theirs)} {there}"
    if kind is not None and other_kind not in (None, kind):
        return f"{kind} of {one} {here}, {other_kind} of {other} {there}"
    return f"{kind or other_kind}: {one} {here}, {other} {there}"


def _quantum(bandit: Bandit) -> str:
    low, high = bandit.rewards
    return _exact((high - low) / bandit.units_per_reward)


def _forgets(bandit: Bandit) -> tuple[str | None, str]:
    if not bandit.period:
        return None, "none"
    if bandit.half_life:
        return "half_life", _duration(bandit.half_life)
    return "window", _duration(bandit.period * bandit.periods)


def _periods(bandit: Bandit) -> str:
    """Return everything that determines what a bandit forgets, to the last digit."""
    half_life = f" with a half_life of {_exact(bandit.half_life)}s" if bandit.half_life else ""
    return f"{bandit.periods} of {_exact(bandit.period)}s{half_life}"


def _exact(number: float) -> str:
    """Return a number as text that is unique to it.

    >>> _exact(1e6), _exact(1_000_001.0), _exact(0.005)
    ('1000000', '1000001', '0.005')
    """
    return repr(float(number)).removesuffix(".0")


def _duration(seconds: float) -> str:
    """Return seconds in the usual notation.

    >>> _duration(604_800.0), _duration(90.0), _duration(0.5)
    ('7d', '90s', '0.5s')
    """
    size, unit = next((one for one in _UNITS if seconds % one[0] == 0.0), _UNITS[-1])
    return f"{_exact(seconds / size)}{unit}"
