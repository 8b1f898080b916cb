"""What an installed cobandit is tried with: commands that must work where their extras are, and name them elsewhere.

`check_wheel.py` makes the environments. This file knows the commands and what they need, and nothing of environments
but where their programs are. A command that is not listed here is an error, so a new one cannot be forgotten.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
WITHIN = 900
"""Seconds for one command. The compiler's first run takes most."""

REFUSAL = re.compile(r"cobandit: [^\n]*needs the extra \"(\w+)\": pip install 'cobandit\[\1\]'\n")

SECRET = "a secret of this group"

WORLD = """
horizon = 200
[arms]
means = [0.2, 0.8]
[[agents]]
count = 2
rate = 0.5
"""

STATE = """
import cobandit
with cobandit.connect("memory://m", group="g", name="m", arms=["A", "B"], state="m.db") as member:
    print(member.select_arm().id)
"""
"""Leaves a decision that waits for its reward, and prints its id."""

CLUSTER = """
import sys
from distributed import LocalCluster
from cobandit.cli import main
if __name__ == "__main__":
    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        sys.exit(main(["simulate", "world.toml", "--trials", "2", "--cluster", cluster.scheduler_address]))
"""


_OURS = ("PYTHON", "COBANDIT_", "NUMBA_")
"""Variables that would change what is tried."""


class WrongError(Exception):
    """Something did not do what it must."""


