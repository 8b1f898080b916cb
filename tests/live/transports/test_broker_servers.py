"""Servers that are not plain: they ask for secrets, for TLS, or have stopped to read."""

import asyncio
import gc
import os
import signal
import ssl
from base64 import b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import pbkdf2_hmac
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from cobandit.live.transports.base import Transport
from cobandit.live.transports.broker import WAITING_BYTES
from cobandit.live.transports.mqtt import MqttTransport
from cobandit.live.transports.nats import NatsTransport
from lab.diary import Diary
from lab.servers import HOST, Server, mosquitto, nats_server

Serve = Callable[[Callable[[], AbstractContextManager[Server]]], Server]


async def frames_flow(build: Callable[[], Transport]) -> None:
    ann = await Diary.of(build(), "ann", "g")
    bob = await Diary.of(build(), "bob", "g")
    for diary in (ann, bob):
        await diary.until(lambda d: d.reached == [None])
    assert ann.transport.send("bob", b"hello")
    await bob.until(lambda d: d.frames == [(b"hello", None)])
    for diary in (ann, bob):
        await diary.transport.close()
        assert diary.troubles == [None]


async def first_trouble(transport: Transport) -> str:
    diary = await Diary.of(transport, "ann", "g")
    await diary.until(lambda d: len(d.troubles) == 1)
    await diary.transport.close()
    (said,) = diary.troubles
    assert said is not None
    return said


@pytest.mark.parametrize(
    ("arguments", "right", "wrong"),
    [
        (("--user", "ann", "--pass", "p:s/s"), "ann:p%3As%2Fs@", "ann:guess@"),
        (("--auth", "s3cret"), "s3cret@", "guess@"),
    ],
)
def test_a_nats_server_is_shown_the_secret_of_the_address(
    serve: Serve, arguments: tuple[str, ...], right: str, wrong: str
) -> None:
    server = serve(partial(nats_server, *arguments))
    asyncio.run(frames_flow(lambda: NatsTransport(f"nats://{right}{HOST}:{server.port}")))
    said = asyncio.run(first_trouble(NatsTransport(f"nats://{wrong}{HOST}:{server.port}")))
    assert said.startswith(f"the NATS server at {server.url} refuses 'ann' (nats: 'Authorization Violation')")


async def sent_to_nobody(url: str, group: str) -> tuple[set[str], list[str | None]]:
    """Send to a member that is there, to one that never was, and to the first again until it is said to be gone."""
    gone: set[str] = set()
    heard = asyncio.Event()

    def note(name: str) -> None:
        gone.add(name)
        heard.set()

    leaf, relay = NatsTransport(url), NatsTransport(url)
    leaf.on_gone = note
    ann = await Diary.of(leaf, "ann", group)
    bob = await Diary.of(relay, "bob the 1st", group)
    for diary in (ann, bob):
        await diary.until(lambda d: d.reached == [None])
    assert leaf.send("bob the 1st", b"hello")
    await bob.until(lambda d: d.frames == [(b"hello", None)])
    await relay.close()
    assert gone == set()
    with suppress(TimeoutError):
        async with asyncio.timeout(1.0 if group == "forbidden" else 60.0):
            while "bob the 1st" not in gone:
                heard.clear()
                leaf.send("bob the 1st", b"hello")
                leaf.send("carl", b"hello")  # the server's answer to this one comes last
                await heard.wait()
    await leaf.close()
    assert ann.frames == []
    return gone, ann.troubles


def test_a_nats_server_says_that_nobody_is_there(serve: Serve) -> None:
    server = serve(nats_server)
    assert asyncio.run(sent_to_nobody(server.url, "g")) == ({"carl", "bob the 1st"}, [None])


