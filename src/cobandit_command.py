"""The program `cobandit`, from its first moment on: Ctrl-C while the package is loaded ends it without a traceback.

It stands beside the package, because whatever is in the package is found only when that is loaded.
"""

import os
import signal


def console() -> int:
    """Load the command line and run it."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # or it is ignored, as in the background of a shell
        signal.signal(signal.SIGINT, _interrupted)
    from cobandit import cli  # noqa: PLC0415

    signal.signal(signal.SIGINT, before)
    return cli.console()


def _interrupted(_number: int, _frame: object) -> None:
    os.write(2, b"cobandit: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    raise SystemExit(console())
