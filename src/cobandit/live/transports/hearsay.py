"""Addresses that others have reported, but at which no member has answered yet: whether, and how often, to try them.

A member that has proved its name may still lie. So its reports cost this side a bounded number of attempts. Each
address is only known from its reporters, and is forgotten when the last of them is gone. An address at which a member
has answered is no longer hearsay. This file dials nobody and has no clock.
"""

from cobandit.live.transports.addresses import pause
from cobandit.values.allowance import Allowance

MAX_UNANSWERED = 1024
"""Addresses that are tried because one member reported them. A mesh of a thousand is reported as a whole."""

MAX_DIALS_AT_ONCE = 256
MAX_DIALS_PER_SECOND = 16
"""Attempts at such addresses, for each reporting member."""

DOUBTFUL_AFTER = 8
"""Attempts, about half a minute, after which an address is doubtful."""

MAX_DOUBTFUL = 64
"""Doubtful addresses of one reporter that are still tried. A member that was cut off forgets many others, but each of
those keeps looking for it."""

MAX_UNANSWERED_ATTEMPTS = 200
"""After this many, about an hour, an address is given up."""

LONGEST_UNANSWERED_PAUSE = 20.0
REST_SECONDS = 3600.0
"""Seconds for which an address that was given up is not tried, no matter which member reports it."""

MAX_RESTING = 4096
MAX_TELLERS = 4096
"""How many are remembered: addresses that were given up, and members that have reported any."""

MAX_WITNESSES = 8
"""Reporters that are kept for each address. It is forgotten when all of them are gone."""


class _Teller:
    __slots__ = ("allowance", "doubtful", "heard")

    def __init__(self) -> None:
        self.allowance = Allowance(MAX_DIALS_PER_SECOND, MAX_DIALS_AT_ONCE)
        self.heard: set[str] = set()
        """Addresses that are tried because of it."""
        self.doubtful: set[str] = set()


class _Heard:
    __slots__ = ("attempts", "witnesses")

    def __init__(self, teller: str) -> None:
        self.witnesses = [teller]
        """The first one is the reporter on whose account the address is tried."""
        self.attempts = 0


class Hearsay:
    """What member `me` has heard and not yet confirmed."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._heard: dict[str, _Heard] = {}
        self._tellers: dict[str, _Teller] = {}
        self._resting: dict[str, float] = {}
        """The time until which each address that was given up is not tried."""

    def __contains__(self, address: str) -> bool:
        return address in self._heard

    def told(self, teller: str, address: str, now: float) -> bool:
        """Note that a member has reported an address. Return whether to start trying it."""
        known = self._heard.get(address)
        if known is not None:
            if teller not in known.witnesses and len(known.witnesses) < MAX_WITNESSES:
                known.witnesses.append(teller)
            return False
        if now < self._resting.get(address, now):
            return False
        record = self._teller(teller, now)
        if record is None or len(record.heard) >= MAX_UNANSWERED:
            return False
        record.heard.add(address)
        self._heard[address] = _Heard(teller)
        return True

    def wait(self, address: str, now: float) -> float:
        """Return how many seconds to wait before the next attempt, given its reporter's allowance."""
        known = self._heard.get(address)
        return 0.0 if known is None else self._tellers[known.witnesses[0]].allowance.wait(now)

    def failed(self, address: str, now: float) -> float | None:
        """Note a failed attempt. Return how many seconds to pause, or `None` if the address is given up."""
        known = self._heard[address]
        known.attempts += 1
        doubtful = self._tellers[known.witnesses[0]].doubtful
        if known.attempts >= DOUBTFUL_AFTER and address not in doubtful and len(doubtful) < MAX_DOUBTFUL:
            doubtful.add(address)
        is_over = known.attempts >= DOUBTFUL_AFTER and address not in doubtful
        if is_over or known.attempts >= MAX_UNANSWERED_ATTEMPTS:
            self.answered(address)
            self._resting.pop(address, None)
            self._resting[address] = now + REST_SECONDS
            if len(self._resting) > MAX_RESTING:
                del self._resting[next(iter(self._resting))]
            return None
        return pause(known.attempts, me=self._me, there=address, longest=LONGEST_UNANSWERED_PAUSE)

    def answered(self, address: str) -> None:
        """Note that the address is no longer hearsay. Does nothing if it is not."""
        known = self._heard.pop(address, None)
        if known is not None:
            self._tellers[known.witnesses[0]].heard.discard(address)
            self._tellers[known.witnesses[0]].doubtful.discard(address)

    def gone(self, teller: str, now: float) -> list[str]:
        """Note that a member has gone. Return the addresses without a remaining reporter, which are forgotten."""
        record, forgotten = self._tellers.get(teller), list[str]()
        for address, known in tuple(self._heard.items()):
            if teller not in known.witnesses:
                continue
            is_charged = known.witnesses[0] == teller
            known.witnesses.remove(teller)
            next_one = self._teller(known.witnesses[0], now) if known.witnesses else None
            if next_one is None:
                del self._heard[address]
                forgotten.append(address)
            elif is_charged:
                next_one.heard.add(address)
        if record is not None:
            record.heard.clear()
            record.doubtful.clear()
        return forgotten

    def _teller(self, name: str, now: float) -> _Teller | None:
        """Return the record of a member. A member that leaves and returns gains no attempts."""
        record = self._tellers.get(name)
        if record is None:
            if len(self._tellers) >= MAX_TELLERS:
                idle = [one for one, it in self._tellers.items() if not it.heard and it.allowance.is_full(now)]
                for one in idle:
                    del self._tellers[one]
            if len(self._tellers) < MAX_TELLERS:
                record = self._tellers[name] = _Teller()
        return record
