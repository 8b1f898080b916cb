"""A plain sentence for every moment of a conversation, and the rule that decided it.

The cases are those of the protocol's table, and so are the sentences (`cobandit.core.protocols`); what does not depend
on the protocol is said here. What an agent did is taken from the run, never computed here; a test holds the two
together.
"""

from collections.abc import Sequence
from typing import NamedTuple

from cobandit.core.protocols.registry import protocol_of
from cobandit.core.protocols.rules import Case, Input
from cobandit.core.retransmit import Phase
from cobandit.scenario.words import count_of
from cobandit.studies.explanation.conversation import Cause, Conversation, Flight, Form, Moment


class Told(NamedTuple):
    """What there is to say about a moment."""

    sentence: str
    rule: str
    """Which rule decided it; empty if there was nothing to decide."""


def tell(conversation: Conversation, names: Sequence[str]) -> list[Told]:
    """Return a sentence for each moment.

    Args:
        conversation: What happened.
        names: What to call the two.
    """
    return [_Telling(conversation, names, moment).told() for moment in conversation.moments]


def capital(text: str) -> str:
    """Return a text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


class _Telling:
    """Finds the words for one moment."""

    def __init__(self, conversation: Conversation, names: Sequence[str], moment: Moment) -> None:
        self.moment = moment
        self.sharing = conversation.scenario.exchange
        self.protocol = protocol_of(self.sharing.rules)
        self.me, self.other = names[moment.actor], names[1 - moment.actor]
        self.flight = None if moment.flight is None else conversation.flights[moment.flight]
        self.sent = [conversation.flights[place] for place in moment.sent]

    def told(self) -> Told:
        match self.moment.cause:
            case Cause.PULL:
                told = self._pull()
            case Cause.SHARE:
                told = self._share()
            case Cause.ACKNOWLEDGEMENT:
                told = Told(f"{self._got('acknowledgement')}, so there is nothing left to repeat.", _tolerance(6))
            case Cause.NOTICE:
                told = self._notice()
            case Cause.WAKE:
                what = f"it resends what {self.other} has not acknowledged"
                told = Told(f"{capital(self.me)} has not pulled for a while, so {what}.", _tolerance(8))
            case Cause.LEAVE:
                told = Told(f"{capital(self.me)} leaves and says so.", _SECTION)
            case Cause.JOIN:
                told = Told(f"{capital(self.me)} comes back and says so.", _SECTION)
        return told._replace(sentence=told.sentence + self._losses())

    # A pull.

    def _pull(self) -> Told:
        moment = self.moment
        pulled = f"{capital(self.me)} pulls {arm_named(moment.arm)} and gets {moment.reward:g}"
        if moment.eliminated:
            pulled += f", and gives up {_list([arm_named(arm) for arm in moment.eliminated])}"
        repeated = self._sent(Form.REPETITION)
        if not moment.is_usable:
            told = Told(f"{pulled}. {capital(self.other)} cannot pull that arm, so nothing is stored for it.", "")
        elif moment.after.is_settled:
            told = Told(f"{pulled}. Both have one candidate left and nothing more to say.", "Section 3.3")
        else:
            told = self._decided(Input.OBSERVATION, pulled=pulled)
        if repeated:
            return self._pull_and_repeat(pulled, repeated)
        return told

    def _pull_and_repeat(self, pulled: str, repeated: Flight) -> Told:
        if self.moment.is_reached and self.moment.before.phase is Phase.WAITING:
            waited = f"It has waited long enough for share {repeated.number} to be acknowledged, so it sends it again"
            return Told(f"{pulled}. {waited}, with everything new since.", _tolerance(4))
        owed = f"{capital(self.other)} has not acknowledged everything it was told, so it is told again"
        return Told(f"{pulled}. {owed}, with everything new since.", _tolerance(7))

    # A share arrives.

    def _share(self) -> Told:
        moment, flight = self.moment, self.flight
        assert flight is not None
        what = f"answer, its share {flight.number}" if flight.form is Form.ANSWER else f"share {flight.number}"
        if flight.form is Form.REPETITION:
            what += " again"
        got = f"{self._got(what)}, with {count_of(flight.observations, 'observation')}"
        if flight.number <= moment.before.heard:
            return self._share_again(got)
        if self._sent(Form.REPETITION):
            lacks = f"{capital(self.other)} does not know every arm it has given up, so it says so again."
            return Told(f"{got}. {lacks}", _tolerance(7))
        if moment.after.is_settled:
            return Told(f"{got}. Both have one candidate left and nothing more to say.", "Section 3.3")
        return self._decided(Input.SHARE, got=got)

    def _share_again(self, got: str) -> Told:
        if self._sent(Form.REPETITION):
            again = "It already knew that. Its own last share has not arrived there, so it sends that one again."
            return Told(f"{got}. {again}", _tolerance(6))
        if self._sent(Form.ACKNOWLEDGEMENT):
            return Told(f"{got}. It already knew that and replies with a bare acknowledgement.", _tolerance(6))
        rule = "numbers only grow" if self.sharing.retry is None else _tolerance(2)
        return Told(f"{got}. This share or a later one has arrived before, so this one requests nothing.", rule)

    def _notice(self) -> Told:
        assert self.flight is not None
        heard = f"{capital(self.me)} hears that {self.other} {self.flight.says}"
        match self.flight.says:
            case "leaves":
                return self._decided(Input.LEAVE, heard=heard)._replace(rule=_SECTION)
            case "is here":
                return self._decided(Input.JOIN, heard=heard)._replace(rule=_SECTION)
        return Told(f"{heard}.", "Algorithm 3")

    # Words that recur.

    def _decided(self, happened: Input, **what: str) -> Told:
        """Return what the protocol says about a case, and which rule decided it."""
        moment = self.moment
        case: Case = (happened, moment.before.demanded, moment.is_reached)
        asked = f"{self.other} has asked"
        if moment.before.share_number == 1 and not moment.before.heard:
            asked = f"{self.other} counts as having asked from the start"
        words = {
            "other": self.other,
            "asked": asked,
            "wait": _wait(moment.counted),
            "of": self._of(),
            "only": f"only {self._of()}" if moment.counted else "nothing waits yet",
            "needed": f"{moment.needed:,}",
            "them": _them(moment.counted),
            **what,
        }
        words |= {capital(name): capital(word) for name, word in words.items()}
        return Told(self.protocol.sentence(case).format(**words), self.protocol.cited(case))

    def _got(self, what: str) -> str:
        assert self.flight is not None
        return f"{capital(self.me)} gets {self.other}'s {what}"

    def _of(self) -> str:
        return f"{self.moment.counted:,} of {count_of(self.moment.needed, 'observation')} wait"

    def _sent(self, form: Form) -> Flight | None:
        return next((flight for flight in self.sent if flight.form is form), None)

    def _losses(self) -> str:
        lost = [flight for flight in self.sent if flight.is_lost]
        if not lost:
            return ""
        what = _list([f"the {flight.form.value}" for flight in lost])
        told = f" {capital(what)} {'is' if len(lost) == 1 else 'are'} lost on the way."
        asks = self.sharing.rules.asks and self.sharing.retry is None
        if asks and any(flight.form in (Form.SHARE, Form.ANSWER) for flight in lost):
            told += f" {capital(self.other)} never learns that it was asked."
        return told


_SECTION = "Section 3.1, last paragraph"


def _tolerance(number: int) -> str:
    return f"loss tolerance, rule {number}"


def arm_named(arm: str) -> str:
    """Return what to call an arm in a sentence.

    >>> arm_named("red"), arm_named("arm 3")
    ('arm red', 'arm 3')
    """
    return arm if arm.lower().startswith("arm") else f"arm {arm}"


def _them(count: int) -> str:
    return "it" if count == 1 else "all of them"


def _wait(count: int) -> str:
    return f"{count_of(count, 'observation')} {'waits' if count == 1 else 'wait'}"


def _list(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
