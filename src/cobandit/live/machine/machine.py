"""What one member does about what comes in, without I/O: it takes inputs and returns what to write and what to send.

The same agent as in the simulator is behind it. Around the agent, the machine looks after what live members have
besides observations: packets and who may send them, decisions that wait for their reward, rewards for others, controls.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from cobandit.agent import Agent
from cobandit.core import Acknowledgement, InputRecord, Message, Outcome, Share
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.allocation import Allocation, drawn_by
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.decider import Decided, Decider, Known, Settled
from cobandit.live.decide.decision import Signer, is_genuine, read
from cobandit.live.log_events import LogEvent
from cobandit.live.machine import control_messages
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.answers import Answers
from cobandit.live.machine.batch import Batch, Mail, NodeState
from cobandit.live.machine.control_messages import AnyControlMessage
from cobandit.live.machine.controls import FROZEN, GONE, KILL, Controls, forgetting, freezing, in_parts
from cobandit.live.machine.discovery import Discovery
from cobandit.live.machine.forgetting import Forgetting, dismissed
from cobandit.live.machine.guard import Guard
from cobandit.live.machine.inbound import Inbound
from cobandit.live.machine.open_decisions import MOST_OPEN, PLACES
from cobandit.live.machine.sessions import fresh_session
from cobandit.live.machine.step import Restored, Step, Terms
from cobandit.live.machine.versions import PeerVersions
from cobandit.policies.matching import Posterior, best_odds
from cobandit.values.errors import LocalError, StateError, UnknownError
from cobandit.values.tally import Arm, ArmTally


class Question(NamedTuple):
    """How likely each of these arms is the best, given this? `best_odds` answers, beside decisions and steps."""

    arms: tuple[Arm, ...]
    posteriors: list[Posterior]
    observations: int
    """So many are known: with more it is another question."""


MANY_REWARDS = 100
"""After so many rewards, none of them zero, and as many decisions without one, it seems that only clicks are told."""

GIVE_UP_EVERY = 3600.0
"""Seconds between two looks for rewards that nobody will ever take."""

NOTE_LIFE_EVERY = 600.0
"""Seconds after which a member with open decisions writes down that it has run, though nothing else has happened."""


class Machine:
    """One member's business. Everything here happens on one thread."""

    decider: Decider
    """Where this member decides; made by `make_decider`."""

    room: int = 2**20
    """Bytes that a control message may have: less where packets are small."""

    def __init__(self, terms: Terms, restored: Restored, clock: Clock) -> None:
        self.terms = terms
        self.clock = clock
        self.agent: Agent = restored.agent
        self.controls: Controls = restored.controls
        self.outbox = restored.outbox
        self.open_decisions = restored.open_decisions
        self.run_number = restored.run
        self._first_place, self._is_new = restored.first_place, restored.is_new
        self.secret = restored.secret
        self.removed = restored.removed
        self.foreign: deque[tuple[str, str, float]] = deque()
        """Rewards for other members' decisions, put here by any thread."""
        self.guard = Guard()
        self.alerts = Alerts(terms.name, terms.group)
        self.superseded_by: int | None = None
        """A later session of this member that runs elsewhere: then this one shares no more."""
        self.session_wanted: int | None = None
        """A session to begin, with an incarnation, because a peer knows a later one and nobody knows this one."""
        self._absorbed = {arm: [0, 0] for arm in self.agent.arms}
        self._records: list[InputRecord] = []
        self._outgoing: list[tuple[str, Message | AnyControlMessage]] = []
        self._rewards_kept, self._rewards_gone = list[tuple[str, str, float]](), list[tuple[str, str]]()
        self.askers: list[str] = []
        """Who wants to know how this member is."""
        self.answers = Answers(terms.group)
        """How others say that they are, while that is wanted here."""
        self.immediate = 0
        """Shares that immediate broadcast would have sent since this start."""
        self.rewards_brought = self.rewards_given_up = 0
        """Rewards for other members' decisions, since this start: taken by those, and never to be."""
        self.introduced_as: tuple[int, int] | None = None
        """The session and notice of the first hello since this start: answers to earlier ones may be old."""
        self.awaits_settings = False
        """Whether it has just started, and does not know yet what the others have set."""
        self.settings_from: str | None = None
        """Who told it the settings first, since this start; `None` if nobody has yet."""
        self._has_new_settings = self._has_new_trust = self._has_news = False
        self._candidates = self.agent.policy.candidates
        """Those that the decider knows of."""
        self._allocation: Allocation | None = None
        self._odds: dict[Arm, float] | None = None
        self._matched: tuple[int, tuple[Arm, ...]] | None = None
        """What the odds are for: so many observations, these arms."""
        self._rewards = self._zeros = self._never_rewarded = 0
        """Since this start: rewards that were reported, how many of them were zero, decisions that were given up."""
        self._give_up_at = 0.0
        self._life_noted_at, self._forgetting = clock.now(), Forgetting(terms.forget_after, clock.now())
        self.discovery = Discovery()
        self.peer_versions = PeerVersions(terms.versions.packets.reads)
        self._inbound = Inbound(self)

    def make_decider(self, allocation: Allocation | None, *, seed: int, wake: Callable[[], None]) -> Decider:
        """Make the decider with which this member decides."""
        self._allocation = allocation
        if (question := self.question()) is not None:
            self._take_odds(question, best_odds(question.posteriors))
        self.decider = Decider(
            self.terms.build,
            self._known(),
            self.clock,
            Signer(self.terms.name, self.secret),
            first_number=self.run_number << PLACES | self._first_place,
            allocation=allocation,
            seed=seed,
            wake=wake,
        )
        self.decider.reopen((number, arm, at) for number, (arm, at) in self.open_decisions.open.items())
        self.decider.remember_subjects(self.open_decisions.subjects())
        return self.decider

    # Steps.

    @property
    def is_needed(self) -> bool:
        """Whether there is something to do before the time of `due_at`, and before the decider is next looked at."""
        return bool(self._outgoing or self._records or self.foreign)

    def due_at(self) -> float | None:
        """Return when to take a step even if nothing comes in."""
        oldest = next(iter(self.open_decisions.open.items()), None)
        times = (
            self.agent.wake_at,
            None if oldest is None else min(self._life_noted_at + NOTE_LIFE_EVERY, self._expires_at(oldest)),
            self.outbox.next_due(self.peers, self.controls.digest),
            self.discovery.due_at(),
            self._forgetting.due_at,
        )
        return min((time for time in times if time is not None), default=None)

    def step(
        self, packets: Iterable[tuple[bytes, str | None]], mail: Iterable[Mail] = (), *, may_wake: bool = True
    ) -> Step:
        """Take everything that has come in.

        Args:
            packets: Packets, each with its proved sender if there is one.
            mail: Rewards that other processes left.
            may_wake: Whether the agent is woken if its time has come. A simulated world has an order for that.
        """
        now = self.clock.now()
        self._expire(now)
        mail_done = []
        for number, token, reward in mail:
            self.settle_token(token, reward)
            mail_done.append(number)
        self._keep_rewards_for_others(now)
        for packet, sender in packets:
            self._inbound.hear(packet, sender, now)
        decided, settled = self.decider.take()
        try:
            self._absorb(settled, now)
        except BaseException:  # a policy of the user's own, say
            self.decider.put_back(decided, settled)
            raise
        self.open_decisions.apply(decided, settled)
        self._look_for_zeros()
        if may_wake and self.agent.wake_at is not None and now >= self.agent.wake_at:
            self.take(self.agent.wake(now))
        for peer in self._forgetting.silent(self.agent, now):
            self._forget_silent(peer)
        self._empty_outbox(now)
        for stranger in self.discovery.due(self.agent.peers, now):
            self.answer_with(stranger, self.hello(wants_answer=True))
        if self._has_news or self.agent.policy.candidates != self._candidates:
            self.publish()
        return self._collected(decided, settled, mail_done)

    def introduce(self) -> None:
        """Say to every known peer that this member is here."""
        self.take(self.agent.join(self.clock.now(), is_relay=self.terms.is_relay))
        if self.introduced_as is None:
            self.introduced_as = (self.agent.session, self.agent.presence.number)

    def flush(self) -> None:
        """Send to everybody who is here what it lacks."""
        self.take(self.agent.flush(self.clock.now()))

    @property
    def lacking(self) -> tuple[str, ...]:
        """Who is here and has not acknowledged everything that it can use, or what was set."""
        digest = self.controls.digest
        uninformed = (
            peer for peer in self.peers if self.agent.is_present(peer) and self.outbox.lacks_controls(peer, digest)
        )
        return tuple(dict.fromkeys((*self.agent.lacking, *uninformed)))

    def take_leave(self) -> None:
        """Say to every known peer that this member goes away."""
        self.take(self.agent.leave())

    def greet(self, peer: str) -> None:
        """Say to a peer that can be reached now that this member is here, and again until it is known who that is."""
        self._outgoing.append((peer, self.hello(wants_answer=True)))
        if not self.agent.knows(peer):
            self.discovery.greeted(peer, self.clock.now())

    def begin_session(
        self, session: int, *, incarnation: int | None = None, arms: tuple[Arm, ...] | None = None
    ) -> None:
        """Begin a new session: with more arms, or in a new incarnation. It is written down with the next step."""
        self.take(self.agent.begin(session, self.clock.now(), incarnation=incarnation, arms=arms))
        self._absorbed = {arm: self._absorbed.get(arm, [0, 0]) for arm in self.agent.arms}
        self.session_wanted = None

    def state(self, *, is_clean: bool) -> NodeState:
        """Return everything that must not be forgotten, as of the last step."""
        return NodeState(
            agent=self.terms.versions.layout.snapshots.encode(self.agent.snapshot()),
            run=self.run_number,
            secret=self.secret,
            is_clean=is_clean,
            settings=self.controls.settings,
            rewards=self.outbox.rewards,
            open_decisions=self.open_decisions.state(self.clock.now()),
            group=self.terms.group,
        )

    def publish(self) -> None:
        """Let the decider know what is known now."""
        self._look_for_control_arm()
        self.decider.published = self._known()
        self._has_news, self._candidates = False, self.agent.policy.candidates

    def question(self) -> Question | None:
        """Return what to compute since knowledge or arms have changed; `None` if they have not, or nothing is drawn."""
        policy, frozen = self.agent.policy, self.controls.frozen
        arms = tuple(arm for arm in policy.candidates if arm not in frozen and arm not in self.removed)
        observations = policy.tally.observations
        if self._matched == (observations, arms) or (posteriors := policy.posteriors()) is None:
            return None
        known = dict(zip(policy.candidates, posteriors, strict=True))
        return Question(arms, [known[arm] for arm in arms], observations)

    def answer(self, question: Question, odds: Sequence[float]) -> None:
        """Let decisions be drawn by these odds from now on."""
        self._take_odds(question, odds)
        self.publish()

    # What operators do.

    @property
    def offered(self) -> tuple[Arm, ...]:
        """The arms that this member can serve."""
        return tuple(arm for arm in self.agent.arms if arm not in self.removed)

    @property
    def peers(self) -> tuple[str, ...]:
        """The names of all known peers."""
        return self.agent.peers

    def set_control_arm(self, arm: Arm | None) -> None:
        """Turn the kill switch on or off, here and everywhere."""
        if arm is not None:
            self._check_offered(arm)
        self._set(KILL, arm)

    def set_frozen(self, arm: Arm, *, is_frozen: bool) -> None:
        """Freeze an arm, or give it back, here and everywhere."""
        self._check_offered(arm)
        if is_frozen and not set(self.offered) - self.controls.frozen - {arm}:
            raise StateError(f"arm {arm!r} is the last one that is not frozen: give another one back first")
        self._set(freezing(arm), FROZEN if is_frozen else None)

    def set_gone(self, name: str) -> None:
        """Forget a member, here and everywhere, until it is heard again."""
        if name not in self.agent.met:
            raise UnknownError(f"{name!r} was never met by {self.terms.name}")
        self._set(forgetting(name), GONE)

    def remove_arm(self, arm: Arm) -> None:
        """Offer an arm no more. What is known of it stays."""
        self._check_offered(arm)
        if len(self.offered) == 1:
            raise StateError(f"arm {arm!r} is the last one: add another first")
        self.removed |= {arm}
        self.publish()

    def settle_token(self, token: str, reward: float) -> bool:
        """Reward a decision of this member by its token. Return whether that was news; what is wrong is refused."""
        try:
            claim = read(token)
            units = self.decider.units(reward)
        except LocalError as error:
            self.alerts.say_once(logging.WARNING, LogEvent.REWARD_REFUSED, f"a reward was refused: {error}")
            return False
        if claim.member != self.terms.name or not is_genuine(token, self.secret):
            self.guard.refuse(Refusal.FORGED, None, self.clock.now())
            return False
        if self.decider.open_since(claim.number) == claim.at:
            return self.decider.settle_elsewhere(claim.number, units)
        expires_at = self.open_decisions.expires_at(claim.number, claim.at, self.terms.expire_after)
        if expires_at < self.clock.now() or claim.arm not in self._absorbed:
            return False
        if not self.open_decisions.claim_unwritten(claim.number, self.run_number):
            return False
        self.decider.add_unrecorded(claim.number, claim.arm, units)
        return True

    def forget(self, peer: str) -> None:
        """Put a peer aside that is gone: it is not thought of before it is heard again. What it observed stays."""
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

    def refuse(self, reason: Refusal, sender: str | None, why: str) -> None:
        """Count what was refused, against its sender if that is proved, and say so."""
        if self.guard.refuse(reason, sender, self.clock.now()):
            self.alerts.say(logging.ERROR, LogEvent.PEER_QUARANTINED, f"{sender} is in quarantine: {why}", sender)
        else:
            self.alerts.say_once(logging.WARNING, LogEvent.PACKET_REFUSED, f"refused: {why}", sender)

    def hello(self, *, wants_answer: bool = False, answers: tuple[int, int] | None = None) -> control_messages.Hello:
        """Return how this member introduces itself."""
        return control_messages.Hello(
            self.terms.name,
            arms=self.agent.arms,
            units_per_reward=self.agent.policy.quantum.per_reward,
            session=self.agent.session,
            notice=self.agent.presence.number,
            incarnation=self.agent.incarnation,
            controls=self.controls.digest,
            wants_answer=wants_answer,
            answers=answers,
            is_new=self.awaits_settings,
            reads=self.terms.versions.packets.reads,
            is_relay=self.agent.presence.is_relay,
        )

    def rewards_arrived(self, peer: str, tokens: Iterable[str]) -> None:
        """Note that another member has these rewards for its decisions."""
        taken = self.outbox.rewards_taken(peer, tokens)
        self.rewards_brought += len(taken)
        self._rewards_gone += [(peer, token) for token in taken]

    def answer_with(self, receiver: str, message: AnyControlMessage) -> None:
        """Send a control message with this step."""
        self._outgoing.append((receiver, message))

    # What comes in.

    def _absorb(self, settled: Iterable[Settled], now: float) -> None:
        tallies: dict[Arm, list[int]] = {}
        square = self.agent.policy.quantum.square
        for entry in settled:
            if entry.is_expired:
                self._never_rewarded += 1
            elif entry.units is not None:
                self._rewards += 1
                self._zeros += entry.units == 0
            if entry.units is not None:
                tally = tallies.setdefault(entry.arm, [0, 0, 0])
                tally[0] += 1
                tally[1] += entry.units
                tally[2] += square(entry.units)
        if not tallies:
            return
        self.immediate += sum(tally[0] * self.agent.audience(arm) for arm, tally in tallies.items())
        self.take(self.agent.update_all([ArmTally(arm, *tally) for arm, tally in tallies.items()], now))
        for arm, (count, units, _) in tallies.items():
            absorbed = self._absorbed[arm]
            absorbed[0] += count
            absorbed[1] += units

    def take(self, outcome: Outcome) -> None:
        """Take what an input of the agent produced."""
        self._records += outcome.records
        self._outgoing += [(message.receiver, message) for message in outcome.outgoing]
        if outcome.news or outcome.returned or outcome.ruled_out:
            self._has_news = True
        if outcome.returned and self.open_decisions.trusted_since < self.run_number:
            self._distrust_earlier_starts()

    def meet_successor(self, session: int, message: Share | Acknowledgement) -> None:
        """A peer knows a later session or incarnation of this member: an earlier process's, or one's that runs.

        If the peer had heard of this session before, it has heard the other process speak since: this one is the older.
        Otherwise the other may be long gone, and the clock here is behind, or the disk has forgotten: then this member
        goes on above it. If the other runs, it hears of that, and stops.
        """
        if self.superseded_by is not None:
            return
        delivery = message.delivery
        link = self.agent.link(message.sender) if message.sender in self.agent.met else None
        is_later = delivery is not None and delivery.receipt.session > self.agent.session
        if link is None or not link.is_known or delivery is None or delivery.session != link.session or not is_later:
            latest = max(session, self.agent.session, self.session_wanted or 0)
            self.session_wanted = fresh_session(latest, self.clock)
            return
        self.superseded_by = session
        self.alerts.trouble(
            LogEvent.NAME_TAKEN,
            f"another process has started as {self.terms.name!r} since (session {session}, this is "
            f"{self.agent.session}): this one goes on deciding and shares nothing. Stop one of them, or give it a name "
            "and a state of its own",
        )

    def _distrust_earlier_starts(self) -> None:
        """Give up the decisions of earlier starts: who forgot observations may forget which decisions they were of."""
        self.open_decisions.trusted_since, self._has_new_trust = self.run_number, True
        if self._is_new:
            before = "others know what this member observed before it had this state, or without one: that counts"
            self.alerts.say(logging.INFO, LogEvent.OBSERVATIONS_RETURNED, before)
            return
        for number in [number for number in self.open_decisions.open if number >> PLACES < self.run_number]:
            self.decider.settle_elsewhere(number, None, is_expired=True)
        self.alerts.say(
            logging.WARNING,
            LogEvent.STATE_ROLLED_BACK,
            "the state file is older than what others know of this member, so it was rolled back or is a copy: what "
            "they know counts, and rewards for decisions before this start are taken no more",
        )

    # What time brings.

    def _expire(self, now: float) -> None:
        """Give up decisions that were not rewarded in time, and the oldest if there are too many."""
        excess = len(self.open_decisions.open) - MOST_OPEN
        expired: list[int] = []
        for entry in self.open_decisions.open.items():
            if self._expires_at(entry) > now and len(expired) >= excess:
                break
            expired.append(entry[0])
        for number in expired:
            self.decider.settle_elsewhere(number, self.terms.default_units, is_expired=True)

    def _expires_at(self, entry: tuple[int, tuple[Arm, float]]) -> float:
        number, (_, at) = entry
        return self.open_decisions.expires_at(number, at, self.terms.expire_after)

    def _keep_rewards_for_others(self, now: float) -> None:
        given_up: list[str] = []
        while self.foreign:
            reward_for = self.foreign.popleft()
            peer, token, _ = reward_for
            if not self.outbox.has_room_for(peer, token, self.agent.met):
                given_up.append(peer)
            elif self.outbox.add_reward(*reward_for):
                self._rewards_kept.append(reward_for)
                if not self.agent.is_present(peer):
                    self._say_waiting(peer)
        if self._rewards_kept:
            too_many = self.outbox.make_room(self.agent.met)
            self._rewards_gone += too_many
            given_up += [peer for peer, _ in too_many]
        if now >= self._give_up_at:
            self._give_up_at = now + GIVE_UP_EVERY
            for peer in self.outbox.found_waiting:
                self._say_waiting(peer)
            gone = self.outbox.give_up(self.terms.expire_after, now)
            self._rewards_gone += gone
            given_up += [peer for peer, _ in gone]
        self.rewards_given_up += len(given_up)
        for peer in dict.fromkeys(given_up):
            self._say_of_rewards(
                logging.ERROR,
                LogEvent.REWARDS_GIVEN_UP,
                peer,
                "are given up, for nobody has come for them: statistics().rewards_given_up counts them",
            )

    def _say_waiting(self, peer: str) -> None:
        after = f"given up after {self.terms.expire_after:g} seconds"
        self._say_of_rewards(
            logging.WARNING,
            LogEvent.REWARDS_WAIT,
            peer,
            f"wait here, for it does not take them: see that it runs. They are {after}",
        )

    def _say_of_rewards(self, level: int, event: LogEvent, peer: str, what: str) -> None:
        """Say something of the rewards for a member: once for each that is known, and once for all that are made up."""
        known = peer if peer in self.agent.met else None
        self.alerts.say_once(level, event, f"rewards for {known or 'a member that was never met'} {what}", known)

    def _empty_outbox(self, now: float) -> None:
        digest = self.controls.digest
        due_at = self.outbox.next_due(self.peers, digest)
        if due_at is None or now < due_at:
            return
        for peer in self.outbox.due(self.peers, digest, now):
            if rewards := self.outbox.rewards_for(peer, self.room):
                self.answer_with(peer, control_messages.Rewards(self.terms.name, rewards))
            if self.outbox.lacks_controls(peer, digest):
                for part in in_parts(self.controls.settings, self.room) if digest else ((),):
                    self.answer_with(peer, control_messages.ControlsTold(self.terms.name, part))

    # How.

    def _collected(self, decided: list[Decided], settled: list[Settled], mail_done: list[int]) -> Step:
        encode = self.terms.versions.layout.records.encode
        batch = Batch(
            decided=tuple(decided),
            settled=tuple(settled),
            records=tuple(encode(record) for record in self._records),
            settings=self.controls.settings if self._has_new_settings else None,
            rewards_kept=tuple(self._rewards_kept),
            rewards_gone=tuple(self._rewards_gone),
            trusted_since=self.open_decisions.trusted_since if self._has_new_trust else None,
        )
        step = Step(batch, self._outgoing, mail_done, self.askers)
        now = self.clock.now()
        is_due = self.open_decisions.open and now >= self._life_noted_at + NOTE_LIFE_EVERY
        if is_due or not step.is_empty:
            lived = self.open_decisions.lived_at(now)
            step, self._life_noted_at = step._replace(batch=msgspec.structs.replace(batch, lived=lived)), now
        self._records, self._outgoing, self._rewards_kept, self._rewards_gone, self.askers = [], [], [], [], []
        self._has_new_settings = self._has_new_trust = False
        return step

    def _take_odds(self, question: Question, odds: Sequence[float]) -> None:
        self._odds = dict(zip(question.arms, odds, strict=True))
        self._matched = question.observations, question.arms

    def _available(self) -> tuple[Arm, ...]:
        """The arms to choose from: not ruled out, not removed, not frozen."""
        if self.controls.control_arm in self.offered:
            return self.controls.available(self.offered)
        candidates = tuple(arm for arm in self.agent.policy.candidates if arm not in self.removed)
        return self.controls.available(candidates or self.offered)

    def _known(self) -> Known:
        policy, control_arm = self.agent.policy, self.controls.control_arm
        candidates, odds = self._available(), self._odds
        return Known(
            arms=policy.arms,
            counts=tuple(policy.tally.counts.values()),
            sums=tuple(policy.tally.sums.values()),
            own_pulls=policy.own_pulls,
            absorbed_counts=tuple(count for count, _ in self._absorbed.values()),
            absorbed_sums=tuple(units for _, units in self._absorbed.values()),
            candidates=candidates,
            control_arm=control_arm if control_arm in self.offered else None,
            odds=odds,
            draw=None if odds is None else drawn_by(odds, candidates, self._allocation),
        )

    def heard_settings(self, sender: str) -> None:
        """Note that a member has answered and told its settings, or that it has no others than this one."""
        self.settings_from = self.settings_from or sender

    def _set(self, key: str, value: str | None) -> None:
        self.controls.turn(key, value, self.clock.time_of_day(), by=self.terms.name)
        self.settings_changed()

    def settings_changed(self) -> None:
        """Note that the controls are other than before: write that down, obey, and tell everybody."""
        self._has_new_settings = True
        for peer in tuple(dismissed(self.agent, self.controls)):
            self._forget_silent(peer)
        self.outbox.controls_changed()
        self.publish()

    def _look_for_control_arm(self) -> None:
        control_arm = self.controls.control_arm
        is_missing = control_arm is not None and control_arm not in self.offered
        self.alerts.trouble(
            LogEvent.CONTROL_ARM_MISSING,
            f"the kill switch is on, to arm {control_arm!r}, which this member does not have: it goes on choosing from "
            "its own arms"
            if is_missing
            else None,
        )
        self.alerts.trouble(
            LogEvent.ARMS_ALL_FROZEN,
            "every arm of this member is frozen, so it goes on choosing from all of them: give one back with "
            "`cobandit control URL unfreeze ARM`"
            if self.controls.frozen.issuperset(self.offered) and control_arm not in self.offered
            else None,
        )

    def _look_for_zeros(self) -> None:
        if self._rewards < MANY_REWARDS or self.terms.default_units is not None:
            return
        without = len(self.open_decisions.open) + self._never_rewarded
        self.alerts.trouble(
            LogEvent.NO_ZERO_REWARDS,
            "many rewards were reported, none of them zero, and as many decisions have none: so only successes are "
            "learned, and all arms look alike. Report 0 for the others, or set default_reward = 0 and expire_after"
            if not self._zeros and without >= MANY_REWARDS
            else None,
            logging.WARNING,
        )

    def _check_offered(self, arm: Arm) -> None:
        if arm not in self.offered:
            raise UnknownError(f"arm {arm!r} is not one of {', '.join(self.offered)}")
