"""The router of language models: three replicas, fake models, a replica that is killed; and its hook for LiteLLM."""

import asyncio
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
from tests.live.guides.examples import EXAMPLES, loaded, started, wait_for

import cobandit
from lab.servers import HOST, free_port

FOLDER = EXAMPLES / "llm_router"
REPLICAS = ("router-1", "router-2", "router-3")
MODELS = {"small": 0.2, "medium": 0.5, "large": 0.9, "down": 0.0}
"""How often users like an answer."""
QUESTIONS = 36


class Fleet:
    """The replicas as processes, and clients that get no answer and ask another one."""

    def __init__(self, folder: Path, upstream: int, running: ExitStack) -> None:
        self._ports = {name: (free_port(), free_port()) for name in REPLICAS}
        self._folder, self._upstream, self._running = folder, upstream, running
        self._client = running.enter_context(httpx.Client(timeout=20.0))
        self.processes = {name: self.start(name) for name in REPLICAS}

    def start(self, name: str) -> Any:  # a process
        http, udp = self._ports[name]
        settings = {
            "ROUTER_NAME": name,
            "ROUTER_ADDRESS": f"{HOST}:{udp}",
            "ROUTER_PEERS": ",".join(f"{HOST}:{other}" for _, other in self._ports.values()),
            "ROUTER_STATE": str(self._folder),
            "ROUTER_SECRET": "a secret for this test, and no other",
            "ROUTER_MODELS": ",".join(MODELS),
            "ROUTER_UPSTREAM": f"http://{HOST}:{self._upstream}",
        }
        command = (sys.executable, "-m", "uvicorn", "router:app", "--log-level", "error", "--port", str(http))
        return self._running.enter_context(started(*command, folder=FOLDER, **settings))

    def ask(self, name: str, path: str, body: object = None) -> Any:  # JSON
        def answer() -> tuple[Any] | None:
            try:
                url = f"http://{HOST}:{self._ports[name][0]}{path}"
                reply = self._client.get(url) if body is None else self._client.post(url, json=body)
            except httpx.TransportError:
                return None  # it was killed, or is not there yet
            assert reply.status_code < 300, reply.text
            return (reply.json() if reply.content else None,)

        return wait_for(answer, f"{name}{path}")[0]

    def all_know(self, observations: int) -> dict[str, Any]:
        def status() -> dict[str, Any] | None:
            of = {name: self.ask(name, "/status") for name in REPLICAS}
            counts = [one["observations"] for one in of.values()]
            assert max(counts) <= observations, "something was counted twice"
            return of if counts == [observations] * len(REPLICAS) else None

        return wait_for(status, f"{observations} everywhere")


