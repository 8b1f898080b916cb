"""Where packets come in: which are accepted, and the answers to control messages.

Protocol messages go to the agent unchanged. The machine handles control messages (`control_messages.py`):
introductions, controls, rewards for this member's decisions, questions. What cannot be right is refused and counted,
and changes nothing.
"""

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from cobandit.core import Acknowledgement, Changes, Message, Notice, Outcome, Presence, Share
from cobandit.core.pen_names import lender_of
from cobandit.live.auth.refusal import Refusal
from cobandit.live.decide.decision import read
from cobandit.live.decide.taken import Taken
from cobandit.live.log_events import LogEvent
from cobandit.live.machine import control_messages
from cobandit.live.machine.control_messages import AnyControlMessage, ControlMessage
from cobandit.live.machine.controls import Controls
from cobandit.live.machine.guard import reason_of
from cobandit.live.machine.rewarding import take_reward
from cobandit.live.machine.rewards_for_others import counts_for
from cobandit.live.machine.sessions import check_sessions
from cobandit.values.errors import FutureError, LocalError, NotNowError, PeerError, StrangerError

if TYPE_CHECKING:
    from cobandit.live.machine.machine import Machine

MAX_UNPROVED_MEMBERS = 4096
"""How many members may be known where nothing proves names, because names are easily made up."""

MOST_LISTED = 10
"""How many arms are listed where two members have different ones."""


JUST_HEARD = 60.0
"""Seconds."""


