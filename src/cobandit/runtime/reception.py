"""Where packets come in: what is let in, and what is said in answer to letters.

Protocol messages go to the agent as they are. Letters (`letters.py`) are for the clerk: who is here, controls, rewards
for this member's decisions, questions. What cannot be right is refused, counted, and changes nothing.
"""

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from cobandit.core import Changes, Message, Notice, Presence
from cobandit.runtime import letters
from cobandit.runtime.controls import Controls
from cobandit.runtime.guard import reason_of
from cobandit.runtime.letters import AnyLetter, Letter
from cobandit.runtime.sessions import check_sessions
from cobandit.runtime.transports.base import Refusal
from cobandit.values.errors import FutureError, PeerError, StrangerError

if TYPE_CHECKING:
    from cobandit.runtime.clerk import Clerk

MOST_LISTED = 10
"""So many arms are named where two members have different ones."""


class Reception:
    """One member's ear."""

    def __init__(self, clerk: "Clerk") -> None:
        self._clerk = clerk

    def hear(self, packet: bytes, sender: str | None, now: float) -> None:
        """Take a packet, with its sender's name if that is proved."""
        clerk = self._clerk
        try:
            content: Message | AnyLetter = clerk.terms.versions.packets.decode(packet, clerk.terms.group)
        except PeerError as error:
            self._refuse_unread(error, sender, now)
            return
        if sender is not None and content.sender != sender:
            clerk.refuse(Refusal.FORGED, sender, f"{sender} spoke in the name of {content.sender}")
            return
        try:
            check_sessions(content, clerk.agent.session, now)
            if isinstance(content, Letter):
                self._open(content, now)
            else:
                clerk.take(clerk.agent.receive(content, now))
        except StrangerError:
            clerk.guard.refuse(Refusal.STRANGER, sender, now)
            if clerk.acquaintances.may_answer(content.sender, now):
                clerk.answer_with(content.sender, clerk.hello(wants_answer=True))
        except PeerError as error:
            clerk.refuse(Refusal.ABSURD, sender, str(error))

    def _refuse_unread(self, error: PeerError, sender: str | None, now: float) -> None:
        """Refuse a packet that cannot be read. Who writes in a version that is not read here is told which are."""
        clerk = self._clerk
        clerk.refuse(reason_of(error), sender, str(error))
        if isinstance(error, FutureError) and sender is not None and clerk.acquaintances.may_answer(sender, now):
            clerk.answer_with(sender, clerk.hello())

    def _open(self, letter: AnyLetter, now: float) -> None:
        """Open a letter. Some may come from anybody who can speak here, and could become a member."""
        clerk = self._clerk
        if letter.sender == clerk.terms.name:
            raise PeerError(f"{letter.sender} received a letter from itself: do two processes run under one name?")
        match letter:
            case letters.Hello():
                self._meet(letter, now)
            case letters.StatusAsked():
                if clerk.acquaintances.may_tell(letter.sender, now):
                    clerk.askers.append(letter.sender)
            case letters.StatusTold():
                clerk.answers.take(letter)
            case letters.ControlWanted():
                if clerk.controls.turn(letter.key, letter.value, now, by=letter.sender):
                    self._say_controls_changed(letter.sender)
                    clerk.settings_changed()
            case _:
                if not clerk.agent.knows(letter.sender):
                    raise StrangerError(f"{letter.sender!r} is not known to {clerk.terms.name}")
                self._open_from_member(letter, now)

    def _open_from_member(self, letter: AnyLetter, now: float) -> None:
        clerk = self._clerk
        match letter:
            case letters.ControlsTold():
                self._hear_controls(letter, now)
            case letters.ControlsHeard():
                clerk.errands.controls_heard(letter.sender, letter.digest)
            case letters.Rewards():
                for token, reward in letter.rewards:
                    clerk.settle_token(token, reward)
                taken = tuple(token for token, _ in letter.rewards)
                clerk.answer_with(letter.sender, letters.RewardsTaken(clerk.terms.name, taken))
            case letters.RewardsTaken():
                clerk.rewards_arrived(letter.sender, letter.tokens)

    def _meet(self, hello: letters.Hello, now: float) -> None:
        clerk = self._clerk
        known = clerk.agent.presence_of(hello.sender)
        presence = Presence(
            hello.sender,
            hello.session,
            hello.notice,
            hello.incarnation,
            is_present=True,
            arms=hello.arms,
            units_per_reward=hello.units_per_reward,
        )
        clerk.take(clerk.agent.receive(Notice(hello.sender, clerk.terms.name, Changes(presences=(presence,))), now))
        clerk.peer_versions.heard(hello.sender, hello.reads)
        clerk.errands.controls_heard(hello.sender, hello.controls)
        clerk.errands.is_back(hello.sender)
        is_news = known is None or (known.session, known.number) != (hello.session, hello.notice)
        if is_news:
            self._compare_arms(hello)
        # Its question may come again because the answer was lost; or because the network doubles packets.
        may_answer = clerk.acquaintances.may_answer(hello.sender, now) or is_news
        if may_answer and not hello.is_answer and (is_news or hello.wants_answer):
            clerk.answer_with(hello.sender, clerk.hello(is_answer=True))

    def _compare_arms(self, hello: letters.Hello) -> None:
        mine, theirs = set(self._clerk.agent.arms), set(hello.arms)
        if mine == theirs:
            return
        common = _listed(mine & theirs) if mine & theirs else "nothing"
        self._clerk.complaints.say_once(
            logging.WARNING,
            f"{hello.sender} has other arms (only there: {_listed(theirs - mine)}; only here: "
            f"{_listed(mine - theirs)}): the two learn together about {common}. If that is not meant, start both with "
            "the same arms",
            hello.sender,
        )

    def _hear_controls(self, letter: letters.ControlsTold, now: float) -> None:
        clerk = self._clerk
        before = str(clerk.controls)
        if clerk.controls.merge(letter.settings, now):
            if str(clerk.controls) != before:
                self._say_controls_changed(letter.sender)
            clerk.settings_changed()
        clerk.errands.controls_heard(letter.sender, Controls(letter.settings).digest)
        clerk.answer_with(letter.sender, letters.ControlsHeard(clerk.terms.name, clerk.controls.digest))

    def _say_controls_changed(self, by: str) -> None:
        controls = self._clerk.controls
        self._clerk.complaints.say(logging.WARNING, f"controls changed, said {by}: {controls}", by)


def _listed(names: Collection[str]) -> str:
    shown = ", ".join(sorted(names)[:MOST_LISTED]) or "none"
    return shown if len(names) <= MOST_LISTED else f"{shown} and {len(names) - MOST_LISTED} more"
