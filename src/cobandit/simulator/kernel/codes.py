"""Names for the numbers that compiled code branches on."""

UCB, KL_UCB, AAE, THOMPSON, CUSTOM_INDEX, UCB_V, NORMAL_THOMPSON = range(7)

OWN, OWN_PLUS_2, OBSERVED, HORIZON = range(4)
CONFIDENCES = {"own": OWN, "own+2": OWN_PLUS_2, "observed": OBSERVED}

RATE, HALVING, SINE, ON_OFF, SLOTS = range(5)

SHARE, ELIMINATED, JOIN, LEAVE, ACKNOWLEDGEMENT = range(5)
"""Kinds of messages under way; also their order on the wire."""

OPEN, WAITING, TRUSTING = range(3)
"""Phases of a pair where messages may be lost."""

PERIODIC_HUB, EVENT_HUB, GOSSIP, AAC, TCOM = range(5)
"""Plug-ins."""
