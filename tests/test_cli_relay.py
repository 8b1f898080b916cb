"""`cobandit relay` runs a relay from a file; `status`, `control` and the table say what relays know of their leaves."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from tests.test_cli_status import peer, statistics

import cobandit
from cobandit.cli import main
from cobandit.cli.fleet_table import fleet_lines
from cobandit.live.drive.member import Member
from cobandit.live.status.fleet import fleet_of
from cobandit.live.status.roles import Role
from lab.servers import free_port

SECRET = "a secret of the whole group"
WITHIN = 60.0


class Relay:
    """A configured relay, at a port of its own."""

    def __init__(self, folder: Path, *extra: str) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self.file = folder / "relay.toml"
        lines = (
            'group = "homepage"',
            'name = "relay-a"',
            f'url = "udp://{self.address}"',
            'arms = ["A", "B"]',
            'state = "relay-a.db"',
            f'secret = "{SECRET}"',
            *extra,
        )
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[str]"]:
        process = subprocess.Popen(
            [sys.executable, "-m", "cobandit", "relay", str(self.file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("relay-a is ready: "), (line, process.stderr and process.stderr.read())
            yield process
        finally:
            process.kill()
            process.communicate()

    def leaf(self, name: str) -> Member:
        return cobandit.connect(
            "udp://", group="homepage", name=name, arms=["A", "B"], secret=SECRET, relays=[self.address]
        )

    @property
    def asked(self) -> list[str]:
        """How an operator asks it."""
        return [f"udp://{self.address}", "--group", "homepage", "--secret", SECRET]


def test_operators_see_and_turn_leaves_through_their_relay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    relay = Relay(tmp_path)
    with relay.running() as process, relay.leaf("web-1") as one, relay.leaf("web-2") as other:
        for leaf in (one, other):
            for _ in range(20):
                leaf.update(leaf.select_arm(), 1.0)
            assert leaf.flush(WITHIN)
        assert main(["status", *relay.asked]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert "homepage: 1 member, 0 decisions since start, 40 observed" in shown
        assert "2 leaves behind relays (relay-a 2), as the relays report: they have observed 40" in shown
        assert main(["control", *relay.asked, "kill", "B"]) == 0
        assert capsys.readouterr().out == "3 of 3 members have turned the switch: kill B (relay-a, web-1, web-2)\n"
        assert {leaf.statistics().control_arm for leaf in (one, other)} == {"B"}
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=WITHIN)
        assert (process.returncode, out) == (0, "relay-a has stopped, with everything written down.\n")


def test_a_file_of_a_leaf_is_none_of_a_relay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    relay = Relay(tmp_path, 'relays = ["10.0.0.1:7000"]')
    assert main(["relay", "--check", str(relay.file)]) == 2
    assert "relays is for leaves, and this command runs a relay: leave the key out" in capsys.readouterr().err
    assert not (tmp_path / "relay-a.db").exists()


def test_a_relay_may_serve_http_and_the_page(tmp_path: Path) -> None:
    relay = Relay(tmp_path, f'listen = "127.0.0.1:{free_port()}"')
    with relay.running() as process:
        process.terminate()
        out, _ = process.communicate(timeout=WITHIN)
    assert out.endswith("relay-a has stopped, with everything written down.\n")


def test_the_table_says_who_has_not_heard_what_is_set_and_who_is_not_gone() -> None:
    leaves = [msgspec.structs.replace(peer(f"web-{number}"), role=Role.LEAF, observations=10) for number in range(3)]
    late = msgspec.structs.replace(leaves[2], lacks_settings=True)
    # Each relay knows what the leaves of the other observed, and has no link with them.
    first = msgspec.structs.replace(
        statistics("relay-a", (leaves[0], late)), role=Role.RELAY, gone=2, gone_observations=15
    )
    second = msgspec.structs.replace(statistics("relay-b", (leaves[1],)), role=Role.RELAY, gone=3, gone_observations=25)
    fleet = fleet_of("homepage", (first, second))
    assert (fleet.silent, fleet.gone) == ((), (1, 5))
    text = " ".join(" ".join(fleet_lines(fleet)).split())
    assert "3 leaves behind relays (relay-a 2, relay-b 1), as the relays report: they have observed 30" in text
    assert "! Settings have not reached all leaves yet: web-2." in text


def test_a_sidecar_of_a_leaf_without_a_relay_is_ready_and_says_what_is_wrong(tmp_path: Path) -> None:
    import asyncio  # noqa: PLC0415
    import threading  # noqa: PLC0415

    from cobandit.live.sidecar.api import RELAYS_SILENT, Api  # noqa: PLC0415

    del tmp_path
    with cobandit.connect("memory://nobody", group="g", name="web-1", arms=["A"], relays=["relay-a"]) as leaf:
        deadline = time.monotonic() + WITHIN
        while not leaf.is_cut_off:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        api = Api(leaf, stopping=asyncio.Event(), draining=threading.Event())
        assert asyncio.run(api.readiness()).remark == RELAYS_SILENT
