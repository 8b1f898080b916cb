"""What is impossible: what no agent can have observed, and no peer can have said, whatever the network does.

Checks raise `LocalError` or `PeerError` and change nothing. They ignore messages that are only old, doubled or out of
order.
"""

from collections.abc import Sequence

from cobandit.core.candidates import Candidates
from cobandit.core.link import Link
from cobandit.core.members import Members
from cobandit.core.messages import (
    EVERYBODY_ELSE,
    MAX_INCARNATION,
    MAX_NUMBER,
    MAX_OBSERVATIONS,
    AgentId,
    Cells,
    Changes,
    Delivery,
    Notice,
    Presence,
    Receipt,
    Share,
)
from cobandit.core.pen_checks import check_pen, check_settled
from cobandit.core.pen_names import lender_of
from cobandit.core.pens import MAX_PEN_CELLS
from cobandit.core.places import MAX_PERIOD, PLAIN, At, Bandit, can_be, difference
from cobandit.core.replica import MAX_CELLS_PER_AGENT, MAX_FACTS_PER_MESSAGE, MAX_PER_AGENT, News, Replica
from cobandit.core.running_totals import MAX_TOTAL
from cobandit.values.checks import check_name, check_whole, is_name
from cobandit.values.errors import LocalError, PeerError
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS, Arm, ArmTally

SPARE_SESSIONS = 2**40
"""The highest sessions, which a peer may not claim to know: an agent must always find a later session to begin."""


def check_observations(tallies: Sequence[ArmTally], replica: Replica, at: At = PLAIN, *, before: int = 0) -> int:
    """Refuse own observations that are impossible, or that could not be sent. Return `before` plus their number.

    Raises:
        LocalError: There are none, the bandit or an arm is not this agent's, an arm comes twice, no rewards add up to
            that, or there would be too many.
    """
    if not (isinstance(tallies, list | tuple) and tallies):
        raise LocalError(f"a batch must be a list of at least one ArmTally, not {tallies!r}")
    bandit, segment = at
    if bandit not in replica.bandits:
        raise LocalError(f"bandit {bandit!r} is not one of this agent: declare it first")
    if segment:
        check_name("a segment", segment, LONGEST_NAME)
    units_per_reward, total = replica.units_of(bandit), before + replica.observations
    for entry in tallies:
        if not isinstance(entry, ArmTally):
            raise LocalError(
                f"a batch must be a list of ArmTally(arm, observations, reward_sum, square_sum), not of {entry!r}"
            )
        arm, count, reward_sum, square_sum = entry
        if not isinstance(arm, str) or not replica.has(bandit, arm):
            arms = ", ".join(sorted(replica.arms_of(bandit)))
            raise LocalError(f"arm {arm!r} is not one of {arms}: update only arms of this agent")
        are_whole = type(count) is type(reward_sum) is type(square_sum) is int
        if not (are_whole and 0 < count <= MAX_OBSERVATIONS and entry.can_be(units_per_reward)):
            check_whole(f"the number of observations of arm {arm!r}", count, 1, MAX_OBSERVATIONS)
            check_whole(f"the reward sum of arm {arm!r}, in quanta,", reward_sum, 0, count * units_per_reward)
            check_whole(f"the square sum of arm {arm!r}", square_sum, 0)
            raise LocalError(f"no {count} rewards of arm {arm!r} add up to {reward_sum} and squares of {square_sum}")
        total += count
    if len({entry.arm for entry in tallies}) < len(tallies):
        raise LocalError("an arm is in the batch twice: add the two up")
    if total > MAX_OBSERVATIONS:
        raise LocalError(
            f"{total} observations are more than the {MAX_OBSERVATIONS} of one incarnation: start another one"
        )
    return total - replica.observations


