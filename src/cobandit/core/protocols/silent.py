"""No communication: nothing is ever shared, and every agent learns alone."""

from cobandit.core.exchange import Sharing
from cobandit.core.protocols.rules import Input, Protocol, Rule, rules
from cobandit.core.thresholds import Constant

SILENT = Protocol(
    rules("silent", *(Rule(what, None, None, None, shares=False) for what in Input)),
    word="none",
    title="no communication",
    told="They do not talk: each learns alone",
    rule=("Agents send nothing. Each learns from its own pulls only.",),
    says={
        (Input.OBSERVATION, None, None): "{pulled}. There is no communication: it learns alone.",
        (Input.LEAVE, None, None): "{heard}.",
        (Input.JOIN, None, None): "{heard} again.",
    },
)


def silent() -> Sharing:
    """Never share: every agent learns alone."""
    return Sharing(SILENT.table, Constant(1))
