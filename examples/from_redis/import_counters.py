"""Once: write what Redis counted into a file that members start from. See docs/guides/from-redis-counters.md."""

import sys
from pathlib import Path

import redis

import cobandit

ARMS = ["plain", "bold", "playful"]
COUNTS, SUMS = "homepage:counts", "homepage:sums"


def main(url: str, file: str) -> None:
    """Read the counters in one transaction, and write the snapshot."""
    with redis.Redis.from_url(url, decode_responses=True) as server, server.pipeline(transaction=True) as pipeline:
        pipeline.hgetall(COUNTS)
        pipeline.hgetall(SUMS)
        counts, sums = pipeline.execute()
    snapshot = cobandit.snapshot_of(
        {arm: int(counts.get(arm, 0)) for arm in ARMS},
        {arm: float(sums.get(arm, 0.0)) for arm in ARMS},
        source=COUNTS,
    )
    Path(file).write_bytes(snapshot)
    print(f"{file}: {sum(map(int, counts.values()))} observations of {len(ARMS)} arms")


if __name__ == "__main__":
    main(*sys.argv[1:])