def check_share(share: Share, agent: AgentId, *, is_tolerant: bool, is_led: bool) -> None:
    """Refuse a share from an agent that follows other rules, or with impossible numbers.

    Where no message is lost, a share may be empty only if `is_led`: from a relay, because the receiver sets the pair's
    pace, or if what was buffered may have left its window.
    """
    sender = share.sender
    if (share.delivery is not None) != is_tolerant:
        one, other = (agent, sender) if is_tolerant else (sender, agent)
        raise PeerError(f"{one} is loss-tolerant and {other} is not: a whole group must agree")
    least = 0 if is_tolerant or is_led else 1
    if not (least <= share.number <= MAX_NUMBER and least <= share.observations <= MAX_NUMBER):
        raise PeerError(f"{sender} sent share {share.number} with {share.observations} observations")
    if not (least == 0 or share.changes.cells):
        raise PeerError(f"{sender} sent an empty share")


def check_delivery(sender: AgentId, delivery: Delivery, agent: AgentId, session: int) -> None:
    """Refuse impossible sessions and receipts."""
    receipt = delivery.receipt
    if not (0 <= delivery.session < MAX_INCARNATION and 0 <= delivery.attempt <= MAX_NUMBER):
        raise PeerError(f"{sender} speaks of itself as session {delivery.session}, attempt {delivery.attempt}")
    if not (0 <= receipt.session < MAX_INCARNATION and all(0 <= value <= MAX_NUMBER for value in receipt[1:])):
        raise PeerError(f"{sender} sent an impossible receipt: {receipt}")
    if receipt.session > session and receipt.session >= MAX_INCARNATION - SPARE_SESSIONS:
        raise PeerError(f"{sender} knows session {receipt.session} of {agent}, after which there are few more")


def check_receipt(
    sender: AgentId, link: Link | None, delivery: Delivery, agent: AgentId, session: int, number: int
) -> None:
    """Refuse a receipt for what this agent never said in this session; `number` is the end of its log."""
    receipt = delivery.receipt
    if receipt.session != session:
        return
    sent, is_present = receipt.number, False
    if link is not None and link.retransmit is not None:
        sent = link.exchange.shares_sent
        # Another session of the peer may have seen shares that this agent has forgotten.
        is_present = link.retransmit.is_known and delivery.session == link.peer.session
    if (is_present and receipt.number > sent) or receipt.held > number:
        raise PeerError(
            f"{sender} acknowledges share {receipt.number} and number {receipt.held}, but {agent} has said "
            f"only {sent} and {number}: do two processes run under one name?"
        )


def check_words(
    sender: AgentId,
    speaker: Delivery | Notice | None,
    changes: Changes,
    link: Link | None,
    members: Members,
    replica: Replica,
    candidates: Candidates,
) -> None:
    """Refuse what a sender may not say, or what cannot be true."""
    _check_speaker(sender, speaker, changes, replica)
    check_changes(changes, sender, replica)
    for presence in changes.presences:
        _check_presence(link, presence, members, replica)
    if link is not None:
        _check_eliminations(link, changes, candidates, same_arms=members.same_arms)


def _check_speaker(sender: AgentId, speaker: Delivery | Notice | None, changes: Changes, replica: Replica) -> None:
    """Refuse facts that a sender may not report. It may report its own and what the receiver observed; a relay, all.

    A sender that has not heard of the receiver's present incarnation may report on that too, but nothing new. Only
    relays send totals.
    """
    said, is_relay = said_by(sender, changes, replica), speaker is not None and speaker.is_introduced
    if said is not None and (speaker is None or said.session == speaker.session):
        is_relay = said.is_relay
    check_pen(sender, changes, replica, is_relay=is_relay)
    for told in changes.cells:
        if told.agent == EVERYBODY_ELSE and not is_relay:
            raise PeerError(f"{sender} tells a total of what others observed, and is not a relay")
        if told.agent == replica.agent and told.incarnation == replica.incarnation:
            news = (entry.observations > replica.held(told, entry.arm).observations for entry in told.tallies)
            is_news = replica.is_served(told) and any(news)
        else:
            is_news = not is_relay and told.agent not in (sender, replica.agent)
        if is_news:
            raise PeerError(f"{sender} speaks of {told.agent}: agents share only what they observed")
    for agent in [said.agent for words in (changes.eliminations, changes.presences) for said in words]:
        if agent != sender:
            raise PeerError(f"{sender} speaks of {agent}: agents share only what they observed")


