"""From which source something of a user's own was made: a hash, so that a result says which version it was."""

import hashlib
import inspect
import textwrap


def source_hash(thing: object) -> str:
    """Return the SHA-256 of the source of a class or function; or, where there is none to be read, say so.

    What it calls elsewhere is not in it.

    >>> source_hash(source_hash)[:7]
    'sha256:'
    >>> source_hash(lambda: 1)
    'unknown: a lambda has no source of its own'
    """
    if getattr(thing, "__name__", "") == "<lambda>":
        return "unknown: a lambda has no source of its own"
    try:
        source = inspect.getsource(thing)  # type: ignore[arg-type]  # of anything else it raises TypeError
    except (OSError, TypeError):
        return "unknown: the source cannot be read"
    return f"sha256:{hashlib.sha256(textwrap.dedent(source).encode()).hexdigest()}"
