"""What two members declare differently is said so that the two sides differ in the text."""

import math

from hypothesis import example, given
from hypothesis import strategies as st

from cobandit.core.places import Bandit, difference
from cobandit.live.machine.definitions import difference_in_words

LENGTHS = st.sampled_from([0.0, 0.1, math.nextafter(0.1, 1), 0.3, 60.0, 86_400.0, 1e6, 1e6 + 1, 1e300]) | st.floats(
    0.001, 1e7
)
BANDITS = st.builds(
    Bandit,
    st.just("home"),
    st.just(("A",)),
    st.sampled_from([1, 2, 3_000_000, 3_000_001, 2**31]),
    LENGTHS,
    st.sampled_from([1, 3, 10, 20]),
    LENGTHS,
    st.sampled_from([(0.0, 1.0), (-1.7e308, 1.7e308), (0.0, 5e-324), (0.0, math.nextafter(1.0, 2.0))]),
)
WEEK = Bandit("home", ("A",), 3_000_000, 60_480.0, 10)


@given(BANDITS, BANDITS)
@example(WEEK, WEEK._replace(period=30_240.0, periods=20))
@example(WEEK._replace(period=1e5), WEEK._replace(period=1e5 + 0.1))
@example(WEEK, WEEK._replace(units_per_reward=3_000_001))
def test_both_sides_of_a_difference_differ_as_text(mine: Bandit, theirs: Bandit) -> None:
    said = difference_in_words(mine, theirs, "|", "|")
    assert (said is None) == (difference(mine, theirs) is None)
    if said is not None:
        one, other, rest = said.split(":", 1)[-1].split("|")
        assert one.strip() != other.removeprefix(",").strip()
        assert rest == ""
