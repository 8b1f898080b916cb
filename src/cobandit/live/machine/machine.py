"""The logic of one member, without I/O: it takes inputs, and returns what to write and what to send.

It contains the same agent as the simulator. This file owns the order of a step, what a step collects, and when the
decider gets new knowledge. Other concerns of live members have their own parts: packets (`inbound`), decisions that
wait for their reward (`settling`), rewards for others, operators' actions, odds, other processes with the same name.
This file knows no disk, no network, no loop and no other thread.
"""

import logging
from collections.abc import Callable, Iterable, Sequence

import msgspec

from cobandit.agent import Agent
from cobandit.core import InputRecord, Message, Outcome
from cobandit.core.pen_names import SettledBlock
from cobandit.core.pens import Book, BookState
from cobandit.core.places import GUARDRAIL, PLAIN, Bandit, Placed, beside
from cobandit.core.settled import blocks_of
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.allocation import Allocation
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.common import Common, Decided, Report, Settled
from cobandit.live.decide.decider import Decider
from cobandit.live.decide.decision import Signer
from cobandit.live.decide.desk import DeskTerms, of_no_bandit
from cobandit.live.decide.known import NOTHING
from cobandit.live.log_events import LogEvent
from cobandit.live.machine import control_messages
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.answers import Answers
from cobandit.live.machine.bandits import Bandits, Declared
from cobandit.live.machine.batch import Batch, Mail, NodeState
from cobandit.live.machine.calendar_time import CalendarTime
from cobandit.live.machine.control_messages import AnyControlMessage
from cobandit.live.machine.controls import Controls, in_parts
from cobandit.live.machine.discovery import Discovery
from cobandit.live.machine.forgetting import Forgetting, dismissed
from cobandit.live.machine.guard import Guard
from cobandit.live.machine.guardrails import Guardrails
from cobandit.live.machine.holding import Holding
from cobandit.live.machine.homes import Homes
from cobandit.live.machine.inbound import Inbound
from cobandit.live.machine.introduction import Introduction
from cobandit.live.machine.knowledge import Knowledge, placed_of
from cobandit.live.machine.leaf import Leaf
from cobandit.live.machine.lending import Lending
from cobandit.live.machine.odds import Odds, Question
from cobandit.live.machine.open_decisions import PLACES
from cobandit.live.machine.operations import Effects, Operations
from cobandit.live.machine.rewards_for_others import RewardsForOthers
from cobandit.live.machine.routing import Routing
from cobandit.live.machine.serving import Serving
from cobandit.live.machine.settling import Settling, Start
from cobandit.live.machine.step import Restored, Step, Terms
from cobandit.live.machine.succession import Succession
from cobandit.live.machine.versions import PeerVersions
from cobandit.live.machine.zero_watch import ZeroWatch
from cobandit.policies.matching import best_odds
from cobandit.values.errors import NotNowError
from cobandit.values.tally import Arm

NOTE_LIFE_EVERY = 600.0
"""Seconds after which a member with open decisions records its running time, even if nothing else has happened."""


