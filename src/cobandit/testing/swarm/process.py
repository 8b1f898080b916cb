"""One running process: an agent, its disk, its timer. It is what a driver of a live node is, in virtual time."""

from cobandit.agent import Agent
from cobandit.core import AgentId, TolerantEndpoint
from cobandit.policies import AAE, UCB, Policy
from cobandit.testing.swarm.disk import Disk
from cobandit.testing.swarm.plan import Plan
from cobandit.values.tally import Arm
from cobandit.wire import decode_record, decode_snapshot, encode_snapshot

BOOTS_APART = 1024
"""Two boots that follow one another are so far apart. What is between makes every boot different from all others."""


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
    def endpoint(self) -> TolerantEndpoint:
        """The agent's side of the protocol."""
        assert isinstance(self.agent.endpoint, TolerantEndpoint)
        return self.agent.endpoint

    @property
    def boot(self) -> int:
        """Which start of the agent it is."""
        return self.agent.endpoint.ledger.origin.boot


def next_boot(remembered: int, starts: int) -> int:
    """Return a boot above the one that is remembered, and different from every boot that ever was.

    A driver that merely counts on would use a number twice after its disk was rolled back. Two lives under one number
    cannot be told apart, so a number needs a part that is never the same again: here the count of all starts, in real
    life a clock or a random number.

    >>> next_boot(0, 1), next_boot(1025, 2), next_boot(0, 3)
    (1025, 2050, 1027)
    """
    return (remembered // BOOTS_APART + 1) * BOOTS_APART + starts


def first_start(plan: Plan, position: int, boot: int, arms: tuple[Arm, ...]) -> Process:
    """Start an agent that has no disk."""
    member = plan.members[position]
    agent = Agent(str(position), _policy(plan, arms), plan.sharing, boot=boot)
    return Process(position, agent, Disk(encode_snapshot(agent.snapshot()), forgets=member.forgets))


def start_from(
    plan: Plan, position: int, disk: Disk, boot_above: int | None, starts: int, arms: tuple[Arm, ...]
) -> Process:
    """Start an agent from its disk.

    Args:
        plan: The plan.
        position: Which agent.
        disk: Its disk.
        boot_above: Begin a boot above this one and above all that the disk remembers; `None` to go on in the last boot.
        starts: How many starts there were of this agent.
        arms: The arms that its operator wants it to have: in a new boot it gets those that it has not.
    """
    snapshot = decode_snapshot(disk.snapshot)
    boot = None if boot_above is None else next_boot(max(boot_above, snapshot.endpoint.boot), starts)
    records = map(decode_record, disk.records)
    known = snapshot.endpoint.arms
    if boot is not None:
        known += tuple(arm for arm in arms if arm not in known)
    agent = Agent.restore(snapshot, records, policy=_policy(plan, known), sharing=plan.sharing, boot=boot)
    disk.start(agent)
    return Process(position, agent, disk)


def _policy(plan: Plan, arms: tuple[Arm, ...]) -> Policy:
    kind = AAE if plan.eliminates else UCB
    return kind(arms, alpha=plan.alpha, quantum=1.0)
