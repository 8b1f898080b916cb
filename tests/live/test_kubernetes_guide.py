"""The guide of Kubernetes is true: its relays and its replicas run as processes, and its manifests say how."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.servers import HOST, Missing, free_port, nats_server

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "examples" / "kubernetes"
SECRET = "a secret of the whole group"


def manifests(name: str) -> dict[str, Any]:
    found = {entry["kind"]: entry for entry in yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8"))}
    assert all(entry["apiVersion"] and entry["metadata"]["name"] for entry in found.values())
    return found


@contextmanager
def process(*command: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def words(running: subprocess.Popen[str], first: str) -> list[str]:
    """Return the next line that begins with a word."""
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith(first):
            return line.split()
    raise AssertionError(f"it ended without {first!r}")


def test_the_manifests_fit_together() -> None:
    relays, web = manifests("relays.yaml"), manifests("web.yaml")
    assert relays.keys() == {"ConfigMap", "StatefulSet", "Service", "PodDisruptionBudget"}
    pod = relays["StatefulSet"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    assert relays["StatefulSet"]["spec"]["selector"]["matchLabels"] == labels
    assert relays["Service"]["spec"]["selector"] == labels
    assert relays["Service"]["spec"]["clusterIP"] == "None"
    assert relays["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    mounted = {mount["name"]: mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
    claimed = {claim["metadata"]["name"] for claim in relays["StatefulSet"]["spec"]["volumeClaimTemplates"]}
    assert mounted.keys() == {volume["name"] for volume in pod["spec"]["volumes"]} | claimed
    text = relays["ConfigMap"]["data"]["relay.toml"]
    assert f'state = "{mounted["state"]}/relay.db"' in text
    assert f'secret_file = "{mounted["secret"]}/secret"' in text
    container = web["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert {entry["name"] for entry in container["env"]} == {"COBANDIT_URL", "COBANDIT_SECRET_FILE"}


def test_replicas_without_names_are_replaced(tmp_path: Path) -> None:
    text = manifests("relays.yaml")["ConfigMap"]["data"]["relay.toml"]
    secret = tmp_path / "secret"
    secret.write_text(SECRET, encoding="ascii")
    secret.chmod(0o600)
    with ExitStack() as stack:
        try:
            url = stack.enter_context(nats_server()).url
        except Missing as missing:
            pytest.skip(str(missing))
        for number in range(2):
            file = tmp_path / f"relay-{number}.toml"
            changed = text.replace("RELAY", f"relay-{number}").replace("nats://nats:4222", url)
            changed = changed.replace("/var/lib/cobandit/relay.db", str(tmp_path / f"relay-{number}.db"))
            changed = changed.replace("/etc/cobandit-secret/secret", str(secret))
            changed = changed.replace("0.0.0.0:9100", f"{HOST}:{free_port()}").replace('log_format = "json"', "")
            file.write_text(changed, encoding="utf-8")
            command = (sys.executable, "-m", "cobandit", "relay", str(file))
            relay = stack.enter_context(process(*command, folder=tmp_path))
            words(relay, f"relay-{number} is ready")

        def web() -> Any:
            environment = {"COBANDIT_URL": url, "COBANDIT_SECRET_FILE": str(secret)}
            return process(sys.executable, str(FOLDER / "web.py"), folder=tmp_path, **environment)

        pods = [stack.enter_context(web()) for _ in range(3)]
        names = {words(pod, "ready")[1] for pod in pods}
        assert len(names) == 3
        for pod in pods:
            for _ in range(5):
                words(pod, "later")
            pod.terminate()
        assert [pod.wait(30.0) for pod in pods] == [143] * 3
        again = [stack.enter_context(web()) for _ in range(3)]
        begun = [words(pod, "ready") for pod in again]
        assert all(int(known) > 0 for _, _, known in begun)
        assert {name for _, name, _ in begun} & names
