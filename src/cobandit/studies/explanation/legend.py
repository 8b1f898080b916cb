"""What the signs of the picture mean: only those that are in it."""

from cobandit.scenario import Arms
from cobandit.studies.explanation.conversation import Conversation, Form


def legend(conversation: Conversation) -> str:
    """Return the legend of a conversation's picture, as HTML."""
    present = {flight.form for flight in conversation.flights}
    rules = conversation.scenario.exchange.rules
    items = [*_pulls(conversation.scenario.arms), *_ALWAYS]
    if rules.talks:
        asked = "the other has asked" if rules.asks else "the other is here"
        items.append(('<line class="lane side-0 thick" x1="0" x2="24" y1="9" y2="9"/>', f"thick line: {asked}"))
    shares = "unprompted share, which also requests one" if rules.asks else "share, without a request"
    items += [(drawn, words or shares) for form, drawn, words in _ARROWS if form in present]
    if any(flight.is_lost for flight in conversation.flights):
        items.append(('<path class="cross" d="M6 3 18 15M6 15 18 3"/>', "lost on the way"))
    if present:
        items.append(("", "Numbers on arrows: observations carried. Slots without events are narrower."))
    lines = "".join(f"<li>{_sample(drawn)}{words}</li>" for drawn, words in items)
    return f'<ul class="legend">{lines}</ul>'


def _sample(drawn: str) -> str:
    return f'<svg width="24" height="18" aria-hidden="true">{drawn}</svg>' if drawn else ""


def _pulls(arms: Arms) -> list[tuple[str, str]]:
    """Return the signs of pulls: a full circle for a reward in the upper half of the range."""
    low, high, middle = arms.rewards.low, arms.rewards.high, arms.rewards.reward_of(0.5)
    words = (f"{high:g}", f"{low:g}") if arms.are_binary else (f"of at least {middle:g}", f"below {middle:g}")
    return [
        (f'<circle class="pull {sign} side-0" cx="12" cy="9" r="6"/>', f"pull, reward {reward}")
        for sign, reward in zip(("won", "not"), words, strict=True)
    ]


_ALWAYS = (
    ('<polygon class="buffer side-0" points="0,18 8,18 8,12 16,12 16,6 24,6 24,18"/>', "observations waiting"),
    ('<line class="threshold" x1="0" x2="24" y1="9" y2="9"/>', "threshold"),
)

_ARROWS = (
    (
        Form.SHARE,
        (
            '<g class="flight share side-0"><line class="path" x1="0" x2="16" y1="9" y2="9"/>'
            '<path class="head" d="M24 9 13 3 13 15Z"/></g>'
        ),
        "",
    ),
    (
        Form.ANSWER,
        (
            '<g class="flight answer side-0"><path class="tail" d="M6 3 12 9 6 15 0 9Z"/>'
            '<line class="path" x1="8" x2="16" y1="9" y2="9"/><path class="head" d="M24 9 13 3 16 9 13 15Z"/></g>'
        ),
        "answer, sent at once: begins with a diamond",
    ),
    (
        Form.REPETITION,
        (
            '<g class="flight repetition side-0"><line class="path" x1="0" x2="16" y1="9" y2="9"/>'
            '<path class="head" d="M24 9 13 3 13 15Z"/></g>'
        ),
        "dashed: a repeated share",
    ),
    (
        Form.ACKNOWLEDGEMENT,
        (
            '<g class="flight acknowledgement side-0"><line class="path" x1="0" x2="24" y1="9" y2="9"/>'
            '<path class="head" d="M24 9 16 5M24 9 16 13"/></g>'
        ),
        "dotted: bare acknowledgement",
    ),
    (
        Form.NOTICE,
        (
            '<g class="flight notice side-0"><line class="path" x1="0" x2="24" y1="9" y2="9"/>'
            '<path class="head" d="M24 9 16 5M24 9 16 13"/></g>'
        ),
        "thin: a notice",
    ),
)
