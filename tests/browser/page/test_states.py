"""Every state of the page: waiting, empty, a token needed, cut off, ended, errors; and that it keeps still."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from cobandit.dashboard.frame import Frame, Messages

Look = Callable[[Frame], Page]
MakeFrame = Callable[..., Frame]
replace = msgspec.structs.replace


def connection(page: Page, state: str) -> None:
    page.wait_for_selector(f"body[data-connection={state}]")


def comes_soon(page: Page, state: str) -> None:
    """Sooner than the page would try by itself."""
    page.wait_for_selector(f"body[data-connection={state}]", timeout=6000)


def test_before_the_first_frame_there_is_a_sentence_and_no_blank_page(fake: Any, page: Page) -> None:
    page.goto(fake.url)
    expect(page.locator("#waiting")).to_contain_text("No numbers yet.")
    expect(page.locator("#live")).to_have_text("Connecting")
    expect(page.locator("main")).to_be_hidden()


def test_without_members_and_observations_every_section_says_so(look: Look, frame_of: MakeFrame) -> None:
    frame = frame_of(0, 0, observations=0, messages=Messages(0, 0, 0, 0, 0), is_whole=False)
    nothing = replace(frame.series, at=frame.series.at[:1], lines=(), shares=(0,), immediate=(0,))
    page = look(replace(frame, series=nothing))
    said = {
        "#arms-note": "No arms are known yet. They appear when the first member answers.",
        "#pairs-summary": "No other member yet. As soon as one joins, this shows who talks to whom.",
        "#members-note": "No member has answered yet.",
        "#messages-note": "No shares yet; nothing to compare with yet.",
        "#events-note": "Nothing has happened since watching began.",
        "#partial": "So far this page shows only what one member knows. The other members have not been asked yet.",
    }
    assert {place: page.locator(place).inner_text() for place in said} == said
    expect(page.locator("#traffic-note")).to_have_text(re.compile("^No observations since .*, when watching began.$"))


def test_one_member_alone_is_not_an_error(look: Look, frame_of: MakeFrame) -> None:
    page = look(frame_of(1, 4, messages=Messages(0, 3, 200, 0, 20_000)))
    expect(page.locator("#pairs-summary")).to_contain_text("No other member yet.")
    expect(page.locator("#pairs-body")).to_be_hidden()
    expect(page.locator("#missing-note")).to_have_text("only one member has answered")


def test_a_token_is_asked_for_until_it_is_right(fake: Any, frame_of: MakeFrame, rough: Page) -> None:
    fake.token = "right"
    fake.send(frame_of())
    rough.goto(fake.url)
    connection(rough, "token")
    expect(rough.locator("#token")).to_be_focused()
    rough.keyboard.type("wrong")
    rough.keyboard.press("Enter")
    expect(rough.locator("#token-why")).to_have_text("That token was not accepted. Check it and try again.")
    rough.fill("#token", "right")
    rough.click("#token-form button")
    connection(rough, "live")
    expect(rough.locator("#token-card")).to_be_hidden()
    rough.reload()
    connection(rough, "live")


def test_a_token_in_the_address_is_taken_out_of_it(fake: Any, frame_of: MakeFrame, page: Page) -> None:
    fake.token = "a+b&c"
    fake.send(frame_of())
    page.goto(fake.url + "#token=a%2Bb%26c")
    connection(page, "live")
    assert page.url == fake.url


def test_cut_off_the_numbers_stay_dimmed_and_it_comes_back_by_itself(
    fake: Any, frame_of: MakeFrame, rough: Page
) -> None:
    frame = frame_of()
    fake.send(frame)
    rough.goto(fake.url)
    connection(rough, "live")
    fake.stop()
    connection(rough, "disconnected")
    banner = rough.locator("#banner")
    expect(banner).to_contain_text(re.compile(r"Disconnected since \d\d:\d\d:\d\d\."))
    expect(banner).to_contain_text("The numbers below are from then.")
    expect(banner).to_contain_text(re.compile(r"Trying (now|again in \d+\ss)\."))
    expect(rough.locator("#said")).to_contain_text("Disconnected since")
    expect(rough.locator("#observations")).to_have_text("20,000")
    assert float(rough.eval_on_selector("main", "main => getComputedStyle(main).opacity")) < 0.8
    fake.send(replace(frame, observations=20_001))
    fake.start()
    connection(rough, "live")
    expect(banner).to_be_hidden()
    expect(rough.locator("#observations")).to_have_text("20,001")


def test_it_is_tried_at_once_when_somebody_asks_or_the_network_is_back(
    fake: Any, frame_of: MakeFrame, rough: Page
) -> None:
    fake.send(frame_of())
    fake.problem(503, "Too many viewers", "16 pages are open already.")
    rough.goto(fake.url)
    connection(rough, "disconnected")
    expect(rough.locator("#banner")).to_contain_text("The server says: “Too many viewers: 16 pages are open already”.")
    expect(rough.locator("#banner")).to_contain_text(re.compile(r"Trying again in (9|10)\ss"))
    fake.answer = None
    rough.evaluate("window.dispatchEvent(new Event('online'))")
    comes_soon(rough, "live")
    fake.problem(503, "Stopping", "It stops.")
    fake.cut()
    connection(rough, "disconnected")
    expect(rough.locator("#banner")).to_contain_text(re.compile(r"Trying again in (9|10)\ss"))
    fake.answer = None
    rough.click("text=Try now")
    comes_soon(rough, "live")


def test_a_sidecar_that_stops_on_purpose_is_waited_for(fake: Any, frame_of: MakeFrame, rough: Page) -> None:
    fake.send(frame_of())
    rough.goto(fake.url)
    connection(rough, "live")
    fake.problem(503, "Stopping", "It stops.")
    fake.end()
    connection(rough, "disconnected")
    fake.answer = None
    connection(rough, "live")


def test_a_demonstration_that_is_over_keeps_its_last_numbers(fake: Any, look: Look, frame_of: MakeFrame) -> None:
    page = look(frame_of())
    asked = fake.asked
    fake.send(frame_of(observations=20_500, has_ended=True))
    connection(page, "ended")
    expect(page.locator("#banner")).to_contain_text("This demonstration is over. The numbers below are the last ones.")
    expect(page.locator("#observations")).to_have_text("20,500")
    assert page.eval_on_selector("main", "main => getComputedStyle(main).opacity") == "1"
    assert fake.asked == asked


def test_an_error_of_the_server_is_shown_with_what_it_says(fake: Any, rough: Page) -> None:
    fake.problem(500, "The frame could not be made", "See the log of the sidecar.")
    rough.goto(fake.url)
    connection(rough, "error")
    expect(rough.locator("#banner")).to_contain_text(
        "The server reports an error. The server says: “The frame could not be made: See the log of the sidecar”."
    )
    expect(rough.locator("#waiting")).to_be_visible()


@pytest.mark.parametrize("content", [b"event: frame\ndata: {oops\n\n", b'event: frame\ndata: {"version":1}\n\n'])
def test_content_that_is_not_understood_is_an_error(fake: Any, page: Page, content: bytes) -> None:
    fake.say(content, keep=True)
    page.goto(fake.url)
    connection(page, "error")
    expect(page.locator("#banner")).to_contain_text("The server sent something this page does not understand.")


def test_a_newer_server_asks_for_a_reload(fake: Any, frame_of: MakeFrame, look: Look) -> None:
    page = look(frame_of())
    fake.send(frame_of(version=2))
    connection(page, "error")
    expect(page.locator("#banner")).to_contain_text("This page is older than the server. Reload it.")
    fake.send(frame_of())
    page.click("#banner-button")
    connection(page, "live")


def test_focus_scroll_and_reading_survive_a_frame(fake: Any, look: Look, frame_of: MakeFrame) -> None:
    frame = frame_of(50, 60)
    page = look(frame)
    page.click("text=Show all 50 members")
    page.locator("[data-member=edge-50]").scroll_into_view_if_needed()
    page.locator("td[data-from=edge-3][data-to=edge-7]").focus()
    before = page.evaluate("[scrollY, document.querySelector('#pairs-body .wide').scrollLeft]")
    page.evaluate("window.kept = document.activeElement")
    changed = frame_of(50, 60, seed=8, observations=20_100)
    fake.send(changed)
    expect(page.locator("#observations")).to_have_text("20,100")
    assert page.evaluate("document.activeElement === window.kept && window.kept.isConnected")
    assert page.evaluate("[scrollY, document.querySelector('#pairs-body .wide').scrollLeft]") == before
    expect(page.locator("#pairs-reading")).to_contain_text(f"edge-3 → edge-7: {changed.pairs.shares[2][6]} share")
    page.keyboard.press("ArrowRight")
    expect(page.locator("td[data-from=edge-3][data-to=edge-8]")).to_be_focused()
    expect(page.locator("td[aria-label]")).to_have_count(1)
    expect(page.locator("td[aria-label]")).to_have_attribute("aria-label", re.compile("^edge-3 → edge-8: "))


def test_cells_are_kept_from_frame_to_frame(fake: Any, look: Look, frame_of: MakeFrame) -> None:
    page = look(frame_of(20))
    page.evaluate(
        """() => { window.touched = 0; new MutationObserver((all) => { window.touched += all.length; }).observe(
            document.getElementById('pairs-rows'), {subtree: true, childList: true, attributes: true}); }"""
    )
    fake.send(frame_of(20, observations=20_100))
    expect(page.locator("#observations")).to_have_text("20,100")
    assert page.evaluate("window.touched") == 0


def test_nothing_is_made_or_moved_as_long_as_the_same_things_are_there(
    fake: Any, look: Look, frame_of: MakeFrame
) -> None:
    frame = frame_of(5, 20)
    page = look(frame)
    page.wait_for_selector("#traffic-labels li")
    page.evaluate(
        """() => { window.moved = []; new MutationObserver((all) => { for (const {target, addedNodes} of all)
            if ([...addedNodes].some((node) => node.nodeType === 1)) window.moved.push(target.id); })
            .observe(document.body, {subtree: true, childList: true}); }"""
    )
    fake.send(replace(frame, observations=20_100, arms=tuple(replace(arm, mean=0.5) for arm in frame.arms)))
    expect(page.locator("#observations")).to_have_text("20,100")
    assert page.evaluate("window.moved") == []


def test_members_that_come_and_go_are_followed(fake: Any, look: Look, frame_of: MakeFrame) -> None:
    page = look(frame_of(3))
    for members in (5, 2, 14, 1, 3):
        fake.send(frame_of(members))
        expect(page.locator("[data-member]")).to_have_count(min(12, members))
        cells = members * members if members > 1 else 0
        assert page.locator("td[data-from]:visible").count() == cells


@pytest.mark.parametrize("width", [320, 390, 640, 1200])
@pytest.mark.parametrize("members", [1, 3, 50])
def test_the_page_itself_never_scrolls_sideways(
    look: Look, frame_of: MakeFrame, page: Page, width: int, members: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    look(frame_of(members, 60, control_arm="variant-1", regret=3.5))
    assert page.evaluate("document.documentElement.scrollWidth") == width
    # Only what stands in a part that scrolls by itself may be wider than the window.
    assert (
        page.evaluate(
            """() => [...document.querySelectorAll('body *')]
            .filter((one) => !one.closest('.wide > *, .unseen, .skip, .arms thead'))
            .filter((one) => one.getBoundingClientRect().right > innerWidth)
            .map((one) => one.id || one.className.baseVal || one.className || one.tagName)"""
        )
        == []
    )


@pytest.mark.parametrize(
    ("system", "chosen", "card"),
    [
        ("light", "system", "rgb(255, 255, 255)"),
        ("dark", "system", "rgb(24, 31, 40)"),
        ("light", "dark", "rgb(24, 31, 40)"),
        ("dark", "light", "rgb(255, 255, 255)"),
    ],
)
def test_the_theme_follows_the_system_unless_one_is_chosen(
    look: Look, frame_of: MakeFrame, page: Page, system: Any, chosen: str, card: str
) -> None:
    page.emulate_media(color_scheme=system)
    look(frame_of())
    page.select_option("#theme", chosen)
    colour = "getComputedStyle(document.querySelector('main .card')).backgroundColor"
    assert page.evaluate(colour) == card
    page.reload()
    page.wait_for_selector("body.has-frame")
    assert (page.evaluate(colour), page.input_value("#theme")) == (card, chosen)


def test_nothing_outside_is_asked_for(fake: Any, frame_of: MakeFrame, context: BrowserContext) -> None:
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    fake.send(frame_of(50))
    page.goto(fake.url)
    page.wait_for_selector("body.has-frame")
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(fake.url).netloc}
    assert len(asked) == len(set(asked))


def test_every_control_can_be_reached_and_worked_with_the_keyboard(look: Look, frame_of: MakeFrame) -> None:
    page = look(frame_of(3, 20))
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("(({id, dataset}) => id || dataset.choice || dataset.from || '')(document.activeElement)")
        )
    wanted = ["theme", "share", "mean", "name", "arms-more", "traffic-plot", "shares", "heard", "lacks", "edge-1"]
    wanted += ["members-body", "messages-plot", "events-filter"]
    assert [one for one in reached if one in wanted][: len(wanted)] == wanted


def test_the_first_frame_is_marked_for_those_who_measure(look: Look, frame_of: MakeFrame) -> None:
    page = look(frame_of(50))
    page.wait_for_function("performance.getEntriesByName('first-frame').length === 1")
    assert page.evaluate("performance.getEntriesByName('draw').length") >= 1


def test_a_hidden_page_draws_nothing_and_shows_the_newest_frame_when_it_is_seen_again(
    fake: Any, frame_of: MakeFrame, rough: Page
) -> None:
    fake.send(frame_of())
    rough.goto(fake.url)
    connection(rough, "live")
    hide = "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true}); }"
    rough.evaluate(hide, True)
    fake.send(frame_of(observations=22_000))
    fake.problem(503, "Stopping", "It stops.")
    fake.cut()
    connection(rough, "disconnected")  # so the frame before has come
    expect(rough.locator("#observations")).to_have_text("20,000")
    rough.evaluate(hide, False)
    rough.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(rough.locator("#observations")).to_have_text("22,000")
