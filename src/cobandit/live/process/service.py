"""A member as its own process: it starts, takes part until it is told to stop, and says farewell.

It makes no decisions by itself. It holds what the others learned, passes it on to newcomers if it is a relay, and takes
the rewards left in its mailbox: an always-on memory of the group. Members talk on demand, and a member that observes
nothing demands nothing. So it asks now and then (`Member.catch_up`).
"""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from cobandit.live.drive.joining import connect
from cobandit.live.drive.member import Member
from cobandit.live.process.config import AgentConfig
from cobandit.live.process.logs import configure_logging
from cobandit.live.store.sqlite_journal import read_state

STOPPING = (signal.SIGTERM, signal.SIGINT)


def run_agent(
    config: AgentConfig,
    *,
    ready: Callable[[Member], None],
    beside: Callable[[Member], AbstractContextManager[object]] | None = None,
    logs_of: Sequence[str] = (),
    drain: float = 0.0,
    on_drain: Callable[[], None] = lambda: None,
) -> bool:
    """Run a member until the process is told to stop, by SIGTERM or SIGINT.

    Another SIGTERM while it stops changes nothing, because supervisors repeat it. Another SIGINT ends it at once.

    Args:
        config: What to run.
        ready: Called when the member takes part.
        beside: What else runs as long as the member does, such as a server. It is started before `ready` is called, and
            stopped before the member says farewell.
        logs_of: Loggers of other packages whose warnings are logged too.
        drain: How many seconds everything continues after SIGTERM, or until the next signal.
        on_drain: Called when that begins.

    Returns:
        Whether everything is on the disk. If not, the log says why.

    Raises:
        LocalError: It cannot start. Everything opened was closed again.
    """
    configure_logging(config.log_format, also=logs_of)
    with stop_signals() as signals, ExitStack() as stack:
        member = stack.enter_context(connect(config.url, **config.member))
        for name, options in config.bandits.items():
            member.bandit(name, **options)
        if config.metrics is not None:
            from cobandit.live.process.metrics_server import serve_metrics  # noqa: PLC0415  # needs the extra `metrics`

            stack.enter_context(serve_metrics(member, config.metrics))
        if beside is not None:
            stack.enter_context(beside(member))
        ready(member)
        while (told := signals.wait(config.catch_up_every)) is None:
            if not config.member["relay"]:  # the others update a relay at their own pace, without being asked
                member.catch_up()
        on_drain()
        if told == signal.SIGTERM and drain:
            signals.wait(drain)
        signals.let_go()
    state = config.member["state"]
    return state is None or read_state(state).is_clean


class _Signals:
    """SIGTERM and SIGINT, blocked."""

    def wait(self, seconds: float) -> int | None:
        """Return which of them arrived within this many seconds, or `None`."""
        found = signal.sigtimedwait(STOPPING, seconds)
        return None if found is None else found.si_signo

    def let_go(self) -> None:
        """Stop waiting for them. SIGTERM is ignored from now on, and SIGINT ends the process at once."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


@contextmanager
def stop_signals() -> Iterator[_Signals]:
    """Block SIGTERM and SIGINT for this thread, and for those that it starts from now on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield _Signals()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def stop_this_process() -> None:
    """Tell this process to stop, as an operator would."""
    os.kill(os.getpid(), signal.SIGTERM)
