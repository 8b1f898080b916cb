"""The rule by which the agents of a scenario talk, in a few sentences, and how things stand before the first pull."""

import re

from cobandit.core.protocols.registry import protocol_of
from cobandit.scenario.scenario import Scenario


def rule_html(scenario: Scenario) -> str:
    """Return the rule, as HTML."""
    rules = scenario.exchange.rules
    told = [re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", sentence) for sentence in protocol_of(rules).rule]
    if rules.asks:
        told += _loss(scenario)
    if len(told) == 1:
        return f"<p>{told[0]}</p>"
    return f"<ol>{''.join(f'<li>{sentence}</li>' for sentence in told)}</ol>"


def at_the_start(scenario: Scenario) -> str:
    """Return how things stand before the first pull."""
    if scenario.exchange.rules.asks:
        return "Each counts as asked by the other, so each may send a first share."
    return "Nothing is waiting on either side."


def _loss(scenario: Scenario) -> list[str]:
    if scenario.exchange.retry is not None:
        again = "A share that is not acknowledged in time is <strong>sent again</strong>"
        return [f"Messages may be lost here. {again}, with the same number and everything new."]
    if scenario.faults.loss or scenario.faults.partitions:
        silence = "each agent may then wait for the other, so <strong>one loss can silence both forever</strong>"
        return [f"Messages may be lost here, and nothing is sent again. A lost share was also a request: {silence}."]
    return []
