"""Everybody connected with everybody, from any one address: who is connected, who is dialled, which link is used.

This file owns the links and knows nothing of sockets and certificates: it is handed connections whose other end is
proved, and asks for new ones with a function.

A member tells each new peer whom it is connected with, and tells its peers of each new one; so two members that joined
at different places at the same time still hear of each other. Only present peers are told, so nobody who is gone is
handed on for ever; and what is told is believed as far as `hearsay` does. Two members that dial each other at once have
two links: both are good to receive, the newest is used to send, and one side alone (that of the lesser name) retires
the older. Where two may decide, both may go.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Protocol

from cobandit.live.auth.refusal import Refusal
from cobandit.live.transports.addresses import parse_address, pause
from cobandit.live.transports.base import Inbox
from cobandit.live.transports.connection import Connection, Word
from cobandit.live.transports.hearsay import Hearsay
from cobandit.live.transports.hello import MOST_TOLD, Hello, read_hello, write_hello
from cobandit.live.transports.troubles import Troubles
from cobandit.values.errors import LocalError

MOST_DIALLED = 4096
"""Addresses that are kept connected or tried. More members than that are not a mesh's business."""
MOST_LINKS = 4
"""Connections with one peer at the same time."""
MAX_SILENT_OF_PREFIX = 256
"""Connections on which nothing was said yet, of all who share a certificate for names that begin alike: a deployment
may start at once."""
MOST_ATTEMPTS = 300
"""After so many, about three hours, an address is forgotten at which a member was. A configured one never is."""
MAX_RENEWED_AT_ONCE = 8
"""Links that are made anew at the same time: one peer that does not answer must not keep all others waiting."""
HELLO_SECONDS = 10.0
RETIRING_SECONDS = 5.0
STEADY_SECONDS = 5.0
"""A link that lived so long was a good one: the next attempt after it comes soon."""
LATER_SECONDS = 1.0
"""The member of the greater name waits so long before it dials, so that the two seldom dial each other at once."""
MIN_NEWS_SECONDS = 10.0
"""The others are told where a peer listens at most so often: it may say something else each time."""

_ALONE = "alone"

_Sought = tuple[str, str | None]
"""An address, and who is looked for there; `None` for whoever is, at a configured address."""


class Refused(Exception):  # noqa: N818  # it is a fact about the other side, which a person must hear of
    """Nobody of this group is where one was dialled, and trying again will not help unless a person acts."""


class Dial(Protocol):
    """How to get a connection whose other end is proved."""

    def __call__(self, address: str, /) -> Awaitable[Connection]:
        """Return it, or raise `Refused` or an `OSError`."""


class Claim(Protocol):
    """Whether the other end of a connection, which has proved what its name begins with, may be called so."""

    def __call__(self, connection: Connection, name: str, /) -> Refusal | None:
        """Return why not, or `None` if it may."""


def _no_claim(_connection: Connection, _name: str) -> Refusal:
    return Refusal.FORGED


