"""Making and reading the files that prove who is who."""

import datetime as dt
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import cobandit
from cobandit.cli import main
from cobandit.live.auth import keys
from cobandit.live.auth.certificates import verify
from cobandit.live.auth.group_folder import AUTHORITY
from cobandit.live.auth.identity import Identity
from cobandit.live.auth.issued import ISSUED
from cobandit.live.auth.keys import issue, make_group
from cobandit.live.auth.trust import TRUST
from cobandit.values.errors import LocalError


def parts(path: Path) -> list[str]:
    """Return the key, the certificate and the group's certificate."""
    pieces = path.read_text().split("-----BEGIN ")
    return ["-----BEGIN " + piece for piece in pieces[1:]]


def at(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """Let keys be made on another day."""

    class Another(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> "Another":
            return super().now(tz) + dt.timedelta(days=days)

    class Module:
        datetime, timedelta, UTC = Another, dt.timedelta, dt.UTC

    monkeypatch.setattr(keys, "dt", Module)


@pytest.mark.parametrize("name", ["a", "edge 7", "/", "..", "ü%2F/日本:@?#", "😀" * 50, "x" * 200, "\n"])
def test_any_name_stands_in_the_certificate_as_it_is(name: str, tmp_path: Path) -> None:
    make_group(name, tmp_path)
    identity = Identity.load(issue(name, tmp_path))
    assert (identity.name, identity.group) == (name, name)


@pytest.mark.parametrize("name", ["", "x" * 201, "\ud800"])
def test_a_name_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="name must be a string of 1 to 200"):
        make_group(name, tmp_path)
    make_group("g", tmp_path)
    with pytest.raises(LocalError, match="name must be a string of 1 to 200"):
        issue(name, tmp_path)


def test_secrets_can_be_read_by_their_owner_alone_and_leave_no_drafts(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = [make_group("g", tmp_path), issue("a", tmp_path)]
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o600, 0o600]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pem", AUTHORITY, ISSUED, TRUST]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    made = [make_group("g", tmp_path), issue("a", tmp_path), tmp_path / ISSUED]  # nor is a file listed that is not made
    content = [path.read_bytes() for path in made]
    with pytest.raises(LocalError, match="choose another folder"):
        make_group("g", tmp_path)
    with pytest.raises(LocalError, match="remove it first"):
        issue("a", tmp_path)
    assert [path.read_bytes() for path in made] == content


def test_a_file_that_somebody_else_makes_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "check_free", lambda *_: None)
    content = make_group("g", tmp_path).read_bytes()
    with pytest.raises(LocalError, match="already exists"):
        make_group("g", tmp_path)
    assert (tmp_path / AUTHORITY).read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == [AUTHORITY, TRUST]


