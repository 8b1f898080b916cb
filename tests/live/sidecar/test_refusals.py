"""What is wrong gets the right status, in words for whoever must act, and changes nothing."""

import asyncio
import json
import logging
import select
import urllib.error
import urllib.request
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from cobandit.live.process.serving import Limits
from cobandit.live.sidecar.limits import UnderWay

Served = Any  # of conftest.py, which cannot be imported

JSON = {"Content-Type": "application/json"}
NOT_MADE_HERE = "d1.lKV3ZWItMc8BpNZ2ZgavH6NyZWTLQdq-o92bR-tuV49ZFaKRzA"
UNKNOWN_ID = "was not made by web-1 with its present state: it is changed, made up, or older than the state file"
SEE = ": see /openapi.json for what is allowed"

REFUSED: list[tuple[str, str, bytes | None, int, str]] = [
    ("POST", "/v1/select", b"", 400, "the body is not JSON: Input data was truncated"),
    ("POST", "/v1/select", b"{", 400, "the body is not JSON: Input data was truncated"),
    ("POST", "/v1/select", b"{}x", 400, "the body is not JSON: JSON is malformed"),
    ("POST", "/v1/select", b'{"subject": "\xff"}', 400, "the body is not JSON: "),
    *(
        (
            "POST",
            "/v1/select",
            b'{"subject": "' + half + b'"}',
            400,
            "the body is not JSON: it has half of a surrogate pair",
        )
        for half in (b"\\ud800", b"\\uDC00", b"a\\uD83Dz", b"\\ud800\\ud800", b"\\ude00\\ud83d", b"\\ud83d\\n")
    ),
    ("POST", "/v1/select", b"[" * 100_000, 422, "Expected `object`, got `array`" + SEE),
    ("POST", "/v1/select", b"[]", 422, "Expected `object`, got `array`" + SEE),
    ("POST", "/v1/select", b"null", 422, "Expected `object`, got `null`" + SEE),
    ("POST", "/v1/select", b'{"among": []}', 422, "Expected `array` of length >= 1 - at `$.among`" + SEE),
    ("POST", "/v1/select", b'{"among": "red"}', 422, "Expected `array | null`, got `str` - at `$.among`" + SEE),
    ("POST", "/v1/select", b'{"subject": ""}', 422, "Expected `str` of length >= 1 - at `$.subject`" + SEE),
    (
        "POST",
        "/v1/select",
        b'{"subject": "' + 1001 * b"a" + b'"}',
        422,
        "Expected `str` of length <= 1000 - at `$.subject`" + SEE,
    ),
    ("POST", "/v1/select", b'{"subjekt": "a"}', 422, "Object contains unknown field `subjekt`" + SEE),
    (
        "POST",
        "/v1/select",
        b'{"among": ["violet"]}',
        409,
        "none of the arms to choose from (violet) is on offer now, only red, green, blue",
    ),
    (
        "POST",
        "/v1/select",
        b'{"segment": "de/mobile"}',
        409,
        "web-1 has one bandit, without segments: leave `segment` out, or use a fleet",
    ),
    ("POST", "/v1/select-many", b'{"requests": []}', 422, "Expected `array` of length >= 1 - at `$.requests`" + SEE),
    (
        "POST",
        "/v1/select-many",
        b'{"requests": [' + b",".join([b"{}"] * 1001) + b"]}",
        422,
        "Expected `array` of length <= 1000 - at `$.requests`" + SEE,
    ),
    (
        "POST",
        "/v1/update",
        b'{"id": "17", "reward": 1}',
        422,
        r"Expected `str` matching regex '^d1\\.[A-Za-z0-9_-]+$' - at `$.id`" + SEE,
    ),
    ("POST", "/v1/update", b'{"id": "d1.AAAA", "reward": 1}', 404, "'d1.AAAA' is not the id of a decision: "),
    (
        "POST",
        "/v1/update",
        f'{{"id": "{NOT_MADE_HERE}", "reward": 1}}'.encode(),
        404,
        f"the id {NOT_MADE_HERE!r} {UNKNOWN_ID}",
    ),
    ("POST", "/v1/update", b'{"reward": 1}', 422, "Object missing required field `id`" + SEE),
    ("POST", "/v1/withdraw", b'{"id": "d1.AAAA"}', 404, "'d1.AAAA' is not the id of a decision: "),
    (
        "POST",
        "/v1/withdraw",
        f'{{"id": "{NOT_MADE_HERE}"}}'.encode(),
        404,
        f"the id {NOT_MADE_HERE!r} {UNKNOWN_ID}",
    ),
    ("POST", "/v1/arms", b'{"arm": ""}', 422, "Expected `str` of length >= 1 - at `$.arm`" + SEE),
    ("DELETE", "/v1/arms/violet", None, 404, "arm 'violet' is not one of red, green, blue"),
    ("DELETE", "/v1/arms/%FF", None, 404, "there is no arm '%FF': write its name as UTF-8, percent-encoded"),
    ("PUT", "/v1/arms/violet/freeze", None, 404, "arm 'violet' is not one of red, green, blue"),
    ("PUT", "/v1/arms//freeze", None, 404, "there is nothing at '/v1/arms//freeze': /openapi.json says what there is"),
    ("PUT", "/v1/kill-switch", b'{"control_arm": "violet"}', 404, "arm 'violet' is not one of red, green, blue"),
    ("PUT", "/v1/kill-switch", b'{"control_arm": null}', 422, "Expected `str`, got `null` - at `$.control_arm`" + SEE),
    ("GET", "/", None, 404, "there is nothing at '/': /openapi.json says what there is"),
    ("GET", "/v1/arms/", None, 404, "there is nothing at '/v1/arms/': /openapi.json says what there is"),
    ("GET", "/v1%2Farms", None, 404, "there is nothing at '/v1%2Farms': /openapi.json says what there is"),
    ("GET", "/v1/select", None, 405, "GET is not for '/v1/select', only POST"),
    ("PATCH", "/v1/kill-switch", None, 405, "PATCH is not for '/v1/kill-switch', only DELETE, GET, HEAD, PUT"),
]
REWARDS = [b"-0.01", b"1.01", b'"1"', b"true", b"null", b"NaN", b"Infinity", b"1e400", b"1" * 400]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    REFUSED,
    ids=[f"{status} {method} {path} {number}" for number, (method, path, _, status, _) in enumerate(REFUSED)],
)
def test_what_is_wrong_is_refused_with_words_and_changes_nothing(
    method: str, path: str, body: bytes | None, status: int, detail: str, served: Served
) -> None:
    before = served.facts()
    answer = served.client.request(method, path, content=body, headers={} if body is None else JSON)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    told = answer.json()
    assert told["detail"].startswith(detail)
    assert told == {"title": told["title"], "status": status, "detail": told["detail"], "type": "about:blank"}
    assert (answer.headers.get("allow") is not None) == (status == 405)
    assert served.facts() == before


