"""Members whose files are replaced while they run: through the public door, over TLS and over NATS."""

import itertools
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

import cobandit
from cobandit import Constant, RetryTimers, on_demand
from cobandit.cli import main
from cobandit.live.auth.group_folder import GroupFolder
from cobandit.live.auth.keys import issue, make_group, rotate
from cobandit.live.auth.trust import TRUST
from cobandit.live.drive import proof_watch
from cobandit.live.drive.member import Member
from cobandit.live.status.metrics import MemberCollector
from cobandit.live.status.statistics import Statistics
from cobandit.values.errors import LocalError
from lab.servers import Server, free_port

QUICK = on_demand(Constant(1), loss_tolerant=RetryTimers(first=0.2, least=0.05, tick=0.2, longest=1.0))
WITHIN = 60.0
SECRET, NEXT = "a secret of a group", "the secret after it"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_watch, "LOOK_EVERY", 0.05)


class Fleet:
    """Members with files of their own, on one network."""

    def __init__(self, folder: Path, url: str, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.authority = folder / "authority"
        make_group("g", self.authority)
        self._urls = itertools.repeat(url) if url else (f"tls://127.0.0.1:{port}" for port in iter(free_port, 0))
        self.first: str | None = None

    def keys(self, name: str) -> Path:
        return self.folder / f"{name}.pem"

    def trust(self, name: str) -> Path:
        return self.folder / f"{name}.trust"

    def take_keys(self, name: str) -> None:
        issue(name, self.authority, out=self.folder / "new").replace(self.keys(name))

    def take_trust(self, *names: str) -> None:
        for name in names:
            shutil.copy(self.authority / TRUST, self.folder / "new")
            (self.folder / "new").replace(self.trust(name))

    def start(self, name: str, **options: object) -> Member:
        url = next(self._urls)
        if not options:
            self.take_keys(name)
            self.take_trust(name)
            options = {"keys": self.keys(name), "trust": self.trust(name)}
        peers = [self.first.removeprefix("tls://")] if self.first is not None and url.startswith("tls") else []
        self.first = self.first or url
        member = cobandit.connect(url, group="g", name=name, arms=["A", "B"], sharing=QUICK, peers=peers, **options)  # type: ignore[arg-type]
        return self._stack.enter_context(member)


@pytest.fixture(params=["tls", "nats"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    server: Server | None = request.getfixturevalue("nats") if request.param == "nats" else None
    with ExitStack() as stack:
        yield Fleet(tmp_path, "" if server is None else server.url, stack)


def until(member: Member, is_so: Callable[[Statistics], bool]) -> Statistics:
    deadline = time.monotonic() + WITHIN
    while not is_so(statistics := member.statistics()):
        assert time.monotonic() < deadline, statistics
        time.sleep(0.01)
    return statistics


def all_learn(*members: Member) -> None:
    """Let each observe something, and wait until all know everything."""
    total = sum(member.statistics().own_observations for member in members) + len(members)
    for member in members:
        assert member.update(member.select_arm(), 1.0)
    for member in members:
        until(member, lambda s: s.observations == total)


def test_an_authority_is_replaced_without_a_stop(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    members = {name: fleet.start(name) for name in ("a", "b")}
    all_learn(*members.values())
    with caplog.at_level(logging.INFO, "cobandit"):
        rotate(fleet.authority)
        fleet.take_trust(*members)
        for member in members.values():
            until(member, lambda s: s.trust_number == 2)
        all_learn(*members.values())
        for name, member in members.items():
            before = member.statistics().certificate_s or 0.0
            issue(name, fleet.authority, days=700, out=fleet.folder / "new").replace(fleet.keys(name))
            until(member, lambda s, before=before: (s.certificate_s or 0.0) > before)  # type: ignore[misc]
            all_learn(*members.values())
        GroupFolder(fleet.authority).finish()
        fleet.take_trust(*members)
        for member in members.values():
            until(member, lambda s: s.trust_number == 3)
    all_learn(*members.values())
    assert [member.statistics().troubles for member in members.values()] == [(), ()]
    said = [text.partition(" a: ")[2] for text in caplog.messages if " a: " in text]
    assert said.count("goes by number 3 of the group's trust file, with 0 revocations") == 1
    assert sum(text.startswith("shows its new certificate, valid until ") for text in said) == 1
    all_learn(*members.values(), fleet.start("c"))


def test_a_revoked_member_learns_nothing_more_and_teaches_nobody(fleet: Fleet) -> None:
    a, b, stolen = (fleet.start(name) for name in ("a", "b", "stolen"))
    all_learn(a, b, stolen)
    GroupFolder(fleet.authority).revoke("stolen")
    fleet.take_trust("a", "b")
    for member in (a, b):
        until(member, lambda s: s.trust_number == 2)
    for _ in range(20):
        assert stolen.update(stolen.select_arm(), 1.0)
    until(a, lambda s: s.refused.get("revoked", 0) > 0)
    assert a.update(a.select_arm(), 1.0)
    until(b, lambda s: s.observations == 4)
    assert [member.statistics().observations for member in (a, b)] == [4, 4]
    until(stolen, lambda s: s.observations == 23)
    registry = CollectorRegistry()
    registry.register(MemberCollector(a))
    assert registry.get_sample_value("cobandit_trust_number", {"group": "g", "member": "a"}) == 2.0
    revoked = registry.get_sample_value(
        "cobandit_packets_refused_total", {"group": "g", "member": "a", "reason": "revoked"}
    )
    assert revoked is not None
    assert revoked > 0
    fleet.take_trust("stolen")
    (said,) = until(stolen, lambda s: any("revoked" in trouble for trouble in s.troubles)).troubles[-1:]
    assert said.startswith(f"the certificate of 'stolen' in {fleet.keys('stolen')} is revoked")
    fleet.take_keys("stolen")  # it was a mistake
    until(stolen, lambda s: not any("revoked" in trouble for trouble in s.troubles))
    all_learn(a, b, stolen)


def test_a_broken_trust_file_is_a_trouble_until_it_is_mended(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    a, whole = fleet.start("a"), fleet.trust
    (fleet.folder / "new").write_bytes(b"not signed")
    (fleet.folder / "new").replace(whole("a"))
    trouble = f"the trust file {whole('a')} is damaged, or not signed by"
    found = until(a, lambda s: any(text.startswith(trouble) for text in s.troubles))
    assert found.trust_number == 1
    with caplog.at_level(logging.INFO, "cobandit"):
        fleet.take_trust("a")
        until(a, lambda s: s.troubles == ())
    assert "event=proof_unreadable_over a: works again: the proof of its name" in caplog.messages


def test_pods_with_random_names_share_a_file(fleet: Fleet) -> None:
    pods = issue("pod-", fleet.authority, is_prefix=True)
    all_learn(fleet.start("web-1"), *(fleet.start(name, keys=pods) for name in ("pod-x7f3", "pod-9k2d")))
    with pytest.raises(LocalError, match="proves names that begin with 'pod-' and go on, not 'web-2'"):
        fleet.start("web-2", keys=pods)
    with pytest.raises(LocalError, match="is to be a relay, and its certificate does not say that it may"):
        fleet.start("pod-relay", keys=pods, relay=True)


def test_a_secret_is_replaced_without_a_stop(nats: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as stack, caplog.at_level(logging.INFO, "cobandit"):
        fleet = Fleet(tmp_path, nats.url, stack)
        files = {name: tmp_path / name for name in ("a", "b")}
        for file in files.values():
            file.write_text(SECRET, encoding="utf-8")
            file.chmod(0o600)
        members = [fleet.start(name, secret_file=file) for name, file in files.items()]
        all_learn(*members)
        for secrets in ((SECRET, NEXT), (NEXT, SECRET), (NEXT,)):
            for file in files.values():
                read = f"goes by {len(secrets)} secrets of {file}"
                before = caplog.text.count(read)
                file.write_text("\n".join(secrets), encoding="utf-8")
                until(members[0], lambda _, read=read, before=before: caplog.text.count(read) > before)  # type: ignore[misc]
                all_learn(*members)
        # A newcomer that sends with one and accepts another is understood, and understands.
        all_learn(*members, fleet.start("c", secret=[NEXT, SECRET]))
        assert [member.statistics().refused.get("forged", 0) for member in members] == [0, 0]


def test_an_operator_asks_with_the_same_files(nats: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        fleet = Fleet(tmp_path, nats.url, stack)
        fleet.start("a")
        people = issue("people-", fleet.authority, is_prefix=True)
        asking = ["status", nats.url, "--group", "g", "--json", "--wait", "10"]
        assert main([*asking, "--keys", str(people), "--trust", str(fleet.trust("a"))]) == 0
        (member,) = json.loads(capsys.readouterr().out)["members"]
        assert (member["name"], member["trust_number"]) == ("a", 1)
        (tmp_path / "secrets").write_text("short", encoding="utf-8")
        assert main([*asking, "--secret-file", str(tmp_path / "secrets")]) == 2
        assert "needs at least 16 bytes" in capsys.readouterr().err
        assert main([*asking, "--trust", str(fleet.trust("a"))]) == 2
        assert "a trust file says which keys count: give keys with it" in capsys.readouterr().err


def test_a_check_says_that_a_key_file_is_revoked_or_of_an_authority_that_was_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_group("g", tmp_path)
    issue("m", tmp_path, may_relay=True)
    (tmp_path / "m.toml").write_text(
        f'group = "g"\nname = "m"\nurl = "nats://127.0.0.1:1"\narms = ["A"]\nstate = "m.db"\nkeys = "m.pem"\n'
        f'trust = "{TRUST}"\n',
        encoding="utf-8",
    )

    def said(code: int) -> str:
        assert main(["relay", "--check", str(tmp_path / "m.toml")]) == code
        found = capsys.readouterr()
        return found.out + found.err

    said(0)
    GroupFolder(tmp_path).revoke("m")
    assert "the certificate of 'm' in " in said(2)
    (tmp_path / "m.pem").unlink()
    issue("m", tmp_path, may_relay=True)
    said(0)
    rotate(tmp_path)
    said(0)
    GroupFolder(tmp_path).finish()
    assert "if the authority was replaced meanwhile, the member needs a new key file" in said(2)
    (tmp_path / TRUST).unlink()
    assert "cannot read the trust file" in said(2)
