"""What HTTP leaves open is open to servers: versions, chunks, the case of headers, connections that close. No suite may fail them for it."""

from collections.abc import Callable
from functools import partial

import pytest
import trio

from actors.tester import TesterLimits, run_suite
from stamina.domain import Handler, ScenarioOptions
from stamina.draw import Draw
from stamina.exchange import NO_BODY, RawBody, Request, Response
from stamina.rest.domain import RestDomain
from stamina.rest.permissive import Permissive
from tests.waiting import SECONDS

SCENARIO = RestDomain().scenario(ScenarioOptions(seed=11))

Framing = Callable[[Response], tuple[bytes, bool]]
"""Writes a response; True when the connection ends with it."""


def reason(response: Response) -> bytes:
    return str(response.status).encode() + b" Whatever It Is"


def old(response: Response) -> tuple[bytes, bool]:
    """HTTP/1.0, the body ended by the end of the connection."""
    return b"HTTP/1.0 " + reason(response) + b"\r\nContent-Type: application/json\r\n\r\n" + response.body, True


def chunked(response: Response) -> tuple[bytes, bool]:
    """Chunks of three bytes, with an extension and a trailer."""
    if response.status == 204:
        return b"HTTP/1.1 204 No Content\r\n\r\n", False
    pieces = [response.body[start : start + 3] for start in range(0, len(response.body), 3)]
    chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 " + reason(response) + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nX-After: yes\r\n\r\n", False


def shouting(response: Response) -> tuple[bytes, bool]:
    """Headers in capitals, without blanks, one of them twice."""
    length = b"" if response.status == 204 else b"CONTENT-LENGTH:%d\r\n" % len(response.body)
    return b"HTTP/1.1 " + reason(response) + b"\r\nSERVER:a\r\nSERVER:b\r\n" + length + b"CONTENT-TYPE:text/plain\r\n\r\n" + response.body, False


def closing(response: Response) -> tuple[bytes, bool]:
    """A connection for each request."""
    length = b"" if response.status == 204 else b"content-length: %d\r\n" % len(response.body)
    return b"HTTP/1.1 " + reason(response) + b"\r\nconnection: close\r\n" + length + b"\r\n" + response.body, True


async def answer(stream: trio.SocketStream, handler: Handler, framing: Framing) -> None:
    """Serve the requests of one connection, in the framing given."""
    buffer = bytearray()
    while True:
        while b"\r\n\r\n" not in buffer:
            received = await stream.receive_some(65536)
            if not received:
                return
            buffer += received
        head, _, body = bytes(buffer).partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        length = next((int(line.split(":")[1]) for line in lines[1:] if line.lower().startswith("content-length")), 0)
        while len(body) < length:
            body += await stream.receive_some(65536)
        buffer = bytearray(body[length:])
        method, path, _ = lines[0].split(" ")
        written, ends = framing(handler(Request(method, path, RawBody(body[:length]) if length else NO_BODY)))
        await stream.send_all(written)
        if ends:
            await stream.aclose()
            return


@pytest.mark.parametrize("framing", [old, chunked, shouting, closing], ids=lambda framing: framing.__name__)
async def test_no_suite_fails_a_server_for_its_http(framing: Framing) -> None:
    """Each with a permissive truth behind it."""
    suite = SCENARIO.suite(2)
    handler = Permissive(SCENARIO.state(2), Draw("http", framing.__name__)).handle

    async def serve(stream: trio.SocketStream) -> None:
        await answer(stream, handler, framing)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        verdict = await run_suite(suite, ("127.0.0.1", port), TesterLimits(answer_seconds=SECONDS))
        nursery.cancel_scope.cancel()
    assert [result.failure for result in verdict.results if result.failure] == []
    assert verdict.ok
