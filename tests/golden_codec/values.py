"""One value of every kind that is said or kept: what `tools/write_golden_frames.py` writes into the files beside it.

Names are kept for good. A field more in the present version is another value under another name, behind.
"""

from contextlib import closing
from pathlib import Path

from cobandit import AAE, Agent, on_demand
from cobandit.codec import encode_record, encode_snapshot
from cobandit.core import (
    Acknowledgement,
    Adopted,
    Bandit,
    Began,
    Cells,
    Changes,
    Delivery,
    Eliminations,
    Flushed,
    Forgot,
    InputRecord,
    Introduced,
    Limited,
    Message,
    Notice,
    Observed,
    PeerJoined,
    PeerLeft,
    Placed,
    Presence,
    Receipt,
    Received,
    Share,
    Turned,
    Woke,
)
from cobandit.core.pen_names import SettledBlock
from cobandit.core.pens import BookState, Pen
from cobandit.core.state import Snapshot
from cobandit.live.decide.common import Decided, Settled
from cobandit.live.machine.batch import Batch, NodeState
from cobandit.live.machine.control_messages import (
    AnyControlMessage,
    ControlsHeard,
    ControlsTold,
    FleetAsked,
    Hello,
    LogAsked,
    LogTold,
    PenAsked,
    PenLent,
    PenOver,
    PenRefused,
    PenReturned,
    RelaySought,
    Rewards,
    RewardsTaken,
    RewardsToBring,
    StatusAsked,
    StatusPassedOn,
    StatusTold,
)
from cobandit.live.machine.controls import Setting
from cobandit.live.machine.open_decisions import OpenDecisionsState
from cobandit.live.store.damage import INSERT_SNAPSHOT, with_checksum
from cobandit.live.store.sqlite_journal import SqliteJournal, leave_mail
from cobandit.values.tally import ArmTally

GROUP = "homepage"

_CELLS = (
    Cells("ann", 2, (ArmTally("A", 200, 70_000, 30_000), ArmTally("ü", 100, 0, 0))),
    Cells("bob", 2**52, (ArmTally("A", 1, 1, 1),), "homepage", "de/mobile", 70_000),
)
_ELIMINATIONS = (Eliminations("ann", 2, ("B", "C")),)
_HERE = Presence("ann", 2**52 + 1, 2, 2**52, is_present=True, arms=("A", "ü"), units_per_reward=10**6)
_BANDITS = (
    Bandit("homepage", ("A", "ü"), 200, period=86_400.0, periods=7, rewards=(-0.5, 200.0)),
    Bandit("mail", ("A",), 10**6, period=3_600.0, periods=48, half_life=28_800.0),
)
_SERVING = _HERE._replace(bandits=_BANDITS)
_CHANGES = Changes(3, 70_000, _CELLS, _ELIMINATIONS, (_HERE,))
_OF_A_PEN = Changes(
    3,
    6,
    (Cells("bob~ff-2", 255, (ArmTally("A", 2, 1, 1),)),),
    settled=(SettledBlock("bob~ff-2", 255, 3, b"\x03\x80"), SettledBlock("bob~ff-2", 255, 2, b"")),
)
_RECEIPT = Receipt(session=4, number=5, held=70_000)
_SETTINGS = (Setting("freeze A", "frozen", 3, "ann"), Setting("kill", None, 1_800_000_000_123, "bob"))

MESSAGES: dict[str, Message] = {
    "share": Share("ann", "bob", 1, 300, Changes(0, 3, _CELLS[:1])),
    "share, where messages may be lost": Share(
        "ann", "bob", 2, 300, _CHANGES, Delivery(3, 1, _RECEIPT, is_answer=True, is_introduced=True)
    ),
    "notice of an elimination": Notice("ann", "bob", Changes(eliminations=_ELIMINATIONS)),
    "notice of a return": Notice("ann", "bob", Changes(presences=(_HERE,))),
    "notice of a farewell": Notice("ann", "bob", Changes(presences=(_HERE._replace(number=3, is_present=False),))),
    "acknowledgement": Acknowledgement("ann", "bob", Delivery(3, 0, _RECEIPT)),
    "notice of bandits": Notice("ann", "bob", Changes(presences=(_SERVING,))),
    "share of a pen": Share("bob~ff-2", "bob", 2, 3, _OF_A_PEN, Delivery(300, 0, _RECEIPT, is_introduced=True)),
}

CONTROL_MESSAGES: dict[str, AnyControlMessage] = {
    "hello": Hello("ann", ("A", "ü"), 10**6, 2**52, 4, b"digest", wants_answer=True, incarnation=2**51, reads=(1,)),
    "controls told": ControlsTold("ann", _SETTINGS),
    "controls heard": ControlsHeard("ann", b"digest"),
    "rewards": Rewards("ann", (("d1.x", 0.5), ("d1.y", 1.0))),
    "rewards taken": RewardsTaken("ann", ("d1.x",)),
    "status asked": StatusAsked("operator"),
    "status told": StatusTold("ann", b"statistics"),
    "pen asked": PenAsked("asker", b"nonce", ("A", "ü"), 10**6),
    "pen lent": PenLent(
        "bob",
        b"nonce",
        "bob~ff-2",
        session=300,
        first_number=17,
        key=b"key",
        tallies=(ArmTally("A", 2, 1, 1),),
        totals=(ArmTally("ü", 2**33, 2**40, 2**41),),
        lender_session=256,
        upto=70_000,
        settings=_SETTINGS,
        lease=120.0,
        settled=_OF_A_PEN.settled,
    ),
    "pen refused": PenRefused("bob", b"nonce", "another quantum"),
    "pen returned": PenReturned("bob~ff-2", "bob~ff-2", 300, 70_001, 18),
    "pen over": PenOver("bob", "bob~ff-2", 300, is_closed=True),
    "log asked": LogAsked("bob", 256),
    "log told": LogTold("ann", 256, 2**52, 70_000, ("bob", "carl")),
    "relay sought": RelaySought("ann"),
    "rewards to bring": RewardsToBring("ann", (("d1.token", 0.5),)),
    "fleet asked": FleetAsked("ann"),
    "status passed on": StatusPassedOn("ann", b"statistics"),
}

