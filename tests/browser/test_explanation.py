"""The page of an explanation in a real browser: it moves, it can be stepped through, and it needs nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from cobandit import RetryTimers, on_demand
from cobandit.scenario import AgentSpec, Arms, Faults, Rate, Scenario
from cobandit.studies.explanation import FIGURE_1, FIGURE_1_NAMES, Explanation, explain

LOSSY = Scenario(
    200,
    Arms.of([0.2, 0.8]),
    (AgentSpec(Rate(0.8)), AgentSpec(Rate(0.2))),
    sharing=on_demand(loss_tolerant=RetryTimers(first=8)),
    delay=2,
    faults=Faults(loss=0.3),
)

Open = Callable[[Page, Explanation], list[str]]


@pytest.fixture
def open_page(tmp_path: Path) -> Open:
    """Opens an explanation, and returns the list of everything that the page asks for."""

    def opened(page: Page, explanation: Explanation) -> list[str]:
        file = tmp_path / "explanation.html"
        file.write_text(explanation.html(), encoding="utf-8")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        return asked

    return opened


@pytest.fixture
def figure_1() -> Explanation:
    return explain(FIGURE_1, names=FIGURE_1_NAMES)


@pytest.fixture
def still_page(page: Page) -> Page:
    """A page of somebody who wants no motion."""
    page.emulate_media(reduced_motion="reduce")
    return page


def position(page: Page) -> int:
    return int(page.input_value("#scrub"))


def test_it_plays_by_itself_and_can_be_paused(page: Page, open_page: Open, figure_1: Explanation) -> None:
    open_page(page, figure_1)
    page.wait_for_function("Number(document.getElementById('scrub').value) >= 2")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#play")).to_have_text("▶ Play")
    there = position(page)
    assert 2 <= there < len(figure_1.told)
    expect(page.locator("#caption")).to_have_text(figure_1.told[there - 1].sentence)
    page.get_by_role("button", name="Play").click()
    page.select_option("#speed", "4")
    page.wait_for_function(f"Number(document.getElementById('scrub').value) === {len(figure_1.told)}")
    expect(page.locator("#play")).to_have_text("↺ Again")


def test_it_needs_nothing_from_outside(page: Page, open_page: Open, figure_1: Explanation) -> None:
    asked = open_page(page, figure_1)
    page.wait_for_function("Number(document.getElementById('scrub').value) >= 1")
    assert [url for url in asked if not url.startswith("file://")] == []
    assert len(asked) == 1


@pytest.mark.parametrize("world", [FIGURE_1, LOSSY], ids=["figure 1", "loss"])
def test_every_step_shows_its_sentence_its_rule_and_what_waits(
    world: Scenario, still_page: Page, open_page: Open
) -> None:
    explanation = explain(world, names=FIGURE_1_NAMES, slots=60)
    open_page(still_page, explanation)
    still_page.keyboard.press("Home")
    assert still_page.locator("#caption").inner_text().startswith("Nothing has happened yet.")
    conversation = explanation.conversation
    for number, (moment, told) in enumerate(zip(conversation.moments, explanation.told, strict=True), start=1):
        still_page.locator("#step").click()
        seen = still_page.evaluate(
            """() => ({
                caption: document.getElementById("caption").textContent,
                rule: document.getElementById("rule").textContent,
                waiting: [...document.querySelectorAll(".keeps b")].map((one) => Number(one.textContent)),
                asked: [...document.querySelectorAll(".gauge .mark")].map((one) => one.textContent.startsWith("✓")),
                happened: document.querySelectorAll(".moment:not(.ahead)").length,
                departed: document.querySelectorAll(".flight[data-x0]:not(.ahead)").length,
                ended: document.querySelectorAll(".flight[data-x0]:not(.flying)").length,
            })"""
        )
        gone = [flight for flight in conversation.flights if flight.sent < number]
        over = number == len(conversation.moments)
        ended = [arrival for flight in gone for arrival in flight.arrivals if arrival < number]
        assert seen["caption"] == told.sentence
        assert seen["rule"] == told.rule
        assert seen["waiting"] == [side.buffered for side in moment.sides]
        assert seen["asked"] == [side.demanded for side in moment.sides]
        assert seen["happened"] == number
        assert seen["departed"] == sum(max(1, len(flight.arrivals)) for flight in gone)
        if not over and not any(flight.is_lost for flight in gone):
            assert seen["ended"] == len(ended)


def test_it_stands_still_at_the_end_for_those_who_want_no_motion(
    still_page: Page, open_page: Open, figure_1: Explanation
) -> None:
    open_page(still_page, figure_1)
    assert position(still_page) == len(figure_1.told)
    expect(still_page.locator("#play")).to_have_text("↺ Again")
    expect(still_page.locator("svg .ahead, svg .flying")).to_have_count(0)
    expect(still_page.locator("#caption")).to_have_text(figure_1.told[-1].sentence)


def test_the_keyboard_is_enough(still_page: Page, open_page: Open, figure_1: Explanation) -> None:
    open_page(still_page, figure_1)
    seen = []
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight"):
        still_page.keyboard.press(key)
        seen.append(position(still_page))
    last = len(figure_1.told)
    assert seen == [0, 1, 2, 1, last, last]
    still_page.keyboard.press("Space")
    expect(still_page.locator("#play")).to_have_text("❚❚ Pause")
    still_page.wait_for_function("Number(document.getElementById('scrub').value) >= 1")
    still_page.keyboard.press("Space")
    expect(still_page.locator("#play")).to_have_text("▶ Play")
    still_page.focus("#step")
    there = position(still_page)
    still_page.keyboard.press("Enter")
    assert position(still_page) == there + 1


def test_a_click_on_a_moment_goes_there(still_page: Page, open_page: Open, figure_1: Explanation) -> None:
    open_page(still_page, figure_1)
    still_page.locator('.moment[data-moment="5"]').click()
    assert position(still_page) == 5
    expect(still_page.locator("#caption")).to_have_text(figure_1.told[4].sentence)


def test_without_script_the_picture_and_the_table_are_complete(
    browser: Browser, open_page: Open, figure_1: Explanation
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    open_page(page, figure_1)
    expect(page.locator("#controls")).to_be_hidden()
    expect(page.locator(".flight[data-x0] .head")).to_have_count(5)
    expect(page.locator("#events tbody tr")).to_have_count(len(figure_1.conversation.events))
    expect(page.locator("#caption")).to_have_text(figure_1.told[-1].sentence)
    context.close()


@pytest.mark.parametrize("width", [360, 390, 1200])
def test_the_page_fits_every_screen(width: int, still_page: Page, open_page: Open) -> None:
    still_page.set_viewport_size({"width": width, "height": 800})
    open_page(still_page, explain(LOSSY))
    assert still_page.evaluate("document.documentElement.scrollWidth") == width
    still_page.locator("#step").scroll_into_view_if_needed()
    box = still_page.locator("#step").bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= box["x"] + box["width"] <= width


def test_a_short_conversation_is_seen_whole_and_a_long_one_is_followed(
    still_page: Page, open_page: Open, figure_1: Explanation
) -> None:
    still_page.set_viewport_size({"width": 1100, "height": 800})
    room = "(({scrollLeft, scrollWidth, clientWidth}) => [scrollLeft, scrollWidth - clientWidth])"
    scroller = f"{room}(document.querySelector('.timelines'))"
    open_page(still_page, figure_1)
    still_page.keyboard.press("End")
    assert still_page.evaluate(scroller) == [0, 0]
    open_page(still_page, explain(LOSSY))
    still_page.keyboard.press("End")
    left, hidden = still_page.evaluate(scroller)
    assert left > hidden / 2 > 0


def test_on_a_phone_the_present_moment_is_in_sight(still_page: Page, open_page: Open, figure_1: Explanation) -> None:
    still_page.set_viewport_size({"width": 390, "height": 800})
    open_page(still_page, figure_1)
    for number in range(len(figure_1.told) - 1, 0, -1):
        still_page.keyboard.press("ArrowLeft")
        now = still_page.locator(f'.moment[data-moment="{number}"]').bounding_box()
        assert now is not None
        assert 0 <= now["x"] <= now["x"] + now["width"] <= 390
