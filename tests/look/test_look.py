"""One look: complete in both themes, and pages that need nothing else."""

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
    assert (light["ink"], light["card"], light["series-8"]) == ("#1b2330", "#ffffff", "#6b6f78")
    assert (dark["ink"], dark["card"], dark["series-8"]) == ("#e6eaef", "#181f28", "#a7adb7")
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
