"""How much is held of each agent: cells and their observations, for all its incarnations and for each one.

Limits and checks need these numbers with every message, so they are updated as cells grow and go.
"""

from collections import defaultdict
from collections.abc import KeysView

from cobandit.core.facts import CellKey
from cobandit.core.messages import AgentId


class Amounts:
    """What is held of each agent.

    >>> amounts = Amounts()
    >>> amounts.add(CellKey("j", 0, "A"), 3, is_new=True)
    >>> amounts.of("j"), amounts.of_life("j", 0), amounts.of_life("j", 1)
    ((1, 3), 3, 0)
    >>> amounts.drop(CellKey("j", 0, "A"), 3)
    >>> list(amounts.agents)
    []
    """

    def __init__(self) -> None:
        self._of: defaultdict[AgentId, list[int]] = defaultdict(lambda: [0, 0])
        self._of_lives: defaultdict[tuple[AgentId, int], int] = defaultdict(int)
        self.agents: KeysView[AgentId] = self._of.keys()
        """The names of all agents whose observations are held."""

    def of(self, agent: AgentId) -> tuple[int, int]:
        """Return how many cells of an agent are held, and how many observations they contain."""
        cells, observations = self._of.get(agent, (0, 0))
        return cells, observations

    def of_life(self, agent: AgentId, incarnation: int) -> int:
        """Return how many observations of an incarnation are held."""
        return self._of_lives.get((agent, incarnation), 0)

    def add(self, key: CellKey, observations: int, *, is_new: bool) -> None:
        """Count a cell that has grown, or that is new."""
        amount = self._of[key.agent]
        amount[0] += is_new
        amount[1] += observations
        self._of_lives[key[:2]] += observations

    def drop(self, key: CellKey, observations: int) -> None:
        """Count a cell that is gone."""
        self.add(key, -observations, is_new=False)
        self._of[key.agent][0] -= 1
        if not self._of[key.agent][0]:
            del self._of[key.agent]
        if not self._of_lives[key[:2]]:
            del self._of_lives[key[:2]]
