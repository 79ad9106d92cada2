"""A provider on a real socket that answers whatever a test wants, byte for byte, and a gateway in front of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import attrs
import httpx
import trio

from actors.gateway.gate import Trouble
from actors.gateway.gateway import Gateway, Options, gateway
from actors.gateway.interfaces import Caller
from actors.gateway.requests import HttpRequest, RequestReader
from actors.gateway.seats import Seat
from stamina.config.model import Budget, ModelConfig, Price, Provider
from stamina.usage import ModelRequest

CUT = object()
"""Among the pieces of an answer: hang up here."""
HANG = object()
"""Among the pieces of an answer: send nothing more."""

PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
}
PROVIDERS = {"chat": Provider.OPENAI, "responses": Provider.OPENAI, "messages": Provider.ANTHROPIC, "gemini": Provider.GEMINI}

Pieces = list[Any]
Script = Callable[[HttpRequest, int], Pieces]
"""The pieces of the answer to the n-th request, from 0."""


def whole(body: Any, status: int = 200, *headers: str, content_type: str = "application/json") -> Pieces:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-type: {content_type}", f"content-length: {len(data)}", *headers]
    return ["\r\n".join(lines).encode() + b"\r\n\r\n" + data]


def stream(*pieces: Any) -> Pieces:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    framed = [b"%x\r\n%b\r\n" % (len(piece), piece) if isinstance(piece, bytes) else piece for piece in pieces]
    return [head, *framed, *([] if pieces and pieces[-1] in (CUT, HANG) else [b"0\r\n\r\n"])]


def events(*values: Any) -> bytes:
    return b"".join(b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n" for value in values)


@attrs.define
class Stub:
    script: Script
    asked: list[HttpRequest] = attrs.field(factory=list)
    port: int = 0

    async def serve(self, connection: trio.SocketStream) -> None:
        reader = RequestReader()
        try:
            async for data in connection:
                reader.feed(data)
                while reader.ready:
                    request = reader.ready.popleft()
                    self.asked.append(request)
                    for piece in self.script(request, len(self.asked) - 1):
                        if piece is CUT:
                            await connection.aclose()
                            return
                        if piece is HANG:
                            await trio.sleep_forever()
                        await connection.send_all(piece)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return


@attrs.define
class Bench:
    """A gateway, the provider behind it, and what they told."""

    gate: Gateway
    url: str
    stub: Stub
    model: ModelConfig
    seat: Seat
    client: httpx.AsyncClient
    requests: list[ModelRequest]
    troubles: list[Trouble]

    async def ask(self, protocol: str = "chat", *, token: str | None = None, path: str | None = None, **members: Any) -> httpx.Response:
        body = {"model": "m", "messages": [], **members} if protocol != "gemini" else {"contents": [], **members}
        headers = {"authorization": f"Bearer {token or self.seat.token}"}
        return await self.client.post(self.url + (path or PATHS[protocol]), json=body, headers=headers)


ENVIRONMENT = {"OPENAI_API_KEY": "sk-planted-0123456789", "ANTHROPIC_API_KEY": "sk-ant-planted-987654", "GEMINI_API_KEY": "AIza-planted-456789"}


@asynccontextmanager
async def bench(script: Script, protocol: str = "chat", *, budget: Budget | None = None, **model: Any) -> AsyncIterator[Bench]:
    stub = Stub(script)
    requests: list[ModelRequest] = []
    troubles: list[Trouble] = []
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, stub.serve, 0, host="127.0.0.1"))
        stub.port = listeners[0].socket.getsockname()[1]
        base = f"http://127.0.0.1:{stub.port}" + ("/v1" if PROVIDERS[protocol] is Provider.OPENAI else "")
        config = ModelConfig("m", PROVIDERS[protocol], "vendor/real-model", 100_000, base, **{"api_key_env": _key(protocol), **model})
        options = Options(
            {"m": config},
            budget or Budget(),
            write=lambda caller, request: requests.append(request),
            tell=troubles.append,
            environment=ENVIRONMENT,
        )
        async with gateway(options) as gate, httpx.AsyncClient(timeout=None) as client:
            with gate.seat(Caller("cell", 1, 0), config) as seat:
                seat.begin(0, 0, 0)
                yield Bench(gate, gate.bind(), stub, config, seat, client, requests, troubles)
        nursery.cancel_scope.cancel()


def _key(protocol: str) -> str:
    return {"chat": "OPENAI_API_KEY", "responses": "OPENAI_API_KEY", "messages": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}[protocol]


SECRETS_OF = {protocol: ENVIRONMENT[_key(protocol)] for protocol in PATHS}


async def raw(gate: Bench, data: bytes) -> bytes:
    """What the gateway answers to these bytes, until it hangs up."""
    stream = await trio.open_tcp_stream("127.0.0.1", httpx.URL(gate.url).port or 0)
    async with stream:
        await stream.send_all(data)
        out = b""
        while piece := await stream.receive_some(65536):
            out += piece
        return out


async def hang_up_after(text: bytes, url: str, token: str, path: str, body: dict[str, Any]) -> None:
    """Ask as an agent does, and hang up as soon as this text has come."""
    data = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nx-api-key: {token}\r\ncontent-length: {len(data)}\r\n\r\n"
    async with await trio.open_tcp_stream("127.0.0.1", httpx.URL(url).port or 0) as agent:
        await agent.send_all((head + data).encode())
        seen = b""
        while text not in seen:
            more = await agent.receive_some()
            assert more, seen
            seen += more


PRICE = Price(1.0, 2.0)
