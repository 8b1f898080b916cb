"""What a conversation comes to: shares each way, what immediate broadcast would have sent, what Theorem 2 allows."""

from collections.abc import Callable
from dataclasses import dataclass

from cobandit.simulator.allowed import why_theorem_2_is_silent
from cobandit.studies.explanation.conversation import Conversation, Form
from cobandit.theory import share_bounds, ucb_share_counts


@dataclass(frozen=True)
class Counts:
    """Counted in the slots that are shown, the first of the two first."""

    decisions: tuple[int, int]
    shares: tuple[int, int]
    """Fresh ones: of own accord, and answers."""
    immediate: tuple[int, int]
    """What immediate broadcast would have sent: every pull of an arm that the other has too."""
    allowed: int | None
    """What Theorem 2 allows each way, if it says anything about this scenario."""
    why_none: str
    """Why it does not."""
    repetitions: int
    acknowledgements: int
    notices: int
    lost: int

    @property
    def messages(self) -> int:
        """All that was sent, of every kind."""
        return sum(self.shares) + self.repetitions + self.acknowledgements + self.notices


def counts_of(conversation: Conversation) -> Counts:
    """Return the counts of a conversation."""
    decisions = _both(lambda side: len(conversation.pulls(side)))
    allowed, why_none = _allowed(conversation, decisions)
    return Counts(
        decisions,
        _both(lambda side: len(conversation.sent(side, Form.SHARE, Form.ANSWER))),
        _both(lambda side: sum(moment.is_usable for moment in conversation.pulls(side))),
        allowed,
        why_none,
        _all(conversation, Form.REPETITION),
        _all(conversation, Form.ACKNOWLEDGEMENT),
        _all(conversation, Form.NOTICE),
        sum(flight.is_lost for flight in conversation.flights),
    )


def _allowed(conversation: Conversation, decisions: tuple[int, int]) -> tuple[int | None, str]:
    scenario = conversation.scenario
    if why_none := why_theorem_2_is_silent(scenario, conversation.pair):
        return None, why_none
    return share_bounds(ucb_share_counts(decisions, scenario.exchange.threshold))[0][1], ""


def _both(count: Callable[[int], int]) -> tuple[int, int]:
    return count(0), count(1)


def _all(conversation: Conversation, form: Form) -> int:
    return sum(flight.form is form for flight in conversation.flights)
