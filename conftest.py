"""Everything that the documents show is run: Python blocks in Markdown, and the examples in docstrings.

Files with long tests begin first, so that no worker is left alone with one of them in the end.
"""

import pytest
from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser
from sybil.sybil import SybilCollection

_CODE = {"patterns": ["*.py"], "document_types": {".py": PythonDocStringDocument}}

pytest_collect_file = SybilCollection(
    (
        Sybil(parsers=[PythonCodeBlockParser()], patterns=["*.md"], excludes=["CHANGELOG.md"]),
        Sybil(parsers=[DocTestParser()], path="src", **_CODE),
        Sybil(parsers=[DocTestParser()], path="lab", **_CODE),
    )
).pytest()

LONG_FIRST = (
    "test_kernel_equals_reference.py",  # which compiles the engine for all, in a fresh clone
    "test_faults.py",
    "test_tutorial.py",
    "test_live_seeds.py",
    "test_pens.py",
    "test_without_a_compiler.py",
    "test_leaves.py",
    "test_seeds.py",
    "test_mutants.py",
    "test_page_live.py",
    "test_broken_live_variants.py",
    "test_web.py",
    "test_broken_variants.py",
    "test_bandit_pens.py",
    "test_fuzz_codec.py",
    "test_random_stories.py",
    "test_message_counts.py",
    "test_cluster.py",
    "test_guides.py",
    "test_guide.py",
    "test_llm_router.py",
    "test_notebooks.py",
    "test_asking.py",
    "test_openapi.py",
    "test_refusals.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first; `make test` keeps this order (`--no-loadscope-reorder`)."""
    places = {name: place for place, name in enumerate(LONG_FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))
