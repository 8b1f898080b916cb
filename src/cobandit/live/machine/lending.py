"""The lender's side of pens: who gets one, who may speak with it, when it is over, and who counts a reward.

A relay alone decides what the pens that it made have settled (`cobandit.core.pens`). Rewards for their decisions arrive
here from any member and pass the *gate*: a reward is forwarded to the holder, counted here, once, recognized as counted
before, or given up. The observation and its number are one record of the journal.

This file owns the book and the gate. It does not know how packets travel, and makes no decisions.
"""

import logging
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from cobandit.core import Acknowledgement, Message, Notice, Share, settled
from cobandit.core.handover import handed_over
from cobandit.core.messages import EVERYBODY_ELSE, MAX_INCARNATION
from cobandit.core.pen_names import SEPARATOR, incarnation_of, lender_of, pen_name, prefix_of
from cobandit.core.pens import MAX_CELLS_HANDED_ON, MAX_PEN_CELLS, Book, Whose
from cobandit.core.places import Bandit, difference
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.decision import Claim, is_genuine, read
from cobandit.live.decide.holdout import unmarked
from cobandit.live.decide.taken import Taken
from cobandit.live.log_events import LogEvent
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import AnyControlMessage
from cobandit.live.machine.controls import in_parts
from cobandit.live.machine.definitions import difference_in_words
from cobandit.live.machine.knowledge import units_in
from cobandit.live.machine.sessions import fresh_session
from cobandit.values.allowance import Allowance
from cobandit.values.errors import LocalError, NotNowError, PeerError
from cobandit.values.tally import LONGEST_NAME, ArmTally

if TYPE_CHECKING:
    from cobandit.live.machine.machine import Machine

MAX_LENT_AT_ONCE, MAX_LENT_PER_SECOND = 5000, 100
"""Limits on lending, because names of askers are easily made up."""

MAX_TOTALS_AT_ONCE, MAX_TOTALS_PER_SECOND = 65_536, 8_192
"""Limits on totals that are handed over with all pens together. Beyond them, a pen is lent only with those of the plain
bandit, and its holder receives the rest the usual way once it speaks. So merely asking is cheap for the relay."""

ASK_EVERY, ASK_LONGEST = 2.0, 60.0
"""Seconds until other relays are asked again about pens that this one has forgotten: at first, and at most."""

GIVE_UP_AFTER = 600.0
"""Seconds without meeting another relay after which no relay can know about a pen that this one has forgotten."""

LOOKS = 64
"""How often decisions are checked for age within `expire_after`; never more often than once a minute."""


def pen_key(secret: bytes, pen: str) -> bytes:
    """Return the key that signs decisions of a pen."""
    return blake2b(pen.encode(), key=secret[:64], person=b"cobandit pen", digest_size=16).digest()


