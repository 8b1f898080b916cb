"""The events that can be logged. Every line begins with an event's name, to alert on, and then describes it in words.

docs/operating.md has a table of them. Names stay; wording may change. The program decides where lines go
(`cobandit.live.process.logs`).
"""

import logging
from collections.abc import Mapping
from enum import Enum

log = logging.getLogger("cobandit")


class LogEvent(Enum):
    """The subject of a line."""

    ARMS_ALL_FROZEN = "arms_all_frozen"
    ARMS_DIFFER = "arms_differ"
    ARMS_TOO_MANY = "arms_too_many"
    BANDITS_DIFFER = "bandits_differ"
    CERTIFICATE_EXPIRES = "certificate_expires"
    CLOCK_DOUBTED = "clock_doubted"
    CONTROL_ARM_MISSING = "control_arm_missing"
    CONTROLS_CHANGED = "controls_changed"
    FILE_EXPOSED = "file_exposed"
    GUARDRAIL_VIOLATED = "guardrail_violated"
    JOURNAL_UNWRITABLE = "journal_unwritable"
    LIBRARY = "library"
    LOG_LIMITED = "log_limited"
    MAILBOX_UNREADABLE = "mailbox_unreadable"
    MEMBER_FORGOTTEN = "member_forgotten"
    MESSAGE_TOO_LARGE = "message_too_large"
    NAME_TAKEN = "name_taken"
    NAMES_UNPROVED = "names_unproved"
    NETWORK_DOWN = "network_down"
    NO_PEN = "no_pen"
    NO_ZERO_REWARDS = "no_zero_rewards"
    OBSERVATIONS_RETURNED = "observations_returned"
    ODDS_FAILED = "odds_failed"
    PACKET_REFUSED = "packet_refused"
    PAGE_FAILED = "page_failed"
    PEER_QUARANTINED = "peer_quarantined"
    PEN_CHANGED = "pen_changed"
    PEN_ENDED = "pen_ended"
    PENS_FORGOTTEN = "pens_forgotten"
    PROOF_CHANGED = "proof_changed"
    PROOF_UNREADABLE = "proof_unreadable"
    RELAY_LEFT = "relay_left"
    RELAYS_SILENT = "relays_silent"
    REWARD_REFUSED = "reward_refused"
    REWARDS_GIVEN_UP = "rewards_given_up"
    REWARDS_WAIT = "rewards_wait"
    SETTINGS_NOT_TOLD = "settings_not_told"
    SETTINGS_TOLD = "settings_told"
    SIDECAR_EXPOSED = "sidecar_exposed"
    STARTS_ALONE = "starts_alone"
    STARTS_TOGETHER = "starts_together"
    STATE_DAMAGED = "state_damaged"
    STATE_INCOMPLETE = "state_incomplete"
    STATE_ROLLED_BACK = "state_rolled_back"
    STEP_FAILED = "step_failed"
    STOP_UNCLEAN = "stop_unclean"


TROUBLES: Mapping[LogEvent, str] = {
    LogEvent.ARMS_ALL_FROZEN: "the frozen arms",
    LogEvent.ARMS_TOO_MANY: "the size of packets",
    LogEvent.CERTIFICATE_EXPIRES: "the certificate",
    LogEvent.CLOCK_DOUBTED: "the clock",
    LogEvent.CONTROL_ARM_MISSING: "the control arm",
    LogEvent.JOURNAL_UNWRITABLE: "the journal",
    LogEvent.MAILBOX_UNREADABLE: "the mailbox",
    LogEvent.MESSAGE_TOO_LARGE: "what it says",
    LogEvent.NAME_TAKEN: "the name",
    LogEvent.NETWORK_DOWN: "the network",
    LogEvent.NO_ZERO_REWARDS: "rewards of zero",
    LogEvent.ODDS_FAILED: "the odds of the arms",
    LogEvent.PROOF_UNREADABLE: "the proof of its name",
    LogEvent.RELAYS_SILENT: "the way to a relay",
    LogEvent.STATE_DAMAGED: "the state file",
    LogEvent.STEP_FAILED: "a step",
}
"""Lasting events, each with what works again when it is over. The closing line's name ends in `_over`."""

OVER = "_over"


def log_event(
    level: int, event: LogEvent | str, text: str, about: Mapping[str, object] | None = None, *, error: object = None
) -> None:
    """Log a line: `event=network_down edge-7: ...`.

    Args:
        level: A level of `logging`.
        event: The event.
        text: The description.
        about: Further attributes of the record, such as the member.
        error: An exception whose traceback belongs to it.
    """
    name = event.value if isinstance(event, LogEvent) else event
    log.log(level, "event=%s %s", name, text, extra={**(about or {}), "event": name}, exc_info=error)  # type: ignore[arg-type]
