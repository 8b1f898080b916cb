"""How to cite: the file that registries read, the BibTeX that people copy, and the package say the same."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import cobandit

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("docs/research.md",)
TYPES = {"software", "conference-paper"}


@pytest.fixture(scope="module")
def citation() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return read


def bibtex(document: str) -> dict[str, dict[str, str]]:
    """Return the fields of each entry of a document, by the entry's key."""
    text = (ROOT / document).read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, flags=re.DOTALL | re.MULTILINE)
    return {key: dict(re.findall(r"(\w+) += \{(.*)\}", body)) for key, body in entries}


def test_it_has_what_version_1_2_of_the_format_requires(citation: dict[str, Any]) -> None:
    """The required keys of the schema, of the file and of what is preferred; and only keys that are in the schema."""
    paper = citation["preferred-citation"]
    assert citation["cff-version"] == "1.2.0"
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert {"type", "title", "authors"} <= paper.keys()
    assert citation.keys() <= {
        *("abstract", "authors", "cff-version", "keywords", "license", "message", "preferred-citation"),
        *("repository-code", "title", "type", "version"),
    }
    assert paper.keys() <= {"authors", "collection-title", "title", "type", "year"}
    assert {citation["type"], paper["type"]} == TYPES
    for one in (citation, paper):
        assert one["authors"]
        assert all(set(author) in ({"name"}, {"given-names", "family-names"}) for author in one["authors"])
        assert all(isinstance(text, str) and text for author in one["authors"] for text in author.values())


def test_the_version_is_that_of_the_package(citation: dict[str, Any]) -> None:
    assert citation["version"] == cobandit.__version__
    for document in DOCUMENTS:
        assert bibtex(document)["cobandit"]["version"] == cobandit.__version__


@pytest.mark.parametrize("document", DOCUMENTS)
def test_bibtex_says_the_same(document: str, citation: dict[str, Any]) -> None:
    entries, paper = bibtex(document), citation["preferred-citation"]
    assert entries.keys() == {"chen2023ondemand", "cobandit"}
    names = [f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]]
    assert entries["chen2023ondemand"] == {
        "title": f"{{{paper['title']}}}",
        "author": " and ".join(names),
        "booktitle": paper["collection-title"],
        "year": str(paper["year"]),
    }
    assert entries["cobandit"]["title"] == f"{{{citation['title']}}}"
    assert entries["cobandit"]["url"] == citation["repository-code"]
