"""After: the same bandit as members that need no Redis. See docs/guides/from-redis-counters.md."""

import os

import cobandit

ARMS = ["plain", "bold", "playful"]


def open_member() -> cobandit.Member:
    """Make this process a member. Its state is empty only the first time; then it starts from the old counters."""
    first_port = int(os.environ.get("HOMEPAGE_PORT", "7200"))
    return cobandit.connect(
        f"udp://127.0.0.1:{first_port}+*",
        group="homepage",
        name="web-*",
        state="state/web-*.db",
        arms=ARMS,
        peers=[f"127.0.0.1:{first_port + worker}" for worker in range(1, 9)],
        secret=os.environ["HOMEPAGE_SECRET"],
        snapshot="homepage.snapshot",
    )


def serve(member: cobandit.Member) -> tuple[str, str]:
    """Return what to show, and the id under which a reward can be reported, by any process, however often."""
    decision = member.select_arm()
    return decision.arm, decision.id
