"""The role of a member in its group: relay, leaf, or neither. Values only."""

from enum import StrEnum


class Role(StrEnum):
    """A member's role in its group."""

    MEMBER = "member"
    """It talks to all members, and shares what it observed itself."""
    RELAY = "relay"
    """It passes on observations of others."""
    LEAF = "leaf"
    """It talks only to relays."""


def role_of(*, is_relay: bool, is_leaf: bool) -> Role:
    """Return the role of a member that says this about itself."""
    return Role.RELAY if is_relay else Role.LEAF if is_leaf else Role.MEMBER
