"""What must be so when the world has healed and time has passed: all know the same, and nobody has more to say."""

from collections.abc import Mapping, Sequence

from cobandit.live.decide.decision import read
from cobandit.live.machine.definitions import difference_in_words
from lab.live_swarm.computer import promised
from lab.live_swarm.insides import (
    Origin,
    Served,
    all_known,
    candidates_of,
    cell_of,
    counts_at,
    declared_by,
    is_declared,
    is_superseded,
    open_decisions,
    outlived_totals,
    rank,
    said_of_bandits,
    serves,
    waiting_rewards,
)
from lab.live_swarm.network import Network
from lab.live_swarm.plan import Plan
from lab.live_swarm.process import Process
from lab.live_swarm.truth import Made, Truth
from lab.swarm.checks import not_passed_on

PATIENCE = 700.0
"""Seconds after which an idle member has certainly looked at its clock: it says that it is here every ten minutes."""


def at_rest(plan: Plan, living: Sequence[Process], truth: Truth, network: Network) -> list[str]:
    """Return what is wrong at the end."""
    wrong = [f"{process.name} does not run" for process in living if not process.is_up]
    if wrong:
        return wrong
    wrong += [f"{process.name} is said to run elsewhere" for process in living if is_superseded(process.machine)]
    wrong += [f"it should be quiet, but {said}" for said in (network.unquiet or ())[:3]]
    wrong += (
        _different_settings(living)
        + _lost_settings(plan, living, truth)
        + _undelivered(living)
        + _different_views(plan, living, truth)
        + _different_totals(plan, living)
        + _untold_differences(living)
        + not_passed_on([process.machine.agent for process in living])
    )
    for made in truth.decisions.values():
        wrong += _unrewarded(plan, living, truth, made)
    return wrong


def _different_settings(living: Sequence[Process]) -> list[str]:
    first, *others = living
    return [
        f"{other.name} has controls {other.settings}, {first.name} has {first.settings}"
        for other in others
        if other.settings != first.settings
    ]


def _lost_settings(plan: Plan, living: Sequence[Process], truth: Truth) -> list[str]:
    """Return which controls were written down once, and are not known any more."""
    if not plan.keeps_controls:
        return []
    known = {setting.key: rank(setting) for setting in living[0].settings}
    return [
        f"the word {word} on {key} was written down and lost"
        for key, word in truth.written_words.items()
        if known.get(key, (0, "")) < word
    ]


def _undelivered(living: Sequence[Process]) -> list[str]:
    """Return who still has to bring rewards to a member that is there, and can take them."""
    at = {process.name: process for process in living}
    wrong = [
        f"{process.name} has mail that it does not look at"
        for process in living
        if any(is_declared(process.machine, read(mail.token).arm) for mail in process.disk.content.mail)
    ]
    for process in living:
        waiting = {(to, token) for to, token, _ in waiting_rewards(process.machine)}
        waiting |= set(promised(process.disk.stored()))
        can_take = {to for to, token in waiting if to in at and is_declared(at[to].machine, read(token).arm)}
        wrong += [f"{process.name} still has a reward for {to}" for to in sorted(can_take)]
    return wrong


def _unrewarded(plan: Plan, living: Sequence[Process], truth: Truth, made: Made) -> list[str]:
    """Return whether a decision waits that should not: it has expired, or somebody has promised to bring its reward."""
    owner = next((process for process in living if process.name == made.member), None)
    if owner is None:
        return []
    what, is_open = f"decision {made.number} of {made.member}", made.number in open_decisions(owner.machine)
    wrong: list[str] = []
    if is_open and plan.ends_at - max(made.at, plan.heals_at) > plan.expire_after + 2.0 * PATIENCE:
        wrong.append(f"{what} is still open, and should have expired")
    disks = {process.disk for process in living}
    is_promised = owner.disk.forgot_at is None and any(disk in disks for disk in truth.promised.get(made.token, ()))
    is_promised = is_promised and is_declared(owner.machine, made.arm)
    if is_promised and is_open:
        wrong.append(f"{what} is still open, though its reward was taken")
    can_expire = plan.expire_after < plan.ends_at + plan.forgiven
    is_over = made.is_withdrawn or can_expire
    if is_promised and not is_over and not truth.counted.get((made.member, made.number)):
        wrong.append(f"{what} was never counted, though its reward was taken")
    return wrong


