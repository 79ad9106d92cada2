"""The tester's HTTP client on real sockets: what it sends, which connections it keeps, how it ends."""

from __future__ import annotations

import errno
import socket
from collections.abc import Awaitable, Callable, Generator
from typing import Final

import pytest
import trio
import trio.testing

from actors.http_client import ClientLimits, HttpClient
from stamina.errors import HostFault
from stamina.exchange import NO_BODY, Answer, NoResponse, RawBody, Request, Response, Trouble
from tests.hostile.servers import BAD, GOOD, HONEST, Hangup, Peer, always, answer, serving

PATIENT: Final = ClientLimits(answer_seconds=120)
GET: Final = Request("GET", "/thing")
OK: Final = Response(200, GOOD)


class Recorder:
    """A behaviour that numbers the connections and notes which of them each request came on.

    Args:
        act: called with the peer, the connection's number and the request's number on it, both from 1, once the request is read.
    """

    def __init__(self, act: Callable[[Peer, int, int], Awaitable[None]]) -> None:
        self._act = act
        self.connections = 0
        self.requests: list[tuple[int, str]] = []

    async def __call__(self, peer: Peer) -> None:
        self.connections += 1
        number, count = self.connections, 0
        while True:
            request = await peer.request()
            count += 1
            self.requests.append((number, request))
            await self._act(peer, number, count)


async def honest(peer: Peer, connection: int, request: int) -> None:
    await peer.send(HONEST)


async def ask(address: tuple[str, int], *requests: Request) -> list[Answer]:
    """The answers of one client, which has all the time it needs."""
    with HttpClient(address, PATIENT) as client:
        return [await client.ask(request) for request in requests]


def several(times: int) -> Generator[Request, Answer, list[Answer]]:
    """Ask the same again and again; the answers."""
    answers: list[Answer] = []
    while len(answers) < times:
        answers.append((yield GET))
    return answers


async def sent(request: Request) -> bytes:
    """What the server gets to read for a request."""
    read = trio.Event()
    seen = bytearray()

    async def behave(peer: Peer) -> None:
        async for data in peer.stream:
            seen.extend(data)
            await peer.send(HONEST)
        read.set()

    async with serving(behave) as address:
        assert await ask(address, request) == [OK]
        await read.wait()
        return bytes(seen).replace(f"{address[0]}:{address[1]}".encode(), b"HOST")


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request("GET", "/dog/a", NO_BODY), b"GET /dog/a HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\n\r\n"),
        (Request("DELETE", "/dog/a"), b"DELETE /dog/a HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\n\r\n"),
        (Request("POST", "/reset"), b"POST /reset HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n"),
        (
            Request("PATCH", "/dog/a", {"age": 1}),
            b'PATCH /dog/a HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"age":1}',
        ),
        (
            Request("POST", "/dog", RawBody(b"{nope")),
            b"POST /dog HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n{nope",
        ),
        (Request("POST", "/dog", None), b"POST /dog HTTP/1.1\r\nHost: HOST\r\nAccept: */*\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nnull"),
    ],
)
async def test_requests_go_out_as_the_contract_says(request_: Request, expected: bytes) -> None:
    """Bodies are JSON with their length; without a body, POST says a length of 0 (H9)."""
    assert await sent(request_) == expected


async def test_one_connection_serves_all_requests() -> None:
    """As long as the server keeps it."""
    server = Recorder(honest)
    async with serving(server) as address:
        assert await ask(address, *[GET] * 20) == [OK] * 20

    assert server.connections == 1


async def test_a_kept_connection_that_closes_without_a_byte_is_tried_again_on_a_fresh_one() -> None:
    """The server read the request on the old connection and hung up; it is asked once more."""

    async def act(peer: Peer, connection: int, request: int) -> None:
        if request == 2:
            raise Hangup
        await peer.send(HONEST)

    server = Recorder(act)
    async with serving(server) as address:
        assert await ask(address, GET, GET) == [OK, OK]

    assert [connection for connection, _ in server.requests] == [1, 1, 2]


async def test_a_request_is_never_sent_a_third_time() -> None:
    """A fresh connection that closes is the answer."""

    async def act(peer: Peer, connection: int, request: int) -> None:
        if len(server.requests) > 1:
            raise Hangup
        await peer.send(HONEST)

    server = Recorder(act)
    async with serving(server) as address:
        _, second = await ask(address, GET, GET)

    assert isinstance(second, NoResponse)
    assert second.trouble is Trouble.CLOSED
    assert len(server.requests) == 3


async def test_a_request_is_not_sent_again_after_the_first_byte_of_an_answer() -> None:
    """The server did take it; sending it twice could do its work twice."""

    async def act(peer: Peer, connection: int, request: int) -> None:
        if request == 2:
            await peer.send(b"H")
            raise Hangup
        await peer.send(HONEST)

    server = Recorder(act)
    async with serving(server) as address:
        _, second = await ask(address, GET, GET)

    assert isinstance(second, NoResponse)
    assert second.trouble is Trouble.CLOSED
    assert len(server.requests) == 2


