"""The limits in the document are those of the code, and each is refused where it is passed."""

import re
from pathlib import Path
from typing import Any

import pytest

from cobandit import LocalError
from cobandit.core.thresholds import LARGEST_THRESHOLD
from cobandit.scenario import scenario_from_mapping
from cobandit.scenario.changes import MAX_MEANS, MAX_STEPS
from cobandit.scenario.faults import LONGEST_HOLDUP
from cobandit.scenario.file import MOST_TRIALS
from cobandit.scenario.keys import LARGEST_FILE, LARGEST_NUMBER
from cobandit.scenario.paying import LEAST_CONCENTRATION, MAX_LOG_ROWS, MOST_CONCENTRATION
from cobandit.scenario.scenario import LONGEST_DELAY, LONGEST_HORIZON, MAX_LEAVES, MOST_AGENTS
from cobandit.scenario.tape import LARGEST_SEED
from cobandit.scenario.topology import MAX_RELAYS
from cobandit.simulator.kernel.tables import MOST_DECISIONS
from cobandit.values.reward_range import LARGEST_REWARD
from cobandit.values.tally import LONGEST_NAME, MOST_ARMS

DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "scenario-files.md"

LIMITS: dict[str, tuple[object, object]] = {
    "`horizon`": (1, LONGEST_HORIZON),
    "`trials`": (1, MOST_TRIALS),
    "`seed`, `arms.seed`": (0, LARGEST_SEED),
    "arms": (1, MOST_ARMS),
    "`rewards`": (f"{-LARGEST_REWARD:g}", f"{LARGEST_REWARD:g}"),
    "`arms.pays`, concentration": (f"{LEAST_CONCENTRATION:g}", f"{MOST_CONCENTRATION:.0e}".replace("+0", "+")),
    "rewards of one arm in a log": (1, MAX_LOG_ROWS),
    "`policy.window`": (1, LONGEST_HORIZON),
    "times at which means change": (0, f"{MAX_STEPS:,}, and {MAX_MEANS:,} means in all"),
    "bytes in a name": (1, LONGEST_NAME),
    "bytes in a file": (1, LARGEST_FILE),
    "agents, all together": (1, MOST_AGENTS),
    "the same with relays": (1, MAX_LEAVES),
    "`network.relays`, `network.homes`": (1, MAX_RELAYS),
    "decisions of a trial on the compiled engine": (0, MOST_DECISIONS),
    "`start`, `leave`, `rejoin`, a slot of `slots`": (0, "horizon - 1"),
    "`stop`": ("start + 1", "horizon"),
    "`--checkpoints`": (1, "horizon"),
    "`sharing.delay`, `sharing.jitter`": (0, LONGEST_DELAY),
    "`sharing.held_back`": (1, LONGEST_HOLDUP),
    "a threshold, its base and its cap": (1, LARGEST_THRESHOLD),
    "a number such as `policy.alpha`": ("above 0", f"below {LARGEST_NUMBER:g}"),
}


def documented() -> dict[str, tuple[object, object]]:
    section = DOCUMENT.read_text(encoding="utf-8").partition("## Limits")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \|$", section, re.MULTILINE)[2:]
    return {what: (as_value(smallest), as_value(largest)) for what, smallest, largest in rows}


def as_value(cell: str) -> object:
    digits = cell.replace(",", "")
    return int(digits) if digits.isdecimal() else cell


def test_the_document_has_the_limits_of_the_code() -> None:
    assert documented() == LIMITS


def world(**changes: object) -> dict[str, Any]:
    return {"horizon": 100, "arms": {"means": [0.2, 0.8]}, "agents": [{"rate": 1.0}], **changes}


@pytest.mark.parametrize(
    ("what", "path", "make"),
    [
        ("`horizon`", "horizon", lambda number: world(horizon=number)),
        ("`trials`", "trials", lambda number: world(trials=number)),
        ("`seed`, `arms.seed`", "seed", lambda number: world(seed=number)),
        (
            "`seed`, `arms.seed`",
            "arms.seed",
            lambda number: world(arms={"uniform": [0, 1], "count": 2, "seed": number}),
        ),
        ("arms", "arms.count", lambda number: world(arms={"uniform": [0, 1], "count": number})),
        ("agents, all together", "agents[0].count", lambda number: world(agents=[{"rate": 1, "count": number}])),
        ("`sharing.delay`, `sharing.jitter`", "sharing.delay", lambda number: world(sharing={"delay": number})),
        ("`sharing.delay`, `sharing.jitter`", "sharing.jitter", lambda number: world(sharing={"jitter": number})),
        ("`sharing.held_back`", "sharing.held_back", lambda number: world(sharing={"held_back": number})),
        (
            "a threshold, its base and its cap",
            "sharing.threshold.constant",
            lambda number: world(sharing={"threshold": {"constant": number}}),
        ),
        (
            "the same with relays",
            "agents[0].count",
            lambda number: world(agents=[{"count": number, "rate": 1.0}], network={"topology": "relays"}),
        ),
        (
            "a threshold, its base and its cap",
            "sharing.threshold.cap",
            lambda number: world(sharing={"threshold": {"geometric": 2, "cap": number}}),
        ),
    ],
)
def test_a_number_at_its_limit_is_accepted_and_the_next_is_refused(what: str, path: str, make: Any) -> None:
    smallest, largest = LIMITS[what]
    assert isinstance(smallest, int)
    assert isinstance(largest, int)
    for number in (smallest, largest):
        scenario_from_mapping(make(number))
    for number in (smallest - 1, largest + 1):
        with pytest.raises(LocalError) as refused:
            scenario_from_mapping(make(number))
        assert str(refused.value) == f"{path} must be a whole number from {smallest} to {largest}, not {number}"


def test_as_many_means_and_as_long_names_as_the_limit_are_accepted_and_more_are_refused() -> None:
    longest = ["x" * LONGEST_NAME, "y"]
    scenario_from_mapping(world(arms={"means": [0.5] * MOST_ARMS}))
    scenario_from_mapping(world(arms={"means": [0.2, 0.8], "names": longest}))
    with pytest.raises(LocalError, match=r"^arms\.means: 4097 arms are more than the limit of 4096"):
        scenario_from_mapping(world(arms={"means": [0.5] * (MOST_ARMS + 1)}))
    with pytest.raises(LocalError, match=r"^arms\.names: an arm's name must be a string of 1 to 200 bytes in UTF-8"):
        scenario_from_mapping(world(arms={"means": [0.2, 0.8], "names": [longest[0] + "x", "y"]}))
