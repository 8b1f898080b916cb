"""One agent of the demo, in a process of its own: it decides at its own times, and obeys the lines on standard input.

The first line is its `Spec`; `go` lets it decide; the end of the input, which comes when the demo is gone for whatever
reason, stops it as SIGTERM does.
"""

import math
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from cobandit.core import Geometric, RetryTimers, on_demand
from cobandit.live.drive.joining import connect
from cobandit.live.drive.member import Member
from cobandit.live.process.logs import configure_logging
from cobandit.live.process.service import stop_signals, stop_this_process
from cobandit.values.chance import stream, uniform

MEANS = {f"arm-{number:02}": round(0.2 + 0.04 * number, 2) for number in range(16)}
"""Of Bernoulli rewards."""

DEMO_SHARING = on_demand(
    Geometric(2, cap=64), loss_tolerant=RetryTimers(first=1.0, least=0.1, growth=1.5, tick=2.0, longest=10.0)
)
"""As live members talk, but for a run of a minute: who falls silent tells the rest after 2 seconds instead of 60."""

LOOK_FOR_SIGNALS_EVERY = 3600.0
"""Seconds. A signal ends the wait."""

_ARRIVALS, _REWARDS = 1, 2


class Spec(msgspec.Struct, frozen=True):
    """What one agent is to do."""

    name: str
    number: int
    folder: str
    """Where it keeps its state."""
    group: str
    url: str
    per_second: float
    seconds: float
    seed: int
    peers: tuple[str, ...] = ()
    keys: str | None = None
    secret: str | None = None


def reward_of(seed: int, agent: int, decision: int, arm: str) -> float:
    """Return what an agent's decision pays: the same whenever it is asked, and whatever the others do."""
    return float(uniform(stream(seed, agent, _REWARDS), decision) < MEANS[arm])


def run_demo_agent() -> None:
    """Run an agent until it is told to stop."""
    configure_logging("text")
    spec = msgspec.json.decode(sys.stdin.readline(), type=Spec)
    here = Path(spec.folder)
    is_orphan, can_go = threading.Event(), threading.Event()
    with stop_signals() as signals:
        member = connect(
            spec.url,
            group=spec.group,
            name=spec.name,
            arms=list(MEANS),
            state=here / "state.db",
            peers=spec.peers,
            keys=spec.keys,
            secret=spec.secret,
            sharing=DEMO_SHARING,
            policy="ucb",  # what it is compared with: the paper's bounds, and the same policy alone
        )
        with member:
            threading.Thread(target=_obey, args=(can_go, is_orphan), daemon=True).start()
            decide = threading.Thread(target=_decide, args=(member, spec, can_go), daemon=True)
            decide.start()
            _say("ready")
            while signals.wait(LOOK_FOR_SIGNALS_EVERY) is None:
                pass
            signals.let_go()
    if is_orphan.is_set():  # nobody else is left to clear up; the last agent takes the folder away
        shutil.rmtree(here, ignore_errors=True)
        with suppress(OSError):
            here.parent.rmdir()


def _obey(can_go: threading.Event, is_orphan: threading.Event) -> None:
    for line in sys.stdin:
        if line.strip() == "go":
            can_go.set()
    is_orphan.set()
    stop_this_process()


def decision_times(spec: Spec) -> list[float]:
    """Return when an agent decides, in seconds since it may: a Poisson process, the same whenever it is asked."""
    arrivals = stream(spec.seed, spec.number, _ARRIVALS)
    times: list[float] = []
    at = 0.0
    while (at := at - math.log(1.0 - uniform(arrivals, len(times))) / spec.per_second) < spec.seconds:
        times.append(at)
    return times


def _decide(member: Member, spec: Spec, can_go: threading.Event) -> None:
    """Decide when it is time. What comes late is made up for, so that the number of decisions is the seed's alone."""
    times = decision_times(spec)
    can_go.wait()
    began = time.monotonic()
    for decision, at in enumerate(times):
        time.sleep(max(0.0, began + at - time.monotonic()))
        chosen = member.select_arm()
        member.update(chosen, reward_of(spec.seed, spec.number, decision, chosen.arm))
    _say("done")


def _say(word: str) -> None:
    with suppress(BrokenPipeError):
        print(word, flush=True)  # noqa: T201  # the demo reads it
