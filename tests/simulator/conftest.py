"""What tests of runs need."""

import pytest

from cobandit.simulator import trials as trials_module


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which trials were run, in this process."""
    monkeypatch.setattr(trials_module, "can_fork", lambda: False)
    names: list[tuple[str, int]] = []
    run_job = trials_module.run_job

    def noted(job: trials_module.Job) -> trials_module.Trial:
        names.append((job.name, job.trial))
        return run_job(job)

    monkeypatch.setattr(trials_module, "run_job", noted)
    return names
