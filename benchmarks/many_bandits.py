"""One fleet, many bandits: what do fifty bandits with twenty segments each cost, beside one bandit?

Eight members on a NATS server, all in one process, decide in turn and reward at once, first in a fleet with one bandit
and then in one with fifty, each with twenty segments; sixteen arms in each. For both: how many times a member selects
an arm and takes its reward when nothing holds it back, in a second of processor time of the thread that decides, and of
the wall, in which the members' own work competes with it; then, at the same decisions a second in both fleets, how many
packets are sent for each decision; and how much memory the process has.

    PYTHONPATH=. python benchmarks/many_bandits.py
    PYTHONPATH=. python benchmarks/many_bandits.py --decisions 4000 --policy thompson --rate 10

Packets are not counted at full speed: a fleet that decides faster has more to say in one packet, so that the slower one
would look worse, or better, than it is. At full thresholds each of the 56 links sends one packet for 64 decisions, so a
run must be long enough that the last packet of each, which is not full, does not matter. Each fleet runs in a process
of its own, after a warm-up in which every member meets every segment once. The exit code is 1 if a bar is missed, or
if a fleet could not keep the rate. Speed is compared within one run, on a machine that should have nothing else to do.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from contextlib import ExitStack

import cobandit
from cobandit.live.drive.named_bandit import NamedBandit
from lab.servers import nats_server

MEMBERS, ARMS = 8, tuple(f"arm-{number}" for number in range(16))
LEAST_SPEED, MOST_MESSAGES = 0.6, 1.1
"""The bars: of the speed with one bandit, and of its packets for each decision."""

RATES_APART = 0.02
"""The rates of the two fleets may differ by this share, or packets for each decision cannot be compared."""

STEP = 0.02
"""Seconds between two turns of a fleet that decides at a rate."""

Declared = list[list[NamedBandit]]
Places = list[tuple[int, str]]


def measure(
    url: str, bandits: int, segments: int, decisions: int, policy: str, rate: float, seconds: float
) -> dict[str, float]:
    """Return what one fleet costs."""
    chance = random.Random(7)  # arms are no secrets
    with ExitStack() as stack:
        members = [
            stack.enter_context(
                cobandit.connect(
                    url, fleet=f"fleet-{bandits}", name=f"m{number}", secret="a secret of the whole benchmark"
                )
            )
            for number in range(MEMBERS)
        ]
        declared = [
            [member.bandit(f"bandit-{number}", ARMS, policy=policy) for number in range(bandits)] for member in members
        ]
        places = [(number, f"segment-{segment}") for number in range(bandits) for segment in range(segments)]
        for own in declared:
            for number, segment in places * max(1, 1000 // len(places)):
                own[number].update(own[number].select_arm(segment), 0.5)
        wait_until_known(members, MEMBERS * len(places) * max(1, 1000 // len(places)))
        per_second, by_the_wall = at_full_speed(declared, places, decisions, chance)
        settle(members)
        again = repetitions(members)
        sent, made, lasted = at_a_rate(members, declared, places, rate, seconds, chance)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {
            "per_second": per_second,
            "by_the_wall": by_the_wall,
            "messages": sent / made,
            "repeated": (repetitions(members) - again) / made,
            "rate": made / lasted,
            "megabytes": memory,
        }


def at_full_speed(declared: Declared, places: Places, decisions: int, chance: random.Random) -> tuple[float, float]:
    """Return how often members select and update, one after the other: in a second of its thread, and of the wall."""
    spent = passed = 0.0
    for _ in range(decisions // 50):
        for own in declared:
            chosen = [chance.choice(places) for _ in range(50)]
            wall, own_time = time.perf_counter(), time.thread_time()
            for number, segment in chosen:
                bandit = own[number]
                bandit.update(bandit.select_arm(segment), 0.5)
            spent += time.thread_time() - own_time
            passed += time.perf_counter() - wall
    made = decisions // 50 * 50 * MEMBERS
    return made / spent, made / passed


def at_a_rate(
    members: list[cobandit.Member],
    declared: Declared,
    places: Places,
    rate: float,
    seconds: float,
    chance: random.Random,
) -> tuple[int, int, float]:
    """Let each member decide so many times a second. Return packets, decisions, and for how long it went on."""
    before, made, began = packets(members), 0, time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        while made < int(now * rate) * MEMBERS:  # one decision of each, and the next
            number, segment = chance.choice(places)
            bandit = declared[made % MEMBERS][number]
            bandit.update(bandit.select_arm(segment), 0.5)
            made += 1
        time.sleep(STEP)
    lasted = time.monotonic() - began
    settle(members)
    return packets(members) - before, made, lasted


def packets(members: list[cobandit.Member]) -> int:
    """Return how many packets were sent so far."""
    return sum(member.statistics().communication.sent for member in members)


def repetitions(members: list[cobandit.Member]) -> int:
    """Return how many of them said something again, because no answer came in time."""
    return sum(member.statistics().communication.repetitions for member in members)


def settle(members: list[cobandit.Member]) -> None:
    """Wait until nobody has anything more to say."""
    last = -1
    while (now := packets(members)) != last:
        last = now
        time.sleep(3.0)


def wait_until_known(members: list[cobandit.Member], rewards: int) -> None:
    """Wait until nearly all that was rewarded is known everywhere."""
    for member in members:
        member.flush(30.0)
    until = time.monotonic() + 60.0
    while time.monotonic() < until and min(member.statistics().observations for member in members) < 0.95 * rewards:
        time.sleep(0.5)


def main() -> None:
    """Measure both fleets, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=10_000, help="of each member")
    parser.add_argument("--policy", default="ucb")
    parser.add_argument("--bandits", type=int, default=50)
    parser.add_argument("--segments", type=int, default=20)
    parser.add_argument("--rate", type=float, default=20.0, help="decisions a second of each member, for the packets")
    parser.add_argument("--seconds", type=float, default=120.0, help="for how long at that rate")
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        url, bandits, segments = options.inside
        how = (options.decisions, options.policy, options.rate, options.seconds)
        print(json.dumps(measure(url, int(bandits), int(segments), *how)))
        return
    figures = []
    with nats_server() as server:
        for bandits, segments in ((1, 1), (options.bandits, options.segments)):
            arguments = ["--decisions", str(options.decisions), "--policy", options.policy]
            arguments += ["--rate", str(options.rate), "--seconds", str(options.seconds)]
            command = [sys.executable, __file__, *arguments, "--inside", server.url, str(bandits), str(segments)]
            told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
            figures.append(json.loads(told))
            one = figures[-1]
            print(
                f"{bandits} x {segments} x {len(ARMS)}: {one['per_second']:,.0f} select + update in a second of its "
                f"thread, {one['by_the_wall']:,.0f} of the wall; "
                f"{one['messages']:.4f} packets for each decision ({one['repeated']:.4f} said something again), "
                f"at {one['rate']:,.0f} decisions a second; "
                f"{one['megabytes']:.0f} MB in all"
            )
    speed = figures[1]["per_second"] / figures[0]["per_second"]
    messages = figures[1]["messages"] / figures[0]["messages"]
    rates = figures[1]["rate"] / figures[0]["rate"]
    wall = figures[1]["by_the_wall"] / figures[0]["by_the_wall"]
    print(
        f"speed: {speed:.2f} of one bandit's (bar {LEAST_SPEED}), {wall:.2f} by the wall; "
        f"packets: {messages:.2f} (bar {MOST_MESSAGES})"
    )
    if abs(rates - 1.0) > RATES_APART:
        print(f"the rates are {rates:.2f} of each other: packets cannot be compared, so choose a lower --rate")
    sys.exit(not (speed >= LEAST_SPEED and messages <= MOST_MESSAGES and abs(rates - 1.0) <= RATES_APART))


if __name__ == "__main__":
    main()
