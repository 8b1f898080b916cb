"""Where packets come in: what is let in, and what is said in answer to letters.

Protocol messages go to the agent as they are. Letters (`letters.py`) are for the clerk: who is here, controls, rewards
for this member's decisions, questions. What cannot be right is refused, counted, and changes nothing.
"""

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from cobandit.core import Join
from cobandit.runtime import letters
from cobandit.runtime.boots import check_boots
from cobandit.runtime.controls import Controls
from cobandit.runtime.letters import AnyLetter, ForeignGroupError, Letter, unpack
from cobandit.runtime.transports.base import Refusal
from cobandit.values.errors import PeerError, StrangerError

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
            content = unpack(packet, clerk.terms.group)
        except ForeignGroupError as error:
            clerk.refuse(Refusal.FOREIGN_GROUP, sender, str(error))
            return
        except PeerError as error:
            clerk.refuse(Refusal.MALFORMED, sender, str(error))
            return
        if sender is not None and content.sender != sender:
            clerk.refuse(Refusal.FORGED, sender, f"{sender} spoke in the name of {content.sender}")
            return
        try:
            check_boots(content, clerk.agent.boot, now)
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
                if letter.sender not in clerk.agent.endpoint.roster:
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
        link = clerk.agent.endpoint.links.get(hello.sender)
        known = None if link is None or link.delivery is None else link.delivery.peer_notice
        join = Join(hello.sender, clerk.terms.name, hello.arms, hello.units_per_reward, hello.boot, hello.notice)
        clerk.take(clerk.agent.receive(join, now))
        clerk.errands.controls_heard(hello.sender, hello.controls)
        clerk.errands.is_back(hello.sender)
        is_news = known != (hello.boot, hello.notice)
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
