"""`pytest tests/stories --rewrite` writes into the stories what comes of them now."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write into the stories what comes of them now")
