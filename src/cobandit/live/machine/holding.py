"""The holder's side of pens: a member without a name and a disk of its own, which uses the disk of its lender.

It asks a relay for a pen (`question`), and starts from the answer (`holder`). From then on it is an ordinary leaf with
the pen's name. In addition, this file tracks which settled decisions the lender has not acknowledged yet. If the pen
ends before they are acknowledged, they pass through the lender's gate one by one. The next machine of the same process
brings them, with another pen (`leftovers`).

This file does not know which relays exist, nor how a process moves from one machine to the next; the driver does.
Deciding never waits for anything here.
"""

import secrets
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from cobandit.agent import Agent
from cobandit.core import Message, Sharing, settled
from cobandit.core.handover import Handover, holder_state
from cobandit.core.pen_names import incarnation_of, lender_of
from cobandit.core.pens import MAX_CELLS_HELD, MAX_NUMBERS, SAY_EVERY
from cobandit.core.places import Bandit, together
from cobandit.core.state import Snapshot
from cobandit.learning import Build
from cobandit.live.decide.clock import Clock
from cobandit.live.decide.common import Settled
from cobandit.live.decide.decision import Claim, is_genuine, sign
from cobandit.live.decide.full_names import split
from cobandit.live.decide.holdout import unmarked
from cobandit.live.decide.taken import Taken
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import AnyControlMessage
from cobandit.live.machine.controls import Controls, Setting
from cobandit.live.machine.knowledge import units_in
from cobandit.live.machine.open_decisions import OpenDecisions, OpenDecisionsState
from cobandit.live.machine.outbox import Outbox
from cobandit.live.machine.step import Held, Restored
from cobandit.policies import Policy
from cobandit.values.errors import NotNowError, PeerError
from cobandit.values.tally import Arm, checked_arms

if TYPE_CHECKING:
    from cobandit.live.machine.machine import Machine

MAX_UNACKNOWLEDGED = 100_000
"""How many settled decisions without acknowledgement are remembered. Beyond that, the oldest are given up if the pen
ends."""

MAX_BROUGHT_AT_ONCE = 1000
"""How many of them may be on their way to the lender at a time."""

_NONCE = 16
_PROBE_FIRST, _PROBE_LONGEST = 1.0, 60.0
"""Seconds after which a lender that owes an answer is asked again; doubles each time."""


class Leftovers(NamedTuple):
    """What the next machine of a process must bring or know."""

    rewards: tuple[tuple[str, str, float], ...] = ()
    """Rewards on their way to others: the owner, the id of the decision, the reward."""
    unacknowledged: tuple[tuple[str, str, float], ...] = ()
    """The same for own decisions that were counted but not acknowledged. The owner is the lender of their pen."""
    settings: tuple[Setting, ...] = ()
    subjects: tuple[tuple[str, Arm, float | None], ...] = ()
    given_back: tuple[control_messages.PenReturned, ...] = ()
    """Pens that their lenders must still end."""


def question(
    name: str, arms: Sequence[Arm], units_per_reward: int, prefix: str = "", bandits: Sequence[Bandit] = ()
) -> control_messages.PenAsked:
    """Return the question for a pen. It is repeated unchanged until it is answered, to one relay after another.

    Args:
        name: A temporary name, to which relays answer.
        arms: The arms that the process serves; empty in a fleet.
        units_per_reward: How many quanta a reward of 1 has.
        prefix: The prefix of the names that the process can prove.
        bandits: The named bandits that it has declared.
    """
    served = checked_arms(arms) if arms else ()
    return control_messages.PenAsked(
        name, secrets.token_bytes(_NONCE), served, units_per_reward, prefix, tuple(bandits)
    )


