"""The documentation site, built once with warnings as errors: its links lead somewhere, and it needs nobody else.

Links inside the site are followed by a small checker over the built pages. What the pages load is watched in a browser.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from cobandit.look.tokens import colours

ROOT = Path(__file__).parent.parent.parent
LOOK = ROOT / "src" / "cobandit" / "look" / "look.css"
WITHIN = 120.0
PHONE_WIDTH = 390

PACKAGES = (
    "cobandit",
    "cobandit.policies",
    "cobandit.core",
    "cobandit.protocols",
    "cobandit.scenario",
    "cobandit.simulator",
    "cobandit.theory",
)
"""Packages whose every public name is in the reference."""
FUNCTIONS = {
    "cobandit.adapters.mabwiser": ("MABWiserPolicy",),
    "cobandit.adapters.pettingzoo": ("ScenarioEnv",),
    "cobandit.adapters.river": ("RiverPolicy",),
    "cobandit.testing": ("check_journal", "check_policy", "check_protocol", "check_transport"),
    "cobandit.codec": ("decode", "decode_record", "decode_snapshot", "encode", "encode_record", "encode_snapshot"),
}
LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("use", "href")}


class Built(NamedTuple):
    """The site, and what was said while it was built."""

    folder: Path
    said: str


class Document(HTMLParser):
    """What a checker must know of one page: its anchors, where it points, what it loads, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[str] = []
        self.loads: list[str] = []
        self.paragraphs: list[str] = []
        self._reading = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id":
                self.anchors.add(value)
            if name in {"href", "src"}:
                self.links.append(value)
            if (tag, name) in LOADED:
                self.loads.append(value)
        if tag == "p":
            self._reading = True
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        self._reading = self._reading and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._reading:
            self.paragraphs[-1] += data


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("site")
    tree = tmp_path_factory.mktemp("tree")
    subprocess.run([sys.executable, "tools/site_tree.py", str(tree)], cwd=ROOT, check=True, timeout=WITHIN)
    settings = str(tree / "mkdocs.yml")
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", settings, "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=WITHIN,
    )
    assert ended.returncode == 0, ended.stdout
    return Built(folder, ended.stdout)


@pytest.fixture(scope="module")
def documents(built: Built) -> dict[Path, Document]:
    return {path: Document(path) for path in built.folder.rglob("*.html")}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None and os.environ.get("CI"):
        pytest.fail("CI must have every program: chromium is missing")
    if program is None:
        pytest.skip("NOT TESTED: chromium is missing, so nobody looked at the site")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": PHONE_WIDTH, "height": 844})
    yield made
    made.close()


def test_nothing_is_warned_of(built: Built) -> None:
    assert [line for line in built.said.splitlines() if not line.startswith("INFO")] == []


def test_every_link_inside_the_site_leads_to_a_file_and_to_an_anchor_in_it(
    built: Built, documents: dict[Path, Document]
) -> None:
    broken = []
    for path, document in documents.items():
        for link in document.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            start = built.folder if parts.path.startswith("/") else path.parent
            target = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            is_there = target.is_file() and (
                target not in documents or unquote(parts.fragment) in documents[target].anchors
            )
            if not is_there:
                broken.append(f"{path.relative_to(built.folder)}: {link}")
    assert broken == []


def test_no_page_and_no_style_sheet_names_an_address_elsewhere_to_load_from(
    built: Built, documents: dict[Path, Document]
) -> None:
    elsewhere = [load for document in documents.values() for load in document.loads if urlsplit(load).netloc]
    for sheet in built.folder.rglob("*.css"):
        elsewhere += re.findall(r"(?:@import|url\()[^;)]*//[^;)]*", sheet.read_text(encoding="utf-8"))
    assert elsewhere == []


def test_lists_and_tables_are_not_left_as_text(built: Built, documents: dict[Path, Document]) -> None:
    """A viewer of repositories is more lenient: a list needs an empty line before it here."""
    left = [
        f"{path.relative_to(built.folder)}: {paragraph[:80]}"
        for path, document in documents.items()
        for paragraph in document.paragraphs
        if re.search(r"^\s*(?:[-*] |\d+\. |\||```|>>>|#{2,} )", paragraph, re.MULTILINE)
    ]
    assert left == []