def check_changes(changes: Changes, sender: AgentId, replica: Replica) -> None:
    """Refuse facts that cannot be true, from any sender."""
    if not 0 <= changes.base <= changes.upto <= MAX_NUMBER:
        raise PeerError(f"{sender} tells of its log from {changes.base} to {changes.upto}")
    for words in (changes.cells, changes.eliminations, changes.presences):
        for told in words:
            _check_life(sender, told.incarnation)
    for presence in changes.presences:
        _check_life(sender, presence.session)
        if not 0 <= presence.number <= MAX_NUMBER:
            raise PeerError(f"{sender} sent notice {presence.number} of session {presence.session}")
    for words in (changes.eliminations, changes.presences):
        if len({told.agent for told in words}) < len(words):
            raise PeerError(f"{sender} says twice who is here, or which arms are eliminated")
    for told in changes.eliminations:
        _check_names(sender, told.agent, *told.arms)
        known = replica.eliminated(told.agent, told.incarnation)
        if not (len(set(told.arms)) == len(told.arms) and len({*known, *told.arms}) <= MOST_ARMS):
            raise PeerError(f"{sender} tells of {len(told.arms)} eliminated arms, some of them twice or too many")
    check_settled(changes, sender, replica)
    _check_places(changes, sender)
    _check_cells(changes, sender, replica)


def _check_life(sender: AgentId, number: int) -> None:
    if not 0 <= number < MAX_INCARNATION:
        raise PeerError(f"{sender} tells of incarnation or session {number}, which cannot be")


def _check_names(sender: AgentId, *names: str) -> None:
    if not all(is_name(name, LONGEST_NAME) for name in names if name):
        raise PeerError(f"{sender} tells of a name of more than {LONGEST_NAME} bytes")


def _check_places(changes: Changes, sender: AgentId) -> None:
    if len({(*told[:2], *told[3:]) for told in changes.cells}) < len(changes.cells):
        raise PeerError(f"{sender} tells of the cells of one incarnation twice")
    if sum([len(told.tallies) for told in changes.cells]) > MAX_FACTS_PER_MESSAGE:
        raise PeerError(f"{sender} tells of more than {MAX_FACTS_PER_MESSAGE} cells in one message")
    for told in changes.cells:
        _check_names(sender, told.agent)
        if not can_be((told.bandit, told.segment)):
            raise PeerError(f"{sender} tells of a bandit or a segment with a name that cannot be")


def _check_cells(changes: Changes, sender: AgentId, replica: Replica) -> None:
    said = said_by(sender, changes, replica)
    new: dict[AgentId, tuple[int, int]] = {}
    for told in changes.cells:
        if not 0 <= told.period < MAX_PERIOD:
            raise PeerError(f"{sender} tells of period {told.period}, which cannot be")
        if len({entry.arm for entry in told.tallies}) < len(told.tallies):
            arms = [entry.arm for entry in told.tallies]
            twice = next(arm for arm in arms if arms.count(arm) > 1)
            raise PeerError(f"{sender} listed arm {twice!r} twice")
        is_present = told.agent == sender and (said is None or said.incarnation == told.incarnation)
        if told.agent == EVERYBODY_ELSE:
            _check_total(told, sender, replica)
            continue
        for entry in told.tallies if replica.is_served(told) else ():
            arm, count = entry.arm, entry.observations
            before = replica.held(told, arm)
            if not replica.has(told.bandit, arm) or 0 < count <= before.observations:
                continue  # of no use here; or old news, which changes nothing whatever it says
            added = entry.minus(before)
            # A peer may have lied about an incarnation that is over: then the cell is skipped (`Replica.merge`).
            units_per_reward = replica.units_of(told.bandit)
            is_sound = (added if is_present else entry).can_be(units_per_reward)
            if not (0 < count <= MAX_OBSERVATIONS and is_sound):
                raise PeerError(
                    f"{sender} sent {entry[1:]} for arm {arm!r} of {told.agent} after {before[1:]}: no rewards of at "
                    f"most {units_per_reward} add up to that (do both sides declare the same quantum?)"
                )
            cells, observations = new.get(told.agent, (0, 0))
            new[told.agent] = cells + (not before.observations), observations + added.observations
    for agent, (cells, observations) in new.items():
        held_cells, held_observations = replica.amount_of(agent)
        most = MAX_CELLS_PER_AGENT if lender_of(agent) is None else MAX_PEN_CELLS
        is_too_much = held_cells + cells > most or held_observations + observations > MAX_PER_AGENT
        if is_too_much and agent != replica.agent:  # `witnesses.py` limits reports about this agent
            raise PeerError(f"{sender} tells of more than one agent can have observed: {agent}, {observations} more")
        if replica.number + observations > MAX_NUMBER // 2:
            raise PeerError(f"{sender} tells of {observations} observations: {replica.agent} has heard of too many")


