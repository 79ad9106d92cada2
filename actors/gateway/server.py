"""The gateway's HTTP server: connections of agents, one request after the other on each."""

from __future__ import annotations

import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import structlog
import trio

from actors.gateway.dialects import guess
from actors.gateway.replying import HungUp, Reply
from actors.gateway.requests import BadRequest, HttpRequest, RequestReader
from actors.gateway.sockets import PlainWire
from stamina.errors import HostFault

log = structlog.get_logger()

IDLE_SECONDS: Final = 3600.0
"""How long a connection may wait for its next request: an agent runs tests for many minutes between two, and a closed connection costs it a failed one."""

REQUEST_SECONDS: Final = 120.0
"""How long a request may take to come once it has begun."""

CONNECTIONS: Final = 512
"""At once, from one address that is not this machine's: one container cannot take all of our descriptors."""

_IP_FREEBIND: Final = 15
"""Linux's number; Python has no name for it."""

LINGER: Final = 2.0
"""How long a client whose request was refused may go on sending before the connection is closed: it may not have read the answer yet."""

Handler: TypeAlias = Callable[[HttpRequest, Reply], Awaitable[None]]
"""Answers one request. Raises HungUp."""


def listen(host: str, port: int, *, early: bool = False) -> socket.socket:
    """A listening socket. ``early``: also on an address that this machine is about to get, as that of a bridge that comes with its first container.

    Raises HostFault.
    """
    try:
        if early and sys.platform == "linux":
            return _listen_early(host, port)
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=1024)
    except (OSError, OverflowError) as error:
        raise HostFault(f"the gateway cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}") from error


def _listen_early(host: str, port: int) -> socket.socket:
    sock = socket.socket()
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)
        sock.bind((host, port))
        sock.listen(1024)
    except BaseException:
        sock.close()
        raise
    return sock


async def accept(listener: socket.socket, handler: Handler, nursery: trio.Nursery) -> None:
    """Serve connections until cancelled. A host without a free descriptor is waited for."""
    listener.setblocking(False)  # noqa: FBT003 (the standard library's signature)
    here = listener.getsockname()[0]
    connected: Counter[str] = Counter()

    async def serve(sock: socket.socket, peer: str) -> None:
        connected[peer] += 1
        try:
            await _connection(PlainWire(sock), handler)
        finally:
            connected[peer] -= 1
            if not connected[peer]:
                del connected[peer]

    with listener:
        while True:
            await trio.lowlevel.wait_readable(listener)
            try:
                sock, (peer, *_) = listener.accept()
            except BlockingIOError:
                continue
            except OSError as error:
                log.warning("the gateway cannot take a connection", reason=error.strerror)
                await trio.sleep(0.1)
                continue
            if peer != here and connected[peer] >= CONNECTIONS:
                sock.close()
                continue
            nursery.start_soon(serve, sock, peer)


async def _connection(wire: PlainWire, handler: Handler) -> None:
    """One connection to its end. Whatever happens on it harms no other."""
    try:
        await _requests(wire, handler)
    except (OSError, HungUp):
        return
    except Exception:
        log.exception("a request to the gateway crashed")
    finally:
        wire.close()


async def _requests(wire: PlainWire, handler: Handler) -> None:
    reader = RequestReader()
    while True:
        try:
            request = await _next(wire, reader)
        except BadRequest as error:
            await _refuse(wire, error, reader.target)
            return
        if request is None:
            return
        reply = Reply(wire, request.keep_alive, request.modern)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_watch, wire, nursery.cancel_scope)
            await _guarded(handler, request, reply)
            nursery.cancel_scope.cancel()
        if not reply.keep_alive or reply.status is None:
            return


async def _guarded(handler: Handler, request: HttpRequest, reply: Reply) -> None:
    """Keeps a hang-up from coming out of the nursery in a group."""
    try:
        await handler(request, reply)
    except HungUp:
        reply.keep_alive = False


async def _watch(wire: PlainWire, scope: trio.CancelScope) -> None:
    """A client that hangs up wants no answer any more."""
    await wire.wait_gone()
    scope.cancel()


async def _next(wire: PlainWire, reader: RequestReader) -> HttpRequest | None:
    """The next whole request, None when the client has no more. Raises BadRequest."""
    continued = reader.continues
    while not reader.ready:
        with trio.move_on_after(IDLE_SECONDS if reader.idle else REQUEST_SECONDS) as patience:
            data = await wire.receive()
        if patience.cancelled_caught or not data:
            return None
        reader.feed(data)
        if reader.continues > continued and not reader.ready:
            await wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        continued = reader.continues
    return reader.ready.popleft()


async def _refuse(wire: PlainWire, error: BadRequest, target: str) -> None:
    reply = Reply(wire, keep_alive=False)
    await reply.error(guess(target), error.status, str(error))
    with trio.move_on_after(LINGER):
        while await wire.receive():
            pass
