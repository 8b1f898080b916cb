"""Throw broken messages at agents that have state: `python benchmarks/fuzz_codec.py --mutations 1000000`.

The messages are real ones, recorded from small groups in which messages are lost and agents restart and get new arms.
They are broken in two ways. Broken bytes (flipped, changed, cut off, inserted, spliced) must be refused by their
checksum. Messages that are broken inside and carry a right checksum (absurd numbers, numbers and parts of other
messages, foreign names, doubled arms, wrong types) must be refused with `PeerError` and leave the agent as it was to
the byte, or be accepted and leave it without a contradiction, not larger than the message explains, and able to be
restored. Whatever they say, the agent's own observations stay as they are; only of earlier incarnations may a peer
return more. Anything else ends the program with an error.

`cobandit.values.chance` is the only randomness: the same numbers break the same messages.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import msgspec

from cobandit import AAE, UCB, Agent, Constant, Geometric, PeerError, immediate, on_demand
from cobandit.codec import LARGEST_MESSAGE, decode, decode_snapshot, encode, encode_snapshot
from cobandit.core import Acknowledgement, InputRecord, Message, RetryTimers, Sharing
from cobandit.core.facts import CellKey
from cobandit.core.invariants import endpoint_violations, total
from cobandit.core.state import Claim
from cobandit.policies import Policy
from cobandit.values.chance import stream, uniform
from cobandit.values.quantum import BERNOULLI
from cobandit.values.tally import ArmTally

GROUP = "fuzz"
NAMES = ("j", "p", "q")
VICTIM = "j"
ARMS = ("A", "B", "C")
NEW_ARMS = ("D", "E")
CHECKSUM = 4

ROOM = 400
"""How many bytes a snapshot may grow in addition to four times the message: a new peer needs as much."""

REASONS = (
    ("settled decisions that cannot be", re.compile("settled|it has one only")),
    ("checksum", "it is damaged"),
    ("wire version", "wire version"),
    ("group", "a message of group"),
    ("kind", "of unknown kind"),
    ("shape", "bytes that are not a message"),
    ("size", "the limit is"),
    ("stranger", "is not known to"),
    ("from oneself", "from itself"),
    ("for somebody else", "sent a message for"),
    ("other kind of group", "a whole group must agree"),
    ("share number or observations", re.compile(r"sent share -?\d+ with -?\d+ observations")),
    ("empty share", "sent an empty share"),
    ("session or attempt", "speaks of itself as session"),
    ("impossible receipt", "an impossible receipt"),
    ("session after which there are few", "after which there are few more"),
    ("receipt of what was never said", "acknowledges share"),
    ("word about another", "agents share only what they observed"),
    ("log", "tells of its log from"),
    ("incarnation or session", "tells of incarnation or session"),
    ("period", "tells of period"),
    ("doubled cells", "tells of the cells of one incarnation twice"),
    ("doubled arm", "listed arm"),
    ("long name", "tells of a name of more than"),
    ("name of a place that nobody can give", "tells of a bandit or a segment with a name that cannot be"),
    ("total of no relay", "and is not a relay"),
    ("relay and leaf", "a relay and a leaf"),
    ("impossible cell", "no rewards of at most"),
    ("doubled eliminations", "eliminated arms, some of them twice"),
    ("eliminations", "eliminated"),
    ("notice", re.compile(r"sent notice -?\d+ of session -?\d+$")),
    ("quantum", "quanta in a reward"),
    ("name or arms", "cannot join"),
    ("other arms", "joined with arms"),
)


class Luck:
    """A stream of chance with a place in it."""

    def __init__(self, *coordinates: int) -> None:
        self._key = stream(*coordinates)
        self._drawn = 0

    def below(self, bound: int) -> int:
        """Return a whole number from 0 to just below the bound."""
        self._drawn += 1
        return int(uniform(self._key, self._drawn) * bound)

    def pick(self, values: Sequence[Any]) -> Any:  # noqa: ANN401
        """Return one of the values."""
        return values[self.below(len(values))]


# Real messages.


@dataclass(frozen=True, eq=False)
class Kind:
    """How the agents of a recorded group decide and talk."""

    policy: Callable[[Sequence[str]], Policy]
    sharing: Sharing

    def restored(self, stored: bytes, records: Sequence[InputRecord] = ()) -> Agent:
        """Return the agent of a snapshot."""
        snapshot = decode_snapshot(stored)
        return Agent.restore(snapshot, records, policy=self.policy(snapshot.endpoint.arms), sharing=self.sharing)


PATIENCE = RetryTimers(first=6.0, least=1.0, growth=1.5, tick=40.0, longest=200.0)
KINDS = (
    Kind(lambda arms: UCB(arms, quantum=BERNOULLI), on_demand(loss_tolerant=PATIENCE)),
    Kind(lambda arms: AAE(arms, alpha=0.3, quantum=BERNOULLI), on_demand(Geometric(2), loss_tolerant=PATIENCE)),
    Kind(lambda arms: UCB(arms, quantum=BERNOULLI), on_demand()),
    Kind(lambda arms: AAE(arms, alpha=0.3, quantum=BERNOULLI), immediate(Constant(2))),
)


@dataclass(frozen=True, eq=False)
class Moment:
    """The victim as it was, and the message that it accepted then."""

    kind: Kind
    stored: bytes
    frame: bytes
    now: float


def recorded(seed: int = 1, steps: int = 800) -> tuple[list[Moment], list[bytes]]:
    """Return moments of the victim in every kind of group, and every message that anybody sent."""
    moments: list[Moment] = []
    frames: dict[bytes, None] = {}
    for number, kind in enumerate(KINDS):
        for arms_of_q in (ARMS, ("B", "C", "D")):
            recording = Recording(kind, arms_of_q, Luck(seed, number, len(arms_of_q[0]), ord(arms_of_q[0])))
            for _ in range(steps):
                recording.step()
            moments += recording.moments
            frames |= dict.fromkeys(recording.frames)
    return moments, list(frames)


class Recording:
    """A group whose messages are lost, doubled and late, and whose agents restart, leave and come back."""

    def __init__(self, kind: Kind, arms_of_q: tuple[str, ...], luck: Luck) -> None:
        arms = {"j": ARMS, "p": ARMS, "q": arms_of_q}
        self.kind, self.luck = kind, luck
        self.agents = {name: Agent(name, kind.policy(own), kind.sharing) for name, own in arms.items()}
        for one in self.agents.values():
            for name, own in arms.items():
                if name != one.name:
                    one.peer_joined(name, own)
        self.stored = {name: encode_snapshot(agent.snapshot()) for name, agent in self.agents.items()}
        self.under_way: list[Message] = []
        self.moments: list[Moment] = []
        self.frames: list[bytes] = []
        self.now = 0.0

    def step(self) -> None:
        """Do one thing by chance."""
        name = self.luck.pick(NAMES)
        agent, what = self.agents[name], self.luck.below(40)
        self.now += self.luck.below(4)
        if what < 18:
            self.send(agent.update(agent.select_arm(), self.luck.below(2), self.now).outgoing)
        elif what < 34 and self.under_way:
            at = self.luck.below(len(self.under_way))
            message = self.under_way[at] if what == 33 else self.under_way.pop(at)
            if what < 30 or what == 33:
                self.deliver(message)
        elif what == 34:
            self.send(agent.wake(self.now).outgoing)
        elif what == 35:
            self.send(agent.join(self.now).outgoing)
        elif what == 36:
            self.send(agent.leave().outgoing)
        elif what == 37:
            self.stored[name] = encode_snapshot(agent.snapshot())
        elif what == 38 and self.kind.sharing.retry is not None:
            self.restart(name)
        elif what == 39 and self.kind.sharing.retry is not None:
            self.grow(name)

    def send(self, messages: Sequence[Message]) -> None:
        """Take what an agent sends."""
        self.under_way += messages
        self.frames += [encode(message, GROUP) for message in messages]

    def deliver(self, message: Message) -> None:
        """Let a message arrive, and remember the victim as it was before."""
        agent = self.agents[message.receiver]
        if message.receiver == VICTIM:
            stored = encode_snapshot(agent.snapshot())
            self.moments.append(Moment(self.kind, stored, encode(message, GROUP), self.now))
        self.send(agent.receive(message, self.now).outgoing)

    def restart(self, name: str) -> None:
        """Start an agent again from its last snapshot, in a new incarnation."""
        session = self.agents[name].session + 1
        agent = self.agents[name] = self.kind.restored(self.stored[name])
        agent.begin(session, self.now, incarnation=session)
        self.stored[name] = encode_snapshot(agent.snapshot())
        self.send(agent.join(self.now).outgoing)

    def grow(self, name: str) -> None:
        """Let an agent serve one more arm, in a new session."""
        agent = self.agents[name]
        further = [arm for arm in (*ARMS, *NEW_ARMS) if arm not in agent.arms][:1]
        agent.begin(agent.session + 1, self.now, arms=(*agent.arms, *further))
        self.send(agent.join(self.now).outgoing)


# Broken bytes.


def flipped(frame: bytes, _: bytes, luck: Luck) -> bytes:
    """Flip some bits."""
    broken = bytearray(frame)
    for _ in range(1 + luck.below(8)):
        broken[luck.below(len(broken))] ^= 1 << luck.below(8)
    return bytes(broken)


def changed(frame: bytes, _: bytes, luck: Luck) -> bytes:
    """Change some bytes."""
    broken = bytearray(frame)
    for _ in range(1 + luck.below(6)):
        broken[luck.below(len(broken))] = luck.below(256)
    return bytes(broken)


def truncated(frame: bytes, _: bytes, luck: Luck) -> bytes:
    """Cut something off, behind or before."""
    at = luck.below(len(frame))
    return frame[:at] if luck.below(2) else frame[at + 1 :]


def inserted(frame: bytes, _: bytes, luck: Luck) -> bytes:
    """Insert some bytes."""
    at = luck.below(len(frame) + 1)
    return frame[:at] + bytes(luck.below(256) for _ in range(1 + luck.below(8))) + frame[at:]


def spliced(frame: bytes, other: bytes, luck: Luck) -> bytes:
    """Go on with another message in the middle."""
    return frame[: luck.below(len(frame) + 1)] + other[luck.below(len(other) + 1) :]


BREAK_BYTES = (flipped, changed, truncated, inserted, spliced)


# Broken inside.

LIMITS = (2**31, 2**32, 2**40, 2**53, 2**63)
ABSURD = (-1, 0, 1, 2, 1023, 2**64 - 1, -(2**63), *(limit + by for limit in LIMITS for by in (-1, 0, 1)))
STRINGS = ("", "j", "p", "q", "r", "A", "B", "C", "Z", "x" * 200, "x" * 201, "\x00", "\U0001f3b0", "fuzz", "other")
OTHERS = (None, True, 1.5, b"j", [], {}, [[]], [0, 0, 0, 0, 0])


def broken_inside(frame: bytes, other: bytes, luck: Luck) -> bytes:
    """Change something in a message and give it a right checksum."""
    envelope, donor = (msgspec.msgpack.decode(one[CHECKSUM:]) for one in (frame, other))
    for _ in range(1 + luck.below(3)):
        tree = envelope if luck.below(12) == 0 or not isinstance(envelope[-1], list) else envelope[-1]
        places = _places(tree)
        if not places:
            break
        place, at = luck.pick(places)
        if luck.below(4) == 0:
            _transplant(place, at, donor, luck)
        elif isinstance(place[at], list) or luck.below(8) == 0:
            _break_list(place, at, luck)
        else:
            place[at] = _broken_value(place[at], luck)
    return sealed(msgspec.msgpack.encode(envelope))


def _transplant(place: list[Any], at: int, donor: list[Any], luck: Luck) -> None:
    """Put something of another message there: a number for a number, a part for a part."""
    alike = [there[where] for there, where in _places(donor) if type(there[where]) is type(place[at])]
    if alike:
        place[at] = _copied(luck.pick(alike))


def sealed(body: bytes) -> bytes:
    """Return a frame with a right checksum."""
    return crc32(body).to_bytes(CHECKSUM) + body


def _places(tree: list[Any]) -> list[tuple[list[Any], int]]:
    """Return every list in a tree, with every position in it."""
    places = [(tree, at) for at in range(len(tree))]
    for value in tree:
        if isinstance(value, list):
            places += _places(value)
    return places


def _break_list(place: list[Any], at: int, luck: Luck) -> None:
    what = luck.below(7)
    if what == 0:
        place.insert(at, _copied(luck.pick(OTHERS)))
    elif what == 1:
        del place[at]
    elif what == 2:
        place.insert(at, _copied(place[at]))  # a doubled arm, tally, cell
    elif what == 3:
        place.reverse()
    elif what == 4 and isinstance(place[at], list):
        place[at] = [_copied(entry) for entry in place[at] for _ in range(1 + luck.below(40))]
    elif what == 5 and isinstance(place[at], list):
        place[at] = []
    else:
        place[at] = _copied(luck.pick(OTHERS))


def _broken_value(value: Any, luck: Luck) -> Any:  # noqa: ANN401
    if luck.below(20) == 0:
        return _copied(luck.pick(OTHERS))
    if isinstance(value, int) and not isinstance(value, bool):
        return luck.pick(ABSURD) if luck.below(2) else max(-(2**63), min(2**64 - 1, value + luck.below(9) - 4))
    if isinstance(value, str):
        return luck.pick(STRINGS)
    return _copied(luck.pick(OTHERS))


def _copied(value: Any) -> Any:  # noqa: ANN401
    return [_copied(entry) for entry in value] if isinstance(value, list) else value


# The judge.


@dataclass
class Verdict:
    """What became of the mutations."""

    mutations: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """By reason."""
    accepted: int = 0
    ignored: int = 0
    """Accepted without any change: old, superseded, a word of a former session."""
    unbroken: int = 0
    """Bytes that came out as a real message, after all."""


class Judge:
    """Feeds broken messages to the victims, and raises `AssertionError` if one is not dealt with."""

    def __init__(self, seed: int = 1) -> None:
        self.moments, self.frames = recorded(seed)
        self.genuine = set(self.frames)
        self.verdict = Verdict()
        self._victims: dict[Moment, tuple[Agent, tuple[object, ...]]] = {}

    def run(self, mutations: int, seed: int = 1) -> Verdict:
        """Try so many mutations: half of them broken bytes, half broken inside."""
        for number in range(mutations):
            luck = Luck(seed, number)
            moment = luck.pick(self.moments)
            frame = moment.frame if luck.below(10) else luck.pick(self.frames)
            self.verdict.mutations += 1
            if luck.below(2):
                self.try_bytes(luck.pick(BREAK_BYTES)(frame, luck.pick(self.frames), luck))
            elif luck.below(50) == 0:
                self.try_foreign(frame, luck)
            else:
                self.try_inside(moment, broken_inside(frame, luck.pick(self.frames), luck))
        self.look_after()
        return self.verdict

    def try_bytes(self, frame: bytes) -> None:
        """Broken bytes never become a message, so no agent sees them."""
        if frame in self.genuine:
            self.verdict.unbroken += 1
            return
        try:
            message = decode(frame, GROUP)
        except PeerError as error:
            self.verdict.refused[reason(error)] += 1
            return
        raise AssertionError(f"broken bytes were read as {message}: {frame!r}")

    def try_foreign(self, frame: bytes, luck: Luck) -> None:
        """A whole message of another group is refused."""
        try:
            decode(encode(decode(frame, GROUP), luck.pick(("", "other", "fuzz2", "Fuzz"))), GROUP)
        except PeerError as error:
            self.verdict.refused[reason(error)] += 1
            return
        raise AssertionError(f"a message of another group was read: {frame!r}")

    def try_inside(self, moment: Moment, frame: bytes) -> None:
        """Feed a message that is broken inside to the victim of a moment."""
        agent, before = self._victim(moment)
        own, claims = own_cells(agent), agent.endpoint.witnesses.claims
        try:
            message = decode(frame, GROUP)
            outcome = agent.receive(message, moment.now)
        except PeerError as error:
            self.verdict.refused[reason(error)] += 1
            if before != everything(agent):
                raise AssertionError(f"a message that was refused ({error}) left a mark: {frame!r}") from error
            return
        after = everything(agent)
        if not outcome.records:
            self.verdict.ignored += 1
            assert after == before, f"a message without a record left a mark: {message}"
            return
        self.verdict.accepted += 1
        del self._victims[moment]
        wrong = endpoint_violations(agent.endpoint)
        assert not wrong, f"{wrong} after {message}"
        check_own(agent, own, claims, message)
        assert agent.policy.tally == total(agent.endpoint), f"the policy knows something else after {message}"
        assert set(agent.policy.candidates) == agent.endpoint.candidates.own, f"the candidates differ after {message}"
        stored = encode_snapshot(agent.snapshot())
        assert len(stored) <= len(moment.stored) + 4 * len(frame) + ROOM, f"grew to {len(stored)} after {message}"
        again = moment.kind.restored(moment.stored, outcome.records)
        assert everything(again) == after, f"the record does not lead to the same state: {message}"
        assert everything(moment.kind.restored(stored)) == after, f"cannot be restored as it was after {message}"
        for answer in (*outcome.outgoing, *agent.update(agent.select_arm(), 1.0, moment.now + 1).outgoing):
            assert decode(encode(answer, GROUP), GROUP) == answer
        agent.wake(moment.now + 1e6)
        assert endpoint_violations(agent.endpoint) == [], (
            f"{endpoint_violations(agent.endpoint)} later, after {message}"
        )

    def look_after(self) -> None:
        """See that no victim has changed that should not have."""
        for agent, before in self._victims.values():
            assert everything(agent) == before

    def _victim(self, moment: Moment) -> tuple[Agent, tuple[object, ...]]:
        if moment not in self._victims:
            agent = moment.kind.restored(moment.stored)
            self._victims[moment] = agent, everything(agent)
        return self._victims[moment]


def everything(agent: Agent) -> tuple[object, ...]:
    """Return all that an agent is: its snapshot to the byte, but for when it last heard of whom, and its policy."""
    policy, snapshot = agent.policy, agent.snapshot()
    links = tuple(link._replace(last_heard=None) for link in snapshot.endpoint.links)
    snapshot = snapshot._replace(endpoint=snapshot.endpoint._replace(links=links))
    return encode_snapshot(snapshot), policy.tally.entries(), policy.own_pulls, policy.candidates


def own_cells(agent: Agent) -> dict[CellKey, ArmTally]:
    """Return what an agent has observed itself, in every incarnation."""
    return {key: entry for key, entry in agent.endpoint.replica.cells() if key.agent == agent.name}


def check_own(agent: Agent, before: dict[CellKey, ArmTally], claims: tuple[Claim, ...], message: Message) -> None:
    """See that a peer has changed nothing of an agent's own, but for what it returned of other incarnations.

    What one peer alone had claimed before, the message may have confirmed.
    """
    told_now = () if isinstance(message, Acknowledgement) else message.changes.cells
    returned = {
        (CellKey(told.agent, told.incarnation, entry.arm, told.bandit, told.segment, told.period), entry)
        for told in (*told_now, *(claim.told for claim in claims))
        for entry in told.tallies
    }
    after = own_cells(agent)
    assert before.keys() <= after.keys(), f"own observations are gone after {message}"
    for key, entry in after.items():
        is_as_it_was = before.get(key) == entry
        is_returned = key.incarnation != agent.incarnation and (key, entry) in returned
        assert is_as_it_was or is_returned, f"own observations {key} were changed by {message}"


def reason(error: PeerError) -> str:
    """Return the short name of a reason to refuse a message."""
    text = str(error)
    for name, part in REASONS:
        if (part in text) if isinstance(part, str) else part.search(text):
            return name
    raise AssertionError(f"a refusal that this program does not know: {text}")


def main() -> int:
    """Try as many mutations as told, and print what became of them."""
    parser = argparse.ArgumentParser(description="Throw broken messages at agents that have state.")
    parser.add_argument("--mutations", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    judge = Judge()
    assert max(map(len, judge.frames)) < LARGEST_MESSAGE
    print(f"{len(judge.frames)} real messages, {len(judge.moments)} states of the agent that receives them")
    verdict = judge.run(options.mutations, options.seed)
    print(f"{verdict.mutations:>10,} mutations")
    print(f"{sum(verdict.refused.values()):>10,} refused")
    for name, count in verdict.refused.most_common():
        print(f"{count:>14,} {name}")
    print(f"{verdict.unbroken:>10,} not broken: bytes that came out as a real message")
    print(f"{verdict.ignored:>10,} ignored: nothing changed")
    print(f"{verdict.accepted:>10,} accepted: no invariant violated, restored exactly, no larger than explained")
    return 0


if __name__ == "__main__":
    sys.exit(main())
