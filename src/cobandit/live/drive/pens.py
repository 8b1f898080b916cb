"""A process without a name: it takes a pen from a relay, another when that one is over, and gives the last one back.

With each pen it is another member of the group, with its own node, and callers notice nothing: decisions continue, and
a reward for a decision with an earlier pen goes to the relay that lent it. If no relay lends a pen in time, the process
begins under a random name, as a leaf of its own. It decides, and once a relay can be reached, nothing that it learned
is lost. But relays do not do for it what they do for pens: hand them on and reward their decisions.

This file owns when a process changes its pen. `pen_asking.py` asks for pens, and `cobandit.live.machine.holding` owns
what a holder keeps.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable

from cobandit.live.drive.looking import LOOK_EVERY
from cobandit.live.drive.node import Node
from cobandit.live.drive.pen_asking import Lent, PenAsker
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.holding import Leftovers, lost_words
from cobandit.values.errors import LocalError

FIRST_WITHIN = 5.0
"""Seconds that a process waits for a pen at its start."""

NEXT_WITHIN = 10.0
"""Seconds in which a relay must lend the next pen. If none does, the process tries again."""

TRY_AGAIN_AFTER = 2.0
"""Seconds between two attempts."""

END_WITHIN = 3.0
"""Seconds that a stopping process waits for its next pen if it has just left one, because it has something to bring."""

LATE_AFTER = 1.0
"""Seconds after which to check once more whether a caller has rewarded a decision at the previous decider."""

Begin = Callable[[str | None, Lent | None, Leftovers | None], Awaitable[Node]]
"""Starts a node: under a name of its own, or with a pen and the leftovers of the previous one."""


class PenKeeper:
    """Keeps a process supplied with a pen.

    Args:
        asker: Makes an asker for a pen.
        begin: Starts a node.
    """

    def __init__(self, asker: Callable[[Node | None], PenAsker], begin: Begin) -> None:
        self._asker, self._begin = asker, begin
        self.moved: Callable[[Node], None] = lambda _: None
        """Called with the node that the process uses from now on."""
        self._node: Node | None = None
        self._place = ""
        self._left: list[Node] = []
        """Nodes whose deciders callers may still be using."""
        self._leftovers: Leftovers | None = None
        """What is left from a pen that is over, until there is another."""
        self._task: asyncio.Task[None] | None = None
        self._is_ending = False

    async def start(self) -> Node:
        """Return the first node.

        Raises:
            LocalError: Something on this side is wrong, or relays refuse to lend this process a pen.
        """
        asker = self._asker(None)
        lent = await asker.ask(FIRST_WITHIN)
        if lent is None and asker.refusal is not None:
            raise LocalError(f"no relay lends this process a pen: {asker.refusal}")
        self._node = await self._begin(_made_up(asker) if lent is None else None, lent, None)
        if lent is None:
            self._node.machine.alerts.say(
                logging.WARNING,
                LogEvent.NO_PEN,
                f"no relay has lent a pen within {FIRST_WITHIN:g} seconds: it goes on under the name "
                f"{self._node.machine.terms.name}, and keeps what it learns until a relay can be reached",
            )
            return self._node
        self._place = lent.place
        self._task = asyncio.create_task(self._run(), name=f"cobandit pens from {self._node.machine.terms.name}")
        return self._node

    async def end(self) -> None:
        """Take no further pen. The present node has the callers' last rewards."""
        await self._end_in_session()
        self._is_ending = True
        if self._task is not None:
            if self._leftovers is not None:  # it has left one pen, and is about to get the next
                await asyncio.wait({self._task}, timeout=END_WITHIN)
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._gather_late()
        if self._leftovers is not None and self._node is not None:
            lost = len(self._leftovers.rewards) + len(self._leftovers.unacknowledged)
            self._node.machine.alerts.say(
                logging.WARNING,
                LogEvent.STOP_UNCLEAN,
                f"stops before a relay has lent it another pen: {lost_words(lost)}",
            )

    async def _end_in_session(self) -> None:
        """Wait a moment for the next pen, if the lender does not listen because there are more arms or bandits."""
        deadline = asyncio.get_running_loop().time() + END_WITHIN
        while asyncio.get_running_loop().time() < deadline:
            holding = None if self._node is None else self._node.machine.holding
            if holding is None or self._task is None or not holding.is_out_of_session:
                return
            await asyncio.sleep(LOOK_EVERY)

    async def _run(self) -> None:
        assert self._node is not None
        while not self._is_ending:
            await self._node.pen_wanted.wait()
            try:
                is_changed = await self._change()
            except Exception as error:  # noqa: BLE001  # it must not stay without a pen for good
                self._node.machine.alerts.say_once(
                    logging.ERROR, LogEvent.NO_PEN, f"no other pen can be taken: {error}", str(error)
                )
                is_changed = False
            await asyncio.sleep(LATE_AFTER if is_changed else TRY_AGAIN_AFTER)
            self._gather_late()

    async def _change(self) -> bool:
        """Take another pen, if it is still wanted. Return whether it was taken."""
        old = self._node
        assert old is not None
        lent = await self._asker(old).ask(NEXT_WITHIN, (self._place,) if old.is_lender_silent else ())
        if lent is None or not old.wants_pen:  # the old lender may be back, and an unused pen ends by itself
            if self._leftovers is None:  # otherwise the old node has stopped, and would not ask for one again
                old.pen_wanted.clear()
            return False
        if self._leftovers is None:
            self._leftovers = await asyncio.shield(old.abandon())
        node = await self._begin(None, lent, self._leftovers)
        await _declare_again(old, node)
        self._node, self._place, self._leftovers = node, lent.place, None
        self._left.append(old)
        self.moved(node)
        self._gather_late()
        node.machine.alerts.say(
            logging.INFO,
            LogEvent.PEN_CHANGED,
            f"goes on with the pen {lent.answer.pen}; {old.machine.terms.name} is over",
            lent.answer.pen,
        )
        return True

    def _gather_late(self) -> None:
        """Pass on what callers rewarded at a decider just as it was replaced."""
        for old in self._left:
            assert old.machine.holding is not None
            assert self._node is not None
            late = old.machine.holding.leftovers()
            if self._node.machine.holding is not None and (late.rewards or late.unacknowledged):
                self._node.machine.holding.bring((*late.rewards, *late.unacknowledged))
                self._node.wake()
        del self._left[:-1]


async def _declare_again(old: Node, node: Node) -> None:
    """Declare the process's bandits at the next node."""
    for declared in tuple(old.machine.bandits.declared.values()):
        try:
            await node.declare(declared)
        except LocalError as error:
            node.machine.alerts.say(logging.ERROR, LogEvent.BANDITS_DIFFER, f"{error}: this bandit is not decided here")


def _made_up(asker: PenAsker) -> str:
    return f"{asker.prefix}alone-{secrets.token_hex(8)}"
