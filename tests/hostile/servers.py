"""A catalogue of servers that misbehave, each in a few lines, on real sockets.

Every server answers ``POST /reset`` and ``GET /thing``; what an honest one says is :data:`HONEST`. A behaviour is called once a
connection and ends it by returning.
"""

from __future__ import annotations

import gzip
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import repeat
from typing import Final, TypeAlias

import attrs
import trio

GOOD: Final = b'{"ok": true}'
BAD: Final = b'{"ok": false}'


def answer(body: bytes = GOOD, status: str = "200 OK", headers: str = "", version: str = "HTTP/1.1") -> bytes:
    """A well-formed response."""
    return f"{version} {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def bare(head: str, body: bytes = b"") -> bytes:
    """A response with these headers and no others; lines are parted by ``|``."""
    return head.replace("|", "\r\n").encode() + b"\r\n\r\n" + body


HONEST: Final = answer()


class Hangup(Exception):
    """The client is gone; ends the behaviour."""


@attrs.define
class Peer:
    """A client's connection, seen by the server."""

    stream: trio.SocketStream
    unread: bytes = b""

    async def request(self) -> str:
        """The next request's method and path; its body is read and forgotten. Raises Hangup at the end of the connection."""
        while b"\r\n\r\n" not in self.unread:
            await self._more()
        head, _, self.unread = self.unread.partition(b"\r\n\r\n")
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        length = int(lengths[0]) if lengths else 0
        while len(self.unread) < length:
            await self._more()
        self.unread = self.unread[length:]
        return " ".join(head.decode().split(" ")[:2])

    async def _more(self) -> None:
        data = await self.stream.receive_some()
        if not data:
            raise Hangup
        self.unread += bytes(data)

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        await self.stream.send_all(data)

    async def stream_forever(self, piece: bytes) -> None:
        """Send it again and again until the client has had enough."""
        for data in repeat(piece):
            await self.send(data)

    async def dribble(self, data: bytes) -> None:
        """Send a byte at a time, far too slowly."""
        for byte in data:
            await self.send(bytes([byte]))
            await trio.sleep(0.1)

    def reset(self) -> None:
        """End the connection with a RST."""
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.stream.socket.close()


Behaviour: TypeAlias = Callable[[Peer], Awaitable[None]]


