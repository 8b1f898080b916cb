"""Packages that only parts of cobandit need: which extra brings each, and the error where one is missing.

This file knows their names and imports none of them. It is the only place that tells people to install something.
"""

from types import TracebackType

from cobandit.values.errors import MissingExtraError

EXTRAS = {
    "aiomqtt": "mqtt",
    "cryptography": "keys",
    "distributed": "cluster",
    "gymnasium": "rl",
    "httptools": "serve",
    "llvmlite": "sim",
    "mabwiser": "mabwiser",
    "matplotlib": "sim",
    "nats": "nats",
    "numba": "sim",
    "numpy": "sim",
    "paho": "mqtt",
    "pandas": "sim",
    "pettingzoo": "rl",
    "prometheus_client": "metrics",
    "pyarrow": "sim",
    "river": "river",
    "starlette": "serve",
    "uvicorn": "serve",
}
"""The smallest extra that brings each package, by import name. Packages that are merely useful, such as uvloop, are not
listed."""


class needed_by:  # noqa: N801 - it is read as a verb: with needed_by("a plot"): import matplotlib
    """Name the missing extra if an import in this block fails for lack of a package of an extra.

    The outermost block wins, because it knows best what was wanted. If another module is missing, its error is left
    unchanged.

    >>> with needed_by("a key"):
    ...     raise ModuleNotFoundError("No module named 'cryptography'", name="cryptography")
    Traceback (most recent call last):
    ...
    cobandit.values.errors.MissingExtraError: a key needs the extra "keys": pip install 'cobandit[keys]'

    Args:
        what: What needs the package, for a sentence that goes on with "needs".
        extra: The extra to name where more than the missing package is wanted; the smallest one by default.
    """

    def __init__(self, what: str, extra: str | None = None) -> None:
        self._what, self._extra = what, extra

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Replace the error if a package of an extra is missing."""
        if isinstance(error, ModuleNotFoundError) and (smallest := extra_of(error)) is not None:
            extra = self._extra or smallest
            raise MissingExtraError(
                f"{self._what} needs the extra \"{extra}\": pip install 'cobandit[{extra}]'", name=error.name
            ) from error


def extra_of(error: ModuleNotFoundError) -> str | None:
    """Return the extra that brings the module, or `None` if no extra does.

    >>> extra_of(ModuleNotFoundError(name="matplotlib.figure")), extra_of(ModuleNotFoundError(name="surely_not"))
    ('sim', None)
    """
    return EXTRAS.get((error.name or "").partition(".")[0])
