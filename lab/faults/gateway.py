"""A gate between some members and their broker: real TCP, forwarded through this process, that can be shut silently.

While it is shut, nothing comes through and nobody is told: connections stay open, and what was under way is lost with
them when it opens again. This file knows no members.
"""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from lab.servers import HOST, free_port

_CHUNK = 65_536


class Gateway:
    """Forwards connections to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.port = free_port()
        self.connections = 0
        """How many were made so far."""
        self._is_open = threading.Event()
        self._is_open.set()
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listening = socket.create_server((HOST, self.port))

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()
        self._is_open.set()
        self._drop_all()

    def shut(self) -> None:
        """Let nothing through."""
        self._is_open.clear()

    def open(self) -> None:
        """Let everything through again, over new connections."""
        self._drop_all()
        self._is_open.set()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                inside, _ = self._listening.accept()
                self.connections += 1
                with suppress(OSError):
                    outside = socket.create_connection((HOST, self._to), timeout=5.0)
                    outside.settimeout(None)
                    with self._lock:
                        self._sockets |= {inside, outside}
                    for one, other in ((inside, outside), (outside, inside)):
                        threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while chunk := one.recv(_CHUNK):
                self._is_open.wait()
                other.sendall(chunk)
        for end in (one, other):
            _drop(end)
            with self._lock:
                self._sockets.discard(end)

    def _drop_all(self) -> None:
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for one in sockets:
            _drop(one)


def _drop(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
