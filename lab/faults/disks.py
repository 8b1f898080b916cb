"""Disks that are full, read-only or lose their power under a running member.

It must go on deciding, say what is the matter, send nothing that is not on the disk, and recover when it can.
"""

from collections.abc import Callable

from lab.faults import accounts
from lab.faults.disk import Disk
from lab.faults.fleet import Fleet, Plan
from lab.faults.networks import mesh
from lab.faults.truth import Tallies
from lab.faults.verdict import Verdict

NAMES = ("m1", "m2", "m3")
VICTIM = "m1"
NOTICED_WITHIN = 60.0


def full(plan: Plan) -> Verdict:
    """Fill the disk under a member, and make room again."""
    return _refuses(plan, "disk-full", lambda disk, _: disk.fill(), lambda disk, _: disk.free())


def read_only(plan: Plan) -> Verdict:
    """Make the disk under a member read-only, and writable again."""
    return _refuses(
        plan,
        "disk-read-only",
        lambda disk, fleet: disk.set_read_only(fleet.states[VICTIM], is_read_only=True),
        lambda disk, fleet: disk.set_read_only(fleet.states[VICTIM], is_read_only=False),
    )


def loses_power(plan: Plan) -> Verdict:
    """Cut the power of the disk under a member, which loses all that was not flushed, and restart it.

    The member stands still for that moment. Otherwise a flush that is under way may end well though the disk has gone:
    the system's way to cut a file system off tells that to any program, and no real disk does.
    """
    with Disk(plan.folder) as disk, _fleet(plan, disk) as fleet:
        fleet.start()
        for _ in range(plan.pick(2, 10)):
            fleet.work(fleet.dice.real(0.3, plan.pick(1, 3)))
            fleet.running[VICTIM].stand_still()
            disk.cut_power()
            fleet.running[VICTIM].resume()
            fleet.faults += 1
            before = fleet.running[VICTIM].look()
            _expect_trouble(fleet)
            if fleet.running[VICTIM].look().decisions <= before.decisions:
                fleet.violations.append(f"{VICTIM} has stopped to decide without its disk")
            unsure = fleet.kill(VICTIM)
            disk.restore_power()
            fleet.restart(VICTIM, unsure)
        return fleet.verdict("disk-loses-power")


def _refuses(
    plan: Plan, scenario: str, spoil: Callable[[Disk, Fleet], None], mend: Callable[[Disk, Fleet], None]
) -> Verdict:
    alone = 0
    with Disk(plan.folder) as disk, _fleet(plan, disk) as fleet:
        fleet.start()
        for turn in range(plan.pick(2, 8)):
            fleet.work(fleet.dice.real(0.3, plan.pick(1, 3)))
            spoil(disk, fleet)
            fleet.faults += 1
            _expect_trouble(fleet)
            alone += _expect_silence(fleet, plan.pick(1, 8))
            if turn % 2:  # killed while nothing can be written: what is there must be whole
                unsure = fleet.kill(VICTIM)
                mend(disk, fleet)
                disk.remount_read_only(is_read_only=True)
                _expect_refusal(fleet)
                disk.remount_read_only(is_read_only=False)
                fleet.restart(VICTIM, unsure)
            else:
                mend(disk, fleet)
                if not fleet.until(lambda: not fleet.running[VICTIM].look().troubles, NOTICED_WITHIN):
                    fleet.violations.append(f"{VICTIM} has not noticed that its disk is well again")
        return fleet.verdict(scenario, notes=f"{alone:,} decisions without it")


def _fleet(plan: Plan, disk: Disk) -> Fleet:
    return Fleet(plan, mesh("tls", NAMES, plan.folder / "keys"), {VICTIM: disk.folder / f"{VICTIM}.state"})


def _expect_trouble(fleet: Fleet) -> None:
    process = fleet.running[VICTIM]
    failed = process.failed_syncs
    if not fleet.until(lambda: process.failed_syncs > failed and bool(process.look().troubles), NOTICED_WITHIN):
        fleet.violations.append(f"{VICTIM} does not say that its disk takes nothing")


def _expect_silence(fleet: Fleet, seconds: float) -> int:
    """Let the fleet work. Return how many decisions the victim made; nobody may hear of any."""
    fleet.work(0.2)  # what was written before is on its way
    before, heard = fleet.running[VICTIM].look(), _heard(fleet)
    fleet.work(seconds)
    after = fleet.running[VICTIM].look()
    if _heard(fleet) != heard:
        fleet.violations.append(f"{VICTIM} has sent what is not on its disk")
    if after.decisions <= before.decisions:
        fleet.violations.append(f"{VICTIM} has stopped to decide without its disk")
    return after.decisions - before.decisions


def _expect_refusal(fleet: Fleet) -> None:
    """Start the victim where nothing can be written: it must say so, and end."""
    process = fleet.launch(VICTIM)
    why = process.wait_until_started()
    if why is None:
        fleet.violations.append(f"{VICTIM} has started on a disk that is read-only")
        process.kill()
    elif str(fleet.states[VICTIM]) not in why:
        fleet.violations.append(f"{VICTIM} does not say which file cannot be written: {why}")


def _heard(fleet: Fleet) -> dict[str, Tallies]:
    return {name: accounts.known_of(look, VICTIM) for name, look in fleet.looks().items() if name != VICTIM}
