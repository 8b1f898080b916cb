"""Both timelines of Figure 1, as transcripts: two agents, seven and three decisions, read them beside the paper.

The paper tells the doubling one step by step (Section 3.1). The slots are ours; only their order matters.
"""

from pathlib import Path

import pytest

from cobandit.core import Constant, Geometric, Threshold, on_demand
from cobandit.scenario import AgentSpec, Arms, Row, Scenario, Slots, transcript
from cobandit.simulator import run
from cobandit.simulator.reference import ReferenceRun

AGENT_1 = (1, 2, 3, 5, 6, 8, 10)  # t^1_1 ... t^1_7
AGENT_2 = (4, 7, 9)  # t^2_1 ... t^2_3


def told(threshold: Threshold) -> str:
    """Run the two agents, and write down each event with what agent 1 then thinks of agent 2."""
    rows: list[Row] = []
    lines: list[str] = []

    def watch(engine: ReferenceRun) -> None:
        new = rows[len(lines) :]
        if not new:
            return
        one = engine.agents[0].endpoint.links["1"].exchange
        state = (
            f"E={one.demanded!s:5} buffer={one.buffered} c={one.share_number} f(c)={threshold.at(one.share_number, 1)}"
        )
        texts = transcript(new, agents=["agent 1", "agent 2"], arms=["arm"]).splitlines()
        lines.extend(texts[:-1])
        lines.append(f"{texts[-1]:52} | {state}")

    agents = (AgentSpec(Slots(AGENT_1)), AgentSpec(Slots(AGENT_2)))
    world = Scenario(horizon=11, arms=Arms(("arm",), (1.0,)), agents=agents, sharing=on_demand(threshold))
    run(world, seed=1, trace=rows, watch=watch)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("figure", "threshold"), [("1a-static", Constant(1)), ("1b-doubling", Geometric(2))])
def test_figure_1_reads_like_the_paper(figure: str, threshold: Threshold) -> None:
    expected = (Path(__file__).parent / f"figure-{figure}.txt").read_text(encoding="utf-8")
    assert told(threshold) == expected
