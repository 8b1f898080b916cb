"""A simulated device that chooses a radio channel and learns with the others. See docs/guides/devices-mqtt.md."""

import argparse
import random
import time
from pathlib import Path

import cobandit
from cobandit import Geometric, RetryTimers, on_demand
from cobandit.live.status.statistics import Statistics

CHANNELS = ["868.1", "868.3", "868.5", "867.1"]
ARRIVES = {"868.1": 0.35, "868.3": 0.55, "868.5": 0.9, "867.1": 0.6}
"""How likely a transmission arrives. Only the simulated air knows that."""

FRUGAL = on_demand(
    Geometric(2, cap=256), loss_tolerant=RetryTimers(first=30.0, least=5.0, growth=2.0, tick=900.0, longest=6 * 3600.0)
)
"""For batteries: up to 256 observations go into one packet, a silent peer is asked twice as late each time, and what is
left over when a device falls silent is sent after a quarter of an hour."""

BRISK = on_demand(Geometric(2, cap=256), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=0.5, longest=5.0))
"""The same buffers without the long waits, to watch it on one machine."""


def transmit(member: cobandit.Member, air: random.Random) -> None:
    """Send something over the channel that looks best, and learn whether it arrived."""
    decision = member.select_arm()
    member.update(decision, 1.0 if air.random() < ARRIVES[decision.arm] else 0.0)


def is_even(statistics: Statistics, observations: int) -> bool:
    """Return whether so many observations are known here, and the others know all of this device's."""
    return statistics.observations >= observations and not any(p.lacks for p in statistics.peers if p.is_present)


def main() -> None:
    """Transmit, wait until so many observations are known everywhere, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--broker", default="mqtt://127.0.0.1:1883")
    parser.add_argument("--keys", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--start-from", type=Path)
    parser.add_argument("--keep", type=Path, help="write what is known in the end into this file")
    parser.add_argument("--transmissions", type=int, default=500)
    parser.add_argument("--pause", type=float, default=0.005, help="seconds between two transmissions")
    parser.add_argument("--until-known", type=int, default=0)
    parser.add_argument("--brisk", action="store_true")
    options = parser.parse_args()
    air = random.Random(options.name)  # noqa: S311  # it is only a game
    with cobandit.connect(
        options.broker,
        group="field",
        name=options.name,
        arms=CHANNELS,
        state=options.state,
        keys=options.keys,
        snapshot=options.start_from,
        quantum=1.0,
        sharing=BRISK if options.brisk else FRUGAL,
    ) as member:
        for _ in range(options.transmissions):
            transmit(member, air)
            time.sleep(options.pause)
        member.sync()
        while options.until_known and not is_even(member.statistics(), options.until_known):
            time.sleep(0.1)
        if options.keep is not None:
            options.keep.write_bytes(member.snapshot())
        print(member.statistics().to_json().decode())


if __name__ == "__main__":
    main()
