"""Keys, secrets and trust files that change while members talk, over every network that proves something."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cobandit.live.auth.group_folder import GroupFolder
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.keys import issue, make_group, rotate
from cobandit.live.auth.proof import Proof
from cobandit.live.auth.refusal import Refusal
from cobandit.live.auth.trust import TRUST
from cobandit.live.auth.watched import Reread
from cobandit.live.transports.base import Transport
from cobandit.live.transports.tls import TlsTransport
from cobandit.live.transports.udp import UdpTransport
from cobandit.live.transports.urls import transport_for
from cobandit.values.errors import LocalError
from lab.diary import PATIENCE, Diary
from lab.servers import Server

PROVING = ["tls", "udp", "nats", "mqtt"]
SECRET, NEXT = "a secret of a group", "the secret after it"


class One:
    """A member: a folder of its own with its files, a transport and its inbox."""

    def __init__(self, group: "Group", name: str, *peers: "One", prefix: str | None = None) -> None:
        self.group, self.name, self.prefix = group, name, prefix
        self.folder = group.folder / "members" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.peers = [peer.address for peer in peers if peer.address]
        self.ear = Diary()
        self.transport: Transport

    @property
    def address(self) -> str:
        """Where it listens, if it does."""
        return self.transport.address if isinstance(self.transport, TlsTransport | UdpTransport) else ""

    @property
    def keys(self) -> Path:
        return self.folder / "keys.pem"

    @property
    def trust(self) -> Path:
        return self.folder / "trust.json"

    @property
    def secrets(self) -> Path:
        return self.folder / "secrets"

    def take_keys(self) -> None:
        """Get a new key file, in the place of the old one."""
        made = self.folder / "new.pem"
        issue(self.prefix or self.name, self.group.authority, out=made, is_prefix=self.prefix is not None)
        made.replace(self.keys)

    def take_trust(self) -> None:
        """Get the group's trust file, in the place of the old one."""
        shutil.copy(self.group.authority / TRUST, self.folder / "new")
        (self.folder / "new").replace(self.trust)

    def take_secrets(self, *secrets: str) -> None:
        (self.folder / "new").write_text("\n".join(secrets), encoding="utf-8")
        (self.folder / "new").chmod(0o600)
        (self.folder / "new").replace(self.secrets)

    def proof(self) -> Proof:
        if self.secrets.exists():
            return Proof(secret_file=self.secrets)
        return Proof(keys=self.keys, trust=self.trust if self.trust.exists() else None)

    async def open(self) -> None:
        self.transport = transport_for(self.group.url, peers=self.peers, proof=self.proof())
        await self.transport.open(self.name, "g", self.ear)

    def refresh(self) -> Reread:
        return self.transport.refresh()

    async def tells(self, other: "One") -> None:
        """Say something, again if the other did not know this one yet, until it is heard."""
        frame = f"from {self.name} to {other.name}".encode()
        other.ear.frames.clear()
        async with asyncio.timeout(PATIENCE):
            while (frame, self.proved) not in other.ear.frames:
                self.transport.send(other.name, frame)
                await asyncio.sleep(0.01)

    @property
    def proved(self) -> str | None:
        return None if self.secrets.exists() else self.name


class Group:
    """A group with its folder, on one network."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url, self.authority = folder, url, folder / "authority"
        make_group("g", self.authority)

    def one(self, name: str, *peers: One, prefix: str | None = None, secrets: tuple[str, ...] = ()) -> One:
        """Return a member with its files."""
        made = One(self, name, *peers, prefix=prefix)
        if secrets:
            made.take_secrets(*secrets)
        else:
            made.take_keys()
            made.take_trust()
        return made


@pytest.fixture(params=PROVING)
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Group:
    if request.param in {"nats", "mqtt"}:
        server: Server = request.getfixturevalue(request.param)
        return Group(tmp_path, server.url)
    return Group(tmp_path, f"{request.param}://127.0.0.1:0")


@asynccontextmanager
async def opened(*members: One) -> AsyncIterator[None]:
    try:
        for member in members:
            await member.open()
        yield
    finally:
        for member in members:
            if hasattr(member, "transport"):
                await member.transport.close()


async def all_talk(*members: One) -> None:
    """Let everybody tell everybody something, and nobody refuse anything."""
    for one in members:
        for other in members:
            if one is not other:
                await one.tells(other)


async def meet(*members: One) -> None:
    """Let all talk for the first time; what they did not understand at first is forgotten."""
    await all_talk(*members)
    for member in members:
        member.ear.refusals.clear()


def run(main: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(main())


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110  # nothing tells when a connection has ended
            await asyncio.sleep(0.01)


async def speaks(one: One, is_so: Callable[[], bool]) -> None:
    """Let a member speak to all and to each until this is so."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            one.transport.announce(b"let me in")
            for name in ("a", "web-1"):
                one.transport.send(name, b"let me in")
            await asyncio.sleep(0.01)


