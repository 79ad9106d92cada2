"""Answers to agents: heads, chunks and errors on a connection."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import attrs
import trio

from actors.gateway.dialects import error_body
from actors.gateway.interfaces import Headers
from actors.gateway.sockets import PlainWire
from stamina.protocols import Protocol

JSON: Final = (("content-type", "application/json"),)

STALLED_SECONDS: Final = 300.0
"""How long an agent may take nothing of its answer."""


class HungUp(Exception):
    """The agent is gone."""


@attrs.define(eq=False)
class Reply:
    """The answer to one request.

    Attributes:
        keep_alive: whether the connection is good for another request after it.
        status: what the agent was told, None before.
        sent: bytes of the body so far.
        modern: whether the agent takes chunks.
    """

    wire: PlainWire
    keep_alive: bool = True
    modern: bool = True
    status: int | None = None
    sent: int = 0

    async def whole(self, status: int, headers: Headers, body: bytes, *, bodiless: bool = False) -> None:
        """A whole answer at once. ``bodiless`` answers a HEAD."""
        head = self._head(status, headers, f"content-length: {len(body)}")
        self.status, self.sent = status, len(body)
        await self._send(head if bodiless else head + body)

    async def error(self, protocol: Protocol, status: int, message: str) -> None:
        """An error in the agent's protocol."""
        await self.whole(status, JSON, error_body(protocol, status, message))

    async def begin(self, status: int, headers: Headers) -> None:
        """A streamed answer begins. Without chunks its end is the connection's."""
        if not self.modern:
            self.keep_alive = False
        self.status = status
        await self._send(self._head(status, headers, *(("transfer-encoding: chunked",) if self.modern else ())))

    async def piece(self, data: bytes) -> None:
        """A piece of it."""
        rest = self.piece_now(data)
        if rest:
            await self.rest(rest)

    def piece_now(self, data: bytes) -> memoryview | None:
        """A piece of it, as far as the agent takes it without a wait; what is left of it (:meth:`rest`), else None. Raises HungUp."""
        self.sent += len(data)
        try:
            return self.wire.send_now(b"%x\r\n%b\r\n" % (len(data), data) if self.modern else data)
        except OSError as error:
            raise HungUp from error

    async def rest(self, rest: memoryview) -> None:
        """What is left of a piece. Raises HungUp, also for an agent that takes nothing for too long."""
        with trio.move_on_after(STALLED_SECONDS) as patience:
            try:
                await self.wire.send_rest(rest)
            except OSError as error:
                raise HungUp from error
        if patience.cancelled_caught:
            raise HungUp

    async def end(self) -> None:
        """Its end."""
        if self.modern:
            await self._send(b"0\r\n\r\n")

    async def _send(self, data: bytes) -> None:
        try:
            rest = self.wire.send_now(data)
        except OSError as error:
            raise HungUp from error
        if rest:
            await self.rest(rest)

    def _head(self, status: int, headers: Headers, *framing: str) -> bytes:
        lines = [f"HTTP/1.1 {status} {_phrase(status)}", *(f"{name}: {value}" for name, value in headers), *framing]
        lines.append(f"connection: {'keep-alive' if self.keep_alive else 'close'}")
        return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"