def public_names() -> list[str]:
    """Where every public name is defined, if that can be known, and otherwise where it is imported from."""
    named = {package: tuple(importlib.import_module(package).__all__) for package in PACKAGES} | FUNCTIONS
    later = tuple(f"cobandit.{name}" for name in importlib.import_module("cobandit")._LATER)
    return sorted(f"{package}.{name}" for package, names in named.items() for name in names) + sorted(later)


@pytest.fixture(scope="module")
def described(built: Built) -> set[str]:
    """Everything that the reference describes and that is not a whole module, from the inventory for other sites."""
    packed = (built.folder / "objects.inv").read_bytes().split(b"\n", 4)[4]
    rows = [line.split(" ") for line in zlib.decompress(packed).decode().splitlines()]
    return {row[0] for row in rows if row[1] != "py:module"}


@pytest.mark.parametrize("name", public_names())
def test_the_reference_has(name: str, described: set[str]) -> None:
    package, _, short = name.rpartition(".")
    defined = getattr(getattr(importlib.import_module(package), short), "__module__", package)
    assert {name, f"cobandit.{short}", f"{defined}.{short}"} & described


def test_every_document_of_the_repository_is_a_page(built: Built) -> None:
    written = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    pages = [
        path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html") for path in written
    ]
    pages += [Path("project") / f"{path.stem.lower()}.html" for path in ROOT.glob("*.md")]
    pages.append(Path("guides") / "javascript-client.html")
    assert [str(page) for page in pages if not (built.folder / page).is_file()] == []


def test_every_guide_and_every_decision_is_in_the_navigation(built: Built, documents: dict[Path, Document]) -> None:
    for folder in ("guides", "decisions", "reference"):
        pages = {path.name for path in (built.folder / folder).glob("*.html")}
        assert pages <= set(documents[built.folder / folder / "index.html"].links) | {"index.html"}


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_in_a_browser_pages_ask_for_nothing_elsewhere_and_fit_a_phone(built: Built, context: BrowserContext) -> None:
    asked: list[str] = []
    errors: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    wide = []
    for path in sorted(built.folder.rglob("*.html")):
        if path.name != "404.html":  # a server's answer: its links begin at the server's root
            page.goto(path.as_uri())
            wide += [] if fits(page) else [str(path.relative_to(built.folder))]
    assert [address for address in asked if urlsplit(address).scheme in {"http", "https", "ws", "wss"}] == []
    assert (wide, errors) == ([], [])


def test_in_a_browser_the_search_works_without_a_server(built: Built, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto((built.folder / "guides" / "flask.html").as_uri())
    page.locator("label[for=__search]").first.click()
    page.locator("input.md-search__input").press_sequentially("kill switch")
    page.locator(".md-search-result__item a[href*='operating.html']").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_a_picture_is_shown_once_with_the_colours_of_the_theme(
    scheme: Literal["light", "dark"], built: Built, context: BrowserContext
) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.goto((built.folder / "index.html").as_uri())
    shown = [str(one.get_attribute("src")) for one in page.locator(".md-typeset img").all() if one.is_visible()]
    assert shown == [f"images/protocol{'' if scheme == 'light' else '-dark'}.svg#{scheme}"]
    picture = (built.folder / shown[0].split("#")[0]).read_text(encoding="utf-8")
    assert re.findall(r"--card: (#[0-9a-f]{6});", picture)[-1:] == [colours(dark=scheme == "dark")["card"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser_the_colours_follow_the_system(
    scheme: Literal["light", "dark"], built: Built, context: BrowserContext
) -> None:
    cards = re.findall(r"--card: #(\w\w)(\w\w)(\w\w);", LOOK.read_text(encoding="utf-8"))
    red, green, blue = (int(part, 16) for part in cards[-1 if scheme == "dark" else 0])
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.goto((built.folder / "index.html").as_uri())
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == f"rgb({red}, {green}, {blue})"
