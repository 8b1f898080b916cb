"""The parts of the page that need no browser, tested with node's own test runner: `node --test tests/dashboard`."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import cobandit.dashboard
from lab.servers import Missing, find

HERE = Path(__file__).parent
PAGE = Path(cobandit.dashboard.__file__).parent / "page"


@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.js")), ids=lambda file: file.name)
def test_the_javascript_tests_pass(file: Path) -> None:
    try:
        node = find("node")
    except Missing as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have node: {error}")
        pytest.skip(f"NOT TESTED: {error}")
    ran = subprocess.run([node, "--test", str(file)], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    counted = re.search(r"^# pass (\d+)$", ran.stdout, re.MULTILINE)
    assert counted is not None, ran.stdout
    assert int(counted[1]) == len(re.findall(r"^test\(", file.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_page_asks_only_for_files_that_are_there_and_loads_all_modules_at_once() -> None:
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    asked = set(re.findall(r'(?:href|src)="page/([^"]+)"', html))
    served_by_the_look = {"look.css"}
    assert asked - served_by_the_look == {file.name for file in PAGE.iterdir()} - {"index.html"}


def test_the_page_holds_no_inline_script_or_style_and_never_sets_html() -> None:
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", html) == []
    for file in PAGE.glob("*.js"):
        forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://(?!www\.w3\.org/2000/svg)"
        assert re.findall(forbidden, file.read_text(encoding="utf-8")) == [], file.name


def test_the_page_has_no_colours_of_its_own() -> None:
    for file in PAGE.glob("*.css"):
        style = file.read_text(encoding="utf-8")
        assert re.findall(r"#[0-9a-f]{3,8}\b(?=[^{]*;)|\brgba?\(|\bhsla?\(", style) == [], file.name
