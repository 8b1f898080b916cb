"""What operators do: kill switch, frozen arms, members that are gone, and the arms on offer here.

This file owns which arms are removed, and which actions are refused. `controls.py` owns how settings spread and which
of two wins. This file does not know how settings are written down or sent.
"""

from collections.abc import Callable
from typing import NamedTuple

from cobandit.agent import Agent
from cobandit.live.decide.clock import Clock
from cobandit.live.log_events import LogEvent
from cobandit.live.machine.alerts import Alerts
from cobandit.live.machine.controls import FROZEN, GONE, KILL, Controls, forgetting, freezing
from cobandit.live.machine.guardrails import Freezer, unfreezing
from cobandit.values.checks import check_name
from cobandit.values.errors import StateError, UnknownError
from cobandit.values.tally import LONGEST_NAME, Arm


class Effects(NamedTuple):
    """How the machine reacts to a change."""

    settings_changed: Callable[[], None]
    """Writes the controls down, obeys them, and tells all peers."""
    publish: Callable[[], None]
    """Publishes to the decider."""


class Operations:
    """The actions of operators at one member.

    Args:
        name: The member's name.
        agent: Its agent.
        controls: The settings.
        removed: The arms that it no longer offers.
        alerts: Where troubles are reported.
        clock: The clock.
        effects: How the machine reacts to a change.
    """

    def __init__(
        self,
        name: str,
        agent: Agent,
        controls: Controls,
        removed: frozenset[Arm],
        alerts: Alerts,
        clock: Clock,
        effects: Effects,
    ) -> None:
        self._name, self._agent, self._controls, self._alerts = name, agent, controls, alerts
        self._clock, self._effects = clock, effects
        self.removed = removed

    @property
    def offered(self) -> tuple[Arm, ...]:
        """The arms that this member can serve."""
        return tuple(arm for arm in self._agent.arms if arm not in self.removed)

    @property
    def available(self) -> tuple[Arm, ...]:
        """The arms to choose from: not ruled out, not removed, not frozen."""
        if self._controls.control_arm in self.offered:
            return self._controls.available(self.offered)
        candidates = tuple(arm for arm in self._agent.policy.candidates if arm not in self.removed)
        return self._controls.available(candidates or self.offered)

    @property
    def withheld(self) -> frozenset[Arm]:
        """The arms that operators have withheld from choice: frozen, or removed."""
        return self._controls.frozen | self.removed

    @property
    def control_arm(self) -> Arm | None:
        """The kill switch's arm, if it is on and the arm is offered."""
        control_arm = self._controls.control_arm
        return control_arm if control_arm in self.offered else None

    def set_control_arm(self, arm: Arm | None) -> None:
        """Turn the kill switch on or off, here and everywhere."""
        if arm is not None:
            self._check_offered(arm)
        self._set(KILL, arm)

    def set_frozen(self, arm: Arm, *, is_frozen: bool) -> None:
        """Freeze or unfreeze an arm, here and everywhere."""
        if not self._agent.has_plain:
            raise StateError(
                f"arm {arm!r} belongs to a named bandit: freeze it there (`cobandit control --bandit`, or fleet.bandit)"
            )
        self._check_offered(arm)
        if is_frozen and not set(self.offered) - self._controls.frozen - {arm}:
            raise StateError(f"arm {arm!r} is the last one that is not frozen: give another one back first")
        self._set(freezing(arm), FROZEN if is_frozen else None)

    def freezer(self) -> Freezer:
        """Return what a guardrail of the plain bandit needs in order to act."""
        return Freezer(lambda: self.offered, lambda arm: self.set_frozen(arm, is_frozen=True))

    def set_gone(self, name: str) -> None:
        """Forget a member, here and everywhere, until it is heard again."""
        check_name("the name of a member", name, LONGEST_NAME)  # others would refuse it, and what is set with it
        if name == self._name:
            raise StateError(f"{name} is this member itself, which is running: only others can be forgotten")
        if name not in self._agent.peers.heard_of and not self._agent.presence.is_leaf:  # a leaf knows only relays
            raise UnknownError(f"{name!r} was never met by {self._name}")
        self._set(forgetting(name), GONE)

    def remove_arm(self, arm: Arm) -> None:
        """Stop offering an arm. What is known about it stays."""
        self._check_offered(arm)
        if len(self.offered) == 1:
            raise StateError(f"arm {arm!r} is the last one: add another first")
        self.removed |= {arm}
        self._effects.publish()

    def offer_again(self, arm: Arm) -> None:
        """Offer a removed arm again. The next change publishes it."""
        self.removed -= {arm}

    def look_for_control_arm(self) -> None:
        """Report if the kill switch is on to an arm that this member does not have, or if all arms are frozen."""
        control_arm = self._controls.control_arm
        is_missing = control_arm is not None and control_arm not in self.offered
        self._alerts.trouble(
            LogEvent.CONTROL_ARM_MISSING,
            f"the kill switch is on, to arm {control_arm!r}, which this member does not have: it goes on choosing from "
            "its own arms"
            if is_missing
            else None,
        )
        self._alerts.trouble(
            LogEvent.ARMS_ALL_FROZEN,
            "every arm of this member is frozen, so it goes on choosing from all of them: give one back with "
            f"`{unfreezing(self._alerts.group)}`"
            if self._controls.frozen.issuperset(self.offered) and control_arm not in self.offered
            else None,
        )

    def _set(self, key: str, value: str | None) -> None:
        self._controls.turn(key, value, self._clock.time_of_day(), by=self._name)
        self._effects.settings_changed()

    def _check_offered(self, arm: Arm) -> None:
        offered = self.offered or tuple(dict.fromkeys(name for one in self._agent.bandits for name in one.arms))
        if arm not in offered:
            raise UnknownError(f"arm {arm!r} is not one of {', '.join(offered)}")