def _check_total(told: Cells, sender: AgentId, replica: Replica) -> None:
    for entry in told.tallies if told.bandit in replica.bandits else ():
        units_per_reward = replica.units_of(told.bandit)
        if not (0 < entry.observations <= MAX_TOTAL and entry.can_be(units_per_reward)):
            raise PeerError(
                f"{sender} sent a total of {entry[1:]} for arm {entry.arm!r}: no rewards of at most "
                f"{units_per_reward} add up to that (do both sides declare the same quantum?)"
            )


def _check_presence(link: Link | None, presence: Presence, members: Members, replica: Replica) -> None:
    """Refuse a sender that counts rewards differently, cannot be a peer, or changes its arms within a session."""
    sender = presence.agent
    if presence.is_relay and presence.is_leaf:
        raise PeerError(f"{sender} says that it is a relay and a leaf, which nobody is")
    if presence.units_per_reward != replica.units_per_reward:
        raise PeerError(
            f"{sender} counts {presence.units_per_reward} quanta in a reward, {replica.agent} counts "
            f"{replica.units_per_reward}: a whole group must declare the same quantum"
        )
    mine, theirs = replica.bandits[""], _plain_of(presence)
    if mine[3:] != theirs[3:]:
        raise PeerError(
            f"{sender} has {theirs.periods} periods of {theirs.period:g} in its window, {replica.agent} has "
            f"{mine.periods} of {mine.period:g}: a whole group must declare the same window"
        )
    try:
        arms = members.check(sender, presence.arms, presence.bandits)
    except LocalError as error:  # here the arms and the name are the sender's, so the sender must act
        raise PeerError(f"{sender} cannot join: {error}") from error
    said = replica.presence_of(sender)
    is_same_session = said is not None and said.session == presence.session
    if (link is not None and link.retransmit is None) or is_same_session:
        check_arms(link, arms)
    if said is not None and is_same_session and said.bandits != presence.bandits:
        raise PeerError(f"{sender} serves other bandits than it said before: it must begin a new session for that")


def _plain_of(presence: Presence) -> Bandit:
    """Return the plain bandit as a peer declares it."""
    plain = Bandit("", (), presence.units_per_reward)
    return next((bandit for bandit in presence.bandits if not bandit.name), plain)


def check_arms(link: Link | None, arms: tuple[Arm, ...]) -> None:
    """Refuse arms that differ from a known peer's: only a later session may serve others."""
    if link is not None and set(link.peer.arms) != set(arms):
        raise PeerError(
            f"{link.peer.name} joined with arms {', '.join(arms)} but had {', '.join(link.peer.arms)} before: "
            "start it with the same arms, or under a new name"
        )


def _check_eliminations(link: Link, changes: Changes, candidates: Candidates, *, same_arms: bool) -> None:
    """Refuse eliminations that are impossible if no message is lost. Otherwise the arms may not be known yet."""
    for told in changes.eliminations if link.retransmit is None else ():
        left = candidates.of(link.peer).difference(told.arms)
        if not set(told.arms) <= set(link.peer.arms) or not (left or same_arms):
            raise PeerError(f"{told.agent} eliminated {', '.join(told.arms)}, of {', '.join(link.peer.arms)}")


def is_heeded(link: Link, speaker: Delivery | Notice, changes: Changes) -> bool:
    """Return whether a message is from the peer's present session, or introduces a later one.

    Until a session has announced its arms, it is unknown what it wants, and why it has eliminated an arm.
    """
    session, known = speaker.session, link.peer.session
    if known is None and not speaker.is_introduced:
        return True  # only the driver has reported this peer so far
    return session == known or (session > (known or -1) and any(told.session == session for told in changes.presences))