async def renewed(*members: One) -> None:
    """Wait until every TLS connection of the one that has new keys, the first, was made anew."""
    first, *others = members
    if not isinstance(first.transport, TlsTransport):
        return
    shown = Identity.load(first.keys)
    for other in others:
        assert isinstance(other.transport, TlsTransport)
        proved = other.transport._proved
        await until(
            lambda proved=proved: (  # type: ignore[misc]
                {one.valid_from for connection, one in proved.items() if connection.peer == first.name}
                == {shown.valid_from}
                and {one.authority for connection, one in proved.items() if connection.peer == first.name}
                == {shown.group_der}
            )
        )


def test_an_authority_is_replaced_while_all_talk_and_nobody_refuses_anything(group: Group) -> None:
    async def main() -> None:
        a = group.one("a")
        await a.open()
        b = group.one("b", a)
        c = None
        async with opened(b):
            await meet(a, b)
            stolen = b.keys.read_bytes()
            rotate(group.authority)
            for one in (a, b):
                one.take_trust()
                assert one.refresh() == Reread(("goes by number 2 of the group's trust file, with 0 revocations",))
                await all_talk(a, b)
            c = group.one("c", a)  # a newcomer's file is of the new authority
            async with opened(c):
                await meet(a, b, c)
                for one, others in ((b, (a, c)), (a, (b, c))):
                    one.take_keys()
                    found = one.refresh()
                    assert found.is_renewed
                    assert [text[:33] for text in found.changes] == ["shows its new certificate, valid "]
                    assert one.transport.valid_until == Identity.load(one.keys).valid_until
                    await all_talk(a, b, c)
                    await renewed(one, *others)
                GroupFolder(group.authority).finish()
                for one in (a, b, c):
                    one.take_trust()
                    assert one.refresh() == Reread(("goes by number 3 of the group's trust file, with 0 revocations",))
                    assert one.transport.trust_number == 3
                    await all_talk(a, b, c)
                assert [one.ear.refusals for one in (a, b, c)] == [[], [], []]
                b.keys.write_bytes(stolen)
                assert "is of an authority that is not trusted here" in b.refresh().troubles[0]
                await all_talk(a, b, c)  # it goes on with what it had
                late = group.one("late", a)
                late.keys.write_bytes(stolen)
                with pytest.raises(LocalError, match="is damaged, or not signed by the authority"):
                    await late.open()
                late.trust.unlink()
                late.name = "b"
                async with opened(late):
                    await speaks(late, lambda: Refusal.STRANGER in a.ear.reasons() + late.ear.reasons())
        await a.transport.close()

    run(main)


def test_a_trust_file_that_leaves_a_members_own_authority_out_is_its_trouble(group: Group) -> None:
    async def main() -> None:
        a = group.one("a")
        async with opened(a):
            rotate(group.authority)
            a.take_trust()
            assert a.refresh().troubles == ()
            GroupFolder(group.authority).finish()
            a.take_trust()
            outdated = f"the certificate in {a.keys} is of an authority that the group no longer trusts: "
            for _ in range(2):  # for as long as it lasts
                (said,) = a.refresh().troubles
                assert said.startswith(outdated)
            a.take_keys()
            assert a.refresh().troubles == ()

    run(main)


