"""What operators set and every member obeys: which arms are frozen, whether a kill switch is on, and who is gone.

Each control has a *setting*: a value, its author, and a time. The latest wins, in whatever order settings arrive, so
all members end with the same ones, and a setting that was recorded and is replayed later stays outdated. This file does
not know how settings spread.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from cobandit.codec.serializer import write
from cobandit.core.places import MAX_BANDITS, SEPARATOR
from cobandit.live.decide.full_names import prefix_of, split
from cobandit.values.checks import check_name
from cobandit.values.errors import LocalError
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, Arm

KILL = "kill"
FROZEN = "frozen"
"""The value of a frozen arm's switch."""

_FREEZE = "freeze "

GONE = "gone"
"""The value of the switch of a member that must be forgotten."""

_FORGET = "forget "

_KILL_ONE = "kill "

STAMPS_A_SECOND = 1000

_NUMBERS = 32
"""Bytes, more than enough for all parts of a setting in a message except its texts."""

FURTHEST_AHEAD = 600.0
"""Seconds by which a stamp may be ahead of this member's time of day. Clocks are wrong, but no author may override all
others for long."""

MOST_TOLD = MOST_ARMS + 1
"""How many settings one message carries at most."""

MOST_FROZEN = MOST_ARMS
"""Beyond this many arms, the oldest settings are forgotten. The fleet's kill switch is never forgotten."""

MAX_NAMES_TO_FORGET = 256
"""The same for members to forget: all settings must fit one message."""


def freezing(arm: Arm) -> str:
    """Return the key of the switch that freezes an arm."""
    return _FREEZE + arm


def killing(bandit: str) -> str:
    """Return the key of the kill switch of one bandit."""
    return _KILL_ONE + bandit


def freezing_in(bandit: str, arm: Arm) -> str:
    """Return the key of the switch that freezes an arm of one bandit."""
    return _FREEZE + prefix_of((bandit, "")) + arm


def forgetting(name: str) -> str:
    """Return the key of the switch that makes members forget a member."""
    return _FORGET + name


class Setting(NamedTuple):
    """The value of one control."""

    key: str
    value: str | None
    stamp: int
    """When it was set, in milliseconds since 1970, by its author's clock; later than any stamp the author knew
    before."""
    by: str


def stamp_at(time_of_day: float, last: int = 0) -> int:
    """Return the stamp of a setting that is made now and replaces one with the last stamp."""
    return max(int(time_of_day * STAMPS_A_SECOND), last + 1)


def in_parts(settings: Iterable[Setting], room: int) -> Iterator[tuple[Setting, ...]]:
    """Yield the settings in parts of at most `room` bytes and `MOST_TOLD` settings each; nothing if there are none.

    A setting that does not fit is a part by itself.

    >>> [len(part) for part in in_parts([Setting("kill", None, 1, "x")] * 5, 120)]
    [3, 2]
    """
    part, left = list[Setting](), room
    for setting in settings:
        size = _NUMBERS + sum(len((text or "").encode()) for text in (setting.key, setting.value, setting.by))
        if part and (size > left or len(part) == MOST_TOLD):
            yield tuple(part)
            part, left = [], room
        part.append(setting)
        left -= size
    if part:
        yield tuple(part)


class Heard(NamedTuple):
    """The result of merging settings."""

    is_news: bool
    refused: tuple[str, ...]
    """Why settings were refused, for the log. A member that merely passed them on may be honest all the same."""


