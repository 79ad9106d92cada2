"""Byte streams for the gateway: plain sockets without a wait where none is needed, and TLS.

The relay moves thousands of small events a second, so the common case, data that is there and a send that does not block, costs one system call and no trip
through the event loop's bookkeeping.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from typing import Final
from typing import Protocol as Interface

import trio

from actors.gateway.proxies import HEAD_BYTES, Proxy

READ_BYTES: Final = 64 * 1024
CONNECT_SECONDS: Final = 20.0


class Wire(Interface):
    """A connection. Every method raises OSError when it is broken."""

    async def receive(self) -> bytes:
        """What has come, ``b""`` at the end."""
        ...

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        ...

    def is_quiet(self) -> bool:
        """Whether it is open and holds nothing unread: good for another request."""
        ...

    def close(self) -> None:
        """Close at once. Idempotent."""
        ...


class PlainWire:
    """A connected TCP socket, which is taken over."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)  # noqa: FBT003 (the standard library's signature)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._sock = sock

    async def receive(self) -> bytes:
        """See :class:`Wire`. The wait comes first: somebody who always has more must not keep the others from their turn."""
        while True:
            await trio.lowlevel.wait_readable(self._sock)
            try:
                return self._sock.recv(READ_BYTES)
            except BlockingIOError:
                continue

    async def send(self, data: bytes) -> None:
        """See :class:`Wire`."""
        rest = self.send_now(data)
        if rest:
            await self.send_rest(rest)

    def send_now(self, data: bytes) -> memoryview | None:
        """Send what can be sent without waiting; the rest of it, None when nothing is left."""
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        return memoryview(data)[sent:] if sent < len(data) else None

    async def send_rest(self, rest: memoryview) -> None:
        """Send it, waiting for the other side to take what it was sent before."""
        while rest:
            await trio.lowlevel.wait_writable(self._sock)
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                continue

    async def wait_gone(self) -> None:
        """Return when the other side has hung up; never when it has sent more instead."""
        while True:
            await trio.lowlevel.wait_readable(self._sock)
            try:
                if self._sock.recv(1, socket.MSG_PEEK):
                    await trio.sleep_forever()
                return
            except BlockingIOError:
                continue
            except OSError:
                return

    def is_quiet(self) -> bool:
        """See :class:`Wire`."""
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """See :class:`Wire`."""
        if self._sock.fileno() >= 0:
            # Trio wakes whoever waits for the socket; without this they would wait for a number that may name another file soon.
            trio.lowlevel.notify_closing(self._sock)
            self._sock.close()


class TlsWire:
    """TLS over TCP."""

    def __init__(self, stream: trio.SSLStream[trio.SocketStream]) -> None:
        self._stream = stream

    async def receive(self) -> bytes:
        """See :class:`Wire`."""
        try:
            return bytes(await self._stream.receive_some(READ_BYTES))
        except trio.BrokenResourceError as error:
            raise ConnectionResetError(errno.ECONNRESET, "the connection broke") from error

    async def send(self, data: bytes) -> None:
        """See :class:`Wire`."""
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError as error:
            raise ConnectionResetError(errno.ECONNRESET, "the connection broke") from error

    def is_quiet(self) -> bool:
        """See :class:`Wire`. Tickets and closing alerts of the other side count as noise: a fresh connection costs less than a request that meets its end."""
        try:
            return not self._stream.transport_stream.socket.is_readable()
        except OSError:
            return False

    def close(self) -> None:
        """See :class:`Wire`. Without the closing alert, for which one would have to wait."""
        self._stream.transport_stream.socket.close()


async def dial(host: str, port: int, tls: ssl.SSLContext | None, proxy: Proxy | None = None) -> Wire:
    """Connect, through a proxy's tunnel when TLS goes through one. Raises OSError, in words that a person understands."""
    with trio.move_on_after(CONNECT_SECONDS):
        near = (host, port) if proxy is None else (proxy.host, proxy.port)
        stream = await trio.open_tcp_stream(*near)
        try:
            if proxy is not None and tls is not None:
                await _tunnel(stream, proxy.connect(f"[{host}]:{port}" if ":" in host else f"{host}:{port}"))
            return await _wrapped(stream, host, tls)
        except BaseException:
            stream.socket.close()
            raise
    raise TimeoutError(errno.ETIMEDOUT, f"no connection within {CONNECT_SECONDS:g} s")


async def _tunnel(stream: trio.SocketStream, asking: bytes) -> None:
    """Have a proxy connect; what it says before its empty line is its answer, and nothing may follow before we speak."""
    head = b""
    try:
        await stream.send_all(asking)
        while b"\r\n\r\n" not in head:
            data = await stream.receive_some(READ_BYTES)
            head += data
            if not data or len(head) > HEAD_BYTES:
                raise ConnectionError("the proxy's answer is no HTTP")
    except trio.BrokenResourceError as error:
        raise ConnectionResetError(errno.ECONNRESET, "the proxy broke the connection") from error
    line = head.partition(b"\r\n")[0].decode("latin-1")
    version, _, status = line.partition(" ")
    if not version.startswith("HTTP/1.") or not status.startswith("2"):
        raise ConnectionError(f"the proxy refuses: {line[:100]!r}")


async def _wrapped(stream: trio.SocketStream, host: str, tls: ssl.SSLContext | None) -> Wire:
    if tls is None:
        return PlainWire(socket.socket(fileno=stream.socket.detach()))
    secure = trio.SSLStream(stream, tls, server_hostname=host, https_compatible=True)
    try:
        await secure.do_handshake()
    except trio.BrokenResourceError as error:
        raise ConnectionError(f"TLS failed: {error.__cause__ or error}") from error
    return TlsWire(secure)


def reason(error: OSError) -> str:
    """The system's words for what went wrong."""
    if isinstance(error, ssl.SSLError) or not error.errno or error.errno < 0:
        return str(error)
    return error.strerror or os.strerror(error.errno)
