"""The manifests are right by Kubernetes' own schemas, fit together, and what they run works: as processes, with TLS."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from cobandit.cli import main
from lab.servers import HOST, free_port

kubernetes_validate = pytest.importorskip("kubernetes_validate")

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "deploy" / "kubernetes"
BASE, WEB, MONITORING = FOLDER / "base", FOLDER / "web", FOLDER / "monitoring"
NEWEST, OLDEST = "1.34", "1.29"
KUSTOMIZE = ("kustomize", "build") if shutil.which("kustomize") else ("kubectl", "kustomize")


def documents(*files: Path) -> list[dict[str, Any]]:
    return [entry for file in files for entry in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def rendered(folder: Path) -> list[dict[str, Any]]:
    if shutil.which(KUSTOMIZE[0]) is None or _is_old():
        pytest.skip("there is neither kustomize nor a kubectl that has one of the last five years here")
    environment = {**os.environ, "KUBECONFIG": os.devnull}
    done = subprocess.run([*KUSTOMIZE, str(folder)], capture_output=True, text=True, check=True, env=environment)
    return list(yaml.safe_load_all(done.stdout))


def _is_old() -> bool:
    """Debian's kubectl of 2021 has a kustomize that takes no folders."""
    version = ["kubectl", "version", "--client", "-o", "json"]
    return (
        KUSTOMIZE[0] == "kubectl"
        and b"kustomizeVersion" not in subprocess.run(version, capture_output=True, check=False).stdout
    )


def plain() -> list[dict[str, Any]]:
    files = [
        file for folder in (BASE, WEB) for file in sorted(folder.glob("*.yaml")) if "kustomization" not in file.name
    ]
    return documents(*files)


def of_kind(kind: str, name: str) -> dict[str, Any]:
    (found,) = (one for one in plain() if one["kind"] == kind and one["metadata"]["name"] == name)
    return found


def container(kind: str, name: str) -> dict[str, Any]:
    (found,) = of_kind(kind, name)["spec"]["template"]["spec"]["containers"]
    one: dict[str, Any] = found
    return one


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_every_manifest_is_right_by_the_schemas(version: str) -> None:
    assert {one["kind"] for one in plain()} == {
        "Deployment",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
        "StatefulSet",
    }
    for one in plain():
        kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("folder", [BASE, WEB, MONITORING], ids=lambda folder: str(folder.name))
def test_a_kustomization_names_what_is_there_and_all_of_it(folder: Path) -> None:
    (listed,) = documents(folder / "kustomization.yaml")
    files = [file for one in listed.get("configMapGenerator", []) for file in one["files"]]
    names = {*listed["resources"], *files, "kustomization.yaml"}
    assert {name for name in names if not (folder / name).exists()} == set()
    assert {file.name for file in folder.iterdir() if file.is_file()} <= names


def test_it_renders_with_the_config_and_the_alerts(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "kubernetes")
    overlay = tmp_path / "kubernetes" / "mine"
    overlay.mkdir()
    (overlay / "kustomization.yaml").write_text(
        yaml.safe_dump({"resources": ["../web", "../monitoring"], "namespace": "shop"})
    )
    found = rendered(overlay)
    ours = "Deployment NetworkPolicy PodDisruptionBudget PrometheusRule Service ServiceMonitor StatefulSet"
    assert sorted(one["kind"] for one in found) == ["ConfigMap", "ConfigMap", *ours.split()]
    assert {one["metadata"]["namespace"] for one in found} == {"shop"}
    for one in found:
        if one["apiVersion"] != "monitoring.coreos.com/v1":
            kubernetes_validate.validate(one, NEWEST, strict=True)
    (text,) = (one["data"]["relay.toml"] for one in found if one["kind"] == "ConfigMap" and "relay.toml" in one["data"])
    assert text == (BASE / "relay.toml").read_text(encoding="utf-8")


