"""The proxy for package installs, and the order in which an engine's permits are given."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio

from actors.egress import ALLOW, AllowList, allow_list, proxy
from actors.priority import PriorityPermits

HOSTS = AllowList(("registry.example", ".below.example", "host.example:8443"))


@pytest.mark.parametrize(
    ("host", "port", "allowed"),
    [
        ("registry.example", 443, True),
        ("REGISTRY.example.", 80, True),
        ("registry.example", 22, False),
        ("evil-registry.example", 443, False),
        ("registry.example.evil", 443, False),
        ("files.below.example", 443, True),
        ("below.example", 443, False),
        ("host.example", 8443, True),
        ("host.example", 443, False),
    ],
)
def test_the_list(host: str, port: int, allowed: bool) -> None:
    """Names as a whole, names below a point, ports 80 and 443 or the one that is named."""
    assert HOSTS.allows(host, port) is allowed


def test_the_list_of_the_machine() -> None:
    """Beside the sweep's."""
    assert allow_list(("A.example",), {ALLOW: " b.example, ,a.example"}).entries == ("a.example", "b.example")


@asynccontextmanager
async def registry() -> AsyncIterator[tuple[int, list[bytes]]]:
    """Answers anything with "pkg", and keeps what it was asked."""
    asked: list[bytes] = []

    async def serve(stream: trio.SocketStream) -> None:
        asked.append(bytes(await stream.receive_some()))
        await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\npkg")
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        yield listeners[0].socket.getsockname()[1], asked
        nursery.cancel_scope.cancel()


async def through(port: int, request: str) -> bytes:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(request.encode())
        return b"".join([chunk async for chunk in stream])


async def test_plain_http_is_passed_on() -> None:
    """With the path alone, and without what is for the proxy."""
    async with registry() as (port, asked), proxy("127.0.0.1", AllowList((f"127.0.0.1:{port}",))) as way:
        got = await through(way, f"GET http://127.0.0.1:{port}/simple?x=1 HTTP/1.1\r\nHost: h\r\nProxy-Connection: keep-alive\r\n\r\n")

    assert got.endswith(b"pkg")
    assert asked == [b"GET /simple?x=1 HTTP/1.1\r\nConnection: close\r\nHost: h\r\n\r\n"]


async def test_a_tunnel_is_made() -> None:
    """And carries bytes as they are."""
    async with registry() as (port, asked), proxy("127.0.0.1", AllowList((f"127.0.0.1:{port}",))) as way:
        got = await through(way, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello")

    assert got.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
    assert asked == [b"hello"]


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        ("CONNECT elsewhere.example:443 HTTP/1.1", b"403"),
        ("GET http://elsewhere.example/ HTTP/1.1", b"403"),
        ("CONNECT registry.example:22 HTTP/1.1", b"403"),
        ("GET / HTTP/1.1", b"400"),
        ("GET ftp://registry.example/ HTTP/1.1", b"400"),
        ("CONNECT registry.example:x HTTP/1.1", b"400"),
        ("nonsense", b"400"),
    ],
)
async def test_all_else_is_refused(request_head: str, status: bytes) -> None:
    """Other hosts, other ports, other protocols, and what is no request."""
    async with proxy("127.0.0.1", HOSTS) as way:
        got = await through(way, f"{request_head}\r\n\r\n")

    assert got.split()[1] == status


async def test_the_urgent_go_first(autojump_clock: trio.testing.MockClock) -> None:
    """Whoever removes overtakes those who wait to create; nobody is forgotten."""
    permits, order = PriorityPermits(1), []

    async def take(name: str, *, urgent: bool = False) -> None:
        async with permits.permit(urgent=urgent):
            order.append(name)
            await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(take, "first")
        await trio.sleep(0.1)
        nursery.start_soon(take, "create")
        await trio.sleep(0.1)
        nursery.start_soon(partial(take, "remove", urgent=True))
        with trio.move_on_after(0.1):
            await take("given up")

    assert order == ["first", "remove", "create"]
    assert permits._taken == 0
