"""A fleet as lines of text, for a terminal of any width from 80 columns, with names in any script."""

import textwrap
from collections import Counter
from collections.abc import Callable

from msgspec import structs

from cobandit.cli.terminal import USUAL, columns_of, cut, left, right
from cobandit.live.status.fleet import Fleet, FleetArm
from cobandit.live.status.guardrail import GuardrailStatistics, GuardrailTerms, words
from cobandit.live.status.roles import Role
from cobandit.live.status.statistics import PeerStatistics, Statistics

NARROWEST = USUAL
MOST_RELAYS_SHOWN = 8
MOST_ARMS_SHOWN = 24
"""The rest is one line."""

_NAME = 16
_CELL = 6
_BAR = 7
_TIMES = ((60, "s"), (60, "m"), (48, "h"))

_MATRICES: tuple[tuple[str, Callable[[PeerStatistics], str]], ...] = (
    ("shares sent, by row to column", lambda peer: short(peer.shares_sent)),
    ("time since row last heard from column", lambda peer: ago(peer.heard_s) if peer.is_present else "gone"),
    ("observations of row that column has not acknowledged", lambda peer: short(peer.lacks)),
)


def fleet_lines(fleet: Fleet, width: int = NARROWEST) -> list[str]:
    """Return a fleet as lines of at most this width."""
    width = max(width, NARROWEST)
    return _joined(_conversations(fleet, width), fleet, width, MOST_ARMS_SHOWN)


def brief_lines(fleet: Fleet, width: int, height: int) -> list[str]:
    """Return a fleet without who talks to whom, with as many arms as that leaves room for."""
    width = max(width, NARROWEST)
    rest = len(_joined([], fleet, width, 0))
    return _joined([], fleet, width, min(MOST_ARMS_SHOWN, max(1, height - rest)))[:height]


def _joined(conversations: list[str], fleet: Fleet, width: int, most_arms: int) -> list[str]:
    parts = [
        _summary(fleet, width),
        _arms(fleet, most_arms),
        _verdict(fleet, width),
        _bandits(fleet, width, most_arms),
        _members(fleet, width),
        conversations,
    ]
    if troubles := _troubles(fleet, width):
        parts.append(troubles)
    return [line.rstrip() for part in parts if part for line in (*part, "")][:-1]


def short(count: int) -> str:
    """Return a number in at most five characters.

    >>> short(999), short(12_345), short(1_234_567)
    ('999', '12k', '1.2M')
    """
    if count < 10_000:
        return str(count)
    for size, letter in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        if count < 1000 * size:
            value = count / size
            return f"{value:.1f}{letter}" if value < 10 else f"{value:.0f}{letter}"
    return "lots"


def ago(seconds: float | None) -> str:
    """Return a time in at most four characters.

    >>> ago(None), ago(0.25), ago(75), ago(7200), ago(300_000)
    ('?', '0.2s', '1m', '2h', '3d')
    """
    if seconds is None:
        return "?"
    if seconds < 10:
        return f"{seconds:.1f}s"
    for size, letter in _TIMES:
        if seconds < size:
            return f"{seconds:.0f}{letter}"
        seconds /= 60 if letter != "h" else 24
    return f"{seconds:.0f}d"


def _summary(fleet: Fleet, width: int) -> list[str]:
    count = len(fleet.members)
    members = "1 member" if count == 1 else f"{count} members"
    if fleet.silent:
        members = f"{count} of {count + len(fleet.silent)} members"
    decisions = "1 decision" if fleet.decisions == 1 else f"{fleet.decisions:,} decisions"
    each = f" ({fleet.packets_sent / fleet.decisions:.3f} packets each)" if fleet.decisions else ""
    observed = f"{decisions} since start{each}, {fleet.observations:,} observed"
    lines = textwrap.wrap(f"{cut(fleet.group, 2 * _NAME)}: {members}, {observed}", width, subsequent_indent="  ")
    lines += _leaves(fleet, width) + _silent(fleet, width) + _past(fleet, width)
    killed = {member.control_arm for member in fleet.members if member.control_arm is not None}
    for arm in sorted(killed):
        heard = sum(member.control_arm == arm for member in fleet.members)
        lines.append(f"! The kill switch is on, to {cut(arm, _NAME)}: {heard} of {count} members have heard it.")
    return lines


