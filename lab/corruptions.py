"""State files that a disk has damaged, one for each seed: a start must refuse, or recover and say what is missing.

A member that ran leaves a file: after a clean stop, or as a crash leaves it, with a write-ahead log. Then bits are
flipped, the end is cut off, pages are zeroed or overwritten. What the member really observed is known here, so a wrong
number is seen, and so is one that is too small without a word.
"""

import contextlib
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import cobandit
from cobandit.live.drive.member import Member
from cobandit.live.store.sqlite_journal import check_whole
from cobandit.values.errors import LocalError

PAGE, SECTOR = 4096, 512
LEFT = ("clean", "crashed", "crashed later")
ROUNDS, AT_ONCE = 40, 3
"""How many batches are written, and how many decisions are in each."""

_NAME = "member.db"
_ENDINGS = ("", "-wal", ".lock")

Known = tuple[tuple[str, int, float], ...]
"""For each arm its observations, and the sum of their rewards."""


class Scene(NamedTuple):
    """A state file that a member left, and what is in it."""

    left: str
    files: dict[str, bytes]
    known: list[Known]
    """What the member knew after each write, the last one twice: without and with what is in its mailbox."""
    decisions: int
    incarnation: int
    inode: Path
    """A second name of the file: a start tells a file from its copies, so each seed damages the same one."""


class Outcome(NamedTuple):
    """What came of one seed."""

    seed: int
    what: str
    """What was done to the file."""
    result: str
    """`unharmed`, `recovered` or `refused`."""
    said: str = ""
    violation: str | None = None


def try_seeds(seeds: range, folder: Path) -> Iterator[Outcome]:
    """Damage a state file and start its member, once for each seed."""
    scenes = [_scene(left, folder / left.replace(" ", "-")) for left in LEFT]
    for seed in seeds:
        yield _try(scenes[seed % len(scenes)], seed)


def counts(outcomes: list[Outcome]) -> Counter[str]:
    """Return how often each result came."""
    return Counter(outcome.result for outcome in outcomes)


def _connect(path: Path) -> Member:
    return cobandit.connect("memory://corruptions", group="g", name="m", arms=["A", "B"], state=path)


def _scene(left: str, folder: Path) -> Scene:
    folder.mkdir(parents=True)
    path, dice = folder / _NAME, random.Random(left)  # noqa: S311  # not for secrets
    known: list[Known] = []
    decisions = 0
    if left == "crashed later":
        with _connect(path) as member:
            decisions += _work(member, dice, known)
    member = _connect(path)
    decisions += _work(member, dice, known)
    open_decision = member.select_arm()
    member.sync()
    decisions += 1
    incarnation = member.statistics().incarnation
    if left == "clean":
        member.close()
        cobandit.reward(path, open_decision.id, 0.5)
    files = {ending: file.read_bytes() for ending in _ENDINGS if (file := path.with_name(_NAME + ending)).exists()}
    member.close()
    if left == "clean":
        known.append(
            tuple(
                (arm, n + (arm == open_decision.arm), s + 0.5 * (arm == open_decision.arm)) for arm, n, s in known[-1]
            )
        )
    os.link(path, folder / "inode")
    return Scene(left, files, known, decisions, incarnation, folder / "inode")


def _work(member: Member, dice: random.Random, known: list[Known]) -> int:
    known.append(_known(member))
    for _ in range(ROUNDS):
        for _ in range(AT_ONCE):
            member.update(member.select_arm(f"visitor {dice.randrange(50)}"), dice.choice((0.0, 0.25, 1.0)))
        member.sync()
        known.append(_known(member))
    return ROUNDS * AT_ONCE


def _known(member: Member) -> Known:
    arms = member.statistics().arms
    return tuple((arm.arm, arm.observations, round((arm.mean or 0.0) * arm.observations, 3)) for arm in arms)


