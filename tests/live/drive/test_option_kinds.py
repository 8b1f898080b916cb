"""Values of a wrong kind are refused in words at every door of a member, and those of NumPy and decimals are taken."""

import datetime as dt
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cobandit
from cobandit.evaluation import evaluate
from cobandit.live.drive.member import Member
from cobandit.live.drive.option_kinds import check_kinds
from cobandit.values.errors import CobanditError, LocalError

_networks = itertools.count()

WRONG: tuple[Any, ...] = (
    *(
        b"x",
        float("nan"),
        10**400,
        -(10**400),
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        dt.timedelta(days=7),
        object(),
        1j,
    ),
    *(
        [],
        {},
        (1, 2, 3),
        ["A", 1],
        {"A": "x"},
        "\ud800",
        "a\0b",
        np.array([1, 2]),
        np.float32(0.5),
        range(3),
        Decimal("sNaN"),
    ),
)


@pytest.fixture
def member() -> Iterator[Member]:
    with connect(guardrail=("errors", 0.02)) as made:
        yield made
        assert made.statistics().troubles == ()


def connect(**options: Any) -> Member:
    given = {"url": f"memory://kinds-{next(_networks)}", "group": "g", "name": "ann", "arms": ["A", "B"], **options}
    return cobandit.connect(given.pop("url"), **given)


def refused_in_words(use: Callable[[Any], Any], values: tuple[Any, ...] = WRONG) -> int:
    """Return how many of some values are refused; whatever is not refused in words goes through."""
    refused = 0
    for value in values:
        try:
            use(value)
        except CobanditError:
            refused += 1
    return refused


OPTIONS = ("arms", "peers", "relays", "policy", "sharing", "floors", "ceilings", "log_limit", "relay", "clock")


@pytest.mark.parametrize("option", OPTIONS)
def test_options_of_a_wrong_kind_are_refused_in_words(option: str) -> None:
    kinds = [object(), 1j, dt.timedelta(days=7), 0.5]
    for value in kinds:
        with pytest.raises(LocalError, match=f"{option} must be"):
            connect(**{option: value})


@pytest.mark.parametrize("arms", [deque("AB"), {"A": 1, "B": 2}, {"A": 1, "B": 2}.keys(), {1: "A", 2: "B"}.values()])
def test_arms_may_be_whatever_has_an_order(arms: Any) -> None:
    with connect(arms=arms) as member:
        assert member.arms == ("A", "B")
    check_kinds({"peers": arms, "relays": arms})


@pytest.mark.parametrize("arms", [{"A", "B"}, frozenset("AB")])
def test_arms_without_an_order_are_refused_with_the_reason(arms: Any) -> None:
    with pytest.raises(LocalError, match="has no order, and ties go to the first arm"):
        connect(arms=arms)
    check_kinds({"peers": arms, "relays": arms})  # whose order does not matter


@pytest.mark.parametrize("option", ["state", "snapshot", "keys", "trust", "secret_file"])
def test_what_is_no_path_is_refused_in_words(option: str) -> None:
    for value in (object(), 3, ["A"], "a\0b", "\ud800"):
        with pytest.raises(LocalError, match=f"{option} must be the"):
            connect(**{option: value})


def test_texts_that_nobody_can_write_are_refused_in_words(tmp_path: Path) -> None:
    for relay in ("", "\ud800", "x" * 301):
        with pytest.raises(LocalError, match="relays must be names or addresses"):
            connect(relays=[relay])
    with pytest.raises(LocalError, match="a group's secret is no text"):
        connect(url="nats://127.0.0.1:1", secret="\ud800" * 20)
    with pytest.raises(LocalError, match=r"the state file .* cannot be used: File name too long"):
        connect(state=tmp_path / ("x" * 300))


@pytest.mark.parametrize(
    "option", ["expire_after", "forget_after", "lease", "flush_every", "holdout", "quantum", "homes"]
)
def test_numbers_that_are_none_are_refused_in_words(option: str) -> None:
    relays = {"relays": ["r"]} if option == "homes" else {}
    assert refused_in_words(lambda value: connect(**{option: value}, **relays), (*WRONG[:16], None, "0.5")) == 18


