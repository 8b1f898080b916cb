"""The page in a real browser, of a real fleet: a sidecar and two members in processes of their own, over TLS.

What the page shows is what the API says; who is killed turns stale and comes back; a frozen arm loses its traffic; the
page finds a sidecar again that was restarted.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.browser.fleet import PageFleet, page_fleet

ARM_FIELDS = ("observations", "share", "mean", "low", "high")
MEMBER_FIELDS = ("decisions", "own_observations", "observations", "missing", "shares")

SOON = 60_000.0
LOOK_EVERY = 250
"""Milliseconds that something may take on a busy machine, and between two looks."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageFleet]:
    with page_fleet(tmp_path_factory.mktemp("fleet")) as running:
        running.order("go")
        yield running


@pytest.fixture
def live(fleet: PageFleet, page: Page) -> Page:
    """The page of the sidecar, with its token, live and whole."""
    return opened(fleet, page)


def opened(fleet: PageFleet, page: Page) -> Page:
    page.goto(f"{fleet.url}/#token={fleet.token}")
    expect(page.locator("body")).to_have_attribute("data-connection", "live", timeout=SOON)
    expect(page.locator('[data-member="m3"]')).to_have_attribute("data-state", "here", timeout=SOON)
    return page


def shown(page: Page, where: str, field: str) -> float | None:
    text = page.locator(f'{where} [data-field="{field}"]').first.get_attribute("data-value")
    return None if text is None else float(text)