def _arms(fleet: Fleet, most: int) -> list[str]:
    arms = sorted(fleet.arms(), key=lambda arm: -arm.observations)
    if not arms:
        return []
    lines = [f"{'ARM':{_NAME}}  {'MEAN':>5}  {'INTERVAL':^14} {'OBSERVED':>12} {'TRAFFIC':>9}  {'P(BEST)':>8}"]
    for arm in arms[:most]:
        mean = "-" if arm.mean is None else f"{arm.mean:.3f}"
        interval = "-" if arm.low is None or arm.high is None else f"{arm.low:.3f} to {arm.high:.3f}"
        bar = "█" * round(_BAR * (arm.p_best or 0.0))  # of what it stands beside
        best = "-" if arm.p_best is None else f"{arm.p_best:.1%}"
        lines.append(
            f"{left(cut(arm.arm, _NAME), _NAME)}  {mean:>5}  {interval:^14} {arm.observations:>12,} {arm.share:>9.1%}  "
            f"{_remark(arm, len(fleet.members)) or f'{best:>8} {bar}'}"
        )
    if rest := arms[most:]:
        lines.append(f"... and {len(rest)} more arms, with {sum(arm.share for arm in rest):.1%} of the traffic")
    if fleet.leaves:
        lines.append("OBSERVED: everything known. TRAFFIC: the share of that.")
    elif fleet.own_observations < fleet.observations:
        lines.append("OBSERVED: everything known. TRAFFIC: share of what answering members observed.")
    return lines


def _verdict(fleet: Fleet, width: int) -> list[str]:
    said = [one.text for one in (fleet.verdict, fleet.lift) if one is not None]
    return _wrapped([*said, *_violations(fleet.guardrail)], width)


def _bandits(fleet: Fleet, width: int, most: int) -> list[str]:
    """Return a line for each bandit with a name, who leads there, and what its hold-out and its guardrail say."""
    bandits = sorted(fleet.bandits, key=lambda one: -one.observations)
    if not bandits:
        return []
    lines = [f"{'BANDIT':{2 * _NAME}}{'ARMS':>6}{'SEGMENTS':>10}{'OBSERVED':>12}  SET"]
    for one in bandits[:most]:
        switches = [] if one.control_arm is None else [f"kill switch to {cut(one.control_arm, _NAME)}"]
        switches += [f"{cut(arm, _NAME)} frozen" for arm in one.frozen]
        row = f"{left(cut(one.name, 2 * _NAME - 1), 2 * _NAME)}{len(one.arms):>6}{one.segments:>10,}"
        lines.append(cut(f"{row}{one.observations:>12,}  {', '.join(switches)}", width))
    if rest := bandits[most:]:
        lines.append(f"... and {len(rest)} more bandits, with {sum(one.observations for one in rest):,} observed")
    for place, one in enumerate(bandits):
        said = [] if one.verdict is None or place >= most else [one.verdict.text]
        if said and one.judged_segment:
            said = [f"in {cut(one.judged_segment, _NAME)}, its largest segment: {said[0]}"]
        said += [*([] if one.lift is None else [one.lift.text]), *_violations(one.guardrail, one.name)]
        lines += _wrapped([f"{cut(one.name, _NAME)}: {text}" for text in said], width)
    return lines


def _violations(guardrail: GuardrailStatistics | None, bandit: str = "") -> list[str]:
    if guardrail is None:
        return []
    terms = GuardrailTerms(guardrail.metric, guardrail.limit)
    shown = (structs.replace(arm, arm=cut(arm.arm, _NAME)) for arm in guardrail.arms if arm.is_violated)
    return [f"! {words(arm, terms, cut(bandit, _NAME))}." for arm in shown]


def _wrapped(texts: list[str], width: int) -> list[str]:
    return [
        line
        for text in texts
        for line in textwrap.wrap(cut(text, 2000), width, subsequent_indent="  " if text.startswith("! ") else "")
    ]


def _remark(arm: FleetArm, members: int) -> str:
    if arm.frozen_at:
        return "frozen" if arm.frozen_at == members else f"frozen at {arm.frozen_at}/{members}"
    return "" if arm.offered_at else "not chosen"


def _members(fleet: Fleet, width: int) -> list[str]:
    name = min(max(_NAME, width - 64), max([len("MEMBER"), *(columns_of(member.name) for member in fleet.members)]) + 2)
    lines = [f"{'MEMBER':{name}}{'DECISIONS':>11}{'OWN OBS.':>11}{'OPEN':>8}{'PACKETS':>11}{'MISSING':>11}{'UP':>7}"]
    for member in fleet.members:
        missing = fleet.missing(member)
        packets = f"{member.communication.sent / member.decisions:.3f}/d" if member.decisions else "-"
        mark = " !" if member.troubles or member.is_superseded else ""
        lines.append(
            f"{left(cut(member.name, name - 2) + mark, name)}{member.decisions:>11,}{member.own_observations:>11,}"
            f"{member.open_decisions:>8,}{packets:>11}{missing:>11,}{ago(member.uptime_s):>7}"
        )
    lines.append("Since its start: DECISIONS, PACKETS for each. MISSING: observed, not known here.")
    return [line[:width] for line in lines]


