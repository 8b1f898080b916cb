"""A network of its own for each member, with a cable between them that loses packets or is cut: Linux, and root.

Every member is in a network namespace with one device, whose other end is a file in this process (TUN). What comes out
of one is put into another, or not, as chance will have it. So it is the system's own TCP and UDP that lose packets, in
kernels without the emulator `netem` too, and chance is seeded.
"""

import fcntl
import itertools
import os
import selectors
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from lab.servers import Missing, find
from lab.swarm.dice import Dice

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LARGEST_PACKET = 65_536
FIRST_BYTE_OF_IPV4 = 0x45
PACKETS_IN_A_DEVICE = 1000

_numbers = itertools.count()
"""So that two cables of this process do not have the same names."""

Lost = Callable[[str, str], bool]
"""Whether a packet from the one to the other is lost."""


class NotPermitted(Missing):
    """Namespaces cannot be made here."""


class Cable:
    """Connects members, each in its own network namespace. Leaving the block removes everything."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        self._tag = f"tf{os.getpid() % 100_000}x{next(_numbers)}"
        self._ip = find("ip")
        self.addresses = {name: f"10.77.0.{number}" for number, name in enumerate(names, 1)}
        self.lost = self.carried = 0
        """Packets."""
        self._dice = Dice(seed, 2)
        self._is_lost: Lost = lambda _sender, _receiver: False
        self._files: dict[int, str] = {}
        self._by_address: dict[bytes, tuple[int, str]] = {}
        self._ends = os.pipe()
        self._thread: threading.Thread | None = None

    @property
    def hosts(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """For each member its address, and the command that runs a program there."""
        return {
            name: (address, (self._ip, "netns", "exec", self._space(name))) for name, address in self.addresses.items()
        }

    def lose(self, share: float) -> None:
        """Lose this share of all packets from now on."""
        self._is_lost = lambda _sender, _receiver: self._dice.happens(share)

    def cut(self, *groups: Sequence[str]) -> None:
        """Let packets only pass within these groups."""
        side = {name: number for number, group in enumerate(groups) for name in group}
        self._is_lost = lambda sender, receiver: side.get(sender) != side.get(receiver)

    def mend(self) -> None:
        """Let everything pass."""
        self._is_lost = lambda _sender, _receiver: False

    def __enter__(self) -> Self:
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise NotPermitted("network namespaces need root and the program ip")
        try:
            for name, address in self.addresses.items():
                self._plug(name, address)
        except BaseException:
            self._remove()
            raise
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.write(self._ends[1], b"\n")
        if self._thread is not None:
            self._thread.join()
        self._remove()

    def _space(self, name: str) -> str:
        return f"{self._tag}-{name}"

    def _plug(self, name: str, address: str) -> None:
        space, device = self._space(name), f"{self._tag}{name}"
        try:
            self._run("netns", "add", space)
        except subprocess.CalledProcessError as error:
            raise NotPermitted(f"`ip netns add` is not permitted: {error.stderr.decode().strip()}") from error
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._files[file] = name
        self._by_address[bytes(map(int, address.split(".")))] = (file, name)
        fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TUN | IFF_NO_PI))
        self._run("link", "set", device, "netns", space)
        self._run("-n", space, "link", "set", "lo", "up")
        self._run("-n", space, "addr", "add", f"{address}/24", "dev", device)
        self._run("-n", space, "link", "set", device, "txqueuelen", str(PACKETS_IN_A_DEVICE), "up")

    def _carry(self) -> None:
        with selectors.DefaultSelector() as ready:
            for file in (*self._files, self._ends[0]):
                ready.register(file, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    if key.fd == self._ends[0]:
                        return
                    self._pass_on(key.fd)

    def _pass_on(self, file: int) -> None:
        try:
            packet = os.read(file, LARGEST_PACKET)
        except BlockingIOError:
            return
        if packet[0] != FIRST_BYTE_OF_IPV4:
            return
        receiver = self._by_address.get(packet[16:20])
        if receiver is None:
            return
        if self._is_lost(self._files[file], receiver[1]):
            self.lost += 1
            return
        self.carried += 1
        try:
            os.write(receiver[0], packet)
        except OSError:  # it is full, as real cables are
            self.lost += 1

    def _remove(self) -> None:
        for file in (*self._files, *self._ends):
            os.close(file)
        for name in self.addresses:
            subprocess.run([self._ip, "netns", "del", self._space(name)], capture_output=True, check=False)  # noqa: S603

    def _run(self, *arguments: str) -> None:
        subprocess.run([self._ip, *arguments], capture_output=True, check=True)  # noqa: S603  # no shell, no input
