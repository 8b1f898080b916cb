"""The rules for when to talk, as data: a table with a row for every case, and the texts that go with it.

A case consists of what happened to a directed pair, whether a share is demanded, and whether the buffer has reached its
threshold, including the current observation. A table says what is demanded afterwards and whether the buffer is shared.
A share empties the buffer and advances c (`Exchange`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple

from cobandit.values.errors import LocalError


class Input(IntEnum):
    """What can happen to one directed pair."""

    OBSERVATION = 0
    SHARE = 1
    LEAVE = 2
    JOIN = 3


Case = tuple[Input, bool, bool]
"""What happened, whether a share is demanded, and whether the buffer has reached its threshold."""

Cases = tuple[Input, bool | None, bool | None]
"""Several cases at once: `None` stands for "any"."""


class Rule(NamedTuple):
    """One row of a table. `None` stands for "any" on the left and "as it was" on the right."""

    input: Input
    demanded: bool | None
    reached: bool | None
    demanded_after: bool | None
    shares: bool
    lines: str = ""
    """The lines of the protocol's source that state this rule."""


class Step(NamedTuple):
    """What a rule decided for one input."""

    demanded: bool
    shares: bool


class Rules(dict[Case, Step]):
    """A complete table, with a name."""

    def __init__(self, name: str, lines: Mapping[Case, str] = MappingProxyType({})) -> None:
        super().__init__()
        self.name = name
        self.lines = dict(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return Rules, (self.name, self.lines), None, None, iter(self.items())

    @property
    def talks(self) -> bool:
        """Whether anything is ever shared."""
        return any(step.shares for step in self.values())

    @property
    def asks(self) -> bool:
        """Whether a share asks for one in return. If not, `demanded` means only "the peer is here"."""
        return any(
            step.shares or step.demanded > demanded
            for (happened, demanded, _), step in self.items()
            if happened is Input.SHARE
        )


def rules(name: str, *rows: Rule) -> Rules:
    """Expand rows into a complete table.

    Raises:
        LocalError: A case is left open or decided twice, less than the threshold is shared, or a notice depends on a
            buffer: it comes without an observation, and no agent would send the share.
    """
    table = Rules(name)
    for row in rows:
        if row.input in (Input.LEAVE, Input.JOIN) and not (row.reached is None and not row.shares):
            raise LocalError(f"{name}: a notice looks at no buffer and shares nothing, but there is {row}")
        if row.shares and row.reached is not True:
            raise LocalError(f"{name}: only a buffer that has reached its threshold is shared, but there is {row}")
        for case in _each(row[:3]):
            if case in table:
                raise LocalError(f"{name}: {case} is decided twice")
            table[case] = Step(case[1] if row.demanded_after is None else row.demanded_after, row.shares)
            table.lines[case] = row.lines
    if len(table) < 4 * len(Input):
        raise LocalError(f"{name}: a table must decide all {4 * len(Input)} cases, not {len(table)}")
    return table


def _each(cases: Cases) -> Iterator[Case]:
    happened, demanded, reached = cases
    for one in (False, True) if demanded is None else (demanded,):
        for other in (False, True) if reached is None else (reached,):
            yield happened, one, other


@dataclass(frozen=True, eq=False)
class Protocol:
    """Everything there is to know about one way to talk."""

    table: Rules
    word: str
    """Its name in scenario files and, in capitals, in the names of algorithms: odc, as in UCB-ODC."""
    title: str
    """Its name in a sentence."""
    told: str
    """How agents talk, as a sentence without its full stop."""
    rule: tuple[str, ...]
    """The whole rule in a few sentences, **so** where it matters."""
    says: Mapping[Cases, str] = field(default_factory=dict)
    """Sentences for the cases of the table; a case without one gets a general one.

    They may use {pulled}, {got} or {heard} (what happened), {other}, {asked} (that the other has), {wait} and {of} (how
    much waits, alone and beside the threshold), {only} (the same, or that nothing does), {needed} (the threshold) and
    {them} (what is shared). Capitalise a name to begin a sentence with it.
    """
    source: str = ""
    """Where the rule is printed. Without it, the title is cited."""
    theorems: tuple[int, ...] = ()
    """The theorems of the paper that bound it: 1 its regret, 2 its shares."""
    tolerant: bool = False
    """Whether it may be combined with loss tolerance."""

    @property
    def name(self) -> str:
        """Its name in code."""
        return self.table.name

    @property
    def label(self) -> str:
        """Its name in the names of algorithms."""
        return self.word.upper()

    def cited(self, case: Case) -> str:
        """Return where the rule for a case is printed."""
        lines = self.table.lines.get(case)
        return f"{self.source}, {lines}" if lines else self.source or self.title

    def sentence(self, case: Case) -> str:
        """Return the explanation of a case, as a template to fill in."""
        for cases, text in self.says.items():
            if case in _each(cases):
                return text
        return _GENERAL[case[0], self.table[case].shares]


_GENERAL = {
    (Input.OBSERVATION, True): "{pulled}. {Wait}, which reaches the threshold of {needed}: it shares {them}.",
    (Input.OBSERVATION, False): "{pulled}. {Of}: it keeps on collecting.",
    (Input.SHARE, True): "{got}. {Wait}, which reaches the threshold of {needed}: it answers at once with {them}.",
    (Input.SHARE, False): "{got}, and learns from it.",
    (Input.LEAVE, False): "{heard}. From now on it keeps everything for its return.",
    (Input.JOIN, False): "{heard} again. What waits may go with the next pull.",
}
