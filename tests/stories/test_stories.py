"""Every story is played, and what comes of it is what it says: no more, no less, and nothing that must not be."""

from difflib import unified_diff
from pathlib import Path

import pytest
from tests.stories.runner import World, retold
from tests.stories.stage import WRONG

from lab.swarm.history import History

STORIES = sorted(Path(__file__).parent.glob("*.txt"))
LONGEST = 70


def untrue(path: Path, told: str) -> str:
    """Return what of a story is not what happens, and what to do about it."""
    story = path.read_text(encoding="utf-8")
    diff = "\n".join(unified_diff(story.splitlines(), told.splitlines(), "the story", "what happens", lineterm=""))
    return (
        f"{path.name} is not what happens.\n\n{diff}\n\nIf it should be: pytest tests/stories -k {path.stem} --rewrite"
    )


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_is_true(path: Path, request: pytest.FixtureRequest) -> None:
    told = retold(path.read_text(encoding="utf-8"))
    if request.config.getoption("--rewrite", default=False):
        path.write_text(told, encoding="utf-8")
    if told != path.read_text(encoding="utf-8"):
        pytest.fail(untrue(path, told), pytrace=False)
    wrong = [line for line in told.splitlines() if line.startswith(WRONG)]
    assert not wrong, wrong


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_story_is_short_and_says_what_it_shows(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) <= LONGEST


def test_every_command_is_used() -> None:
    paragraphs = "\n".join(path.read_text(encoding="utf-8") for path in STORIES).split("\n\n")
    used = {line.split()[0] for paragraph in paragraphs for line in paragraph.split("\n----")[0].splitlines()}
    assert used - {"#"} == {name[3:].replace("_", "-") for name in dir(World) if name.startswith("do_")}


def test_a_story_that_is_not_true_is_shown_beside_what_happens(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("agents j p threshold=2\npull j A 1\n----\n1> j to p: hello\n", encoding="utf-8")
    told = "agents j p threshold=2\npull j A 1\n----\nnothing\n"
    assert retold(path.read_text(encoding="utf-8")) == retold(told) == told
    assert untrue(path, told).splitlines()[-4:] == [
        "-1> j to p: hello",
        "+nothing",
        "",
        "If it should be: pytest tests/stories -k short --rewrite",
    ]


@pytest.mark.parametrize("command", ["fly j", "pull j", "pull x A 1", "deliver 1", "lose 1", "restart j again", "idle"])
def test_a_command_that_cannot_be_done_is_named(command: str) -> None:
    with pytest.raises(ValueError, match=f"cannot do: {command}"):
        retold(f"agents j p\n{command}")


def test_what_must_not_be_is_shown() -> None:
    world = World()
    for command in ("agents j p", "pull j A 1", "deliver all"):
        world.do(command)
    world.history = History()  # nobody has observed anything
    world.do("time 1")
    assert [line.split()[1] for line in world.lines if line.startswith(WRONG)] == ["j", "j", "p", "p"]