RECORDS: dict[str, InputRecord] = {
    "observed": Observed((ArmTally("A", 2, 1, 1), ArmTally("B", 1, 0, 0)), 1.5),
    "received": Received(MESSAGES["share, where messages may be lost"], 2.5),
    "peer joined": PeerJoined("bob", ("A", "ü"), 0.0),
    "peer left": PeerLeft("bob", 3.0),
    "introduced": Introduced(4.5),
    "woke": Woke(5.5),
    "flushed": Flushed(7.5),
    "began": Began(2**52 + 1, 2**52, ("A", "ü"), 8.5),
    "forgot": Forgot("p", 9.5),
    "adopted": Adopted(_OF_A_PEN.cells[0], _OF_A_PEN.settled[:1], 2.5),
    "observed with a pen": Observed((ArmTally("A", 1, 1, 1),), 1.5, (SettledBlock("bob~ff-2", 255, 3, b"\x03"),)),
}


_FIRST_RECORDS = tuple(RECORDS.values())
"""Those in the golden batch, which was written before there were more."""

RECORDS |= {
    "turned": Turned(604_800.0, 3.5),
    "observed elsewhere": Observed((), 1.5, (), (Placed("homepage", "de/mobile", (ArmTally("A", 2, 1, 1),)),)),
    "limited": Limited(300),
    "began with bandits": Began(2**52 + 1, 2**52, (), 8.5, _BANDITS),
}


def snapshot() -> Snapshot:
    """Of an agent with something in everything that it keeps."""
    agent = Agent("ann", AAE(["A", "B", "C"], quantum=0.5), on_demand(loss_tolerant=True), incarnation=3)
    agent.peer_joined("bob", ["A", "B", "C"])
    agent.update("B", 0.5, now=1.5)
    agent.endpoint.eliminate("A", 2.0)
    former = Cells("bob", 1, (ArmTally("B", 2, 4, 8),))
    present = Cells("bob", 4, (ArmTally("C", 1, 0, 0),))
    here = Presence("bob", 5, 2, 4, is_present=True, arms=("A", "B", "C"), units_per_reward=2)
    changes = Changes(0, 7, (former, present), (Eliminations("bob", 4, ("C",)),), (here,))
    delivery = Delivery(5, 1, Receipt(3, 1, 1), is_introduced=True)
    agent.receive(Share("bob", "ann", 1, 2, changes, delivery), now=2.5)
    agent.join(now=3.0)
    return agent.snapshot()


_PEN = Pen("ann~ff-2", "lent", 300, b"nonce", 17, ((16, 3.5),), 4)

BATCHES: tuple[Batch, ...] = (
    Batch(
        decided=(
            Decided(2**32 + 7, "B", 0.25, 12.5, "user 1", is_forced=True),
            Decided(2**32 + 8, "A", None, 13.0, None),
        ),
        settled=(Settled(2**32 + 7, "B", 1, 14.0), Settled(2**32 + 8, "A", None, 15.0)),
        records=tuple(map(encode_record, _FIRST_RECORDS)),
        settings=_SETTINGS,
        rewards_kept=(("bob", "d1.x", 0.5),),
        rewards_gone=(("bob", "d1.y"),),
        trusted_since=1,
        pens=(_PEN,),
        pens_gone=("ann~1-1",),
    ),
    Batch(),
)


def state() -> NodeState:
    """Of a member with something in everything that it keeps."""
    open_decisions = OpenDecisionsState(((2**32 + 6, "A", 11.0),), (("user 1", "B", 0.25),), ((1, 6),), (2**32 + 3,), 1)
    rewards = (("bob", "d1.z", 0.5),)
    book = BookState((_PEN,), 255, 2)
    return NodeState(encode_snapshot(snapshot()), 1, b"secret", True, _SETTINGS, rewards, open_decisions, GROUP, book)


def write_state_file(path: Path) -> None:
    """Write a state file that is the same each time, except for what SQLite itself puts into its header."""
    with closing(SqliteJournal(path)) as journal:
        journal.write(BATCHES[:1])
        journal.replace(state())
        journal.write(BATCHES)
        leave_mail(path, "d1.mail", 0.5)
        (after, content) = journal._database.execute("SELECT after, content FROM snapshot").fetchone()
        journal._database.execute(INSERT_SNAPSHOT, with_checksum(after, "here", content))
        journal._database.execute("PRAGMA journal_mode = DELETE")
