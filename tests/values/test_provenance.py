"""Where something of one's own comes from: one hash for one source, another one for any change that matters."""

import functools
import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from cobandit.core import FromFunction
from cobandit.scenario import IndexFunction
from cobandit.values.provenance import provenance, source_hash

SOURCE = '''
import math

SCALE = 2.0


def width(budget, count):
    return SCALE * math.sqrt(budget / count)


def index(mean, count, budget, extra=1.0):
    """An index."""
    return mean + extra * width(budget, count)


def made(power):
    def own(mean, count, budget):
        return mean + budget**power
    return own


class Waits:
    answers_advance = True

    def __init__(self, size):
        self.size = size

    def at(self, share_number, candidate_count):
        return self.size
'''


@pytest.fixture
def module(tmp_path: Path) -> Callable[[str], ModuleType]:
    """Imports a source as a module of its own; always by the same name, as after an edit."""

    def load(source: str) -> ModuleType:
        file = tmp_path / str(len(list(tmp_path.iterdir()))) / "mine.py"
        file.parent.mkdir()
        file.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("mine", file)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        sys.modules["mine"] = loaded
        spec.loader.exec_module(loaded)
        return loaded

    return load


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("return mean + extra", "# the same\n    return  mean  +  extra", True),
        ("return mean + extra", "return mean - extra", False),
        ("extra=1.0", "extra=2.0", False),
        ("SCALE = 2.0", "SCALE = 3.0", False),
        ("budget / count)", "budget / (count + 1))", False),
        ("self.size = size", "self.size = size + 1", True),
    ],
)
def test_a_hash_changes_with_what_a_function_depends_on_and_with_nothing_else(
    old: str, new: str, is_same: bool, module: Callable[[str], ModuleType]
) -> None:
    before = source_hash(module(SOURCE).index)
    assert before is not None
    assert SOURCE.count(old) == 1
    assert (source_hash(module(SOURCE.replace(old, new)).index) == before) is is_same


def test_what_a_function_closes_over_and_what_an_object_holds_counts(module: Callable[[str], ModuleType]) -> None:
    mine = module(SOURCE)
    assert source_hash(mine.made(0.5)) == source_hash(mine.made(0.5)) != source_hash(mine.made(0.6))
    assert source_hash(mine.Waits(2)) == source_hash(mine.Waits(2)) != source_hash(mine.Waits(3))
    partial = functools.partial(mine.index, extra=3.0)
    assert source_hash(partial) == source_hash(functools.partial(mine.index, extra=3.0)) != source_hash(mine.index)


def test_provenance_is_name_parameters_and_hash(module: Callable[[str], ModuleType]) -> None:
    mine = module(SOURCE)
    assert provenance(mine.Waits(2)) == {
        "python": "mine.Waits",
        "parameters": {"size": 2},
        "source": source_hash(mine.Waits(2)),
    }
    assert provenance(IndexFunction(mine.index)) == {
        "python": "cobandit.scenario.scenario.IndexFunction",
        "parameters": {
            "index": {"python": "mine.index", "source": source_hash(mine.index)},
            "alpha": 1.0,
            "confidence": "observed",
        },
        "source": source_hash(IndexFunction(mine.index)),
    }


@pytest.mark.parametrize("unknown", [lambda mean: mean, functools.partial(lambda mean: mean, 1), iter([])])
def test_a_lambda_and_what_has_no_source_have_no_hash(unknown: object) -> None:
    assert source_hash(unknown) is None


def test_a_threshold_from_a_function_is_its_values() -> None:
    assert source_hash(FromFunction(lambda c: c)) == source_hash(FromFunction(lambda c: 2 * c - c)) is not None
    assert source_hash(FromFunction(lambda c: c)) != source_hash(FromFunction(lambda c: c + 1))


def test_what_is_installed_goes_by_its_name() -> None:
    assert source_hash(math.sqrt) != source_hash(math.log)
    assert provenance(functools.reduce)["python"] == "_functools.reduce"
