"""The group's trust file and its folder: who counts, what is revoked, and what is not taken for the file."""

import datetime as dt
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cobandit.cli import main
from cobandit.live.auth import group_folder, keys, trust
from cobandit.live.auth.certificates import Names, verify
from cobandit.live.auth.credentials import Credentials
from cobandit.live.auth.group_folder import AUTHORITY, FORMER, NEXT, GroupFolder
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.issued import ISSUED
from cobandit.live.auth.keys import issue, make_group, rotate
from cobandit.live.auth.trust import TRUST, Revocation, Trust, read_trust, write_trust
from cobandit.values.errors import LocalError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_group("g", tmp_path / "g")
    return tmp_path / "g"


def read(folder: Path) -> Trust:
    return GroupFolder(folder).trust()


def der(folder: Path) -> bytes:
    return GroupFolder(folder).present.der


def test_a_group_has_a_public_trust_file_from_the_beginning(folder: Path) -> None:
    assert read(folder) == Trust("g", 1, (der(folder),))
    assert (folder / TRUST).stat().st_mode & 0o777 == 0o644
    assert b"PRIVATE" not in (folder / TRUST).read_bytes()


def test_what_is_revoked_is_about_names_and_about_certificates_until_then() -> None:
    found = Trust("g", 1, (), (Revocation("web-1", 100), Revocation("pod-", 200, is_prefix=True)))
    assert found.last_until == 200
    asked = [("web-1", 100), ("web-1", 101), ("web-12", 1), ("pod-x", 200), ("pod-x", 201), ("pod-", 1), ("po", 1)]
    assert [found.is_revoked(name, made_at) for name, made_at in asked] == [
        True,
        False,
        False,
        True,
        False,
        True,
        False,
    ]


def test_of_two_revocations_of_one_name_the_later_counts() -> None:
    both = (Revocation("a", 200), Revocation("a", 100))
    for revoked in (both, both[::-1]):
        assert [Trust("g", 1, (), revoked).is_revoked("a", made_at) for made_at in (200, 201)] == [True, False]


def test_a_file_that_is_made_after_a_revocation_is_good_however_soon(folder: Path) -> None:
    for number in range(3):  # all within a second or two
        identity = Identity.load(issue("a", folder, out=folder / f"{number}.pem"))
        assert not read(folder).is_revoked("a", identity.made_at)
        GroupFolder(folder).revoke("a")
        assert read(folder).is_revoked("a", identity.made_at)
    assert len(read(folder).revoked) == 1
    assert read(folder).number == 4


def test_a_revocation_from_the_future_is_said_before_a_file_is_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        ahead = dt.datetime.now(dt.UTC).timestamp() + 86_400
        patch.setattr(time, "time", lambda: ahead)
        GroupFolder(folder).revoke("a")
    with pytest.raises(LocalError, match=r"which is in the future: set this computer's clock"):
        issue("a", folder)
    assert not (folder / "a.pem").exists()


def test_as_many_names_are_revoked_as_the_file_may_have(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_folder, "MAX_REVOKED", 2)
    for name in ("a", "b", "a"):
        GroupFolder(folder).revoke(name)
    content = (folder / TRUST).read_bytes()
    with pytest.raises(LocalError, match="replace the authority with `cobandit keys rotate`"):
        GroupFolder(folder).revoke("c")
    assert (folder / TRUST).read_bytes() == content
    with pytest.raises(LocalError, match="name must be a string"):
        GroupFolder(folder).revoke("")


