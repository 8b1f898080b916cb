"""What a sidecar does for its clients is what the member would have done."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

import cobandit
from cobandit.live.decide.decision import Claim, sign
from cobandit.live.drive.member import Member
from cobandit.live.sidecar import Sidecar, create_app
from cobandit.live.status.fleet import Fleet
from cobandit.live.status.statistics import Statistics
from cobandit.live.store.journal import JournalError
from cobandit.values.errors import NotNowError

Served = Any  # of conftest.py, which cannot be imported

WITHIN = 60.0
ODD_NAMES = ["a/b", "x/freeze", "100%", "%2F", "ä ö", "?q=1#f", "☃", "a+b", '"', "\\", "..a", ";", "new\nline"]


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WITHIN
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen: {what}"
        time.sleep(0.01)


def select(served: Served, **wanted: object) -> dict[str, Any]:
    answer = served.client.post("/v1/select", json=wanted)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_decision_can_be_rewarded_once_by_its_id(served: Served) -> None:
    decision = select(served)
    assert set(decision) == {"id", "arm", "propensity"}
    assert (decision["arm"], decision["propensity"]) == ("red", 1.0)  # the first of those that nobody has observed
    answers = [served.client.post("/v1/update", json={"id": decision["id"], "reward": 0.25}) for _ in range(3)]
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (200, {"counted": True}),
        (200, {"counted": False}),
        (200, {"counted": False}),
    ]
    served.member.sync()
    statistics = served.member.statistics()
    assert (statistics.decisions, statistics.own_observations, statistics.open_decisions) == (1, 1, 0)
    assert [arm.mean for arm in statistics.arms] == [0.25, None, None]


def test_an_update_with_sync_is_on_the_disk_when_it_is_answered(served: Served) -> None:
    decision = select(served)
    before = served.member.statistics().synced_batches
    answer = served.client.post("/v1/update", json={"id": decision["id"], "reward": 1, "sync": True})
    assert answer.json() == {"counted": True}
    after = served.member.statistics()
    assert after.own_observations == 1
    assert after.synced_batches > before


def test_a_subject_keeps_its_arm_and_among_limits_the_choice(served: Served) -> None:
    arms = {select(served, subject="visitor-17")["arm"] for _ in range(5)}
    assert len(arms) == 1
    assert {select(served, among=["blue"])["arm"] for _ in range(5)} == {"blue"}
    assert select(served, subject=None, among=None)["arm"] in {"red", "green", "blue"}


def test_several_decisions_are_made_in_the_order_in_which_they_were_wanted(served: Served) -> None:
    wanted = [{"among": [arm]} for arm in ("blue", "red", "green")] * 30
    answer = served.client.post("/v1/select-many", json={"requests": wanted})
    assert [one["arm"] for one in answer.json()["decisions"]] == [one["among"][0] for one in wanted]
    assert len({one["id"] for one in answer.json()["decisions"]}) == 90


def test_if_one_of_several_decisions_cannot_be_made_none_is_left_open(served: Served) -> None:
    answer = served.client.post("/v1/select-many", json={"requests": [{}, {"among": ["nothing"]}, {}]})
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "none of the arms to choose from (nothing) is on offer now, only red, green, blue",
    )
    served.member.sync()
    statistics = served.member.statistics()
    assert (statistics.open_decisions, statistics.own_observations) == (0, 0)


def test_if_one_of_several_decisions_cannot_be_made_nothing_is_done(served: Served) -> None:
    before = served.facts()
    wanted = [{"subject": "visitor-17", "among": ["blue"]}] * 40 + [{"among": ["nothing"]}]
    assert served.client.post("/v1/select-many", json={"requests": wanted}).status_code == 409
    assert served.facts() == before
    assert select(served, subject="visitor-17")["arm"] == "red"  # not bound to blue
    served.client.put("/v1/kill-switch", json={"control_arm": "green"})
    refused = served.client.post("/v1/select-many", json={"requests": [{}, {"among": ["red"]}]})
    assert (refused.status_code, refused.json()["detail"]) == (
        409,
        "the kill switch is on, to green, which is not one to choose from",
    )
    arms = tuple(msgspec.structs.replace(arm, propensity=float(arm.arm == "green")) for arm in before["arms"])
    assert served.facts() == {**before, "arms": arms, "decisions": 1, "open_decisions": 1, "control_arm": "green"}


def test_if_the_arms_change_while_several_decisions_are_made_none_is_left_open(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.member, "check_choice", lambda _: None)
    wanted: list[dict[str, list[str]]] = [{}] * 40 + [{"among": ["nothing"]}]
    assert served.client.post("/v1/select-many", json={"requests": wanted}).status_code == 409
    served.member.sync()
    assert served.member.statistics().open_decisions == 0


def test_of_several_rewards_each_counts_for_itself(served: Served) -> None:
    first, second = select(served)["id"], select(served)["id"]
    forged = first[:-4] + ("AAAA" if not first.endswith("AAAA") else "BBBB")
    answer = served.client.post(
        "/v1/update-many",
        json={
            "updates": [
                {"id": first, "reward": 1.0},
                {"id": forged, "reward": 1.0},
                {"id": first, "reward": 0.0},
                {"id": second, "reward": 0.5},
            ],
            "sync": True,
        },
    )
    assert answer.status_code == 200
    results = answer.json()["results"]
    problem = results[1].pop("problem")
    assert results == [
        {"id": first, "counted": True},
        {"id": forged, "counted": False},
        {"id": first, "counted": False},
        {"id": second, "counted": True},
    ]
    assert (problem["status"], problem["title"]) == (404, "Not Found")
    assert problem["detail"].startswith(f"the id {forged!r} was not made by web-1 with its present state")
    assert [(arm.own_observations, arm.mean) for arm in served.member.statistics().arms] == [
        (1, 1.0),
        (1, 0.5),
        (0, None),
    ]


def test_a_report_goes_to_the_guardrail_once() -> None:
    options = {"group": "homepage", "name": "web-1", "arms": ["red", "blue"], "guardrail": ("errors", 0.02)}
    with (
        cobandit.connect("memory://sidecar-report", **options) as member,  # type: ignore[arg-type]
        Sidecar(create_app(member, token="t" * 32), "127.0.0.1:0") as sidecar,
        httpx.Client(base_url=sidecar.url, headers={"Authorization": f"Bearer {'t' * 32}"}, timeout=WITHIN) as client,
    ):
        decision = client.post("/v1/select", json={}).json()["id"]
        report = {"id": decision, "metric": "errors", "value": 1.0}
        assert [client.post("/v1/report", json=report).json() for _ in range(2)] == [
            {"counted": True},
            {"counted": False},
        ]
        other = client.post("/v1/report", json={**report, "metric": "latency"})
        assert (other.status_code, other.json()["detail"]) == (
            404,
            "'latency' is not the metric of the guardrail: that is 'errors' (connect(guardrail=...))",
        )
        assert client.post("/v1/report", json={**report, "value": 2.0}).status_code == 422
        member.sync()
        assert client.get("/v1/statistics").json()["guardrail"]["arms"][0]["reports"] == 1


def test_a_bandit_is_declared_with_hold_out_and_guardrail() -> None:
    new = {"name": "home", "arms": ["red", "blue"], "holdout": 0.5, "guardrail": ["errors", 0.02], "rewards": [0, 9]}
    with (
        cobandit.connect("memory://sidecar-bandit", fleet="shop", name="web-1") as member,
        Sidecar(create_app(member, token="t" * 32), "127.0.0.1:0") as sidecar,
        httpx.Client(base_url=sidecar.url, headers={"Authorization": f"Bearer {'t' * 32}"}, timeout=WITHIN) as client,
    ):
        for wrong in ({"holdout": 0.9}, {"guardrail": ["errors", 2.0]}, {"guardrail": ["errors"]}):
            assert client.post("/v1/bandits", json={**new, **wrong}).status_code == 422
        assert client.get("/v1/bandits").json() == {"bandits": []}
        assert client.post("/v1/bandits", json=new).status_code == 200
        made = [client.post("/v1/select", json={"bandit": "home", "segment": "de"}).json()["id"] for _ in range(20)]
        assert client.post("/v1/report", json={"id": made[0], "metric": "errors", "value": 1.0}).json() == {
            "counted": True
        }
        assert all(client.post("/v1/reward", json={"id": one, "reward": 9}).json() == {"counted": True} for one in made)
        member.sync()
        (told,) = client.get("/v1/fleet").json()["bandits"]
        assert [told["lift"]["observations"] + told["lift"]["held_out"], told["lift"]["mean"]] == [20, 9.0]
        assert told["guardrail"]["arms"][0]["reports"] == 1


def test_what_cannot_be_said_of_a_bandit_is_refused_and_changes_nothing() -> None:
    new = {"name": "home", "arms": ["red", "blue"], "rewards": [0, 9], "max_segments": 1, "window": "1h"}
    with (
        cobandit.connect("memory://sidecar-bad", fleet="shop", name="web-1") as member,
        Sidecar(create_app(member, token="t" * 32), "127.0.0.1:0") as sidecar,
        httpx.Client(base_url=sidecar.url, headers={"Authorization": f"Bearer {'t' * 32}"}, timeout=WITHIN) as client,
    ):

        def refused(path: str, body: dict[str, object]) -> tuple[int, str]:
            answer = client.post(path, json=body)
            return answer.status_code, answer.json()["detail"]

        status, words = refused("/v1/bandits", {**new, "window": "9s"})
        assert (status, "window must be at least 10 seconds" in words) == (422, True)
        assert member.statistics().bandits == ()
        assert client.post("/v1/bandits", json=new).status_code == 200
        before = member.statistics().bandits
        status, words = refused("/v1/bandits", {**new, "rewards": [0, 8]})
        assert (status, "rewards: (0.0, 9.0) before, (0.0, 8.0) now" in words) == (422, True)
        assert refused("/v1/select", {}) == (409, "in a fleet, arms belong to bandits: name a `bandit`. Declared: home")
        decision = client.post("/v1/select", json={"bandit": "home", "segment": "de"}).json()["id"]
        status, words = refused("/v1/reward", {"id": decision, "reward": 9.5})
        assert (status, "is not a number from 0 to 9" in words) == (409, True)
        status, words = refused("/v1/select", {"bandit": "home", "segment": "fr"})
        assert (status, "has 1 segments already, which is its limit" in words) == (409, True)
        assert (member.statistics().open_decisions, member.statistics().decisions) == (1, 1)
        assert member.statistics().bandits == before
        assert client.post("/v1/reward", json={"id": decision, "reward": 9}).json() == {"counted": True}
        wide = [f"arm {number}" for number in range(4096)]
        for arms, most in ((["red"], 10_000), (wide, 256)):
            client.post("/v1/bandits", json={"name": f"of {len(arms)}", "arms": arms, "max_segments": 2**20})
            assert member.machine.bandits.declared[f"of {len(arms)}"].max_segments == most


def test_a_decision_that_was_never_carried_out_is_withdrawn(served: Served) -> None:
    decision = select(served)["id"]
    answers = [served.client.post("/v1/withdraw", json={"id": decision}).json() for _ in range(2)]
    assert answers == [{"withdrawn": True}, {"withdrawn": False}]
    assert served.client.post("/v1/update", json={"id": decision, "reward": 1.0}).json() == {"counted": False}
    served.member.sync()
    assert served.member.statistics().own_observations == 0


def test_an_id_has_one_spelling(served: Served) -> None:
    decision = select(served)["id"]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    other_bits = decision[:-1] + letters[letters.index(decision[-1]) ^ 1]
    for spelling in (f"{decision}\n", other_bits):
        refused = served.client.post("/v1/update", json={"id": spelling, "reward": 1.0})
        assert refused.status_code == 404, spelling
    assert served.client.post("/v1/update", json={"id": decision, "reward": 1.0}).json() == {"counted": True}


def test_a_decision_that_a_crash_kept_from_the_disk_is_rewarded_once(served: Served, tmp_path: Path) -> None:
    served.member.sync()
    for suffix in ("", "-wal"):  # as a crash before the next decision leaves it
        (tmp_path / f"2.db{suffix}").write_bytes((tmp_path / f"1.db{suffix}").read_bytes())
    decision = select(served)["id"]
    served.member.close()
    arms = ["red", "green", "blue"]
    with (
        cobandit.connect(
            "memory://after", group="homepage", name="web-1", arms=arms, state=tmp_path / "2.db"
        ) as member,
        Sidecar(create_app(member, token=served.token.decode()), "127.0.0.1:0") as sidecar,
    ):
        reward = {"id": decision, "reward": 1.0, "sync": True}
        answers = [served.client.post(f"{sidecar.url}/v1/update", json=reward).json() for _ in range(2)]
        assert answers == [{"counted": True}, {"counted": False}]
        assert member.statistics().own_observations == 1


def test_arms_are_added_removed_and_added_again(served: Served) -> None:
    new = {"arm": "violet", "observations": 0, "own_observations": 0, "mean": None, "low": None, "high": None}
    new |= {"is_candidate": True, "is_frozen": False, "is_removed": False, "p_best": None, "propensity": None}
    added = served.client.post("/v1/arms", json={"arm": "violet"})
    assert (added.status_code, added.headers["location"], added.json()) == (201, "/v1/arms/violet", new)
    again = served.client.post("/v1/arms", json={"arm": "violet"})
    assert (again.status_code, "location" in again.headers, again.json()) == (200, False, new)
    assert [served.client.delete("/v1/arms/violet").status_code for _ in range(2)] == [204, 204]
    assert served.member.offered_arms == ("red", "green", "blue")
    assert served.client.post("/v1/arms", json={"arm": "violet"}).status_code == 201
    assert served.client.get("/v1/arms").json() == {
        "arms": list(msgspec.to_builtins(served.member.statistics().arms)),
    }


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_arm_may_have_any_name(name: str, served: Served) -> None:
    added = served.client.post("/v1/arms", json={"arm": name})
    where = added.headers["location"]
    assert (added.status_code, added.json()["arm"]) == (201, name)
    assert served.client.put(f"{where}/freeze").status_code == 204
    assert [arm.arm for arm in served.member.statistics().arms if arm.is_frozen] == [name]
    assert served.client.delete(f"{where}/freeze").status_code == 204
    assert served.client.delete(where).status_code == 204
    assert [arm.arm for arm in served.member.statistics().arms if arm.is_removed] == [name]


def test_a_frozen_arm_gets_no_traffic_and_the_last_one_cannot_be_frozen(served: Served) -> None:
    assert [served.client.put(f"/v1/arms/{arm}/freeze").status_code for arm in ("red", "blue", "green")] == [
        204,
        204,
        409,
    ]
    assert {select(served)["arm"] for _ in range(5)} == {"green"}
    assert served.client.delete("/v1/arms/red/freeze").status_code == 204
    assert select(served, among=["red"])["arm"] == "red"


def test_the_kill_switch_spreads_to_other_members_and_is_lifted(served: Served, tmp_path: Path) -> None:
    def pulls(member: Member) -> set[str]:
        return {member.select_arm().arm for _ in range(100)}

    with cobandit.connect(
        f"memory://{tmp_path}", group="homepage", name="web-2", arms=["red", "green", "blue"]
    ) as other:
        assert served.client.get("/v1/kill-switch").json() == {"control_arm": None}
        turned = served.client.put("/v1/kill-switch", json={"control_arm": "blue"})
        assert (turned.status_code, turned.json()) == (200, {"control_arm": "blue"})
        assert served.client.get("/v1/kill-switch").json() == {"control_arm": "blue"}
        wait_for(lambda: other.statistics().control_arm == "blue", "the switch reaches web-2")
        assert pulls(other) == {"blue"}
        assert {select(served)["arm"] for _ in range(5)} == {"blue"}
        assert served.client.post("/v1/select", json={"among": ["red"]}).status_code == 409
        assert served.client.delete("/v1/kill-switch").status_code == 204
        wait_for(lambda: other.statistics().control_arm is None, "it is lifted there")
        assert pulls(other) == {"red", "green", "blue"}


def test_a_reward_for_another_members_decision_is_brought_there(served: Served, tmp_path: Path) -> None:
    with cobandit.connect(
        f"memory://{tmp_path}", group="homepage", name="web-2", arms=["red", "green", "blue"]
    ) as other:
        decision = other.select_arm()
        passed_on = {"counted": False, "passed_on": True}
        for _ in range(2):  # its member counts it once
            assert served.client.post("/v1/update", json={"id": decision.id, "reward": 1.0}).json() == passed_on
        many = served.client.post("/v1/update-many", json={"updates": [{"id": decision.id, "reward": 1.0}]})
        assert many.json() == {"results": [{"id": decision.id, **passed_on}]}
        wait_for(lambda: other.statistics().own_observations == 1, "the reward arrives")
        refused = served.client.post("/v1/withdraw", json={"id": other.select_arm().id})
        assert (refused.status_code, refused.json()["detail"]) == (
            409,
            "the decision was made by 'web-2': only that member can withdraw it",
        )


def test_rewards_in_the_names_of_members_that_were_never_met_wait_in_a_small_box(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cobandit.live.machine.outbox.MOST_FOR_STRANGERS", 5)
    monkeypatch.setattr("cobandit.live.machine.outbox.MAX_FOR_ONE_STRANGER", 2)
    ghost = [sign(Claim("ghost", number, "red", time.time()), b"key") for number in range(3)]
    for one in ghost[:2]:
        assert served.client.post("/v1/update", json={"id": one, "reward": 1.0, "sync": True}).status_code == 200
    refused = served.client.post("/v1/update", json={"id": ghost[2], "reward": 1.0})
    why = (
        "the id is of 'ghost', whom this member has never met, and too many rewards wait for it: see that there is such"
    )
    assert (refused.status_code, refused.json()["detail"]) == (503, f"{why} a member")
    again = served.client.post("/v1/update", json={"id": ghost[1], "reward": 1.0})
    assert (again.status_code, again.json()) == (200, {"counted": False, "passed_on": True})
    made_up = [sign(Claim(f"ghost {number}", 1, "red", time.time()), b"key") for number in range(10)]
    updates = [{"id": one, "reward": 1.0} for one in made_up]
    results = served.client.post("/v1/update-many", json={"updates": updates, "sync": True}).json()["results"]
    assert results == [{"id": one, "counted": False, "passed_on": True} for one in made_up]
    waiting = [token for _, token, _ in served.member._node.machine.outbox.rewards]
    assert len(waiting) <= 5
    assert waiting == made_up[-len(waiting) :]  # the newest: more may be on their way than fit
    assert served.member.statistics().rewards_given_up == 12 - len(waiting)


def test_statistics_metrics_and_fleet_say_what_the_member_says(served: Served, tmp_path: Path) -> None:
    with cobandit.connect(
        f"memory://{tmp_path}", group="homepage", name="web-2", arms=["red", "green", "blue"]
    ) as other:
        for _ in range(3):
            served.client.post("/v1/update", json={"id": select(served)["id"], "reward": 1.0, "sync": True})
        wait_for(lambda: bool(other.statistics().peers and served.member.statistics().peers), "they meet")
        told = msgspec.convert(served.client.get("/v1/statistics").json(), Statistics)
        assert (told.name, told.decisions, told.own_observations) == ("web-1", 3, 3)
        assert told.arms == served.member.statistics().arms
        metrics = served.client.get("/metrics")
        assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        families = {family.name: family for family in text_string_to_metric_families(metrics.text)}
        assert [(one.labels, one.value) for one in families["cobandit_decisions"].samples] == [
            ({"group": "homepage", "member": "web-1"}, 3.0)
        ]
        fleet = served.client.get("/v1/fleet").json()
        assert set(fleet) == {"group", "arms", "members", "silent", "verdict", "lift", "guardrail", "bandits"}
        assert fleet["verdict"]["observations"] == 3
        assert [(one["name"], one["decisions"]) for one in fleet["members"]] == [("web-1", 3), ("web-2", 0)]
        assert (fleet["group"], fleet["silent"]) == ("homepage", [])
        assert {one["arm"]: one["observations"] for one in fleet["arms"]} == {"red": 1, "green": 1, "blue": 1}


def test_many_who_ask_for_the_fleet_hold_nobody_up(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet: Fleet = served.member.fleet()
    may_answer = threading.Event()
    asked: list[float] = []

    def slow_fleet(wait_s: float) -> Fleet:
        asked.append(wait_s)
        assert may_answer.wait(WITHIN)
        return fleet

    monkeypatch.setattr(served.member, "fleet", slow_fleet)
    with ThreadPoolExecutor(12) as clients:
        answers = [clients.submit(lambda: served.client.get("/v1/fleet")) for _ in range(12)]
        wait_for(lambda: len(served.sidecar._server.server_state.tasks) == 12, "all have asked")
        assert served.client.get("/v1/statistics").status_code == 200
        may_answer.set()
        assert [answer.result().content for answer in answers] == [fleet.to_json()] * 12
    assert asked == [2.0]


def test_sidecars_of_one_process_share_the_threads_that_wait(served: Served) -> None:
    served.client.get("/v1/statistics")
    before = threading.active_count()
    for _ in range(3):
        with Sidecar(create_app(served.member, token=served.token.decode()), "127.0.0.1:0") as sidecar:
            assert served.client.get(f"{sidecar.url}/v1/statistics").status_code == 200
    assert threading.active_count() == before


def test_head_is_get_without_a_body(served: Served) -> None:
    answer = served.client.head("/v1/arms")
    assert (answer.status_code, answer.content, int(answer.headers["content-length"]) > 0) == (200, b"", True)


def test_it_is_not_ready_while_the_disk_takes_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (served.client.get("/readyz").status_code, served.client.get("/healthz").json()) == (
        200,
        {"status": "alive"},
    )
    decision = select(served)["id"]
    writing = served.member._node._writing
    monkeypatch.setattr(writing, "_journal", Broken(writing._journal))
    refused = served.client.post("/v1/update", json={"id": decision, "reward": 1.0, "sync": True})
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["detail"] == (
        "the reward is taken but is not on the disk yet: no disk. Repeat the request: it counts once"
    )
    wait_for(lambda: served.client.get("/readyz").status_code == 503, "it says that it is not ready")
    unready = served.client.get("/readyz")
    assert unready.json() == {
        "title": "Service Unavailable",
        "status": 503,
        "detail": "decisions cannot be written to disk: the operator of the sidecar finds more in its log",
        "type": "about:blank",
    }
    assert served.client.post("/v1/arms", json={"arm": "violet"}).status_code == 503
    monkeypatch.undo()
    wait_for(lambda: served.client.get("/readyz").status_code == 200, "it is ready again")
    again = served.client.post("/v1/update", json={"id": decision, "reward": 1.0, "sync": True})
    assert (again.status_code, again.json()) == (200, {"counted": False})
    assert served.member.statistics().own_observations == 1


def test_what_holds_for_every_member_is_done_when_it_is_on_the_disk(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = served.member._node._writing
    monkeypatch.setattr(writing, "_journal", Broken(writing._journal))
    asked = [
        ("PUT", "/v1/kill-switch", {"control_arm": "blue"}),
        ("DELETE", "/v1/kill-switch", None),
        ("PUT", "/v1/arms/red/freeze", None),
        ("DELETE", "/v1/arms/red/freeze", None),
    ]
    for method, path, body in asked:
        answer = served.client.request(method, path, json=body)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.json()["detail"] == (
            "it holds at this member, but is neither on the disk nor told to the others yet: no disk. It is tried "
            "again; repeat the request to hear when it is done"
        )
    monkeypatch.undo()
    wait_for(lambda: served.client.get("/readyz").status_code == 200, "the disk works again")
    assert [served.client.request(method, path, json=body).status_code for method, path, body in asked] == [
        200,
        204,
        204,
        204,
    ]


def test_what_is_not_done_in_time_is_said_to_be_able_to_happen_still(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cobandit.live.sidecar.api.WAIT_WITHIN_S", 0.05)
    has_begun, may_freeze, freeze = threading.Event(), threading.Event(), served.member.freeze_arm

    def freeze_late(arm: str) -> None:
        has_begun.set()
        assert may_freeze.wait(WITHIN)
        freeze(arm)

    monkeypatch.setattr(served.member, "freeze_arm", freeze_late)
    answer = served.client.put("/v1/arms/red/freeze")
    assert answer.status_code == 503
    assert answer.json()["detail"] == (
        "the member did not do it within 0.05 seconds, and may still do it: see whether its disk and its computer can "
        "keep up, and repeat the request"
    )
    # What no thread had begun by then does not happen any more, so it is repeated, as the answer says.
    wait_for(lambda: has_begun.is_set() or served.client.put("/v1/arms/red/freeze").is_success, "it begins")
    may_freeze.set()
    wait_for(lambda: served.member.statistics().arms[0].is_frozen, "it happens")


class Broken:
    """A journal whose disk is gone."""

    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def write(self, *_: object) -> None:
        raise JournalError("no disk")

    replace = write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


def test_a_closed_member_is_not_ready_and_decides_nothing(served: Served) -> None:
    served.member.close()
    with pytest.raises(NotNowError):
        served.member.select_arm()
    statuses = [
        served.client.get("/readyz").status_code,
        served.client.post("/v1/select", json={}).status_code,
        served.client.get("/v1/statistics").status_code,
        served.client.get("/healthz").status_code,
    ]
    assert statuses == [503, 503, 503, 200]
