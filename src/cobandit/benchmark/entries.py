"""What runs in the benchmark: entries, each a protocol with a policy, and on which tasks an entry makes sense.

The list is made from the registries of protocols and policies. `own_entry` makes one of a protocol of your own. Which
parameters they have is on purpose the default of each, as its file says; the exception is ODC, whose thresholds are
what the benchmark compares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from cobandit.benchmark.tasks import Task, unknown
from cobandit.core import Constant, Geometric, RetryTimers, Sharing, Threshold
from cobandit.core.protocols.registry import PROTOCOLS, protocol_of, sharing_by
from cobandit.policies.registry import BuiltIn
from cobandit.protocols.plug_in import PlugIn, plug_in
from cobandit.protocols.registry import PLUG_INS, class_named
from cobandit.scenario.scenario import BuildPolicy, Scenario
from cobandit.scenario.topology import Relays
from cobandit.simulator.trials import engine_for
from cobandit.values.errors import LocalError
from cobandit.values.provenance import provenance, source_hash

THRESHOLDS: dict[str, Threshold] = {"": Constant(1), "-double": Geometric(2), "-double64": Geometric(2, cap=64)}
"""The thresholds of ODC, by what an entry's name has for them."""

POLICIES = {"ucb": "UCB", "kl-ucb": "KL-UCB", "thompson": "Thompson sampling", "aae": "AAE"}

_THRESHOLD_WORDS = {"": "threshold 1", "-double": "doubling without end", "-double64": "doubling to 64"}
_EVERY_SLOT = ("coop-ucb2", "dducb")
MAX_NUMBERS = 1_000_000
"""What a protocol that talks in every slot may send in a trial: agents x agents x slots x arms."""


@dataclass(frozen=True)
class Entry:
    """One way to play all tasks."""

    name: str
    title: str
    sharing: Sharing | PlugIn
    policy: BuildPolicy = field(default_factory=lambda: BuiltIn("ucb"))

    @property
    def protocol(self) -> str:
        """The word of its protocol; the name of the entry, if it has none."""
        word = self.sharing.about.word if isinstance(self.sharing, PlugIn) else protocol_of(self.sharing.rules).word
        return word or self.name

    @property
    def told(self) -> dict[str, Any]:
        """What it is, as plain values: a folder and a leaderboard keep it, so that a name means one thing."""
        if isinstance(self.sharing, PlugIn):
            build = self.sharing.build
            how = {
                "protocol": f"{build.__module__}.{build.__qualname__}",
                "parameters": {name: _plain(value) for name, value in self.sharing.parameters.items()},
                "source": source_hash(build),
            }
        else:
            how = {"protocol": self.protocol, "parameters": {"threshold": repr(self.sharing.threshold)}}
        chooses = repr(self.policy) if isinstance(self.policy, BuiltIn) else provenance(self.policy)
        return {**how, "policy": chooses}

    def scenario(self, task: Task) -> Scenario:
        """Return the task as this entry plays it.

        Where messages are lost, ODC is in its loss-tolerant form. A hub takes the place of relays.

        Raises:
            LocalError: It does not fit; the text says why.
        """
        world, sharing = task.world, self.sharing
        if not isinstance(sharing, PlugIn) and world.faults.loss and protocol_of(sharing.rules).tolerant:
            sharing = sharing._replace(retry=RetryTimers())
        if isinstance(sharing, PlugIn) and sharing.hubs and isinstance(world.topology, Relays):
            return replace(world, sharing=sharing, policy=self.policy, topology=None)
        return replace(world, sharing=sharing, policy=self.policy)

    def why_not(self, task: Task, *, slow: bool = False) -> str:
        """Return why the entry does not play a task; nothing, if it does.

        Args:
            task: The task.
            slow: Whether it may take as long as it takes.
        """
        if isinstance(self.sharing, PlugIn) and (reason := _why_no_plug_in(self.sharing, task)):
            return reason
        try:
            scenario = self.scenario(task)
        except LocalError as error:  # a protocol of anybody may refuse a world
            return str(error)
        if slow or engine_for(scenario, "auto") == "compiled":
            return ""
        if task.long:
            return "the task is too long for the readable engine, and it has no compiled form"
        numbers = len(scenario.agents) ** 2 * scenario.horizon * len(scenario.arms.names)
        if self.protocol in _EVERY_SLOT and scenario.topology is None and numbers > MAX_NUMBERS:
            return "it tells everybody all in every slot, which is too much here for the readable engine"
        return ""


