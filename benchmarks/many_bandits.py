"""One fleet, many bandits: what do fifty bandits with twenty segments each cost, beside one bandit?

Eight members on a NATS server, each in a process of its own, decide in turn and reward at once, first in a fleet with
one bandit and then in one with fifty, each with twenty segments; sixteen arms in each. For both: how many times a
member selects an arm and takes its reward when nothing holds it back, in a second of processor time of the thread that
decides, and of the wall, in which the rest of the member competes with it; then, at the same decisions a second in both
fleets, how many packets are sent for each decision; and how much memory a member has.

    PYTHONPATH=. python benchmarks/many_bandits.py
    PYTHONPATH=. python benchmarks/many_bandits.py --decisions 4000 --policy thompson --rate 10

Packets are not counted at full speed: a fleet that decides faster has more to say in one packet, so that the slower one
would look worse, or better, than it is. At full thresholds each of the 56 links sends one packet for 64 decisions, so a
run must be long enough that the last packet of each, which is not full, does not matter. Before anything is measured,
every member meets every segment once, and hears of most that the others did. The exit code is 1 if a bar is missed, or
if a fleet could not keep the rate. Speed is compared within one run, on a machine that should have nothing else to do.
"""

import argparse
import multiprocessing
import random
import resource
import sys
import time
from multiprocessing.connection import Connection
from typing import NamedTuple

import cobandit
from lab.servers import nats_server

MEMBERS, ARMS = 8, tuple(f"arm-{number}" for number in range(16))
LEAST_SPEED, MOST_MESSAGES = 0.6, 1.1
"""The bars: of the speed with one bandit, and of its packets for each decision."""

RATES_APART = 0.02
"""The rates of the two fleets may differ by this share, or packets for each decision cannot be compared."""

STEP = 0.02
"""Seconds between two turns of a member that decides at a rate."""

AT_ONCE = 50
"""Decisions in a row at full speed, before it is the next member's turn."""

LEAST_WARM = 1000
"""Decisions of each member before anything is measured, at least."""


Figures = tuple[float, ...]
"""What a member's process answers."""


class Fleet(NamedTuple):
    """What a member's process must know."""

    url: str
    bandits: int
    segments: int
    policy: str

    @property
    def places(self) -> list[tuple[int, str]]:
        """Every bandit's every segment."""
        return [(number, f"segment-{segment}") for number in range(self.bandits) for segment in range(self.segments)]

    @property
    def warm(self) -> int:
        """How often each place is met before anything is measured."""
        return max(1, LEAST_WARM // len(self.places))


class Costs(NamedTuple):
    """What one fleet costs."""

    per_second: float
    by_the_wall: float
    messages: float
    repeated: float
    rate: float
    megabytes: float


class Deciding:
    """One member, in its process. Each method is called by name from the process that measures."""

    def __init__(self, fleet: Fleet, number: int, member: cobandit.Member) -> None:
        self._member, self._fleet, self._chance = member, fleet, random.Random(number)  # arms are no secrets
        self._bandits = [member.bandit(f"bandit-{one}", ARMS, policy=fleet.policy) for one in range(fleet.bandits)]
        self._places = fleet.places

    def warm_up(self) -> Figures:
        """Meet every segment."""
        for number, segment in self._places * self._fleet.warm:
            self._decide(number, segment)
        self._member.flush(30.0)
        return ()

    def at_full_speed(self) -> Figures:
        """Select and update; return how long it took, of the thread and of the wall."""
        chosen = [self._chance.choice(self._places) for _ in range(AT_ONCE)]
        bandits = self._bandits
        wall, own_time = time.perf_counter(), time.thread_time()
        for number, segment in chosen:
            bandit = bandits[number]
            bandit.update(bandit.select_arm(segment), 0.5)
        return time.thread_time() - own_time, time.perf_counter() - wall

    def at_a_rate(self, rate: float, seconds: float) -> Figures:
        """Decide so many times a second. Return how many decisions were made, and for how long it went on."""
        made, began = 0, time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            while made < int(now * rate):
                self._decide(*self._chance.choice(self._places))
                made += 1
            time.sleep(STEP)
        return made, time.monotonic() - began

    def counts(self) -> Figures:
        """Return how many packets were sent, how many of them said something again, and what is observed so far."""
        now = self._member.statistics()
        return now.communication.sent, now.communication.repetitions, now.observations

    def megabytes(self) -> Figures:
        """Return the most memory that the process had."""
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,)

    def _decide(self, number: int, segment: str) -> None:
        bandit = self._bandits[number]
        bandit.update(bandit.select_arm(segment), 0.5)