class Inbound:
    """Receives packets for one member."""

    def __init__(self, machine: "Machine") -> None:
        self._machine = machine
        self._answered: dict[str, bytes] = {}
        """Members that were here before and have answered since the start, each with the digest of its settings
        then."""

    def hear(self, packet: bytes, sender: str | None, now: float) -> None:
        """Process a packet, with its sender's name if that is proved."""
        machine = self._machine
        try:
            content: Message | AnyControlMessage = machine.terms.versions.packets.decode(packet, machine.terms.group)
        except PeerError as error:
            self._refuse_unread(error, sender, now)
            return
        if sender is not None and content.sender != sender:
            machine.refuse(Refusal.FORGED, sender, f"{sender} spoke in the name of {content.sender}")
            return
        if self._is_one_too_many(content, sender):
            machine.refuse(
                Refusal.FLOOD,
                None,
                f"a newcomer, for {MAX_UNPROVED_MEMBERS:,} members are known already, and nothing proves names: "
                "use keys, or forget those that are gone with `cobandit forget`",
            )
            return
        try:
            check_sessions(content, machine.agent.session, now)
            self._check_role(content, sender)
            if machine.leaf is not None and not machine.leaf.admits(content, now):
                return
            if not self._is_affordable(content, now):
                machine.guard.refuse(Refusal.TOO_OFTEN, sender, now)
                return
            if machine.lending is not None and not machine.lending.listens(content, now):
                return
            if isinstance(content, ControlMessage):
                self._open(content, now)
            else:
                outcome = self._receive(content, now)
                if outcome.superseded_by is not None and not isinstance(content, Notice):
                    self._superseded(outcome.superseded_by, content)
        except StrangerError:
            machine.guard.refuse(Refusal.STRANGER, sender, now)
            if machine.discovery.may_answer(content.sender, now, is_member=sender is not None):
                machine.answer_with(content.sender, machine.introduction.hello(wants_answer=True))
        except PeerError as error:
            machine.refuse(Refusal.ABSURD, sender, str(error))

    def forget(self, peer: str) -> None:
        """Keep nothing about a peer that is gone."""
        self._answered.pop(peer, None)

    def _receive(self, message: Message, now: float) -> Outcome:
        """Pass a message to the agent. A peer that has said farewell is forgotten, even if a late message arrives."""
        machine, sender = self._machine, message.sender
        outcome = machine.agent.receive(message, now)
        machine.take(outcome)
        if outcome.records and not isinstance(message, Acknowledgement):
            for presence in message.changes.presences:
                machine.serving.compare(sender, presence.bandits)
        is_gone = sender in machine.agent.peers and not machine.agent.peers.is_present(sender)
        if is_gone and machine.terms.sharing.retry is not None:
            machine.forget(sender)
        return outcome

    def _superseded(self, by: int, message: Share | Acknowledgement) -> None:
        machine = self._machine
        if machine.holding is None:
            machine.succession.meet(by, message)
        else:
            machine.holding.superseded()

    def _check_role(self, content: Message | AnyControlMessage, sender: str | None) -> None:
        """Refuse a sender that acts as a relay if its certificate does not say so now, whatever it was before.

        Where nothing is proved, all senders are believed.

        Raises:
            PeerError: It must not pass on observations of others.
        """
        does = _relayed(content)
        if does is not None and sender is not None and self._machine.guard.may_relay(sender) is False:
            raise PeerError(
                f"{sender} {does}, and its certificate does not let it: make it a relay with "
                f"`cobandit keys agent {sender} --relay`, or start it without relay"
            )

    def _is_one_too_many(self, content: Message | AnyControlMessage, sender: str | None) -> bool:
        """Return whether this is the hello of a newcomer with an unproved name, and there are too many of those."""
        if sender is not None or not isinstance(content, control_messages.Hello):
            return False
        agent = self._machine.agent
        return content.sender not in agent.peers and len(agent.peers) >= MAX_UNPROVED_MEMBERS

    def _is_affordable(self, content: Message | AnyControlMessage, now: float) -> bool:
        """Return whether a peer is within its limits for messages that are expensive to process and to answer."""
        guard = self._machine.guard
        match content:
            case control_messages.Hello():
                told = {(content.session, content.notice)}
            case Share() | Notice():
                told = {(presence.session, presence.number) for presence in content.changes.presences}
            case _:
                told = set()
        known = self._machine.agent.peers.presence_of(content.sender)
        if told and known is not None and told != {(known.session, known.number)}:
            return guard.may_begin(content.sender, now)
        delivery = content.delivery if isinstance(content, Share) else None
        is_repetition = delivery is not None and delivery.attempt > 0 and not delivery.is_answer
        return not is_repetition or guard.may_repeat(content.sender, now)

    def _refuse_unread(self, error: PeerError, sender: str | None, now: float) -> None:
        """Refuse a packet that cannot be read. A sender of an unreadable version is told which versions can be read."""
        machine = self._machine
        machine.refuse(reason_of(error), sender, str(error))
        if not isinstance(error, FutureError) or sender is None:
            return
        if machine.discovery.may_answer(sender, now, is_member=True):
            machine.answer_with(sender, machine.introduction.hello())

    def _open(self, message: AnyControlMessage, now: float) -> None:
        """Process a control message. Some may come from any sender that could become a member."""
        machine = self._machine
        if message.sender == machine.terms.name:
            raise PeerError(f"{message.sender} received a message from itself: do two processes run under one name?")
        match message:
            case control_messages.Hello():
                self._meet(message, now)
            case control_messages.StatusAsked():
                is_member = message.sender in machine.agent.peers
                if machine.discovery.may_tell(message.sender, now, is_member=is_member):
                    machine.askers.append(message.sender)
            case control_messages.StatusTold():
                machine.answers.take(message)
            case control_messages.ControlsTold():
                self._hear_controls(message)
            case control_messages.RelaySought():
                if machine.terms.is_relay and machine.discovery.may_show(message.sender, now):
                    machine.answer_with(message.sender, machine.introduction.hello())
            case _ if isinstance(message, control_messages.PenMessage):
                self._open_pen(message, now)
            case _:
                if message.sender not in machine.agent.peers:
                    raise StrangerError(f"{message.sender!r} is not known to {machine.terms.name}")
                self._open_from_member(message, now)

    def _open_pen(self, message: control_messages.PenMessage, now: float) -> None:
        """Process a message about pens. Any sender that could join may send one: without a pen it has no name."""
        lending, holding = self._machine.lending, self._machine.holding
        match message:
            case control_messages.PenAsked() if lending is not None:
                lending.asked(message, now)
            case control_messages.PenReturned() if lending is not None:
                lending.returned(message, now)
            case control_messages.LogAsked() if lending is not None:
                lending.log_asked(message)
            case control_messages.LogTold() if lending is not None:
                lending.log_told(message)
            case control_messages.PenOver() if holding is not None:
                holding.over(message)
            case control_messages.PenAsked() if self._machine.discovery.may_answer(message.sender, now):
                why = f"{self._machine.terms.name} is not a relay, and lends no pens: ask one that is"
                refused = control_messages.PenRefused(self._machine.terms.name, message.nonce, why)
                self._machine.answer_with(message.sender, refused)

    def _open_from_member(self, message: AnyControlMessage, now: float) -> None:
        machine = self._machine
        match message:
            case control_messages.ControlsHeard():
                machine.outbox.controls_heard(message.sender, message.digest)
            case control_messages.Rewards():
                taken = tuple(token for token, reward in message.rewards if self._takes(token, reward))
                machine.answer_with(message.sender, control_messages.RewardsTaken(machine.terms.name, taken))
                if machine.holding is not None:
                    machine.holding.brought(message.sender)
            case control_messages.RewardsTaken():
                if machine.lending is None or not machine.lending.keeps(message.sender):
                    machine.rewards_for_others.arrived(message.sender, message.tokens, message.number)
                machine.routing.answered(message.sender, message.number)
            case control_messages.RewardsToBring():
                self._take_over(message, now)
            case control_messages.FleetAsked():
                if machine.discovery.may_tell(message.sender, now, is_member=True):
                    machine.fleet_askers.append(message.sender)
            case control_messages.StatusPassedOn():
                machine.answers.take_passed_on(message)

    def _take_over(self, message: control_messages.RewardsToBring, now: float) -> None:
        """Take rewards for decisions of others that can be brought on from here, and say which they are.

        From a leaf or a member of a mesh, all are taken, whatever becomes of them. Another relay sends what it cannot
        deliver itself. From that, only rewards for members present here are taken; if the sender takes the member to be
        present there too, only if it was just heard here and takes what it is sent. So no reward travels in circles.
        """
        machine, taken = self._machine, list[str]()
        is_led = machine.agent.peers.is_relay(message.sender)
        for token, reward in message.rewards:
            try:
                member = read(token).member
            except LocalError:
                taken.append(token)  # it can never be counted
                continue
            owner = counts_for(member)
            if machine.terms.name in (member, owner):
                is_taken = self._takes(token, reward)
            elif not is_led or self._can_bring(owner, now, is_doubtful=message.is_doubtful):
                is_taken = machine.rewards_for_others.take_over(owner, token, reward)
            else:
                is_taken = False
            taken += [token] if is_taken else []
        if taken:
            said = control_messages.RewardsTaken(machine.terms.name, tuple(taken), message.number)
            machine.answer_with(message.sender, said)

    def _can_bring(self, owner: str, now: float, *, is_doubtful: bool) -> bool:
        """Return whether a member is present; if another relay doubts that, whether this one has reason not to."""
        agent = self._machine.agent
        heard = agent.peers.last_heard(owner) if agent.peers.is_present(owner) else None
        if heard is None or not is_doubtful:
            return heard is not None
        return abs(now - heard) <= JUST_HEARD and not self._machine.routing.doubts(owner)

    def _takes(self, token: str, reward: float) -> bool:
        """Return whether a reward that was brought here need not be brought again: it is counted, kept, or refused.

        A relay also takes rewards for pens of other relays, and brings them there.
        """
        machine = self._machine
        try:
            is_of_pen = lender_of(read(token).member) is not None
            if not is_of_pen or (machine.lending is None and machine.holding is None):
                machine.settling.settle_token(token, reward)
                return True
            taken = take_reward(machine, token, reward, is_brought=True)
        except LocalError as error:
            machine.alerts.say_once(logging.WARNING, LogEvent.REWARD_REFUSED, f"a reward was refused: {error}")
            return not isinstance(error, NotNowError)
        if taken is Taken.ON_ITS_WAY:
            machine.rewards_for_others.keep(machine.clock.now())  # in this step, which also acknowledges it
        return taken is not Taken.NOT_YET

    def _meet(self, hello: control_messages.Hello, now: float) -> None:
        machine = self._machine
        if hello.is_leaf and not machine.terms.is_relay:
            return  # it is looking for relays
        known = machine.agent.peers.presence_of(hello.sender)
        presence = Presence(
            hello.sender,
            hello.session,
            hello.notice,
            hello.incarnation,
            is_present=True,
            arms=hello.arms,
            units_per_reward=hello.units_per_reward,
            is_relay=hello.is_relay,
            is_leaf=hello.is_leaf,
            bandits=hello.bandits,
        )
        self._receive(Notice(hello.sender, machine.terms.name, Changes(presences=(presence,)), hello.session), now)
        machine.peer_versions.heard(hello.sender, hello.reads)
        machine.outbox.controls_heard(hello.sender, hello.controls)
        machine.outbox.is_back(hello.sender)
        newcomers = machine.discovery.newcomers
        if hello.answers is not None and hello.answers >= (machine.introduction.introduced_as or (0, 0)):
            if hello.is_new and machine.introduction.awaits_settings:
                newcomers.add(hello.sender)
            elif not hello.is_new:
                newcomers.discard(hello.sender)
                self._answered[hello.sender] = hello.controls
                if hello.controls in (b"", machine.controls.digest):
                    machine.introduction.heard_settings(hello.sender)
        is_news = known is None or (known.session, known.number) != (hello.session, hello.notice)
        if is_news:
            self._compare_arms(hello)
        # A question may be repeated because the answer was lost, or because the network duplicates packets.
        is_question = hello.wants_answer or (hello.answers is None and is_news)
        is_later = known is not None and is_news  # rare enough: see `_is_affordable`
        if is_question and (is_later or machine.discovery.may_answer(hello.sender, now, is_member=known is not None)):
            self._answer(hello)

    def _answer(self, hello: control_messages.Hello) -> None:
        """Answer a hello. Of two newcomers, each asks whether the other is one, so that neither waits for the other."""
        machine, said = self._machine, (hello.session, hello.notice)
        is_asked = (
            machine.introduction.awaits_settings and hello.is_new and hello.sender not in machine.discovery.newcomers
        )
        machine.answer_with(hello.sender, machine.introduction.hello(wants_answer=is_asked, answers=said))
        if machine.introduction.awaits_settings and hello.is_leaf:
            machine.discovery.waiting[hello.sender] = said

    def _compare_arms(self, hello: control_messages.Hello) -> None:
        mine, theirs = set(self._machine.agent.arms), set(hello.arms)
        if mine == theirs:
            return
        common = _listed(mine & theirs) if mine & theirs else "nothing"
        self._machine.alerts.say_once(
            logging.WARNING,
            LogEvent.ARMS_DIFFER,
            f"{hello.sender} has other arms (only there: {_listed(theirs - mine)}; only here: "
            f"{_listed(mine - theirs)}): the two learn together about {common}. If that is not meant, start both with "
            "the same arms",
            hello.sender,
        )

    def _hear_controls(self, message: control_messages.ControlsTold) -> None:
        """Take settings from any sender: an operator, a member, or a member whose greeting was lost."""
        machine, sender = self._machine, message.sender
        if machine.controls.has_news(message.settings) and not machine.guard.may_set(sender, machine.clock.now()):
            machine.guard.refuse(Refusal.TOO_OFTEN, None, machine.clock.now())
            return
        before = machine.controls.in_words()
        is_news, refused = machine.controls.merge(message.settings, machine.clock.time_of_day())
        for why in refused:
            machine.refuse(Refusal.SETTING, None, why)
        if is_news:
            if (after := machine.controls.in_words()) != before:
                was, is_on = set(before), set(after)
                changed = [what for what in after if what not in was]
                changed += [f"no more: {what}" for what in before if what not in is_on]
                said = f"controls changed, said {sender}: {_listed(changed) if after else 'all are lifted'}"
                machine.alerts.say(logging.WARNING, LogEvent.CONTROLS_CHANGED, said, sender)
            machine.settings_changed()
        told = Controls(message.settings).digest
        if sender in machine.agent.peers:
            machine.outbox.controls_heard(sender, told)
            machine.answer_with(sender, control_messages.ControlsHeard(machine.terms.name, machine.controls.digest))
        # Only a complete and current set counts, not a late one. It may arrive in several parts.
        if self._answered.get(sender) in (told, machine.controls.digest):
            machine.introduction.heard_settings(sender)


def _relayed(content: Message | AnyControlMessage) -> str | None:
    """Return what a sender does that only a relay may do, or `None`."""
    if not isinstance(content, Share | Notice):
        is_relay = isinstance(content, control_messages.Hello) and content.is_relay
    else:
        is_relay = any(presence.is_relay for presence in content.changes.presences)
        told_of = {told.agent for told in content.changes.cells} | {told.agent for told in content.changes.settled}
        if told_of - {content.sender, content.receiver}:
            return "passes on what others observed"
    return "says that it is a relay" if is_relay else None


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:MOST_LISTED]) or "none"
    return shown if len(names) <= MOST_LISTED else f"{shown} and {len(names) - MOST_LISTED} more"
