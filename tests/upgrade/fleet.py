"""A fleet of processes of both versions, over TLS: started, stopped, upgraded and rolled back one by one."""

import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from tests.upgrade.worker import Look, Order, Spec

from cobandit.live.auth.keys import issue, make_group
from cobandit.live.store.state_versions import kept_copy, version_of_file
from lab.servers import HOST, free_port

ROOT = Path(__file__).parent.parent.parent
GROUP = "homepage"
MEANS = {"blue": 0.7, "green": 0.5, "red": 0.3}
WITHIN = 60.0
LOOK_EVERY = 0.05


class UpgradeFleet:
    """Members by name, and all that they were ever rewarded with."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.rewarded: dict[str, Counter[str]] = {arm: Counter() for arm in MEANS}
        make_group(GROUP, folder / "authority")
        self.names = tuple(names)
        self._keys = {name: issue(name, folder / "authority") for name in self.names}
        self._ports = {name: free_port() for name in self.names}

    def state(self, name: str) -> Path:
        """A member's state file."""
        return self._folder / f"{name}.db"

    def start(self, versions: dict[str, int]) -> list[str]:
        """Start members, all at once. Return what was wrong, one for each: empty if it runs."""
        for name, version in versions.items():
            self._running[name] = process = subprocess.Popen(
                [sys.executable, "-m", "tests.upgrade.worker"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            _write(process, self._spec(name, version))
        errors = [_read(self._running[name]).error for name in versions]
        for name, error in zip(versions, errors, strict=True):
            if error:
                _end(self._running.pop(name))
        return errors

    def stop(self, name: str) -> None:
        """Stop a member as an operator does."""
        self.tell("stop", [name])
        assert _end(self._running.pop(name)) == 0

    def tell(self, do: str, names: Iterable[str] | None = None, times: int = 0) -> dict[str, Look]:
        """Give an order to members, all at once, and return what each answers."""
        told = {name: self._running[name] for name in (self._running if names is None else names)}
        for process in told.values():
            _write(process, Order(do, times))
        return {name: _read(process) for name, process in told.items()}

    def pull(self, times: int, names: Iterable[str] | None = None) -> None:
        """Let members decide, and write down what they were rewarded with."""
        for look in self.tell("pull", names, times).values():
            for arm, (count, units) in look.pulled.items():
                self.rewarded[arm].update(count=count, units=units)

    def truth(self) -> dict[str, tuple[int, int]]:
        """What everybody must know in the end."""
        return {arm: (counts["count"], counts["units"]) for arm, counts in self.rewarded.items()}

    def settle(self) -> dict[str, Look]:
        """Let everybody tell what it has, until all know all that was ever rewarded, and return how they are."""
        assert {look.error for look in self.tell("flush").values()} == {""}
        return self.until(lambda looks: all(look.totals == self.truth() for look in looks.values()))

    def until(self, is_so: Callable[[dict[str, Look]], bool]) -> dict[str, Look]:
        """Wait until members are as wanted, and return how they are."""
        deadline = time.monotonic() + WITHIN
        while True:
            looks = self.tell("look")
            if is_so(looks):
                return looks
            assert time.monotonic() < deadline, f"it did not happen: {looks}, and the truth is {self.truth()}"
            time.sleep(LOOK_EVERY)

    def roll_back(self, name: str) -> None:
        """Put the kept copy of a member's state in its place, as the documents say."""
        shutil.copy(kept_copy(self.state(name), 1), self.state(name))

    def versions(self) -> dict[str, int | None]:
        """The version of every state file."""
        return {name: version_of_file(self.state(name)) for name in self.names}

    def close(self) -> None:
        """End everything."""
        for process in self._running.values():
            process.kill()
            _end(process)

    def _spec(self, name: str, version: int) -> Spec:
        return Spec(
            version=version,
            url=f"tls://{HOST}:{self._ports[name]}",
            name=name,
            keys=str(self._keys[name]),
            state=str(self.state(name)),
            peers=tuple(f"{HOST}:{port}" for other, port in self._ports.items() if other != name),
            group=GROUP,
            means=MEANS,
        )


def _write(process: "subprocess.Popen[bytes]", line: Spec | Order) -> None:
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(line) + b"\n")
    process.stdin.flush()


def _read(process: "subprocess.Popen[bytes]") -> Look:
    assert process.stdout is not None
    is_there, _, _ = select.select([process.stdout], [], [], WITHIN)
    assert is_there, "it says nothing"
    return msgspec.json.decode(process.stdout.readline(), type=Look)


def _end(process: "subprocess.Popen[bytes]") -> int:
    code = process.wait(WITHIN)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return code


@contextmanager
def upgrade_fleet(folder: Path, names: Iterable[str]) -> Iterator[UpgradeFleet]:
    """Make a fleet whose processes end with it."""
    fleet = UpgradeFleet(folder, names)
    try:
        yield fleet
    finally:
        fleet.close()
