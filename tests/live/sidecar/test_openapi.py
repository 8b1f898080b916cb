"""The OpenAPI document is what is served: its copy is up to date, its examples are true, and strangers find nothing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cobandit.live.sidecar.contract import OPERATIONS, Operation
from cobandit.live.sidecar.openapi import API_VERSION, document, openapi_json

Served = Any  # of conftest.py, which cannot be imported

ROOT = Path(__file__).parents[3]
COPY = ROOT / "docs" / "openapi.json"
EXAMPLES = int(os.environ.get("COBANDIT_API_EXAMPLES", "20"))
"""How many examples of each operation are tried; `make api` tries more."""
SEED = int(os.environ.get("COBANDIT_API_SEED", "1"))


def test_the_copy_in_the_documents_is_up_to_date() -> None:
    program = "from cobandit.live.sidecar.openapi import openapi_json; print(openapi_json().decode(), end='')"
    assert COPY.read_bytes() == openapi_json(), f"make it anew: python -c {program!r} > docs/openapi.json"


def test_the_document_is_served_to_everybody(served: Served) -> None:
    answer = served.client.get("/openapi.json", headers={"Authorization": ""})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.content == openapi_json()


def test_the_version_of_the_api_is_that_of_its_paths() -> None:
    assert document()["info"]["version"] == API_VERSION
    major = API_VERSION.partition(".")[0]
    assert {path.split("/")[1] for path in document()["paths"] if path.count("/") > 1} == {f"v{major}"}


def test_every_operation_has_an_id_a_summary_examples_and_every_refusal() -> None:
    described = json.loads(openapi_json())
    ids = []
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            if method == "parameters":
                continue
            ids.append(operation["operationId"])
            assert operation["summary"]
            assert "example" in operation.get("requestBody", {"content": {"": {"example": 0}}})["content"].popitem()[1]
            for status, answer in operation["responses"].items():
                assert status == "204" or "$ref" in answer or "example" in answer["content"].popitem()[1]
            is_open = path in {"/healthz", "/readyz"}
            assert ("401" in operation["responses"]) != is_open
            assert operation.get("security", "the token") == ([] if is_open else "the token")
    assert ids == [operation.name for operation in OPERATIONS]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_the_examples_are_of_the_types_that_are_documented(operation: Operation) -> None:
    if operation.taken is not None:
        msgspec.json.decode(msgspec.json.encode(operation.example), type=operation.taken)
    if operation.given is not None:
        msgspec.json.decode(msgspec.json.encode(operation.answer), type=operation.given)


def test_strangers_who_read_the_document_find_nothing_wrong(served: Served, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{served.sidecar.url}/openapi.json"),
        *("--url", served.sidecar.url, "--header", f"Authorization: Bearer {served.token.decode()}"),
        *("--checks", "all", "--mode", "all", "--max-examples", str(EXAMPLES), "--seed", str(SEED)),
        *("--generation-database", "none", "--no-color", "--continue-on-failure"),
    ]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=3600)
    assert found.returncode == 0, found.stdout[-8000:] + found.stderr[-2000:]
    counted = re.search(r"(\d+) generated, (\d+) passed", found.stdout)
    assert counted is not None
    assert int(counted[1]) == int(counted[2]) > 500
    assert "Tested: 22" in found.stdout
    assert served.client.get("/readyz").status_code == 200
