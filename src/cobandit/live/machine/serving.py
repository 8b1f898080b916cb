"""Which named bandits are served here, and with which definition. A relay serves what others declare.

Two members that declare one bandit differently share nothing about it, and their logs name the value that differs. At a
relay, a bandit that no present member declares gives way: to other names if there are too many, and, as long as nothing
was counted, to another definition. Once something was counted, the definition stays.
"""

import logging
from collections.abc import Collection, Iterable

from cobandit.agent import Agent
from cobandit.core.places import MAX_BANDITS, Bandit, difference, together
from cobandit.core.roles import bound
from cobandit.live.decide.clock import Clock
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.definitions import difference_in_words
from cobandit.values.tally import MOST_ARMS

KEEPS_DEFINITIONS = 60.0
"""Seconds for which a relay keeps a definition that replaced another one."""


class Serving:
    """The named bandits that one member serves.

    Args:
        agent: The agent that serves it.
        declared: The names of the bandits that this member declares itself.
        alerts: Where differences are reported.
        clock: The member's clock.
        is_relay: Whether it serves what others declare.
    """

    def __init__(
        self, agent: Agent, declared: Collection[str], alerts: Alerts, clock: Clock, *, is_relay: bool
    ) -> None:
        self._agent, self._declared, self._alerts, self._clock = agent, declared, alerts, clock
        self._is_relay = is_relay
        self.wanted: tuple[Bandit, ...] | None = None
        """What a relay must serve because others do. A new session begins with it."""
        self._kept_until: dict[str, float] = {}
        """The time until which each bandit keeps a definition that replaced another one here."""

    @property
    def all(self) -> tuple[Bandit, ...]:
        """All served bandits; if a relay must serve more because others do, those and the ones declared here."""
        if self.wanted is None:
            return self._agent.bandits
        return together([one for one in self._agent.bandits if one.name in self._declared], self.wanted)

    def take_wanted(self) -> tuple[Bandit, ...]:
        """Return what a relay serves from now on: what others declare, but counted bandits as they were."""
        wanted, kept = self.all, bound(self._agent.endpoint.replica)
        self.wanted = None
        return together([kept.get(one.name, one) for one in wanted], wanted)

    def giving_way(self, names: Collection[str]) -> frozenset[str]:
        """Return which of some bandits may get another definition here.

        A bandit gives way if no present member declares it in its present definition, nothing was counted with it, and
        it did not just get it. Otherwise two members that differ would take turns.
        """
        now = self._clock.now()
        names = {name for name in names if now >= self._kept_until.get(name, now)}
        names = self._abandoned() & names if names else frozenset()
        return names - bound(self._agent.endpoint.replica).keys() if names else names

    def keep(self, names: Iterable[str]) -> None:
        """Make bandits keep a new definition for a while."""
        now = self._clock.now()
        kept = {name: until for name, until in self._kept_until.items() if until > now}
        self._kept_until = kept | dict.fromkeys(names, now + KEEPS_DEFINITIONS)

    def compare_known(self, peer: str, name: str) -> None:
        """Log in which value a known peer's declaration differs from one that this member makes now.

        If the peer repeats it later, that is no news.
        """
        said = self._agent.peers.presence_of(peer)
        if said is not None:
            self.compare(peer, tuple(one for one in said.bandits if one.name == name))

    def compare(self, sender: str, bandits: tuple[Bandit, ...]) -> None:
        """Log in which value a sender's declaration differs; at a relay, also serve what the sender declares.

        A relay's definition does not replace another one. Otherwise two relays would take turns for ever.
        """
        served = self._with_room_for(bandits)
        differ = {one.name for one in bandits if one.name in served and difference(served[one.name], one) is not None}
        if differ and not self._agent.peers.is_relay(sender):
            giving_way = self.giving_way(differ)
            served = {name: one for name, one in served.items() if name not in giving_way}
            self.keep(giving_way)
        for theirs in bandits:
            is_served = theirs.name in served
            mine = served[theirs.name] if is_served else self._retired(theirs.name)
            what = None if mine is None else difference_in_words(mine, theirs)
            if what is not None:
                self._alerts.say_once(
                    logging.WARNING,
                    LogEvent.BANDITS_DIFFER,
                    f"{sender} declares bandit {theirs.name!r} differently ({what}): the two share nothing of it "
                    "until both declare it alike. Who wants it otherwise than the fleet has it gives it another name",
                    f"{sender} {theirs.name}",
                )
            elif self._is_relay and theirs.name:
                arms = tuple(dict.fromkeys((*(() if mine is None else mine.arms), *theirs.arms)))
                if (not is_served and len(served) >= MAX_BANDITS) or len(arms) > MOST_ARMS:
                    self._alerts.say_once(
                        logging.ERROR,
                        LogEvent.BANDITS_DIFFER,
                        f"{sender} declares more than fits here, so this relay passes on nothing of it: it serves at "
                        f"most {MAX_BANDITS} bandits of {MOST_ARMS} arms. Use two fleets, or segments",
                        sender,
                        more=f" (first {theirs.name!r})",
                    )
                elif mine is None or not is_served or arms != mine.arms:
                    served[theirs.name] = theirs._replace(arms=arms)
        if tuple(served.values()) != self._agent.bandits:
            self.wanted = tuple(served.values())

    def _with_room_for(self, bandits: tuple[Bandit, ...]) -> dict[str, Bandit]:
        """Return the served bandits, without those that give way if there would be too many with these."""
        served, names = {one.name: one for one in self.all}, {one.name for one in bandits}
        gone = self._abandoned() - names if len(served.keys() | names) > MAX_BANDITS else ()
        return {name: one for name, one in served.items() if name not in gone}

    def _abandoned(self) -> frozenset[str]:
        """Return the bandits that a relay serves only because of members that are no longer present.

        Other relays serve what they heard of, so their declarations do not count.
        """
        if not self._is_relay:
            return frozenset()
        peers, served = self._agent.peers, {one.name: one for one in self._agent.bandits}
        declared = set(self._declared)
        for peer in peers:
            said = peers.presence_of(peer) if peers.is_present(peer) and not peers.is_relay(peer) else None
            told = () if said is None else said.bandits
            declared |= {one.name for one in told if one.name in served and not difference(served[one.name], one)}
        return frozenset(served) - declared

    def _retired(self, name: str) -> Bandit | None:
        """Return the definition of a bandit that is not served at present, if anything was counted with it."""
        known = self._agent.bandit(name)
        return known if known is not None and name in bound(self._agent.endpoint.replica) else None