def test_no_byte_of_what_is_signed_can_be_changed(folder: Path, tmp_path: Path) -> None:
    GroupFolder(folder).revoke("a")
    whole, changed = (folder / TRUST).read_bytes(), tmp_path / "changed"
    end = whole.index(b"\n")
    for at in range(0, end, 7):
        changed.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(LocalError, match="is damaged, or not signed"):
            read_trust(changed, "g", [der(folder)])
    for size in (0, 10, end, end + 1, end + 10):
        changed.write_bytes(whole[:size])
        with pytest.raises(LocalError, match="is damaged, or not signed"):
            read_trust(changed, "g", [der(folder)])


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"{}\n", b"{}\nAAAA\n", b"{}\n!\n", b"\n" * 1000, b"{" * 100_000]
)
def test_what_is_no_trust_file_says_what_to_do(content: bytes, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(LocalError, match=r"is damaged, or not signed by .* copy the one from the group's folder again"):
        read_trust(tmp_path / "t", "g", [der(folder)])


def test_a_signed_file_with_other_contents_than_there_can_be_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, good, file = GroupFolder(folder), read(folder), tmp_path / "t"
    member = Identity.load(issue("a", folder)).certificate_der
    for authorities in ((), good.authorities * 3, (member,)):
        file.write_bytes(write_trust(replace(good, authorities=authorities), [group.present.key]))
        with pytest.raises(LocalError, match="does not name one or two authorities of 'g'"):
            read_trust(file, "g", good.authorities)
    with pytest.raises(LocalError, match="does not name one or two authorities of 'h'"):
        read_trust(folder / TRUST, "h", good.authorities)
    file.write_bytes(write_trust(replace(good, authorities=(b"x",)), [group.present.key]))
    with pytest.raises(LocalError, match="has content that this version does not understand"):
        read_trust(file, "g", good.authorities)
    monkeypatch.setattr(trust, "MAX_REVOKED", 1)
    file.write_bytes(write_trust(replace(good, revoked=(Revocation("a", 1),) * 2), [group.present.key]))
    with pytest.raises(LocalError, match="has more than 1 revocations"):
        read_trust(file, "g", good.authorities)
    with pytest.raises(LocalError, match=r"cannot read the trust file .* No such file"):
        read_trust(tmp_path / "nowhere", "g", good.authorities)
    monkeypatch.setattr(trust, "MAX_TRUST_BYTES", 10)
    with pytest.raises(LocalError, match="is longer than 10 bytes"):
        read_trust(file, "g", good.authorities)


def test_another_groups_file_of_the_same_name_is_not_signed(folder: Path, tmp_path: Path) -> None:
    make_group("g", tmp_path / "other")
    with pytest.raises(LocalError, match="is damaged, or not signed by the authority of this member's key file"):
        read_trust(tmp_path / "other" / TRUST, "g", [der(folder)])


def test_while_an_authority_is_replaced_both_count_and_both_sign(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, before = der(folder), Identity.load(issue("a", folder))
    with monkeypatch.context() as patch:
        an_hour_ago = dt.datetime.now(dt.UTC).timestamp() - 3600
        patch.setattr(time, "time", lambda: an_hour_ago)
        GroupFolder(folder).revoke("gone")
    assert rotate(folder) == folder / TRUST
    new, after = der(folder), Identity.load(issue("b", folder))
    assert (before.group_der, after.group_der) == (old, new)
    for signer in (old, new):
        found = read_trust(folder / TRUST, "g", [signer])
        assert (found.number, found.authorities) == (3, (new, old))
        assert [one.name for one in found.revoked] == ["gone"]
        assert None not in (found.verify(before.certificate_der), found.verify(after.certificate_der))
    with pytest.raises(LocalError, match="is being replaced already"):
        rotate(folder)
    GroupFolder(folder).revoke("b")
    assert GroupFolder(folder).finish() == folder / TRUST
    found = read(folder)
    assert (found.number, found.authorities, [one.name for one in found.revoked]) == (5, (new,), ["b"])
    assert found.verify(before.certificate_der) is None
    assert sorted(path.name for path in folder.iterdir()) == ["a.pem", "b.pem", AUTHORITY, ISSUED, TRUST]
    with pytest.raises(LocalError, match="is not being replaced: begin with"):
        GroupFolder(folder).finish()
    with pytest.raises(LocalError, match="is damaged, or not signed by the authority"):
        read_trust(folder / TRUST, "g", [old])


def test_a_rotation_that_was_interrupted_anywhere_is_finished_by_the_same_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PowerCut(Exception):  # noqa: N818
        pass

    def cut(*_: object, **__: object) -> None:
        raise PowerCut

    old = der(folder)
    for owner, step in ((GroupFolder, "take_next"), (Path, "replace"), (GroupFolder, "write_trust")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, step, cut)
            with pytest.raises(PowerCut):
                rotate(folder)
        if (folder / NEXT).exists():
            with pytest.raises(LocalError, match=r"was interrupted in .*: call it again first"):
                GroupFolder(folder).finish()
        Identity.load(issue("a", folder)).path.unlink()
    rotate(folder)
    new = der(folder)
    assert read(folder).authorities == (new, old)
    with monkeypatch.context() as patch:
        patch.setattr(GroupFolder, "write_trust", cut)
        with pytest.raises(PowerCut):
            GroupFolder(folder).finish()
    GroupFolder(folder).finish()
    assert read(folder).authorities == (new,)
    assert not (folder / FORMER).exists()


def test_a_damaged_file_in_the_folder_stops_what_would_write_over_it(folder: Path) -> None:
    (folder / TRUST).write_bytes(b"{")
    acts: list[Callable[[], Path]] = [
        lambda: GroupFolder(folder).revoke("a"),
        lambda: issue("a", folder),
        lambda: GroupFolder(folder).write_trust(),
    ]
    for act in acts:
        with pytest.raises(LocalError, match="put a copy in its place, from a member or a backup"):
            act()
    assert (folder / TRUST).read_bytes() == b"{"


def test_a_file_for_a_prefix_says_so(folder: Path) -> None:
    identity = Identity.load(issue("pod-", folder, is_prefix=True))
    assert identity.path.name == "pod-any.pem"
    assert identity.names == Names("g", "pod-", is_prefix=True)
    verified = verify(identity.certificate_der, identity.group_der)
    assert verified is not None
    assert verified.names == identity.names
    identity.check_member("pod-x7f3", "g")
    for name in ("pod-", "pod", "web-1"):
        with pytest.raises(LocalError, match=f"proves names that begin with 'pod-' and go on, not '{name}'"):
            identity.check_member(name, "g")


@pytest.mark.parametrize("prefix", ["*", "a*", "/", "%2A", "ü", "x" * 199])
def test_a_prefix_may_be_anything_that_a_name_may_begin_with(prefix: str, folder: Path) -> None:
    identity = Identity.load(issue(prefix, folder, is_prefix=True, out=folder / "p.pem"))
    assert identity.names == Names("g", prefix, is_prefix=True)
    identity = Identity.load(issue(prefix, folder, out=folder / "n.pem"))
    assert identity.names == Names("g", prefix)


def test_a_prefix_that_is_none_and_a_relay_with_one_are_refused(folder: Path) -> None:
    for prefix in ("", "x" * 200):
        with pytest.raises(LocalError, match="name must be a string of 1 to 199"):
            issue(prefix, folder, is_prefix=True)
    with pytest.raises(LocalError, match="a relay needs its own name"):
        issue("pod-", folder, is_prefix=True, may_relay=True)
    assert sorted(path.name for path in folder.iterdir()) == [AUTHORITY, TRUST]


def test_a_certificate_for_a_prefix_that_may_relay_proves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = keys._certificate
    monkeypatch.setattr(keys, "_certificate", lambda *given, **more: real(*given, **{**more, "may_relay": True}))
    path = issue("pod-", folder, is_prefix=True)
    with pytest.raises(LocalError, match="is not of the group in it"):
        Identity.load(path)


def test_a_name_for_which_no_file_was_made_is_not_revoked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, kind in (("web-1", ()), ("pod-", ("--prefix",))):
        assert main(["keys", "agent", name, *kind, "--folder", str(folder)]) == 0

    def revokes(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        return main(["keys", "revoke", *arguments, "--folder", str(folder)]), capsys.readouterr().err

    refused = f"cobandit: nothing revoked: {folder / ISSUED} lists no file for"
    anyway = "If one was made elsewhere, add --anyway\n"
    assert revokes("web-11") == (2, f"{refused} 'web-11'. Did you mean 'web-1'? {anyway}")
    assert revokes("db", "--prefix") == (2, f"{refused} names that start with 'db'. {anyway}")
    assert read(folder).revoked == ()
    good = (("web-1",), ("web-", "--prefix"), ("pod-x7", "--prefix", "--anyway"), ("pod-x7",), ("web-11", "--anyway"))
    assert [revokes(*arguments) for arguments in good] == [(0, "")] * len(good)
    assert [one.name for one in read(folder).revoked] == ["web-1", "web-", "pod-x7", "pod-x7", "web-11"]


def test_a_new_file_is_of_the_kind_of_the_last_one_for_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(name: str, *kind: str) -> tuple[bool, bool]:
        out = folder / f"{len(list(folder.iterdir()))}.pem"
        assert main(["keys", "agent", name, *kind, "--folder", str(folder), "--out", str(out)]) == 0
        identity = Identity.load(out)
        return identity.may_relay, identity.is_prefix

    assert [made("hub", "--relay"), made("pod-", "--prefix"), made("web-1")] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    rotate(folder)
    capsys.readouterr()
    assert [made("hub"), made("pod-"), made("web-1")] == [(True, False), (False, True), (False, False)]
    said = capsys.readouterr().out
    assert "The last file for 'hub' was made with --relay, and so is this one. Use --plain for a plain one." in said
    assert "The last file for 'pod-' was made with --prefix, and so is this one" in said
    assert [made("hub", "--plain"), made("hub")] == [(False, False)] * 2


def test_a_list_of_files_that_cannot_be_read_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ISSUED).write_text('{"name": "web-1"}\nweb-2\n')
    assert main(["keys", "revoke", "web-1", "--folder", str(folder)]) == 2
    assert capsys.readouterr().err == (
        f"cobandit: {folder / ISSUED} has a line that cobandit did not write: restore the file from a copy\n"
    )


def test_a_running_relay_is_not_replaced_by_a_file_without_that_right(folder: Path) -> None:
    keys_file = issue("hub", folder, may_relay=True)
    credentials = Credentials(Identity.load(keys_file))
    credentials.begin("hub", "g", time.time())
    keys_file.write_bytes(issue("hub", folder, out=folder / "new.pem").read_bytes())
    (trouble,) = credentials.refresh().troubles
    assert trouble == (
        f"the new certificate in {keys_file} says that 'hub' is no relay, and it runs as one: make it again with "
        "--relay, or start the member again to be no relay"
    )


def test_the_commands_say_what_to_do_next(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ["--folder", str(folder)]

    def said(*arguments: str, code: int = 0) -> str:
        assert main(["keys", *arguments, *at]) == code
        found = capsys.readouterr()
        return found.out + found.err

    assert "can pose as any of them. Give no other agent such a name" in said("agent", "pod-", "--prefix")
    revoked = said("revoke", "pod-", "--prefix")
    assert "Revoked all files made for names that start with 'pod-' so far" in revoked
    assert f"Copy {folder / TRUST} to every agent" in revoked
    assert "Revoked all files made for 'web-1' so far" in said("revoke", "web-1", "--anyway")
    assert [(one.name, one.is_prefix) for one in read(folder).revoked] == [("pod-", True), ("web-1", False)]
    rotated = said("rotate")
    assert rotated.index(f"Copy {folder / TRUST} to every agent") < rotated.index("cobandit keys agent NAME")
    assert "A name keeps --relay or --prefix from its last file." in rotated
    assert f"cobandit keys rotate --folder {folder} --finish" in rotated
    assert "is being replaced already" in said("rotate", code=2)
    assert "From now on, only the new authority counts" in said("rotate", "--finish")
    assert "is not being replaced" in said("rotate", "--finish", code=2)
    with pytest.raises(SystemExit):
        main(["keys", "agent", "x", "--prefix", "--relay", *at])
    assert "not allowed with argument" in capsys.readouterr().err
    at = ["--folder", str(folder / "nowhere")]
    assert "make the group first" in said("revoke", "a", code=2)
    assert "make the group first" in said("rotate", code=2)
