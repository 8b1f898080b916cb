"""How does a fleet grow: two hundred members in one process that all meet each other, decide, and fall silent?

Once over memory and once through a NATS server. Each member knows all the others; nobody is in the middle. After the
decisions a short tick lets everybody hear everything; then the fleet is left alone, and what it still sends
is counted: announcements, in pauses that double up to ten minutes, in case a newcomer has not heard.

    PYTHONPATH=. python benchmarks/live_scale.py

All members share one thread for the network, so the time is that of one core for the whole fleet.
"""

import argparse
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from live_load import arms

from cobandit import connect
from cobandit.core import Geometric, RetryTimers, on_demand
from cobandit.live.drive.member import Member
from cobandit.live.status.statistics import Statistics
from lab.servers import nats_server

MEMBERS, DECISIONS, IDLE_S = 200, 200, 60.0
ARM_COUNT = 4
SHARING = on_demand(
    Geometric(2, cap=64), loss_tolerant=RetryTimers(first=2.0, least=0.1, growth=1.5, tick=2.0, longest=600.0)
)
"""As live members talk, but after two seconds without a decision everything is said, not after sixty."""
GROUP = "fleet"
WITHIN_S = 600.0
LOOK_EVERY_S = 0.25
QUIET_LOOKS = 12
"""Nobody has sent anything but an announcement in so many looks: then it is quiet."""


class Fleet(NamedTuple):
    """What was measured."""

    members: int
    met_s: float
    meeting_packets: int
    decisions_per_s: float
    known_s: float
    """Seconds after the last decision until everybody knew everything."""
    packets: int
    """Of all members, from the first decision until everybody knew everything."""
    complete: int
    """Members that know every observation."""
    expected: int
    """How many observations there are to know."""
    missing: int
    """Observations that members do not know, added up."""
    megabytes: float
    idle_s: float
    idle_packets: int
    """Sent by all members in that time."""


def main() -> None:
    """Print both fleets."""
    options = _options()
    size = (options.members, options.decisions, options.idle)
    if options.network == "memory":
        show("memory", measure("memory://fleet", *size))
    elif options.network == "nats":
        with nats_server() as hub:
            show("nats", measure(hub.url, *size))
    else:  # each in a process of its own, so that each has its own memory to show
        for network in ("memory", "nats"):
            subprocess.run([sys.executable, *sys.argv, "--network", network], check=True)


def show(name: str, fleet: Fleet) -> None:
    """Print one fleet."""
    members = fleet.members
    minutes = members * fleet.idle_s / 60.0
    print(f"{name}: {members} members")
    print(f"  all have met each other      {fleet.met_s:>12.1f} s   {fleet.meeting_packets:,} packets sent")
    print(f"  decisions                    {fleet.decisions_per_s:>12,.0f} /s")
    print(f"  everybody knows everything   {fleet.known_s:>12.1f} s after the last decision")
    print(f"  packets for that             {fleet.packets:>12,}     for {fleet.expected:,} observations")
    print(f"  members that know it all     {fleet.complete:>12,}     missing: {fleet.missing:,}")
    print(f"  memory                       {fleet.megabytes:>12.1f} MB  {1024 * fleet.megabytes / members:.0f} KB each")
    print(
        f"  idle for {fleet.idle_s:.0f} s               {fleet.idle_packets:>12,}     "
        f"packets sent, {fleet.idle_packets / minutes:.2f} for each member and minute",
        flush=True,
    )


def measure(url: str, count: int, decisions: int, idle_s: float) -> Fleet:
    """Let a fleet meet, decide, tell and rest."""
    memory_before = _megabytes()
    began = time.perf_counter()
    with fleet(url, count) as members:
        wait_until(members, lambda now: all(len(one.peers) == count - 1 for one in now))
        met_s, meeting_packets = time.perf_counter() - began, sent(members)
        decisions_per_s = decide(members, decisions)
        ended, expected = time.perf_counter(), count * decisions
        wait_until(members, lambda now: all(one.observations >= expected for one in now))
        known_s, packets = time.perf_counter() - ended, sent(members) - meeting_packets
        until_quiet(members)
        quiet = sent(members)
        time.sleep(idle_s)
        idle_packets = sent(members) - quiet
        known = [one.statistics().observations for one in members]
        return Fleet(
            count,
            met_s,
            meeting_packets,
            decisions_per_s,
            known_s,
            packets,
            complete=sum(observations == expected for observations in known),
            expected=expected,
            missing=sum(expected - observations for observations in known),
            megabytes=_megabytes() - memory_before,
            idle_s=idle_s,
            idle_packets=idle_packets,
        )


@contextmanager
def fleet(url: str, count: int) -> Iterator[list[Member]]:
    """Start so many members, one after the other."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                connect(url, group=GROUP, name=f"member-{place}", arms=arms(ARM_COUNT), sharing=SHARING)
            )
            for place in range(count)
        ]


def decide(members: Sequence[Member], decisions: int) -> float:
    """Let every member decide so often, in turn. Return the decisions a second."""
    chance, began = random.Random(1), time.perf_counter()
    for _ in range(decisions):
        for member in members:
            member.update(member.select_arm(), float(chance.random() < 0.5))
    return len(members) * decisions / (time.perf_counter() - began)


def wait_until(members: Sequence[Member], is_so: Callable[[list[Statistics]], bool]) -> None:
    """Wait until the statistics of all members say so."""
    deadline = time.monotonic() + WITHIN_S
    while not is_so([one.statistics() for one in members]):
        if time.monotonic() > deadline:
            return  # the table says what is missing
        time.sleep(LOOK_EVERY_S)


def until_quiet(members: Sequence[Member]) -> None:
    """Wait until nobody says anything but that it is here."""
    deadline = time.monotonic() + WITHIN_S
    before, looks = -1, 0
    while looks < QUIET_LOOKS and time.monotonic() < deadline:
        now = sum(one.statistics().communication.sent - one.statistics().communication.letters for one in members)
        before, looks = now, looks + 1 if now == before else 0
        time.sleep(LOOK_EVERY_S)


def sent(members: Sequence[Member]) -> int:
    """Return how many packets all members have sent. An announcement is one, however many hear it."""
    return sum(one.statistics().communication.sent for one in members)


def _megabytes() -> float:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--network", choices=("memory", "nats"))
    parser.add_argument("--members", type=int, default=MEMBERS)
    parser.add_argument("--decisions", type=int, default=DECISIONS, help="of each member")
    parser.add_argument("--idle", type=float, default=IDLE_S, help="seconds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