class Machine:
    """The logic of one member. Everything here runs on one thread."""

    decider: Decider
    """Makes this member's decisions; created by `make_decider`."""

    settling: Settling
    """Ends this member's decisions; created with the decider."""

    room: int = 2**20
    """Maximum bytes of a control message. Lower where packets are small."""

    def __init__(self, terms: Terms, restored: Restored, clock: Clock) -> None:
        self.terms = terms
        self.clock = clock
        self.agent: Agent = restored.agent
        self.controls: Controls = restored.controls
        self.outbox = restored.outbox
        self.open_decisions = restored.open_decisions
        self._first_number = restored.run << PLACES | restored.first_place
        self._start = Start(restored.run, restored.secret, restored.is_new)
        self.guard, self.alerts = Guard(), Alerts(terms.name, terms.group)
        self._calendar_time = CalendarTime(clock, self.alerts, self.agent.calendar.time)
        self.operations = Operations(
            terms.name,
            self.agent,
            self.controls,
            restored.removed,
            self.alerts,
            clock,
            Effects(self.settings_changed, self.publish),
        )
        self.guardrails = Guardrails(self.agent, self.controls, self.alerts)
        """Watches the second metrics of its bandits."""
        if terms.guardrail is not None:
            self.guardrails.watch("", terms.guardrail, self.operations.freezer(), clock.now())
        self.rewards_for_others = RewardsForOthers(
            self.agent, self.outbox, self.alerts, terms.expire_after, is_leaf=terms.is_leaf
        )
        self.succession = Succession(self.agent, self.alerts, clock)
        self.bandits = Bandits(
            terms.name, self.agent, self.controls, clock, Effects(self.settings_changed, self.publish)
        )
        """The named bandits."""
        self.serving = Serving(self.agent, self.bandits.declared, self.alerts, clock, is_relay=terms.is_relay)
        """Which named bandits are served here, and with which definition."""
        self._odds = Odds(self.agent)
        self._zero_watch = ZeroWatch(self.alerts, has_default=terms.default_units is not None)
        self.knowledge = Knowledge(self.agent, self.operations, self._odds)
        self.immediate = 0
        """How many shares immediate broadcast would have sent since this start."""
        self._records: list[InputRecord] = []
        self._outgoing: list[tuple[str, Message | AnyControlMessage]] = []
        self.askers: list[str] = []
        """Those that asked for this member's status."""
        self.fleet_askers: list[str] = []
        """Those that asked for the status of all members: leaves, if this member is their relay."""
        self.answers = Answers(terms.group)
        """Collects the status of other members while that is wanted here."""
        self._has_new_settings = self._has_news = False
        self._candidates = self.agent.policy.candidates if self.agent.has_plain else ()
        """The candidates that the decider knows."""
        self._life_noted_at, self._forgetting = clock.now(), Forgetting(terms.forget_after, clock.now())
        self.discovery = Discovery()
        self.peer_versions = PeerVersions(terms.versions.packets.reads)
        self.introduction = Introduction(self)
        """Announces this member, and learns what is set."""
        self._inbound = Inbound(self)
        self._take_roles(restored)

    def _take_roles(self, restored: Restored) -> None:
        """Take the role of a leaf, a lender of pens, or a holder of one."""
        terms, clock = self.terms, self.clock
        self.leaf: Leaf | None = None
        """The leaf's part, if this member is a leaf."""
        if terms.is_leaf:
            homes = Homes(terms.name, terms.homes, terms.relays, named=terms.relays_have_names)
            self.leaf = Leaf(self, homes)
        self.outbox.begin(self._first_number)
        self.routing = Routing(self.agent, self.outbox, self.leaf, is_relay=terms.is_relay)
        self.rewards_for_others.goes_on = self.routing.goes_on
        self.lending: Lending | None = None
        """The lender's part, if this member is a relay."""
        self.holding: Holding | None = None
        """The holder's part, if this member's name is a pen."""
        if terms.is_relay:
            pens = terms.pens
            book = Book(terms.name, restored.book, now=clock.now(), lease=pens.lease)
            self.lending = Lending(self, book, pens.secret or restored.secret)
        if restored.held is not None:
            self.holding = Holding(self, restored.held)

    def make_decider(self, allocation: Allocation | None, *, seed: int, wake: Callable[[], None]) -> Decider:
        """Make this member's decider."""
        self._odds.allocation = allocation
        if self.agent.has_plain and (question := self.question()) is not None:
            self._odds.take(question, best_odds(question.posteriors))
        has_plain, terms = self.agent.has_plain, self.terms
        plain = DeskTerms(
            terms.build,
            self.agent.policy.quantum.units if has_plain else of_no_bandit,
            blank=self.knowledge.known() if has_plain else NOTHING,
            default_units=terms.default_units,
            allocation=allocation,
            seed=seed,
            holdout=terms.holdout,
        )
        signer = Signer(terms.name, self._start.secret)
        common = Common(self.clock, signer, salt=terms.group, first_number=self._first_number, wake=wake)
        self.bandits.decider = self.decider = Decider(plain, common)
        self.decider.reopen((number, arm, at) for number, (arm, at) in self.open_decisions.open.items())
        self.decider.remember_subjects(self.open_decisions.subjects())
        self.settling = Settling(
            self.terms,
            self._start,
            self.agent,
            self.decider,
            self.open_decisions,
            guard=self.guard,
            alerts=self.alerts,
            clock=self.clock,
        )
        return self.decider

    # Steps.

    @property
    def is_needed(self) -> bool:
        """Whether there is something to do before `due_at` and before the next look at the decider."""
        return bool(self._outgoing or self._records or self.rewards_for_others.are_offered)

    def due_at(self) -> float | None:
        """Return when to step even if nothing comes in."""
        expires_at = None if self._is_giving_back else self.settling.due_at()
        times = (
            self.agent.wake_at,
            None if expires_at is None else min(self._life_noted_at + NOTE_LIFE_EVERY, expires_at),
            self.outbox.next_due(self.peers, self.controls.digest),
            self.discovery.due_at(),
            self._forgetting.due_at,
            self.introduction.due_at,
            self.guardrails.due_at,
            self.routing.due_at(),
            None if self.leaf is None else self.leaf.homes.due_at(),
            None if self.lending is None else self.lending.due_at(),
            None if self.holding is None else self.holding.due_at(),
        )
        return min((time for time in times if time is not None), default=None)

    def step(
        self, packets: Iterable[tuple[bytes, str | None]], mail: Iterable[Mail] = (), *, may_wake: bool = True
    ) -> Step:
        """Process everything that has come in.

        Args:
            packets: Packets, each with its sender if that is proved.
            mail: Rewards that other processes left.
            may_wake: Whether to wake the agent if its time has come. A simulated world orders that itself.
        """
        now = self.clock.now()
        if not self._is_giving_back:
            self.settling.expire(now)
        mail_done = []
        has_turned = self._turn(now)
        for number, token, reward in mail:
            try:
                self.settling.settle_token(token, reward)
            except NotNowError:  # its bandit will be declared
                continue
            mail_done.append(number)
        self.rewards_for_others.keep(now)
        for packet, sender in packets:
            self._inbound.hear(packet, sender, now)
        decided, settled = self.decider.take()
        reports = self.decider.take_reports()
        try:
            self._zero_watch.count(settled)
            self._absorb(settled, now, reports)
        except BaseException:  # for example from a user's own policy
            self.decider.put_back(decided, settled, reports)
            raise
        self.open_decisions.apply(decided, settled)
        self._zero_watch.look(len(self.open_decisions.open))
        if may_wake and self.agent.wake_at is not None and now >= self.agent.wake_at:
            self.take(self.agent.wake(now))
        for peer in self._forgetting.silent(self.agent, now):
            self._forget_silent(peer)
        self._look_around(now)
        if self._has_news or (self.agent.has_plain and self.agent.policy.candidates != self._candidates):
            self.publish()
        if has_turned:
            self.bandits.drop_empty()
        self.bandits.publish()
        return self._collected(decided, settled, mail_done)

    def _turn(self, now: float) -> bool:
        """Start new periods, and return whether one began. Only another incarnation, or another pen, can go back."""
        calendar = self.agent.calendar
        time = self._calendar_time.at(now, calendar.shortest)
        if not calendar.is_before(time):
            turned = self.agent.turn(time, now)
            self.take(turned)
            return bool(turned.records)
        if self.holding is not None:
            self.holding.superseded()
        elif self.succession.superseded_by is None:
            self.succession.want_incarnation()
        return False

    def _look_around(self, now: float) -> None:
        """Do what is due: for pens, for the outbox, for homes, for strangers, for guardrails."""
        if self.lending is not None:
            self.lending.step(now)
        if self.holding is not None:
            self.holding.step(now)
        self._empty_outbox(now)
        if self.leaf is not None:
            self.leaf.look(now)
        for stranger in self.discovery.due(self.agent.peers, now):
            self.answer_with(stranger, self.introduction.hello(wants_answer=True))
        self.guardrails.look(now)

    def declare(self, declared: Declared) -> None:
        """Take a bandit that the agent serves, and log if known members declare it differently."""
        bandit, now = declared.bandit.name, self.clock.now()
        self.bandits.declare(declared, self.open_decisions)
        self.guardrails.watch(bandit, declared.guardrail, self.bandits.freezer(bandit), now)
        for peer in self.peers:
            self.serving.compare_known(peer, bandit)

    def flush(self) -> None:
        """Send all present peers what they lack."""
        self.take(self.agent.flush(self.clock.now()))

    @property
    def has_company(self) -> bool:
        """Whether any peer is present."""
        return any(self.agent.peers.is_present(peer) for peer in self.peers)

    def is_flushed(self, number: int) -> bool:
        """Return whether this member has told all it must; a leaf's relays must serve everything it has observed."""
        return self.has_told(number) and (self.leaf is None or self.agent.peers.serve_all(self.leaf.homes.talking))

    def has_told(self, number: int) -> bool:
        """Return whether all present peers have acknowledged the agent's log up to a number, and the current settings.

        The lender of this member's name must have done so, whether it is present or not.
        """
        peers, digest = self.agent.peers, self.controls.digest
        present = (peer for peer in self.peers if peers.is_present(peer))
        if peers.lacking_until(number) or any(self.outbox.lacks_controls(peer, digest) for peer in present):
            return False
        return self.holding is None or not self.holding.is_lender_behind

    def limit_facts(self, most: int) -> None:
        """Put at most `most` facts in one message from now on. The next step writes this down."""
        self.take(self.agent.limit_facts(most))

    def take_leave(self) -> None:
        """Say farewell to every known peer."""
        self.take(self.agent.leave())

    def begin_session(
        self,
        session: int,
        *,
        incarnation: int | None = None,
        arms: tuple[Arm, ...] | None = None,
        bandits: tuple[Bandit, ...] | None = None,
    ) -> None:
        """Begin a new session: with more arms or bandits, or in a new incarnation. The next step writes this down."""
        now = self.clock.now()
        self.take(self.agent.begin(session, now, incarnation=incarnation, arms=arms, bandits=bandits))
        time = self._calendar_time.at(now, self.agent.calendar.shortest)
        if incarnation is not None and self.agent.calendar.is_before(time):
            self.take(self.agent.turn(time, now, is_back=True))
        self.succession.session_wanted = None
        if bandits is not None and self.lending is not None:
            self.lending.judge_again()

    @property
    def holding_out(self) -> set[str]:
        """The bandits that have a hold-out here."""
        named = {name for name, one in self.bandits.declared.items() if one.desk.holdout}
        return {"", *named} if self.terms.holdout else named

    def state(self, *, is_clean: bool) -> NodeState:
        """Return the whole state that must survive, as of the last step."""
        return NodeState(
            agent=self.terms.versions.layout.snapshots.encode(self.agent.snapshot()),
            run=self._start.run,
            secret=self._start.secret,
            is_clean=is_clean,
            settings=self.controls.settings,
            rewards=self.outbox.rewards,
            open_decisions=self.open_decisions.state(self.clock.now()),
            group=self.terms.group,
            book=BookState() if self.lending is None else self.lending.book.state(),
        )

    def publish(self) -> None:
        """Publish to the decider what is known now."""
        self._has_news = False
        if self.agent.has_plain:
            self.operations.look_for_control_arm()
            self.decider.plain.published = self.knowledge.known()
            self._candidates = self.agent.policy.candidates

    def question(self) -> Question | None:
        """Return what to compute because knowledge or arms changed; `None` if neither did or nothing is drawn."""
        plain = self._odds.question(self.operations.withheld) if self.agent.has_plain else None
        return self.bandits.question() if plain is None else plain

    def answer(self, question: Question, odds: Sequence[float]) -> None:
        """Draw decisions by these odds from now on."""
        if question.at != PLAIN:
            self.bandits.answer(question, list(odds))
            return
        self._odds.take(question, odds)
        self.publish()

    # Peers.

    @property
    def peers(self) -> tuple[str, ...]:
        """The names of all known peers."""
        return tuple(self.agent.peers)

    def awaits(self, peer: str) -> bool:
        """Return whether a peer owes an answer."""
        is_owed = self.outbox.owes(peer, self.controls.digest) or self.routing.awaits(peer)
        return is_owed or self.agent.peers.awaits(peer)

    def forget(self, peer: str) -> None:
        """Put aside a peer that is gone, until it is heard again. Its observations stay."""
        self.take(self.agent.forget(peer, self.clock.now()))
        self.outbox.forget(peer)
        self.peer_versions.forget(peer)
        self._inbound.forget(peer)

    def _forget_silent(self, peer: str) -> None:
        self.forget(peer)
        self.alerts.say(
            logging.INFO,
            LogEvent.MEMBER_FORGOTTEN,
            f"{peer} is gone, without a farewell: nothing is sent to it until it is back. What it observed counts",
            peer,
        )

    def refuse(self, reason: Refusal, sender: str | None, why: str, where: str = "") -> None:
        """Count a refusal, against the sender if that is proved, and log it once, with its origin."""
        if self.guard.refuse(reason, sender, self.clock.now()):
            self.alerts.say(logging.ERROR, LogEvent.PEER_QUARANTINED, f"{sender} is in quarantine: {why}", sender)
        else:
            self.alerts.say_once(logging.WARNING, LogEvent.PACKET_REFUSED, f"refused: {why}", sender, more=where)

    def send(self, message: Message) -> None:
        """Send a protocol message with this step."""
        self._outgoing.append((message.receiver, message))

    def answer_with(self, receiver: str, message: AnyControlMessage) -> None:
        """Send a control message with this step."""
        self._outgoing.append((receiver, message))

    # What comes in.

    @property
    def _is_giving_back(self) -> bool:
        """Whether nothing may be counted here any more, because the lender was told that it has everything."""
        return self.holding is not None and self.holding.is_giving_back

    def _absorb(self, settled: list[Settled], now: float, reports: list[Report]) -> None:
        """Pass the rewards of decisions to the agent; for a pen, with the decisions' numbers in the same record."""
        agent, placed = self.agent, placed_of(self.agent, settled, reports)
        numbers: tuple[SettledBlock, ...] = ()
        if self.holding is not None:
            numbers = blocks_of(self.terms.name, agent.incarnation, [entry.number for entry in settled])
        if not (placed or numbers):
            return
        for (bandit, segment), tallies in placed.items():
            if beside(bandit, segment) != GUARDRAIL:
                self.immediate += sum(one.observations * agent.peers.audience(one.arm, bandit) for one in tallies)
        elsewhere = [Placed(*at, tallies) for at, tallies in placed.items() if at != PLAIN]
        plain = placed.get(PLAIN, ())
        self.take(agent.update_all(plain, now, numbers, elsewhere))
        self.knowledge.take(plain)
        self.bandits.absorbed(placed)
        self.guardrails.heard([report.bandit for report in reports], now)
        if self.holding is not None:
            self.holding.counted(settled)

    def take(self, outcome: Outcome) -> None:
        """Take what an input of the agent produced."""
        self._records += outcome.records
        self._outgoing += [(message.receiver, message) for message in outcome.outgoing]
        if outcome.news or outcome.returned or outcome.ruled_out:
            self._has_news = True
        if outcome.elsewhere:
            self.bandits.learned(outcome.elsewhere)
            reported = [one.bandit for one in outcome.elsewhere if beside(*one[:2]) == GUARDRAIL]
            self.guardrails.heard(reported, self.clock.now())
        if outcome.returned or any(change.is_own for change in outcome.elsewhere):
            self.settling.returned(has_forgotten=outcome.has_forgotten)

    def _empty_outbox(self, now: float) -> None:
        self.introduction.look(now)
        digest = self.controls.digest
        for way, brought, is_doubtful in self.routing.due(self.room, now):
            self.outbox.number += 1
            handed_on = control_messages.RewardsToBring(self.terms.name, brought, is_doubtful, self.outbox.number)
            self.answer_with(way, handed_on)
        due_at = self.outbox.next_due(self.peers, digest)
        if due_at is None or now < due_at:
            return
        for peer in self.outbox.due(self.peers, digest, now):
            if rewards := self.outbox.rewards_for(peer, self.room, now):
                self.answer_with(peer, control_messages.Rewards(self.terms.name, rewards))
            if self.outbox.lacks_controls(peer, digest):
                for part in in_parts(self.controls.settings, self.room) if digest else ((),):
                    self.answer_with(peer, control_messages.ControlsTold(self.terms.name, part))

    # How.

    def _collected(self, decided: list[Decided], settled: list[Settled], mail_done: list[int]) -> Step:
        encode = self.terms.versions.layout.records.encode
        records = tuple(encode(record) for record in self._records)
        rewards_kept, rewards_gone = self.rewards_for_others.take()
        pens, pens_gone = ((), ()) if self.lending is None else self.lending.book.take_changes()
        batch = Batch(
            decided=tuple(decided),
            settled=tuple(settled),
            records=records,
            settings=self.controls.settings if self._has_new_settings else None,
            rewards_kept=rewards_kept,
            rewards_gone=rewards_gone,
            trusted_since=self.settling.take_trust(),
            pens=pens,
            pens_gone=pens_gone,
        )
        step = Step(batch, self._outgoing, mail_done, self.askers)
        now = self.clock.now()
        is_due = self.open_decisions.open and now >= self._life_noted_at + NOTE_LIFE_EVERY
        if is_due or not step.is_empty:
            lived = self.open_decisions.lived_at(now)
            step, self._life_noted_at = step._replace(batch=msgspec.structs.replace(batch, lived=lived)), now
        if self.holding is not None:
            self.holding.said(self._outgoing, now)
        self._records, self._outgoing, self.askers = [], [], []
        self._has_new_settings = False
        return step

    def settings_changed(self) -> None:
        """Note that the controls have changed: write them down, obey them, and tell all peers."""
        self._has_new_settings = True
        for peer in tuple(dismissed(self.agent, self.controls)):
            self._forget_silent(peer)
        self.outbox.controls_changed()
        self.publish()
        self.bandits.publish_all()
