"""Reports in a real browser: they fit every screen, have no errors and ask for nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from cobandit import silent, simulate
from cobandit.scenario import AgentSpec, Arms, Rate, Scenario

WORLD = Scenario(100, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.9)), AgentSpec(Rate(0.1))))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    worlds = {"on demand": WORLD, "alone": replace(WORLD, sharing=silent())}
    simulate(worlds, trials=2, seed=1, engine="reference", checkpoints=4).report(path)
    return path


@pytest.mark.parametrize("width", [390, 1200])
def test_a_report_fits_the_screen_and_needs_nothing_from_outside(width: int, page: Page, report: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert [url for url in asked if not url.startswith(("file:", "data:image/svg+xml;"))] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_stands_on_the_paper_of_its_card(theme: str, page: Page, report: Path) -> None:
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]  # one of two words
    page.goto(report.as_uri())
    page.wait_for_function("document.querySelector('figure img').complete")
    pixel, card = page.evaluate(
        """() => {
            const image = document.querySelector("figure img");
            const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight).getContext("2d");
            canvas.drawImage(image, 0, 0);
            const [red, green, blue] = canvas.getImageData(1, 1, 1, 1).data;
            const card = getComputedStyle(document.querySelector("figure").closest(".card")).backgroundColor;
            return [`rgb(${red}, ${green}, ${blue})`, card];
        }"""
    )
    assert pixel == card


def test_a_link_jumps_to_its_scenario(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    page.get_by_role("link", name="alone").click()
    expect(page.locator("#scenario-2 h2")).to_be_in_viewport()
