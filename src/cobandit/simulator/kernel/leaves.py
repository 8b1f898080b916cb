"""Leaves and what a relay tells them, compiled: `Totals`, `RunningTotals.but`, and a leaf's side of Algorithm 1.

A leaf has a link to each relay that it knows. A share up tells the arms that changed, a share down the totals that did.
"""

from cobandit.simulator.kernel import codes
from cobandit.simulator.kernel.cells import cell_of, spot_of
from cobandit.simulator.kernel.hubs import finish_parcel, put
from cobandit.simulator.kernel.jit import compiled, inlined
from cobandit.simulator.kernel.lossy import push_letter
from cobandit.simulator.kernel.mail import UNDER_WAY, speak
from cobandit.simulator.kernel.sizes import notice_size
from cobandit.simulator.kernel.tables import ONE_OBSERVATION, Record, Tables
from cobandit.simulator.kernel.talking import HEARD, JOINED, LEFT, OBSERVED, number_share, threshold_at


@inlined
def relay_of(t: Tables, leaf: int, place: int) -> int:
    """Return the node of the relay that a leaf knows at a place of its order (`Relays.order`)."""
    return t.world.agents + (leaf + place) % t.hubs.shape[0]


@inlined
def is_settled(t: Tables, leaf: int) -> bool:
    """Return whether a leaf has nothing left to learn (`Candidates.are_settled`): relays have all arms."""
    me = t.agents[leaf]
    return t.world.settles and me.candidates == 1 and me.arm_count == t.world.arms


@inlined
def take(t: Tables, happened: int, link: Record, reached: bool) -> bool:
    """Look up what an input does to a pair, and do it (`Exchange._take`). Return whether to share now."""
    step = t.rules[happened, int(link.demanded), int(reached)]
    link.demanded = step.demanded
    return step.shares


@inlined
def has_reached(t: Tables, leaf: int, place: int, link: Record) -> bool:
    """Return whether the buffer holds enough for a share (`Exchange.has_reached`)."""
    buffered = t.agents[leaf].own_pulls - link.shared_version
    return buffered >= threshold_at(t, leaf, relay_of(t, leaf, place), link.share_number)


@compiled
def share_up(t: Tables, leaf: int, place: int, is_answer: bool) -> None:
    """Share with a relay (`Speech.share`)."""
    link, version = t.uplinks[leaf, place], t.agents[leaf].own_pulls
    letter = push_letter(t, codes.SHARE, leaf, relay_of(t, leaf, place))
    number_share(t, link, is_answer)
    base = link.shared_version
    letter.link, letter.pool = leaf * t.uplinks.shape[1] + place, UNDER_WAY
    letter.number, letter.count, letter.since = link.shares, version - base, t.world.parcels_end
    link.shared_version = version
    arms, begin = t.world.arms, t.agents[leaf].history
    if version - base < arms:
        for pull in range(base, version):  # an arm is told for its last observation
            arm = t.history[begin + pull] >> 1
            if t.changed[leaf, arm] == pull + 1:
                put(t, cell_of(t, leaf, arm), ONE_OBSERVATION * t.seen[leaf, arm].pulls + t.seen[leaf, arm].rewards)
    else:
        for arm in range(arms):
            if t.changed[leaf, arm] > base:
                put(t, cell_of(t, leaf, arm), ONE_OBSERVATION * t.seen[leaf, arm].pulls + t.seen[leaf, arm].rewards)
    finish_parcel(t, letter, t.agents[leaf].name_size)


@inlined
def observed_by_leaf(t: Tables, leaf: int) -> bool:
    """Take an own observation, and share with every relay with which the protocol says so (`Endpoint.observe`)."""
    if is_settled(t, leaf):
        return False
    sent = False
    for place in range(t.uplinks.shape[1]):
        link = t.uplinks[leaf, place]
        if take(t, OBSERVED, link, has_reached(t, leaf, place, link)):
            share_up(t, leaf, place, False)
            sent = True
    return sent


@compiled
def share_down(t: Tables, relay: int, leaf: int, place: int) -> None:
    """Answer a leaf at once, with the totals that have changed (`Exchange.ask`, `RunningTotals.told_to`)."""
    link = t.uplinks[leaf, place]
    letter = push_letter(t, codes.SHARE, t.world.agents + relay, leaf)
    link.answers += 1
    letter.link, letter.pool = leaf * t.uplinks.shape[1] + place, UNDER_WAY
    letter.number, letter.count, letter.since = link.answers, 0, t.world.parcels_end
    for arm in range(t.world.arms):
        if t.total_at[relay, arm] > link.told and t.seen[leaf, arm].position >= 0:
            total = t.totals[relay, arm] - t.cells[relay, cell_of(t, leaf, arm)]
            if total > 0:
                put(t, arm, total)
    finish_parcel(t, letter, 1)  # totals are of everybody else, whose name is empty
    link.told = t.hubs[relay].number


@inlined
def used(t: Tables, leaf: int, arm: int) -> int:
    """Return what a leaf knows of others: the word of the relay that knows most (`Totals.of`)."""
    most = t.heard[leaf, 0, arm]
    for place in range(1, t.heard.shape[1]):
        most = max(most, t.heard[leaf, place, arm])
    return most


@compiled
def hear_as_leaf(t: Tables, leaf: int, place: int, pool: int, since: int, told: int) -> None:
    """Take the totals of a relay, and answer if the protocol says so (`Totals.heard`, `Endpoint._answer`)."""
    me, link = t.agents[leaf], t.uplinks[leaf, place]
    for spot in range(since, since + told):
        entry = t.parcels[pool, spot_of(t, spot)]
        arm = entry.cell
        before = used(t, leaf, arm)
        t.heard[leaf, place, arm] = entry.value
        after = used(t, leaf, arm)
        t.knowledge[leaf, t.seen[leaf, arm].position] += after - before
        me.observed += (after >> 32) - (before >> 32)
    if is_settled(t, leaf):
        return
    enough = has_reached(t, leaf, place, link) if t.world.answers_wait else me.own_pulls > link.shared_version
    if take(t, HEARD, link, enough):
        share_up(t, leaf, place, True)


@compiled
def notify_relays(t: Tables, slot: int, kind: int, leaf: int, arm: int) -> None:
    """Count a notice to every relay that a leaf knows. It changes nothing there: relays pass no notices on."""
    speak(t, t.agents[leaf], slot)
    for place in range(t.uplinks.shape[1]):
        t.uplinks[leaf, place].notices += 1
        if t.world.counts_sizes:
            number = t.agents[leaf].notices + (1 if kind == codes.LEAVE else 0)
            t.world.bytes += notice_size(t, kind, leaf, relay_of(t, leaf, place), arm, number, (0, 0))


@compiled
def rehome(t: Tables) -> None:
    """Let leaves turn to their homes, and relays to each other, as relays go away and come back (`Fleet.rehome`)."""
    relays, leaves = t.hubs.shape[0], t.world.agents
    for leaf in range(leaves):
        homes = 0
        for place in range(t.uplinks.shape[1]):
            link = t.uplinks[leaf, place]
            is_here = homes < t.world.homes and not t.agents[relay_of(t, leaf, place)].away
            homes += is_here
            if is_here != link.present:
                link.present = is_here
                take(t, JOINED if is_here else LEFT, link, False)
    for place in range(t.edges.shape[0] if relays > 1 else 0):
        edge = t.edges[place]
        is_here = not t.agents[edge.receiver].away
        if not t.agents[edge.sender].away and is_here != edge.present:
            edge.present = is_here
            take(t, JOINED if is_here else LEFT, edge, False)
