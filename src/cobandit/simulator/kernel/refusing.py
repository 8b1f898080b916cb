"""What the compiled engine cannot run: one function says why not, in words, and `engine="auto"` goes by it."""

from cobandit.core import Constant, FromFunction, Geometric, PerCandidate
from cobandit.core.replica import MAX_FACTS_PER_MESSAGE
from cobandit.policies.registry import BuiltIn
from cobandit.scenario.forgetting import Forgetting
from cobandit.scenario.scenario import IndexFunction, Scenario
from cobandit.simulator.kernel.plugging import why_not_plugged


def why_not_compiled(scenario: Scenario) -> str:
    """Return why a scenario has no compiled form; nothing, if it has one."""
    if not isinstance(scenario.policy, BuiltIn | IndexFunction):
        return "a policy of your own has a compiled form only as an IndexFunction"
    if any(agent.policy is not None or agent.settings for agent in scenario.agents):
        return "the compiled engine knows one policy for all agents"
    if not scenario.arms.are_binary and (scenario.plugged is not None or scenario.topology is not None):
        return (
            "with relays, on graphs and for plug-ins the compiled engine knows two rewards, the lowest and the highest"
        )
    if scenario.plugged is not None:
        return why_not_plugged(scenario, scenario.plugged)
    return _why_not_by_table(scenario)


def _why_not_by_table(scenario: Scenario) -> str:
    """Return why a scenario whose agents talk by a table has no compiled form."""
    if scenario.forgetting is not None and (why := _why_no_window(scenario, scenario.forgetting)):
        return why
    if not isinstance(scenario.exchange.threshold, Constant | Geometric | PerCandidate | FromFunction):
        return "a threshold class of your own has a compiled form only as FromFunction"
    return "" if scenario.topology is None else _why_not_connected(scenario)


def _why_no_window(scenario: Scenario, forgetting: Forgetting) -> str:
    """Return why a fleet that forgets has no compiled form."""
    if forgetting.half_life is not None:
        return "the compiled engine knows a window, and no half_life"
    is_lossy = not scenario.faults.are_none or scenario.exchange.retry is not None
    if is_lossy or scenario.topology is not None or any(agent.absences for agent in scenario.agents):
        return "with a window the compiled engine knows a mesh of agents that stay, on a network without faults"
    if forgetting.periods * len(scenario.arms.names) > MAX_FACTS_PER_MESSAGE:
        return "with a window the compiled engine takes fewer arms: all cells must fit into one message"
    return ""


def _why_not_connected(scenario: Scenario) -> str:
    """Return why a scenario with relays or on a graph has no compiled form."""
    if not scenario.faults.are_none or scenario.exchange.retry is not None:
        return "with relays and on graphs the compiled engine takes a network without faults, and no loss tolerance"
    is_per_candidate = isinstance(scenario.exchange.threshold, PerCandidate)
    if is_per_candidate and getattr(scenario.policy, "name", "") == "aae" and scenario.relay_count > 1:
        return "with relays the compiled engine knows no thresholds per candidate for AAE"
    return ""