@pytest.mark.parametrize("reward", REWARDS, ids=[reward.decode()[:10] for reward in REWARDS])
def test_a_reward_that_cannot_be_leaves_its_decision_open(reward: bytes, served: Served) -> None:
    decision = served.client.post("/v1/select", json={}).json()["id"]
    before = served.facts()
    assert before["open_decisions"] == 1
    one = b'{"id": "' + decision.encode() + b'", "reward": ' + reward + b"}"
    expected = 400 if reward in {b"NaN", b"Infinity"} else 422
    for path, body in (("/v1/update", one), ("/v1/update-many", b'{"updates": [' + one + b"]}")):
        assert served.client.post(path, content=body, headers=JSON).status_code == expected
    assert served.facts() == before


def test_several_rewards_of_a_wrong_shape_are_refused_as_a_whole(served: Served) -> None:
    decision = served.client.post("/v1/select", json={}).json()["id"]
    before = served.facts()
    updates = [{"id": decision, "reward": 1.0}, {"id": decision, "reward": 2.0}]
    answer = served.client.post("/v1/update-many", json={"updates": updates})
    assert (answer.status_code, answer.json()["detail"]) == (
        422,
        "Expected `float` <= 1.0 - at `$.updates[1].reward`" + SEE,
    )
    assert served.facts() == before


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
def test_a_body_that_is_not_sent_as_json_is_refused(kind: str, served: Served) -> None:
    before = served.facts()
    answer = served.client.post("/v1/select", content=b"{}", headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["detail"]) == (
        415,
        "the body must be JSON: send it with `Content-Type: application/json`",
    )
    assert served.facts() == before