def test_a_nats_server_that_does_not_let_a_member_hear_that_is_no_trouble(serve: Serve, tmp_path: Path) -> None:
    allowed = '["cobandit.forbidden.to.*", "cobandit.forbidden.all"]'
    file = tmp_path / "nats.conf"
    file.write_text(
        f"authorization {{ users: [{{ user: ann, password: s3cret, permissions: {{ subscribe: {allowed} }} }}] }}\n"
    )
    server = serve(partial(nats_server, "--config", str(file)))
    assert asyncio.run(sent_to_nobody(f"nats://ann:s3cret@{HOST}:{server.port}", "forbidden")) == (set(), [None])


def test_an_mqtt_broker_that_wants_nobody_without_a_secret_is_trouble(serve: Serve) -> None:
    server = serve(partial(mosquitto, anonymous=False))
    said = asyncio.run(first_trouble(MqttTransport(server.url)))
    assert said.startswith(f"the MQTT broker at {server.url} refuses 'ann' ([code:135] Not authorized)")


def test_an_mqtt_broker_is_shown_the_secret_of_the_address(serve: Serve, tmp_path: Path) -> None:
    salt, digest = _mosquitto_password(b"p:s/s")
    (tmp_path / "passwords").write_text(f"ann:$7$101${salt}${digest}\n", encoding="ascii")
    server = serve(partial(mosquitto, f"password_file {tmp_path / 'passwords'}", anonymous=False))
    asyncio.run(frames_flow(lambda: MqttTransport(f"mqtt://ann:p%3As%2Fs@{HOST}:{server.port}")))


def _mosquitto_password(password: bytes) -> tuple[str, str]:
    salt = b"twelve bytes"
    return b64encode(salt).decode(), b64encode(pbkdf2_hmac("sha512", password, salt, 101)).decode()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine that signed itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cobandit tests")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert.pem", folder / "key.pem"


def test_a_nats_server_with_tls_is_trusted_if_its_certificate_is(serve: Serve, certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    server = serve(partial(nats_server, "--tls", "--tlscert", str(cert), "--tlskey", str(key)))
    trust = ssl.create_default_context(cafile=str(cert))
    url = f"tls://{HOST}:{server.port}"
    asyncio.run(frames_flow(lambda: NatsTransport(url, ssl_context=trust)))
    assert "CERTIFICATE_VERIFY_FAILED" in asyncio.run(first_trouble(NatsTransport(url)))


# The library leaves a socket to the garbage collector when a handshake fails; it is collected here, and not elsewhere.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning")
def test_an_mqtt_broker_with_tls_is_trusted_if_its_certificate_is(serve: Serve, certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    server = serve(partial(mosquitto, f"certfile {cert}", f"keyfile {key}"))
    trust = ssl.create_default_context(cafile=str(cert))
    url = f"mqtts://{HOST}:{server.port}"
    asyncio.run(frames_flow(lambda: MqttTransport(url, ssl_context=trust)))
    assert "CERTIFICATE_VERIFY_FAILED" in asyncio.run(first_trouble(MqttTransport(url)))
    gc.collect()


BUILDS: dict[str, Callable[[str], Transport]] = {"nats": NatsTransport, "mqtt": MqttTransport}


@pytest.mark.parametrize("scheme", list(BUILDS))
def test_a_server_that_has_stopped_to_read_does_not_fill_the_memory(
    scheme: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(scheme)
    frame = bytes(2**18)
    most = 4 * WAITING_BYTES // len(frame)

    async def scene() -> int:
        ann = await Diary.of(BUILDS[scheme](server.url), "ann", "g")
        bob = await Diary.of(BUILDS[scheme](server.url), "bob", "g")
        for diary in (ann, bob):
            await diary.until(lambda d: d.reached == [None])
        os.kill(server.pid, signal.SIGSTOP)
        try:
            taken = 0
            while taken < most and ann.transport.send("bob", frame):
                taken += 1
                await asyncio.sleep(0)  # so that the connection takes what it can
        finally:
            os.kill(server.pid, signal.SIGCONT)
        await bob.until(lambda d: len(d.frames) == taken)
        for diary in (ann, bob):
            await diary.transport.close()
        return taken

    assert WAITING_BYTES // len(frame) <= asyncio.run(scene()) < most
