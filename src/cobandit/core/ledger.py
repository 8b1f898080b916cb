"""What to say: who observed what, kept so that nothing is ever counted twice.

The ledger holds cumulative tallies keyed by (agent, boot): this agent's own, and for every other agent the newest
that was received. Merging means "replace if the version is newer", so it does not matter how often or through whom a
record comes.

The buffer of the paper (b_n, b_mu of Algorithm 1) is not stored. It is a difference: what the agent has observed by
now, minus what it had observed when it last shared with the peer. One integer per peer, the version last shared, says
it all, because the ledger remembers at which version each arm last changed.

This file does not know who is present, who asked for what, or when to send.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cobandit.core.messages import MOST_BOOTS, MOST_OBSERVATIONS, AgentId, Record
from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import Arm, ArmTally, Tally

MOST_BOOTS_HELD = 1024
"""Of how many boots of one agent observations are kept apart."""

MOST_BOOTS_RETURNED = MOST_BOOTS_HELD // 2
"""As long as an agent knows of fewer own former boots, it lets peers tell of more. The rest is for its own starts, so
that no peer can make a start impossible by inventing boots."""


class Origin(NamedTuple):
    """Where observations were made: by which agent, in which of its boots."""

    agent: AgentId
    boot: int


class Holding:
    """The newest that is known of one origin."""

    __slots__ = ("lacks", "tally", "version")

    def __init__(self, tally: Tally, version: int, *, lacks: bool = False) -> None:
        self.tally = tally
        self.version = version
        self.lacks = lacks
        """Whether it may lack arms: its owner did not know, when it spoke, which arms this agent has now."""

    def has(self, version: int) -> bool:
        """Return whether all that a version could say is held already."""
        return version < self.version or (version == self.version and not self.lacks)


class Ledger:
    """One agent's own observations, and all it holds of others.

    >>> ledger = Ledger("j", 0, ("A", "B"), units_per_reward=1)
    >>> ledger.observe("A", 1)
    >>> ledger.record_since(0, ("A", "B"))
    Record(agent='j', boot=0, base=0, version=1, tallies=(ArmTally(arm='A', observations=1, reward_sum=1),))
    """

    def __init__(self, agent: AgentId, boot: int, arms: Iterable[Arm], units_per_reward: int) -> None:
        check_whole("boot", boot, 0, MOST_BOOTS - 1)
        self.origin = Origin(agent, boot)
        self.units_per_reward = units_per_reward
        self.own = Tally(arms)
        self.changed_at: dict[Arm, int] = dict.fromkeys(self.own.counts, 0)
        """The version at which each arm was last observed by this agent; 0 for never."""
        self.held: dict[Origin, Holding] = {}
        self.formers = 0
        """How often what is known of this agent's own former boots has changed."""

    @property
    def version(self) -> int:
        """How many observations this agent has made in this boot."""
        return self.own.observations

    def check_observation(self, arm: Arm, units: int) -> None:
        """Refuse an own observation that cannot be.

        Raises:
            LocalError: The arm is not one of this agent's, or the reward is more than one observation can have.
        """
        if not isinstance(arm, str) or arm not in self.own.counts:
            raise LocalError(f"arm {arm!r} is not one of {', '.join(self.own.counts)}: update only arms of this agent")
        if not isinstance(units, int) or not 0 <= units <= self.units_per_reward:
            raise LocalError(f"a reward of {units!r} quanta is not from 0 to {self.units_per_reward}")

    def observe(self, arm: Arm, units: int) -> None:
        """Count one own observation, if it can be."""
        self.check_observation(arm, units)
        self.own.add(arm, 1, units)
        self.changed_at[arm] = self.own.observations

    def check_observations(self, tallies: Sequence[ArmTally]) -> None:
        """Refuse own observations that cannot be, or that nobody could be told of.

        Raises:
            LocalError: As for one; or there are none, or an arm comes twice, or a boot would have too many.
        """
        if not (isinstance(tallies, list | tuple) and tallies):
            raise LocalError(f"a batch must be a list of at least one ArmTally, not {tallies!r}")
        listed: set[Arm] = set()
        total = self.own.observations
        for entry in tallies:
            if not isinstance(entry, ArmTally):
                raise LocalError(f"a batch must be a list of ArmTally(arm, observations, reward_sum), not of {entry!r}")
            arm, count, reward_sum = entry
            self.check_observation(arm, 0)
            check_whole(f"the number of observations of arm {arm!r}", count, 1, MOST_OBSERVATIONS)
            check_whole(f"the reward sum of arm {arm!r}, in quanta,", reward_sum, 0, count * self.units_per_reward)
            if arm in listed:
                raise LocalError(f"arm {arm!r} is in the batch twice: add the two up")
            listed.add(arm)
            total += count
        if total > MOST_OBSERVATIONS:
            raise LocalError(f"{total} observations in one boot are more than {MOST_OBSERVATIONS}: start a new boot")

    def observe_all(self, tallies: Sequence[ArmTally]) -> None:
        """Count own observations, if they can be."""
        self.check_observations(tallies)
        self.own.add_all(tallies)
        for arm, _, _ in tallies:
            self.changed_at[arm] = self.own.observations

    def record_since(self, base: int, arms: Iterable[Arm]) -> Record:
        """Return what of these arms changed after version `base`, as cumulative tallies."""
        changed_at, counts, sums = self.changed_at, self.own.counts, self.own.sums
        return Record(
            self.origin.agent,
            self.origin.boot,
            base,
            self.own.observations,
            tuple([ArmTally(arm, counts[arm], sums[arm]) for arm in arms if changed_at[arm] > base]),
        )

    def check(self, record: Record, *, is_over: bool = False) -> None:
        """Refuse a record that cannot be true.

        Args:
            record: The record.
            is_over: Whether its boot is over, so that `complete` will take it and not `merge`.

        Raises:
            PeerError: And nothing changed.
        """
        agent, boot, base, version, tallies = record
        if not 0 <= boot < MOST_BOOTS or not 0 <= base <= version <= MOST_OBSERVATIONS:
            raise PeerError(f"{agent} sent an impossible record: boot {boot}, versions {base} to {version}")
        held = self.held.get(Origin(agent, boot))
        if held is not None and held.has(version) and not is_over:
            return  # old news is no news, whatever it says
        listed: set[Arm] = set()
        counted = 0 if held is None else held.tally.observations
        for arm, count, reward_sum in tallies:
            if arm not in self.own.counts:
                raise PeerError(f"{agent} sent tallies of arm {arm!r}, which is not an arm of {self.origin.agent}")
            if arm in listed:
                raise PeerError(f"{agent} listed arm {arm!r} twice in one record")
            listed.add(arm)
            count_before = 0 if held is None else held.tally.counts[arm]
            sum_before = 0 if held is None else held.tally.sums[arm]
            if is_over and count <= count_before:
                continue
            counted += count - count_before
            if count < count_before or reward_sum < sum_before:
                raise PeerError(
                    f"{agent} sent ({count}, {reward_sum}) for arm {arm!r} after ({count_before}, {sum_before}): "
                    "a count or a reward sum went down"
                )
            if reward_sum - sum_before > (count - count_before) * self.units_per_reward:
                raise PeerError(
                    f"{agent} sent a reward sum of {reward_sum} for {count} observations of arm {arm!r}: more than "
                    f"{self.units_per_reward} for each new observation (do both sides declare the same quantum?)"
                )
        if counted > (version if held is None else max(version, held.version)):
            raise PeerError(f"{agent} sent tallies of {counted} observations but says it made {version}")

    def check_boots(self, sender: AgentId, records: Sequence[Record]) -> None:
        """Refuse records that came together, if two are of one boot, or if there would be too many boots to hold.

        Raises:
            PeerError: And nothing changed.
        """
        origins = {Origin(record.agent, record.boot) for record in records}
        if len(origins) < len(records):
            raise PeerError(f"{sender} sent two records of one boot in one share")
        if origins <= self.held.keys():
            return
        for agent in {origin.agent for origin in origins}:
            boots = {origin.boot for origin in (*self.held, *origins) if origin.agent == agent}
            most = MOST_BOOTS_RETURNED if agent == self.origin.agent else MOST_BOOTS_HELD
            if len(boots) > most and not all(origin in self.held for origin in origins if origin.agent == agent):
                raise PeerError(f"{sender} sent records of more than {most} boots of {agent}")

    def is_usable(self, record: Record) -> bool:
        """Return whether what the record builds on is held, so that holding its version too means to hold it all."""
        return record.base <= self.version_held(Origin(record.agent, record.boot))

    def version_held(self, origin: Origin) -> int:
        """Return the newest version that is held of an origin, with every arm that this agent has."""
        held = self.held.get(origin)
        return 0 if held is None or held.lacks else held.version

    def former_boots(self, agent: AgentId, newest: int) -> list[tuple[int, Holding]]:
        """Return what is held of an agent's boots before its newest one."""
        return [
            (origin.boot, holding)
            for origin, holding in self.held.items()
            if origin.agent == agent and origin.boot < newest
        ]

    def start_again(self, boot: int, arms: Sequence[Arm] | None = None) -> None:
        """Begin a new boot: what this agent observed so far becomes what a former boot did.

        With more arms than before, what is held of others is without the new ones, even if others have observed them.
        """
        check_whole("boot", boot, self.origin.boot + 1, MOST_BOOTS - 1)
        if len(self.former_boots(*self.origin)) + 2 > MOST_BOOTS_HELD:
            raise LocalError(
                f"{self.origin.agent} has observations of {MOST_BOOTS_HELD - 1} boots, and others hold no more than "
                f"{MOST_BOOTS_HELD} of one agent: start it under a new name"
            )
        if self.own.observations:
            self.held[self.origin] = Holding(self.own, self.own.observations)
        self.origin = Origin(self.origin.agent, boot)
        self.own = Tally(self.own.counts if arms is None else arms)
        self.changed_at = dict.fromkeys(self.own.counts, 0)
        self.formers = len(self.former_boots(*self.origin))
        for origin, holding in self.held.items():
            if len(holding.tally.counts) < len(self.own.counts):
                entries, holding.tally = holding.tally.entries(), Tally(self.own.counts)
                holding.tally.add_all(entries)
                holding.lacks = origin.agent != self.origin.agent

    def complete(self, record: Record) -> tuple[ArmTally, ...]:
        """Take a checked record of a boot that is over. Return the observations in it that were not counted before.

        Different agents may know different ends of what that boot did, and different arms of it. Within one boot the
        counts of an arm only grow, so of each arm the higher count is the later one.
        """
        origin = Origin(record.agent, record.boot)
        held = self.held.get(origin) or Holding(Tally(self.own.counts), 0)
        news = tuple(
            [
                ArmTally(arm, count - held.tally.counts[arm], reward_sum - held.tally.sums[arm])
                for arm, count, reward_sum in record.tallies
                if count > held.tally.counts[arm]
            ]
        )
        if news or record.version > held.version:
            self.held[origin] = held
            held.tally.add_all(news)
            held.version = max(held.version, record.version)
            if record.agent == self.origin.agent:
                self.formers += 1
        return news

    def merge(self, record: Record, *, lacks: bool = False) -> tuple[ArmTally, ...]:
        """Take a checked record. Return the observations in it that were not counted before.

        Args:
            record: The record.
            lacks: Whether it may lack arms, because its owner may have taken this agent to have others. What is held
                lacks arms then, unless it had them all before: an owner that knew the arms once, knows them.
        """
        origin = Origin(record.agent, record.boot)
        held = self.held.get(origin)
        if held is None:
            held = self.held[origin] = Holding(Tally(self.own.counts), 0, lacks=lacks)
        elif held.has(record.version):
            return ()
        news = tuple(
            [
                ArmTally(arm, count - held.tally.counts[arm], reward_sum - held.tally.sums[arm])
                for arm, count, reward_sum in record.tallies
                if count > held.tally.counts[arm]
            ]
        )
        held.tally.add_all(news)
        held.version = record.version
        held.lacks = held.lacks and (lacks or record.base > 0)
        return news

    def total(self) -> Tally:
        """Return all that is known: own observations and everybody else's, each counted once."""
        total = self.own.copy()
        for holding in self.held.values():
            total = total + holding.tally
        return total