def holder(
    lent: control_messages.PenLent,
    asked: control_messages.PenAsked,
    *,
    build: Build,
    sharing: Sharing,
    clock: Clock,
    before: Leftovers | None = None,
) -> Restored:
    """Return the initial state of a member that holds a pen. `Machine` takes it in place of a journal's state.

    Args:
        lent: The answer.
        asked: The question.
        build: Makes a fresh policy for some arms.
        sharing: The sharing settings.
        clock: The clock.
        before: The leftovers of the same process from an earlier pen.

    Raises:
        PeerError: It does not answer that question, or is invalid.
    """
    lender, pen = lent.sender, lent.pen
    if lent.nonce != asked.nonce:
        raise PeerError(f"{lender} lends a pen to another process")
    if lender_of(pen) != lender or not incarnation_of(pen) < lent.session or lent.first_number < 0:
        raise PeerError(f"{lender} lends {pen!r}, which is not a pen of its own")
    before = before or Leftovers()

    def policy() -> Policy | None:
        return build(asked.arms) if asked.arms else None

    bandits = () if asked.arms else together(lent.bandits, asked.bandits)
    fresh = Agent(pen, policy(), sharing, incarnation=incarnation_of(pen), bandits=bandits)
    fresh.turn(clock.time_of_day(), clock.now())
    given = Handover(
        *(lent.tallies, lent.totals, lent.lender_session, lent.upto),
        elsewhere=lent.elsewhere,
        totals_elsewhere=lent.totals_elsewhere,
        settled=lent.settled,
    )
    state = holder_state(fresh.snapshot().endpoint, lent.session, lender, given)
    agent = Agent.restore(Snapshot(repr(sharing), state), policy=policy(), sharing=sharing)
    controls = Controls(before.settings)
    controls.merge(lent.settings, clock.time_of_day())
    open_decisions = OpenDecisions(OpenDecisionsState(subjects=before.subjects))
    open_decisions.begin(0, lent.first_number, clock.now())
    return Restored(
        agent,
        controls,
        Outbox(before.rewards),
        open_decisions,
        0,
        lent.key,
        frozenset(),
        is_new=True,
        first_place=lent.first_number,
        held=Held(lender, lent.session, lent.first_number, lent.lease, before.unacknowledged, before.given_back),
    )


