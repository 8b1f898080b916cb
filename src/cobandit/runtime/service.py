"""A member as a process of its own: it starts, takes part until it is told to stop, and says farewell.

It decides nothing by itself. It holds what the others learned, answers, and takes the rewards that are left in its
mailbox: an always-on memory of the group. Members talk on demand, and who observes nothing demands nothing; so it asks
now and then (`Member.catch_up`).
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from cobandit.runtime.config import AgentConfig
from cobandit.runtime.logs import configure_logging
from cobandit.runtime.member import Member, connect
from cobandit.runtime.sqlite_journal import read_state

STOPPING = (signal.SIGTERM, signal.SIGINT)


def run_agent(
    config: AgentConfig,
    *,
    ready: Callable[[Member], None],
    beside: Callable[[Member], AbstractContextManager[object]] | None = None,
    logs_of: Sequence[str] = (),
) -> bool:
    """Run a member until the process is told to stop, by SIGTERM or SIGINT. A second signal ends it at once.

    Args:
        config: What to run.
        ready: Called when the member takes part.
        beside: What else runs as long as the member does, such as a server of its own: started before `ready` is
            called, stopped before the member says farewell.
        logs_of: Loggers of other packages whose warnings are logged too.

    Returns:
        Whether everything is written down. If not, the log says why.

    Raises:
        LocalError: It cannot start. Nothing is left behind.
    """
    configure_logging(config.log_format, also=logs_of)
    with stop_signals() as wait, ExitStack() as stack:
        member = stack.enter_context(connect(config.url, **config.member))
        if config.metrics is not None:
            from cobandit.runtime.metrics import serve_metrics  # noqa: PLC0415  # needs the extra `metrics`

            stack.enter_context(serve_metrics(member, config.metrics))
        if beside is not None:
            stack.enter_context(beside(member))
        ready(member)
        while not wait(config.catch_up_every):
            member.catch_up()
    return read_state(config.member["state"]).is_clean


@contextmanager
def stop_signals() -> Iterator[Callable[[float], bool]]:
    """Hold SIGTERM and SIGINT back, for this thread and those that it starts from now on.

    Yields a function that waits for one of them for so many seconds, and returns whether it has come. From then on they
    are themselves again: the next ends the process at once.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)

    def wait(seconds: float) -> bool:
        if signal.sigtimedwait(STOPPING, seconds) is None:
            return False
        for one in STOPPING:
            signal.signal(one, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        return True

    try:
        yield wait
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def stop_this_process() -> None:
    """Tell this process to stop, as an operator would."""
    os.kill(os.getpid(), signal.SIGTERM)
