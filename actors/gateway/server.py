"""The gateway's HTTP server: connections of agents, one request after the other on each."""

from __future__ import annotations

import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import attrs
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

ROOM: Final = 192 * 1024 * 1024
"""Bytes of requests that such an address may have under way: each is held until it is answered."""

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


@attrs.define
class Guest:
    """One address, and what it takes: containers have one each, and none of them may take the gateway from the others.

    Attributes:
        bounded: false for this machine's own.
        held: bytes of its requests.
    """

    bounded: bool
    connections: int = 0
    held: int = 0

    @property
    def full(self) -> bool:
        """Whether it may have no further connection."""
        return self.bounded and self.connections >= CONNECTIONS

    def hold(self, size: int) -> None:
        """So much more is held, or less. Raises BadRequest."""
        self.held += size
        if self.bounded and size > 0 and self.held > ROOM:
            raise BadRequest(429, f"requests that are under way from here are larger than {ROOM >> 20} MiB together; wait for some of them to end")


async def accept(listener: socket.socket, handler: Handler, nursery: trio.Nursery) -> None:
    """Serve connections until cancelled. A host without a free descriptor is waited for."""
    listener.setblocking(False)  # noqa: FBT003 (the standard library's signature)
    here = listener.getsockname()[0]
    guests: dict[str, Guest] = {}

    async def serve(sock: socket.socket, peer: str) -> None:
        guest = guests.setdefault(peer, Guest(peer != here))
        guest.connections += 1
        try:
            await _connection(PlainWire(sock), handler, guest)
        finally:
            guest.connections -= 1
            if not guest.connections:
                del guests[peer]

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
            if peer in guests and guests[peer].full:
                sock.close()
                continue
            nursery.start_soon(serve, sock, peer)


async def _connection(wire: PlainWire, handler: Handler, guest: Guest) -> None:
    """One connection to its end. Whatever happens on it harms no other."""
    try:
        await _requests(wire, handler, guest)
    except (OSError, HungUp):
        return
    except Exception:
        log.exception("a request to the gateway crashed")
    finally:
        wire.close()


async def _requests(wire: PlainWire, handler: Handler, guest: Guest) -> None:
    reader, held = RequestReader(), _Held(guest)
    try:
        while True:
            try:
                request = await _next(wire, reader, held)
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
    finally:
        held.set(0)


@attrs.define
class _Held:
    """What one connection holds."""

    guest: Guest
    size: int = 0

    def set(self, size: int) -> None:
        """It holds so much now. Raises BadRequest."""
        change, self.size = size - self.size, size
        self.guest.hold(change)


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


async def _next(wire: PlainWire, reader: RequestReader, held: _Held) -> HttpRequest | None:
    """The next whole request, None when the client has no more. Raises BadRequest."""
    continued, begun = reader.continues, None
    while not reader.ready:
        held.set(reader.held)
        if begun is None and not reader.idle:
            begun = trio.current_time()
        with trio.move_on_at(trio.current_time() + IDLE_SECONDS if begun is None else begun + REQUEST_SECONDS) as patience:
            data = await wire.receive()
        if patience.cancelled_caught and begun is not None:
            raise BadRequest(408, f"the request did not come within {REQUEST_SECONDS:g} s")
        if patience.cancelled_caught or not data:
            return None
        reader.feed(data)
        if reader.continues > continued and not reader.ready:
            await wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        continued = reader.continues
    held.set(reader.held)
    return reader.ready.popleft()


async def _refuse(wire: PlainWire, error: BadRequest, target: str) -> None:
    reply = Reply(wire, keep_alive=False)
    await reply.error(guess(target), error.status, str(error))
    with trio.move_on_after(LINGER):
        while await wire.receive():
            pass
