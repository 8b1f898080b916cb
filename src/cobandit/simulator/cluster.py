"""Trials on many machines: a Dask cluster as an executor. This is the only file that knows Dask.

If a worker dies, the scheduler gives its trials to another, because a trial depends only on its scenario, the seed and
its number. If the whole cluster is gone, that is an error; with a folder for the results, finished trials are kept.
"""

from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager

import cobandit
from cobandit.values.errors import LocalError
from cobandit.values.extras import needed_by

CONNECT_WITHIN_S = 10.0
"""Seconds to wait for a scheduler to answer."""


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Connect to the Dask scheduler at an address such as tcp://scheduler:8786, and yield an executor.

    Raises:
        LocalError: Dask is not installed, the scheduler does not answer, the workers have no cobandit or another
            version of it, or the cluster went away.
    """
    with needed_by("a cluster"):
        from distributed import Client, KilledWorker  # noqa: PLC0415  # only clusters need it
    try:
        client = Client(address, timeout=CONNECT_WITHIN_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise LocalError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        for worker, version in client.run(version_here, on_error="return").items():
            if version != cobandit.__version__:
                raise LocalError(f"worker {worker} must have cobandit {cobandit.__version__}, not {version!r}")
        try:
            executor: Executor = client.get_executor(pure=False)  # type: ignore[no-untyped-call]
            yield executor
        except KilledWorker as error:
            raise LocalError(f"a trial brought down one worker after the other: is it too large? {error}") from error
        except (CancelledError, OSError, TimeoutError) as error:
            raise LocalError(f"the cluster at {address} went away: {error!r}") from error


def version_here() -> str:
    """Return the version of cobandit where this runs."""
    return cobandit.__version__