def test_the_folder_of_a_group_is_one_folder_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["keys", "group", "my shop/front"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["keys-my shop_front"]
    assert "--folder 'keys-my shop_front'\n" in capsys.readouterr().out


def test_an_agent_called_as_the_groups_file_does_not_take_its_place(tmp_path: Path) -> None:
    make_group("g", tmp_path)
    assert issue("group-authority", tmp_path).name != AUTHORITY


def test_an_agent_needs_a_group_first(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="make the group first"):
        issue("a", tmp_path)


def test_an_agents_file_is_no_groups_file(tmp_path: Path) -> None:
    make_group("g", tmp_path)
    (tmp_path / "x").mkdir()
    issue("a", tmp_path, out=tmp_path / "x" / AUTHORITY)
    with pytest.raises(LocalError, match="is not a group's file"):
        issue("b", tmp_path / "x")


@pytest.mark.parametrize(
    ("kept", "says"),
    [
        ((1, 2), "holds no private key"),
        ((0,), "holds 0 certificates|damaged"),
        ((0, 1), "holds 1 certificates"),
        ((0, 2, 2), "is for the group"),
        ((0, 1, 1), "not of the group in it"),
    ],
)
def test_a_file_that_lacks_something_says_what_to_do(
    kept: tuple[int, ...], says: str, tmp_path: Path, member: Callable[[str], Identity]
) -> None:
    whole = parts(member("a").path)
    (tmp_path / "a.pem").write_text("".join(whole[piece] for piece in kept))
    with pytest.raises(LocalError, match=says):
        Identity.load(tmp_path / "a.pem")


def test_a_damaged_file_says_what_to_do(tmp_path: Path, member: Callable[[str], Identity]) -> None:
    whole = member("a").path.read_text()
    (tmp_path / "a.pem").write_text(whole.replace("MII", "MXX"))
    with pytest.raises(LocalError, match="is damaged: copy it again"):
        Identity.load(tmp_path / "a.pem")
    with pytest.raises(LocalError, match=r"cannot read the key file .* No such file"):
        Identity.load(tmp_path / "b.pem")


def test_a_key_with_the_certificate_of_somebody_else_is_refused(
    tmp_path: Path, member: Callable[[str], Identity]
) -> None:
    mine, theirs = parts(member("a").path), parts(member("b").path)
    (tmp_path / "a.pem").write_text(mine[0] + theirs[1] + theirs[2])
    with pytest.raises(LocalError, match="do not fit"):
        Identity.load(tmp_path / "a.pem")


def test_a_certificate_of_another_group_of_the_same_name_is_refused(
    tmp_path: Path, member: Callable[[str], Identity], stranger: Callable[[str], Identity]
) -> None:
    mine, theirs = parts(member("a").path), parts(stranger("a").path)
    (tmp_path / "a.pem").write_text(mine[0] + mine[1] + theirs[2])
    with pytest.raises(LocalError, match="not of the group in it"):
        Identity.load(tmp_path / "a.pem")
    assert verify(member("a").certificate_der, stranger("a").group_der) is None


def test_a_member_cannot_admit_others(tmp_path: Path, member: Callable[[str], Identity]) -> None:
    key, own, _ = parts(member("a").path)
    (tmp_path / AUTHORITY).write_text(key + own)
    with pytest.raises(LocalError, match="is not a group's file"):
        issue("b", tmp_path)
    assert verify(member("a").certificate_der, member("a").certificate_der) is None


@pytest.mark.parametrize(("days", "says"), [(-10, "expired on"), (10, "is valid only from")])
def test_a_certificate_out_of_its_time_says_what_to_do(
    days: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_group("g", tmp_path)
    at(monkeypatch, days)
    path = issue("a", tmp_path, days=5)
    with pytest.raises(LocalError, match=says):
        Identity.load(path)


def test_an_identity_is_for_one_name_in_one_group(member: Callable[[str], Identity]) -> None:
    member("a").check_member("a", "homepage")
    with pytest.raises(LocalError, match="proves the name 'a', not 'b'"):
        member("a").check_member("b", "homepage")
    with pytest.raises(LocalError, match="is for the group 'homepage', not 'shop'"):
        member("a").check_member("a", "shop")


def test_a_certificate_says_whether_its_member_may_relay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path)
    assert main(["keys", "group", "g", "--out", folder]) == 0
    capsys.readouterr()
    assert main(["keys", "agent", "plain", "--folder", folder]) == 0
    assert "may pass on" not in capsys.readouterr().out
    assert main(["keys", "agent", "relay", "--folder", folder, "--relay"]) == 0
    assert "may pass on what other agents observed" in capsys.readouterr().out
    for name, may_relay in (("plain", False), ("relay", True)):
        identity = Identity.load(tmp_path / f"{name}.pem")
        verified = verify(identity.certificate_der, identity.group_der)
        assert verified is not None
        assert (identity.may_relay, verified.may_relay) == (may_relay, may_relay)


def test_an_identity_does_not_print_its_key(member: Callable[[str], Identity]) -> None:
    assert "PrivateKey" not in repr(member("a"))


def test_two_commands_make_all_that_an_agent_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "keys"
    assert main(["keys", "group", "homepage", "--out", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert str(folder / AUTHORITY) in printed
    assert f"cobandit keys agent NAME --folder {folder}" in printed
    assert main(["keys", "agent", "edge-7", "--folder", str(folder), "--days", "30"]) == 0
    assert str(folder / "edge-7.pem") in capsys.readouterr().out
    identity = Identity.load(folder / "edge-7.pem")
    assert (identity.name, identity.group) == ("edge-7", "homepage")
    assert main(["keys", "agent", "edge-7", "--folder", str(folder)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["keys", "agent", "edge-8", "--folder", str(folder), "--days", "0"]) == 2
    assert "days must be a whole number" in capsys.readouterr().err


def test_without_the_package_it_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['cryptography'] = None\n"
        "from cobandit.cli import main\n"
        "from cobandit.live.auth.seal import GroupSeal\n"
        "GroupSeal('a secret of a group')\n"
        "sys.exit(main(['keys', 'group', 'x']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(cobandit.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "cobandit: 'keys' needs the extra \"keys\": pip install 'cobandit[keys]'\n",
    )


def test_a_group_that_has_expired_makes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as long_ago:
        at(long_ago, -keys.DAYS_OF_A_GROUP - 1)
        make_group("g", tmp_path)
    with pytest.raises(LocalError, match="has expired: make a new one, and new files for all its agents"):
        issue("a", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [AUTHORITY, TRUST]
