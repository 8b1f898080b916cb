"""One look: complete in both themes, and pages that need nothing else."""

import math
import re
from pathlib import Path

import pytest

from cobandit.look import report_page, single_file_page, style_sheet
from cobandit.look.files import write_whole
from cobandit.look.tokens import colours
from cobandit.values.errors import LocalError


def _tokens(block: str) -> set[str]:
    return set(re.findall(r"(--[a-z0-9-]+):", block))


def test_both_ways_to_be_dark_set_the_same_tokens_to_the_same_values() -> None:
    system, chosen = (
        re.search(pattern + r" \{(.*?)\n *\}", style_sheet(), re.DOTALL)
        for pattern in (r':root:not\(\[data-theme="light"\]\)', r':root\[data-theme="dark"\]')
    )
    assert system is not None
    assert chosen is not None
    lines = [re.findall(r"--[a-z0-9-]+: [^;]+;", block[1]) for block in (system, chosen)]
    assert lines[0] == lines[1]
    light = style_sheet().split("@media", 1)[0]
    assert _tokens(system[1]) == {
        name for name in _tokens(light) if name not in {"--font", "--mono", "--radius", "--gap"}
    }


def test_every_token_that_is_used_is_set() -> None:
    assert set(re.findall(r"var\((--[a-z0-9-]+)\)", style_sheet())) <= _tokens(style_sheet())


def test_a_page_is_one_file_with_its_title_as_text() -> None:
    page = single_file_page("a < b", "<p>here</p>", style="p { color: red; }\n", script="let a = 1;\n")
    assert "<title>a &lt; b</title>" in page
    assert page.endswith('<p>here</p>\n<script type="module">\nlet a = 1;\n</script>\n</body>\n</html>\n')
    assert page.count(style_sheet() + "p { color: red; }\n") == 1
    assert not re.search(r"(src|href)=|url\(|@import", page)


def test_a_script_cannot_end_too_early() -> None:
    with pytest.raises(ValueError, match="would end too early"):
        single_file_page("t", "", script="let a = '</Script>';")


def test_pictures_have_the_colours_of_the_style_sheet_in_both_themes() -> None:
    light, dark = colours(dark=False), colours(dark=True)
    assert (light["ink"], light["card"], light["series-8"]) == ("#1b2330", "#ffffff", "#8c9096")
    assert (dark["ink"], dark["card"], dark["series-8"]) == ("#e6eaef", "#181f28", "#7d838d")
    assert list(light) == list(dark)


def test_a_report_is_a_page_with_its_title_and_its_lead_first() -> None:
    page = report_page("a < b", "<p>lead</p>", "<section>here</section>")
    assert "<title>a &lt; b</title>" in page
    assert '<header class="top"><h1>a &lt; b</h1><p>lead</p></header>\n<section>here</section></main>' in page
    assert not re.search(r"(src|href)=|url\(|@import", page)


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_whole(file, "ä")
    write_whole(file, b"new")
    assert (file.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (b"new", ["page.html"])
    with pytest.raises(LocalError, match=f"cannot write {re.escape(str(file / 'no'))}: Not a directory"):
        write_whole(file / "no", "")
    assert (file.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (b"new", ["page.html"])


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_lines_stand_out_as_wcag_asks(theme: str) -> None:
    light = style_sheet().split("@media", 1)[0]
    block = light if theme == "light" else style_sheet().split(':root[data-theme="dark"]', 1)[1].split("}", 1)[0]
    colours = dict(re.findall(r"(--[a-z0-9-]+): (#[0-9a-f]{6});", block))
    text = [("--ink", "--paper"), ("--ink", "--card"), ("--ink-soft", "--paper"), ("--ink-soft", "--card")]
    text += [("--accent", "--card"), ("--accent", "--paper"), ("--accent-ink", "--accent")]
    text += [(f"--{state}", f"--{state}-soft") for state in ("good", "warn", "bad", "accent")]
    assert [pair for pair in text if _contrast(colours[pair[0]], colours[pair[1]]) < 4.5] == []
    series = [f"--series-{number}" for number in range(1, 9)]
    assert [one for one in series if _contrast(colours[one], colours["--card"]) < 3.0] == []


ROOT = Path(__file__).parent.parent.parent
SHEETS = [*(ROOT / "src").rglob("*.css"), *(ROOT / "docs").rglob("*.css"), *(ROOT / "docs" / "images").glob("*.svg")]
TEXT_ON_A_PAGE = {"ink", "ink-soft", "accent", "good", "warn", "bad", "series-1", "series-4"}
"""What words are written in, on a card and on paper."""
ON_ITS_OWN_GROUND = {"accent-ink"}
"""What words are written in on a ground of its own, with which its contrast is tested above."""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_whatever_words_are_written_in_can_be_read(theme: str) -> None:
    of_theme = colours(dark=theme == "dark")
    contrasts = {
        (name, ground): _contrast(of_theme[name], of_theme[ground])
        for name in TEXT_ON_A_PAGE
        for ground in ("card", "paper")
    }
    assert {pair for pair, contrast in contrasts.items() if contrast < 4.5} == set()


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words_are_written_in_nothing_else(sheet: Path) -> None:
    """Everything that is drawn: pages, reports, explanations, the site, and the pictures of the documents."""
    text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
    written = re.findall(r"(?<![\w-])color: ([^;}]+)", text)
    of_theme = r"(?:default-fg-color(?:--light|--lighter)?|accent-fg-color|footer-fg-color[\w-]*|typeset-(?:a-)?color)"
    written += re.findall(rf"--md-(?:{of_theme}|code-fg-color|code-hl-[\w-]+): ([^;}}]+)", text)
    for selector, rules in re.findall(r"([^{}]*)\{([^{}]*)\}", text):
        if re.search(r"\btext\b", selector):
            written += re.findall(r"(?<![\w-])fill: ([^;}]+)", rules)
    allowed = {f"var(--{name})" for name in TEXT_ON_A_PAGE | ON_ITS_OWN_GROUND} | {"inherit", "currentColor"}
    assert {value.split(" !")[0].strip() for value in written} - allowed == set()


# Machado, Oliveira and Fernandes 2009, severity 1.0, for linear RGB.
VISIONS = {
    "all cones": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
TO_CONES = ((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005))  # fmt: skip
TO_OKLAB = ((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660))  # fmt: skip
LEAST_DIFFERENCE = 10.0
"""In OKLab, times 100. Two is about the least that anybody sees side by side; the palette before this one had 0.5, and
the eight colours of Okabe and Ito have 7.6, of which three have too little contrast on white."""

Vector = tuple[float, ...]


def _times(matrix: tuple[Vector, ...], vector: Vector) -> Vector:
    return tuple(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


def _seen(colour: str, vision: str) -> Vector:
    """Return a colour in OKLab, as an eye sees it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    simulated = tuple(min(1.0, max(0.0, c)) for c in _times(VISIONS[vision], linear))
    return _times(TO_OKLAB, tuple(c ** (1 / 3) for c in _times(TO_CONES, simulated)))


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("dark", [False, True])
def test_every_two_series_can_be_told_apart_with_any_colour_vision(vision: str, dark: bool) -> None:
    palette = [colours(dark=dark)[f"series-{number}"] for number in range(1, 9)]
    seen = [_seen(colour, vision) for colour in palette]
    close = {
        (palette[i], palette[j]): round(100 * math.dist(seen[i], seen[j]), 1)
        for i in range(8)
        for j in range(i)
        if 100 * math.dist(seen[i], seen[j]) < LEAST_DIFFERENCE
    }
    assert close == {}