def has_forgotten(news: News, replica: Replica) -> bool:
    """Return whether a peer has returned what this state should know: from its first incarnation, or a later one."""
    told = [key.incarnation for key, _ in news.cells if key.agent == replica.agent]
    return max(told) >= min(replica.lives)


def believed(
    sender: AgentId, changes: Changes, session: int | None, replica: Replica, *, is_heeded: bool, is_leaf: bool
) -> Changes:
    """Return the part of a message that counts: about other agents only from a relay, and some of it only if heeded.

    A leaf takes totals, and no rows but its own; all others take rows and no totals. Cells of a named bandit count only
    if the sender's session declares that bandit as this agent does: under another definition they count something else,
    and either definition may have changed while the message was under way. A later session sends them again, unless its
    disk is lost.
    """
    if not is_heeded:
        changes = changes._replace(eliminations=(), presences=())
    said = said_by(sender, changes, replica)
    is_passed_on, alike = is_relay(said, session), dict[str, bool]()

    def counts(told: Cells) -> bool:
        if told.bandit not in alike:
            alike[told.bandit] = not told.bandit or is_alike(told.bandit, said, session, replica)
        if not alike[told.bandit]:
            return False
        if told.agent == EVERYBODY_ELSE:
            return is_leaf and is_passed_on
        return told.agent == replica.agent or (not is_leaf and (is_passed_on or told.agent == sender))

    if changes.settled and (is_leaf or not (is_passed_on or lender_of(sender) == replica.agent)):
        changes = changes._replace(settled=())
    if all(map(counts, changes.cells)):
        return changes
    return changes._replace(cells=tuple(filter(counts, changes.cells)))


def is_alike(bandit: str, said: Presence | None, session: int | None, replica: Replica) -> bool:
    """Return whether the sender's session has declared a bandit as it is declared here."""
    mine = replica.bandits.get(bandit)
    declared = () if said is None or session not in (None, said.session) else said.bandits
    return mine is not None and any(one.name == bandit and difference(mine, one) is None for one in declared)


def is_mistaken(changes: Changes, members: Members, replica: Replica) -> bool:
    """Return whether a message must be sent again, because one side is mistaken.

    Either the sender does not know yet that the receiver is a leaf, or no longer is one; or the two clocks differ, and
    the sender's cells are too far ahead here.
    """
    if any(map(replica.is_ahead, changes.cells)):
        return True
    if members.is_leaf:
        return any(told.agent not in (members.agent, EVERYBODY_ELSE) for told in changes.cells)
    return any(told.agent == EVERYBODY_ELSE for told in changes.cells)


def is_relay(said: Presence | None, session: int | None = None) -> bool:
    """Return whether an agent has said that it passes on what others observed: ever, or in the given session."""
    return said is not None and said.is_relay and session in (None, said.session)


def said_by(sender: AgentId, changes: Changes, replica: Replica) -> Presence | None:
    """Return how a sender introduces itself, or last did."""
    return changes.presences[0] if changes.presences else replica.presence_of(sender)


def is_meant(receipt: Receipt, session: int) -> bool:
    """Return whether a share asks the present session, and not an earlier one, which may have answered already.

    A peer that asked an earlier one asks again as soon as it hears of this one. A peer that holds nothing from this
    agent yet has never been answered.
    """
    return receipt.session == session or not (receipt.number or receipt.held)


def continues(link: Link, delivery: Delivery, changes: Changes, session: int) -> bool:
    """Return whether a heeded message leaves out only what this agent holds, in this session, of the sender's log.

    What a sender believes to be wanted depends on the receiver's session that it knows.
    """
    return delivery.receipt.session == session and changes.base <= link.held


def latest_life(receipt: Receipt, changes: Changes, replica: Replica, session: int) -> int:
    """Return the latest session or incarnation of the receiver that a message knows and the receiver does not, or 0."""
    own = (told.incarnation for told in changes.cells if told.agent == replica.agent)
    ahead = [incarnation for incarnation in own if incarnation > replica.incarnation]
    return max((*ahead, receipt.session if receipt.session > session else 0))
