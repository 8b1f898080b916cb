"""`cobandit serve` runs a member with its API as a process: it says where it is, and stops clean when asked to."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from cobandit.cli import main
from cobandit.live.sidecar.contract import OPERATIONS
from cobandit.live.store.sqlite_journal import read_state
from cobandit.live.store.state_file import read_log
from lab.servers import free_port

WITHIN = 60.0
ALONE = "nobody else is here: it starts with its own settings"


class Serving:
    """A configured sidecar."""

    def __init__(self, folder: Path, *extra: str) -> None:
        self.folder, self.port, self.peer_port = folder, free_port(), free_port()
        self.file, self.state = folder / "web-1.toml", folder / "web-1.db"
        self.token_file = folder / "web-1.db.token"
        self.url = f"http://127.0.0.1:{self.port}"
        lines = [
            'group = "homepage"',
            'name = "web-1"',
            f'url = "udp://127.0.0.1:{self.peer_port}"',
            'arms = ["A", "B"]',
            'state = "web-1.db"',
            'policy = "ucb"',  # which names the arms in their order, at first
            'secret = "a secret for this test, and no other"',
            f'listen = "127.0.0.1:{self.port}"',
            *extra,
        ]
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @property
    def described(self) -> str:
        return f"group homepage, 2 arms, ucb, udp://127.0.0.1:{self.peer_port}, {self.state}"

    @contextmanager
    def running(self, *arguments: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
        variables = {name: value for name, value in os.environ.items() if name != "COBANDIT_TOKEN"}
        process = subprocess.Popen(
            [sys.executable, "-m", "cobandit", "serve", str(self.file), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**variables, **environment},
        )
        try:
            assert process.stdout is not None
            self.said = process.stdout.readline()
            assert self.said.startswith("web-1 is ready at "), (self.said, process.stderr and process.stderr.read())
            yield process
        finally:
            process.kill()
            process.communicate()

    def client(self) -> httpx.Client:
        token = self.token_file.read_text(encoding="utf-8").strip()
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {token}"}, timeout=WITHIN)


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    return Serving(tmp_path)


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_is_and_stops_clean_with_a_request_under_way(way: signal.Signals, serving: Serving) -> None:
    with serving.running() as process:
        assert serving.said == (
            f"web-1 is ready at {serving.url}: {serving.described}. The token is in {serving.token_file}. What goes "
            "wrong is logged with what to do; SIGTERM or Ctrl-C stops it.\n"
        )
        token = serving.token_file.read_text(encoding="utf-8").strip()
        with (
            socket.create_connection(("127.0.0.1", serving.port), timeout=WITHIN) as stream,
            stream.makefile("rb") as answer,
        ):
            stream.sendall(
                f"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
                f"Authorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n".encode()
            )
            assert answer.readline() == b"HTTP/1.1 100 Continue\r\n"  # so it is being read
            process.send_signal(way)
            deadline = time.monotonic() + WITHIN
            while not is_refused(serving.port):
                assert time.monotonic() < deadline
                time.sleep(0.01)
            stream.sendall(b"{}")
            assert b"HTTP/1.1 200 OK\r\n" in (answer.readline(), answer.readline())
            assert b'"arm":"A"' in answer.read()
        out, err = process.communicate(timeout=WITHIN)
    assert (process.returncode, out) == (0, "web-1 has stopped, with everything written down.\n")
    assert [line.split("INFO ")[-1] for line in err.splitlines()] == [
        f"event=starts_alone web-1: {ALONE} (none are set)"
    ]
    assert read_state(serving.state).is_clean
    assert [entry.arm for entry in read_log(serving.state)] == ["A"]


def is_refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
    except OSError:
        return True
    return False


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGKILL])
def test_updates_that_are_repeated_across_a_restart_count_once(way: signal.Signals, serving: Serving) -> None:
    with serving.running() as process, serving.client() as client:
        before, after = (client.post("/v1/select", json={}).json()["id"] for _ in range(2))
        reward = {"id": before, "reward": 1.0, "sync": True}
        assert [client.post("/v1/update", json=reward).json() for _ in range(2)] == [
            {"counted": True},
            {"counted": False},
        ]
        process.send_signal(way)  # as if the answer to the last one had been lost
        process.wait(WITHIN)
    with serving.running() as process, serving.client() as client:  # with the same token
        answers = [client.post("/v1/update", json=reward).json() for _ in range(2)]
        late = {"id": after, "reward": 0.5, "sync": True}
        answers += [client.post("/v1/update", json=late).json() for _ in range(2)]
        assert answers == [{"counted": False}, {"counted": False}, {"counted": True}, {"counted": False}]
        statistics = client.get("/v1/statistics").json()
        assert (statistics["own_observations"], statistics["open_decisions"]) == (2, 0)
        assert [arm["mean"] for arm in statistics["arms"]] == [1.0, 0.5]
        process.terminate()
        assert process.wait(WITHIN) == 0


def test_the_token_of_the_environment_is_used_and_none_is_written(serving: Serving) -> None:
    with serving.running(COBANDIT_TOKEN="a-token-of-the-environment") as process:
        assert "The token is in the environment variable COBANDIT_TOKEN." in serving.said
        headers = {"Authorization": "Bearer a-token-of-the-environment"}
        assert httpx.get(f"{serving.url}/v1/arms", headers=headers, timeout=60.0).status_code == 200
        assert not serving.token_file.exists()
        process.terminate()
        assert process.wait(WITHIN) == 0


def test_a_taken_port_is_named_and_nothing_is_left_behind(serving: Serving) -> None:
    with socket.create_server(("127.0.0.1", serving.port)):
        ended = subprocess.run(  # in a process of its own: the command says where its process logs to
            [sys.executable, "-m", "cobandit", "serve", str(serving.file)],
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN,
        )
    assert (ended.returncode, ended.stdout, ended.stderr.splitlines()[-1]) == (
        2,
        "",
        f"cobandit: listen: port {serving.port} on 127.0.0.1 is taken: stop what listens there, or listen on another",
    )
    assert read_state(serving.state).is_clean


def test_warnings_are_logged_as_configured(tmp_path: Path) -> None:
    serving = Serving(tmp_path, 'log_format = "json"')
    with serving.running("--listen", f"0.0.0.0:{serving.port}") as process:
        with socket.create_connection(("127.0.0.1", serving.port), timeout=WITHIN) as stream:
            stream.sendall(b"this is not HTTP\r\n\r\n")
            assert stream.recv(1000).startswith(b"HTTP/1.1 400 Bad Request\r\n")
        process.terminate()
        out, err = process.communicate(timeout=WITHIN)
    lines = [json.loads(line) for line in err.splitlines()]
    assert [(line["level"], line["message"].split(",")[0]) for line in lines] == [
        ("info", f"{ALONE} (none are set)"),
        ("warning", f"the sidecar listens on 0.0.0.0:{serving.port}"),
        ("warning", "Invalid HTTP request received."),
    ]
    assert (process.returncode, out) == (0, "web-1 has stopped, with everything written down.\n")


def test_a_sigterm_while_it_stops_is_no_crash(serving: Serving) -> None:
    with serving.running() as process:
        process.terminate()
        process.terminate()  # whenever it comes: before, during or after the first is heard
        assert process.wait(WITHIN) == 0


def test_it_answers_until_the_drain_is_over_and_says_that_it_is_not_ready(tmp_path: Path) -> None:
    serving = Serving(tmp_path, "drain = 5.0")
    with serving.running() as process, serving.client() as client:
        assert client.get("/readyz").status_code == 200
        began = time.monotonic()
        process.terminate()
        while client.get("/readyz").status_code != 503:
            assert time.monotonic() < began + WITHIN
        assert client.get("/healthz").status_code == 200
        assert client.post("/v1/select", json={}).status_code == 200
        out, _ = process.communicate(timeout=WITHIN)
        assert time.monotonic() >= began + 5.0
    assert (process.returncode, out) == (0, "web-1 has stopped, with everything written down.\n")


def test_a_second_sigterm_ends_the_drain_and_is_no_crash(tmp_path: Path) -> None:
    serving = Serving(tmp_path, "drain = 600")
    with serving.running() as process, serving.client() as client:
        process.terminate()
        while client.get("/readyz").status_code != 503:
            time.sleep(0.01)
        process.terminate()
        out, _ = process.communicate(timeout=WITHIN)
    assert (process.returncode, out) == (0, "web-1 has stopped, with everything written down.\n")


def test_a_token_that_only_looks_changes_nothing(tmp_path: Path) -> None:
    serving = Serving(tmp_path)
    with serving.running(COBANDIT_READ_ONLY_TOKEN="a-token-that-looks") as process:  # no secret
        looks = {"Authorization": "Bearer a-token-that-looks"}
        for path in ("/v1/statistics", "/v1/arms", "/v1/kill-switch", "/metrics"):
            assert httpx.get(serving.url + path, headers=looks, timeout=WITHIN).status_code == 200
        assert httpx.head(f"{serving.url}/page/stream", headers=looks, timeout=WITHIN).status_code == 200
        for one in (one for one in OPERATIONS if one.method != "GET"):
            path = one.path.replace("{arm}", "A")
            answer = httpx.request(one.method, serving.url + path, headers=looks, json=one.example, timeout=WITHIN)
            assert (answer.status_code, answer.json()["title"]) == (403, "Forbidden")
        process.terminate()
        process.communicate(timeout=WITHIN)


def test_a_token_that_only_looks_is_not_the_other_one(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COBANDIT_TOKEN", "COBANDIT_READ_ONLY_TOKEN"):
        monkeypatch.setenv(name, "0123456789abcdef")
    assert main(["serve", "--check", str(serving.file)]) == 2


def test_check_only_looks(serving: Serving, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--check", str(serving.file), "--listen", "127.0.0.1:1"]) == 0
    assert capsys.readouterr().out == (f"{serving.file} is valid: {serving.described}, to be served at 127.0.0.1:1\n")
    assert sorted(path.name for path in serving.folder.iterdir()) == ["web-1.toml"]


def test_a_state_that_cannot_be_made_is_named_before_anything_is_started(
    serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in (["--check"], []):
        assert main(["serve", *options, str(serving.file), "--set", "state=/proc/x/web.db"]) == 2
        told = capsys.readouterr()
        assert (told.out, "state: /proc/x/web.db cannot be made" in told.err) == ("", True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('listen = "somewhere"', "listen: the address must be like 10.0.0.1:7000 or [::1]:7000, not 'somewhere'"),
        ("most_body = 0", "most_body must be a whole number from 1 to 67108864, not 0"),
        ("most_requests = true", "most_requests must be a whole number from 1 to 100000, not true"),
        ("token_file = 7", "token_file must be a string, not 7"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    line: str, said: str, serving: Serving, capsys: pytest.CaptureFixture[str]
) -> None:
    text = serving.file.read_text(encoding="utf-8")
    if line.startswith("listen"):
        text = "\n".join(one for one in text.splitlines() if not one.startswith("listen")) + "\n"
    serving.file.write_text(f"{text}{line}\n", encoding="utf-8")
    assert main(["serve", "--check", str(serving.file)]) == 2
    assert capsys.readouterr().err == f"cobandit: {serving.file}: {said}\n"


def test_a_named_token_file_is_looked_at_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serving = Serving(tmp_path, 'token_file = "nothing"')
    for options in (["--check"], []):
        assert main(["serve", *options, str(serving.file)]) == 2
        assert capsys.readouterr().err == (
            f"cobandit: token_file: cannot read {tmp_path / 'nothing'}: No such file or directory. Write a token into "
            "it: openssl rand -hex 32\n"
        )
    assert not serving.state.exists()


def test_without_the_packages_it_says_what_to_install() -> None:
    program = "import sys\nsys.modules['uvicorn'] = None\nimport cobandit.live.sidecar\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "cobandit.values.errors.MissingExtraError: serving needs the extra \"serve\": pip install 'cobandit[serve]'"
    )