@pytest.mark.parametrize(
    "use",
    [
        lambda member, value: member.select_arm(value),
        lambda member, value: member.select_arm(among=value),
        lambda member, value: member.update(value, 1.0),
        lambda member, value: member.report(value, "errors", 1.0),
        lambda member, value: member.report(member.select_arm(), value, 1.0),
        lambda member, value: member.report(member.select_arm(), "errors", value),
        lambda member, value: member.withdraw(value),
        lambda member, value: member.freeze_arm(value),
        lambda member, value: member.kill(value),
        lambda member, value: member.add_arm(value),
        lambda member, value: member.remove_arm(value),
        lambda member, value: member.flush(value),
    ],
)
def test_arguments_of_a_wrong_kind_are_refused_in_words(member: Member, use: Callable[[Member, Any], Any]) -> None:
    assert refused_in_words(lambda value: use(member, value)) > len(WRONG) // 2


@pytest.mark.parametrize(
    "option", ["name", "arms", "policy", "rewards", "window", "floors", "default_reward", "guardrail"]
)
def test_bandits_of_a_wrong_kind_are_refused_in_words(option: str) -> None:
    with cobandit.connect(f"memory://kinds-{next(_networks)}", fleet="shop", name="ann") as fleet:
        given = {"name": "home", "arms": ["A", "B"]}
        assert refused_in_words(lambda value: fleet.bandit(**{**given, option: value})) > len(WRONG) // 2
        home = fleet.bandit("other", ["A", "B"])
        for use in (home.select_arm, home.statistics, home.verdict):
            with pytest.raises(LocalError, match="a segment must be a string, not 3"):
                use(3)  # type: ignore[arg-type]
        assert fleet.statistics().troubles == ()


def test_names_of_numpy_and_of_enumerations_are_written_as_strings(tmp_path: Path) -> None:
    class Place(str, Enum):  # noqa: UP042  # whose str() is not what it equals
        HERE = "here"

    state = tmp_path / "ann"
    with cobandit.connect("memory://kinds-names", fleet="shop", name=np.str_("ann"), state=state) as fleet:
        arms: Any = np.array(["A", "B"])
        home = fleet.bandit(np.str_("home"), arms)
        decision = home.select_arm(np.str_("de"), Place.HERE, among=arms[:1])
        assert decision.arm == "A"
        assert home.update(np.str_(decision.id), np.float64(1.0))
        home.select_arm(Place.HERE)
        home.kill(np.str_("B"))
        fleet.sync()
        assert fleet.statistics().troubles == ()
        assert (type(fleet.machine.agent.bandits[0].name), home.segments) == (str, ("de", "here"))
    with cobandit.connect("memory://kinds-names", fleet="shop", name="ann", state=state) as again:
        assert again.bandit("home", ["A", "B"]).statistics("de").observations == 1


def test_rewards_in_decimals_count_exactly() -> None:
    prices = [Decimal("19.99"), Decimal("0.01"), Decimal("149.95"), Decimal("0.10"), Decimal(200)]
    with cobandit.connect(f"memory://kinds-{next(_networks)}", fleet="shop", name="ann") as fleet:
        terms: dict[str, Any] = {"rewards": (Decimal(0), Decimal(200)), "quantum": Decimal("0.01")}
        home = fleet.bandit("home", ["A"], **terms)
        for price in prices:
            assert home.update(home.select_arm(), price)
        fleet.sync()
        (arm,) = fleet.machine.agent.policy_at("home").tally.entries()
        assert arm.reward_sum == sum(prices) * 100
        with pytest.raises(LocalError, match="is not a number from 0 to 200"):
            home.update(home.select_arm(), Decimal("200.01"))
        with pytest.raises(LocalError, match="is not a number from 0 to 200"):
            home.update(home.select_arm(), Decimal("NaN"))


def test_an_evaluation_takes_decimals_and_refuses_in_words_what_is_no_log() -> None:
    rows = [{"arm": "AB"[n % 2], "propensity": Decimal("0.5"), "reward": Decimal(n % 4 == 1)} for n in range(400)]
    assert evaluate(rows, "B").self_normalised.value == 0.5
    for wrong in (None, 3, object()):
        with pytest.raises(LocalError, match="decisions must be rows of a log"):
            evaluate(wrong, "B")  # type: ignore[arg-type]
        with pytest.raises(LocalError, match="the other policy must be an arm"):
            evaluate(rows, wrong)  # type: ignore[arg-type]
    with pytest.raises(LocalError, match="which is no number"):
        evaluate([{**rows[0], "reward": 10**400}], "B")