def _try(scene: Scene, seed: int) -> Outcome:
    folder = scene.inode.parent
    path = folder / _NAME
    for file in folder.iterdir():
        if file != scene.inode:
            file.unlink()
    os.link(scene.inode, path)
    for ending, content in scene.files.items():
        path.with_name(_NAME + ending).write_bytes(content)
    dice = random.Random(seed)  # noqa: S311  # not for secrets
    ending = dice.choice([ending for ending in scene.files if ending != ".lock"])
    content, how = _damaged(scene.files[ending], dice)
    path.with_name(_NAME + ending).write_bytes(content)
    what = f"{scene.left}, {_NAME}{ending}: {how}"
    damaged = {e: path.with_name(_NAME + e).read_bytes() for e in scene.files if e != ".lock"}
    try:
        result, said, violation = _judged(scene, path, damaged)
    except Exception as error:  # noqa: BLE001  # which is what is looked for
        return Outcome(seed, what, "raised", repr(error), f"a raw exception: {error!r}")
    return Outcome(seed, what, result, said, violation)


def _judged(scene: Scene, path: Path, damaged: dict[str, bytes]) -> tuple[str, str, str | None]:
    checked = _checked(path)
    if _files(path, damaged) != damaged:
        return "checked", checked or "", "to look at the file has changed it"
    try:
        member = _connect(path)
    except LocalError as error:
        is_same = _files(path, damaged) == damaged
        violation = None if is_same else "a file that was refused has changed"
        if checked is None and "state version" not in str(error) and "not the state file" not in str(error):
            violation = f"the check says right, and the start refuses: {error}"
        return "refused", str(error), violation
    with member:
        member.sync()
        statistics, known = member.statistics(), _known(member)
        said = " ".join(statistics.troubles)
        entries = sum(1 for _ in member.log())
    if not said:
        violation = None
        if known not in scene.known[-2:]:
            violation = f"silently {known} of {scene.known[-1]}"
        elif entries < scene.decisions:
            violation = f"silently {entries} of {scene.decisions} decisions in the log"
        elif checked is not None:
            violation = f"the check finds {checked!r}, and the start says nothing"
        return "unharmed", "", violation
    violation = _wrong_in(scene, known, said, checked)
    if statistics.incarnation == scene.incarnation:
        violation = "it goes on in the same incarnation"
    elif _files(path.with_name(f"{_NAME}.damaged-1"), damaged) != damaged:
        violation = "the damaged file is not kept as it was"
    return "recovered", said, violation


def _checked(path: Path) -> str | None:
    try:
        check_whole(path)
    except LocalError as error:
        return str(error)
    return None


def _wrong_in(scene: Scene, known: Known, said: str, checked: str | None) -> str | None:
    """Return what is wrong with what a member knows, and says, after it has recovered."""
    if known not in scene.known and known not in _with_mail(scene):
        return f"a wrong number: {known}"
    if known not in scene.known[-2:] and "of the steps" not in said and "of the rewards" not in said:
        return f"it does not say that something is missing: {said}"
    return "the check finds nothing" if checked is None else None


def _with_mail(scene: Scene) -> list[Known]:
    """Return what may be known if steps are missing and mail is not."""
    if scene.left != "clean":
        return []
    gains = [(n - m, s - r) for (_, n, s), (_, m, r) in zip(scene.known[-1], scene.known[-2], strict=True)]
    return [
        tuple((arm, n + more, s + sum_) for (arm, n, s), (more, sum_) in zip(known, gains, strict=True))
        for known in scene.known
    ]


def _files(path: Path, like: dict[str, bytes]) -> dict[str, bytes]:
    found = {}
    for ending in like:
        with contextlib.suppress(FileNotFoundError):
            found[ending] = path.with_name(path.name + ending).read_bytes()
    return found


def _damaged(content: bytes, dice: random.Random) -> tuple[bytes, str]:
    changed, size = bytearray(content), len(content)
    kind = dice.choice(("flip", "flip", "flips", "cut", "page", "sector", "noise"))
    at = dice.randrange(size)
    match kind:
        case "flip" | "flips":
            for _ in range(1 if kind == "flip" else 8):
                changed[at] ^= 1 << dice.randrange(8)
                at = dice.randrange(size)
        case "cut":
            del changed[at:]
        case "page" | "sector":
            unit = PAGE if kind == "page" else SECTOR
            at -= at % unit
            changed[at : at + unit] = bytes(len(changed[at : at + unit]))
        case "noise":
            changed[at : at + 64] = dice.randbytes(len(changed[at : at + 64]))
    return bytes(changed), f"{kind} at {at} of {size}"