@pytest.mark.parametrize("group", ["tls"], indirect=True)
@pytest.mark.parametrize("knows_the_new_authority", [True, False])
def test_a_member_with_a_file_of_the_old_authority_is_told_so(group: Group, knows_the_new_authority: bool) -> None:
    async def main() -> None:
        a, old = group.one("a"), group.one("old")
        rotate(group.authority)
        if knows_the_new_authority:
            old.take_trust()
        else:
            old.trust.unlink()
        a.take_keys()
        GroupFolder(group.authority).finish()
        a.take_trust()
        async with opened(a):
            old.peers = [a.address]
            async with opened(old):
                await old.ear.until(lambda _: any("keys rotate" in (said or "") for said in old.ear.troubles))
                said = next(said for said in old.ear.troubles if said is not None)
        if knows_the_new_authority:
            assert said == (
                f"{a.address} hangs up on this agent: the certificate in {old.keys} is of the authority that was "
                "replaced (`cobandit keys rotate`), and others no longer trust that once it is finished: make a new "
                "one with `cobandit keys agent`"
            )
        else:
            assert said.startswith(f"who is at {a.address} is not of this group 'g' (")
            assert said.endswith(
                "If the group's authority was replaced (`cobandit keys rotate`), one of the two has an old file: make "
                "a new one for it with `cobandit keys agent`, and give both the group's new trust file"
            )

    run(main)


@pytest.mark.parametrize("group", PROVING[1:], indirect=True)
def test_a_secret_is_replaced_while_all_talk_and_nobody_refuses_anything(group: Group) -> None:
    async def main() -> None:
        a = group.one("a", secrets=(SECRET,))
        await a.open()
        b = group.one("b", a, secrets=(SECRET,))
        async with opened(b):
            await meet(a, b)
            for secrets in ((SECRET, NEXT), (NEXT, SECRET), (NEXT,)):
                for one in (a, b):
                    one.take_secrets(*secrets)
                    count = len(secrets)
                    assert one.refresh() == Reread(
                        (f"goes by {count} secrets of {one.secrets}, and sends with the first",)
                    )
                    assert one.refresh() == Reread()
                    await all_talk(a, b)
            assert (a.ear.refusals, b.ear.refusals) == ([], [])
            for content, says in (
                (b"short", "needs at least 16 bytes, not 5"),
                (b"\n", "0 are given"),
                (f"{SECRET}\n{NEXT}\nand one too many".encode(), "3 are given"),
                (b"\xff" * 20, "it is not text"),
            ):
                b.secrets.write_bytes(content)
                (said,) = b.refresh().troubles
                assert says in said
                assert "stay in use" in said
                assert NEXT not in said
                await all_talk(a, b)
            b.secrets.unlink()
            assert "No such file" in b.refresh().troubles[0]
            b.take_secrets(NEXT)
            assert b.refresh() == Reread()
            b.take_secrets(SECRET)
            b.refresh()
            b.transport.send("a", b"with the old one")
            await a.ear.until(lambda _: Refusal.FORGED in a.ear.reasons())
        await a.transport.close()

    run(main)


