"""Which scenarios there are, and how one is tried: in a folder of its own, with what it needs, or not at all."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cobandit.values.errors import LocalError
from lab.faults import bandits, brokers, cuts, disks, generations, kills, pasts, pods, relays
from lab.faults.cable import NotPermitted
from lab.faults.disk import NoDisk
from lab.faults.fleet import Plan
from lab.faults.verdict import Verdict
from lab.servers import Missing

SCENARIOS: dict[str, Callable[[Plan], Verdict]] = {
    "kill-tls": kills.kill_tls,
    "kill-nats": kills.kill_nats,
    "pause": kills.pause,
    "broker-restart-nats": brokers.restart_nats,
    "broker-restart-mqtt": brokers.restart_mqtt,
    "broker-gone-nats": brokers.gone_nats,
    "broker-gone-mqtt": brokers.gone_mqtt,
    "loss-tls": cuts.loss_tls,
    "loss-udp": cuts.loss_udp,
    "partition-tls": cuts.partition_tls,
    "partition-udp": cuts.partition_udp,
    "twins-tls": pasts.twins_tls,
    "twins-nats": pasts.twins_nats,
    "twins-clean": pasts.twins_clean,
    "disk-full": disks.full,
    "disk-read-only": disks.read_only,
    "disk-loses-power": disks.loses_power,
    "disk-rolled-back": pasts.rolled_back,
    "disk-lost": pasts.lost,
    "disk-lost-clock-back": pasts.clock_and_disk_back,
    "clock-back": pasts.clock_back,
    "generations-nats": generations.generations_nats,
    "pods-nats": pods.pods_nats,
    "pods-tls": pods.pods_tls,
    "relays-tls": relays.relays_tls,
    "bandits-nats": bandits.bandits_nats,
}


def chosen(names: Sequence[str]) -> list[str]:
    """Return the scenarios with these names, or whose names begin with them; all if there are none.

    >>> chosen(["kill"])
    ['kill-tls', 'kill-nats']
    """
    found = [name for name in SCENARIOS if not names or any(name == n or name.startswith(f"{n}-") for n in names)]
    unknown = [n for n in names if not any(name == n or name.startswith(f"{n}-") for name in found)]
    if unknown:
        raise LocalError(f"there is no scenario {unknown[0]!r}: choose from {', '.join(SCENARIOS)}")
    return found


def try_scenarios(names: Sequence[str], *, seed: int, is_quick: bool, jobs: int = 1) -> Iterator[Verdict]:
    """Try scenarios, so many at the same time, and return their verdicts in this order."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda name: try_scenario(name, seed=seed, is_quick=is_quick), names)


def try_scenario(name: str, *, seed: int, is_quick: bool, sabotage: str | None = None) -> Verdict:
    """Try one scenario. What goes wrong with the fleet is in the verdict, and so is why it could not be tried.

    Args:
        name: The scenario.
        seed: What chance is made of. Times are real, so a repetition is alike and not the same.
        is_quick: Whether to try it small.
        sabotage: A Python file that breaks the live part in every process, to see whether that is noticed.
    """
    with tempfile.TemporaryDirectory(prefix="cobandit-faults-") as folder:
        try:
            return SCENARIOS[name](Plan(seed, is_quick, Path(folder), sabotage))
        except (NotPermitted, NoDisk) as reason:
            return Verdict(name, skipped=str(reason))
        except Missing as missing:
            if os.environ.get("CI"):
                return Verdict(name, violations=(f"CI must have everything: {missing}",))
            return Verdict(name, skipped=str(missing))
        except LocalError as error:
            return Verdict(name, violations=(str(error),))
