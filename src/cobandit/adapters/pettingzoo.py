"""A scenario as an environment of PettingZoo: the same arms, decision times and luck, and anybody's learners.

The environment is the world and nothing else. The scenario's policy, sharing, network and topology are not used: how
agents learn, and what they tell each other, is up to who trains them. So a run in which nobody talks is the run of
`cobandit.simulate` with `silent()`, pull by pull.

Agents are asynchronous, and a parallel environment steps all of them at once. One step is one slot in which somebody
decides; slots in which nobody does are passed over. In a step every agent acts. Who is to decide is active and names
an arm; everybody else passes, which is the last action. The action mask of an observation says what is allowed, so
that it needs no other sign, and what an agent that is not active does is of no account.
"""

from collections.abc import Mapping
from typing import Any

from cobandit.scenario.file import read_scenario
from cobandit.scenario.payments import Payments
from cobandit.scenario.scenario import Scenario
from cobandit.scenario.schedules import NEVER, Clock
from cobandit.scenario.tape import Tape
from cobandit.values.checks import plain
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

with needed_by("an environment of PettingZoo"):
    from gymnasium.spaces import Box, Dict, Discrete
    from pettingzoo import ParallelEnv

import numpy as np
import numpy.typing as npt

Observation = dict[str, npt.NDArray[Any]]
"""An agent's observation: `observation` and `action_mask`."""

Infos = dict[str, dict[str, Any]]


