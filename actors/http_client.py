"""The tester's HTTP client: one request at a time, one connection kept while the server keeps it, a deadline and size limits on every answer.

The server is hostile until shown otherwise. Whatever it does becomes a value, :class:`~stamina.exchange.Response` or
:class:`~stamina.exchange.NoResponse`; only faults of this machine are raised. It sits directly on sockets because a suite makes hundreds of requests and
hundreds of suites share one process: the send needs no wait, and the only wait is the one for the answer.
"""

from __future__ import annotations

import errno
import os
import socket
from types import TracebackType
from typing import Final, Self

import attrs
import trio

from actors.response_reader import SIZES, ResponseReader, SizeLimits
from stamina.errors import HostFault
from stamina.exchange import Answer, NoResponse, Request, Trouble

READ_BYTES: Final = 64 * 1024

QUICKACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)
"""Linux alone has it. The kernel forgets it after a while, so it is set again before each read: a server that writes headers and body apart
otherwise waits 40 ms for an acknowledgement that we hold back (Nagle's algorithm against delayed acknowledgement)."""

METHODS_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
"""Without a body these say ``Content-Length: 0`` (contract H9)."""

OUR_ERRORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
"""Failures to connect that say something about this machine and nothing about the server."""


@attrs.frozen
class ClientLimits:
    """Seconds for a whole answer, connecting included (contract H9), and the sizes that are accepted."""

    answer_seconds: float = 10.0
    sizes: SizeLimits = SIZES


class HttpClient:
    """Asks one server. A context manager; closing is immediate.

    Args:
        address: host and port.
        limits: for each request.

    Attributes:
        requests: how many were asked.
    """

    def __init__(self, address: tuple[str, int], limits: ClientLimits) -> None:
        self._address = address
        self._limits = limits
        host, port = address
        self._host_line = f"Host: {f'[{host}]' if ':' in host else host}:{port}\r\n"
        self._kept: _Connection | None = None
        self.requests = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection that was kept."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    async def ask(self, request: Request) -> Answer:
        """Send one request and wait for its answer. Redirects are answers like any other.

        Raises:
            HostFault: this machine has no socket, port or memory left.
        """
        self.requests += 1
        with trio.move_on_after(self._limits.answer_seconds):
            return await self._ask(self._message(request))
        return NoResponse(Trouble.TIMEOUT, f"no complete answer within {self._limits.answer_seconds:g} s")

    async def _ask(self, message: bytes) -> Answer:
        """Use the kept connection; when the server had closed it, a fresh one.

        A server may close a kept connection at any time, so a request that meets the end without one byte of an answer is asked again, once. After
        the first byte it is not: then the server did take it.
        """
        kept = self._take_kept()
        if kept is not None:
            answer = await self._converse(kept, message)
            if answer is not None:
                return answer
        fresh = await _connect(self._address)
        if isinstance(fresh, NoResponse):
            return fresh
        return await self._converse(fresh, message) or NoResponse(Trouble.CLOSED, "the server closed the connection without an answer")

    def _take_kept(self) -> _Connection | None:
        """The kept connection, unless something has happened on it since: then it was closed, or holds an answer that nobody asked for."""
        kept, self._kept = self._kept, None
        if kept is not None and not kept.is_quiet():
            kept.close()
            return None
        return kept

    async def _converse(self, connection: _Connection, message: bytes) -> Answer | None:
        """Send, read one answer, keep the connection if it is good for more. None when it ended before the first byte. However this ends, cancelled
        included, the connection is either whole or closed."""
        reader = ResponseReader(self._limits.sizes)
        try:
            await connection.send(message)
            answer = await connection.read_into(reader)
            if reader.reusable:
                self._kept = connection
            return answer
        finally:
            if self._kept is not connection:
                connection.close()

    def _message(self, request: Request) -> bytes:
        """The request's bytes. No Accept-Encoding, no Expect: nothing is asked for that a plain server could get wrong."""
        body = request.payload()
        head = f"{request.method} {request.path} HTTP/1.1\r\n{self._host_line}Accept: */*\r\n"
        if body is not None:
            return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        if request.method in METHODS_WITH_BODY:
            head += "Content-Length: 0\r\n"
        return f"{head}\r\n".encode()


class _Connection:
    """A connected, non-blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def close(self) -> None:
        self._sock.close()

    def is_quiet(self) -> bool:
        """Whether the connection is open and holds nothing unread."""
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    async def send(self, message: bytes) -> None:
        """Send all of it. A server that stops listening may have answered already, so that is no error: reading will tell."""
        rest = memoryview(message)
        while rest:
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._sock)
            except OSError:
                return

    async def read_into(self, reader: ResponseReader) -> Answer | None:
        """Feed the reader until it answers. None when the connection ended before the first byte.

        Waiting is where a cancellation or deadline takes effect. Between two reads that need no wait the other tasks get their turn, but not the deadline: what
        had arrived in time is read even if this process was slow to look, and the size limits bound how long that can go on.
        """
        await self._readable()
        while True:
            try:
                data = self._sock.recv(READ_BYTES)
            except BlockingIOError:
                await self._readable()
                continue
            except OSError as error:
                return _cut_short(reader, error)
            if not data:
                return reader.end() if reader.received else None
            answer = reader.feed(data)
            if answer is not None:
                return answer
            await trio.lowlevel.cancel_shielded_checkpoint()

    async def _readable(self) -> None:
        if QUICKACK is not None:
            self._sock.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)
        await trio.lowlevel.wait_readable(self._sock)


def _cut_short(reader: ResponseReader, error: OSError) -> NoResponse | None:
    """What a connection that broke means: a body that ends with its connection is not complete when that was reset."""
    if not reader.received:
        return None
    return NoResponse(Trouble.CLOSED, f"the connection broke in the middle of the answer ({_reason(error)}; {reader.received} bytes came)")


async def _connect(address: tuple[str, int]) -> _Connection | NoResponse:
    """A fresh connection, or why there is none.

    Raises:
        HostFault: this machine has no socket, port or memory left.
    """
    try:
        return await _dial(address)
    except OSError as error:
        if error.errno in OUR_ERRORS:
            advice = "raise the limit on open files (ulimit -n) or lower the sweep's concurrency"
            raise HostFault(f"cannot open a connection to {address[0]}:{address[1]}: {_reason(error)}; {advice}") from error
        return NoResponse(Trouble.REFUSED, f"cannot connect to the server ({_reason(error)})")


def _reason(error: OSError) -> str:
    """The system's words. Trio puts the address before them, and a port that varies has no place in feedback."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


async def _dial(address: tuple[str, int]) -> _Connection | NoResponse:
    """Connect; raises OSError."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0))
    try:
        sock.setblocking(False)  # noqa: FBT003 (the standard library's signature)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await trio.socket.from_stdlib_socket(sock).connect(address)
        if sock.getsockname() == sock.getpeername():
            # A closed port among the ephemeral ones can be picked as our own: TCP then connects the socket to itself.
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    except BaseException:
        sock.close()
        raise
    return _Connection(sock)
