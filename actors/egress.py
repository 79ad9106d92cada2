"""The way out for package installs: an HTTP proxy of ours that lets containers reach the hosts on a list, and nothing else.

It listens where only containers reach it. ``CONNECT`` makes a tunnel (TLS stays between the package manager and the registry), ``GET http://…`` is passed on
for those that speak plain HTTP. Connections are counted for each container, and limited in time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

import attrs
import structlog
import trio

from actors.gateway.server import listen

ALLOW: Final = "STAMINA_EGRESS_ALLOW"
"""The variable with this machine's registries, divided by commas."""

IDLE_SECONDS: Final = 300.0
CONNECT_SECONDS: Final = 20.0
_HEAD_LIMIT: Final = 64 * 1024
_CHUNK: Final = 64 * 1024
_CONNECTIONS: Final = 64
"""At once, for one container: nobody can take all of our sockets."""

_PORTS: Final = (80, 443)

log = structlog.get_logger()


@attrs.frozen
class AllowList:
    """Hosts that may be reached: ``name``, ``name:port``, or ``.name`` for all below it; ports 80 and 443 unless one is named."""

    entries: tuple[str, ...]

    def allows(self, host: str, port: int) -> bool:
        """Whether containers may go there."""
        return any(_matches(entry, host.rstrip(".").lower(), port) for entry in self.entries)


def allow_list(entries: Iterable[str], environment: Mapping[str, str]) -> AllowList:
    """The sweep's hosts and this machine's."""
    machine = [entry.strip() for entry in environment.get(ALLOW, "").split(",") if entry.strip()]
    return AllowList(tuple(dict.fromkeys(entry.lower() for entry in (*entries, *machine))))


def _matches(entry: str, host: str, port: int) -> bool:
    name, _, only = entry.partition(":")
    if port != int(only) if only else port not in _PORTS:
        return False
    return host.endswith(name) if name.startswith(".") else host == name


@attrs.frozen
class _Request:
    """What a client wants: where to, and the bytes that the other side is to get first."""

    host: str
    port: int
    first: bytes
    tunnel: bool


@asynccontextmanager
async def proxy(address: str, allowed: AllowList) -> AsyncIterator[int]:
    """Serve on an address for the length of the block; yields the port."""
    async with trio.open_nursery() as nursery:
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(listen(address, 0, early=True)))
        port: int = listener.socket.getsockname()[1]
        nursery.start_soon(trio.serve_listeners, _Proxy(allowed).serve, [listener])
        try:
            yield port
        finally:
            nursery.cancel_scope.cancel()


@attrs.frozen
class _Proxy:
    allowed: AllowList
    _open: Counter[str] = attrs.field(factory=Counter)

    async def serve(self, client: trio.SocketStream) -> None:
        """One connection. Whatever goes wrong with it ends it, and nothing else."""
        async with client:
            peer = str(client.socket.getpeername()[0])
            if self._open[peer] >= _CONNECTIONS:
                return
            self._open[peer] += 1
            try:
                await self._answer(client)
            finally:
                self._open[peer] -= 1

    async def _answer(self, client: trio.SocketStream) -> None:
        try:
            request = await _receive(client)
            if request is None:
                await _refuse(client, "400 Bad Request", "this is a proxy for package installs")
            elif not self.allowed.allows(request.host, request.port):
                log.info("egress refused", host=request.host, port=request.port)
                await _refuse(client, "403 Forbidden", f"{request.host}:{request.port} is not on the list of this sweep (egress_allow)")
            else:
                await _pass_on(client, request)
        except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
            return


async def _receive(client: trio.SocketStream) -> _Request | None:
    head = bytearray()
    with trio.move_on_after(CONNECT_SECONDS):
        while (end := head.find(b"\r\n\r\n")) < 0:
            data = await client.receive_some(_CHUNK)
            if not data or len(head) > _HEAD_LIMIT:
                return None
            head += data
        return _parse(bytes(head[: end + 4]), bytes(head[end + 4 :]))
    return None


def _parse(head: bytes, rest: bytes) -> _Request | None:
    line, _, fields = head.partition(b"\r\n")
    parts = line.decode("latin-1").split(" ")
    if len(parts) != 3:
        return None
    method, target, version = parts
    try:
        url = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = url.hostname, url.port
    except ValueError:
        return None
    if not host or (method != "CONNECT" and url.scheme != "http"):
        return None
    if method == "CONNECT":
        return _Request(host, port or 443, rest, tunnel=True)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    first = f"{method} {path} {version}\r\n".encode("latin-1") + b"Connection: close\r\n" + _end_to_end(fields) + rest
    return _Request(host, port or 80, first, tunnel=False)


def _end_to_end(fields: bytes) -> bytes:
    """Without what concerns this connection alone: each request of plain HTTP gets one of its own."""
    hop = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")
    return b"".join(line for line in fields.splitlines(keepends=True) if not line.lower().startswith(hop))


async def _refuse(client: trio.SocketStream, status: str, why: str) -> None:
    body = f"{why}\n".encode()
    await client.send_all(f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)


async def _pass_on(client: trio.SocketStream, request: _Request) -> None:
    try:
        with trio.fail_after(CONNECT_SECONDS):
            server = await trio.open_tcp_stream(request.host, request.port)
    except (OSError, trio.TooSlowError) as error:
        await _refuse(client, "502 Bad Gateway", f"{request.host}:{request.port} cannot be reached: {error or 'no answer'}")
        return
    async with server:
        if request.tunnel:
            await client.send_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        if request.first:
            await server.send_all(request.first)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_pump, client, server, nursery.cancel_scope)
            nursery.start_soon(_pump, server, client, nursery.cancel_scope)


async def _pump(source: trio.SocketStream, target: trio.SocketStream, scope: trio.CancelScope) -> None:
    """One direction. The end of one side is told to the other; silence or a break ends both."""
    try:
        while True:
            with trio.fail_after(IDLE_SECONDS):
                data = await source.receive_some(_CHUNK)
                if not data:
                    await target.send_eof()
                    return
                await target.send_all(data)
    except (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError):
        scope.cancel()