@dataclass(frozen=True)
class Place:
    """An environment, a folder to run in, and which extras are installed."""

    programs: Path
    folder: Path
    extras: frozenset[str]

    def run(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a program of the environment to its end."""
        return subprocess.run(
            [str(self.programs / program), *arguments],
            cwd=self.folder,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=WITHIN,
            check=False,
        )

    def must(self, program: str, *arguments: str) -> str:
        """Run a program that must succeed, and return what it printed."""
        done = self.run(program, *arguments)
        if done.returncode != 0 or "Traceback" in done.stderr:
            raise WrongError(f"{program} {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout

    def variables(self) -> dict[str, str]:
        """Return an environment in which no other cobandit is found, and nothing is written outside of the folder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        return {**kept, "XDG_CACHE_HOME": str(self.folder.parent / "cache"), "MPLCONFIGDIR": str(self.folder)}

    def write(self, name: str, text: str) -> None:
        """Write a file to run."""
        (self.folder / name).write_text(text, encoding="utf-8")


BRING_MORE = frozenset({"rl", "river", "mabwiser"})
"""Extras whose packages bring NumPy, pandas and others along: there a command may work that needs `sim` elsewhere."""


@dataclass(frozen=True)
class Trial:
    """Commands of `cobandit` that are tried together.

    Args:
        commands: What is typed. Without its extras, each must name one that is missing.
        needs: The extras without which they cannot work.
        works: What they must do where the extras are; if `None`, each command must succeed.
        named: The extras that a refusal may name: those that are needed, or one that brings them and more.
    """

    commands: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    works: Callable[[Place], None] | None = None
    named: frozenset[str] = frozenset()

    def works_in(self, place: Place) -> None:
        """Try it where everything is installed that it needs."""
        if self.works is not None:
            self.works(place)
            return
        for command in self.commands:
            place.must("cobandit", *command.split())

    def is_refused_in(self, place: Place) -> None:
        """Try it where an extra is missing."""
        for command in self.commands:
            done = place.run("cobandit", *command.split())
            if done.returncode == 0 and place.extras & BRING_MORE:
                continue
            said = REFUSAL.fullmatch(done.stderr)
            if (done.returncode, done.stdout) != (2, "") or not said or said[1] not in self.named - place.extras:
                raise WrongError(f"cobandit {command} ended with {done.returncode} and said: {done.stderr[-2000:]}")


def prepare(place: Place) -> None:
    """Write the files that the trials use."""
    place.write("world.toml", WORLD)
    place.write("cluster.py", CLUSTER)
    place.write("secret", SECRET)
    (place.folder / "secret").chmod(0o600)
    for name, url, more in (
        ("udp", f"udp://127.0.0.1:{free_port()}", ""),
        ("sidecar", f"udp://127.0.0.1:{free_port()}", ""),
        ("metrics", f"udp://127.0.0.1:{free_port()}", f'metrics = "127.0.0.1:{free_port(socket.SOCK_STREAM)}"\n'),
        ("nats", f"nats://127.0.0.1:{free_port(socket.SOCK_STREAM)}", ""),
        ("mqtt", f"mqtt://127.0.0.1:{free_port(socket.SOCK_STREAM)}", ""),
    ):
        head = f'group = "g"\nname = "{name}"\nurl = "{url}"\narms = ["A", "B"]\nstate = "{name}.db"\n'
        place.write(f"{name}.toml", f'{head}secret_file = "secret"\n{more}')


def free_port(kind: socket.SocketKind = socket.SOCK_DGRAM) -> int:
    """Return a port that nobody listens to."""
    with socket.socket(type=kind) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def running(place: Place, *arguments: str) -> Iterator[str]:
    """Start a command that runs until it is told to stop, and yield its first line. It must end clean."""
    command = [str(place.programs / "cobandit"), *arguments]
    with subprocess.Popen(
        command, cwd=place.folder, env=place.variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            first = process.stdout.readline()
            if first:
                yield first
        finally:
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=60)
    if process.returncode != 0 or not first:
        raise WrongError(f"cobandit {' '.join(arguments)} ended with {process.returncode}: {said[-2000:]}")


def _value(place: Place, file: str, key: str) -> str:
    return re.search(rf'^{key} = "(.*)"', (place.folder / file).read_text(encoding="utf-8"), re.MULTILINE)[1]  # type: ignore[index]


def _relay(name: str) -> Callable[[Place], None]:
    """Run a relay, and ask it and control it meanwhile."""

    def talks(place: Place) -> None:
        where = (_value(place, f"{name}.toml", "url"), "--group", "g", "--secret-file", "secret")
        with running(place, "relay", f"{name}.toml"):
            if f'"{name}"' not in place.must("cobandit", "status", *where, "--json"):
                raise WrongError(f"status does not show the member that runs over {name}")
            place.must("cobandit", "control", *where, "freeze", "A")

    return talks


def _through(program: str, name: str) -> Callable[[Place], None]:
    """Run a member through a server, if this machine has its program."""

    def talks(place: Place) -> None:
        found = shutil.which(program, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
        if found is None:
            print(f"    {program} is not on this machine, so nothing was said through it", file=sys.stderr)
            return
        port = int(_value(place, f"{name}.toml", "url").rpartition(":")[2])
        with subprocess.Popen([found, "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                _until_it_listens(port)
                _relay(name)(place)
            finally:
                server.terminate()

    return talks


def _until_it_listens(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def _metrics(place: Place) -> None:
    address = _value(place, "metrics.toml", "metrics")
    with running(place, "relay", "metrics.toml"):
        _fetch(f"http://{address}/metrics", "cobandit_uptime_seconds")
        place.must("cobandit", "health", "metrics.toml")


def _health(place: Place) -> None:
    """Nobody runs: its exit code says so, whatever is installed."""
    done = place.run("cobandit", "health", "metrics.toml")
    if done.returncode != 1 or "metrics is not healthy" not in done.stderr:
        raise WrongError(f"cobandit health ended with {done.returncode}: {done.stderr[-2000:]}")


def _sidecar(place: Place) -> None:
    address = f"127.0.0.1:{free_port(socket.SOCK_STREAM)}"
    with running(place, "serve", "sidecar.toml", "--listen", address):
        _fetch(f"http://{address}/", "<title>")
        _fetch(f"http://{address}/openapi.json", "cobandit")


def _fetch(url: str, expected: str) -> None:
    with urllib.request.urlopen(url, timeout=30) as answer:
        if expected not in answer.read().decode():
            raise WrongError(f"{url} does not have {expected}")


def _state(place: Place) -> None:
    """Reward a decision from outside, start the member again, and read the state file."""
    decision = place.must("python", "-c", STATE).strip()
    place.must("cobandit", "reward", "m.db", decision, "1")
    place.must("python", "-c", STATE)
    if '"reward":1.0' not in place.must("cobandit", "log", "m.db"):
        raise WrongError("the log does not have the reward that was left in the mailbox")
    place.must("cobandit", "snapshot", "m.db", "--out", "m.snapshot")


def _evaluate(place: Place) -> None:
    """Estimate what one arm alone would have brought, from a log of four decisions."""
    rows = zip("AABB", "1011", strict=True)
    lines = [f'{{"arm": "{arm}", "propensity": 0.5, "reward": {reward}}}' for arm, reward in rows]
    place.write("decisions.jsonl", "\n".join(lines) + "\n")
    place.must("cobandit", "evaluate", "decisions.jsonl", "--arm", "A")


def examples_work(place: Place) -> None:
    """Run agents of one's own, by hand: the core, and nothing else."""
    for name in ("two_agents.py", "journal_and_restore.py"):
        place.must("python", str(EXAMPLES / name))


def _cluster(place: Place) -> None:
    place.must("python", "cluster.py")


def _messages(place: Place) -> None:
    """One trial need not agree with the paper, and the exit code tells whether it does."""
    done = place.run("cobandit", "messages", "3", "--trials", "1")
    if done.returncode not in {0, 1} or done.stdout.count("\n") < 4 or done.stderr:
        raise WrongError(f"cobandit messages ended with {done.returncode}: {done.stderr[-2000:]}")


def _trial(
    *commands: str,
    needs: str | tuple[str, ...] = (),
    works: Callable[[Place], None] | None = None,
    named: str | None = None,
) -> Trial:
    extras = frozenset((needs,) if isinstance(needs, str) else needs)
    return Trial(commands, extras, works, extras if named is None else frozenset((named,)))


TRIALS = (
    _trial("relay udp.toml", "status udp://h --group g", "control udp://h --group g lift", works=_relay("udp")),
    _trial("relay udp.toml", "forget udp://h --group g a", works=_relay("udp")),
    _trial("log m.db", "reward m.db ID 1", "snapshot m.db --out m.snapshot", works=_state),
    _trial("evaluate decisions.jsonl --arm A", works=_evaluate),
    _trial("relay metrics.toml", needs="metrics", works=_metrics),
    _trial("health metrics.toml", works=_health),
    _trial("relay nats.toml", "status nats://127.0.0.1 --group g", needs="nats", works=_through("nats-server", "nats")),
    _trial(
        "relay mqtt.toml", "control mqtt://127.0.0.1 --group g lift", needs="mqtt", works=_through("mosquitto", "mqtt")
    ),
    _trial("keys group g --out keys", "keys agent a --folder keys", needs="keys"),
    _trial("demo --json --seconds 2 --agents 3", needs="keys", named="live"),
    _trial("serve sidecar.toml", needs="serve", works=_sidecar),
    _trial("simulate world.toml --trials 2 --out results", needs="sim"),
    _trial("simulate world.toml --cluster tcp://127.0.0.1:1", needs=("sim", "cluster"), works=_cluster),
    _trial("protocols"),
    _trial("bench list", needs="sim"),
    _trial("explain --out explanation.html", needs="sim"),
    _trial("reproduce 3 --quick --trials 1 --out reproduction", needs="sim"),
    _trial("compare --trials 1", needs="sim"),
    _trial("messages 3 --trials 1", needs="sim", works=_messages),
)


def every_command_has_help(place: Place) -> int:
    """Ask each command for its help; there must be a trial for each. Return how many there are."""
    names = re.findall(r"^ {4}(\w+)(?= {2,}|$)", place.must("cobandit", "--help"), re.MULTILINE)
    tried = {command.split()[0] for trial in TRIALS for command in trial.commands}
    if set(names) != tried:
        raise WrongError(f"the commands are {sorted(names)}, and there are trials of {sorted(tried)}")
    for name in names:
        if not place.must("cobandit", name, "--help").startswith(f"usage: cobandit {name} "):
            raise WrongError(f"the help of {name} does not begin with its usage")
    return len(names)