class Holding:
    """What a member tracks because its name is a pen."""

    def __init__(self, machine: "Machine", held: Held) -> None:
        self._machine = machine
        self.lender, self.session, self.first_number = held.lender, held.session, held.first_number
        self._say_every = min(SAY_EVERY, held.lease / 3.0)
        self._said_at = self._flushed_at = machine.clock.now()
        self._unacknowledged: deque[tuple[int, Settled]] = deque()
        """Settled decisions, each with the number of the log at which it was counted."""
        self._adopted: set[int] = set()
        """Decisions of earlier holders that were counted here."""
        self._to_bring = deque(held.to_bring)
        """Leftovers from earlier pens that do not fit the outbox yet."""
        self._given_back = {message.pen: message for message in held.given_back}
        self._give_back_at, self._give_back_until = 0.0, machine.clock.now() + 2.0 * held.lease
        self._is_hurried = False
        """Whether the lender is keeping rewards that were counted here until it hears so."""
        self._owed_since: float | None = None
        self._probe_at, self._probe_wait = 0.0, _PROBE_FIRST
        self.given_up = 0
        """Settled decisions that were forgotten before the lender acknowledged them. If the pen is ended, they count
        nowhere."""
        self.is_over = False
        """Whether the pen was ended. The process must take another, and pass on its `leftovers`."""
        self.is_closing = self.is_giving_back = self.is_closed = False
        """Whether the pen is to be given back; whether the lender was told that it has everything, after which nothing
        may be counted here; whether the lender has confirmed that everything counts."""

    # What is counted.

    def counted(self, entries: Iterable[Settled]) -> None:
        """Note that decisions were settled, which the lender does not know yet."""
        number = self._machine.agent.log_number
        self._unacknowledged.extend((number, entry) for entry in entries if entry.units is not None)
        while len(self._unacknowledged) > MAX_UNACKNOWLEDGED:
            self._unacknowledged.popleft()
            self.given_up += 1

    @property
    def unacknowledged(self) -> int:
        """How many settled decisions the lender has not acknowledged. A kill would lose them."""
        return len(self._unacknowledged)

    @property
    def is_lender_behind(self) -> bool:
        """Whether the lender lacks something, perhaps because it was not met yet, and would accept it."""
        return bool(self._unacknowledged) and not (self.is_over or self.is_closed)

    @property
    def under_way(self) -> int:
        """How many rewards for other decisions no relay has taken yet. They are on no disk."""
        return len(self._to_bring) + self._machine.outbox.waiting

    def brought(self, sender: str) -> None:
        """Note that a sender has brought rewards. If it is the lender, it keeps them until it hears that they count."""
        self._is_hurried = self._is_hurried or sender == self.lender

    def reward(self, token: str, reward: float, claim: Claim) -> Taken:
        """Take a reward for a decision with this pen, made by this process or an earlier one."""
        machine = self._machine
        if self.is_giving_back:
            return Taken.NOT_YET  # its lender will count it
        if claim.number >= self.first_number:
            return machine.settling.settle_token(token, reward)
        if not is_genuine(token, machine.decider.signer.key):
            return Taken.GIVEN_UP
        if not machine.agent.serves(*unmarked(claim.arm)):
            return Taken.NOT_YET if split(claim.arm)[0][0] else Taken.GIVEN_UP  # its lender may, once the pen is back
        known = (machine.agent.endpoint.replica, machine.terms.name, machine.agent.incarnation, claim.number)
        if settled.is_settled(*known) or claim.number in self._adopted:
            return Taken.COUNTED_BEFORE
        machine.decider.add_unrecorded(claim.number, claim.arm, units_in(machine.agent, claim.arm, reward))
        self._adopted.add(claim.number)
        return Taken.COUNTED

    # What is heard.

    def over(self, message: control_messages.PenOver) -> None:
        """Take the lender's message that a pen is over: the present one, or one that was given back."""
        given_back = self._given_back.get(message.pen)
        if given_back is not None and lender_of(message.pen) == message.sender:
            del self._given_back[message.pen]
        if (message.sender, message.pen, message.session) != (self.lender, self._machine.terms.name, self.session):
            return
        if message.is_closed and self.is_closing:
            self.is_closed = True
        else:
            self.is_over = True

    def superseded(self) -> None:
        """Note a later session of this pen: another process holds it, or this one has more arms or bandits."""
        self.is_over = True

    @property
    def is_out_of_session(self) -> bool:
        """Whether a session other than the pen's has begun here, with more arms or bandits.

        The lender does not listen to it. The driver should take another pen that covers all of them.
        """
        return self._machine.agent.session != self.session

    @property
    def is_worn(self) -> bool:
        """Whether so many decisions with this pen are still pending that the driver should take another."""
        machine = self._machine
        floor = settled.floor_number(machine.agent.endpoint.replica, machine.terms.name, machine.agent.incarnation)
        if machine.agent.endpoint.replica.amount_of(machine.terms.name)[0] >= MAX_CELLS_HELD:
            return True
        return self.first_number + machine.decider.decisions - floor >= MAX_NUMBERS

    def is_lender_silent(self, now: float) -> bool:
        """Return whether the lender has owed an answer for too long, so that the driver should ask another relay."""
        if self._owed_since is None:
            return False
        agent = self._machine.agent
        heard = agent.peers.last_heard(self.lender) if self.lender in agent.peers else None
        return now - max(self._owed_since, heard or 0.0) >= self._machine.terms.pens.patience

    # What is done.

    def close(self, now: float) -> None:
        """Begin to give the pen back. No decision may be made after this."""
        self.is_closing = True
        self._give_back_at = now

    def step(self, now: float) -> None:
        """Do what is due. Called after rewards were counted, and before anything is sent."""
        acknowledged = self._machine.agent.peers.acknowledged_by(self.lender) if self._is_all_wanted else -1
        while self._unacknowledged and self._unacknowledged[0][0] <= acknowledged:
            self._unacknowledged.popleft()
        self._bring()
        if self.is_over or self.is_closed:
            return
        self._look_at_lender(now)
        if now >= self._give_back_until:
            self._given_back.clear()  # their leases are over, if their lenders still exist
        if self._given_back and now >= self._give_back_at:
            for message in self._given_back.values():
                lender = lender_of(message.pen)
                assert lender is not None
                self._machine.answer_with(lender, msgspec.structs.replace(message, sender=self._machine.terms.name))
            self._give_back_at = now + _PROBE_FIRST
        if self.is_closing and now >= self._give_back_at:
            self._give_back_at = now + _PROBE_FIRST
            self._give_back(now)

    def said(self, outgoing: Iterable[tuple[str, Message | AnyControlMessage]], now: float) -> None:
        """Note what this step sends."""
        if any(receiver == self.lender for receiver, _ in outgoing):
            self._said_at = now

    def due_at(self) -> float | None:
        """Return when to step next."""
        if self.is_over or self.is_closed:
            return None
        times = [self._said_at + self._say_every]
        if self._unacknowledged:
            times.append(self._flushed_at + self._machine.terms.pens.flush_every)
        if self._owed_since is not None:
            times.append(self._probe_at)
        if self._given_back or self.is_closing:
            times.append(self._give_back_at)
        return min(times)

    def leftovers(self) -> Leftovers:
        """Return what the next machine of this process must bring and know. The driver may call again for late rewards.

        Unrewarded decisions of this pen belong to its lender from now on: a reward for one goes there, by its id. This
        machine must not count anything that is returned here.
        """
        machine, pen = self._machine, self._machine.terms.name
        _, late = machine.decider.take()
        entries = [entry for _, entry in self._unacknowledged] + [entry for entry in late if entry.units is not None]
        self._unacknowledged.clear()
        to_bring = [(self.lender, *self._as_reward(entry)) for entry in entries]
        given_back = [*self._given_back.values()]
        if not (self.is_over or self.is_closed):
            given_back.append(control_messages.PenReturned(pen, pen, self.session, None))
        machine.rewards_for_others.keep(machine.clock.now())
        rewards = machine.outbox.rewards
        for peer in {peer for peer, _, _ in rewards}:
            machine.rewards_for_others.take_back(peer)
        to_bring, self._to_bring = [*self._to_bring, *to_bring], deque()
        self._given_back.clear()
        self.is_over = True
        return Leftovers(
            rewards, tuple(to_bring), machine.controls.settings, machine.open_decisions.subjects(), tuple(given_back)
        )

    def bring(self, rewards: Iterable[tuple[str, str, float]]) -> None:
        """Take more rewards that were counted with an earlier pen of this process, from a thread that was late."""
        self._to_bring.extend(rewards)

    # How.

    def _as_reward(self, entry: Settled) -> tuple[str, float]:
        """Return a settled decision's id, and its reward in the range of its bandit."""
        machine = self._machine
        bandit = machine.agent.bandit(split(entry.arm)[0][0])
        assert bandit is not None, "what was settled was declared"
        claim = Claim(machine.terms.name, entry.number, entry.arm, entry.at)
        return sign(claim, machine.decider.signer.key), bandit.reward(entry.units or 0)

    @property
    def _is_all_wanted(self) -> bool:
        """Whether the lender serves all bandits served here. Otherwise it would acknowledge what it has not heard."""
        mine, said = self._machine.agent.bandits, self._machine.agent.peers.presence_of(self.lender)
        if not mine:
            return True
        theirs = {one.name: set(one.arms) for one in (() if said is None else said.bandits)}
        return all(set(bandit.arms) <= theirs.get(bandit.name, set()) for bandit in mine)

    def _bring(self) -> None:
        machine = self._machine
        while self._to_bring and machine.outbox.waiting < MAX_BROUGHT_AT_ONCE:
            try:
                machine.rewards_for_others.offer(*self._to_bring[0])
            except NotNowError:
                return  # the limit is lower for a relay that is not met yet
            self._to_bring.popleft()
            machine.rewards_for_others.keep(machine.clock.now())

    def _look_at_lender(self, now: float) -> None:
        """Contact the lender often enough, send what it lacks, and ask again if it owes an answer."""
        machine, agent, lender = self._machine, self._machine.agent, self.lender
        is_known = lender in agent.peers
        flush_at = self._flushed_at + machine.terms.pens.flush_every
        is_due = bool(self._unacknowledged) and (now >= flush_at or self._is_hurried)
        self._is_hurried = False
        owes = not is_known or (agent.peers.link(lender).owes and agent.peers.link(lender).shares_sent > 0)
        if not owes and not self.is_closing:
            self._owed_since, self._probe_wait = None, _PROBE_FIRST
        elif self._owed_since is None:
            self._owed_since, self._probe_at = now, now + _PROBE_FIRST
        elif now >= self._probe_at:
            self._probe_at, self._probe_wait = now + self._probe_wait, min(2.0 * self._probe_wait, _PROBE_LONGEST)
            is_due = True
        if is_due and is_known:
            machine.flush()
        elif is_due:  # it said farewell, and its next greeting was lost
            machine.answer_with(lender, machine.introduction.hello(wants_answer=True))
        elif is_known and now >= self._said_at + self._say_every:
            machine.take(agent.acknowledge(lender))
        if is_due or not self._unacknowledged:
            self._flushed_at = now
        if not is_known:
            self._said_at = now

    def _give_back(self, now: float) -> None:
        machine, pen = self._machine, self._machine.terms.name
        upto = machine.agent.peers.last_wanted_by(self.lender)
        is_held = self.lender in machine.agent.peers.met and machine.agent.peers.acknowledged_by(self.lender) >= upto
        is_held = is_held and self._is_all_wanted
        if machine.decider.is_waiting or not is_held:
            self._flushed_at = now
            machine.flush()
            return
        self.is_giving_back = True
        next_number = self.first_number + machine.decider.decisions
        machine.answer_with(self.lender, control_messages.PenReturned(pen, pen, self.session, upto, next_number))


def lost_words(rewards: int) -> str:
    """Return what the end of a process costs, if these rewards are with nobody else.

    >>> lost_words(1), lost_words(2)
    ('1 reward may count nowhere', '2 rewards may count nowhere')
    """
    return f"{rewards:,} reward{'' if rewards == 1 else 's'} may count nowhere"


def not_given_back(lender: str, unacknowledged: int) -> str:
    """Return what to say when a process ends with its pen: what its lender has not acknowledged may be lost.

    >>> not_given_back("relay-a", 0)
    'stops before relay-a has taken its pen back: nothing is lost, and it ends the pen after its lease'
    """
    if not unacknowledged:
        return f"stops before {lender} has taken its pen back: nothing is lost, and it ends the pen after its lease"
    return f"stops before {lender} has acknowledged everything: {lost_words(unacknowledged)}"
