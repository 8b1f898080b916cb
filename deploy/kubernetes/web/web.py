"""A replica of a service, as a pod: it has no name and no disk, and learns with all others.

It decides as fast as it can, and rewards half of its decisions itself; a line of its output names each other one, for
the part of the service in which rewards arrive. SIGTERM ends it: it gives its pen back.
"""

import os
import random
import time

import cobandit

ARMS = ["blue", "green", "red"]
MEANS = {"blue": 0.05, "green": 0.1, "red": 0.2}


def main() -> None:
    """Decide until told to stop."""
    with cobandit.connect(
        "tls://",
        group="homepage",
        arms=ARMS,
        relays=os.environ["COBANDIT_RELAYS"].split(","),
        keys=os.environ["COBANDIT_KEYS"],
        trust=os.environ["COBANDIT_TRUST"],
        close_on_sigterm=True,
    ) as member:
        print(f"ready {member.name} {member.statistics().observations}", flush=True)
        while True:
            decision = member.select_arm()
            clicked = random.random() < MEANS[decision.arm]  # noqa: S311  # a visitor
            if random.random() < 0.5:  # noqa: S311
                member.update(decision, clicked)
            else:
                print(f"later {decision.id} {int(clicked)}", flush=True)
            time.sleep(0.02)


if __name__ == "__main__":
    main()