@pytest.mark.parametrize("parameter", ["charset=utf-8", 'Charset="UTF-8"', "charset=utf8; x=y", "x=utf-16", "x"])
def test_json_may_name_its_charset(parameter: str, served: Served) -> None:
    kind = {"Content-Type": f"Application/JSON; {parameter}"}
    body = '{"subject": "\\ud83d\\ude00 ä"}'.encode()
    assert served.client.post("/v1/select", content=body, headers=kind).status_code == 200


@pytest.mark.parametrize("charset", ["utf-16", "ISO-8859-1", '"latin-1"', ""])
def test_json_in_another_charset_is_refused(charset: str, served: Served) -> None:
    kind = {"Content-Type": f"application/json; x=y; charset={charset}"}
    answer = served.client.post("/v1/select", content=b"{}", headers=kind)
    assert (answer.status_code, answer.json()["detail"]) == (
        415,
        "the body must be JSON in UTF-8: send it so, and leave the charset out",
    )


def test_the_last_arm_is_not_removed(served: Served) -> None:
    assert [served.client.delete(f"/v1/arms/{arm}").status_code for arm in ("red", "green")] == [204, 204]
    before = served.facts()
    answer = served.client.delete("/v1/arms/blue")
    assert (answer.status_code, answer.json()["detail"]) == (409, "arm 'blue' is the last one: add another first")
    assert served.facts() == before