class Lending:
    """The lending side of one relay."""

    def __init__(self, machine: "Machine", book: Book, secret: bytes) -> None:
        self.book = book
        self._machine = machine
        self._secret = secret
        self._allowance = Allowance(MAX_LENT_PER_SECOND, MAX_LENT_AT_ONCE)
        self._totals = Allowance(MAX_TOTALS_PER_SECOND, MAX_TOTALS_AT_ONCE)
        self._started_at = self._age_at = self._look_at = machine.clock.now()
        self._bringing: dict[str, None] = {}
        """Pens whose holders acknowledged rewards that are not settled yet."""
        self._watched = 1
        """How many pens of other relays are peers."""
        self._told: dict[str, control_messages.LogTold] = {}
        """The answers of other relays since this start."""
        self._ask_at: float | None = None
        self._ask_wait = ASK_EVERY
        self.veil: Callable[[str, bytes, bytes], bytes | None] = lambda *_: None
        """Encrypts a pen's key for its receiver: `Transport.veil`."""
        self.counted = self.given_up = 0
        """Since this start: rewards for decisions of pens that were counted here, and that were given up."""

    # Who speaks.

    def listens(self, content: Message | AnyControlMessage, now: float) -> bool:
        """Return whether a sender may say this. Tell a sender that does not hold its pen that the pen is over."""
        machine, pen = self._machine, content.sender
        if lender_of(pen) != machine.terms.name:
            return True
        match content:
            case Share(delivery=delivery) | Acknowledgement(delivery=delivery):
                session = -1 if delivery is None else delivery.session
            case Notice(session=session) | control_messages.Hello(session=session):
                pass
            case _:
                return True
        if self.book.hears(pen, session, now):
            return True
        self._say_over(pen, pen, session)
        return False

    def asked(self, question: control_messages.PenAsked, now: float) -> None:
        """Lend a pen."""
        machine, agent = self._machine, self._machine.agent
        if (why := self._wrong_with(question)) is not None:
            machine.answer_with(question.sender, control_messages.PenRefused(machine.terms.name, question.nonce, why))
            return
        if self._gives_way(question) or not self._allowance.take(now):
            return  # it asks again
        nonce = question.sender.encode() + b"\0" + question.nonce  # another sender with this nonce gets another pen
        pen = self.book.lend(
            nonce,
            agent.incarnation,
            lambda last: fresh_session(last, machine.clock),
            now,
            question.prefix,
            has_room=lambda name: agent.endpoint.replica.amount_of(name)[0] <= MAX_CELLS_HANDED_ON,
        )
        if pen is None:
            why = f"{machine.terms.name} has lent as many pens as it can: start another relay"
            machine.answer_with(question.sender, control_messages.PenRefused(machine.terms.name, question.nonce, why))
            return
        totals = len(agent.endpoint.replica.facts_of(EVERYBODY_ELSE))
        given = handed_over(agent.endpoint, pen.name, tells_elsewhere=self._totals.take(now, totals))
        parts = tuple(in_parts(machine.controls.settings, machine.room // 2))
        lent = control_messages.PenLent(
            machine.terms.name,
            nonce=question.nonce,
            pen=pen.name,
            session=pen.session,
            first_number=pen.first_number,
            key=pen_key(self._secret, pen.name),
            tallies=given.tallies,
            totals=given.totals,
            lender_session=given.lender_session,
            upto=given.upto,
            settings=parts[0] if len(parts) == 1 else (),  # more than fit are sent the usual way
            lease=self.book.lease,
            settled=given.settled,
            bandits=agent.bandits,
            elsewhere=given.elsewhere,
            totals_elsewhere=given.totals_elsewhere,
        )
        try:
            lent = self._veiled(lent, question)
        except NotNowError:
            return  # it asks again
        machine.answer_with(question.sender, lent)

    def _veiled(self, lent: control_messages.PenLent, question: control_messages.PenAsked) -> control_messages.PenLent:
        """Return a loan whose key is veiled, if others can read packets and the receiver supports it."""
        about = control_messages.about_key(lent, question.sender)
        key = self.veil(question.sender, about, lent.key) if question.reads_veiled else None
        return lent if key is None else msgspec.structs.replace(lent, key=key, is_key_veiled=True)

    def _wrong_with(self, question: control_messages.PenAsked) -> str | None:
        agent, name = self._machine.agent, self._machine.terms.name
        per_reward = agent.presence.units_per_reward
        if (why := self._differs(question)) is not None:
            return why
        if question.units_per_reward != per_reward:
            return (
                f"{name} counts {per_reward} quanta in a reward, not {question.units_per_reward}: a whole group must "
                "declare the same quantum"
            )
        if SEPARATOR in question.prefix or not question.sender.startswith(question.prefix):
            return f"{question.prefix!r} cannot stand before the name of a pen: take a prefix without {SEPARATOR}"
        try:
            longest = pen_name(name, MAX_INCARNATION - 1, 10**9, question.prefix)
        except LocalError as error:
            return str(error)
        if len(longest.encode()) > LONGEST_NAME:
            return f"{longest!r} is too long for a name: give {name}, or what stands before it, a shorter one"
        return None

    def _differs(self, question: control_messages.PenAsked) -> str | None:
        """Return which declaration of a process keeps it from learning with this relay, or `None`."""
        agent, name = self._machine.agent, self._machine.terms.name
        if bool(question.arms) != agent.has_plain:
            kind = "a group with one bandit" if agent.has_plain else "a fleet, whose bandits have names"
            return f"{name} is a relay of {kind}, and the process that asks is not of one: give both the same"
        if question.arms and not set(question.arms) & set(agent.arms):
            return f"{name} has no arm in common with {', '.join(question.arms[:10])}: give both the same arms"
        giving_way = self._machine.serving.giving_way({one.name for one in self._others(question)})
        for bandit in self._others(question):
            if bandit.name not in giving_way:
                what = difference_in_words(self._served[bandit.name], bandit)
                how = "declare it alike everywhere, or under another name"
                return f"{name} knows bandit {bandit.name!r} differently ({what}): {how}"
        return None

    @property
    def _served(self) -> dict[str, Bandit]:
        return {one.name: one for one in self._machine.serving.all}

    def _others(self, question: control_messages.PenAsked) -> list[Bandit]:
        """Return the bandits that a process declares differently from this relay."""
        served = self._served
        return [one for one in question.bandits if one.name in served and difference(served[one.name], one)]

    def _gives_way(self, question: control_messages.PenAsked) -> bool:
        """Return whether bandits change their definition first, because no present member declares the old one."""
        others = {one.name: one for one in self._others(question)}
        if others:
            self._machine.serving.keep(others)
            self._machine.serving.wanted = tuple((self._served | others).values())
        return bool(others)

    def returned(self, message: control_messages.PenReturned, now: float) -> None:
        """Take a pen back: to hand it on if this relay holds all its observations, or else to end it.

        Raises:
            PeerError: The sender does not hold it, and did not hold it before its present pen.
        """
        book, pen, sender = self.book, message.pen, message.sender
        is_next = message.upto is None and lender_of(sender) is not None and prefix_of(sender) == prefix_of(pen)
        if sender != pen and not is_next:
            raise PeerError(f"{sender} gives back the pen {pen}, which it does not hold")
        if book.hears(pen, message.session, now):
            if message.upto is None:
                self.end(pen, "its holder goes on without it")
            elif self._machine.agent.peers.held_of(pen, message.session) >= message.upto:
                floor = settled.floor_number(self._machine.agent.endpoint.replica, pen, incarnation_of(pen))
                # Whatever the holder says: a number that is settled was given out.
                book.close(pen, max(message.next_number, self._next_number(pen)), self._lived(now), floor)
                self._over(pen, now)
            else:
                return  # its last messages are still on their way, and it will ask again
        self._say_over(message.sender, pen, message.session)

    def _say_over(self, receiver: str, pen: str, session: int) -> None:
        is_closed, name = self.book.was_closed(pen, session), self._machine.terms.name
        self._machine.answer_with(receiver, control_messages.PenOver(name, pen, session, is_closed))

    # Time.

    def step(self, now: float) -> None:
        """End pens of silent holders, let old decisions expire, and put aside silent pens of other relays."""
        for pen in self.book.silent(now):
            self.end(pen, f"its holder was not heard for {self.book.lease:g} seconds")
        self._look_what_is_settled()
        if now >= self._age_at:
            self._age_at = now + self._looks_every
            floors = self.book.age(self._lived(now), self._machine.terms.expire_after, self._next_number)
            if floors:
                numbers = [settled.floor_of(pen, incarnation_of(pen), number) for pen, number in floors]
                self._machine.take(self._machine.agent.update_all((), now, numbers))
        if now >= self._look_at:
            self._look_at = now + self.book.lease / 2.0
            self._forget_silent(now)
        if self._ask_at is not None and now >= self._ask_at:
            self._ask_at, self._ask_wait = now + self._ask_wait, min(2.0 * self._ask_wait, ASK_LONGEST)
            self._ask_others()

    def _forget_silent(self, now: float) -> None:
        """Put aside silent pens of other relays. A holder is known again as soon as it speaks here."""
        agent = self._machine.agent
        pens = [peer for peer in agent.peers if lender_of(peer) not in (None, self._machine.terms.name)]
        self._watched = len(pens)
        for pen in pens:
            heard = agent.peers.last_heard(pen)
            if now - max(heard or 0.0, self._started_at) >= self.book.lease:
                self._machine.forget(pen)

    def due_at(self) -> float | None:
        """Return when to step next."""
        age_at = self._age_at if self.book.pens else None
        look_at = self._look_at if self._watched else None
        times = (self.book.due_at(), age_at, look_at, self._ask_at)
        return min((time for time in times if time is not None), default=None)

    def end(self, pen: str, why: str) -> None:
        """End a pen with what this relay holds of it."""
        now = self._machine.clock.now()
        self.book.end(pen, self._lived(now))
        self._machine.alerts.say(logging.INFO, LogEvent.PEN_ENDED, f"the pen {pen} is ended: {why}", pen)
        self._over(pen, now)

    def _over(self, pen: str, now: float) -> None:
        """Note that no process holds a pen: its decisions, and rewards that waited for it, are now the lender's."""
        machine = self._machine
        if pen in machine.agent.peers:
            machine.forget(pen)
        for token, reward in machine.rewards_for_others.take_back(pen):
            if self.gate(token, reward, now) is Taken.NOT_YET:
                self.keep(pen, token, reward)

    @property
    def _looks_every(self) -> float:
        return max(60.0, self._machine.terms.expire_after / LOOKS)

    def _lived(self, now: float) -> float:
        return self._machine.open_decisions.lived_at(now)

    def _next_number(self, pen: str) -> int:
        return settled.next_number(self._machine.agent.endpoint.replica, pen, incarnation_of(pen))

    # The gate.

    def gate(self, token: str, reward: float, now: float, claim: Claim | None = None) -> Taken:
        """Take a reward for a decision of a pen of this relay."""
        machine = self._machine
        claim = claim or read(token)
        pen, number = claim.member, claim.number
        if not is_genuine(token, pen_key(self._secret, pen)):
            machine.guard.refuse(Refusal.FORGED, None, now)
            return Taken.GIVEN_UP
        replica, incarnation = machine.agent.endpoint.replica, incarnation_of(pen)
        is_old = now - claim.at >= machine.terms.expire_after
        if is_old and settled.is_over(replica, pen, incarnation, number):
            return self._give_up()
        if settled.is_settled(replica, pen, incarnation, number):
            return Taken.COUNTED_BEFORE
        match self.book.whose(pen):
            case Whose.HOLDER:
                return self.keep(pen, token, reward)
            case Whose.NOBODY_YET:
                return self._wait(pen, now)
            case Whose.LENDER:
                return self._count(claim, reward, now)

    def _count(self, claim: Claim, reward: float, now: float) -> Taken:
        machine, agent, pen = self._machine, self._machine.agent, claim.member
        at, arm = unmarked(claim.arm)
        try:
            units = units_in(agent, claim.arm, reward)
        except NotNowError:
            return Taken.NOT_YET  # a member that declares that bandit will announce it
        except LocalError as error:
            machine.alerts.say_once(logging.WARNING, LogEvent.REWARD_REFUSED, f"a reward was refused: {error}")
            return self._give_up()
        known = (agent.endpoint.replica, pen, incarnation_of(pen), claim.number)
        if not agent.serves(at, arm):
            return Taken.NOT_YET if at[0] else self._give_up()
        has_room = agent.endpoint.replica.amount_of(pen)[0] < MAX_PEN_CELLS
        if not (has_room and settled.has_room(*known)):
            return self._give_up()
        if pen not in self.book.pens:
            self.book.end(pen, self._lived(now))
        tally = ArmTally(arm, 1, units, agent.quantum_of(at[0]).square(units))
        numbers = settled.blocks_of(pen, incarnation_of(pen), [claim.number])
        machine.take(agent.adopt(pen, tally, numbers, now, at))
        self.counted += 1
        return Taken.COUNTED

    def keep(self, pen: str, token: str, reward: float) -> Taken:
        """Keep a reward for the holder of its pen, or until it can be judged here."""
        try:
            self._machine.rewards_for_others.offer(pen, token, reward)
        except NotNowError:
            return Taken.NOT_YET
        return Taken.ON_ITS_WAY

    def keeps(self, holder: str) -> bool:
        """Return whether a peer holds a pen of this relay. It has no disk, so rewards stay here until they count."""
        is_pen = self.book.is_lent(holder)
        if is_pen:
            self._bringing[holder] = None
        return is_pen

    def _look_what_is_settled(self) -> None:
        """Drop rewards that were brought to holders of pens, and that the holders have since reported as settled."""
        machine, outbox = self._machine, self._machine.outbox
        for pen in tuple(self._bringing):
            known = (machine.agent.endpoint.replica, pen, incarnation_of(pen))
            waiting = [token for token, _ in outbox.of(pen)]
            done = [token for token in waiting if settled.is_settled(*known, read(token).number)]
            if done:
                machine.rewards_for_others.arrived(pen, done)
            if len(done) == len(waiting):
                del self._bringing[pen]

    def _give_up(self) -> Taken:
        self.given_up += 1
        return Taken.GIVEN_UP

    # What this relay has forgotten.

    def _wait(self, pen: str, now: float) -> Taken:
        if self._is_alone_for_good:
            return self._give_up()
        self._machine.alerts.say_once(
            logging.WARNING,
            LogEvent.PENS_FORGOTTEN,
            f"a reward for {pen} waits: its lender has lost its state, and takes it when all other relays have told "
            "what they know. Without another relay it is given up",
        )
        if self._ask_at is None and not self.book.is_complete:
            self._ask_at, self._ask_wait = now, ASK_EVERY
        return Taken.NOT_YET

    @property
    def _is_alone_for_good(self) -> bool:
        return not self.relays and self._machine.clock.now() - self._started_at >= GIVE_UP_AFTER

    @property
    def relays(self) -> tuple[str, ...]:
        """The other relays that are known."""
        agent = self._machine.agent
        said = ((peer, agent.peers.presence_of(peer)) for peer in agent.peers)
        return tuple(peer for peer, presence in said if presence is not None and presence.is_relay)

    def _ask_others(self) -> None:
        agent, name = self._machine.agent, self._machine.terms.name
        known = {*self.relays, *(relay for told in self._told.values() for relay in told.relays)} - {name}
        lacking = [relay for relay in known if not self._has_told(relay)]
        if known and not lacking:
            self.book.is_complete = True
        if self.book.is_complete or self._is_alone_for_good:
            self._ask_at = None
            self.judge_again()
            return
        for relay in lacking:
            self._machine.answer_with(relay, control_messages.LogAsked(name, agent.session))

    def judge_again(self) -> None:
        """Judge again the rewards that wait here for pens without a holder: more may be known by now."""
        waiting = {peer for peer, _, _ in self._machine.outbox.rewards}
        for pen in waiting:
            if lender_of(pen) == self._machine.terms.name and not self.book.is_lent(pen):
                self._over(pen, self._machine.clock.now())

    def _has_told(self, relay: str) -> bool:
        told, agent = self._told.get(relay), self._machine.agent
        return (
            told is not None and told.asked == agent.session and agent.peers.held_of(relay, told.session) >= told.number
        )

    def log_told(self, message: control_messages.LogTold) -> None:
        """Note how far another relay's log has come, if it was asked: others could name relays that do not exist."""
        agent, sender = self._machine.agent, message.sender
        said = agent.peers.presence_of(sender) if sender in agent.peers else None
        is_asked = self._ask_at is not None and message.asked == agent.session
        if is_asked and said is not None and said.is_relay and not self._has_told(sender):
            self._told[sender] = message

    def log_asked(self, message: control_messages.LogAsked) -> None:
        """Say how far the log has come here, if a relay asks in its current session. Ignore earlier sessions."""
        agent, said = self._machine.agent, self._machine.agent.peers.presence_of(message.sender)
        if said is not None and said.is_relay and said.session == message.session:
            number = agent.peers.last_wanted_by(message.sender)
            told = control_messages.LogTold(
                self._machine.terms.name, message.session, agent.session, number, self.relays
            )
            self._machine.answer_with(message.sender, told)