def _different_views(plan: Plan, living: Sequence[Process], truth: Truth) -> list[str]:
    """Return who does not know what the living have written down of each other, or of themselves."""
    if any(len(candidates_of(process.machine)) == 1 for process in living):
        return []  # who has ruled out all arms but one need not be told any more
    best = _known_to_disks(living)
    for process in living:
        unproved = {claim.told.incarnation for claim in process.machine.agent.endpoint.witnesses.claims}
        for origin, name in list(best):  # what only one of the others says of it, nobody believes
            if origin.member == process.name and origin.incarnation in unproved:
                del best[origin, name]
    for process in living:
        if process.disk.forgot_at is None and not process.disk.was_read_ahead:
            for origin, logs in truth.logs.items():
                if origin.member == process.name:
                    best.update({(origin, name): (log.written, log.sums[log.written]) for name, log in logs.items()})
    served = {process.name: serves(process.machine) for process in living}
    return [
        sentence
        for process in living
        for (origin, name), tally in best.items()
        if process.name not in plan.leaves or origin.member == process.name  # of others it hears totals
        for sentence in _wrongly_known(process, origin, name, tally, served)
    ]


def _wrongly_known(
    process: Process, origin: Origin, name: str, tally: tuple[int, int], served: Mapping[str, Served]
) -> list[str]:
    """Return whether a member does not know of a cell what it should: all inside the window, if both mean the same."""
    cell, known = cell_of(name), process.view.get(origin, {}).get(name, (0, 0))
    mine, theirs = (served[who].get((cell.bandit, cell.arm)) for who in (process.name, origin.member))
    if mine is None or theirs is None:
        return []
    if mine != theirs:
        is_mixed = known != (0, 0)
        return [f"{process.name} knows {known} of {name} of {origin}, who means another bandit"] if is_mixed else []
    if known == (tally if counts_at(process.machine, cell) else (0, 0)):
        return []
    return [f"{process.name} knows {known} of {name} of {origin}: others know {tally}"]


def _different_totals(plan: Plan, living: Sequence[Process]) -> list[str]:
    """Return which leaf does not decide by all that the relays hold, and which talks to anybody else.

    A leaf that has not heard of a relay again since that lost its disk may know more: what only that relay had counted.
    """
    if any(len(candidates_of(process.machine)) == 1 for process in living):
        return []
    relays = [process for process in living if process.name in plan.relays]
    forgot = {relay.name: relay.machine.agent.session for relay in relays if relay.disk.forgot_at is not None}
    wrong: list[str] = []
    for process in living:
        if process.name not in plan.leaves:
            continue
        served, totals = serves(process.machine), all_known(process.machine, process.view)
        held = [
            {
                name: tally
                for name, tally in all_known(relay.machine, relay.view).items()
                if (cell_of(name).bandit, cell_of(name).arm) in served
            }
            for relay in relays
        ]
        outlived = outlived_totals(process.machine, forgot)
        if all({cell for cell, _ in totals.items() ^ known.items()} - outlived for known in held):
            wrong.append(f"{process.name} knows {totals}, its relays {held}")
        peers = set(process.machine.peers)
        if len(peers) != 1 or not peers <= plan.relays:
            wrong.append(f"{process.name} talks to {sorted(peers)}")
    return wrong


def _untold_differences(living: Sequence[Process]) -> list[str]:
    """Return who does not know that another one declares a bandit differently, and in which value.

    What a member only holds from an earlier start, and does not declare any more, is no concern of its users.
    """
    wrong: list[str] = []
    for process in living:
        mine = declared_by(process.machine)
        said = said_of_bandits(process.machine)
        for other in living:
            for theirs in other.machine.agent.bandits if other.name in process.machine.peers else ():
                what = difference_in_words(mine[theirs.name], theirs) if theirs.name in mine else None
                told = f"{other.name} declares bandit {theirs.name!r} differently ({what})"
                if what is not None and not any(text.startswith(told) for text in said):
                    wrong.append(f"{process.name} was not told that {told}")
    return wrong


def _known_to_disks(living: Sequence[Process]) -> dict[tuple[Origin, str], tuple[int, int]]:
    """Return the most that is on any disk of what each of the living has observed in each of its incarnations."""
    best: dict[tuple[Origin, str], tuple[int, int]] = {}
    names = {process.name for process in living}
    for process in living:
        for origin, tallies in process.disk.content.known.items():
            if origin.member in names:
                for cell, tally in tallies.items():
                    best[origin, cell] = max(best.get((origin, cell), (0, 0)), tally)
    return best
