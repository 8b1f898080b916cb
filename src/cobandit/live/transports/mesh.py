"""A full mesh that can be joined at any one address: which peers are connected, which are dialled, which link is used.

This file owns the links, and does not know sockets and certificates. It gets connections whose other end is proved, and
requests new ones through a function.

A member tells each new peer which members it is connected with, and tells its peers about each new one. So two members
that joined at different places at the same time still hear of each other. Only present peers are passed on, so that
departed ones are not passed on for ever. `hearsay` limits how far reports are believed. If two members dial each other
at once, they have two links. Both can receive, the newest is used to send, and one side alone (the one with the lesser
name) retires the older. If both sides could decide, both links might be closed.
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
"""Addresses that are kept connected or tried. A mesh is not made for more members than that."""
MOST_LINKS = 4
"""How many connections one peer may have at the same time."""
MAX_SILENT_OF_PREFIX = 256
"""Connections without a hello yet from all holders of one prefix certificate together. A whole deployment may start at
once."""
MOST_ATTEMPTS = 300
"""After this many, about three hours, the address of a former peer is forgotten. Configured addresses never are."""
MAX_RENEWED_AT_ONCE = 8
"""How many links are renewed at the same time, so that one peer that does not answer does not delay all others."""
HELLO_SECONDS = 10.0
RETIRING_SECONDS = 5.0
STEADY_SECONDS = 5.0
"""A link that lasted this long was good, so the next attempt follows soon."""
LATER_SECONDS = 1.0
"""The member with the greater name waits this long before it dials, so that two rarely dial each other at once."""
MIN_NEWS_SECONDS = 10.0
"""Minimum interval between reports of one peer's address to the others, because it may name another one each time."""

_ALONE = "alone"

_Sought = tuple[str, str | None]
"""An address, and the member expected there; `None` for any member, at a configured address."""


class Refused(Exception):  # noqa: N818  # it is a fact about the other side, which a person must hear of
    """No member of this group is at a dialled address, and retrying will not help unless a person acts."""


class Dial(Protocol):
    """Opens a connection whose other end is proved."""

    def __call__(self, address: str, /) -> Awaitable[Connection]:
        """Return the connection, or raise `Refused` or an `OSError`."""


class Claim(Protocol):
    """Decides whether the other end of a connection, which has proved a prefix, may have a name."""

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
        """Whether it dials only configured addresses, and none that others report."""
        self._inbox, self._dial, self._why, self._claim = inbox, dial, why, claim
        self._links: dict[str, list[Connection]] = {}
        """By peer, the newest last."""
        self._addresses: dict[str, str] = {}
        """The listening address of each linked peer."""
        self._declared: dict[str, str] = {}
        """The latest listening address that each peer gave, while it is dialled there."""
        self._news_at: dict[str, float] = {}
        """When each peer was last reported to the others."""
        self._configured: set[str] = set()
        self._hearsay = Hearsay(name)
        self._greeted: dict[Connection, str | None] = {}
        """Connections that were greeted, each with its peer's prefix if that is all that is proved."""
        self._dialling: dict[_Sought, asyncio.Task[None]] = {}
        """One for each address and peer, so that one member's claims about its address do not affect another."""
        self._renewing: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        """Tasks that were cancelled and have not ended yet."""
        self._troubles = Troubles(inbox)
        self._is_open = True

    # What the transport calls.

    def dial(self, address: str) -> None:
        """Keep a link with the member at a configured address."""
        self._configured.add(address)
        self._keep_linked(address, who=None)

    def seek(self, addresses: Collection[str]) -> None:
        """Keep links with the members at these addresses, and no others."""
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
        """Renew all links, a few at a time, because the proof of this member's name has changed.

        Existing links stay in use until the new ones exist. Peers that cannot be dialled keep theirs.
        """
        if self._renewing is not None:
            self._renewing.cancel()
        self._renewing = asyncio.get_running_loop().create_task(self._renew())

    def greet(self, connection: Connection, prefix: str | None = None) -> None:
        """Say hello on a new connection whose peer, or at least its `prefix`, is proved.

        Few connections that stay silent are kept for each proof. Those with other proofs do not count.
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
        """Handle a message from a peer's transport."""
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
            connection.boot = hello.boot  # this process, or another with its name; the side that dialled sees which
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
        """Stop dialling, and end all links once sent frames are delivered, if that does not take too long."""
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
        """Dial a peer only at the address that it gives itself, and report that to the others."""
        before = self._declared.get(peer)
        if before is not None and before != address:
            self._give_up((before, peer))
        self._declared = {one: there for one, there in self._declared.items() if (there, one) in self._dialling}
        self._declared[peer] = address
        if (address, peer) in self._dialling:
            self._hearsay.answered(address)  # the peer itself says so
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
        """Try the addresses that a peer reports for members without a link."""
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
        """Stop looking for a peer at an address, unless that is configured."""
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
                break  # it has connected itself, and listens elsewhere
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
                    break  # another member is there, and is dialled at its own address
                began = loop.time()
                who = link.peer
                await asyncio.wait({link.lost})
                attempt = 0 if loop.time() - began > STEADY_SECONDS else attempt
                if not is_configured and who is not None and self._addresses.get(who, address) != address:
                    return  # it listens elsewhere now, where another task dials it
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
                # This is the member itself, under an address that it did not know.
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