def test_selectors_ports_and_mounts_fit_together() -> None:
    relays = of_kind("StatefulSet", "relay")["spec"]
    labels = relays["template"]["metadata"]["labels"]
    service, budget = of_kind("Service", "relay"), of_kind("PodDisruptionBudget", "relay")["spec"]
    policy = of_kind("NetworkPolicy", "relay")["spec"]
    (monitor,) = documents(MONITORING / "service-monitor.yaml")
    selected = [relays["selector"], budget["selector"], policy["podSelector"], monitor["spec"]["selector"]]
    assert selected == [{"matchLabels": labels}] * 4
    assert service["metadata"]["labels"] == labels == service["spec"]["selector"]
    assert service["spec"]["clusterIP"] == "None"
    assert relays["serviceName"] == service["metadata"]["name"]
    ports = {port["name"]: port["containerPort"] for port in container("StatefulSet", "relay")["ports"]}
    assert (
        {port["name"]: port["port"] for port in service["spec"]["ports"]} == ports == {"members": 7000, "metrics": 9100}
    )
    assert {end["port"] for end in monitor["spec"]["endpoints"]} == {"metrics"}
    web = of_kind("Deployment", "web")["spec"]["template"]["metadata"]["labels"]
    allowed = policy["ingress"][0]["from"][1]["podSelector"]["matchLabels"]
    assert allowed.items() <= web.items()
    for kind, name in (("StatefulSet", "relay"), ("Deployment", "web")):
        pod = of_kind(kind, name)["spec"]["template"]["spec"]
        claimed = {claim["metadata"]["name"] for claim in of_kind(kind, name)["spec"].get("volumeClaimTemplates", [])}
        assert {mount["name"] for mount in container(kind, name)["volumeMounts"]} == claimed | {
            volume["name"] for volume in pod["volumes"]
        }


def test_no_pod_is_root_or_writes_outside_of_its_volumes() -> None:
    for kind, name in (("StatefulSet", "relay"), ("Deployment", "web")):
        pod = of_kind(kind, name)["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert container(kind, name)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


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


def keys(folder: Path) -> Path:
    """Make the files of the guide."""
    keys = folder / "keys-homepage"
    assert main(["keys", "group", "homepage", "--out", str(keys)]) == 0
    for name, kind in (("relay-0", "--relay"), ("relay-1", "--relay"), ("pod-", "--prefix")):
        assert main(["keys", "agent", name, kind, "--folder", str(keys)]) == 0
    return keys


def test_replicas_without_names_are_replaced(tmp_path: Path) -> None:
    """The command lines and environments are those of the manifests; paths and addresses are this computer's."""
    made = keys(tmp_path)
    addresses = [f"{HOST}:{free_port()}" for _ in range(2)]
    text = (BASE / "relay.toml").read_text(encoding="utf-8")
    mounted = {mount["name"]: mount["mountPath"] for mount in container("StatefulSet", "relay")["volumeMounts"]}
    with ExitStack() as stack:
        for number, address in enumerate(addresses):
            pod = f"relay-{number}"
            (tmp_path / pod).mkdir()
            changed = text.replace("tls://0.0.0.0:7000", f"tls://{address}").replace(mounted["keys"], str(made))
            changed = changed.replace("0.0.0.0:9100", f"{HOST}:{free_port()}").replace(
                mounted["state"], str(tmp_path / pod)
            )
            for other, place in enumerate(addresses):
                changed = changed.replace(f"relay-{other}.relay:7000", place)
            (tmp_path / pod / "relay.toml").write_text(changed, encoding="utf-8")
            given = [
                word.replace("$(POD_NAME)", pod)
                .replace(mounted["config"], str(tmp_path / pod / "relay.toml"))
                .replace(mounted["keys"], str(made))
                for word in container("StatefulSet", "relay")["args"]
            ]
            relay = stack.enter_context(process(sys.executable, "-m", "cobandit", *given, folder=tmp_path))
            words(relay, f"{pod} is ready")
            assert main(["health", *given[1:]]) == 0

        def web() -> Any:
            environment = {one["name"]: one["value"] for one in container("Deployment", "web")["env"]}
            here = {name: value.replace(mounted["keys"], str(made)) for name, value in environment.items()}
            here["COBANDIT_RELAYS"] = ",".join(addresses)
            return process(sys.executable, str(WEB / "web.py"), folder=tmp_path, **here)

        pods = [stack.enter_context(web()) for _ in range(3)]
        names = {words(pod, "ready")[1] for pod in pods}
        assert len(names) == 3
        for one in pods:
            for _ in range(5):
                words(one, "later")
            one.terminate()
        assert [one.wait(60.0) for one in pods] == [143] * 3
        again = set[str]()
        for _ in range(12):  # each goes to one of the relays by chance, and is lent a name of that one
            _, name, known = words(stack.enter_context(web()), "ready")
            assert int(known) > 0
            again.add(name)
            if again & names:
                break
        assert again & names
