"""One fleet, many bandits: what do fifty bandits with twenty segments each cost, beside one bandit?

Eight members on a NATS server, all in one process, decide in turn and reward at once, first in a fleet with one bandit
and then in one with fifty, each with twenty segments; sixteen arms in each. For both: how many times a second a member
selects an arm and takes its reward, how many packets are sent for each decision, and how much memory the process has.

    PYTHONPATH=. python benchmarks/many_bandits.py
    PYTHONPATH=. python benchmarks/many_bandits.py --decisions 4000 --policy thompson

Each fleet runs in a process of its own, after a warm-up in which every segment is met once by every member. The exit
code is 1 if a bar is missed. Speed is compared within one run, on a machine that should have nothing else to do.
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
from lab.servers import nats_server

MEMBERS, ARMS = 8, tuple(f"arm-{number}" for number in range(16))
LEAST_SPEED, MOST_MESSAGES = 0.6, 1.1
"""The bars: of the speed with one bandit, and of its packets for each decision."""


def measure(url: str, bandits: int, segments: int, decisions: int, policy: str) -> dict[str, float]:
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
        before = sum(member.statistics().communication.sent for member in members)
        spent = 0.0
        for _ in range(decisions // 50):
            for own in declared:
                chosen = [chance.choice(places) for _ in range(50)]
                started = time.perf_counter()
                for number, segment in chosen:
                    bandit = own[number]
                    bandit.update(bandit.select_arm(segment), 0.5)
                spent += time.perf_counter() - started
        made = decisions // 50 * 50 * MEMBERS
        time.sleep(3.0)
        sent = sum(member.statistics().communication.sent for member in members) - before
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {"per_second": made / spent, "messages": sent / made, "megabytes": memory, "decisions": made}


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
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        url, bandits, segments = options.inside
        print(json.dumps(measure(url, int(bandits), int(segments), options.decisions, options.policy)))
        return
    figures = []
    with nats_server() as server:
        for bandits, segments in ((1, 1), (options.bandits, options.segments)):
            arguments = ["--decisions", str(options.decisions), "--policy", options.policy]
            command = [sys.executable, __file__, *arguments, "--inside", server.url, str(bandits), str(segments)]
            told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
            figures.append(json.loads(told))
            one = figures[-1]
            print(
                f"{bandits} x {segments} x {len(ARMS)}: {one['per_second']:,.0f} select + update a second, "
                f"{one['messages']:.4f} packets for each decision, {one['megabytes']:.0f} MB in all"
            )
    speed = figures[1]["per_second"] / figures[0]["per_second"]
    messages = figures[1]["messages"] / figures[0]["messages"]
    print(f"speed: {speed:.2f} of one bandit's (bar {LEAST_SPEED}); packets: {messages:.2f} (bar {MOST_MESSAGES})")
    sys.exit(not (speed >= LEAST_SPEED and messages <= MOST_MESSAGES))


if __name__ == "__main__":
    main()
