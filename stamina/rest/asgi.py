"""The ground truth as an ASGI application: any ASGI server can serve it, any ASGI client can call it. No event loop of its own."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from stamina.exchange import NO_BODY, RawBody, Request, Response

Handler: TypeAlias = Callable[[Request], Response]
"""Answers one request: :meth:`stamina.rest.truth.Truth.handle`, or a flawed copy of it."""

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

BODY_LIMIT: Final = 1024 * 1024
"""Bytes of a request body. The largest body of a test is far smaller."""

_TOO_LARGE: Final = Response(413, json.dumps({"error": "the body is too large"}).encode())


class Application:
    """An ASGI application over a handler. Speaks HTTP and lifespan; answers are made one at a time (H9), for making one never waits.

    Args:
        handler: answers the requests.
        body_limit: longer bodies are answered with 413, without being kept.
    """

    def __init__(self, handler: Handler, *, body_limit: int = BODY_LIMIT) -> None:
        self._handler = handler
        self._body_limit = body_limit

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection's worth of ASGI events."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "lifespan":
                await _lifespan(receive, send)
            case "websocket":
                await send({"type": "websocket.close"})

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        body = await self._body(receive)
        if body is None:
            return
        fits = len(body) <= self._body_limit
        response = self._handler(Request(scope["method"], scope["path"], RawBody(body) if body else NO_BODY)) if fits else _TOO_LARGE
        headers = [(b"content-length", str(len(response.body)).encode())] if response.status != 204 else []
        if response.body:
            headers.append((b"content-type", b"application/json"))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else response.body})

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body; one byte more than the limit when it is too long; None when the client left."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            # Read on to the end: a client that is still sending does not hear an answer.
            body += message.get("body", b"")
            del body[self._body_limit + 1 :]
            if not message.get("more_body", False):
                return bytes(body)


async def _lifespan(receive: Receive, send: Send) -> None:
    """Nothing has to be started or ended."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
