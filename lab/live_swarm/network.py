"""The network between processes: real packets as bytes, lost, doubled, late, out of order, and cut off.

This file owns what happens to packets. What is in them it looks at only to tell a reader, and to say which of them are
allowed when everything should be quiet.
"""

from collections.abc import Callable
from functools import partial

from cobandit.live.decide.decision import read
from cobandit.live.machine.control_messages import Hello, RelaySought, Rewards, RewardsTaken, RewardsToBring, unpack
from cobandit.live.transports.base import Inbox, Transport
from lab.live_swarm.computer import BEFORE_PACKET
from lab.live_swarm.plan import GROUP, Plan
from lab.live_swarm.timeline import ProcessLoop, Timeline
from lab.swarm.dice import Dice
from lab.swarm.transcript import Transcript

_DICE_OF_NETWORK = 12


class Network:
    """Where all processes of a world are connected."""

    def __init__(self, plan: Plan, timeline: Timeline, transcript: Transcript) -> None:
        self.packets = 0
        self.is_healed = False
        self.unquiet: list[str] | None = None
        """What is said though there is nothing to say; kept from when it should be quiet."""
        self._plan = plan
        self._timeline = timeline
        self._transcript = transcript
        self._dice = Dice(plan.seed, _DICE_OF_NETWORK)
        self._doors: dict[str, list[Door]] = {}
        """Who can be reached under each name. There are two if two processes run under it, the newer one last."""

    def open(self, door: "Door") -> None:
        """Let a process be reached, and let it and the others know."""
        others = [other for name, doors in self._doors.items() if name != door.name for other in doors]
        self._doors.setdefault(door.name, []).append(door)
        if self._plan.has_broker:
            self._timeline.after(self._plan.delay, partial(door.reach, None))
            return
        for other in others:
            self._connect(door, other)

    def close(self, door: "Door") -> None:
        """Let a process not be reached any more."""
        doors = self._doors.get(door.name, [])
        if door in doors:
            doors.remove(door)

    def reconnect(self) -> None:
        """Let everybody know who can be reached now, as transports do when connections are made again."""
        doors = [door for doors in self._doors.values() for door in doors]
        for place, door in enumerate(doors):
            if self._plan.has_broker:
                self._timeline.after(self._plan.delay, partial(door.reach, None))
                continue
            for other in doors[:place]:
                if other.name != door.name:
                    self._connect(door, other)

    def carry(self, sender: str, receiver: str, frame: bytes, *, is_announced: bool = False) -> bool:
        """Bring a packet to whoever runs under a name, or lose it. Return whether anybody could be there."""
        self.packets += 1
        time, plan, dice = self._timeline.time, self._plan, self._dice
        self._transcript.note(time, sender, f"to {receiver}", frame)
        if self._transcript.lines is not None:
            self._transcript.lines[-1] += f": {unpack(frame, GROUP)}"
        is_here = bool(self._doors.get(receiver))
        if self.unquiet is not None and is_here and not self._is_idle_talk(sender, receiver, frame, is_announced):
            self.unquiet.append(f"{sender} to {receiver}: {unpack(frame, GROUP)}"[:300])
        if not self._doors.get(receiver):
            return plan.has_broker
        if self.is_healed:
            late = 0.0 if plan.has_steady_delays else 0.2 * plan.delay * dice.unit()
            self._timeline.after(plan.delay + late, partial(self._arrive, sender, receiver, frame))
            return True
        if dice.happens(plan.faults.loss) or self._is_cut(sender, receiver):
            return True
        for _ in range(1 + dice.happens(plan.faults.duplication)):
            late = dice.unit() * plan.faults.jitter
            if dice.happens(plan.faults.reordering):
                late += dice.unit() * plan.faults.held_back
            self._timeline.after(plan.delay + late, partial(self._arrive, sender, receiver, frame))
        return True

    def announce(self, sender: str, frame: bytes) -> None:
        """Bring a packet to everybody else."""
        for name in [name for name, doors in self._doors.items() if doors and name != sender]:
            self.carry(sender, name, frame, is_announced=True)

    def _arrive(self, sender: str, receiver: str, frame: bytes) -> None:
        doors = self._doors.get(receiver, ())
        if len(doors) > 1:
            doors = [door for door in doors if door is doors[-1] or self._dice.happens(0.5)]
        for door in tuple(doors):
            door.take(frame, sender if self._plan.proves_senders else None)

    def _connect(self, one: "Door", other: "Door") -> None:
        if self.is_healed or not (self._is_cut(one.name, other.name) or self._is_cut(other.name, one.name)):
            self._timeline.after(self._plan.delay, partial(one.reach, other.name))
            self._timeline.after(self._plan.delay, partial(other.reach, one.name))

    def _is_cut(self, sender: str, receiver: str) -> bool:
        return any(cut.holds(self._timeline.time, sender, receiver) for cut in self._plan.cuts)

    def _is_idle_talk(self, sender: str, receiver: str, frame: bytes, is_announced: bool) -> bool:
        """Return whether a packet says only that somebody is here, or asks who is: that goes on for ever."""
        said, leaves = unpack(frame, GROUP), self._plan.leaves
        is_to_home = sender in leaves or receiver in leaves  # leaves do not announce that they are here, but say it
        if not self._plan.declares_again and isinstance(said, Rewards | RewardsTaken | RewardsToBring):
            return True  # for bandits that are not declared any more: they may be
        if isinstance(said, RewardsToBring):  # relays ask each other now and then for who is gone
            return not any(self._doors.get(read(token).member) for token, _ in said.rewards)
        return isinstance(said, RelaySought) or (isinstance(said, Hello) and (is_announced or is_to_home))


class Door(Transport):
    """The transport of one process."""

    def __init__(self, network: Network, loop: ProcessLoop, point: Callable[[str], None]) -> None:
        self.name = ""
        self._network = network
        self._loop = loop
        self._point = point
        self._inbox: Inbox | None = None

    async def open(self, name: str, group: str, inbox: Inbox) -> None:
        assert group == GROUP
        self.name, self._inbox = name, inbox
        self._network.open(self)

    def send(self, receiver: str, frame: bytes) -> bool:
        self._point(BEFORE_PACKET)
        return self._network.carry(self.name, receiver, frame)

    def announce(self, frame: bytes) -> None:
        self._point(BEFORE_PACKET)
        self._network.announce(self.name, frame)

    async def close(self) -> None:
        self.shut()

    def shut(self) -> None:
        """Carry nothing more."""
        self._network.close(self)
        self._inbox = None

    def take(self, frame: bytes, sender: str | None) -> None:
        """Hand a packet to the member."""
        if self._inbox is not None and self._loop.is_alive:
            self._inbox.frame(frame, sender)

    def reach(self, peer: str | None) -> None:
        """Tell the member that somebody can be reached."""
        if self._inbox is not None and self._loop.is_alive:
            self._inbox.reachable(peer)
