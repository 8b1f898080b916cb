"""Each number once: remembers which sequence numbers of a sender were seen, in bounded memory.

Only numbers of authenticated packets come here.
"""

WIDTH = 2048
"""How far a packet may be overtaken by its sender's later ones. One that is older is taken for a replay."""
MOST_SENDERS = 4096
"""Senders that are remembered; then the one that was longest silent is forgotten, and counts as new."""

_MASK = (1 << WIDTH) - 1


class ReplayWindows:
    """The numbers seen, by sender."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[int, int]] = {}
        """The highest number, and a bit for each number seen, counted down from it. The longest silent comes first."""

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
