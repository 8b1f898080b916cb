"""Before: a bandit on counters in Redis, a round trip for each decision. See docs/guides/from-redis-counters.md."""

import math

import redis

ARMS = ["plain", "bold", "playful"]
COUNTS, SUMS = "homepage:counts", "homepage:sums"


class Counters:
    """UCB on two hashes that all processes share."""

    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url, decode_responses=True)

    def choose(self) -> str:
        """Read all counters, and return the arm with the highest upper confidence bound."""
        counts, sums = self._redis.hgetall(COUNTS), self._redis.hgetall(SUMS)
        total = sum(map(int, counts.values()))
        for arm in ARMS:
            if arm not in counts:
                return arm

        def bound(arm: str) -> float:
            count = int(counts[arm])
            return float(sums[arm]) / count + math.sqrt(1.5 * math.log(total) / count)

        return max(ARMS, key=bound)

    def record(self, arm: str, reward: float) -> None:
        """Count a reward. If the caller repeats this after a time-out, it may count twice."""
        with self._redis.pipeline() as pipeline:
            pipeline.hincrby(COUNTS, arm, 1)
            pipeline.hincrbyfloat(SUMS, arm, reward)
            pipeline.execute()
