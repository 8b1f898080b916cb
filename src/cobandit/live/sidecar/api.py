"""What a sidecar does for its clients: each operation is a method that takes and returns typed values.

What the member does immediately, such as deciding and rewarding an open decision, runs directly on the server's loop.
What waits for the member's network side or its disk runs elsewhere, so that no other request waits with it. Of HTTP,
this file knows only the refusals.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import TypeVar

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from cobandit.live.decide.decision import Decision
from cobandit.live.decide.taken import Taken
from cobandit.live.drive.background import Threads
from cobandit.live.drive.member import Member
from cobandit.live.sidecar import schemas
from cobandit.live.sidecar.problems import refusal_of
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.metrics import MemberCollector
from cobandit.live.status.statistics import ArmStatistics, Statistics
from cobandit.values.errors import LocalError, NotNowError, StateError, UnknownError

Value = TypeVar("Value")

WAITING_THREADS = 8
"""How many requests wait for the member's network side at the same time. Others wait for them."""

WAIT_WITHIN_S = 10.0
"""How long a request waits for the network side or the disk."""

FLEET_WITHIN_S = 2.0
"""How long other members may take to report their status."""

DECIDE_AT_ONCE = 32
"""After this many decisions of a batch, other requests get a turn."""

RELAYS_SILENT = "no relay answers: it decides, and what it learns waits here. Its log says more"
"""What a leaf reports when it is cut off. Any client can read it, so it contains no secrets."""

_TAKEN = "the reward is taken but is not on the disk yet: {}. Repeat the request: it counts once"
_HOLDS_HERE = (
    "it holds at this member, but is neither on the disk nor told to the others yet: {}. It is tried again; repeat the "
    "request to hear when it is done"
)


