"""What is secret is not printed; what is not safe is said."""

import logging
from pathlib import Path

import pytest

import cobandit
from cobandit.cli import main
from cobandit.live.process.config import config_from_mapping
from cobandit.live.transports.addresses import parse_address
from cobandit.live.transports.urls import guest_transport_for, transport_for
from cobandit.values.errors import LocalError

AGENT = {"group": "g", "name": "m", "url": "nats://ann:hunter2@n:4222", "arms": ["A"], "state": "m.db"}


def written(folder: Path, **changed: object) -> Path:
    lines = [f"{key} = {value!r}" for key, value in {**AGENT, **changed}.items()]
    (folder / "m.toml").write_text("\n".join(lines) + "\n")
    return folder / "m.toml"


@pytest.mark.parametrize("command", ["relay", "serve"])
def test_a_check_prints_no_password_and_says_that_nobody_proves_who_they_are(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--check", str(written(tmp_path))]) == 0
    said = capsys.readouterr()
    assert "nats://***@n:4222" in said.out
    assert "hunter2" not in said.out + said.err
    assert "without keys and without a secret: anyone who can publish there can make up observations" in said.err
    assert main([command, "--check", str(written(tmp_path, secret="a secret that all of them share"))]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "changed",
    [
        {"url": "http://ann:hunter2@n:4222"},
        {"url": "ann:hunter2@n:4222"},
        {"urll": "nats://ann:hunter2@n:4222"},
        {"secrett": "hunter2"},
        {"Secret": "hunter2"},
        {"listen": "ann:hunter2@n:x"},
    ],
)
def test_an_error_about_a_file_shows_no_password(changed: dict[str, object]) -> None:
    with pytest.raises(LocalError) as caught:
        config_from_mapping({**AGENT, **changed})
    assert "hunter2" not in str(caught.value)


def test_an_error_about_an_address_shows_no_password() -> None:
    for use in (transport_for, guest_transport_for, parse_address):
        with pytest.raises(LocalError) as caught:
            use("ftp://ann:hunter2@n:x")
        assert "***@n" in str(caught.value)
        assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(config_from_mapping(AGENT))


def test_a_member_behind_a_server_without_keys_and_secret_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = "nats://ann:hunter2@127.0.0.1:1"
    with caplog.at_level(logging.WARNING, "cobandit"):
        cobandit.connect(url, group="g", name="m", arms=["A"], state=tmp_path / "m.db").close()
        assert any("without keys and without a secret" in said for said in caplog.messages)
        assert "hunter2" not in caplog.text
        caplog.clear()
        cobandit.connect(url, group="g", name="m", arms=["A"], secret="a secret that all of them share").close()
        assert not any("without keys" in said for said in caplog.messages)
