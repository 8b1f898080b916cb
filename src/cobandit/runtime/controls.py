"""What operators say and every member obeys: which arms are frozen, and whether the kill switch is on.

Each control is a register that the latest word wins. "Latest" is a counter that is always above all counters seen, and
the name of the speaker where two speak at once, so that all members end with the same whatever order they hear it in.
This file does not know how the word spreads.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from cobandit.codec.serializer import write
from cobandit.values.checks import check_name
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, Arm

KILL = "kill"
FROZEN = "frozen"
"""The value of the switch of an arm that is frozen."""

_FREEZE = "freeze "

COUNTS_A_SECOND = 1000
SPARE_COUNTS = 2**20
"""People who turn switches stay below so many words since 1970, and so many more where clocks are wrong.

The limit rises with the time: so whatever counter is let in, soon a higher one is too, and nobody has the last word
for good. That a member knows only lower ones says nothing: it may be new.
"""

MOST_FROZEN = MOST_ARMS
"""Of more arms than this, the words that were said first are forgotten. The kill switch is never forgotten."""


def freezing(arm: Arm) -> str:
    """Return the key of the switch that freezes an arm."""
    return _FREEZE + arm


class Setting(NamedTuple):
    """The latest word on one control."""

    key: str
    value: str | None
    counter: int
    by: str


class Controls:
    """All controls, as far as this member has heard.

    >>> controls = Controls()
    >>> controls.kill("A", by="edge-7")
    >>> controls.control_arm
    'A'
    """

    def __init__(self, settings: Iterable[Setting] = ()) -> None:
        self._settings = {setting.key: setting for setting in settings}

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every word, by key."""
        return tuple(self._settings[key] for key in sorted(self._settings))

    @property
    def digest(self) -> bytes:
        """A short name of all of it: who has the same digest has heard the same. Empty if nothing was said."""
        if not self._settings:
            return b""
        return blake2b(write(self.settings), digest_size=8).digest()

    @property
    def control_arm(self) -> Arm | None:
        """The arm that everybody pulls while the kill switch is on."""
        setting = self._settings.get(KILL)
        return None if setting is None else setting.value

    @property
    def frozen(self) -> frozenset[Arm]:
        """The arms that get no traffic."""
        return frozenset(
            key.removeprefix(_FREEZE)
            for key, setting in self._settings.items()
            if key.startswith(_FREEZE) and setting.value is not None
        )

    def available(self, arms: Sequence[Arm]) -> tuple[Arm, ...]:
        """Return which of these arms may be pulled. If all are frozen nobody can obey, so none is."""
        control_arm = self.control_arm
        if control_arm is not None and control_arm in arms:
            return (control_arm,)
        frozen = self.frozen
        return tuple(arm for arm in arms if arm not in frozen) or tuple(arms)

    def kill(self, control_arm: Arm | None, *, by: str) -> None:
        """Turn the kill switch on, to this arm, or (`None`) off."""
        self._say(KILL, control_arm, by)

    def freeze(self, arm: Arm, *, is_frozen: bool, by: str) -> None:
        """Freeze an arm, or give it back to the policy."""
        self._say(freezing(arm), FROZEN if is_frozen else None, by)

    def turn(self, key: str, value: str | None, now: float, *, by: str) -> bool:
        """Turn a switch because another wants it. Return whether it was not so already.

        Raises:
            PeerError: There is no such switch. Nothing changed.
        """
        present = self._settings.get(key)
        if (None if present is None else present.value) == value:
            return False
        return self.merge([Setting(key, value, self._highest() + 1, by)], now)

    def merge(self, settings: Iterable[Setting], now: float) -> bool:
        """Take another member's words. Return whether any was news.

        Args:
            settings: The words.
            now: What time it is, in seconds since 1970.

        Raises:
            PeerError: They cannot be right. Nothing changed.
        """
        heard = tuple(settings)
        highest = int(now * COUNTS_A_SECOND) + SPARE_COUNTS
        for setting in heard:
            is_known_key = setting.key == KILL or setting.key.startswith(_FREEZE)
            if not is_known_key or not 0 < setting.counter <= highest:
                raise PeerError(
                    f"{setting.by[:LONGEST_NAME]} sent an impossible control {setting.key[:LONGEST_NAME]!r}"
                )
            try:
                check_name("who turned a control", setting.by, LONGEST_NAME)
                check_name("a control", setting.key, LONGEST_NAME + len(_FREEZE))
                if setting.value is not None:
                    check_name("the value of a control", setting.value, LONGEST_NAME)
            except LocalError as error:  # they are the peer's words, so the peer must act
                raise PeerError(str(error)) from error
        before = dict(self._settings)
        for setting in heard:
            old = self._settings.get(setting.key)
            if old is None or _rank(setting) > _rank(old):
                self._settings[setting.key] = setting
        self._forget()
        return self._settings != before

    def __str__(self) -> str:
        parts = [] if self.control_arm is None else [f"the kill switch is on, to {self.control_arm}"]
        parts += [f"{arm} is frozen" for arm in sorted(self.frozen)]
        return ", ".join(parts) or "all are lifted"

    def _say(self, key: str, value: str | None, by: str) -> None:
        self._settings[key] = Setting(key, value, self._highest() + 1, by)
        self._forget()

    def _forget(self) -> None:
        """Keep the latest words on arms if there are too many: the same ones in whatever order they were heard."""
        freezes = sorted((s for s in self._settings.values() if s.key != KILL), key=_rank)
        for setting in freezes[: max(0, len(freezes) - MOST_FROZEN)]:
            del self._settings[setting.key]

    def _highest(self) -> int:
        return max((setting.counter for setting in self._settings.values()), default=0)


def _rank(setting: Setting) -> tuple[int, str, str, str]:
    return setting.counter, setting.by, setting.value or "", setting.key
