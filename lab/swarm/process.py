"""One running process: an agent, its disk, its timer. It is what a driver of a live node is, in virtual time."""

from cobandit.agent import Agent
from cobandit.codec import decode_record, decode_snapshot, encode_snapshot
from cobandit.core import AgentId, Bandit, Began, Endpoint
from cobandit.policies import AAE, UCB, Policy
from cobandit.values.tally import Arm
from lab.swarm.disk import Disk
from lab.swarm.plan import Plan

STARTS_APART = 1024
"""Two sessions that follow one another are so far apart. What is between makes each different from all others."""


class Process:
    """An agent that runs."""

    __slots__ = ("agent", "alarm", "disk", "fuse", "is_running", "name", "position", "wakes_at")

    def __init__(self, position: int, agent: Agent, disk: Disk) -> None:
        self.position = position
        self.name: AgentId = agent.name
        self.agent = agent
        self.disk = disk
        self.is_running = True
        self.wakes_at: float | None = None
        """When it wants to be woken, in the time of the world."""
        self.alarm: float | None = None
        """When it will be looked at next, for that."""
        self.fuse: float | None = None
        """If it is to crash while it sends: how much of the sending gets out."""

    @property
    def endpoint(self) -> Endpoint:
        """The agent's side of the protocol."""
        return self.agent.endpoint

    @property
    def incarnation(self) -> int:
        """Which start of the agent it is."""
        return self.agent.incarnation


def next_session(remembered: int, starts: int) -> int:
    """Return a session above the one that is remembered, and different from every one that ever was.

    A driver that merely counts on would use a number twice after its disk was rolled back. Two lives under one number
    cannot be told apart, so a number needs a part that is never the same again: here the count of all starts, in real
    life a clock and a random number. An incarnation has the number of the session with which it begins.

    >>> next_session(0, 1), next_session(1025, 2), next_session(0, 3)
    (1025, 2050, 1027)
    """
    return (remembered // STARTS_APART + 1) * STARTS_APART + starts


def first_start(
    plan: Plan,
    position: int,
    incarnation: int,
    arms: tuple[Arm, ...],
    bandits: tuple[Bandit, ...] = (),
    time: float = 0.0,
) -> Process:
    """Start an agent that has no disk, when the calendar says so."""
    member = plan.members[position]
    agent = Agent(str(position), _policy(plan, arms), plan.sharing, incarnation=incarnation, bandits=bandits)
    declare(agent)
    agent.turn(time, time)
    return Process(position, agent, Disk(encode_snapshot(agent.snapshot()), forgets=member.forgets))


def start_from(
    plan: Plan,
    position: int,
    disk: Disk,
    above: int | None,
    starts: int,
    arms: tuple[Arm, ...],
    now: float,
    bandits: tuple[Bandit, ...] = (),
) -> Process:
    """Start an agent from its disk.

    Args:
        plan: The plan.
        position: Which agent.
        disk: Its disk.
        above: Begin an incarnation above this one and above all that the disk remembers; `None` to go on in the last.
        starts: How many starts there were of this agent.
        arms: The arms that its operator wants it to have: in a new incarnation it gets those that it has not.
        now: The time.
        bandits: The bandits that its operator wants it to serve: in a new incarnation it does.
    """
    snapshot, records = decode_snapshot(disk.snapshot), [decode_record(record) for record in disk.records]
    further = tuple(arm for record in records if isinstance(record, Began) for arm in record.arms)
    known = tuple(dict.fromkeys((*snapshot.endpoint.arms, *further, *arms)))
    agent = Agent.restore(snapshot, records, policy=_policy(plan, known), sharing=plan.sharing)
    if above is not None:
        session = next_session(max(above, agent.session), starts)
        all_arms = tuple(dict.fromkeys((*agent.arms, *arms)))
        other = None if tuple(one for one in bandits if one.name) == agent.bandits else bandits
        agent.begin(session, now, incarnation=session, arms=all_arms or None, bandits=other)
    declare(agent)
    disk.start(agent)
    return Process(position, agent, disk)


def declare(agent: Agent) -> None:
    """Let an agent have policies for the bandits that it serves."""
    for bandit in agent.bandits:
        agent.declare(bandit.name, lambda arms: UCB(arms, quantum=1.0))


def _policy(plan: Plan, arms: tuple[Arm, ...]) -> Policy | None:
    if not arms:
        return None
    kind = AAE if plan.eliminates else UCB
    return kind(arms, alpha=plan.alpha, quantum=1.0)
