"""The protocol as a moving picture: the paper's Figure 1(b), run by the readable engine and told moment by moment.

It is the drawing of `cobandit explain`, with style rules that show its moments one after the other, over and over. Who
has asked the system for less motion sees the whole picture at rest, and so does a viewer that plays nothing.
"""

import re
import textwrap
from importlib import resources

from tools.pictures.shell import FONT, picture, text

from cobandit.studies import explanation
from cobandit.studies.explanation import FIGURE_1, FIGURE_1_NAMES, FIGURES, Explanation, explain
from cobandit.studies.explanation.drawing import HEIGHT as DRAWING_HEIGHT
from cobandit.studies.explanation.drawing import Drawing

TOP, BOTTOM, MARGIN, LINE = 140, 16, 20, 23
LONGEST, MOST_ROWS = 66, 4
"""Characters of a sentence on one line, so that a phone, which shows the left part of the picture, shows all of it."""

SECONDS_A_MOMENT, SECONDS_AT_THE_END = 2.6, 6.0
STYLE = """
svg { --font: FONT; }
.side-0 { --side: var(--series-1); } .side-1 { --side: var(--series-2); }
svg text.sentence { font-size: 17px; fill: var(--ink); }
svg text.whose { font-size: 14px; font-weight: 600; fill: var(--ink); }
""".replace("FONT", FONT)
AT_REST = (
    "Two agents. Dots are pulls, arrows are messages with the number of observations in them. The step is what waits "
    "for the other, the dashed line is how much must wait. Thick line: the other has asked."
)


def drawn() -> str:
    """Return the picture."""
    shown = _explained()
    drawing = Drawing(shown.conversation, shown.names, [told.sentence for told in shown.told])
    width = drawing.width + 2 * MARGIN
    inside = re.search(r"<svg[^>]*>(.*)</svg>", drawing.svg(), re.DOTALL)
    assert inside is not None
    sheet = (resources.files(explanation) / "timelines.css").read_text(encoding="utf-8")
    rules = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    one, other = (f"agent {number}: {len(shown.conversation.pulls(number - 1))} pulls" for number in (1, 2))
    body = [
        _sentence("at-rest", AT_REST),
        *(_sentence(f"told t{number}", told.sentence) for number, told in enumerate(shown.told, 1)),
        text(MARGIN, TOP + 14, one, kind="whose"),
        f'<g transform="translate({MARGIN} {TOP})">',
        *re.sub(r"(?=<g class=\"(?:flight|moment))", "\n", inside[1]).splitlines(),
        "</g>",
        text(MARGIN, TOP + DRAWING_HEIGHT - 34, other, kind="whose"),
    ]
    told = zip(shown.conversation.moments, shown.told, strict=True)
    said = f"{FIGURES['1b'][0]}. " + " ".join(f"Slot {moment.slot}: {one.sentence}" for moment, one in told)
    style = f"{rules}\n{STYLE}\n{_motion(shown, drawing)}"
    return picture(width, TOP + DRAWING_HEIGHT + BOTTOM, said, body, style=re.sub(r"\n\s*\n", "\n", style))


def player() -> str:
    """Return the page that `cobandit explain` writes, to play the same by hand."""
    return _explained().html()


def _explained() -> Explanation:
    return explain(FIGURE_1, title=FIGURES["1b"][0], names=FIGURE_1_NAMES, command=["cobandit", "explain"])


def _sentence(kind: str, sentence: str) -> str:
    rows = textwrap.wrap(sentence, LONGEST)
    assert len(rows) <= MOST_ROWS, "make room for more lines"
    lines = "".join(text(MARGIN, 34 + LINE * row, words, kind="sentence") for row, words in enumerate(rows))
    return f'<g class="{kind}">{lines}</g>'


def _motion(shown: Explanation, drawing: Drawing) -> str:
    """Return the rules that show one moment after the other."""
    count = len(shown.told)
    total = count * SECONDS_A_MOMENT + SECONDS_AT_THE_END
    at = [100 * number * SECONDS_A_MOMENT / total for number in range(count + 1)]
    rules = [".told { opacity: 0; }", "@media (prefers-reduced-motion: no-preference) {", ".at-rest { opacity: 0; }"]
    frames = []
    for number in range(count):
        begin, end = at[number], at[number + 1] if number < count - 1 else 100
        frames.append(f"@keyframes t{number + 1} {{ {_steps([(0, 0), (begin, 1), (end, 0)])} }}")
        frames.append(f"@keyframes m{number + 1} {{ {_steps([(0, 0.16), (begin, 1)])} }}")
        rules.append(f".t{number + 1} {{ animation: t{number + 1} {total:g}s step-end infinite; }}")
        rules.append(f'[data-moment="{number + 1}"] {{ animation: m{number + 1} {total:g}s step-end infinite; }}')
    for number, flight in enumerate(shown.conversation.flights):
        frames.append(f"@keyframes f{number} {{ {_steps([(0, 0), (at[flight.sent], 1)])} }}")
        rules.append(f".flight:nth-of-type({number + 2}) {{ animation: f{number} {total:g}s step-end infinite; }}")
    width = drawing.width
    grown = [
        (0, 0.0),
        *((begin, place / width) for begin, place in zip(at, drawing.places, strict=False)),
        (at[-1], 1.0),
    ]
    frames.append(f"@keyframes past {{ {' '.join(f'{p:.2f}% {{ transform: scaleX({x:.4f}); }}' for p, x in grown)} }}")
    rules.append(f"#past-end {{ animation: past {total:g}s step-end infinite; }}")
    moved = " ".join(f"{p:.2f}% {{ transform: translateX({(x - 1) * width:.1f}px); }}" for p, x in grown)
    frames.append(f"@keyframes now {{ {moved} }}")
    rules.append(f"#now {{ animation: now {total:g}s step-end infinite; }}")
    return "\n".join([*rules, "}", *frames])


def _steps(values: list[tuple[float, float]]) -> str:
    return " ".join(f"{part:.2f}% {{ opacity: {value:g}; }}" for part, value in values)
