"""The gateway's HTTP client: one request a connection at a time, connections kept for the next one, answers handed on as they come.

It exists because a relay of many small events costs a general client several times what the network costs; see docs/gateway.md for the figures.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

import attrs
import trio

from actors.gateway.answers import AnswerReader
from actors.gateway.interfaces import Headers, UpstreamFailed
from actors.gateway.proxies import Proxy, proxy_for
from actors.gateway.sockets import Wire, dial, reason
from stamina.errors import InputError

KEPT_SECONDS: Final = 45.0
"""How long a connection is kept unused. Load balancers close theirs after a minute, as a rule."""
KEPT: Final = 256


@attrs.frozen
class Origin:
    """Scheme, host and port."""

    tls: bool
    host: str
    port: int

    @property
    def authority(self) -> str:
        """For the Host header."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.tls else 80) else f"{name}:{self.port}"


@attrs.frozen
class Outgoing:
    """A request to send. ``target`` is path and query."""

    method: str
    target: str
    headers: Headers
    body: bytes

    def encode(self, origin: Origin, proxy: Proxy | None = None) -> bytes:
        """Its bytes; a proxy that makes no tunnel is told the whole address. Raises UpstreamFailed for a header that would break out of its line."""
        target, own = self.target, self.headers
        if proxy is not None:
            target = f"http://{origin.authority}{target}"
            own = (*own, ("proxy-authorization", proxy.authorization)) if proxy.authorization is not None else own
        head = [f"{self.method} {target} HTTP/1.1", f"host: {origin.authority}", f"content-length: {len(self.body)}", "accept-encoding: identity"]
        head += [f"{name}: {value}" for name, value in own]
        if any("\r" in line or "\n" in line for line in head):
            raise UpstreamFailed("a header of the request has a line break")
        return "\r\n".join(head).encode("latin-1", "replace") + b"\r\n\r\n" + self.body


def split_url(url: str) -> tuple[Origin, str]:
    """The origin and the path (without a slash at the end) of a base URL."""
    parts = urlsplit(url)
    tls = parts.scheme == "https"
    return Origin(tls, parts.hostname or "", parts.port or (443 if tls else 80)), parts.path.rstrip("/")


class HttpAnswer:
    """An answer that has begun; see :class:`actors.gateway.interfaces.UpstreamResponse`."""

    def __init__(self, wire: Wire, reader: AnswerReader) -> None:
        self._wire = wire
        self._reader = reader

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._reader.status

    @property
    def headers(self) -> Headers:
        """Without framing."""
        return self._reader.headers

    async def receive(self) -> bytes:
        """More of the body, ``b""`` at its end. Raises UpstreamFailed."""
        while True:
            data = self._reader.take()
            if data or self._reader.done:
                return data
            await _read(self._wire, self._reader)


class HttpClient:
    """Asks any origin.

    Args:
        environment: names proxies.
        tls: for https; the system's trust by default, which ``SSL_CERT_FILE`` may replace.
    """

    def __init__(self, environment: Mapping[str, str], tls: ssl.SSLContext | None = None) -> None:
        self._environment = environment
        self._tls = tls
        self._kept: dict[Origin, list[tuple[float, Wire]]] = {}

    @asynccontextmanager
    async def open(self, origin: Origin, outgoing: Outgoing) -> AsyncIterator[HttpAnswer]:
        """Send and wait for the head of the answer. Raises UpstreamFailed."""
        try:
            proxy = proxy_for(origin.tls, origin.host, origin.port, self._environment)
        except InputError as error:
            raise NotConnected(str(error)) from error
        wire, reader = await self._asked(origin, proxy, outgoing.encode(origin, None if origin.tls else proxy))
        try:
            yield HttpAnswer(wire, reader)
        finally:
            reader.close()
            if reader.done and reader.reusable:
                self._keep(origin, wire)
            else:
                wire.close()

    def close(self) -> None:
        """Close what is kept."""
        for wires in self._kept.values():
            for _, wire in wires:
                wire.close()
        self._kept.clear()

    async def _asked(self, origin: Origin, proxy: Proxy | None, message: bytes) -> tuple[Wire, AnswerReader]:
        """On a kept connection, if there is one; when that meets its end without one byte of an answer, on a fresh one: the server had closed it."""
        kept = self._take(origin)
        if kept is not None:
            reader = AnswerReader()
            try:
                return await self._exchange(kept, reader, message)
            except UpstreamFailed:
                if reader.received:
                    raise
        return await self._exchange(await self._dial(origin, proxy), AnswerReader(), message)

    async def _exchange(self, wire: Wire, reader: AnswerReader, message: bytes) -> tuple[Wire, AnswerReader]:
        try:
            await _send(wire, message)
            while not reader.begun:
                await _read(wire, reader)
        except BaseException:
            wire.close()
            raise
        return wire, reader

    async def _dial(self, origin: Origin, proxy: Proxy | None) -> Wire:
        try:
            return await dial(origin.host, origin.port, self._context() if origin.tls else None, proxy)
        except (OSError, ExceptionGroup) as error:
            first = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
            why = reason(first) if isinstance(first, OSError) else str(first)
            raise NotConnected(f"cannot connect to {origin.authority}{f' through {proxy.shown}' if proxy else ''}: {why}") from error

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    def _take(self, origin: Origin) -> Wire | None:
        """The connection that was used last, if it is still good."""
        wires = self._kept.get(origin, [])
        while wires:
            at, wire = wires.pop()
            if time.monotonic() - at < KEPT_SECONDS and wire.is_quiet():
                return wire
            wire.close()
        return None

    def _keep(self, origin: Origin, wire: Wire) -> None:
        wires = self._kept.setdefault(origin, [])
        wires.append((time.monotonic(), wire))
        if len(wires) > KEPT:
            wires.pop(0)[1].close()


class NotConnected(UpstreamFailed):
    """Nobody answers at that address."""


async def _send(wire: Wire, message: bytes) -> None:
    """A server that stops listening may have answered already, so that is no error: reading will tell."""
    try:
        await wire.send(message)
    except OSError:
        await trio.lowlevel.checkpoint()


async def _read(wire: Wire, reader: AnswerReader) -> None:
    """Feed the reader what comes next."""
    try:
        data = await wire.receive()
    except OSError as error:
        raise UpstreamFailed(f"the connection to the provider broke ({reason(error)}; {reader.received} bytes had come)") from error
    if data:
        reader.feed(data)
    else:
        reader.end()
