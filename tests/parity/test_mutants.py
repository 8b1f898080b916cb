"""The parity proof can fail: every broken kernel in this list is caught, without a compiler, in a few small worlds.

What is right and what is wrong are compared as syntax trees, so neither layout nor comments matter. What is right must
stand in its function exactly once: a mutant that no longer applies is reported.
"""

import ast
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import cobandit

PACKAGE = Path(cobandit.__file__).parent
KERNEL = Path("simulator", "kernel")
WORLDS = "300"


class Mutant(NamedTuple):
    """A kernel that is broken on purpose."""

    where: str
    """File and function."""
    right: str
    """An expression or a statement."""
    wrong: str
    """What stands there instead; nothing, if a statement is dropped."""

    @property
    def file(self) -> Path:
        return KERNEL / f"{self.where.split('.')[0]}.py"

    def source(self) -> str:
        """The broken file. Fails if there is not exactly one place to break."""
        module = ast.parse((PACKAGE / self.file).read_text(encoding="utf-8"))
        breaking = _Breaking(self)
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name == self.where.split(".")[1]:
                breaking.visit(node)
        assert breaking.places == 1, f"{self.where} has {breaking.places} times {self.right!r}: mend this list"
        return ast.unparse(ast.fix_missing_locations(module))


class _Breaking(ast.NodeTransformer):
    def __init__(self, mutant: Mutant) -> None:
        self.places = 0
        (self.right,) = ast.parse(mutant.right).body
        (self.wrong,) = ast.parse(mutant.wrong or "pass").body

    def visit(self, node: ast.AST) -> ast.AST:
        for right, wrong in ((self.right, self.wrong), (_value(self.right), _value(self.wrong))):
            if right is not None and wrong is not None and ast.dump(node) == ast.dump(right):
                self.places += 1
                return wrong
        return self.generic_visit(node)


def _value(statement: ast.stmt) -> ast.expr | None:
    return statement.value if isinstance(statement, ast.Expr) else None