def run_member(fleet: Fleet, number: int, pipe: Connection) -> None:
    """Do what the process that measures asks for, until it asks for nothing."""
    secret = "a secret of the whole benchmark"
    with cobandit.connect(fleet.url, fleet=f"fleet-{fleet.bandits}", name=f"m{number}", secret=secret) as member:
        deciding = Deciding(fleet, number, member)
        while asked := pipe.recv():
            method, *arguments = asked
            pipe.send(getattr(deciding, method)(*arguments))


class Members:
    """The processes of one fleet, as the process that measures sees them."""

    def __init__(self, fleet: Fleet) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes, self._processes = [], []
        for number in range(MEMBERS):
            ours, theirs = context.Pipe()
            process = context.Process(target=run_member, args=(fleet, number, theirs), daemon=True)
            process.start()
            theirs.close()  # or a process that died would not be noticed
            self._pipes.append(ours)
            self._processes.append(process)

    def ask(self, number: int, method: str) -> Figures:
        """Ask one member, and wait for it."""
        self._pipes[number].send((method,))
        answer: Figures = self._pipes[number].recv()
        return answer

    def ask_all(self, method: str, *arguments: float) -> list[Figures]:
        """Ask all at once, and wait for all. Return each figure of all."""
        for pipe in self._pipes:
            pipe.send((method, *arguments))
        return list(zip(*[pipe.recv() for pipe in self._pipes], strict=True))

    def stop(self) -> None:
        """Wait until all have left."""
        for pipe in self._pipes:
            pipe.send(())
        for process in self._processes:
            process.join()

    def settle(self) -> tuple[float, float]:
        """Wait until nobody has anything more to say. Return how many packets were sent, and how many of them again."""
        last = -1.0
        while True:
            sent, repeated, _ = map(sum, self.ask_all("counts"))
            if sent == last:
                return sent, repeated
            last = sent
            time.sleep(3.0)

    def wait_until_known(self, rewards: int) -> None:
        """Wait until nearly all that was rewarded is known everywhere."""
        until = time.monotonic() + 60.0
        while time.monotonic() < until and min(self.ask_all("counts")[2]) < 0.95 * rewards:
            time.sleep(0.5)


def measure(fleet: Fleet, decisions: int, rate: float, seconds: float) -> Costs:
    """Return what one fleet costs."""
    members = Members(fleet)
    members.ask_all("warm_up")
    members.wait_until_known(MEMBERS * len(fleet.places) * fleet.warm)
    turns = [members.ask(number, "at_full_speed") for _ in range(decisions // AT_ONCE) for number in range(MEMBERS)]
    spent, passed = map(sum, zip(*turns, strict=True))
    before, before_again = members.settle()
    made, lasted = members.ask_all("at_a_rate", rate, seconds)
    after, after_again = members.settle()
    (memory,) = members.ask_all("megabytes")
    members.stop()
    return Costs(
        per_second=len(turns) * AT_ONCE / spent,
        by_the_wall=len(turns) * AT_ONCE / passed,
        messages=(after - before) / sum(made),
        repeated=(after_again - before_again) / sum(made),
        rate=sum(made) / max(lasted),
        megabytes=max(memory),
    )


def main() -> None:
    """Measure both fleets, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=10_000, help="of each member")
    parser.add_argument("--policy", default="ucb")
    parser.add_argument("--bandits", type=int, default=50)
    parser.add_argument("--segments", type=int, default=20)
    parser.add_argument("--rate", type=float, default=20.0, help="decisions a second of each member, for the packets")
    parser.add_argument("--seconds", type=float, default=120.0, help="for how long at that rate")
    options = parser.parse_args()
    figures = []
    with nats_server() as server:
        for bandits, segments in ((1, 1), (options.bandits, options.segments)):
            fleet = Fleet(server.url, bandits, segments, options.policy)
            one = measure(fleet, options.decisions, options.rate, options.seconds)
            figures.append(one)
            print(
                f"{bandits} x {segments} x {len(ARMS)}: {one.per_second:,.0f} select + update in a second of its "
                f"thread, {one.by_the_wall:,.0f} of the wall; "
                f"{one.messages:.4f} packets for each decision ({one.repeated:.4f} said something again), "
                f"at {one.rate:,.0f} decisions a second; "
                f"{one.megabytes:.0f} MB each",
                flush=True,
            )
    plain, many = figures
    speed, messages, rates = many.per_second / plain.per_second, many.messages / plain.messages, many.rate / plain.rate
    print(
        f"speed: {speed:.2f} of one bandit's (bar {LEAST_SPEED}), {many.by_the_wall / plain.by_the_wall:.2f} by the "
        f"wall; packets: {messages:.2f} (bar {MOST_MESSAGES})"
    )
    if abs(rates - 1.0) > RATES_APART:
        print(f"the rates are {rates:.2f} of each other: packets cannot be compared, so choose a lower --rate")
    sys.exit(not (speed >= LEAST_SPEED and messages <= MOST_MESSAGES and abs(rates - 1.0) <= RATES_APART))


if __name__ == "__main__":
    main()