def _why_no_plug_in(plugged: PlugIn, task: Task) -> str:
    """Return why a plug-in does not fit a task, from what its class says of itself."""
    world, about = task.world, plugged.about
    over_relays = isinstance(world.topology, Relays)
    reasons = {
        "it does not talk over relays": over_relays and not plugged.hubs,
        "it needs a hub, and agents in a graph have neighbours only": world.topology
        and not over_relays
        and plugged.hubs,
        "it needs messages that come in at once": world.delay and "delay" not in about.survives,
        "it does not survive lost messages": world.faults.loss and "loss" not in about.survives,
        "it needs everybody to be there": any(agent.absences for agent in world.agents) and not about.survives,
        "it needs the same arms for all": any(agent.arms for agent in world.agents) and not about.observations,
    }
    return next((why for why, is_so in reasons.items() if is_so), "")


@cache
def entries() -> Mapping[str, Entry]:
    """Return the entries that come with cobandit by their names, in order."""
    found = [
        Entry(
            f"odc{threshold}-{policy}",
            f"ODC, {_THRESHOLD_WORDS[threshold]}, {title}",
            sharing_by(PROTOCOLS["odc"], THRESHOLDS[threshold]),
            BuiltIn(policy),
        )
        for policy, title in POLICIES.items()
        for threshold in THRESHOLDS
    ]
    found += [
        Entry(f"ibc-{policy}", f"IBC, {title}", sharing_by(PROTOCOLS["ibc"], Constant(1)), BuiltIn(policy))
        for policy, title in POLICIES.items()
    ]
    found.append(Entry("silent", "silent, UCB", sharing_by(PROTOCOLS["none"], Constant(1)), BuiltIn("ucb")))
    found += [Entry(word, _title(build), plug_in(build)) for word, build in PLUG_INS.items()]
    return {entry.name: entry for entry in found}


def chosen_entries(names: Sequence[str], own: Sequence[Entry] = ()) -> list[Entry]:
    """Return the entries with these names, or of these protocols, or all; and one's own.

    Raises:
        LocalError: There is no entry and no protocol of a name; the text has the nearest.
    """
    known = {**entries(), **{entry.name: entry for entry in own}}
    words = {entry.protocol for entry in known.values()}
    for name in names:
        if name not in known and name not in words:
            raise unknown("protocol", name, [*known, *words])
    chosen = [entry for entry in known.values() if entry.name in names or entry.protocol in names]
    return chosen + [entry for entry in own if entry not in chosen] if names else list(known.values())


def own_entry(
    build: type[Any],
    *,
    name: str | None = None,
    policy: BuildPolicy | None = None,
    **parameters: Any,  # noqa: ANN401  # the class judges them
) -> Entry:
    """Return an entry of a protocol of your own.

    Args:
        build: Its class, as for `cobandit.plug_in`.
        name: What the entry is called; the class's word or name by default.
        policy: How agents choose; UCB by default.
        parameters: Those of the protocol.

    Raises:
        LocalError: It is no protocol, or its name is that of an entry that is there.
    """
    plugged = plug_in(build, **parameters)
    chosen = name or plugged.about.word or build.__name__.lower()
    known = entries().get(chosen)
    if known is not None and not (isinstance(known.sharing, PlugIn) and known.sharing == plugged and policy is None):
        raise LocalError(f"there is an entry {chosen!r} already: give yours another name")
    return Entry(chosen, plugged.about.title, plugged, policy or BuiltIn("ucb"))


def entry_from(text: str) -> Entry:
    """Return the entry of a class that is named as `module:Class`.

    Raises:
        LocalError: There is no such module or class.
    """
    return own_entry(class_named(text))


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _title(build: type[Any]) -> str:
    return str(plug_in(build).about.title)
