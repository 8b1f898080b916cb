"""The pictures of the documents, each drawn from what it shows, so that the two cannot disagree.

    python -m tools.pictures            # write them
    python -m tools.pictures --check    # only say which are stale

A picture is one SVG for both themes: it follows the reader's system, with the colours of `cobandit.look`. It says in
words what it shows, for those who do not see it.
"""

from collections.abc import Callable
from functools import partial

from tools.pictures import kept, messages, protocol, relays, rooms

PICTURES: dict[str, Callable[[], str]] = {
    "images/messages.svg": messages.drawn,
    "images/protocol.svg": protocol.drawn,
    "images/rooms.svg": rooms.drawn,
    "images/relays.svg": relays.drawn,
    "images/figure-1.html": protocol.player,
    "fleets/fleets.svg": partial(kept.fleet, "fleets"),
    "fleets/fleets-deaths.svg": partial(kept.fleet, "fleets-deaths"),
    "bounds/relays.svg": partial(kept.bound, "relays"),
    "bounds/epochs.svg": partial(kept.bound, "epochs"),
}
"""Where it is under docs, and what makes it."""