def test_pods_share_a_file_and_prove_names_that_begin_so_and_no_others(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        web = group.one("web-1")
        await web.open()
        pods = [group.one(name, web, prefix="pod-") for name in ("pod-x7f3", "pod-é", "pod-y")]
        for pod in pods[1:]:
            pod.keys.write_bytes(pods[0].keys.read_bytes())
        async with opened(*pods):
            await meet(web, *pods)
            assert [pod.transport.may_relay("web-1") for pod in pods] == [False] * 3
            assert not web.transport.may_relay("pod-y")
            outside = [group.one(name, web, prefix="pod-") for name in ("web-2", "pod-", "web-1")]
            for one in outside:
                with pytest.raises(
                    LocalError, match=f"proves names that begin with 'pod-' and go on, not '{one.name}'"
                ):
                    await one.open()
            monkeypatch.setattr(Identity, "check_member", lambda *_: None)  # as a program that does not check itself
            for one in outside[:2]:
                web.ear.frames.clear()
                web.ear.refusals.clear()
                async with opened(one):
                    await speaks(one, lambda: bool(web.ear.refusals))
                    assert set(web.ear.reasons()) <= {Refusal.FORGED, Refusal.STRANGER}
                    assert web.ear.frames == []
        await web.transport.close()

    run(main)


def test_who_is_revoked_is_refused_by_those_who_know_also_on_a_connection_that_was_there(group: Group) -> None:
    async def main() -> None:
        a = group.one("a")
        await a.open()
        b, c = group.one("b", a), group.one("c", a)
        async with opened(b, c):
            await meet(a, b, c)
            GroupFolder(group.authority).revoke("c")
            a.take_trust()
            assert a.refresh() == Reread(("goes by number 2 of the group's trust file, with 1 revocations",))
            a.ear.frames.clear()
            await b.tells(a)
            await c.tells(b)  # b has not read it yet
            await speaks(c, lambda: Refusal.REVOKED in a.ear.reasons())
            assert {sender for _, sender in a.ear.frames} <= {"b"}
            c.take_trust()
            (said,) = c.refresh().troubles
            assert said.startswith(f"the certificate of 'c' in {c.keys} is revoked")
            with pytest.raises(LocalError, match=r"the certificate of 'c' in .* is revoked"):
                await group_again(group, c).open()
            whole = a.trust.read_bytes()
            for broken in (whole[:-20], whole.replace(b'"c"', b'"d"'), b"", b"\xff"):
                a.trust.write_bytes(broken)
                (said,) = a.refresh().troubles
                assert f"the trust file {a.trust} is damaged, or not signed by" in said
            a.trust.write_bytes(b.trust.read_bytes())
            (said,) = a.refresh().troubles
            assert "has the number 1, and number 2 is in use here" in said
            a.trust.unlink()
            assert f"cannot read the trust file {a.trust}: No such file" in a.refresh().troubles[0]
            a.ear.refusals.clear()
            await speaks(c, lambda: Refusal.REVOKED in a.ear.reasons())  # the last good one stays
            a.trust.write_bytes(whole)
            assert a.refresh() == Reread()
            c.take_keys()
            assert c.refresh().troubles == ()
            await until(lambda: c.ear.reached[-1] is None or "a" in c.ear.reached[1:])  # it says that it is here
            await all_talk(c, a, b)
        await a.transport.close()

    run(main)


def group_again(group: Group, one: One) -> One:
    """Return the same member, to be started again."""
    return One(group, one.name)


def test_one_pod_or_all_of_them_can_be_revoked(group: Group) -> None:
    async def main() -> None:
        a = group.one("a")
        await a.open()
        pods = [group.one(name, a, prefix="pod-") for name in ("pod-x", "pod-y")]
        x, y = pods
        async with opened(*pods):
            await meet(a, *pods)
            for name, is_prefix, gone in (("pod-x", False, [x]), ("pod-", True, [x, y])):
                GroupFolder(group.authority).revoke(name, is_prefix=is_prefix)
                a.take_trust()
                a.refresh()
                for pod in gone:
                    a.ear.refusals.clear()
                    await speaks(pod, lambda: Refusal.REVOKED in a.ear.reasons())
                for pod in set(pods) - set(gone):
                    await pod.tells(a)
            for pod in pods:
                pod.take_keys()
                assert pod.refresh().troubles == ()
                await pod.tells(a)
        await a.transport.close()

    run(main)


def test_a_key_file_that_does_not_fit_is_said_and_the_one_before_it_stays(group: Group) -> None:
    async def main() -> None:
        a = group.one("a")
        await a.open()
        b = group.one("b", a)
        async with opened(b):
            await meet(a, b)
            for content, says in (
                (b"", "holds no private key"),
                (a.keys.read_bytes(), "proves the name 'a', not 'b'"),
                (relay(group, "b"), "'b' is a relay, and it runs as none: make it again with --plain, or start"),
            ):
                b.keys.write_bytes(content)
                (said,) = b.refresh().troubles
                assert says in said
                await all_talk(a, b)
            b.take_keys()
            assert b.refresh().troubles == ()
            await all_talk(a, b)
            assert (a.ear.refusals, b.ear.refusals) == ([], [])
        await a.transport.close()

    run(main)


def relay(group: Group, name: str) -> bytes:
    return issue(name, group.authority, out=group.folder / "relay.pem", may_relay=True).read_bytes()
