"""What one member does about what comes in, without I/O: it takes inputs and returns what to write and what to send.

The same agent as in the simulator is behind it. Around the agent, the clerk looks after what live members have besides
observations: packets and who may send them, decisions that wait for their reward, rewards for others, controls.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable

from cobandit.agent import Agent
from cobandit.core import InputRecord, Message, Outcome
from cobandit.runtime import letters
from cobandit.runtime.acquaintances import Acquaintances
from cobandit.runtime.answers import Answers
from cobandit.runtime.clock import Clock
from cobandit.runtime.complaints import Complaints
from cobandit.runtime.controls import Controls
from cobandit.runtime.decision import Signer, is_genuine, read
from cobandit.runtime.desk import Decided, Desk, Known, Settled
from cobandit.runtime.guard import Guard
from cobandit.runtime.journal import Batch, Mail, NodeState
from cobandit.runtime.letters import AnyLetter
from cobandit.runtime.outstanding import MOST_OPEN, PLACES
from cobandit.runtime.reception import Reception
from cobandit.runtime.restoring import Restored
from cobandit.runtime.sessions import fresh_session
from cobandit.runtime.traffic import Traffic
from cobandit.runtime.transports.base import Refusal
from cobandit.runtime.turn import Terms, Turn
from cobandit.runtime.versions import PeerVersions
from cobandit.values.errors import LocalError, StateError, UnknownError
from cobandit.values.tally import Arm, ArmTally

GIVE_UP_EVERY = 3600.0
"""Seconds between two looks for rewards that nobody will ever take."""


class Clerk:
    """One member's business. Everything here happens on one thread."""

    desk: Desk
    """Where this member decides; made by `make_desk`."""

    def __init__(self, terms: Terms, restored: Restored, clock: Clock) -> None:
        self.terms = terms
        self.clock = clock
        self.agent: Agent = restored.agent
        self.controls: Controls = restored.controls
        self.errands = restored.errands
        self.outstanding = restored.outstanding
        self.run_number = restored.run
        self._first_place = restored.first_place
        self.secret = restored.secret
        self.removed = restored.removed
        self.foreign: deque[tuple[str, str, float]] = deque()
        """Rewards for other members' decisions, put here by any thread."""
        self.guard = Guard()
        self.complaints = Complaints(terms.name, terms.group)
        self.superseded_by: int | None = None
        """A later session of this member that runs elsewhere: then this one shares no more."""
        self.session_wanted: int | None = None
        """A session to begin, with an incarnation, because a peer knows a later one and nobody knows this one."""
        self._absorbed = {arm: [0, 0] for arm in self.agent.arms}
        self._records: list[InputRecord] = []
        self._outgoing: list[tuple[str, Message | AnyLetter]] = []
        self._rewards_kept: list[tuple[str, str, float]] = []
        self._rewards_gone: list[tuple[str, str]] = []
        self.askers: list[str] = []
        """Who wants to know how this member is."""
        self.answers = Answers(terms.group)
        """How others say that they are, while that is wanted here."""
        self.immediate = 0
        """Shares that immediate broadcast would have sent since this start."""
        self._has_new_settings = False
        self._has_new_trust = False
        self._has_news = False
        self._candidates = self.agent.policy.candidates
        """Those that the desk knows of."""
        self._give_up_at = 0.0
        self.acquaintances = Acquaintances()
        self.peer_versions = PeerVersions(terms.versions.packets.reads)
        self._reception = Reception(self)

    def make_desk(self, traffic: Traffic | None, *, seed: int, wake: Callable[[], None]) -> Desk:
        """Make the desk at which this member decides."""
        self.desk = Desk(
            self.terms.build,
            self._known(),
            self.clock,
            Signer(self.terms.name, self.secret),
            first_number=self.run_number << PLACES | self._first_place,
            traffic=traffic,
            seed=seed,
            wake=wake,
        )
        self.desk.reopen((number, arm, at) for number, (arm, at) in self.outstanding.open.items())
        self.desk.remember_subjects(self.outstanding.subjects())
        return self.desk

    # Turns.

    @property
    def is_needed(self) -> bool:
        """Whether there is something to do before the time of `due_at`, and before the desk is next looked at."""
        return bool(self._outgoing or self._records or self.foreign)

    def due_at(self) -> float | None:
        """Return when to take a turn even if nothing comes in."""
        oldest = next(iter(self.outstanding.open.values()), None)
        times = (
            self.agent.wake_at,
            None if oldest is None else oldest[1] + self.terms.expire_after,
            self.errands.next_due(self.peers, self.controls.digest),
            self.acquaintances.due_at(),
        )
        return min((time for time in times if time is not None), default=None)

    def turn(
        self, packets: Iterable[tuple[bytes, str | None]], mail: Iterable[Mail] = (), *, may_wake: bool = True
    ) -> Turn:
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
            self._reception.hear(packet, sender, now)
        decided, settled = self.desk.take()
        try:
            self._absorb(settled, now)
        except BaseException:  # a policy of the user's own, say
            self.desk.put_back(decided, settled)
            raise
        self.outstanding.apply(decided, settled)
        if may_wake and self.agent.wake_at is not None and now >= self.agent.wake_at:
            self.take(self.agent.wake(now))
        self._run_errands(now)
        for stranger in self.acquaintances.due(self.agent.peers, now):
            self.answer_with(stranger, self.hello(wants_answer=True))
        if self._has_news or self.agent.policy.candidates != self._candidates:
            self.publish()
        return self._collected(decided, settled, mail_done)

    def introduce(self) -> None:
        """Say to every known peer that this member is here."""
        self.take(self.agent.join(self.clock.now()))

    def flush(self) -> None:
        """Send to everybody who is here what it lacks."""
        self.take(self.agent.flush(self.clock.now()))

    @property
    def lacking(self) -> tuple[str, ...]:
        """Who is here and has not acknowledged everything that it can use."""
        return self.agent.lacking

    def take_leave(self) -> None:
        """Say to every known peer that this member goes away."""
        self.take(self.agent.leave())

    def greet(self, peer: str) -> None:
        """Say to a peer that can be reached now that this member is here, and again until it is known who that is."""
        self._outgoing.append((peer, self.hello(wants_answer=True)))
        if not self.agent.knows(peer):
            self.acquaintances.greeted(peer, self.clock.now())

    def begin_session(
        self, session: int, *, incarnation: int | None = None, arms: tuple[Arm, ...] | None = None
    ) -> None:
        """Begin a new session: with more arms, or in a new incarnation. It is written down with the next turn."""
        self.take(self.agent.begin(session, self.clock.now(), incarnation=incarnation, arms=arms))
        self._absorbed = {arm: self._absorbed.get(arm, [0, 0]) for arm in self.agent.arms}
        self.session_wanted = None

    def state(self, *, is_clean: bool) -> NodeState:
        """Return everything that must not be forgotten, as of the last turn."""
        return NodeState(
            agent=self.terms.versions.layout.snapshots.encode(self.agent.snapshot()),
            run=self.run_number,
            secret=self.secret,
            is_clean=is_clean,
            settings=self.controls.settings,
            rewards=self.errands.rewards,
            outstanding=self.outstanding.state(),
            group=self.terms.group,
        )

    def publish(self) -> None:
        """Let the desk know what is known now."""
        self._look_for_control_arm()
        self.desk.published = self._known()
        self._has_news, self._candidates = False, self.agent.policy.candidates

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
        self.controls.kill(arm, by=self.terms.name)
        self.settings_changed()

    def set_frozen(self, arm: Arm, *, is_frozen: bool) -> None:
        """Freeze an arm, or give it back, here and everywhere."""
        self._check_offered(arm)
        if is_frozen and not set(self.offered) - self.controls.frozen - {arm}:
            raise StateError(f"arm {arm!r} is the last one that is not frozen: give another one back first")
        self.controls.freeze(arm, is_frozen=is_frozen, by=self.terms.name)
        self.settings_changed()

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
            units = self.desk.units(reward)
        except LocalError as error:
            self.complaints.say_once(logging.WARNING, f"a reward was refused: {error}")
            return False
        if claim.member != self.terms.name or not is_genuine(token, self.secret):
            self.guard.refuse(Refusal.FORGED, None, self.clock.now())
            return False
        if self.desk.open_since(claim.number) == claim.at:
            return self.desk.settle_elsewhere(claim.number, units)
        if claim.at + self.terms.expire_after < self.clock.now() or claim.arm not in self._absorbed:
            return False
        if not self.outstanding.claim_unwritten(claim.number, self.run_number):
            return False
        self.desk.add_unrecorded(claim.number, claim.arm, units)
        return True

    def refuse(self, reason: Refusal, sender: str | None, why: str) -> None:
        """Count what was refused, against its sender if that is proved, and say so."""
        if self.guard.refuse(reason, sender, self.clock.now()):
            self.complaints.say(logging.ERROR, f"{sender} is in quarantine: {why}", sender)
        else:
            self.complaints.say_once(logging.WARNING, f"refused: {why}", sender)

    def hello(self, *, wants_answer: bool = False, is_answer: bool = False) -> letters.Hello:
        """Return how this member introduces itself."""
        return letters.Hello(
            self.terms.name,
            arms=self.agent.arms,
            units_per_reward=self.agent.policy.quantum.per_reward,
            session=self.agent.session,
            notice=self.agent.presence.number,
            incarnation=self.agent.incarnation,
            controls=self.controls.digest,
            wants_answer=wants_answer,
            is_answer=is_answer,
            reads=self.terms.versions.packets.reads,
        )

    def rewards_arrived(self, peer: str, tokens: Iterable[str]) -> None:
        """Note that another member has these rewards for its decisions."""
        self._rewards_gone += [(peer, token) for token in self.errands.rewards_taken(peer, tokens)]

    def answer_with(self, receiver: str, letter: AnyLetter) -> None:
        """Send a letter with this turn."""
        self._outgoing.append((receiver, letter))

    # What comes in.

    def _absorb(self, settled: Iterable[Settled], now: float) -> None:
        tallies: dict[Arm, list[int]] = {}
        square = self.agent.policy.quantum.square
        for entry in settled:
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
        if outcome.returned and self.outstanding.trusted_since < self.run_number:
            self._distrust_earlier_starts()
        if outcome.superseded_by is not None and self.superseded_by is None:
            self._meet_successor(outcome.superseded_by)

    def _meet_successor(self, session: int) -> None:
        """A peer knows a later session of this member."""
        if not any(self.agent.link(peer).is_known for peer in self.agent.peers):
            # Nobody has heard of this session yet, so it is the clock or the disk that went back: begin above it.
            self.session_wanted = fresh_session(session, self.clock)
            return
        self.superseded_by = session
        self.complaints.trouble(
            "identity",
            f"another process has started as {self.terms.name!r} since (session {session}, this is "
            f"{self.agent.session}): this one goes on deciding and shares nothing. Stop one of them, or give it a name "
            "and a state of its own",
        )

    def _distrust_earlier_starts(self) -> None:
        """Give up the decisions of earlier starts: who forgot observations may forget which decisions they were of."""
        self.outstanding.trusted_since, self._has_new_trust = self.run_number, True
        for number in [number for number in self.outstanding.open if number >> PLACES < self.run_number]:
            self.desk.settle_elsewhere(number, None, is_expired=True)
        self.complaints.say(
            logging.WARNING,
            "the state file is older than what others know of this member, so it was rolled back or is a copy: what "
            "they know counts, and rewards for decisions before this start are taken no more",
        )

    # What time brings.

    def _expire(self, now: float) -> None:
        """Give up decisions that were not rewarded in time, and the oldest if there are too many."""
        excess = len(self.outstanding.open) - MOST_OPEN
        expired: list[int] = []
        for number, (_, at) in self.outstanding.open.items():
            if at + self.terms.expire_after > now and len(expired) >= excess:
                break
            expired.append(number)
        for number in expired:
            self.desk.settle_elsewhere(number, self.terms.default_units, is_expired=True)

    def _keep_rewards_for_others(self, now: float) -> None:
        while self.foreign:
            reward_for = self.foreign.popleft()
            if not self.errands.has_room_for(reward_for[0], self.agent.peers):
                self.complaints.say_once(
                    logging.WARNING, "rewards for members that cannot be reached, or do not exist, are taken no more"
                )
            elif self.errands.add_reward(*reward_for):
                self._rewards_kept.append(reward_for)
        if now >= self._give_up_at:
            self._give_up_at = now + GIVE_UP_EVERY
            self._rewards_gone += self.errands.give_up(self.terms.expire_after, now)

    def _run_errands(self, now: float) -> None:
        digest = self.controls.digest
        due_at = self.errands.next_due(self.peers, digest)
        if due_at is None or now < due_at:
            return
        for peer in self.errands.due(self.peers, digest, now):
            if rewards := self.errands.rewards_for(peer):
                self.answer_with(peer, letters.Rewards(self.terms.name, rewards))
            if self.errands.lacks_controls(peer, digest):
                self.answer_with(peer, letters.ControlsTold(self.terms.name, self.controls.settings))

    # How.

    def _collected(self, decided: list[Decided], settled: list[Settled], mail_done: list[int]) -> Turn:
        encode = self.terms.versions.layout.records.encode
        batch = Batch(
            decided=tuple(decided),
            settled=tuple(settled),
            records=tuple(encode(record) for record in self._records),
            settings=self.controls.settings if self._has_new_settings else None,
            rewards_kept=tuple(self._rewards_kept),
            rewards_gone=tuple(self._rewards_gone),
            trusted_since=self.outstanding.trusted_since if self._has_new_trust else None,
        )
        turn = Turn(batch, self._outgoing, mail_done, self.askers)
        self._records, self._outgoing, self._rewards_kept, self._rewards_gone, self.askers = [], [], [], [], []
        self._has_new_settings = self._has_new_trust = False
        return turn

    def _known(self) -> Known:
        policy, offered, control_arm = self.agent.policy, self.offered, self.controls.control_arm
        candidates = tuple(arm for arm in policy.candidates if arm in offered) or offered
        return Known(
            arms=policy.arms,
            counts=tuple(policy.tally.counts.values()),
            sums=tuple(policy.tally.sums.values()),
            own_pulls=policy.own_pulls,
            absorbed_counts=tuple(count for count, _ in self._absorbed.values()),
            absorbed_sums=tuple(units for _, units in self._absorbed.values()),
            candidates=self.controls.available(offered if control_arm in offered else candidates),
            control_arm=control_arm if control_arm in offered else None,
        )

    def settings_changed(self) -> None:
        """Note that the controls are other than before: write that down, obey, and tell everybody."""
        self._has_new_settings = True
        self.errands.controls_changed()
        self.publish()

    def _look_for_control_arm(self) -> None:
        control_arm = self.controls.control_arm
        is_missing = control_arm is not None and control_arm not in self.offered
        self.complaints.trouble(
            "control arm",
            f"the kill switch is on, to arm {control_arm!r}, which this member does not have: it goes on choosing from "
            "its own arms"
            if is_missing
            else None,
        )

    def _check_offered(self, arm: Arm) -> None:
        if arm not in self.offered:
            raise UnknownError(f"arm {arm!r} is not one of {', '.join(self.offered)}")
