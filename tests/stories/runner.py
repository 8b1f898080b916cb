"""Plays stories: real agents with real disks, and a network and a clock that are held in the hand.

A story is text. A paragraph of it is some commands, then `----`, then what came of them. A line with `#` is a remark:
rules, Restarts and More arms are those of docs/loss-tolerance.md, lines and sections are the paper's.

    agents j p          two agents that know each other; see `do_agents` for what else can be said of them
    start q             one more agent, to whom the driver introduces the others
    introduce j p, peer-left j p                              what the driver tells j about p; `p=C`: with this arm
    pull j A 1          j pulls arm A and gets 1; `x3` at the end: three times; `until 90`: once in each unit of time,
                        and `until 90 deliver`: what is said arrives at once
    batch j A=1/2       j takes several rewards at once: two of arm A, which add up to 1
    wake j, flush j, join j, leave j                          inputs of an agent; `timer j`: when it is to be woken
    grow j C            j serves arm C too, in a new session
    deliver 1 2         messages 1 and 2 arrive, again if they had; `deliver all`: all under way, and what follows
    double 1            message 1 arrives, and a copy of it is still under way
    hold 1, lose 1      `deliver all` leaves message 1 out; it is gone for good
    time 10             it is 10 o'clock
    idle 90             nobody pulls until 90, and whoever asked for it is woken; `idle 90 deliver`: nothing is lost
    save j, crash j 2   keep a copy of the disk; end the process before its last 2 records were on the disk
    restart j clean     from the disk, in the same session; `unclean`: as a new incarnation; `rolled-back`: that, from
                        the copy; `blank`: that, without a disk; `as=7`: as session 7; `arms=A,C`: with these arms
    copy j k            k is a second process under the name of j, from a copy of the disk; `deliver 1 to k`
    forge 1 number=-1   message 1 arrives with another number; `changes.cells.0.agent=q` goes further in
    status j p, peer j p, log j, totals                       how things stand
    complete            whether all that was observed is known to everyone who can use it, and nobody owes anything

After every command all that must hold is checked. What does not hold is shown as WRONG, and no story may say that.
"""

from ast import literal_eval
from collections.abc import Sequence
from functools import partial
from itertools import permutations
from typing import Any
from unittest.mock import patch

from tests.stories.stage import WRONG, Process, Stage
from tests.stories.words import link_in_words, log_in_words, peer_in_words, total_in_words

from cobandit import AAE, UCB, Agent, Constant, Geometric, PerCandidate, RetryTimers, on_demand
from cobandit.codec import encode_snapshot
from cobandit.core import Threshold, replica
from cobandit.values.errors import CobanditError
from cobandit.values.tally import ArmTally
from lab.swarm.disk import Disk

MOST_THAT_FOLLOW = 200
TIMERS = {"first": "10", "least": "1", "growth": "2", "tick": "100", "longest": "1000"}


def retold(story: str) -> str:
    """Play a story, and return it with what comes of its commands now."""
    world, told = World(), list[str]()
    with patch.object(replica, "MAX_FACTS_PER_MESSAGE", replica.MAX_FACTS_PER_MESSAGE):
        for paragraph in story.strip().split("\n\n"):
            lines = paragraph.split("\n----")[0].splitlines()
            commands = [line for line in lines if not line.startswith("#")]
            for command in commands:
                world.do(command)
            if commands:
                lines += ["----", *(world.lines or ["nothing"])]
                world.lines.clear()
            told.append("\n".join(lines))
    return "\n\n".join(told) + "\n"