def _conversations(fleet: Fleet, width: int) -> list[str]:
    members = fleet.members
    if len(members) < 2:
        return []
    if 4 + _NAME + _CELL * len(members) > width:
        return _folded(fleet)
    lines: list[str] = []
    for title, cell in _MATRICES:
        lines.append(f"{title:<{4 + _NAME}}".upper() if not lines else f"\n{title}".upper())
        lines.append(" " * (4 + _NAME) + "".join(f"{number:>{_CELL}}" for number in range(1, len(members) + 1)))
        for number, member in enumerate(members, 1):
            peers = {peer.name: peer for peer in member.peers}
            cells = "".join(f"{_of_pair(member, other, peers, cell):>{_CELL}}" for other in members)
            lines.append(f"{number:>3} {left(cut(member.name, _NAME), _NAME)}{cells}")
    return [part for line in lines for part in line.split("\n")]


def _of_pair(
    member: Statistics, other: Statistics, peers: dict[str, PeerStatistics], cell: Callable[[PeerStatistics], str]
) -> str:
    if member.name == other.name:
        return "·"
    peer = peers.get(other.name)
    return "-" if peer is None else cell(peer)


def _folded(fleet: Fleet) -> list[str]:
    lines = [
        f"WHO TALKS TO WHOM ({len(fleet.members)} members, one line for each)",
        f"{'MEMBER':{_NAME}}{'HEARS':>10}{'SHARES':>10}{'LONGEST SILENCE':>22}{'MOST BEHIND':>22}",
    ]
    for member in fleet.members:
        present = [peer for peer in member.peers if peer.is_present]
        heard = [peer for peer in present if peer.heard_s is not None]
        hears = f"{len(heard)} of {len(present)}"
        silence = max(heard, key=lambda peer: peer.heard_s or 0.0, default=None)
        behind = max(present, key=lambda peer: peer.lacks, default=None)
        lines.append(
            f"{left(cut(member.name, _NAME - 1), _NAME)}{hears:>10}"
            f"{short(sum(peer.shares_sent for peer in member.peers)):>10}"
            + right("-" if silence is None else f"{ago(silence.heard_s)} {cut(silence.name, 14)}", 22)
            + right("-" if behind is None or not behind.lacks else f"{short(behind.lacks)} {cut(behind.name, 14)}", 22)
        )
    return lines


def _leaves(fleet: Fleet, width: int) -> list[str]:
    """Return what relays say of their leaves, which do not answer for themselves."""
    leaves = [leaf for leaf in fleet.leaves if leaf.is_present]
    if not leaves:
        return []
    relays = [member for member in fleet.members if member.role is Role.RELAY]
    shown = ", ".join(
        f"{cut(relay.name, _NAME)} {sum(peer.is_present and peer.role is Role.LEAF for peer in relay.peers):,}"
        for relay in relays[:MOST_RELAYS_SHOWN]
    )
    more = f" and {len(relays) - MOST_RELAYS_SHOWN} more" if len(relays) > MOST_RELAYS_SHOWN else ""
    silence = max((leaf.heard_s or 0.0 for leaf in leaves), default=0.0)
    text = (
        f"{len(leaves):,} leaves behind relays ({shown}{more}), as the relays report: they have observed "
        f"{sum(leaf.observations for leaf in leaves):,}, and each was heard within {ago(silence)}."
    )
    lacking = [leaf.name for leaf in leaves if leaf.lacks_settings]
    lines = textwrap.wrap(text, width, subsequent_indent="  ")
    if lacking:
        names = ", ".join(cut(name, _NAME) for name in lacking[:MOST_RELAYS_SHOWN])
        rest = f" and {len(lacking) - MOST_RELAYS_SHOWN:,} more" if len(lacking) > MOST_RELAYS_SHOWN else ""
        text = f"! Settings have not reached all leaves yet: {names}{rest}."
        lines += textwrap.wrap(text, width, subsequent_indent="  ")
    return lines


def _silent(fleet: Fleet, width: int) -> list[str]:
    if not fleet.silent:
        return []
    names = ", ".join(cut(name, 2 * _NAME) for name in fleet.silent)
    does = "does" if len(fleet.silent) == 1 else "do"
    text = f"! {names} {does} not answer and said no farewell: killed, cut off or slow."
    return textwrap.wrap(text, width, subsequent_indent="  ")


def _past(fleet: Fleet, width: int) -> list[str]:
    """Return who is gone, in a line; and which versions there are, if they differ."""
    gone, observations = fleet.gone
    names = "1 name is" if gone == 1 else f"{gone:,} names are"
    lines = [f"{names} gone; the {observations:,} observations of theirs that are known count."] if gone else []
    versions = Counter(member.version or "?" for member in fleet.members)
    if len(versions) > 1:
        counted = ", ".join(f"{cut(version, _NAME)} at {count}" for version, count in sorted(versions.items()))
        lines += textwrap.wrap(f"Versions of cobandit: {counted}", width, subsequent_indent="  ")
    return lines


def _troubles(fleet: Fleet, width: int) -> list[str]:
    return [
        line
        for name, trouble in fleet.troubles
        for line in textwrap.wrap(f"! {name}: {trouble}", width, subsequent_indent="  ")
    ]