def test_a_bug_is_told_to_the_log_and_not_to_the_client(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a path of this machine")

    monkeypatch.setattr(served.member, "select_arm", broken)
    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        answer = served.client.post("/v1/select", json={})
        served.wait_for(lambda: "RuntimeError: a path of this machine" in caplog.text)
    assert (answer.status_code, answer.json()) == (
        500,
        {
            "title": "Internal Server Error",
            "status": 500,
            "detail": "the sidecar failed at this request, which is a bug in cobandit: its operator finds it in its "
            "log",
            "type": "about:blank",
        },
    )
    assert answer.headers["Connection"] == "close"
    monkeypatch.undo()
    assert served.client.post("/v1/select", json={}).status_code == 200


# Limits.


@pytest.mark.parametrize("served", [Limits(most_body=64)], indirect=True)
def test_a_body_of_the_greatest_length_is_taken_and_one_byte_more_is_not(served: Served) -> None:
    body = b'{"subject": "a"}'
    assert served.client.post("/v1/select", content=body.ljust(64), headers=JSON).status_code == 200
    before = served.facts()
    answer = served.client.post("/v1/select", content=body.ljust(65), headers=JSON)
    assert answer.status_code == 413
    assert answer.json()["detail"] == "the body is longer than 64 bytes: send smaller batches, or raise `most_body`"
    assert served.facts() == before


def test_a_client_that_sends_all_of_a_huge_body_before_it_looks_is_told(served: Served) -> None:
    before = served.facts()
    for _ in range(3):
        wanted = urllib.request.Request(
            f"{served.sidecar.url}/v1/select",
            b" " * 20_000_000,
            {**JSON, "Authorization": f"Bearer {served.token.decode()}"},
        )
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(wanted, timeout=30)
        with caught.value as answer:
            assert answer.status == 413
            assert json.loads(answer.read())["title"] == "Content Too Large"
    assert served.facts() == before


def test_a_client_that_waits_to_be_told_is_told_not_to_send(served: Served) -> None:
    with served.connection() as (stream, file):
        stream.sendall(
            b"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
            b"Authorization: Bearer " + served.token + b"\r\nContent-Length: 20000000\r\n\r\n"
        )
        assert file.readline().startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("length", [64 * 2**20 + 1, 10**30])
def test_a_body_that_would_take_for_ever_is_not_read(length: int, served: Served) -> None:
    with served.connection() as (stream, file):
        stream.sendall(
            b"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer " + served.token + f"\r\nContent-Length: {length}\r\n\r\n".encode()
        )
        assert file.readline().startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 "))  # the parser knows no such number
        assert b"\r\nconnection: close\r\n" in file.read()


@pytest.mark.parametrize("served", [Limits(most_body=64)], indirect=True)
def test_a_body_that_says_that_it_is_too_long_is_refused_though_it_never_comes(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cobandit.live.sidecar.limits.THROW_AWAY_WITHIN_S", 0.05)
    with served.connection() as (stream, file):
        stream.sendall(
            b"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer " + served.token + b"\r\nContent-Length: 65\r\n\r\n"
        )
        assert file.readline().startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("served", [Limits(most_body=64)], indirect=True)
def test_a_body_that_does_not_say_how_long_it_is_is_read_no_further_than_the_limit(served: Served) -> None:
    before = served.facts()
    with served.connection() as (stream, file):
        stream.sendall(
            b"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer " + served.token + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        stream.sendall(b"40\r\n" + b" " * 64 + b"\r\n")
        stream.sendall(b"1\r\n \r\n")  # and the end never comes
        assert file.readline().startswith(b"HTTP/1.1 413 ")
        assert file.read().endswith(b'"type":"about:blank"}')  # it is closed from the other side
    assert served.facts() == before


def test_a_body_that_does_not_come_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cobandit.live.sidecar.limits.BODY_WITHIN_S", 0.05)
    before = served.facts()
    with served.connection() as (stream, file):
        stream.sendall(
            b"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer " + served.token + b"\r\nContent-Length: 2\r\n\r\n{"
        )
        assert file.readline() == b"HTTP/1.1 408 Request Timeout\r\n"
        assert b"the body did not come within 0.05 seconds: send it faster" in file.read()
    assert served.facts() == before


@pytest.mark.parametrize("served", [Limits(most_requests=2)], indirect=True)
def test_requests_beyond_the_limit_are_told_to_come_again_and_probes_are_always_answered(served: Served) -> None:
    before = served.facts()
    half = (
        b"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Authorization: Bearer " + served.token + b"\r\nContent-Length: 2\r\n\r\n{"
    )
    with served.connection() as (first, first_file), served.connection() as (second, second_file):
        first.sendall(half)
        second.sendall(half)
        for _ in range(3):  # probes take no place; when they are answered, what was sent before has one
            assert served.client.get("/healthz").status_code == 200
        served.wait_for(lambda: served.client.post("/v1/select", json={"among": ["x"]}).status_code == 503)
        answer = served.client.get("/v1/arms")
        assert (answer.status_code, answer.headers["retry-after"], answer.json()["detail"]) == (
            503,
            "1",
            "2 requests are under way already: try again after a second, with fewer at a time",
        )
        assert [served.client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        assert served.facts() == before
        first.sendall(b"}")
        assert first_file.readline() == b"HTTP/1.1 200 OK\r\n"
        assert served.client.get("/v1/arms").status_code == 200
        second.sendall(b"}")
        assert second_file.readline() == b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("served", [Limits(most_requests=1)], indirect=True)
def test_a_client_that_goes_away_gives_its_place_back(served: Served) -> None:
    def is_refused() -> bool:
        return bool(served.client.post("/v1/select", json={"among": ["x"]}).status_code == 503)

    places = 0
    while places < 3:
        with served.connection() as (stream, _):
            stream.sendall(
                b"POST /v1/select HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Authorization: Bearer " + served.token + b"\r\nContent-Length: 2\r\n\r\n{"
            )
            # Those who look take the place, too, for a moment: then this one is refused, and has no place to give back.
            served.wait_for(lambda: is_refused() or bool(select.select([stream], [], [], 0)[0]))
            places += not select.select([stream], [], [], 0)[0]
        served.wait_for(lambda: served.client.post("/v1/select", json={"among": ["x"]}).status_code == 409)


def test_a_request_that_fails_before_its_answer_gives_its_place_back() -> None:
    async def failing(_: Scope, __: Receive, ___: Send) -> None:
        raise RuntimeError("a bug")

    async def nothing() -> Message:
        return {"type": "http.disconnect"}

    async def ask() -> None:
        app = UnderWay(failing, most=1)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="a bug"):
                await app({"type": "http", "path": "/v1/select"}, nothing, failing_send)

    async def failing_send(_: Message) -> None:
        pytest.fail("it was refused")

    asyncio.run(ask())
