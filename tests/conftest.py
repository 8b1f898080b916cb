"""Properties are tried on the same examples in every run, and no example is judged by a clock. Keys are made once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tacit.runtime.identity import Identity
from tacit.runtime.keys import issue, make_group

settings.register_profile("tacit", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")


def _identities(folder: Path, group: str) -> Callable[[str], Identity]:
    make_group(group, folder)
    made: dict[str, Identity] = {}

    def identity(name: str) -> Identity:
        if name not in made:
            made[name] = Identity.load(issue(name, folder))
        return made[name]

    return identity


@pytest.fixture(scope="session")
def member(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Identity]:
    """Makes identities of the group `homepage`."""
    return _identities(tmp_path_factory.mktemp("keys"), "homepage")


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Identity]:
    """Makes identities of another group of the same name."""
    return _identities(tmp_path_factory.mktemp("others"), "homepage")
