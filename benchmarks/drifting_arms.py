"""A best arm that changes: how soon does a fleet with a window give the new one its traffic, and one without?

Four members decide in turn, 100,000 times; then the best arm becomes the worst and another the best. Every decision
takes a second of the calendar, and the window is as long as 20,000 decisions. Printed is, for each tenth of a window
after the change, which part of the traffic the new best arm gets, in a fleet with the window and in one without.

    PYTHONPATH=. python benchmarks/drifting_arms.py

The exit code is 1 if the fleet with the window does not give it 90 % within one window.
"""

import argparse
import itertools
import random
import sys
import time
from contextlib import ExitStack

import cobandit

MEMBERS, BEFORE, WINDOW = 4, 100_000, 20_000
MEANS = ({"A": 0.6, "B": 0.4, "C": 0.3, "D": 0.2}, {"A": 0.2, "B": 0.4, "C": 0.3, "D": 0.8})
BEST, BAR = "D", 0.9


class Calendar:
    """A real clock for waits, and a calendar that goes on with every decision."""

    def __init__(self) -> None:
        self.ahead = 1_000_000.0

    def now(self) -> float:
        """Return the time for waits."""
        return time.time()

    def time_of_day(self) -> float:
        """Return the time that periods are counted by."""
        return self.ahead


def shares(window: float | None, policy: str) -> list[float]:
    """Return the share of the new best arm in each tenth of a window after the change."""
    calendar, chance = Calendar(), random.Random(1)
    with ExitStack() as stack:
        members = [
            stack.enter_context(
                cobandit.connect("memory://drift", fleet=f"fleet-{window}", name=f"m{number}", clock=calendar)
            )
            for number in range(MEMBERS)
        ]
        bandits = [member.bandit("home", list(MEANS[0]), policy=policy, window=window) for member in members]
        turns, told, since = itertools.cycle(bandits), list[float](), 0
        for number in range(BEFORE + WINDOW):
            bandit, means = next(turns), MEANS[number >= BEFORE]
            decision = bandit.select_arm()
            bandit.update(decision, float(chance.random() < means[decision.arm]))
            calendar.ahead += 1.0
            since += decision.arm == BEST
            if number % 100 == 0:  # as in life, where decisions do not come as fast as they can
                for member in members:
                    member.sync()  # a calendar that turned by much more at once would be doubted
            if number == BEFORE:
                since = 0
            elif number > BEFORE and (number + 1 - BEFORE) % (WINDOW // 10) == 0:
                told.append(since / (WINDOW // 10))
                since = 0
        return told


def main() -> None:
    """Measure both fleets, side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="thompson")
    options = parser.parse_args()
    with_window, without = shares(float(WINDOW), options.policy), shares(None, options.policy)
    print("tenth of a window after the change:  with a window  without")
    for tenth, (one, other) in enumerate(zip(with_window, without, strict=True), 1):
        print(f"{tenth:35}  {one:13.1%}  {other:7.1%}")
    print(f"in the last tenth: {with_window[-1]:.1%} (bar {BAR:.0%})")
    sys.exit(with_window[-1] < BAR)


if __name__ == "__main__":
    main()