class Mesh:
    """The links of one member."""

    def __init__(
        self,
        name: str,
        boot: int,
        address: str,
        inbox: Inbox,
        dial: Dial,
        why: Callable[[OSError], str],
        claim: Claim = _no_claim,
        *,
        is_leaf: bool = False,
    ) -> None:
        self._name, self._boot, self._address = name, boot, address
        self._is_leaf = is_leaf
        """Whether it dials those that it is told to, and nobody whom others tell of."""
        self._inbox, self._dial, self._why, self._claim = inbox, dial, why, claim
        self._links: dict[str, list[Connection]] = {}
        """By peer, the newest last."""
        self._addresses: dict[str, str] = {}
        """Where each peer listens that there is a link with."""
        self._declared: dict[str, str] = {}
        """Where each peer said last that it listens, while it is dialled there."""
        self._news_at: dict[str, float] = {}
        """When the others were last told of a peer."""
        self._configured: set[str] = set()
        self._hearsay = Hearsay(name)
        self._greeted: dict[Connection, str | None] = {}
        """Those to which hello was said, each with what its peer's name begins with if no more is proved."""
        self._dialling: dict[_Sought, asyncio.Task[None]] = {}
        """One for each address and peer: what one member says of where it listens changes nothing for another."""
        self._renewing: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        """Those that were told to end and have not yet."""
        self._troubles = Troubles(inbox)
        self._is_open = True

    # What the transport calls.

    def dial(self, address: str) -> None:
        """Keep a link with the member at a configured address."""
        self._configured.add(address)
        self._keep_linked(address, who=None)

    def seek(self, addresses: Collection[str]) -> None:
        """Keep links with the members at these addresses, and with nobody else."""
        for address in self._configured.difference(addresses):
            self._configured.discard(address)
            self._give_up((address, None))
            for connection in [one for one in self._greeted if one.place == address]:
                self._unlink(connection)
                connection.close()
        for address in addresses:
            self.dial(address)

    def link(self, peer: str) -> Connection | None:
        """Return the connection to use for a peer."""
        links = self._links.get(peer)
        return links[-1] if links else None

    def links(self) -> list[Connection]:
        """Return one connection for every peer."""
        return [links[-1] for links in self._links.values()]

    def renew(self) -> None:
        """Make all links anew, a few at a time: what proves this member's name has changed.

        The links that there are stay in use until the new ones are there. Peers that cannot be dialled keep theirs.
        """
        if self._renewing is not None:
            self._renewing.cancel()
        self._renewing = asyncio.get_running_loop().create_task(self._renew())

    def greet(self, connection: Connection, prefix: str | None = None) -> None:
        """Say hello on a new connection whose peer is proved, or (`prefix`) what its name begins with.

        Of those on which it says nothing, few are kept; what others have proved does not count against it.
        """
        proved = (connection.peer, prefix)
        silent = [one for one, begin in self._greeted.items() if (one.peer, begin) == proved and not one.is_ready]
        if len(silent) >= (MOST_LINKS if prefix is None else MAX_SILENT_OF_PREFIX):
            silent[0].abort()
        self._greeted[connection] = prefix
        connection.say(Word.HELLO, self._hello(dict(list(self._addresses.items())[:MOST_TOLD])))

    async def settle(self, connection: Connection) -> bool:
        """Wait for the peer's hello on a new connection. Return whether it became a link."""
        either: set[asyncio.Future[Any]] = {connection.ready, connection.lost}
        await asyncio.wait(either, timeout=HELLO_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not connection.is_ready:
            connection.abort()
        return connection.is_ready

    def take_word(self, connection: Connection, word: Word, content: bytes) -> None:
        """Take what a peer's transport says."""
        if not self._is_open or (connection.peer is None and word is not Word.HELLO):
            return
        if word is Word.RETIRE:
            self._unlink(connection)
            connection.close()
            return
        hello = read_hello(content, seen_at=connection.host)
        if hello is None:
            self._inbox.refused(Refusal.MALFORMED, connection.peer, connection.host)
            connection.abort()
            return
        if connection.peer is None:
            connection.refusal = self._claim(connection, hello.name)
            if connection.refusal is not None:
                self._inbox.refused(connection.refusal, None, connection.host)
                connection.abort()
                return
            connection.peer = hello.name
        if connection.peer == self._name:
            connection.boot = hello.boot  # it is this process, or another of its name; the side that dialled sees which
            connection.abort()
        else:
            if not connection.is_ready:
                self._become_link(connection, hello)
            self._hear_of(connection.peer, hello.others)

    def lose(self, connection: Connection) -> None:
        """Note that a connection has ended."""
        self._greeted.pop(connection, None)
        self._unlink(connection)

    async def close(self, seconds: float) -> None:
        """Stop dialling, and end all links after what was sent is handed over, if that does not take too long."""
        self._is_open = False
        renewing = [] if self._renewing is None else [self._renewing]
        tasks = [*self._dialling.values(), *self._ending, *renewing]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        ending = list(self._greeted)
        for connection in ending:
            connection.close()
        if ending:
            await asyncio.wait({connection.lost for connection in ending}, timeout=seconds)
        for connection in ending:
            connection.abort()

    # Links.

    def _hello(self, others: dict[str, str]) -> bytes:
        return write_hello(Hello(self._boot, self._address, others, self._name))

    def _become_link(self, connection: Connection, hello: Hello) -> None:
        peer = connection.peer
        assert peer is not None
        connection.boot, connection.is_ready = hello.boot, True
        connection.ready.set_result(None)
        links = self._links.setdefault(peer, [])
        for older in links:
            if older.boot != hello.boot or self._name < peer:
                older.say(Word.RETIRE)
                asyncio.get_running_loop().call_later(RETIRING_SECONDS, older.abort)
        for older in links[: len(links) + 1 - MOST_LINKS]:
            older.abort()
        links.append(connection)
        if hello.address and self._addresses.get(peer) != hello.address and not self._is_leaf:
            self._addresses[peer] = hello.address
            self._declare(peer, hello.address)
        self._troubles.end(_ALONE)
        self._inbox.reachable(peer)

    def _declare(self, peer: str, address: str) -> None:
        """Dial a peer where it says that it listens, and there alone; and tell the others."""
        before = self._declared.get(peer)
        if before is not None and before != address:
            self._give_up((before, peer))
        self._declared = {one: there for one, there in self._declared.items() if (there, one) in self._dialling}
        self._declared[peer] = address
        if (address, peer) in self._dialling:
            self._hearsay.answered(address)  # it is its own word
        self._keep_linked(address, who=peer)
        now = asyncio.get_running_loop().time()
        self._news_at = {one: at for one, at in self._news_at.items() if now - at < MIN_NEWS_SECONDS}
        if peer in self._news_at:
            return
        self._news_at[peer] = now
        word = self._hello({peer: address})
        for other in tuple(self._greeted):
            if other.peer != peer:
                other.say(Word.HELLO, word)

    def _unlink(self, connection: Connection) -> None:
        peer = connection.peer
        links = self._links.get(peer) if peer is not None else None
        if peer is None or links is None or connection not in links:
            return
        links.remove(connection)
        if links:
            return
        del self._links[peer]
        self._addresses.pop(peer, None)
        forgotten = set(self._hearsay.gone(peer, asyncio.get_running_loop().time()))
        for address, who in tuple(self._dialling) if forgotten else ():
            if address in forgotten and (who is None or self._declared.get(who) != address):
                self._give_up((address, who))

    # Dialling.

    def _hear_of(self, teller: str, others: dict[str, str]) -> None:
        """Try the addresses that a peer tells, of members with whom there is no link."""
        if self._is_leaf:
            return
        now = asyncio.get_running_loop().time()
        for name, address in others.items():
            if name in self._links or self._name == name or address == self._address:
                continue
            is_tried = address in self._configured or (
                (address, name) in self._dialling and address not in self._hearsay
            )
            if not is_tried and self._hearsay.told(teller, address, now):
                self._keep_linked(address, who=name)

    def _keep_linked(self, address: str, *, who: str | None) -> None:
        sought = (address, who)
        if not self._is_open or sought in self._dialling or address == self._address:
            return
        if who is not None and address in self._configured:
            return
        if len(self._dialling) >= MOST_DIALLED:
            self._hearsay.answered(address)
            return
        task = asyncio.get_running_loop().create_task(self._stay_linked(address, who))
        self._dialling[sought] = task
        task.add_done_callback(lambda done: self._forget(sought, done))

    def _forget(self, sought: _Sought, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if self._dialling.get(sought) is task:
            del self._dialling[sought]
            if all(address != sought[0] for address, _ in self._dialling):
                self._hearsay.answered(sought[0])

    def _give_up(self, sought: _Sought) -> None:
        """Look for a peer at an address no more, unless that is configured."""
        address, _ = sought
        if address not in self._configured and (task := self._dialling.pop(sought, None)) is not None:
            self._ending.add(task)
            task.cancel()
            self._troubles.end(address)

    async def _stay_linked(self, address: str, who: str | None) -> None:
        """Dial an address until there is a link, and again when it is lost."""
        sought = (address, who)
        loop = asyncio.get_running_loop()
        is_configured = who is None
        attempt = 0
        while is_configured or attempt < MOST_ATTEMPTS:
            if who is not None and self._name > who:
                await asyncio.sleep(LATER_SECONDS)
            if address in self._hearsay and (wait := self._hearsay.wait(address, loop.time())):
                await asyncio.sleep(wait)
            link = self.link(who) if who is not None else None
            if link is not None and address in self._hearsay and self._addresses.get(who or "") != address:
                break  # it has come itself, and says that it listens elsewhere
            if link is None:
                link = await self._attempt(address, is_configured=is_configured)
            if link is None and sought not in self._dialling:
                return
            if link is None and address in self._hearsay:
                if (rest := self._hearsay.failed(address, loop.time())) is None:
                    break
                await asyncio.sleep(rest)
                continue
            if link is not None:
                self._hearsay.answered(address)
                if not is_configured and link.peer != who:
                    break  # another is there, and is dialled where it says itself that it listens
                began = loop.time()
                who = link.peer
                await asyncio.wait({link.lost})
                attempt = 0 if loop.time() - began > STEADY_SECONDS else attempt
                if not is_configured and who is not None and self._addresses.get(who, address) != address:
                    return  # it listens elsewhere now, and another task dials it there
            attempt += 1
            await asyncio.sleep(pause(attempt, me=self._name, there=address))
        self._troubles.end(address)

    async def _renew(self) -> None:
        waiting = list(self._addresses.values())

        async def renew_some() -> None:
            while waiting:
                await self._attempt(waiting.pop(), is_configured=False)

        await asyncio.gather(*(renew_some() for _ in range(MAX_RENEWED_AT_ONCE)))

    async def _attempt(self, address: str, *, is_configured: bool) -> Connection | None:
        why = ""
        try:
            connection = await self._dial(address)
            if await self.settle(connection):
                self._troubles.end(address)
                return connection
            if connection.peer == self._name and connection.boot == self._boot:
                # That is this member itself, under an address it did not know.
                for sought in [one for one in self._dialling if one[0] == address]:
                    self._ending.add(self._dialling.pop(sought))
                return None
            if connection.complaint is not None:
                self._troubles.begin(address, f"{address} hangs up on this agent: {connection.complaint}")
                return None
            why = (
                "it closes the connection before it says hello; it may refuse this agent's certificate, and counts that"
            )
            if connection.peer == self._name:
                self._troubles.begin(
                    address, f"another process at {address} is {self._name!r} too: give every agent its own name"
                )
                return None
        except Refused as error:
            self._troubles.begin(address, str(error))
            return None
        except (OSError, LocalError) as error:
            why = self._why(error) if isinstance(error, OSError) else str(error)
        self._troubles.end(address)
        if is_configured and not self._links and not self._troubles.has(_ALONE):
            self._troubles.begin(_ALONE, f"nobody at {parse_address(address)}: {why}; still trying")
        return None
