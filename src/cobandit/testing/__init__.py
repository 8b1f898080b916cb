"""Public conformance suites: put your own parts through them in your own tests."""

from cobandit.testing.check_journal import check_journal
from cobandit.testing.check_policy import check_policy
from cobandit.testing.check_protocol import check_protocol
from cobandit.testing.check_transport import check_transport

__all__ = ["check_journal", "check_policy", "check_protocol", "check_transport"]
