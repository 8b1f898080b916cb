"""One member's status as a value, combined from the counts of its machine and its drive.

This file owns the counts since this start. It changes nothing, and does not know who asks.
"""

from collections.abc import Mapping

from cobandit import __version__
from cobandit.live.drive.receiving import Receiving
from cobandit.live.drive.sending import Sending
from cobandit.live.drive.writing import Writing
from cobandit.live.machine.machine import Machine
from cobandit.live.status.bandit_statistics import bandits_of
from cobandit.live.status.lift import lifts_of
from cobandit.live.status.roles import role_of
from cobandit.live.status.statistics import MAX_GONE_NAMED, Communication, Statistics, arms_of, peers_of
from cobandit.live.status.verdict import Judgement, Verdict
from cobandit.live.transports.base import Transport


class Reporting:
    """Reports on one member, on its loop."""

    def __init__(
        self, machine: Machine, transport: Transport, *, receiving: Receiving, sending: Sending, writing: Writing
    ) -> None:
        self._machine, self._transport = machine, transport
        self._receiving, self._sending, self._writing = receiving, sending, writing
        self.started_at = machine.clock.now()
        self._own_at_start = self._own()

    def _own(self) -> int:
        return sum(self._machine.agent.knowledge.by_bandit()[1].values())

    def statistics(self, judgement: Judgement, verdicts: Mapping[str, tuple[str, Verdict]]) -> Statistics:
        """Return the member's status, with the last verdicts: on its plain bandit, and on named ones."""
        machine, decider, now = self._machine, self._machine.decider, self._machine.clock.now()
        own = self._own()
        counts, digest = self._receiving.counts + self._sending.counts, machine.controls.digest
        terms = machine.terms
        lifts, guardrails = lifts_of(machine.agent, machine.holding_out), machine.guardrails.standings()
        return Statistics(
            name=machine.terms.name,
            group=machine.terms.group,
            at=now,
            uptime_s=max(0.0, now - self.started_at),
            incarnation=machine.agent.incarnation,
            policy=type(machine.agent.policy).__name__ if machine.agent.has_plain else "",
            decisions=decider.decisions,
            own_observations=own,
            observations=(
                machine.agent.policy.tally.observations
                if machine.agent.has_plain
                else sum(machine.agent.knowledge.by_bandit()[0].values())
            ),
            open_decisions=decider.open_count,
            arms=(
                arms_of(
                    machine.agent,
                    machine.controls.frozen,
                    machine.operations.removed,
                    p_best=judgement.p_best,
                    propensities=decider.published.propensities(),
                )
                if machine.agent.has_plain
                else ()
            ),
            control_arm=machine.controls.control_arm,
            peers=peers_of(
                machine.agent,
                now,
                machine.peer_versions.of,
                lambda peer: machine.outbox.lacks_controls(peer, digest),
            ),
            communication=Communication(**{name: counts[name] for name in Communication.__struct_fields__}),
            refused={reason.name.lower(): count for reason, count in machine.guard.refusals.items()},
            quarantined=machine.guard.quarantined(now),
            troubles=machine.alerts.troubles,
            synced_batches=self._writing.synced_batches,
            observed=max(0, own - self._own_at_start),
            immediate=machine.immediate,
            rewards_waiting=machine.outbox.waiting,
            rewards_brought=machine.rewards_for_others.brought,
            rewards_given_up=machine.rewards_for_others.given_up,
            latest_setting=machine.controls.latest,
            settings_from=machine.introduction.settings_from,
            is_superseded=machine.succession.superseded_by is not None,
            certificate_s=(
                None
                if (until := self._transport.valid_until) is None
                else max(0.0, until - machine.clock.time_of_day())
            ),
            trust_number=self._transport.trust_number,
            gone=machine.agent.peers.gone,
            gone_observations=machine.agent.peers.gone_observations(),
            gone_names=machine.agent.peers.last_forgotten(MAX_GONE_NAMED),
            version=__version__,
            role=role_of(is_relay=terms.is_relay, is_leaf=terms.is_leaf),
            homes=() if machine.leaf is None else machine.leaf.homes.talking,
            rewards_handed_on=machine.rewards_for_others.handed_on,
            bandits=bandits_of(machine.agent, machine.bandits, lifts, guardrails, verdicts),
            verdict=judgement.verdict,
            lift=lifts.get(""),
            guardrail=guardrails.get(""),
        )