class World(Stage):
    """The commands."""

    def do(self, command: str) -> None:
        """Do what a command says, and look whether all that must hold still does."""
        name, *arguments = command.split()
        try:
            getattr(self, f"do_{name.replace('-', '_')}")(*arguments)
        except CobanditError as error:
            self.lines.append(f"that cannot be: {error}")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"cannot do: {command}") from error
        self.lines += [WRONG + wrong for wrong in self.violations()]

    # Who is there.

    def do_agents(self, *arguments: str) -> None:
        """Start agents: `agents j p=A,B,C arms=A,B threshold=2 first=10 least=1 growth=2 tick=100 longest=1000`.

        A threshold is a number, `doubling` or `per-candidate`. `aae` for agents that eliminate arms, `reliable` for the
        paper's protocol, in which no message is lost, `strangers` for agents to whom nobody is introduced; `facts=2` if
        a message tells at most two facts.
        """
        options, flags, names = (
            {"arms": "A,B", "threshold": "1", "facts": "4096", **TIMERS},
            set[str](),
            dict[str, str](),
        )
        for argument in arguments:
            name, _, value = argument.partition("=")
            if name in options:
                options[name] = value
            elif name in ("aae", "reliable", "strangers"):
                flags.add(name)
            else:
                names[name] = value
        replica.MAX_FACTS_PER_MESSAGE = int(options["facts"])
        timers = RetryTimers(*(float(options[name]) for name in TIMERS))
        growing: dict[str, Threshold] = {"doubling": Geometric(), "per-candidate": PerCandidate()}
        threshold = growing.get(options["threshold"]) or Constant(int(options["threshold"]))
        self.sharing = on_demand(threshold, loss_tolerant=False if "reliable" in flags else timers)
        self.policy = AAE if "aae" in flags else UCB
        for name, value in names.items():
            self._start(name, value or options["arms"])
        for one, other in permutations(names, 2) if "strangers" not in flags else ():
            self._introduce(one, other)

    def do_start(self, argument: str) -> None:
        name, _, value = argument.partition("=")
        self._start(name, value or "A,B")
        self._introduce_others(name)

    def do_introduce(self, label: str, peer: str) -> None:
        name, _, arms = peer.partition("=")
        self.returns += 1
        self._introduce(label, name, arms)

    def do_peer_left(self, label: str, peer: str) -> None:
        self._input(label, lambda agent: agent.peer_left(peer, self.now))

    # What agents do.

    def do_pull(self, label: str, arm: str, reward: str, *how: str) -> None:
        pull = partial(self._observe, label, [ArmTally(arm, 1, int(reward), int(reward))])
        if how[:1] == ("until",):
            while self.now < float(how[1]):
                self._at(self.now + 1.0, pull)
                if how[2:] == ("deliver",):
                    self.do_deliver("all")
        else:
            for _ in range(int(how[0].removeprefix("x")) if how else 1):
                pull()

    def do_batch(self, label: str, *arguments: str) -> None:
        numbers = [argument.replace("/", "=").split("=") for argument in arguments]
        self._observe(label, [ArmTally(arm, int(count), int(total), int(total)) for arm, total, count in numbers])

    def do_wake(self, label: str) -> None:
        self._wake(label)
        self.do_timer(label)

    def do_timer(self, label: str) -> None:
        again = self._running(label).agent.wake_at
        self.lines.append(f"{label} need not be woken" if again is None else f"{label} is to be woken at {again:g}")

    def do_flush(self, label: str) -> None:
        self._input(label, lambda agent: agent.flush(self.now))

    def do_join(self, label: str, role: str = "") -> None:
        self.returns += 1
        self._input(label, lambda agent: agent.join(self.now, is_relay=role == "relay"))

    def do_leave(self, label: str) -> None:
        self._input(label, lambda agent: agent.leave())

    def do_grow(self, label: str, *arms: str) -> None:
        name, self.sessions = self._running(label).agent.name, self.sessions + 1
        grown = (*self._running(label).agent.arms, *arms)
        self._input(label, lambda agent: agent.begin(self.sessions, self.now, arms=grown))
        self.arms[name] = grown

    # The network and the clock.

    def do_deliver(self, *arguments: str) -> None:
        match arguments:
            case ("all",):
                last = len(self.sent) + MOST_THAT_FOLLOW
                while self.under_way:
                    self._deliver(self.under_way[0])
                    if len(self.sent) > last:
                        raise RuntimeError("they talk without end")
            case (number, "to", label):
                self._deliver(int(number), label)
            case _:
                for number in arguments:
                    self._deliver(int(number))

    def do_double(self, number: str) -> None:
        self._deliver(int(number))
        self.under_way.append(int(number))

    def do_hold(self, *numbers: str) -> None:
        self.is_orderly = False
        for number in map(int, numbers):
            self.under_way.remove(number)

    def do_lose(self, *numbers: str) -> None:
        self.is_orderly = False
        for number in self.under_way[:] if numbers == ("all",) else map(int, numbers):
            self.under_way.remove(number)
            self.lost.add(number)

    def do_time(self, now: str) -> None:
        self.now = float(now)

    def do_idle(self, until: str, how: str = "") -> None:
        for _ in range(MOST_THAT_FOLLOW):
            if how == "deliver":
                self.do_deliver("all")
            due = [(one.agent.wake_at, one.label) for one in self._all_running() if one.agent.wake_at is not None]
            if not due or min(due)[0] > float(until):
                self.now = float(until)
                return
            time, label = min(due)
            self._at(max(self.now, time), partial(self._wake, label))
        raise RuntimeError("they never fall silent")

    # Disks and starts.

    def do_save(self, label: str) -> None:
        process = self._running(label)
        process.saved = process.disk.clone()

    def do_crash(self, label: str, forgotten: str = "0") -> None:
        process = self._running(label)
        process.is_running = False
        del process.disk.records[len(process.disk.records) - int(forgotten) :]

    def do_restart(self, label: str, how: str, *arguments: str) -> None:
        process = self.processes[label]
        name, options = process.agent.name, dict(argument.split("=") for argument in arguments)
        disk = {"clean": process.disk, "unclean": process.disk, "rolled-back": process.saved, "blank": None}[how]
        if "arms" in options:
            self.arms[name] = tuple(options["arms"].split(","))
        self.sessions += how != "clean" and "as" not in options
        session = int(options.get("as", self.sessions))
        if disk is None:
            process.agent = Agent(name, self._policy(self.arms[name]), self.sharing, incarnation=session)
        else:
            process.agent = self._restored(disk, name)
            if how != "clean":
                process.agent.begin(session, self.now, incarnation=session, arms=self.arms[name])
        process.disk = Disk(encode_snapshot(process.agent.snapshot()), forgets=False)
        process.is_running, self.returns = True, self.returns + 1
        if disk is None:
            self._introduce_others(label)

    def do_copy(self, label: str, second: str) -> None:
        process = self._running(label)
        self.processes[second] = Process(second, self._restored(process.disk, process.agent.name))
        self.do_restart(second, "unclean")

    # What is looked at.

    def do_forge(self, number: str, *changes: str) -> None:
        message: Any = self.sent[int(number) - 1]
        process = self._running(message.receiver)
        for change in changes:
            path, _, value = change.partition("=")
            message = replaced(message, path.split("."), _literal(value))
        self._hear(process, message, f"a forged {number}")

    def do_totals(self) -> None:
        self.lines += [f"{process.label} {total_in_words(process.agent)}" for process in self._all_running()]

    def do_complete(self) -> None:
        self.lines += [WRONG + wrong for wrong in self.lacks()] or ["all is known, and nobody owes anything"]

    def do_log(self, label: str) -> None:
        self.lines += log_in_words(self._running(label).agent)

    def do_peer(self, label: str, peer: str) -> None:
        self.lines.append(f"to {label}, {peer} {peer_in_words(self._running(label).agent, peer)}")

    def do_status(self, label: str, peer: str) -> None:
        self.lines += [f"{label} to {peer}: {line}" for line in link_in_words(self._running(label).agent, peer)]


def replaced(value: Any, path: Sequence[str], new: object) -> Any:
    """Return a value in which one thing, some steps inside, is another."""
    if not path:
        return type(value)(*new) if hasattr(value, "_fields") and isinstance(new, tuple) else new
    if hasattr(value, "_fields"):
        return value._replace(**{path[0]: replaced(getattr(value, path[0]), path[1:], new)})
    place = int(path[0])
    return (*value[:place], replaced(value[place], path[1:], new), *value[place + 1 :])


def _literal(word: str) -> object:
    try:
        return literal_eval(word)
    except (SyntaxError, ValueError):
        return word
