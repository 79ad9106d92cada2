"""The tester's HTTP client: one request at a time, one connection kept while the server keeps it, a deadline and size limits on every answer.

The server is hostile until shown otherwise. Whatever it does becomes a value, :class:`~stamina.exchange.Response` or
:class:`~stamina.exchange.NoResponse`; only faults of this machine are raised. It sits directly on sockets because a suite makes hundreds of requests and
hundreds of suites share one process: the send needs no wait, the only wait is the one for the answer, and one scope's deadline moves from request to request.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections.abc import Generator
from functools import lru_cache
from types import TracebackType
from typing import Final, Self, TypeVar

import attrs
import trio

from actors.response_reader import SIZES, KnownHeads, ResponseReader, SizeLimits
from stamina.errors import HostFault
from stamina.exchange import Answer, NoResponse, Request, Trouble

T = TypeVar("T")

READ_BYTES: Final = 64 * 1024

QUICKACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)
"""Linux alone has it. The kernel forgets it after a while, so it is set again before each read: a server that writes headers and body apart
otherwise waits 40 ms for an acknowledgement that we hold back (Nagle's algorithm against delayed acknowledgement)."""

SLACK: Final = 1 / 200
"""By what share of the limit an answer may come later and still count."""

REMEMBERED: Final = 1024
"""How many requests' first lines a client keeps as bytes. A suite asks for the same few paths again and again."""

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
        self._begun: dict[tuple[str, str], bytes] = {}
        self._heads = KnownHeads()
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
        return await self.ask_all(_single(request))

    async def ask_all(self, game: Generator[Request, Answer, T]) -> T:
        """Send what the generator yields, one request after the other, and send it the answers; returns what it returns. Raises as :meth:`ask`.

        Every answer has the whole limit, and at most :data:`SLACK` of it more: a scope for each would cost a fifth of a request and moving the deadline of one
        scope a tenth, so it is moved ahead, and only when an answer's own deadline has passed it.
        """
        seconds = self._limits.answer_seconds
        try:
            request = next(game)
            while True:
                with trio.CancelScope() as scope:
                    moved = 0.0
                    # Once cancelled a scope is of no more use, also when the answer came with the deadline and counts.
                    while not scope.cancel_called:
                        self.requests += 1
                        due = trio.current_time() + seconds
                        if due > moved:
                            scope.deadline = moved = due + seconds * SLACK
                        request = game.send(await self._ask(self._message(request)))
                if scope.cancelled_caught:
                    request = game.send(NoResponse(Trouble.TIMEOUT, f"no complete answer within {seconds:g} s"))
        except StopIteration as end:
            result: T = end.value
            return result

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
        try:
            if rest := connection.send(message):
                await connection.send_all(rest)
            first = await connection.read()
            if not first:
                return None
            answer, reusable = self._heads.recall(first) or await self._read(connection, first)
            if reusable:
                self._kept = connection
            return answer
        finally:
            if self._kept is not connection:
                connection.close()

    async def _read(self, connection: _Connection, data: bytes) -> tuple[Answer, bool]:
        """Read on until there is an answer, and whether the connection can be kept.

        Between two reads that need no wait the other tasks get their turn, but not the deadline: what had arrived in time is read even if this process was
        slow to look, and the size limits bound how long that can go on.
        """
        reader = ResponseReader(self._limits.sizes)
        answer = reader.feed(data)
        if answer is not None:
            self._heads.learn(data, reader)
        try:
            while answer is None:
                await trio.lowlevel.cancel_shielded_checkpoint()
                data = await connection.read_on()
                answer = reader.feed(data) if data else reader.end()
        except OSError as error:
            return _cut_short(reader, error), False
        return answer, reader.reusable

    def _message(self, request: Request) -> bytes:
        """The request's bytes. No Accept-Encoding, no Expect: nothing is asked for that a plain server could get wrong."""
        begun = self._begun.get((request.method, request.path))
        if begun is None:
            begun = f"{request.method} {request.path} HTTP/1.1\r\n{self._host_line}Accept: */*\r\n".encode()
            if len(self._begun) < REMEMBERED:
                self._begun[request.method, request.path] = begun
        body = request.payload()
        if body is not None:
            return b"%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (begun, len(body), body)
        return begun + (b"Content-Length: 0\r\n\r\n" if request.method in METHODS_WITH_BODY else b"\r\n")


def _single(request: Request) -> Generator[Request, Answer, Answer]:
    answer = yield request
    return answer


class _Connection:
    """A connected, non-blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def close(self) -> None:
        self._sock.close()

    def is_quiet(self) -> bool:
        """Whether the connection is open and holds nothing unread."""
        return not self._poll.poll(0)

    def send(self, message: bytes) -> bytes | None:
        """Send what can be sent without waiting; what is left, None for nothing. A server that stops listening may have answered already, so that is no
        error: reading will tell."""
        try:
            sent = self._sock.send(message)
        except BlockingIOError:
            return message
        except OSError:
            return None
        return message[sent:] if sent < len(message) else None

    async def send_all(self, message: bytes) -> None:
        """Send all of it, waiting as often as it takes."""
        rest = memoryview(message)
        while rest:
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                await trio.lowlevel.wait_writable(self._sock)
            except OSError:
                return

    async def read(self) -> bytes:
        """The first bytes of an answer, none when the connection ended or broke before it. Waits first, since no server is that quick."""
        while True:
            await self._readable()
            try:
                return self._sock.recv(READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                return b""

    async def read_on(self) -> bytes:
        """More bytes, none when the connection ended; raises OSError when it broke. Waits if it has to: there a cancellation or deadline takes effect."""
        while True:
            try:
                return self._sock.recv(READ_BYTES)
            except BlockingIOError:
                await self._readable()

    async def _readable(self) -> None:
        if QUICKACK is not None:
            self._sock.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)
        await trio.lowlevel.wait_readable(self._sock)


def _cut_short(reader: ResponseReader, error: OSError) -> NoResponse:
    """What a connection that broke means: a body that ends with its connection is not complete when that was reset."""
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


async def _dial(address: tuple[str, int]) -> _Connection:
    """Connect; raises OSError."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0))
    try:
        sock.setblocking(False)  # noqa: FBT003 (the standard library's signature)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if _is_numeric(family, address[0]):
            await _reach(sock, address)
        else:
            await trio.socket.from_stdlib_socket(sock).connect(address)
        if sock.getsockname() == sock.getpeername():
            # A closed port among the ephemeral ones can be picked as our own: TCP then connects the socket to itself.
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        return _Connection(sock)
    except BaseException:
        sock.close()
        raise


async def _reach(sock: socket.socket, address: tuple[str, int]) -> None:
    """Connect to a numeric address; raises OSError. On this host that is done at once, though the system does not say so, and worth no turn of the loop."""
    code = sock.connect_ex(address)
    if code == errno.EINPROGRESS:
        done = select.poll()
        done.register(sock, select.POLLOUT)
        if not done.poll(0):
            await trio.lowlevel.wait_writable(sock)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))


@lru_cache(maxsize=1024)
def _is_numeric(family: int, host: str) -> bool:
    """Whether there is no name to look up, which may take its time."""
    try:
        socket.inet_pton(family, host)
    except OSError:
        return False
    return True