MUTANTS = [
    Mutant(
        "talking.has_reached",
        "buffered(t, pair, agent, peer) >= threshold_at(t, agent, peer, pair.share_number)",
        "buffered(t, pair, agent, peer) > threshold_at(t, agent, peer, pair.share_number)",
    ),
    Mutant("talking.can_answer", "t.world.answers_wait", "True"),
    Mutant("talking.can_answer", "buffered(t, t.pairs[agent, peer], agent, peer) >= 1", "True"),
    Mutant("talking.threshold_at", "t.world.phased", "False"),
    Mutant("talking.threshold_at", "t.agents[agent].phase_key + t.agents[peer].phase_key", "t.agents[agent].phase_key"),
    Mutant("talking.threshold_at", "min(phased(size, phase), t.world.cap)", "phased(size, phase)"),
    Mutant("talking.is_told", "t.world.literal_notices", "False"),
    Mutant("choosing.budget", "t.agents[position].own_pulls + 2", "t.agents[position].own_pulls + 1"),
    Mutant("filling.fill_world", "world.answers_wait or thresholds[0] == 1", "True"),
    Mutant("talking.take", "others | bit if step.demanded else others", "others"),
    Mutant("talking.share", "not is_answer or t.world.answers_advance", "True"),
    Mutant("talking.take", "others | bit if step.demanded else others", "others | bit"),
    Mutant("talking.share_plainly", "fresh < enough", "fresh <= enough"),
    Mutant("talking.share_plainly", "still_asking ^= bit", ""),
    Mutant("talking.share", "pair.shared_version = version", "pair.shared_version = version - 1"),
    Mutant("talking.settled", "not t.world.settles", "False"),
    Mutant("talking.merge", "t.agents[receiver].observed += version - base", ""),
    Mutant("talking.observe", "mine.changed_at = me.own_pulls", ""),
    Mutant("noticing.receive_notice", "own.candidate and t.agents[row].candidates > 1", "own.candidate"),
    Mutant("noticing.eliminate", "spend == 0.0", "False"),
    Mutant("noticing.receive_notice", "take(t, LEFT, receiver, sender, False)", ""),
    Mutant("noticing.deliver_kept", "left = 0", "left = before"),
    Mutant("choosing.highest_index", "index[arm] == best_index", "index[arm] >= best_index - 0.01"),
    Mutant("choosing.least_observed", "known[arm] >> 32 < known[best] >> 32", "known[arm] >> 32 <= known[best] >> 32"),
    Mutant("choosing.budget", "max(1, t.agents[position].own_pulls)", "max(1, 1 + t.agents[position].own_pulls)"),
    Mutant("planning.next_of_on_off", "online_again - 1", "online_again"),
    Mutant("planning.plan", "agent.drawn = 0", ""),
    Mutant("engine.decide", "sent and me.clock == codes.HALVING", "me.clock == codes.HALVING"),
    Mutant("engine.run", "not t.agents[agent].away", "True"),
    Mutant("engine.run", "deciding == slot == decision >> AGENT_BITS", "False"),
    Mutant("sizes.integer_size", "value < 128", "value < 60"),
    Mutant("lossy.is_before", "one.sequence < other.sequence", "one.sequence > other.sequence"),
    Mutant("lossy.delays", "bond.sent += 1", ""),
    Mutant(
        "lossy.is_cut",
        "t.cut_from[place] <= slot < t.cut_until[place]",
        "t.cut_from[place] <= slot <= t.cut_until[place]",
    ),
    Mutant("lossy.delays", "delay_of(t, key, SECOND_COPY)", "delay_of(t, key, FIRST_COPY)"),
    Mutant("hearing.receive_share", "number > link.seen", "number >= link.seen"),
    Mutant("hearing.receive_share", "letter.version > link.held_version", "letter.version >= link.held_version + 2"),
    Mutant("saying.repeat", "link.can_be_timed = False", ""),
    Mutant("saying.repeat", "link.wait = min(link.wait * t.world.growth, t.world.longest)", ""),
    Mutant("saying.repeat", "t.pairs[agent, peer].share_number += 1", ""),
    Mutant("saying.repeat_what_is_due", "now >= link.retry_at", "now > link.retry_at"),
    Mutant("hearing.hear", "link.phase = codes.TRUSTING", ""),
    Mutant("hearing.receive_share", "letter.attempt > 0", "True"),
    Mutant(
        "hearing.receive_acknowledgement",
        "is_seen and link.phase == codes.WAITING and link.attempts == 1",
        "is_seen",
    ),
    Mutant("saying.write_share", "t.agents[agent].presence_at > link.acknowledged", "False"),
    Mutant("saying.write_move", "t.links[agent, peer].urgent = me.number", ""),
    Mutant("hearing.hear", "link.acknowledged = max(link.acknowledged, letter.held)", ""),
    Mutant("hearing.take_repetition", "is_missing and not is_to_an_answer", "is_missing"),
    Mutant("delivering.deliver_current", "letter.notice > link.peer_notice", "True"),
    Mutant("hearing.hear", "not link.present and link.peer_notice % 2 == 0", "not link.present"),
    Mutant("waiting.flush_at", "max(link.sent_at, t.agents[agent].last_observed)", "link.sent_at"),
    Mutant("saying.share", "max(1, pair.share_number - 1)", "pair.share_number"),
    Mutant("hearing.receive_share", "if number <= link.seen:\n    return", ""),
    Mutant("hearing.receive_share", "link.held = max(link.held, letter.claim_upto)", ""),
    Mutant("saying.after_decision", "t.links[agent, peer].urgent = t.agents[agent].number", ""),
    Mutant("hearing.follow", "t.agents[agent].eliminated_at = t.agents[agent].number", ""),
    Mutant("hearing.receive_elimination", "t.world.tolerant and not is_heeded(t.links[agent, peer], letter)", "False"),
    Mutant("hearing.receive_acknowledgement", "not is_heeded(link, letter)", "False"),
    Mutant("filling.fill_world", "_shares_if_asked(scenario.sharing.rules)", "True"),
    Mutant("filling.fill_world", "_shares_everything(scenario.sharing.rules)", "True"),
    Mutant(
        "filling.fill_world",
        "simple and thresholds[0] == 1 and _shares_everything(scenario.sharing.rules)",
        "simple and _shares_everything(scenario.sharing.rules)",
    ),
    Mutant("filling.fill_world", "own == scenario.arms.names", "own == own_arms[0]"),
    Mutant("hubs.merge_cell", "news <= 0", "news < 0"),
    Mutant("hubs.merge_cell", "t.total_at[hub, arm] = me.number", ""),
    Mutant("hubs.wants", "origin != peer", "True"),
    Mutant("hubs.write_rows", "t.logged[hub, origin, arm] == edge.told", "True"),
    Mutant("hubs.write_rows", "t.teller[hub, origin, arm] != peer", "True"),
    Mutant("hubs.has_reached", "edge.share_number", "1"),
    Mutant("hubs.share", "not is_answer or t.world.answers_advance", "True"),
    Mutant("hubs.answer", "edge.buffered >= 1", "True"),
    Mutant("hubs.hear_in_graph", "entry[1] = news", ""),
    Mutant("hubs.hear_in_graph", "since + told if peer != sender else since", "since + told"),
    Mutant("leaves.is_settled", "me.arm_count == t.world.arms", "True"),
    Mutant("leaves.share_up", "t.seen[leaf, arm].changed_at == pull + 1", "True"),
    Mutant("leaves.share_down", "t.totals[relay, arm] - t.rows[relay, leaf, arm]", "t.totals[relay, arm]"),
    Mutant("leaves.share_down", "link.told = t.hubs[relay].number", ""),
    Mutant("leaves.used", "max(most, t.heard[leaf, place, arm])", "most + t.heard[leaf, place, arm]"),
    Mutant("leaves.rehome", "homes < t.world.homes", "True"),
    Mutant("leaves.notify_relays", "t.agents[leaf].notices + (1 if kind == codes.LEAVE else 0)", "1000"),
    Mutant("fleet.deliver_current", "turn_round(t, below)", ""),
    Mutant("fleet.hear_notice", "own.candidate and t.agents[agent].candidates > 1", "own.candidate"),
    Mutant("fleet.move", "t.agents[agent].away = leaves", "t.agents[agent].away = False"),
    Mutant("sizes.parcel_size", "origins < 16", "True"),
    Mutant("sizes.parcel_size", "group[1] == 16", "False"),
]


