"""Ways to talk as plug-ins of the simulator: a plain class for each, one instance for each node of a run.

`node.py` defines what such a class sees and may do, `ledger.py` keeps observations so that nothing counts twice,
`plug_in.py` puts a class and its parameters into a scenario, and `registry.py` is the only list of the plug-ins that
come with cobandit. Protocols that are tables for the machine of Algorithm 1 are in `cobandit.core.protocols`.
"""

from cobandit.protocols.ledger import Cell, Ledger
from cobandit.protocols.node import Node, best_arm
from cobandit.protocols.plug_in import About, PlugIn, plug_in
from cobandit.protocols.registry import register

__all__ = ["About", "Cell", "Ledger", "Node", "PlugIn", "best_arm", "plug_in", "register"]