def until_shown(page: Page, where: str, field: str, is_so: Callable[[float], bool]) -> None:
    """Wait for a value. The page's policy lets no test run scripts from strings in it, so it is asked from here."""
    for _ in range(int(SOON) // LOOK_EVERY):
        value = shown(page, where, field)
        if value is not None and is_so(value):
            return
        page.wait_for_timeout(LOOK_EVERY)
    raise AssertionError(f"{where} {field} is {value}")


def on_page(page: Page, names: list[str]) -> dict[str, Any]:
    page.locator('[data-choice="shares"]').click()
    return {
        "arms": {
            arm: [
                shown(page, f'[data-arm="{arm}"]', field) for field in ("observations", "share", "mean", "low", "high")
            ]
            for arm in ("blue", "green", "red")
        },
        "members": {name: [shown(page, f'[data-member="{name}"]', field) for field in MEMBER_FIELDS] for name in names},
        "pairs": {
            (one, other): float(value) if (value := pair(page, one, other)) else None
            for one in names
            for other in names
            if one != other
        },
    }


def pair(page: Page, one: str, other: str) -> str | None:
    return page.locator(f'td[data-from="{one}"][data-to="{other}"]').get_attribute("data-value")


def in_api(fleet: PageFleet) -> dict[str, Any]:
    said = fleet.api("GET", "/v1/fleet")
    total = sum(arm["observations"] for arm in said["arms"])
    return {
        "arms": {arm["arm"]: [arm[field] for field in ARM_FIELDS] for arm in said["arms"]},
        "members": {
            one["name"]: [
                one["decisions"],
                one["own_observations"],
                one["observations"],
                total - one["observations"],
                one["communication"]["shares"],
            ]
            for one in said["members"]
        },
        "pairs": {(one["name"], peer["name"]): peer["shares_sent"] for one in said["members"] for peer in one["peers"]},
    }


def until_equal(page: Page, fleet: PageFleet) -> None:
    names = ["m1", "m2", "m3"]
    for _ in range(int(SOON) // 500):
        told = in_api(fleet)
        if (found := on_page(page, names)) == told:
            return
        page.wait_for_timeout(500)
    assert found == told


def test_without_the_token_it_asks_for_it_and_shows_nothing_of_the_fleet(
    fleet: PageFleet, context: BrowserContext
) -> None:
    page = context.new_page()  # one on whose console a refusal may stand
    refused: list[int] = []
    page.on("response", lambda answer: refused.append(answer.status) if answer.status >= 400 else None)
    page.goto(fleet.url)
    expect(page.locator("body")).to_have_attribute("data-connection", "token", timeout=SOON)
    assert set(refused) == {401}
    assert page.locator("[data-member]").count() == 0
    page.get_by_role("textbox").fill(fleet.token)
    page.keyboard.press("Enter")
    expect(page.locator("body")).to_have_attribute("data-connection", "live", timeout=SOON)


def test_the_token_does_not_stay_in_the_address_and_nothing_is_asked_of_others(fleet: PageFleet, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{fleet.url}/#token={fleet.token}")
    expect(page.locator("body")).to_have_attribute("data-connection", "live", timeout=SOON)
    assert page.url == f"{fleet.url}/"
    assert [url for url in asked if not url.startswith(fleet.url)] == []


def test_what_the_page_shows_is_what_the_api_says(fleet: PageFleet, live: Page) -> None:
    fleet.order("rest")
    try:
        until_equal(live, fleet)
    finally:
        fleet.order("go")


def test_a_killed_member_turns_stale_and_comes_back(fleet: PageFleet, live: Page) -> None:
    row = live.locator('[data-member="m2"]').first
    fleet.kill("m2")
    expect(row).to_have_attribute("data-state", "silent", timeout=SOON)
    expect(live.locator('[data-event][data-kind="silent"]').first).to_contain_text("m2", timeout=SOON)
    stale = shown(live, '[data-member="m2"]', "heard_s")
    assert stale is not None
    until_shown(live, '[data-member="m2"]', "heard_s", lambda seconds: seconds > stale)
    fleet.start("m2")
    fleet.order("go")
    expect(row).to_have_attribute("data-state", "here", timeout=SOON)
    expect(live.locator('[data-event][data-kind="back"]').first).to_contain_text("m2", timeout=SOON)


def test_a_frozen_arm_loses_its_traffic_and_gets_it_back(fleet: PageFleet, live: Page) -> None:
    row = live.locator('[data-arm="blue"]').first
    until_shown(live, '[data-arm="blue"]', "recent_share", lambda share: share > 0)
    fleet.api("PUT", "/v1/arms/blue/freeze")
    try:
        expect(row).to_have_attribute("data-state", "frozen", timeout=SOON)
        until_shown(live, '[data-arm="blue"]', "recent_share", lambda share: share == 0)
    finally:
        fleet.api("DELETE", "/v1/arms/blue/freeze")
    expect(row).to_have_attribute("data-state", "candidate", timeout=SOON)
    until_shown(live, '[data-arm="blue"]', "recent_share", lambda share: share > 0)


def test_the_kill_switch_is_loud(fleet: PageFleet, live: Page) -> None:
    fleet.api("PUT", "/v1/kill-switch", control_arm="red")
    expect(live.locator('[data-arm="blue"]').first).to_have_attribute("data-state", "switched off", timeout=SOON)
    expect(live.get_by_text("kill switch", exact=False).first).to_be_visible()
    fleet.api("DELETE", "/v1/kill-switch")
    expect(live.locator('[data-arm="blue"]').first).to_have_attribute("data-state", "candidate", timeout=SOON)


def test_the_page_finds_a_sidecar_again_that_was_restarted(fleet: PageFleet, context: BrowserContext) -> None:
    live = opened(fleet, context.new_page())  # one on whose console lost connections may stand
    assert fleet.stop("m1") == 0
    expect(live.locator("body")).to_have_attribute("data-connection", "disconnected", timeout=SOON)
    assert shown(live, '[data-arm="blue"]', "observations")  # the last values stay
    fleet.start("m1")
    expect(live.locator("body")).to_have_attribute("data-connection", "live", timeout=SOON)
    expect(live.locator('[data-member="m3"]')).to_have_attribute("data-state", "here", timeout=SOON)