MAX_CPU = 60
"""CPU seconds: three times what all worlds take. A broken kernel may go on for ever, and then it is told to stop."""


def differences(source: Path) -> subprocess.CompletedProcess[str]:
    """Compare the engines of the package in this folder."""
    command = [sys.executable, str(Path(__file__).with_name("differences.py")), WORLDS]
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    limit = f"import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_CPU, ({MAX_CPU}, {MAX_CPU + 5})); "
    program = limit + "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    command[1:1] = ["-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_kernel_as_it_is_differs_nowhere() -> None:
    done = differences(PACKAGE.parent)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.where}-{mutant.right[:30]}")
def test_a_broken_kernel_is_caught(mutant: Mutant, tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "cobandit", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "cobandit" / mutant.file).write_text(mutant.source(), encoding="utf-8")
    done = differences(tmp_path)
    assert done.returncode in (1, -signal.SIGXCPU), f"nobody noticed: {mutant.wrong!r} {done.stderr[-500:]}"


@pytest.mark.parametrize(
    ("where", "right", "places"),
    [
        ("talking.share", "pair.shares -= 1", 0),
        ("talking.no_such_function", "pair.shares += 1", 0),
        ("sizes.integer_size", "value", 4),
    ],
)
def test_a_mutant_that_does_not_apply_is_reported(where: str, right: str, places: int) -> None:
    with pytest.raises(AssertionError, match=f"has {places} times"):
        Mutant(where, right, "0").source()
