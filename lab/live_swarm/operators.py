"""What operators do: they turn switches, give and take arms, let programs declare bandits, and start them with that.

This file owns what each member is to serve. When which of it happens is in the plan.
"""

from collections.abc import Coroutine, Iterable
from functools import partial
from typing import Any

from cobandit.live.drive.declaring import Said
from cobandit.live.machine.control_messages import ControlsTold, pack
from cobandit.live.machine.controls import (
    FROZEN,
    GONE,
    KILL,
    Setting,
    forgetting,
    freezing,
    freezing_in,
    killing,
    stamp_at,
)
from cobandit.values.errors import CobanditError
from cobandit.values.tally import Arm
from lab.live_swarm.computer import START
from lab.live_swarm.inspector import Inspector
from lab.live_swarm.network import Network
from lab.live_swarm.plan import GROUP, Incident, Kind, Plan
from lab.live_swarm.process import Process
from lab.live_swarm.timeline import Timeline
from lab.swarm.transcript import Transcript

OPERATOR = "operator"
"""Who is no member, and sends control messages."""

_OF_DECLARED = (Kind.FREEZE, Kind.UNFREEZE, Kind.KILL_SWITCH, Kind.LIFT)
"""What programs do with a bandit that they have."""


class Operators:
    """All who run a fleet."""

    def __init__(
        self, plan: Plan, timeline: Timeline, transcript: Transcript, inspector: Inspector, network: Network
    ) -> None:
        self._plan, self._timeline, self._transcript = plan, timeline, transcript
        self._inspector, self._network = inspector, network
        self.arms = {member.name: member.arms for member in plan.members}
        """Which arms they want each member to offer."""
        self._bandits = {member.name: {said.name: said for said in member.bandits} for member in plan.members}
        """Which bandits they let each member declare when it starts."""
        self._definitions = {member.name: {said.name: said for said in member.definitions} for member in plan.members}
        """How they declare each, with the arms that it has by then."""
        self._undeclared: dict[str, set[str]] = {member.name: set() for member in plan.members}
        """Which ones each member declared once, and would not declare again at a start."""

    def bandits_of(self, name: str) -> tuple[Said, ...]:
        """Return what a member declares when it starts now."""
        return tuple(self._bandits[name].values())

    def tell(self, process: Process, incident: Incident) -> bool:
        """Do something. Return whether it is something that operators do."""
        if incident.kind in _OF_DECLARED and not self._is_declared(process, incident):
            return True
        return self._turn_switch(process, incident) or self._serve(process, incident) or self._ask(process, incident)

    def declare_all(self, processes: Iterable[Process]) -> None:
        """Let everybody declare what it once served and has not declared again."""
        for process in processes:
            served = [one.name for one in process.machine.agent.bandits] if process.is_up else []
            if process.is_up:  # also who lost its disk, and does not know what it served
                served += [name for name in sorted(self._undeclared[process.name]) if name not in served]
            for bandit in served:
                if bandit not in process.member.bandits:
                    self._do(process, self._declare(process, bandit))

    def _turn_switch(self, process: Process, incident: Incident) -> bool:
        machine, node, arm, name = process.machine, process.node, incident.arm, process.name
        match incident.kind:
            case Kind.FREEZE | Kind.UNFREEZE:
                is_frozen = incident.kind is Kind.FREEZE
                self._say(self._freezing(incident), FROZEN if is_frozen else None, name)
                freeze = machine.operations.set_frozen
                if self._plan.bandits:
                    freeze = partial(machine.bandits.set_frozen, self._bandit(incident))
                self._do(process, node.act(lambda: freeze(arm, is_frozen=is_frozen)))
            case Kind.KILL_SWITCH | Kind.LIFT:
                control_arm = arm if incident.kind is Kind.KILL_SWITCH else None
                is_one = bool(self._plan.bandits) and incident.lasting < 0.1 * self._plan.heals_at
                kill = machine.operations.set_control_arm
                if is_one:  # of one bandit; otherwise of the whole fleet
                    kill = partial(machine.bandits.set_control_arm, self._bandit(incident))
                self._say(killing(self._bandit(incident)) if is_one else KILL, control_arm, name)
                self._do(process, node.act(lambda: kill(control_arm)))
            case Kind.ASKED_TO_FREEZE:
                self._say(self._freezing(incident), FROZEN, OPERATOR)
                setting = Setting(self._freezing(incident), FROZEN, stamp_at(START + self._timeline.time), OPERATOR)
                self._network.carry(OPERATOR, name, pack(ControlsTold(OPERATOR, (setting,)), GROUP))
            case Kind.FORGET:
                others = [member.name for member in self._plan.members if member.name != name]
                gone = others[int(incident.amount * len(others))]
                self._say(forgetting(gone), GONE, name)
                self._do(process, node.act(lambda: machine.operations.set_gone(gone)))
            case _:
                return False
        return True

    def _serve(self, process: Process, incident: Incident) -> bool:
        arm, name = incident.arm, process.name
        match incident.kind:
            case Kind.DECLARE:
                self._do(process, self._declare(process, self._bandit(incident)))
            case Kind.UNDECLARE:
                if self._bandits[name].pop(self._bandit(incident), None) is not None:
                    self._undeclared[name].add(self._bandit(incident))
            case Kind.ADD_ARM if self._plan.bandits:
                definitions, bandit = self._definitions[name], self._bandit(incident)
                said = definitions[bandit]
                definitions[bandit] = said._replace(arms=tuple(dict.fromkeys((*said.arms, arm))))
                self._do(process, self._declare(process, bandit))
            case Kind.ADD_ARM:
                self.arms[name] = tuple(dict.fromkeys((*self.arms[name], arm)))
                self._do(process, process.node.add_arm(arm))
            case Kind.REMOVE_ARM:
                if arm != "a0":
                    self.arms[name] = tuple(known for known in self.arms[name] if known != arm)
                    remove = partial(process.machine.operations.remove_arm, arm)
                    self._do(process, process.node.act(remove))
            case _:
                return False
        return True

    def _ask(self, process: Process, incident: Incident) -> bool:
        if incident.kind is Kind.CATCH_UP:
            self._do(process, process.node.act(process.machine.introduction.introduce))
        elif incident.kind is Kind.FLUSH:
            self._do(process, process.node.flush(5.0))
        else:
            return False
        return True

    def _bandit(self, incident: Incident) -> str:
        """Return which bandit an incident is about."""
        return self._plan.bandits[int(incident.amount * len(self._plan.bandits))].name

    def _is_declared(self, process: Process, incident: Incident) -> bool:
        return not self._plan.bandits or self._bandit(incident) in process.member.bandits

    def _freezing(self, incident: Incident) -> str:
        if self._plan.bandits:
            return freezing_in(self._bandit(incident), incident.arm)
        return freezing(incident.arm)

    async def _declare(self, process: Process, bandit: str) -> None:
        """Let a program declare a bandit, from now on whenever it starts."""
        said = self._bandits[process.name][bandit] = self._definitions[process.name][bandit]
        await process.declare(said)

    def _say(self, key: str, value: Arm | None, by: str) -> None:
        self._inspector.truth.words.add((key, value, by))

    def _do(self, process: Process, work: Coroutine[Any, Any, object]) -> None:
        async def do() -> None:
            try:
                await work
            except CobanditError as error:
                self._transcript.note(self._timeline.time, process.name, f"refuses: {error}")

        process.run(do())