class ScenarioEnv(ParallelEnv[str, Observation, int]):  # type: ignore[misc]  # PettingZoo has no types
    """A scenario as a `pettingzoo.ParallelEnv`.

    With K arms in the world, an agent's actions are 0 to K - 1, the arms in order, and K, which means pass. Its
    observation has 1 + 2 K numbers: 1 if it is active, else 0; how often it pulled each arm; and the total reward from
    each arm. `action_mask` has K + 1 entries: an active agent may choose the arms that it has, any other agent only K.
    The reward is that of the pull, 0 or 1; agents that do not pull get 0. `infos` has `slot` and, for each agent,
    `active`.

    An active agent may pass: it makes no pull, and its next decision is as far away as if it had made one. `Halving`
    schedules never halve, because no messages are sent. All agents are truncated when no decision is left before the
    horizon.

    Args:
        scenario: A scenario, or the path of a scenario file.
        seed: The random seed, until `reset` sets another one.

    >>> from cobandit.scenario import AgentSpec, Arms, Rate, Scenario
    >>> world = Scenario(100, Arms.of([0.2, 0.8]), (AgentSpec(Rate(1.0)), AgentSpec(Rate(0.1))))
    >>> env = ScenarioEnv(world)
    >>> observations, infos = env.reset(seed=1)
    >>> observations["0"]["action_mask"].tolist(), observations["1"]["action_mask"].tolist()
    ([1, 1, 0], [0, 0, 1])
    >>> _, rewards, _, _, _ = env.step({"0": 1, "1": 2})
    >>> env.pulls.tolist()
    [[0, 1], [0, 0]]
    """

    metadata: dict[str, Any] = {"name": "cobandit_v0", "render_modes": [], "is_parallelizable": True}  # noqa: RUF012  # as PettingZoo declares it

    def __init__(self, scenario: Any, *, seed: int = 1) -> None:  # noqa: ANN401  # Scenario, Path or str; checked
        self.scenario: Scenario = scenario if isinstance(scenario, Scenario) else read_scenario(scenario).scenario
        self.render_mode = None
        self.possible_agents = [str(position) for position in range(len(self.scenario.agents))]
        self.agents: list[str] = []
        arms = len(self.scenario.arms.names)
        self._position = {agent: position for position, agent in enumerate(self.possible_agents)}
        self._pass = arms
        self._has = np.zeros((len(self.possible_agents), arms), np.int8)
        for position in range(len(self.possible_agents)):
            own = set(self.scenario.arms_of(position))
            self._has[position] = [name in own for name in self.scenario.arms.names]
        self._actions = {agent: Discrete(arms + 1) for agent in self.possible_agents}
        self._sights = {agent: self._sight_space() for agent in self.possible_agents}
        self._seed, self._trial = seed, -1
        self.slot = 0
        """The slot of the decisions that the next step takes."""
        self.pulls = np.zeros(self._has.shape, np.int64)
        """Pulls by agent and arm, as in `cobandit.simulator.Result`."""
        self.rewards = np.zeros(self._has.shape)
        """Rewards received, by agent and arm."""
        self._clocks: list[Clock] = []
        self._next: list[int] = []
        self._payments = Payments(self.scenario, Tape(0))

    def observation_space(self, agent: str) -> Dict:
        """Return the space of an agent's observations."""
        return self._sights[agent]

    def action_space(self, agent: str) -> Discrete:
        """Return the space of an agent's actions: pull an arm, or pass."""
        return self._actions[agent]

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Observation], Infos]:
        """Begin a trial.

        Args:
            seed: Begin with the first trial of this seed. Without a seed, continue with the next trial. These are the
                same trials that `cobandit.simulate` runs with this seed.
            options: `trial` sets the number of the trial, from 0.

        Raises:
            LocalError: The seed or the trial is invalid.
        """
        trial = plain((options or {}).get("trial", self._trial + 1 if seed is None else 0))
        tape = Tape(self._seed if seed is None else seed, trial)
        self._seed, self._trial = self._seed if seed is None else seed, trial
        agents = range(len(self.possible_agents))
        self.agents = list(self.possible_agents)
        self.pulls[:] = 0
        self.rewards[:] = 0
        self._payments = Payments(self.scenario, tape)
        self._clocks = [
            spec.schedule.clock(tape.clock_keys(position, self.scenario.horizon))
            for position, spec in enumerate(self.scenario.agents)
        ]
        self._next = [NEVER] * len(agents)
        for position, spec in enumerate(self.scenario.agents):
            self._plan(position, after=spec.start - 1)
        self.slot = min(self._next)
        return self._sights_now(), self._infos()

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Let every agent act in this slot, and move to the next slot in which an agent decides.

        Raises:
            LocalError: An active agent has no action, or an arm that it does not have. Nothing changes.
        """
        stepped = self.agents
        chosen = [self._arm(agent, actions) for agent in stepped]
        rewards = {agent: self._pull(agent, arm) for agent, arm in zip(stepped, chosen, strict=True)}
        for agent in stepped:
            position = self._position[agent]
            if self._next[position] == self.slot:
                self._clocks[position].decided(sent=False)
                self._plan(position, after=self.slot)
        self.slot = min(self._next, default=NEVER)
        is_over = self.slot >= self.scenario.horizon
        sights, infos = self._sights_now(), self._infos()
        if is_over:
            self.agents = []
        return sights, rewards, dict.fromkeys(stepped, False), dict.fromkeys(stepped, is_over), infos

    def state(self) -> npt.NDArray[np.float64]:
        """Return the observations of all agents, concatenated: for learners with a central critic."""
        return np.concatenate([self._sight(agent)["observation"] for agent in self.possible_agents])

    def is_active(self, agent: str) -> bool:
        """Return whether an agent is to decide in this step."""
        return self._next[self._position[agent]] == self.slot < self.scenario.horizon

    def _arm(self, agent: str, actions: Mapping[str, int]) -> int:
        """Return the arm that an agent pulls, or that it passes."""
        if not self.is_active(agent):
            return self._pass
        action = actions.get(agent)
        if action is None or not self._actions[agent].contains(np.int64(action)):
            raise LocalError(f"agent {agent} is to decide: give it an action from 0 to {self._pass}, not {action!r}")
        if action != self._pass and not self._has[self._position[agent], action]:
            raise LocalError(f"agent {agent} cannot pull arm {action}: choose by its action mask")
        return int(action)

    def _pull(self, agent: str, arm: int) -> float:
        if arm == self._pass:
            return 0.0
        position = self._position[agent]
        pull, arm_pull = int(self.pulls[position].sum()), int(self.pulls[position, arm])
        reward = self._payments.reward_of(self._payments.draw(position, arm, self.slot, pull, arm_pull))
        self.pulls[position, arm] += 1
        self.rewards[position, arm] += reward
        return reward

    def _plan(self, position: int, after: int) -> None:
        """Find the next slot in which an agent decides: one in which it is not away."""
        spec = self.scenario.agents[position]
        end = self.scenario.horizon if spec.stop is None else min(spec.stop, self.scenario.horizon)
        slot = self._clocks[position].next_slot(after)
        while slot < end and any(
            absence.leave <= slot and (absence.rejoin is None or slot < absence.rejoin) for absence in spec.absences
        ):
            slot = self._clocks[position].next_slot(slot)
        self._next[position] = slot if slot < end else NEVER

    def _sights_now(self) -> dict[str, Observation]:
        return {agent: self._sight(agent) for agent in self.agents}

    def _sight(self, agent: str) -> Observation:
        position, active = self._position[agent], self.is_active(agent)
        seen = np.concatenate(([float(active)], self.pulls[position], self.rewards[position]))
        mask = np.append(self._has[position] * active, not active).astype(np.int8)
        return {"observation": seen.astype(np.float64), "action_mask": mask}

    def _infos(self) -> Infos:
        slot = min(self.slot, self.scenario.horizon)
        return {agent: {"slot": slot, "active": self.is_active(agent)} for agent in self.agents}

    def _sight_space(self) -> Dict:
        return Dict(
            {
                "observation": Box(0.0, float(self.scenario.horizon), (1 + 2 * self._pass,), np.float64),
                "action_mask": Box(0, 1, (self._pass + 1,), np.int8),
            }
        )
