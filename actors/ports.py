"""Ports for the agents' servers: ones that vary, that are free, and that the kernel will not hand to an outgoing connection in the meantime."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from stamina.errors import HostFault

_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST: Final = 10240
_EPHEMERAL: Final = 32768


@attrs.define
class Ports:
    """Hands out ports below the range of ephemeral ones. Two blocks of one process never hold the same; another process is seen by trying to bind.

    Args:
        low, high: the range, ``high`` excluded.
        start: the first to try; by default it depends on the process, so that two runs on one host seldom try the same.
    """

    low: int = _LOWEST
    high: int = attrs.field(factory=lambda: _first_ephemeral())
    start: int = attrs.field(factory=lambda: os.getpid() * 31)
    _taken: set[int] = attrs.field(factory=set, init=False)

    @contextmanager
    def one(self) -> Iterator[int]:
        """A free port for the length of the block. Raises HostFault when there is none."""
        port = self._next()
        self._taken.add(port)
        try:
            yield port
        finally:
            self._taken.discard(port)

    def _next(self) -> int:
        span = self.high - self.low
        for _ in range(span):
            port = self.low + self.start % span
            self.start += 1
            if port not in self._taken and is_free(port):
                return port
        raise HostFault(f"no port between {self.low} and {self.high} is free")


def is_free(port: int) -> bool:
    """Whether a server could listen on this port, on all interfaces of both families. Connections that linger after their end do not count."""
    return _can_bind(socket.AF_INET, "", port) and (not socket.has_ipv6 or _can_bind(socket.AF_INET6, "::", port))


def _can_bind(family: socket.AddressFamily, host: str, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family is socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind((host, port))
    except OSError as error:
        # A host without IPv6 has no such address: nobody can listen there.
        return error.errno in {errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL}
    return True


def _first_ephemeral() -> int:
    try:
        first = int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _EPHEMERAL
    return first if first > 2 * _LOWEST else _EPHEMERAL