class Controls:
    """All controls, as far as this member knows them.

    >>> controls = Controls()
    >>> controls.turn("kill", "A", 1_800_000_000.0, by="edge-7")
    >>> controls.control_arm
    'A'
    """

    def __init__(self, settings: Iterable[Setting] = ()) -> None:
        self._settings = {setting.key: setting for setting in settings}

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting, by key."""
        return tuple(self._settings[key] for key in sorted(self._settings))

    @property
    def digest(self) -> bytes:
        """A short fingerprint of all settings: equal digests mean equal settings. Empty if nothing was set."""
        if not self._settings:
            return b""
        return blake2b(write(self.settings), digest_size=8).digest()

    @property
    def latest(self) -> int:
        """The highest stamp of all settings; 0 if there are none."""
        return max((setting.stamp for setting in self._settings.values()), default=0)

    @property
    def control_arm(self) -> Arm | None:
        """The arm that all members pull while the kill switch is on."""
        setting = self._settings.get(KILL)
        return None if setting is None else setting.value

    def control_arm_of(self, bandit: str, offered: Collection[Arm]) -> Arm | None:
        """The arm to pull for one bandit, if it is offered: by its own kill switch, or else by the whole fleet's."""
        setting = self._settings.get(killing(bandit))
        own = None if setting is None else setting.value
        return next((arm for arm in (own, self.control_arm) if arm in offered), None)

    def frozen_in(self, bandit: str) -> frozenset[Arm]:
        """The arms of one bandit that get no traffic."""
        prefix = prefix_of((bandit, ""))
        return frozenset(arm.removeprefix(prefix) for arm in self.frozen if arm.startswith(prefix))

    @property
    def frozen(self) -> frozenset[Arm]:
        """The arms that get no traffic."""
        return frozenset(
            key.removeprefix(_FREEZE)
            for key, setting in self._settings.items()
            if key.startswith(_FREEZE) and setting.value is not None
        )

    @property
    def forgotten(self) -> dict[str, int]:
        """The members that are gone, each with the stamp of an operator's setting."""
        settings = self._settings.items()
        return {key.removeprefix(_FORGET): setting.stamp for key, setting in settings if key.startswith(_FORGET)}

    def available(self, arms: Sequence[Arm]) -> tuple[Arm, ...]:
        """Return which of these arms may be pulled. If all are frozen, the freeze is ignored."""
        control_arm = self.control_arm
        if control_arm is not None and control_arm in arms:
            return (control_arm,)
        frozen = self.frozen
        return tuple(arm for arm in arms if arm not in frozen) or tuple(arms)

    def turn(self, key: str, value: str | None, time_of_day: float, *, by: str) -> None:
        """Set a control, here and now."""
        present = self._settings.get(key)
        self._settings[key] = Setting(key, value, stamp_at(time_of_day, present.stamp if present else 0), by)
        self._forget()

    def has_news(self, settings: Iterable[Setting]) -> bool:
        """Return whether any of these settings is new here."""
        return any(
            (old := self._settings.get(setting.key)) is None or _rank(setting) > _rank(old) for setting in settings
        )

    def merge(self, settings: Iterable[Setting], time_of_day: float) -> Heard:
        """Take the acceptable ones of another member's settings."""
        before, refused = dict(self._settings), list[str]()
        for setting in settings:
            why = _wrong_with(setting, time_of_day)
            old = self._settings.get(setting.key)
            if why is not None:
                refused.append(why)
            elif old is None or _rank(setting) > _rank(old):
                self._settings[setting.key] = setting
        self._forget()
        return Heard(self._settings != before, tuple(refused))

    def __str__(self) -> str:
        return ", ".join(self.in_words()) or "none are set"

    def in_words(self) -> list[str]:
        """Return which controls are on, each in a few words."""
        parts = [] if self.control_arm is None else [f"the kill switch is on, to {self.control_arm}"]
        killed = [(key, setting) for key, setting in sorted(self._settings.items()) if key.startswith(_KILL_ONE)]
        parts += [
            f"the kill switch of {key.removeprefix(_KILL_ONE)} is on, to {setting.value}"
            for key, setting in killed
            if setting.value is not None
        ]
        for at, arm in map(split, sorted(self.frozen)):
            parts.append(f"{arm} of {at[0]} is frozen" if at[0] else f"{arm} is frozen")
        return parts

    def _forget(self) -> None:
        """Keep the latest settings of each kind if there are too many. The order of arrival does not matter."""
        for prefix, most in ((_FREEZE, MOST_FROZEN), (_FORGET, MAX_NAMES_TO_FORGET), (_KILL_ONE, MAX_BANDITS)):
            alike = sorted((s for s in self._settings.values() if s.key.startswith(prefix)), key=_rank)
            for setting in alike[: max(0, len(alike) - most)]:
                del self._settings[setting.key]


def _wrong_with(setting: Setting, time_of_day: float) -> str | None:
    """Return why a setting is refused, or `None`."""
    key, value, stamp, by = setting
    try:
        check_name("who turned a control", by, LONGEST_NAME)
        names = 2 if SEPARATOR in key else 1
        check_name("a control", key, names * (LONGEST_NAME + 2) - 2 + max(len(_FREEZE), len(_FORGET)))
        if value is not None:
            check_name("the value of a control", value, LONGEST_NAME)
    except LocalError as error:
        return str(error)
    if stamp <= 0 or not (key == KILL or key.startswith((_FREEZE, _FORGET, _KILL_ONE))):
        return f"{by} has set {key!r}, which is no control here"
    ahead = stamp / STAMPS_A_SECOND - time_of_day
    if ahead > FURTHEST_AHEAD:
        return (
            f"{by} has set {key!r} {ahead / 60.0:.0f} minutes ahead of this member's clock: set the clock of {by}, or "
            "of this computer. Until then it is not obeyed here"
        )
    return None


def _rank(setting: Setting) -> tuple[int, str, str, str]:
    return setting.stamp, setting.by, setting.value or "", setting.key
