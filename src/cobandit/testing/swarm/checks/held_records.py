"""Invariant 1: a held record equals what its owner had at exactly that version.

So one (agent, boot, version) never shows two contents. Of a boot that is over, different agents may have seen different
ends: there every arm, looked at alone, is as it once was. So it is where what is held is known to lack arms.
"""

from cobandit.core import AgentId, Record
from cobandit.core.ledger import Ledger, Origin
from cobandit.testing.swarm.history import History


def untrue_record(record: Record, history: History, *, is_over: bool) -> list[str]:
    """Return what is untrue about a record that somebody says."""
    life = history.of(record.agent, record.boot)
    what = f"a record of {record.agent}, boot {record.boot}, version {record.version}"
    if record.version > life.version:
        return [f"{what} was sent, but that boot made only {life.version} observations"]
    wrong: list[str] = []
    for arm, count, reward_sum in record.tallies:
        if not is_over and count != life.count_at(record.version, arm):
            wrong.append(f"{what} counts {count} of arm {arm}; its owner had {life.count_at(record.version, arm)} then")
        elif life.sum_of(arm, count) != reward_sum:
            wrong.append(f"{what} has {reward_sum} for {count} of arm {arm}; its owner had {life.sum_of(arm, count)}")
    return wrong


def untrue_holding(holder: AgentId, ledger: Ledger, origin: Origin, history: History, *, is_over: bool) -> list[str]:
    """Return what is untrue about what an agent holds of one origin, for the arms that both can use."""
    holding = ledger.held.get(origin)
    if holding is None:
        return []
    life = history.of(*origin)
    what = f"{holder} holds version {holding.version} of {origin.agent}, boot {origin.boot}"
    if holding.version > life.version:
        return [f"{what}, which made only {life.version} observations"]
    wrong: list[str] = []
    for arm, count in holding.tally.counts.items():
        if not (is_over or holding.lacks) and count != life.count_at(holding.version, arm):
            wrong.append(f"{what}, with {count} of arm {arm}; its owner had {life.count_at(holding.version, arm)} then")
        elif life.sum_of(arm, count) != holding.tally.sums[arm]:
            wrong.append(f"{what}, with {holding.tally.sums[arm]} for {count} of arm {arm}: that never was so")
    return wrong