async def test_a_connection_with_an_answer_that_nobody_asked_for_is_given_up() -> None:
    """A stale answer that arrives between two requests is not taken for the second one's."""
    stale_sent = trio.Event()

    async def act(peer: Peer, connection: int, request: int) -> None:
        await peer.send(HONEST)
        if connection == 1:
            await answered.wait()
            await peer.send(answer(BAD))
            stale_sent.set()

    answered = trio.Event()
    server = Recorder(act)
    async with serving(server) as address:
        with HttpClient(address, PATIENT) as client:
            first = await client.ask(GET)
            answered.set()
            await stale_sent.wait()
            second = await client.ask(GET)

    assert [first, second] == [OK, OK]
    assert [connection for connection, _ in server.requests] == [1, 2]


async def test_an_answer_that_came_before_the_whole_request_was_read_is_taken() -> None:
    """A server may refuse a large body without reading it, and close."""
    refusal = answer(b"", "413 Payload Too Large", "Connection: close\r\n")

    async def behave(peer: Peer) -> None:
        await peer.send(refusal)
        async for _ in peer.stream:
            pass

    async with serving(behave) as address:
        assert await ask(address, Request("POST", "/dog", RawBody(b"x" * 16_000_000))) == [Response(413)]


async def test_a_server_that_does_not_read_runs_into_the_deadline() -> None:
    """Sending is under the limit too."""

    async def behave(peer: Peer) -> None:
        await trio.sleep_forever()

    async with serving(behave) as address:
        with HttpClient(address, ClientLimits(answer_seconds=0.1)) as client:
            late = await client.ask(Request("POST", "/dog", RawBody(b"x" * 16_000_000)))

    assert late == NoResponse(Trouble.TIMEOUT, "no complete answer within 0.1 s")


async def test_a_late_answer_is_not_taken_for_the_next_requests(mock_clock: trio.testing.MockClock) -> None:
    """After a timeout the connection is gone, and with it what may still come."""
    release = trio.Event()

    async def act(peer: Peer, connection: int, request: int) -> None:
        if connection == 1:
            mock_clock.jump(1)
            await release.wait()
            await peer.send(answer(BAD))
        else:
            await peer.send(HONEST)

    server = Recorder(act)
    async with serving(server) as address:
        with HttpClient(address, ClientLimits(answer_seconds=0.5)) as client:
            late = await client.ask(GET)
            release.set()
            after = await client.ask(GET)

    assert isinstance(late, NoResponse)
    assert (late.trouble, after) == (Trouble.TIMEOUT, OK)


async def test_each_answer_has_the_whole_limit(mock_clock: trio.testing.MockClock) -> None:
    """However long those before it took, and whether or not one of them was late."""
    pauses = iter([0.6, 0.9, 0.9, 1.5, 0.9, 0.9])

    async def act(peer: Peer, connection: int, request: int) -> None:
        mock_clock.jump(next(pauses))
        await trio.lowlevel.checkpoint()
        await peer.send(HONEST)

    async with serving(Recorder(act)) as address:
        with HttpClient(address, ClientLimits(answer_seconds=1)) as client:
            answers = await client.ask_all(several(6))

    late = NoResponse(Trouble.TIMEOUT, "no complete answer within 1 s")
    assert answers == [OK, OK, OK, late, OK, OK]


async def test_cancelling_leaves_a_client_that_can_go_on() -> None:
    """The interrupted request's connection is closed, not used for the next."""
    asked = trio.Event()

    async def act(peer: Peer, connection: int, request: int) -> None:
        if connection == 1 and request == 2:
            asked.set()
            await trio.sleep_forever()
        await peer.send(HONEST)

    server = Recorder(act)
    async with serving(server) as address:
        with HttpClient(address, PATIENT) as client:
            await client.ask(GET)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(client.ask, GET)
                await asked.wait()
                nursery.cancel_scope.cancel()
            assert await client.ask(GET) == OK

    assert [connection for connection, _ in server.requests] == [1, 1, 2]


async def test_leaving_the_block_closes_the_connection() -> None:
    """The server sees the end."""
    ended = trio.Event()

    async def behave(peer: Peer) -> None:
        try:
            await always(HONEST)(peer)
        except Hangup:
            ended.set()

    async with serving(behave) as address:
        await ask(address, GET)
        await ended.wait()


async def test_a_host_that_does_not_exist_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised for an address that leads nowhere; who is asked for it here is not this machine's network."""

    def unknown(*given: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    [nowhere] = await ask(("host.invalid", 80), GET)

    assert isinstance(nowhere, NoResponse)
    assert nowhere.trouble is Trouble.REFUSED


async def test_running_out_of_sockets_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without free descriptors must not fail an agent; the message says what to do."""

    def no_more(*args: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("actors.http_client.socket.socket", no_more)

    with pytest.raises(HostFault, match="ulimit"):
        await ask(("127.0.0.1", 9), GET)
