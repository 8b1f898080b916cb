"""Stories that chance writes. All that must hold is checked after every command; one that ends badly is shown."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stories.runner import World
from tests.stories.stage import WRONG

from cobandit.core import Share

NAMES = ("j", "p", "q")
Act = tuple[str, str, int]

thresholds = st.sampled_from(["1", "3", "doubling", "per-candidate"])
acts = st.lists(
    st.tuples(
        st.sampled_from(
            ["pull"] * 5 + ["deliver"] * 4 + ["lose", "lose", "double", "wake", "join", "leave", "flush"]
            + ["save", "unclean", "rolled-back", "blank", "grow"]
        ),
        st.sampled_from(NAMES),
        st.integers(0, 30),
    ),
    min_size=10,
    max_size=60,
)  # fmt: skip


class Author:
    """Writes a story, command by command, and plays it."""

    def __init__(self, *agents: str) -> None:
        self.world = World()
        self.story: list[str] = []
        self.write(f"agents j p {' '.join(agents)}")

    def write(self, command: str) -> None:
        self.story.append(command)
        self.world.do(command)
        wrong = [line for line in self.world.lines if line.startswith(WRONG)]
        assert wrong == [], "\n".join([*self.story, "----", *self.world.lines])

    def act(self, what: str, name: str, luck: int) -> None:
        self.write(f"time {self.world.now + luck:g}")
        agent, under_way = self.world.processes[name].agent, self.world.under_way
        match what:
            case "pull":
                arm = agent.select_arm()
                self.write(f"pull {name} {arm} {int((arm == 'A') == (luck % 4 > 0))}")
            case "deliver" | "lose" | "double":
                if under_way:
                    self.write(f"{what} {under_way[luck % len(under_way)]}")
            case "unclean" | "rolled-back" | "blank":
                self.write(f"crash {name}")
                self.write(f"restart {name} {what}")
                self.write(f"join {name}")
            case "grow":
                if new := [arm for arm in "BCD" if arm not in agent.arms][:1]:
                    self.write(f"grow {name} {new[0]}")
                    self.write(f"join {name}")
            case _:
                self.write(f"{what} {name}")

    def heal(self) -> None:
        """From now on nothing is lost, everybody is here, and nobody pulls: they wake each other until all is said."""
        for name in NAMES:
            self.write(f"join {name}")
        self.write(f"idle {self.world.now + 30_000:g} deliver")
        assert [self.world.processes[name].agent.wake_at for name in NAMES] == [None] * 3


@settings(max_examples=40)
@given(thresholds, st.sampled_from(["A,B", "B,C"]), acts)
def test_everything_counts_once_and_in_the_end_everybody_knows_everything(
    threshold: str, q_arms: str, run: list[Act]
) -> None:
    author = Author(f"q={q_arms}", f"threshold={threshold}")
    for act in run:
        author.act(*act)
    author.heal()
    author.write("complete")


@settings(max_examples=40)
@given(thresholds, st.sampled_from(["A,B", "B,C"]), acts)
def test_in_the_end_everybody_knows_what_is_ruled_out(threshold: str, q_arms: str, run: list[Act]) -> None:
    author = Author(f"q={q_arms}", f"threshold={threshold}", "aae")
    author.write("batch j A=20/20 B=4/20")
    for act in run:
        author.act(*act)
    author.heal()
    author.write("complete")
    considered = [author.world.processes[name].agent.policy.candidates for name in NAMES]
    if q_arms == "A,B" and all(what != "grow" for what, _, _ in run):
        assert {len(candidates) for candidates in considered} in ({1}, {2}), considered


def in_the_paper(world: World) -> tuple[list[object], list[str]]:
    """Return what was said, as far as the paper knows of it, and what was learned."""
    said: list[object] = [one[: 4 if isinstance(one, Share) else 2] for one in world.sent]
    return said, [line for line in world.lines if " hears " in line]


@pytest.mark.parametrize("policy", ["", "aae"])
@settings(max_examples=40)
@given(thresholds, st.sampled_from(["A,B", "B,C"]), acts)
def test_on_a_reliable_network_a_loss_tolerant_group_does_what_the_papers_does(
    policy: str, threshold: str, q_arms: str, run: list[Act]
) -> None:
    """With eliminations only if they arrive at once: a notice that is under way to one who shares is made up for."""
    unhurried = "first=1000000 least=1000000 longest=1000000000 tick=1000000000"
    worlds = [Author(f"q={q_arms}", policy, f"threshold={threshold}", mode) for mode in (unhurried, "reliable")]
    for author in worlds:
        author.write("batch j A=9/9 B=2/12")
    for what, name, luck in run:
        arm = worlds[0].world.processes[name].agent.select_arm()
        for author in worlds:
            if what == "pull":
                author.write(f"pull {name} {arm} {int((arm == 'A') == (luck % 4 > 0))}")
            elif what in ("join", "leave"):
                author.write(f"{what} {name}")
            if author.world.under_way and (policy or what == "deliver"):
                author.write("deliver all" if policy else f"deliver {author.world.under_way[0]}")
    assert in_the_paper(worlds[0].world) == in_the_paper(worlds[1].world)
