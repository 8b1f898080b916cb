"""The rule by which the agents of a scenario talk, in a few sentences, and how things stand before the first pull."""

from cobandit.core.exchange import ON_DEMAND
from cobandit.core.immediate import IMMEDIATE, SILENT
from cobandit.scenario.scenario import Scenario


def rule_html(scenario: Scenario) -> str:
    """Return the rule, as HTML."""
    sharing = scenario.sharing
    if sharing.rules == SILENT:
        return "<p>Nobody sends anything. Each agent learns from what it pulls itself.</p>"
    if sharing.rules == IMMEDIATE:
        return (
            "<p>Immediate broadcast: an agent sends what it has observed as soon as enough of it waits, whether or not "
            "the other has any use for it. Nobody asks, and nobody answers.</p>"
        )
    return (
        "<ol><li>What an agent observes <strong>waits</strong>, for each other agent, until it is shared.</li>"
        "<li>It is shared when two things hold: the other <strong>has asked</strong>, and as much waits as the "
        "<strong>threshold</strong> says.</li>"
        "<li>A share carries all that waits, and <strong>is itself the request</strong> for a share of the other. So "
        "who decides rarely asks rarely, and is told rarely.</li>"
        f"{_loss(scenario)}</ol>"
    )


def at_the_start(scenario: Scenario) -> str:
    """Return how things stand before the first pull."""
    if scenario.sharing.rules == ON_DEMAND:
        return "Each counts as having been asked by the other, so each may send a first share."
    return "Nothing waits on either side."


def _loss(scenario: Scenario) -> str:
    if scenario.sharing.patience is not None:
        return (
            "<li>Messages may be lost here. A share that is not acknowledged in time is <strong>sent again</strong>, "
            "with the same number and everything new.</li>"
        )
    if scenario.faults.loss or scenario.faults.partitions:
        return (
            "<li>Messages may be lost here, and nothing is sent again. A lost share was also a request: after it each "
            "may wait for the other, so <strong>one loss can silence the two for ever</strong>.</li>"
        )
    return ""
