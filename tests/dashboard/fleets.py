"""Fleets for the tests of the page: made up, from few words."""

from collections.abc import Mapping

from cobandit.live.status.fleet import Fleet, fleet_of
from cobandit.live.status.statistics import ArmStatistics, Communication, PeerStatistics, Statistics

GROUP = "homepage"


def arm(name: str, observations: int = 0, own: int | None = None, **more: object) -> ArmStatistics:
    fields = {
        "mean": 0.5 if observations else None,
        "low": 0.25 if observations else None,
        "high": 0.75 if observations else None,
        "is_candidate": True,
        "is_frozen": False,
        "is_removed": False,
        **more,
    }
    return ArmStatistics(name, observations, observations if own is None else own, **fields)  # type: ignore[arg-type]


def peer(name: str, **more: object) -> PeerStatistics:
    fields = {
        "is_present": True,
        "common_arms": 2,
        "heard_s": 1.0,
        "shares_sent": 0,
        "shares_received": 0,
        "repetitions": 0,
        "held": 0,
        "lacks": 0,
        "incarnation": 1,
        **more,
    }
    return PeerStatistics(name, **fields)  # type: ignore[arg-type]


def member(
    name: str,
    *peers: PeerStatistics | str,
    arms: tuple[ArmStatistics, ...] = (),
    shares: int = 0,
    started_at: float = 990.0,
    refused: Mapping[str, int] | None = None,
    **more: object,
) -> Statistics:
    fields = {
        "at": 1000.0,
        "uptime_s": 1000.0 - started_at,
        "incarnation": 1,
        "policy": "UCB",
        "decisions": 0,
        "own_observations": sum(one.own_observations for one in arms),
        "observations": sum(one.observations for one in arms),
        "open_decisions": 0,
        "control_arm": None,
        "quarantined": (),
        "troubles": (),
        "synced_batches": 0,
        **more,
    }
    return Statistics(
        name=name,
        group=GROUP,
        arms=arms,
        peers=tuple(peer(one) if isinstance(one, str) else one for one in peers),
        communication=Communication(shares=shares, acknowledgements=2 * shares, bytes_sent=100 * shares),
        refused=dict(refused or {}),
        **fields,  # type: ignore[arg-type]
    )


def fleet(*members: Statistics) -> Fleet:
    return fleet_of(GROUP, members)
