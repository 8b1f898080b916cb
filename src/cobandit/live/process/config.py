"""A member as a file: turns TOML into an `AgentConfig`, or an error with the key, the value and what is allowed.

docs/operating.md explains the keys. `service.py` runs the member that a file describes.
"""

import importlib
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cobandit.core.pens import LEASE
from cobandit.live.auth.proof import Proof
from cobandit.live.auth.shared_secrets import checked_secrets, read_secrets
from cobandit.live.decide.allocation import Allocation
from cobandit.live.decide.holdout import LARGEST_HOLDOUT
from cobandit.live.drive.joining import ONE_DAY, THIRTY_DAYS, check_start
from cobandit.live.drive.starting import LEAST_FORGET_AFTER, LIVE_POLICY
from cobandit.live.machine.homes import HOMES, MAX_HOMES
from cobandit.live.machine.step import FLUSH_EVERY
from cobandit.live.process.bandit_tables import bandits_from
from cobandit.live.process.logs import LOG_FORMATS, LogFormat
from cobandit.live.process.serving import SERVING_KEYS, Serving, serving_from
from cobandit.live.status.guardrail import checked_guardrail
from cobandit.live.transports.addresses import parse_address
from cobandit.live.transports.urls import DIALLED, SCHEMES, check_relay_addresses, scheme_of, transport_for, unproved
from cobandit.policies.registry import DRAWING, POLICIES, BuiltIn, policy_name
from cobandit.scenario.file import policy_from
from cobandit.scenario.keys import MISSING, Table, as_number, located, read_toml, wrong
from cobandit.values.errors import LocalError
from cobandit.values.masking import masked
from cobandit.values.quantum import MILLIONTH, Quantum
from cobandit.values.tally import checked_arms

KEYS = (
    "group",
    "fleet",
    "name",
    "url",
    "arms",
    "state",
    "peers",
    "keys",
    "trust",
    "secret",
    "secret_file",
    "policy",
    "quantum",
    "floors",
    "ceilings",
    "expire_after",
    "forget_after",
    "default_reward",
    "holdout",
    "guardrail",
    "log_limit",
    "snapshot",
    "relay",
    "relays",
    "homes",
    "lease",
    "flush_every",
    "catch_up_every",
    "log_format",
    "metrics",
    "bandits",
    *SERVING_KEYS,
)
CATCH_UP_EVERY = 60.0
"""The default, in seconds."""

LONGEST_CATCH_UP = 86_400.0

_OF_ONE_BANDIT = (
    *("group", "arms", "policy", "quantum", "floors", "ceilings", "default_reward", "snapshot"),
    *("holdout", "guardrail"),
)
"""The keys of a member with one bandit."""

_REACHABLE = tuple(scheme for scheme in SCHEMES if scheme != "memory")


@dataclass(frozen=True)
class AgentConfig:
    """The content of an agent's file. Paths are resolved. The secret is not shown when this is printed."""

    member: Mapping[str, Any]
    """The arguments of `cobandit.join` other than the address."""
    url: str
    log_format: LogFormat
    metrics: str | None
    """Where to serve metrics, `host:port`."""
    catch_up_every: float
    """Seconds between two requests for what the others learned."""
    serving: Serving = field(default_factory=Serving)
    """How `cobandit serve` serves it over HTTP."""
    says_relay: bool = False
    """Whether the file says whether it is a relay."""
    says_policy: bool = False
    bandits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The declaration of each bandit, if it is a member of a fleet."""
    serves: bool = False
    """Whether the file says where to serve HTTP. `cobandit relay` then does so too."""

    def __repr__(self) -> str:
        return f"AgentConfig(name={self.member['name']!r}, group={self.group!r}, url={masked(self.url)!r})"

    @property
    def group(self) -> str:
        """The name of its group, or of its fleet."""
        name: str = self.member["fleet"] or self.member["group"]
        return name


def read_config(path: Path | str, *, changes: Mapping[str, str] | None = None) -> AgentConfig:
    """Read an agent's file.

    Args:
        path: The file.
        changes: Keys with texts that override the file's, for agents that share a file.

    Raises:
        LocalError: The file cannot be read, or something in it is invalid. The message names the file, the key, its
            value and what is allowed.
    """

    def understand(content: Mapping[str, object], *, folder: Path | str) -> AgentConfig:
        return config_from_mapping({**content, **(changes or {})}, folder=folder)

    return read_toml(path, understand)


def config_from_mapping(content: Mapping[str, object], *, folder: Path | str = ".") -> AgentConfig:
    """Return the agent that a file with this content describes.

    Args:
        content: The keys and values.
        folder: The folder for relative paths.

    Raises:
        LocalError: A key is unknown or missing, or a value is not allowed. The message names the key.

    >>> config_from_mapping(
    ...     {"group": "homepage", "name": "memory", "url": "nats://n:4222", "arms": ["A", "B"], "state": "memory.db"}
    ... )
    AgentConfig(name='memory', group='homepage', url='nats://n:4222')
    >>> config_from_mapping({"groop": "homepage"})
    Traceback (most recent call last):
    ...
    cobandit.values.errors.LocalError: groop = 'homepage' is not a key that cobandit knows: did you mean group?
    """
    table, folder = Table(content, "", KEYS), Path(folder)
    url = _url(table)
    is_fleet = "fleet" in table
    if is_fleet:
        table.refuse(_OF_ONE_BANDIT, "fleet is given: say it of a bandit, in its table [bandits.NAME]")
    elif "bandits" in table:
        raise wrong("bandits", "in the file of a fleet: say fleet = ..., not group", table.get("bandits"))
    arms = None if is_fleet else _arms(table)
    member = {
        "group": None if is_fleet else table.text("group"),
        "fleet": table.text("fleet") if is_fleet else None,
        "name": _name(table),
        "arms": arms,
        "state": _state(table, folder),
        "peers": _peers(table),
        "keys": folder / table.text("keys") if "keys" in table else None,
        "trust": folder / table.text("trust") if "trust" in table else None,
        "secret": _secret(table),
        "secret_file": _secret_file(table, folder),
        "policy": _policy(table),
        "quantum": _quantum(table),
        "expire_after": table.positive("expire_after") if "expire_after" in table else THIRTY_DAYS,
        "forget_after": _forget_after(table),
        "default_reward": table.number("default_reward", low=0.0, high=1.0) if "default_reward" in table else None,
        "holdout": table.number("holdout", low=0.0, high=LARGEST_HOLDOUT) if "holdout" in table else 0.0,
        "guardrail": _guardrail(table),
        "log_limit": table.whole("log_limit", 0) if "log_limit" in table else None,
        "snapshot": _snapshot(table, folder),
        "relay": table.truth("relay", default=False),
        "relays": _relays(table, url),
        "homes": table.whole("homes", 1, MAX_HOMES, default=HOMES),
        "lease": table.positive("lease") if "lease" in table else LEASE,
        "flush_every": table.positive("flush_every") if "flush_every" in table else FLUSH_EVERY,
        **({} if arms is None else _shares(table, arms)),
    }
    metrics = table.text("metrics") if "metrics" in table else None
    if metrics is not None:
        with located("metrics"):
            parse_address(metrics)
    return AgentConfig(
        member,
        url,
        _log_format(table),
        metrics,
        _catch_up_every(table),
        serving_from(table, folder),
        says_relay="relay" in table,
        says_policy="policy" in table,
        bandits=bandits_from(table),
        serves="listen" in table,
    )


def as_relay(config: AgentConfig) -> AgentConfig:
    """Return the configuration of a relay. A relay that serves no decisions needs no odds of the arms.

    Raises:
        LocalError: The file says that it is not a relay.
    """
    if config.says_relay and not config.member["relay"]:
        raise LocalError("relay = false, and this command runs a relay: leave the key out, or use `cobandit serve`")
    if config.member["relays"] is not None:
        raise LocalError(
            "relays is for leaves, and this command runs a relay: leave the key out. Relays find each other as members "
            "do, for tls:// and udp:// by peers"
        )
    policy = config.member["policy"] if config.says_policy or config.serves else BuiltIn("ucb")
    return replace(config, member={**config.member, "relay": True, "policy": policy})


def check_files(config: AgentConfig) -> None:
    """Check whether the files in a configuration can be used; of the state, only the folder. Nothing is started.

    Raises:
        LocalError: The keys are not this member's, or something else is inconsistent.
    """
    member = config.member
    if member["state"] is not None:
        _check_folder(Path(member["state"]))
    transport_for(config.url, peers=member["peers"], proof=_proof(config), relays=member["relays"] or ())
    if member["keys"] is not None:
        from cobandit.live.auth.credentials import Credentials  # noqa: PLC0415  # needs the extra `keys`

        with located("keys"):
            credentials = Credentials(_proof(config).identity(), member["trust"])
            name = member["name"] or f"{credentials.identity.name}x"  # a relay lends it one with this prefix
            credentials.begin(name, config.group, time.time())
    if config.metrics is not None:
        with located("metrics"):
            importlib.import_module("cobandit.live.status.metrics")  # says what to install if something is missing


def _check_folder(state: Path) -> None:
    """Refuse a state file that does not exist and cannot be created. Missing folders are created with it."""
    if state.exists():
        return
    folder = next(parent for parent in state.absolute().parents if parent.exists())
    try:
        tempfile.TemporaryFile(dir=folder).close()  # only this shows what may be created there
    except OSError as error:
        raise LocalError(
            f"state: {state} cannot be made, because nothing can be written to {folder} ({error.strerror}): name "
            "another folder"
        ) from error


def check_state(config: AgentConfig) -> None:
    """Check whether a member can start from the state in a configuration, without changing anything.

    Raises:
        LocalError: It is damaged, or not this member's. The message says what a start would do about damage.
    """
    if config.member["state"] is not None:
        with located("state"):
            check_start(config.url, **config.member)


def risks(config: AgentConfig) -> str | None:
    """Return in words what is unsafe about a configuration that can be run; `None` if nothing is."""
    return unproved(config.url, _proof(config))


def _proof(config: AgentConfig) -> Proof:
    return Proof(*(config.member[key] for key in Proof._fields))


def _url(table: Table) -> str:
    url = table.text("url")
    scheme = scheme_of(url)
    if scheme not in _REACHABLE or not (urlsplit(url).netloc or (scheme in DIALLED and "relays" in table)):
        raise wrong("url", f"an address that begins with {', '.join(f'{one}://' for one in _REACHABLE)}", masked(url))
    return url


def _name(table: Table) -> str | None:
    if "name" not in table and "relays" in table and "state" not in table:
        return None  # a relay lends it one
    name = table.text("name")
    if "*" in name:
        raise wrong("name", "a name without a star: every agent has a file of its own", name)
    return name


def _state(table: Table, folder: Path) -> Path | None:
    if "state" not in table and "relays" in table and "name" not in table:
        return None
    return folder / table.text("state")


def _arms(table: Table) -> tuple[str, ...]:
    names = []
    for path, name in table.rows("arms", "names of arms"):
        if not isinstance(name, str):
            raise wrong(path, "a string", name)
        names.append(name)
    with located("arms"):
        return checked_arms(names)


def _peers(table: Table) -> tuple[str, ...]:
    if "peers" not in table:
        return ()
    peers = []
    for path, peer in table.rows("peers", "addresses of other members, such as 10.0.0.2:7000", may_be_empty=True):
        if not isinstance(peer, str):
            raise wrong(path, "a string", peer)
        with located(path):
            parse_address(peer)
        peers.append(peer)
    return tuple(peers)


def _relays(table: Table, url: str) -> tuple[str, ...] | None:
    if "relays" not in table:
        return None
    relays = []
    for path, relay in table.rows("relays", "names or addresses of relays"):
        if not isinstance(relay, str) or not relay:
            raise wrong(path, "a name or an address", relay)
        relays.append(relay)
    if scheme_of(url) in DIALLED:
        with located("relays"):
            check_relay_addresses(relays)
    return tuple(relays)


def _secret(table: Table) -> str | tuple[str, ...] | None:
    """Return the secret, or two. Errors must not show the value, which is a secret."""
    given = table.get("secret")
    if given is MISSING:
        return None
    if "secret_file" in table:
        raise LocalError("secret and secret_file are both given: keep one of them")
    if not isinstance(given, str) and not (isinstance(given, list) and all(isinstance(one, str) for one in given)):
        raise LocalError("secret must be a string, or a list of two: the one to send with, and another to accept")
    with located("secret"):
        checked_secrets(given)
    return given if isinstance(given, str) else tuple(given)


def _secret_file(table: Table, folder: Path) -> Path | None:
    if "secret_file" not in table:
        return None
    file = folder / table.text("secret_file")
    with located("secret_file"):
        read_secrets(file)
    return file


def _log_format(table: Table) -> LogFormat:
    return "json" if table.choice("log_format", LOG_FORMATS, default="text") == "json" else "text"


def _catch_up_every(table: Table) -> float:
    seconds = table.positive("catch_up_every") if "catch_up_every" in table else CATCH_UP_EVERY
    if seconds > LONGEST_CATCH_UP:
        raise wrong("catch_up_every", f"a positive number of seconds up to {LONGEST_CATCH_UP:g}", seconds)
    return seconds


def _forget_after(table: Table) -> float:
    seconds = table.positive("forget_after") if "forget_after" in table else ONE_DAY
    if seconds < LEAST_FORGET_AFTER:
        raise wrong("forget_after", f"a number of seconds from {LEAST_FORGET_AFTER:g} on", seconds)
    return seconds


def _policy(table: Table) -> BuiltIn:
    """Return the policy: its name, or a table with its name and parameters."""
    given = table.get("policy")
    if not isinstance(given, Mapping):
        return BuiltIn(table.choice("policy", POLICIES, default=LIVE_POLICY, spelled=policy_name))
    policy = policy_from(given, default=LIVE_POLICY)
    if policy.name in DRAWING:
        Table(given, "policy", tuple(given)).refuse(("alpha", "confidence"), f"{policy.name} has no parameters")
    return policy


def _quantum(table: Table) -> float:
    quantum = table.positive("quantum") if "quantum" in table else MILLIONTH
    with located("quantum"):
        return Quantum(quantum).step


def _snapshot(table: Table, folder: Path) -> Path | None:
    if "snapshot" not in table:
        return None
    file = folder / table.text("snapshot")
    if not file.is_file():
        raise wrong("snapshot", "a file that `cobandit snapshot` wrote", table.get("snapshot"))
    return file


def _guardrail(table: Table) -> tuple[str, float] | None:
    given = table.get("guardrail")
    return None if given is MISSING else checked_guardrail(given)


def _shares(table: Table, arms: tuple[str, ...]) -> dict[str, dict[str, float] | None]:
    found: dict[str, dict[str, float] | None] = {}
    for name in ("floors", "ceilings"):
        given = table.get(name)
        if given is MISSING:
            found[name] = None
            continue
        shares = Table(given, name, arms, wanted="a table with shares of decisions by arm, such as { A = 0.1 }")
        found[name] = {
            arm: as_number(shares.key(arm), shares.get(arm), low=0.0, high=1.0) for arm in arms if arm in shares
        }
    with located("floors and ceilings"):
        Allocation(found["floors"], found["ceilings"]).check(arms)
    return found
