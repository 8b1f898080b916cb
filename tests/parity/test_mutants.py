"""The parity proof can fail: every broken kernel in this list is caught, without a compiler, in a few small worlds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cobandit

WORLDS = "300"

MUTANTS = [
    ("talking.py", ">= threshold_at(\n", "> threshold_at(\n"),
    ("talking.py", "    demand(demanded, agent, peer)\n    return False", "    return False"),
    ("talking.py", "    if not is_answer or world.answers_advance:\n", "    if True:\n"),
    ("talking.py", "                withdraw(demanded, agent, peer)\n", "                pass\n"),
    ("talking.py", "            if fresh < enough:", "            if fresh <= enough:"),
    ("talking.py", "                still_asking ^= bit\n", "                pass\n"),
    ("talking.py", "    pair.shared_version = version\n", "    pair.shared_version = version - 1\n"),
    ("talking.py", "    if not world.settles or agents", "    if agents"),
    ("talking.py", "        agents[receiver].observed += version - base\n", ""),
    ("talking.py", "    mine.changed_at = me.own_pulls\n", ""),
    ("noticing.py", "        if own.candidate and agents[row].candidates > 1:\n", "        if own.candidate:\n"),
    ("noticing.py", "    if spend == 0.0 or agents", "    if agents"),
    ("noticing.py", "        withdraw(demanded, receiver, sender)", "        pass"),
    ("noticing.py", "    left = 0\n", "    left = before\n"),
    ("choosing.py", "        if index[arm] == best_index:", "        if index[arm] >= best_index - 0.01:"),
    ("choosing.py", "known[arm] >> 32 < known[best] >> 32", "known[arm] >> 32 <= known[best] >> 32"),
    ("choosing.py", "math.log(max(1, agents[position].own_pulls))", "math.log(max(1, 1 + agents[position].own_pulls))"),
    ("planning.py", "next_of_rate(agent, online_again - 1)", "next_of_rate(agent, online_again)"),
    ("planning.py", "            agent.drawn = 0\n", "            pass\n"),
    ("engine.py", "            if sent and me.clock == codes.HALVING:", "            if me.clock == codes.HALVING:"),
    ("engine.py", "        if not me.away:\n", "        if True:\n"),
    ("sizes.py", "    if value < 128:\n", "    if value < 60:\n"),
    ("lossy.py", "one.sequence < other.sequence", "one.sequence > other.sequence"),
    ("lossy.py", "    bond.sent += 1\n", ""),
    ("lossy.py", "cut_from[place] <= slot < cut_until[place]", "cut_from[place] <= slot <= cut_until[place]"),
    ("lossy.py", "delay_of(world, key, SECOND_COPY)", "delay_of(world, key, FIRST_COPY)"),
    ("hearing.py", "    if number > link.seen:\n", "    if number >= link.seen:\n"),
    ("hearing.py", "    if letter.version > link.held:\n", "    if letter.version >= link.held + 2:\n"),
    ("saying.py", "    link.attempts += 1\n    link.can_be_timed = False\n", "    link.attempts += 1\n"),
    ("saying.py", "    link.wait = min(link.wait * world.growth, world.longest)\n", ""),
    ("saying.py", "        pairs[agent, peer].share_number += 1\n", "        pass\n"),
    ("saying.py", "        if now >= link.retry_at and (\n", "        if now > link.retry_at and (\n"),
    ("hearing.py", "        link.phase = codes.TRUSTING\n", "        pass\n"),
    ("hearing.py", "    elif letter.attempt > 0:\n", "    else:\n"),
    ("hearing.py", "is_seen and link.phase == codes.WAITING and link.attempts == 1", "is_seen"),
    ("saying.py", "    if link.is_unheard:\n        new_letter", "    if False:\n        new_letter"),
    ("hearing.py", "is_new) and link.acknowledged_notice < agents[agent].notices", "is_new) and False"),
    ("hearing.py", "is_missing and not is_to_an_answer", "is_missing"),
    ("delivering.py", "letter.notice > links[receiver, sender].peer_notice", "True"),
    ("hearing.py", "if not link.present and link.peer_notice % 2 == 0:", "if not link.present:"),
    ("waiting.py", "quiet_since = max(link.sent_at, agents[agent].last_observed)", "quiet_since = link.sent_at"),
    ("saying.py", "max(1, pair.share_number - 1)", "pair.share_number"),
    ("hearing.py", "        if number <= link.seen:\n            return\n", ""),
    ("hearing.py", "    link.peer_gone = max(link.peer_gone, letter.gone)\n", ""),
    ("saying.py", "        agents[agent].own_eliminations = before + 1\n", ""),
    ("filling.py", "and thresholds[0] == 1\n", "\n"),
    ("filling.py", "all(own == scenario.arms.names for own", "all(own == own_arms[0] for own"),
]  # fmt: skip


def differences(source: Path) -> subprocess.CompletedProcess[str]:
    """Compare the engines of the package in this folder."""
    command = [sys.executable, str(Path(__file__).with_name("differences.py")), WORLDS]
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_kernel_as_it_is_differs_nowhere() -> None:
    done = differences(Path(cobandit.__file__).parent.parent)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize(("file", "right", "wrong"), MUTANTS, ids=[str(number) for number in range(len(MUTANTS))])
def test_a_broken_kernel_is_caught(file: str, right: str, wrong: str, tmp_path: Path) -> None:
    shutil.copytree(Path(cobandit.__file__).parent, tmp_path / "cobandit", ignore=shutil.ignore_patterns("__pycache__"))
    broken = tmp_path / "cobandit" / "simulator" / "kernel" / file
    text = broken.read_text(encoding="utf-8")
    assert text.count(right) >= 1, "the line to break is gone: mend this list"
    broken.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    done = differences(tmp_path)
    assert done.returncode == 1, f"nobody noticed: {wrong!r} {done.stderr[-500:]}"
