"""A real browser for tests of pages: Debian's Chromium, driven by Playwright. Skipped loudly without it, never in CI.

The browser lasts for one file of tests: while Playwright runs, this thread cannot call `asyncio.run`. What needs an
event loop of its own stands in another process or thread.
"""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

expect.set_options(timeout=60_000)

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have a browser: install chromium")
        pytest.skip("NOT TESTED: there is no chromium on this machine")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Makes pages that know nothing of each other's past."""
    fresh = browser.new_context(viewport={"width": 1200, "height": 900})
    yield fresh
    fresh.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page whose test fails if the page reported an error, on its console or by raising."""
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []
