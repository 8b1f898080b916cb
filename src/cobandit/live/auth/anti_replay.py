"""Accepts each number once: remembers which sequence numbers of a sender were seen, in bounded memory.

Only numbers of authenticated packets get here.
"""

WIDTH = 2048
"""How many later packets of its sender may overtake a packet. An older one counts as a replay."""
MOST_SENDERS = 4096
"""How many senders are remembered. Beyond that, the one that was silent longest is forgotten, and counts as new."""

_MASK = (1 << WIDTH) - 1


class ReplayWindows:
    """The numbers seen from each sender."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[int, int]] = {}
        """The highest number, and a bitmap of seen numbers counted down from it. The longest silent sender comes
        first."""

    def admit(self, sender: str, number: int) -> bool:
        """Return whether this number is new, and remember it.

        >>> windows = ReplayWindows()
        >>> [windows.admit("a", number) for number in (7, 9, 8, 9, 7 - WIDTH)]
        [True, True, True, False, False]
        """
        windows = self._windows
        highest, seen = windows.pop(sender, (-1, 0))
        ahead = number - highest
        is_new = True
        if ahead > 0:
            highest, seen = number, ((seen << ahead) | 1) & _MASK if ahead < WIDTH else 1
        elif -ahead < WIDTH and not seen >> -ahead & 1:
            seen |= 1 << -ahead
        else:
            is_new = False
        windows[sender] = highest, seen
        if len(windows) > MOST_SENDERS:
            del windows[next(iter(windows))]
        return is_new