def test_replicas_count_every_judgement_once_though_one_is_killed(tmp_path: Path) -> None:
    chance, upstream = random.Random(4), free_port()
    with ExitStack() as running:
        running.enter_context(started(sys.executable, "fake_models.py", str(upstream), folder=FOLDER))
        fleet = Fleet(tmp_path, upstream, running)
        body = {"model": "auto", "messages": [{"role": "user", "content": "hello"}]}
        answers = [
            fleet.ask(name, "/v1/chat/completions", body)
            for name in REPLICAS
            for _ in range(QUESTIONS // len(REPLICAS))
        ]
        assert {answer["choices"][0]["message"]["content"] for answer in answers} <= {
            f"{model} has read: hello" for model in MODELS
        }
        judged = [(answer["decision"], float(chance.random() < MODELS[answer["model"]])) for answer in answers]
        for number, (decision, score) in enumerate(judged):
            if number == QUESTIONS // 2:
                fleet.processes["router-2"].send_signal(signal.SIGKILL)
                fleet.processes["router-2"].wait()
                fleet.start("router-2")
            for name in REPLICAS[:2]:  # twice, and at whichever replica
                fleet.ask(name, "/feedback", {"decision": decision, "score": score})
        failed = {name: own_of(fleet.ask(name, "/status"), "down") for name in REPLICAS}
        known = fleet.all_know(QUESTIONS + sum(failed.values()))
        for status in known.values():
            liked = sum(arm["mean"] * arm["observations"] for arm in status["arms"] if arm["observations"])
            assert round(liked, 6) == sum(score for _, score in judged)
            assert [arm["mean"] or 0.0 for arm in status["arms"] if arm["arm"] == "down"] == [
                0.0
            ]  # if anybody asked it


def own_of(status: dict[str, Any], arm: str) -> int:
    (own,) = [one["own_observations"] for one in status["arms"] if one["arm"] == arm]
    return int(own)


# The hook for LiteLLM. The package is not installed here: what its router does was seen with version 1.106.


class ImitatedRouter:
    """Calls a hook as LiteLLM's router does: for every attempt the healthy deployments, then how it went."""

    def __init__(self, hook: Any, answers: dict[str, timedelta | None]) -> None:
        self.hook, self.answers = hook, answers
        self.deployments = [{"model_name": "chat", "model_info": {"id": name}} for name in answers]
        self.cooling: set[str] = set()
        self.deployments_cool_down = True

    async def acompletion(self, model: str, metadata: dict[str, Any]) -> str | None:
        request = {"metadata": metadata}
        for _ in range(3):
            healthy = [one for one in self.deployments if one["model_info"]["id"] not in self.cooling]  # type: ignore[index]
            (chosen,) = await self.hook.async_filter_deployments(model, healthy, [], request_kwargs=request)
            name, begun = chosen["model_info"]["id"], datetime(2026, 1, 1, tzinfo=UTC)
            kwargs = {"litellm_params": {"metadata": request["metadata"], "model_info": chosen["model_info"]}}
            if (took := self.answers[name]) is not None:
                await self.hook.async_log_success_event(kwargs, object(), begun, begun + took)
                return str(name)
            await self.hook.async_log_failure_event(kwargs, None, begun, begun)
            self.cooling |= {name} if self.deployments_cool_down else set()
        return None


@pytest.fixture
def hook_module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    package = ModuleType("litellm.integrations.custom_logger")
    package.CustomLogger = type("CustomLogger", (), {})  # type: ignore[attr-defined]
    for name in ("litellm", "litellm.integrations"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, package.__name__, package)
    return loaded(FOLDER / "litellm_hook.py")


@contextmanager
def member_for(*arms: str) -> Iterator[cobandit.Member]:
    with cobandit.connect("memory://hook", group="models", name="one", arms=arms, policy="ucb") as member:
        yield member


def counted(member: cobandit.Member) -> dict[str, tuple[int, float]]:
    return {arm.arm: (arm.observations, round(arm.mean or 0.0, 6)) for arm in member.statistics().arms}


def test_the_hook_counts_every_attempt_once_by_its_time(hook_module: ModuleType) -> None:
    with member_for("quick", "slow", "down") as member:
        hook = hook_module.LearnedRouting(member, "chat", slow_s=10.0)
        router = ImitatedRouter(hook, {"quick": timedelta(seconds=1), "slow": timedelta(seconds=8), "down": None})
        got = [asyncio.run(router.acompletion("chat", {})) for _ in range(40)]
        assert None not in got
        assert counted(member) == {
            "quick": (got.count("quick"), 0.9),
            "slow": (got.count("slow"), 0.2),
            "down": (1, 0.0),
        }
        assert got.count("quick") > 3 * got.count("slow")
        assert member.statistics().open_decisions == 0


def test_the_hook_counts_a_retry_of_the_same_deployment_as_a_decision_of_its_own(hook_module: ModuleType) -> None:
    with member_for("flaky", "slow") as member:
        hook = hook_module.LearnedRouting(member, "chat", slow_s=10.0)
        router = ImitatedRouter(hook, {"flaky": None})
        router.deployments_cool_down = False
        assert asyncio.run(router.acompletion("chat", {})) is None
        assert counted(member) == {"flaky": (3, 0.0), "slow": (0, 0.0)}


def test_the_hook_leaves_the_reward_to_whom_users_tell_it(hook_module: ModuleType) -> None:
    with member_for("quick", "down") as member:
        hook = hook_module.LearnedRouting(member, "chat", by_feedback=True)
        router = ImitatedRouter(hook, {"quick": timedelta(seconds=1), "down": None})
        metadata: dict[str, Any] = {"user": 7}
        asyncio.run(router.acompletion("chat", metadata))
        (decision,) = metadata["cobandit"]["quick"]
        assert member.update(decision, 1.0) is cobandit.Taken.COUNTED
        assert counted(member)["quick"] == (1, 1.0)


def test_the_hook_does_not_choose_where_it_has_nothing_to_choose_from(hook_module: ModuleType) -> None:
    with member_for("quick", "slow") as member:
        hook = hook_module.LearnedRouting(member, "chat")
        deployments = [{"model_info": {"id": "of another model"}}]
        for model, request in (("embedding", {}), ("chat", {}), ("chat", None)):
            left = asyncio.run(hook.async_filter_deployments(model, deployments, None, request_kwargs=request))
            assert left == deployments
        asyncio.run(hook.async_log_failure_event({"litellm_params": None}, None, None, None))
        assert member.statistics().observations == 0


def test_the_hook_fits_on_a_page() -> None:
    lines = (FOLDER / "litellm_hook.py").read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 65
