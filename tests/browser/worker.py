"""A member in a process of its own, for tests of the page: it decides on and on until it is told to rest.

The first line on standard input is what `cobandit.connect` takes, as JSON, with the arms' true means; then `go` or
`rest`. The end of the input stops it. It says `ready`, and each order when it has obeyed.
"""

import json
import queue
import sys
import threading

import cobandit
from cobandit.values.chance import stream, uniform

PAUSE = 0.02
"""Seconds between two decisions."""


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def _listen(orders: "queue.SimpleQueue[str]") -> None:
    for line in sys.stdin:
        orders.put(line.strip())
    orders.put("stop")


def main() -> None:
    spec = json.loads(sys.stdin.readline())
    means = spec.pop("means")
    chance = stream(1, *spec["name"].encode())
    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    with cobandit.connect(spec.pop("url"), arms=list(means), **spec) as member:
        _say("ready")
        threading.Thread(target=_listen, args=(orders,), daemon=True).start()
        pulls = 0
        pause: float | None = None
        while True:
            try:
                order = orders.get(timeout=pause)
            except queue.Empty:
                decision = member.select_arm()
                pulls += 1
                member.update(decision, reward=float(uniform(chance, pulls) < means[decision.arm]))
                continue
            if order == "stop":
                return
            pause = PAUSE if order == "go" else None
            member.sync()
            _say(order)


if __name__ == "__main__":
    main()
