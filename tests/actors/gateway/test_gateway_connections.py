"""How many connections one container may hold."""

import socket
import sys

import pytest
import trio

from actors.gateway import server
from actors.gateway.replying import JSON, Reply
from actors.gateway.requests import HttpRequest
from tests.waiting import SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux answers to all of 127.0.0.0/8")


async def answer(request: HttpRequest, reply: Reply) -> None:
    await reply.whole(200, JSON, b"{}")


def dial(port: int, source: str) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", port), SECONDS, source_address=(source, 0))
    sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    return sock


async def said(port: int, source: str, keep: list[socket.socket]) -> bytes:
    sock = await trio.to_thread.run_sync(dial, port, source)
    keep.append(sock)
    try:
        return (await trio.to_thread.run_sync(sock.recv, 12)) or b"closed"
    except ConnectionResetError:
        return b"closed"


async def test_nobody_takes_all_connections(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more than allowed is closed; others, and this machine itself, are served; what ends makes room."""
    monkeypatch.setattr(server, "CONNECTIONS", 3)
    listener = server.listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    nursery.start_soon(server.accept, listener, answer, nursery)
    held: list[socket.socket] = []

    assert [await said(port, "127.0.0.2", held) for _ in range(5)] == [b"HTTP/1.1 200"] * 3 + [b"closed"] * 2
    assert await said(port, "127.0.0.3", held) == b"HTTP/1.1 200"
    assert [await said(port, "127.0.0.1", held) for _ in range(5)] == [b"HTTP/1.1 200"] * 5
    held[0].close()
    with trio.fail_after(SECONDS):
        while await said(port, "127.0.0.2", held) == b"closed":
            await trio.lowlevel.checkpoint()
    for sock in held:
        sock.close()
    nursery.cancel_scope.cancel()
