"""How soon the page shows something, with fifty agents: in a real browser, of a real sidecar, on this machine.

A NATS server, forty-nine members in one process that decide and talk, and `cobandit serve` as the fiftieth, in its own
process. Chromium opens the page anew several times, each time with an empty cache. Said are the first contentful paint
(something stands there) and the first meaningful one: the first frame of the fleet is drawn. Needs nats-server and
chromium.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

import cobandit
from cobandit.live.drive.member import Member
from lab.servers import HOST, free_port, nats_server

ARMS = [f"arm-{number:02}" for number in range(16)]
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
MEET_WITHIN_S = 120.0

TIMES = """() => ({
  contentful: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
  meaningful: performance.getEntriesByName('first-frame')[0]?.startTime ?? null,
  members: document.querySelectorAll('[data-member]').length,
  draws: performance.getEntriesByName('draw').map(entry => entry.duration),
})"""


def sidecar(folder: Path, url: str) -> "tuple[subprocess.Popen[str], str]":
    """Start a sidecar. Return its process and its address."""
    listen = f"{HOST}:{free_port()}"
    lines = {
        "url": url,
        "group": "paint",
        "name": "m00",
        "arms": ARMS,
        "state": str(folder / "m00.db"),
        "listen": listen,
    }
    config = folder / "m00.toml"
    config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items()), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "cobandit", "serve", str(config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    if "ready" not in process.stdout.readline():
        raise SystemExit("the sidecar did not start")
    token = (folder / "m00.db.token").read_text(encoding="ascii").strip()
    return process, f"http://{listen}/#token={token}"


def busy(members: list[Member]) -> None:
    """Let everybody decide a little, so that there is something to show."""
    for _ in range(20):
        for member in members:
            member.update(member.select_arm(), reward=0.5)


def one_visit(browser: Browser, address: str) -> dict[str, float]:
    """Open the page in a fresh profile and return when it showed what."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("body.has-frame")
    page.wait_for_timeout(3000)  # so that whole frames are drawn too
    times: dict[str, float] = page.evaluate(TIMES)
    context.close()
    return times


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--visits", type=int, default=7)
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no chromium on this machine: install it")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(nats_server()).url
        process, address = sidecar(folder, url)
        stack.callback(process.wait)
        stack.callback(os.kill, process.pid, signal.SIGTERM)
        members = [
            stack.enter_context(cobandit.connect(url, group="paint", name=f"m{number:02}", arms=ARMS))
            for number in range(1, options.agents)
        ]
        deadline = time.monotonic() + MEET_WITHIN_S
        while any(len(member.statistics().peers) < options.agents - 1 for member in members):
            if time.monotonic() > deadline:
                raise SystemExit("they did not all meet")
            time.sleep(0.2)
        busy(members)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        visits = [one_visit(browser, address) for _ in range(options.visits)]
        browser.close()
    print(f"{options.agents} agents, {options.visits} visits with an empty cache; milliseconds since navigation began")
    for name in ("contentful", "meaningful"):
        taken = sorted(visit[name] for visit in visits)
        print(f"first {name} paint   median {median(taken):6.0f}   worst {taken[-1]:6.0f}")
    draws = sorted(draw for visit in visits for draw in visit["draws"])  # type: ignore[attr-defined]
    print(f"drawing a frame          median {median(draws):6.1f}   worst {draws[-1]:6.1f}   ({len(draws)} frames)")
    print(f"members on the page      {min(visit['members'] for visit in visits)}")
    slowest = max(visit["meaningful"] for visit in visits)
    return 0 if slowest < 1000.0 else 1


if __name__ == "__main__":
    sys.exit(main())
