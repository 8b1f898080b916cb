"""A member as a process of its own: it starts, takes part until it is told to stop, and says farewell.

It decides nothing by itself. It holds what the others learned, passes it on to newcomers if it is a relay, and takes
the rewards that are left in its mailbox: an always-on memory of the group. Members talk on demand, and who observes
nothing demands nothing; so it asks now and then (`Member.catch_up`).
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

    Another SIGTERM while it stops changes nothing: supervisors repeat it. Another SIGINT ends it at once.

    Args:
        config: What to run.
        ready: Called when the member takes part.
        beside: What else runs as long as the member does, such as a server of its own: started before `ready` is
            called, stopped before the member says farewell.
        logs_of: Loggers of other packages whose warnings are logged too.
        drain: So many seconds everything goes on after SIGTERM, or until the next signal.
        on_drain: Called when that begins.

    Returns:
        Whether everything is written down. If not, the log says why.

    Raises:
        LocalError: It cannot start. Nothing is left behind.
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
            if not config.member["relay"]:  # a relay is told at the pace of the others, without asking
                member.catch_up()
        on_drain()
        if told == signal.SIGTERM and drain:
            signals.wait(drain)
        signals.let_go()
    state = config.member["state"]
    return state is None or read_state(state).is_clean


class _Signals:
    """SIGTERM and SIGINT, held back."""

    def wait(self, seconds: float) -> int | None:
        """Return which of them has come within so many seconds."""
        found = signal.sigtimedwait(STOPPING, seconds)
        return None if found is None else found.si_signo

    def let_go(self) -> None:
        """Wait for no more of them: SIGTERM is heard no more, and SIGINT ends the process at once."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)


@contextmanager
def stop_signals() -> Iterator[_Signals]:
    """Hold SIGTERM and SIGINT back, for this thread and those that it starts from now on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield _Signals()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def stop_this_process() -> None:
    """Tell this process to stop, as an operator would."""
    os.kill(os.getpid(), signal.SIGTERM)
