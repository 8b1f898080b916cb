"""How many subjects get another arm when odds change: in the order of names, in that of odds, and the least possible.

    PYTHONPATH=. python benchmarks/moved_subjects.py

Thompson sampling on arms whose means lie evenly from 3 to 5 %, ten seeds. After every hundred decisions (later: every
thousand) the odds are computed anew, and 4,000 subjects are placed by the old and by the new ones.
"""

import random
from collections.abc import Mapping
from itertools import pairwise

from cobandit.live.decide.allocation import Draw
from cobandit.live.decide.subjects import place_of
from cobandit.policies.matching import best_odds

PLACES = [place_of(f"subject {number}", "benchmark") for number in range(4000)]
SEEDS = range(10)
Odds = dict[str, float]


def moved(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """Return which part of the subjects gets another arm."""
    old, new = Draw(before), Draw(after)
    return sum(old.by(place)[0] != new.by(place)[0] for place in PLACES) / len(PLACES)


def odds_of(count: int, seed: int) -> list[tuple[int, Odds]]:
    """Return odds after so many decisions, as they come about."""
    dice, names = random.Random(seed), [f"arm {number:02}" for number in range(count)]
    ranks = dice.sample(range(count), count)
    means = {name: 0.03 + 0.02 * rank / (count - 1) for name, rank in zip(names, ranks, strict=True)}
    tallies, found, made = {name: [1.0, 1.0] for name in names}, [], 0
    while made <= 20_000:
        odds = dict(zip(names, best_odds([(a, b) for a, b in tallies.values()]), strict=True))
        found.append((made, odds))
        batch = 100 if made < 1000 else 1000
        for arm in dice.choices(names, list(odds.values()), k=batch):
            tallies[arm][dice.random() >= means[arm]] += 1.0
        made += batch
    return found


def by_odds(odds: Odds) -> Odds:
    """Return odds with the best arm first."""
    return dict(sorted(odds.items(), key=lambda entry: -entry[1]))


def main() -> None:
    """Print a table."""
    print(f"{'arms':>4}  {'decisions':16}{'least':>8}{'by name':>9}{'by odds':>9}")
    for count in (2, 4, 16):
        runs = [odds_of(count, seed) for seed in SEEDS]
        for first, last in ((0, 1000), (1000, 20_000)):
            rows = [
                (sum(abs(new[arm] - old[arm]) for arm in new) / 2, moved(old, new), moved(by_odds(old), by_odds(new)))
                for run in runs
                for (made, old), (_, new) in pairwise(run)
                if first <= made < last
            ]
            means = [sum(row[place] for row in rows) / len(rows) for place in range(3)]
            print(f"{count:>4}  {f'{first:,} to {last:,}':16}{means[0]:>8.1%}{means[1]:>9.1%}{means[2]:>9.1%}")


if __name__ == "__main__":
    main()