def always(data: bytes) -> Behaviour:
    """Answer every request with these bytes and keep the connection."""

    async def behave(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(data)

    return behave


def once(data: bytes) -> Behaviour:
    """Answer one request with these bytes, then close without a word."""

    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(data)

    return behave


def on_get(act: Behaviour) -> Behaviour:
    """Answer resets honestly; do this to a GET, then close."""

    async def behave(peer: Peer) -> None:
        while (await peer.request()).startswith("POST"):
            await peer.send(HONEST)
        await act(peer)

    return behave


def gets(data: bytes) -> Behaviour:
    """Answer resets honestly, a GET with these bytes, then close."""
    return on_get(lambda peer: peer.send(data))


async def silent(peer: Peer) -> None:
    """Read and say nothing."""
    await trio.sleep_forever()


async def slow_loris(peer: Peer) -> None:
    """A right answer, one byte at a time."""
    await peer.request()
    await peer.dribble(HONEST)


async def slow_body(peer: Peer) -> None:
    """Headers at once, the body one byte at a time."""
    head, _, _ = HONEST.partition(GOOD)
    await peer.send(head)
    await peer.dribble(GOOD)


async def half_then_silent(peer: Peer) -> None:
    """Claim 10 GB, send a little."""
    await peer.send(bare("HTTP/1.1 200 OK|Content-Length: 10000000000", b"{"))
    await trio.sleep_forever()


async def half_then_reset(peer: Peer) -> None:
    """RST in the middle of the body, once the client has the first half."""
    await peer.send(HONEST[:-5])
    await trio.sleep(0.01)
    peer.reset()


async def reset_at_once(peer: Peer) -> None:
    """RST instead of an answer."""
    peer.reset()


def endless(opening: bytes, piece: bytes) -> Behaviour:
    """Answer a GET with something that never ends."""

    async def act(peer: Peer) -> None:
        await peer.send(opening)
        await peer.stream_forever(piece)

    return on_get(act)


class DiesAfter:
    """Serve so many requests, then close the port and every connection."""

    def __init__(self, requests: int) -> None:
        self._left = requests
        self.listener: trio.SocketListener | None = None

    async def __call__(self, peer: Peer) -> None:
        while self._left:
            await peer.request()
            self._left -= 1
            if not self._left and self.listener is not None:
                self.listener.socket.close()
            await peer.send(HONEST)


KILOBYTE: Final = b"x" * 1024

SERVERS: Final[dict[str, Behaviour]] = {
    # what is right, if unusual
    "honest": always(HONEST),
    "http-1.0": once(answer(version="HTTP/1.0")),
    "http-1.0-without-length": once(bare("HTTP/1.0 200 OK", GOOD)),
    "says-close": once(answer(headers="Connection: close\r\n")),
    "closes-without-notice": once(answer(headers="Connection: keep-alive\r\n")),
    "body-ends-with-connection": once(bare("HTTP/1.1 200 OK|Connection: close", GOOD)),
    "100-continue": always(b"HTTP/1.1 100 Continue\r\n\r\n" + HONEST),
    "early-hints": always(bare("HTTP/1.1 103 Early Hints|Link: </a.css>") + HONEST),
    "chunked": always(bare("HTTP/1.1 200 OK|Transfer-Encoding: chunked", b'6\r\n{"ok":\r\n6\r\n true}\r\n0\r\n\r\n')),
    "chunk-extensions-and-trailers": always(
        bare("HTTP/1.1 200 OK|TRANSFER-encoding: Chunked", b'C;a="b"\r\n{"ok": true}\r\n0;z\r\nContent-Length: 3\r\nX: y\r\n\r\n')
    ),
    "header-case": always(bare("HTTP/1.1 200 OK|cOnTeNt-LeNgTh:12|cONNECTION: KEEP-alive", GOOD)),
    "length-and-chunked": always(bare("HTTP/1.1 200 OK|Content-Length: 3|Transfer-Encoding: chunked", b"c\r\n" + GOOD + b"\r\n0\r\n\r\n")),
    "bare-line-feeds": always(b"HTTP/1.1 200 OK\nContent-Length: 12\n\n" + GOOD),
    "no-reason-phrase": always(bare("HTTP/1.1 200|Content-Length: 12", GOOD)),
    "extra-answer": always(HONEST + answer(BAD)),
    "extra-bytes": always(HONEST + b"and one more thing"),
    # answers that are none
    "garbage": gets(b"\x00\xff\xfe<html>nope"),
    "another-protocol": gets(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "http-2": gets(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00"),
    "switches-protocols": gets(bare("HTTP/1.1 101 Switching Protocols|Upgrade: websocket|Connection: Upgrade")),
    "bad-status": gets(bare("HTTP/1.1 2OO OK|Content-Length: 12", GOOD)),
    "negative-length": gets(bare("HTTP/1.1 200 OK|Content-Length: -12", GOOD)),
    "two-lengths": gets(bare("HTTP/1.1 200 OK|Content-Length: 12|Content-Length: 3", GOOD)),
    "bad-chunk-size": gets(bare("HTTP/1.1 200 OK|Transfer-Encoding: chunked", b"twelve\r\n" + GOOD)),
    # connections that end
    "empty-reply": gets(b""),
    "cut-in-headers": gets(HONEST[:30]),
    "cut-in-body": gets(HONEST[:-5]),
    "cut-in-chunks": gets(bare("HTTP/1.1 200 OK|Transfer-Encoding: chunked", b"c\r\n" + GOOD + b"\r\n")),
    "reset": on_get(reset_at_once),
    "reset-in-body": on_get(half_then_reset),
    # too much
    "endless-body": endless(bare("HTTP/1.1 200 OK"), KILOBYTE),
    "ten-gigabytes": endless(bare("HTTP/1.1 200 OK|Content-Length: 10000000000"), KILOBYTE),
    "endless-chunks": endless(bare("HTTP/1.1 200 OK|Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 100),
    "endless-headers": endless(b"HTTP/1.1 200 OK\r\n", b"X-Flood: yes\r\n" * 50),
    "endless-header": endless(b"HTTP/1.1 200 OK\r\nX-Flood: ", KILOBYTE),
    "endless-reason": endless(b"HTTP/1.1 200 ", KILOBYTE),
    "endless-100-continue": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 50),
    "endless-trailers": endless(bare("HTTP/1.1 200 OK|Transfer-Encoding: chunked", b"0\r\n"), b"X-Flood: yes\r\n" * 50),
    # too slow
    "silent": silent,
    "silent-on-get": on_get(silent),
    "slow-loris": slow_loris,
    "slow-body": on_get(slow_body),
    "claims-and-waits": on_get(half_then_silent),
    # HTTP that is right, with something wrong inside
    "deep-json": always(answer(b"[" * 100_000)),
    "deep-but-closed-json": always(answer(b"[" * 900 + b"]" * 900)),
    "nan": always(answer(b'{"ok": NaN}')),
    "duplicate-keys": always(answer(b'{"ok": true, "ok": false}')),
    "not-utf-8": always(answer(b'{"ok": "\xff"}')),
    "gzip-unasked": always(answer(gzip.compress(GOOD), headers="Content-Encoding: gzip\r\n")),
    "redirect-elsewhere": always(answer(b"", "302 Found", "Location: http://127.0.0.1:1/elsewhere\r\n")),
    "no-content-with-body": always(answer(BAD, "204 No Content")),
    "no-content-that-claims-a-body": always(bare("HTTP/1.1 204 No Content|Content-Length: 12")),
}
"""Name to behaviour, for all that need no state of their own."""


@asynccontextmanager
async def serving(behaviour: Behaviour) -> AsyncIterator[tuple[str, int]]:
    """A server for the length of the block; gives its address."""
    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        address: tuple[str, int] = listener.socket.getsockname()
        if isinstance(behaviour, DiesAfter):
            behaviour.listener = listener
        nursery.start_soon(accept, listener, behaviour, nursery)
        try:
            yield address
        finally:
            nursery.cancel_scope.cancel()


async def accept(listener: trio.SocketListener, behaviour: Behaviour, nursery: trio.Nursery) -> None:
    with listener.socket:
        while listener.socket.fileno() >= 0:
            try:
                stream = await listener.accept()
            except trio.ClosedResourceError:
                return
            nursery.start_soon(_attend, stream, behaviour)


async def _attend(stream: trio.SocketStream, behaviour: Behaviour) -> None:
    with stream.socket:
        try:
            await behaviour(Peer(stream))
        except (Hangup, trio.BrokenResourceError):
            return


@asynccontextmanager
async def never_accepting() -> AsyncIterator[tuple[str, int]]:
    """A port that is bound and listens, with nobody behind it."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as sock:
        yield sock.getsockname()


def closed_port() -> tuple[str, int]:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        address: tuple[str, int] = sock.getsockname()
    return address