class Api:
    """The operations of one member's sidecar. Used on one event loop."""

    def __init__(self, member: Member, stopping: asyncio.Event, draining: threading.Event) -> None:
        self._member = member
        self._draining = draining
        self._stopping = stopping
        self._metrics = CollectorRegistry()
        self._metrics.register(MemberCollector(member))
        self._asking: asyncio.Task[Fleet] | None = None

    # Deciding and rewarding.

    async def select(self, wanted: schemas.SelectRequest) -> schemas.SelectedArm:
        """Decide which arm to pull."""
        return _told(self._select(wanted))

    async def select_many(self, wanted: schemas.SelectManyRequest) -> schemas.SelectedArms:
        """Decide several times: all are made, or none."""
        for one in wanted.requests:
            if one.among is not None and one.bandit is None:
                self._member.check_choice(one.among)
        made: list[Decision] = []
        try:
            for one in wanted.requests:
                made.append(self._select(one))
                if len(made) % DECIDE_AT_ONCE == 0:
                    await asyncio.sleep(0)
        except BaseException:  # the arms have changed in the meantime
            for decision in made:
                self._member.withdraw(decision)
            raise
        return schemas.SelectedArms(tuple(map(_told, made)))

    def _select(self, wanted: schemas.SelectRequest) -> Decision:
        if wanted.bandit is None:
            if self._member.is_fleet:
                declared = ", ".join(self._member.bandits) or "none"
                raise StateError(f"in a fleet, arms belong to bandits: name a `bandit`. Declared: {declared}")
            if wanted.segment:
                raise StateError(
                    f"{self._member.name} has one bandit, without segments: leave `segment` out, or use a fleet"
                )
            return self._member.select_arm(wanted.subject, among=wanted.among)
        bandit = self._member.declared_bandit(wanted.bandit)
        return bandit.select_arm(wanted.segment, wanted.subject, among=wanted.among)

    async def update(self, given: schemas.UpdateRequest) -> schemas.Counted:
        """Reward a decision. It counts once, however often it is repeated."""
        taken = await self._rewarded(given.id, given.reward)
        if given.sync:
            await self._synced(_TAKEN)
        return schemas.Counted(*_what_became(taken))

    async def update_many(self, given: schemas.UpdateManyRequest) -> schemas.CountedMany:
        """Reward several decisions, each for itself."""
        results = await asyncio.gather(*(self._reward(one) for one in given.updates))
        if given.sync:
            await self._synced(_TAKEN)
        return schemas.CountedMany(tuple(results))

    async def report(self, given: schemas.ReportRequest) -> schemas.Reported:
        """Take a value of the guardrail's metric."""
        return schemas.Reported(self._member.report(given.id, given.metric, given.value))

    async def reward(self, given: schemas.RewardRequest) -> schemas.Counted:
        """Reward a decision of a fleet, in the range of its bandit."""
        try:
            return await self.update(schemas.UpdateRequest(given.id, given.reward, given.sync))
        except (NotNowError, StateError, UnknownError):
            raise
        except LocalError as error:  # the bandit refuses the value, not the shape of the body
            raise StateError(str(error)) from error

    async def withdraw(self, given: schemas.WithdrawRequest) -> schemas.Withdrawn:
        """Take a decision back that was never carried out."""
        return schemas.Withdrawn(self._member.withdraw(given.id))

    # Operating.

    async def bandits(self) -> schemas.Bandits:
        """Return the bandits of a fleet."""
        return schemas.Bandits((await self.statistics()).bandits)

    async def declare(self, new: schemas.NewBandit) -> schemas.Bandits:
        """Declare a bandit of a fleet, or more arms of one."""
        said = msgspec.structs.asdict(new)
        said["max_segments"] = min(new.max_segments, schemas.MOST_SEGMENTS, schemas.MOST_PLACES // len(new.arms))
        await self._elsewhere(partial(self._member.bandit, said.pop("name"), said.pop("arms"), **said))
        return await self.bandits()

    async def arms(self) -> schemas.Arms:
        """Return the arms."""
        return schemas.Arms((await self.statistics()).arms)

    async def add_arm(self, new: schemas.NewArm) -> tuple[bool, ArmStatistics]:
        """Offer an arm. Return whether it was not offered before, and how it is."""
        before = self._member.offered_arms
        await self._elsewhere(partial(self._member.add_arm, new.arm))
        (found,) = (arm for arm in (await self.statistics()).arms if arm.arm == new.arm)
        return new.arm not in before, found

    async def remove_arm(self, arm: str) -> None:
        """Offer an arm no more. One that was removed before stays so."""
        if arm in self._member.arms and arm not in self._member.offered_arms:
            return
        await self._elsewhere(partial(self._member.remove_arm, arm))

    async def freeze_arm(self, arm: str) -> None:
        """Give an arm no more traffic, at every member."""
        await self._operate(partial(self._member.freeze_arm, arm))

    async def unfreeze_arm(self, arm: str) -> None:
        """Give an arm back, at every member."""
        await self._operate(partial(self._member.unfreeze_arm, arm))

    async def kill_switch(self) -> schemas.KillSwitch:
        """Return how the kill switch is."""
        return schemas.KillSwitch((await self.statistics()).control_arm)

    async def kill(self, wanted: schemas.KillSwitchOn) -> schemas.KillSwitch:
        """Turn the kill switch on, at every member."""
        await self._operate(partial(self._member.kill, wanted.control_arm))
        return schemas.KillSwitch(wanted.control_arm)

    async def lift(self) -> None:
        """Turn the kill switch off, at every member."""
        await self._operate(self._member.lift)

    # Looking.

    async def statistics(self) -> Statistics:
        """Return how the member is."""
        return await self._elsewhere(self._member.statistics)

    async def fleet(self) -> Fleet:
        """Return how everybody is. Requests that come while others are asked get the same answer."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(
                self._elsewhere(partial(self._member.fleet, wait_s=FLEET_WITHIN_S)), name="cobandit fleet"
            )
        return await asyncio.shield(self._asking)

    async def metrics(self) -> bytes:
        """Return the member's metrics, as Prometheus reads them."""
        return await self._elsewhere(partial(generate_latest, self._metrics))

    async def health(self) -> schemas.Health:
        """Say that the process answers."""
        return schemas.Health()

    async def readiness(self) -> schemas.Readiness:
        """Say that the member takes decisions and rewards.

        Raises:
            NotNowError: It does not. The text is for everybody, so it tells no secrets.
        """
        if self._draining.is_set() or self._stopping.is_set() or not self._member.is_open:
            raise NotNowError("the sidecar is stopping: ask another one")
        if self._member.disk_trouble is not None:
            raise NotNowError("decisions cannot be written to disk: the operator of the sidecar finds more in its log")
        return schemas.Readiness(remark=RELAYS_SILENT if self._member.is_cut_off else None)

    # How.

    async def _reward(self, given: schemas.RewardOfOne) -> schemas.CountedOne:
        try:
            taken = await self._rewarded(given.id, given.reward)
        except LocalError as error:
            return schemas.CountedOne(given.id, counted=False, problem=refusal_of(error).problem)
        return schemas.CountedOne(given.id, *_what_became(taken))

    async def _rewarded(self, token: str, reward: float) -> Taken:
        return await _within(self._member.updated(token, reward))

    async def _operate(self, work: Callable[[], None]) -> None:
        """Do something that affects every member. The others hear of it only when it is on the disk."""
        await self._elsewhere(work)
        await self._synced(_HOLDS_HERE)

    async def _synced(self, so_far: str) -> None:
        try:
            await _within(self._member.synced())
        except NotNowError as error:
            raise NotNowError(so_far.format(error)) from error

    async def _elsewhere(self, work: Callable[[], Value]) -> Value:
        """Wait for something on another thread."""
        return await _within(asyncio.get_running_loop().run_in_executor(_waiting_threads(), work))


@cache
def _waiting_threads() -> Threads:
    """Return the process's one set of waiting threads. They end with it, even if one of them waits for ever."""
    return Threads("wait", WAITING_THREADS)


def _told(decision: Decision) -> schemas.SelectedArm:
    return schemas.SelectedArm(decision.id, decision.arm, decision.propensity)


async def _within(waiting: Awaitable[Value]) -> Value:
    try:
        async with asyncio.timeout(WAIT_WITHIN_S):
            return await waiting
    except TimeoutError as error:
        raise NotNowError(
            f"the member did not do it within {WAIT_WITHIN_S:g} seconds, and may still do it: see whether its disk and "
            "its computer can keep up, and repeat the request"
        ) from error


def _what_became(taken: Taken) -> tuple[bool, bool, bool]:
    """Return whether a reward counted here, was passed on to another member, and will never count."""
    return taken is Taken.COUNTED, taken is Taken.ON_ITS_WAY, taken is Taken.GIVEN_UP
