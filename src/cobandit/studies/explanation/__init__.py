"""How two agents talked, for people who want to see the protocol: `cobandit explain`.

* `conversation.py`: what happened between the two, as values; `listening.py`: how that is found out;
* `choosing.py`: which two, if nobody says;
* `words.py`: a sentence for everything that happened, and the line of Algorithm 1 that did it;
* `counting.py`: what it comes to;
* `drawing.py`: the two timelines as a picture, `legend.py`: its signs;
* `page.py`: the page around it, which adds motion; `rule.py`: the rule that stands on it;
* `plugged.py`: another page, for plug-ins.
"""

from collections.abc import Sequence
from dataclasses import replace

from cobandit.core import Constant, Geometric, on_demand
from cobandit.scenario import AgentSpec, Arms, Scenario, Slots, Tape
from cobandit.studies.explanation.choosing import chosen_pair
from cobandit.studies.explanation.listening import listen
from cobandit.studies.explanation.page import Explanation
from cobandit.studies.explanation.plugged import PluggedExplanation
from cobandit.studies.explanation.plugged import explain_plugged as _explain_plugged
from cobandit.values.checks import check_whole
from cobandit.values.errors import LocalError

__all__ = ["FIGURES", "FIGURE_1", "FIGURE_1_NAMES", "Explanation", "PluggedExplanation", "explain", "explain_plugged"]

_FIGURE_1 = Scenario(
    horizon=11,
    arms=Arms(("A",), (1.0,)),
    agents=(AgentSpec(Slots((1, 2, 3, 5, 6, 8, 10))), AgentSpec(Slots((4, 7, 9)))),
)

FIGURES = {
    "1a": ("Figure 1(a) of the paper, a threshold of one", replace(_FIGURE_1, sharing=on_demand(Constant(1)))),
    "1b": ("Figure 1(b) of the paper, thresholds that double", replace(_FIGURE_1, sharing=on_demand(Geometric(2)))),
}
"""Both timelines of Figure 1: what to call them, and the worlds. The slots are ours; only their order matters."""

FIGURE_1 = FIGURES["1b"][1]
"""The one that the paper tells step by step."""

FIGURE_1_NAMES = ("agent 1", "agent 2")


def explain(
    scenario: Scenario,
    *,
    seed: int = 1,
    trial: int = 0,
    agents: Sequence[int] | None = None,
    slots: int | None = None,
    title: str = "scenario",
    names: tuple[str, str] | None = None,
    command: Sequence[str] = (),
) -> Explanation:
    """Run a scenario and return how two of its agents talked, ready to be shown.

    Args:
        scenario: The world.
        seed: The seed of all chance.
        trial: Which of the trials with this seed it is.
        agents: Positions of the two; the one that decides most and the one that decides least by default.
        slots: How many slots to show; as many as a dozen shares take by default.
        title: What the scenario is called.
        names: What to call the two; "agent" and their positions by default.
        command: What makes the same page again.

    Raises:
        LocalError: There are no such two agents, a number is not allowed, or agents do not talk to everybody.

    >>> explanation = explain(FIGURE_1, names=FIGURE_1_NAMES)
    >>> explanation.counts.shares, explanation.counts.immediate
    ((3, 2), (7, 3))
    >>> explanation.told[2].rule
    'Algorithm 1, line 7'
    """
    if slots is not None:
        check_whole("slots", slots, 1)
    if scenario.topology is not None:
        raise LocalError("explanations show two agents in a mesh: leave out the topology")
    if scenario.plugged is not None:
        raise LocalError(f"{scenario.plugged.about.title} is a plug-in: explain_plugged shows how its agents talk")
    pair = chosen_pair(scenario, Tape(seed, trial), agents)
    conversation = listen(scenario, pair, seed=seed, trial=trial, slots=slots)
    called = names or (f"agent {pair[0]}", f"agent {pair[1]}")
    return Explanation(conversation, called, title, tuple(command))


def explain_plugged(
    scenario: Scenario,
    *,
    seed: int = 1,
    trial: int = 0,
    agents: Sequence[int] | None = None,
    slots: int | None = None,
    title: str = "scenario",
) -> PluggedExplanation:
    """Run a scenario whose agents talk by a plug-in, and return what two of them did and said: as `explain`."""
    if slots is not None:
        check_whole("slots", slots, 1)
    if scenario.plugged is None:
        raise LocalError("the scenario has no plug-in: explain shows how its agents talk")
    pair = chosen_pair(scenario, Tape(seed, trial), agents)
    return _explain_plugged(scenario, pair, seed=seed, trial=trial, slots=slots, title=title)
