"""The page of a fleet whose bandits have names: one segment at a time, as its member knows it, in any script."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

import cobandit
from cobandit.dashboard.watching import page_beside
from cobandit.live.drive.member import Member
from cobandit.live.drive.named_bandit import NamedBandit
from cobandit.live.sidecar import Sidecar, create_app

TOKEN = "t" * 32
SOON = 60_000.0
ARMS = ["Großes Bild", "日本語のボタン", "<b>זה כפתור</b>"]
SEGMENTS = ["", "de/mobile", "日本/モバイル"]


class Served(NamedTuple):
    member: Member
    home: NamedBandit
    url: str


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    stopping = asyncio.Event()
    with cobandit.connect("memory://page-bandits", fleet="магазин", name="web-1") as member:
        home = member.bandit("startseite", ARMS, rewards=(-50, 150), holdout=0.3)
        mail = member.bandit("mail", ["short", "long"], policy="ucb")
        for number, segment in itertools.product(range(200), SEGMENTS):
            decision = home.select_arm(segment)
            home.update(decision, 100.0 if decision.arm == ARMS[1] else -20.0 + number % 7)
        mail.update(mail.select_arm(), 1.0)
        banner = member.bandit("banner", ["left", "right"])
        for segment in ("at", "de", "de"):
            banner.update(banner.select_arm(segment), 1.0)
        home.freeze_arm(ARMS[0])
        member.sync()
        app = create_app(member, token=TOKEN, extras=page_beside(member, stopping), stopping=stopping)
        with Sidecar(app, "127.0.0.1:0") as sidecar:
            yield Served(member, home, sidecar.url)


@pytest.fixture
def opened(served: Served, page: Page) -> Page:
    page.goto(f"{served.url}/#token={TOKEN}")
    expect(page.locator("#place-rows tr").first).to_be_visible(timeout=SOON)
    return page


def rows(page: Page) -> dict[str, tuple[str | None, ...]]:
    found = {}
    for row in page.locator("#place-rows tr").all():
        fields = (row.locator(f'[data-field="{name}"]') for name in ("mean", "p_best", "observations"))
        values = [field.get_attribute("data-value") for field in fields]
        found[row.get_attribute("data-place-arm") or ""] = (*values, row.get_attribute("data-state"))
    return found


def told(served: Served, segment: str) -> dict[str, tuple[str | None, ...]]:
    statistics, judgement = served.home.judged(segment)
    return {
        one.arm: (
            *(None if value is None else f"{value:.12g}" for value in (one.mean, judgement.p_best.get(one.arm))),
            str(one.observations),
            "frozen" if one.is_frozen else "candidate",
        )
        for one in statistics.arms
    }


def rounded(shown: dict[str, tuple[str | None, ...]]) -> dict[str, tuple[str | None, ...]]:
    return {
        arm: (*(None if value is None else f"{float(value):.12g}" for value in values[:2]), *values[2:])
        for arm, values in shown.items()
    }


@pytest.mark.parametrize("segment", SEGMENTS)
def test_a_segment_is_shown_as_the_member_knows_it(served: Served, opened: Page, segment: str) -> None:
    opened.select_option("#bandit-choice", "startseite")
    opened.select_option("#segment-choice", segment)
    expect(opened.locator("#place-note")).to_contain_text("in this segment, policy Thompson, rewards from -50 to 150")
    verdict = served.home.verdict(segment)
    assert verdict is not None
    assert verdict.leader == ARMS[1]
    expect(opened.locator("#place-verdict")).to_have_text(verdict.text, timeout=SOON)
    expect(opened.locator("#place-lift")).to_contain_text("the hold-out")
    assert rounded(rows(opened)) == told(served, segment)
    assert rows(opened)[ARMS[0]][3] == "frozen"
    expect(opened.locator("#means-plot .curve")).to_have_count(3, timeout=SOON)
    expect(opened.locator("#best-plot .curve")).to_have_count(3)
    # An arm that is frozen has no P(best), so no line there, and no name at its end.
    assert opened.locator("#means-plot .curve text").all_text_contents() == ["a", "b", "c"]
    assert opened.locator("#best-plot .curve text").all_text_contents() == ["", "b", "c"]
    marks = opened.locator("#means-plot .values text").all_text_contents()
    assert all("." not in mark for mark in marks), marks


def test_bandits_are_chosen_and_parts_of_the_plain_one_are_not_there(opened: Page) -> None:
    assert opened.locator("#bandit-choice option").all_inner_texts()[:3] == ["banner", "mail", "startseite"]
    opened.select_option("#bandit-choice", "mail")
    expect(opened.locator("#place-note")).to_contain_text("1 observation in this segment, policy UCB", timeout=SOON)
    expect(opened.locator("#bandits-note")).to_contain_text("This one has 2 arms, 1 segment and 1 observation.")
    for part in ("#arms-section", "#traffic-section", "#candidates-figure", "#policy-fact", "#place-lift"):
        expect(opened.locator(part)).to_be_hidden()


def test_a_bandit_is_opened_at_the_segment_of_which_most_is_known(opened: Page) -> None:
    opened.select_option("#bandit-choice", "banner")
    expect(opened.locator("#place-note")).to_contain_text("2 observations in this segment", timeout=SOON)
    expect(opened.locator("#segment-choice")).to_have_value("de")
    opened.select_option("#segment-choice", "at")
    expect(opened.locator("#place-note")).to_contain_text("1 observation in this segment", timeout=SOON)
    assert opened.locator("#segment-choice option").all_inner_texts() == ["at", "de"]


def test_a_segment_of_which_nothing_is_known_has_no_empty_charts(served: Served, opened: Page) -> None:
    served.member.bandit("nobody-came", ["A", "B"])
    opened.select_option("#bandit-choice", "nobody-came", timeout=SOON)
    expect(opened.locator("#place-note")).to_contain_text("No observations yet in this segment", timeout=SOON)
    for _ in range(2):  # two frames later there are moments for a chart
        note = opened.wait_for_event("response", lambda answer: "/page/place" in answer.url, timeout=SOON)
        assert note.ok
    expect(opened.locator("#place-charts")).to_be_hidden()


@pytest.mark.parametrize("choice", ["bandit", "segment"])
def test_a_choice_stands_beside_its_word_on_a_phone(opened: Page, choice: str) -> None:
    opened.set_viewport_size({"width": 360, "height": 800})
    opened.select_option("#bandit-choice", "startseite")
    opened.select_option("#segment-choice", "de/mobile", timeout=SOON)
    label, box = (opened.locator(part).bounding_box() for part in (f"label:has(#{choice}-choice)", f"#{choice}-choice"))
    assert label is not None
    assert box is not None
    assert label["height"] < 1.4 * box["height"]


@pytest.mark.parametrize("width", [380, 1200])
def test_nothing_is_wider_than_the_window(opened: Page, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    opened.select_option("#bandit-choice", "startseite")
    expect(opened.locator("#means-plot .curve").first).to_be_visible(timeout=SOON)
    for part in ("#bandits-section", "#bandit-choice", "#place-charts", "#means-plot svg"):
        box = opened.locator(part).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_a_segment_that_there_is_not_is_refused_and_makes_none(served: Served, page: Page) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    for query, words in (("bandit=startseite&segment=x", "no segment 'x'"), ("bandit=y", "'y' is not declared")):
        answer = page.request.get(f"{served.url}/page/place?{query}", headers=headers)
        assert (answer.status, words in answer.json()["detail"]) == (404, True)
    assert page.request.get(f"{served.url}/page/place?bandit=startseite").status == 401
    assert sorted(served.home.segments) == sorted(SEGMENTS)
