"""What a client in a container may try: nothing of it reaches the provider, other scenarios, or more than its share of the gateway."""

from __future__ import annotations

import json
import re
import socket
import sys
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
import trio
import trio.testing

from actors.gateway import gateway as gateway_module
from actors.gateway import server
from actors.gateway.gate import Gate
from actors.gateway.interfaces import Caller
from actors.gateway.requests import BadRequest, HttpRequest, RequestReader, SizeLimits
from stamina.config.model import Budget, ModelConfig, Provider
from stamina.usage import How
from tests.actors.gateway.stub import PATHS, PRICE, SECRETS_OF, Pieces, bench, events, raw, stream, whole
from tests.waiting import SECONDS

GOOD = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}
BODY = b'{"model":"m","messages":[]}'
POST = "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: TOKEN\r\n"


def message(head: str, body: bytes = BODY, token: str = "TOKEN") -> bytes:
    return head.replace("TOKEN", token).encode() + body


SMUGGLED = {
    "two framings": POST + f"content-length: {len(BODY)}\r\ntransfer-encoding: chunked\r\n\r\n",
    "two lengths": POST + f"content-length: {len(BODY)}\r\ncontent-length: 3\r\n\r\n",
    "a length that is none": POST + "content-length: +3\r\n\r\n",
    "a space in a name": POST + f"content-length : {len(BODY)}\r\n\r\n",
    "a folded header": POST + f"x: y\r\n content-length: {len(BODY)}\r\n\r\n",
    "chunks that are not last": POST + "transfer-encoding: chunked, identity\r\n\r\n",
    "bare line feeds": POST.replace("\r\n", "\n") + f"content-length: {len(BODY)}\n\n",
    "a zero byte": POST + "x: a\0b\r\n\r\n",
}


@pytest.mark.parametrize("name", sorted(SMUGGLED))
async def test_requests_that_two_readers_could_read_differently_are_refused(name: str, patient_clock: Any) -> None:
    """And end their connection: nothing behind them is read."""
    async with bench(lambda request, n: whole(GOOD)) as gate:
        behind = message(POST + f"content-length: {len(BODY)}\r\n\r\n", token=gate.seat.token)
        answer = await raw(gate, message(SMUGGLED[name], token=gate.seat.token) + behind)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]
    assert gate.stub.asked == []


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("POST http://elsewhere.example/v1/chat/completions", 404),
        ("POST //elsewhere.example/v1/chat/completions", 404),
        ("POST /v1/../../v1/chat/completions", 404),
        ("POST /v1beta/models/..%2F..%2Fsecrets:generateContent", 404),
        ("POST /v1/chat/completions%0d%0ax-evil:1", 404),
        ("PUT /v1/chat/completions", 404),
        ("CONNECT elsewhere.example:443", 405),
    ],
)
async def test_addresses_lead_nowhere_else(line: str, status: int, patient_clock: Any) -> None:
    """The gateway is no proxy, and a model's name is no path."""
    async with bench(lambda request, n: whole(GOOD)) as gate:
        head = f"{line} HTTP/1.1\r\nx-api-key: TOKEN\r\nconnection: close\r\ncontent-length: {len(BODY)}\r\n\r\n"
        answer = await raw(gate, message(head, token=gate.seat.token))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert gate.stub.asked == []


async def test_a_wish_for_another_protocol_is_passed_over() -> None:
    """Some clients offer HTTP/2 with their first request, and others try a websocket before they ask as usual."""
    async with bench(lambda request, n: whole(GOOD)) as gate:
        wish = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
        first = message(POST + wish + f"content-length: {len(BODY)}\r\n\r\n", token=gate.seat.token)
        socket_ = message("GET /v1/realtime HTTP/1.1\r\nx-api-key: TOKEN\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n", b"", gate.seat.token)
        last = message(POST + f"connection: close\r\ncontent-length: {len(BODY)}\r\n\r\n", token=gate.seat.token)
        answer = await raw(gate, first + socket_ + last)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"200", b"404", b"200"]
    assert [request.body for request in gate.stub.asked] == [BODY.replace(b'"m"', b'"vendor/real-model"')] * 2


async def test_a_trailer_is_no_header() -> None:
    """What comes behind a body cannot say whose it was."""
    async with bench(lambda request, n: whole(GOOD)) as gate:
        head = "POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        body = b"%x\r\n%b\r\n0\r\nx-api-key: %b\r\n\r\n" % (len(BODY), BODY, gate.seat.token.encode())
        answer = await raw(gate, head.encode() + body)
    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("first", "more"),
    [(b"", b"1;" + b"x" * 50 + b"\r\na\r\n"), (b"0\r\nx: ", b"y" * 500), (b"0\r\n", b"x: y\r\n" * 80)],
    ids=["extensions of chunks", "one endless trailer", "endlessly many trailers"],
)
def test_what_frames_a_body_has_an_end(first: bytes, more: bytes) -> None:
    """Else it would be kept, or read, for ever."""
    reader = RequestReader(SizeLimits(head=200, body=10_000, frames=2000))
    reader.feed(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + first)
    with pytest.raises(BadRequest, match="frames") as refused:
        feed_all(reader, [more] * 100)
    assert refused.value.status == 431
    assert reader.held < 200


def feed_all(reader: RequestReader, pieces: list[bytes]) -> None:
    for piece in pieces:
        reader.feed(piece)


async def test_a_request_that_dribbles_is_given_up(patient_clock: Any) -> None:
    """Though there is always one byte more."""
    async with bench(lambda request, n: whole(GOOD)) as gate:
        async with await trio.open_tcp_stream("127.0.0.1", httpx.URL(gate.url).port or 0) as slow:
            began = trio.current_time()
            await slow.send_all(message(POST + "content-length: 1000\r\n\r\n", b"", gate.seat.token))
            async with trio.open_nursery() as nursery:
                nursery.start_soon(dribble, slow)
                answer = await slow.receive_some(65536)
                nursery.cancel_scope.cancel()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert server.REQUEST_SECONDS <= trio.current_time() - began < server.REQUEST_SECONDS + 60


async def dribble(slow: trio.SocketStream) -> None:
    while True:
        await trio.sleep(50)
        await slow.send_all(b" ")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux answers to all of 127.0.0.0/8")
async def test_nobody_fills_the_memory_with_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one address has under way together has a limit; others are served; what ends makes room."""
    monkeypatch.setattr(server, "ROOM", 100_000)
    with ExitStack() as sockets:
        await _fill(sockets)


async def _fill(sockets: ExitStack) -> None:
    async with bench(lambda request, n: whole(GOOD)) as gate:
        port = httpx.URL(gate.url).port or 0

        async def ask(source: str, size: int, sent: int | None = None) -> socket.socket:
            body = b'{"model":"m","messages":[],"x":"%b"}' % (b"x" * size)
            data = message(POST + f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n", body, gate.seat.token)
            sock = sockets.enter_context(await trio.to_thread.run_sync(lambda: socket.create_connection(("127.0.0.1", port), SECONDS, (source, 0))))
            await trio.to_thread.run_sync(sock.sendall, data[:sent])
            return sock

        async def said(sock: socket.socket) -> bytes:
            return (await trio.to_thread.run_sync(sock.recv, 12))[9:]

        open_ = [await ask("127.0.0.2", 60_000, 50_000)]
        with trio.fail_after(SECONDS):
            while await said(refused := await ask("127.0.0.2", 60_000)) != b"429":
                refused.close()
        assert await said(await ask("127.0.0.3", 60_000)) == b"200"
        open_[0].close()
        with trio.fail_after(SECONDS):
            while await said(again := await ask("127.0.0.2", 60_000)) == b"429":
                again.close()


BOMBS = {
    "depth": b'{"model":"m","messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "values": b'{"model":"m","messages":[' + b"[]," * 1_500_000 + b"[]]}",
    "no text": b'{"model":"m","messages":["\xff\xfe"]}',
    "a number of a million digits": b'{"model":"m","n":' + b"9" * 1_000_000 + b"}",
    "nothing": b"",
}


@pytest.mark.parametrize("name", sorted(BOMBS))
async def test_bombs_of_json_are_refused(name: str) -> None:
    """In the agent's protocol, before the provider hears of them."""
    async with bench(lambda request, n: whole(GOOD)) as gate:
        answer = await gate.client.post(gate.url + PATHS["chat"], content=BOMBS[name], headers={"x-api-key": gate.seat.token})
        assert (await gate.ask()).status_code == 200
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("the request's body cannot be used: ")
    assert len(gate.stub.asked) == 1


@pytest.mark.parametrize("model", ["m\n", "m\r\nx-evil: 1", "x" * 1_000_000, ["m"], None, {"m": 1}, "../m", "M"])
async def test_a_model_of_another_name_is_refused_in_few_words(model: Any) -> None:
    """Whatever it is; what is written down is short too."""
    async with bench(lambda request, n: whole(GOOD)) as gate:
        answer = await gate.ask(model=model)
    assert answer.status_code == 404
    assert len(answer.content) < 1000
    assert len(gate.requests[0].detail) < 500
    assert "\n" not in gate.requests[0].detail


async def test_an_agent_that_does_not_read_is_no_silent_provider(patient_clock: Any) -> None:
    """It is given up; the provider is not blamed, and not kept."""
    text = events({"choices": [{"delta": {"content": "x" * 60_000}}]})
    async with bench(lambda request, n: whole(GOOD) if n else stream(*[text] * 400), model_idle_seconds=30.0) as gate:
        body = b'{"model":"m","stream":true,"messages":[]}'
        async with await trio.open_tcp_stream("127.0.0.1", httpx.URL(gate.url).port or 0) as agent:
            await agent.send_all(message(POST + f"content-length: {len(body)}\r\n\r\n", body, gate.seat.token))
            with trio.fail_after(1000):
                while not gate.requests:  # noqa: ASYNC110 (the gateway tells nobody in particular)
                    await trio.sleep(5)
        assert [(request.how, request.usage) for request in gate.requests] == [(How.ABANDONED, None)]
        assert gate.seat.trouble is None
        assert not gate.seat.silence(30)
        assert (await gate.ask()).status_code == 200


async def test_one_of_many_has_no_more_than_its_share_in_flight(autojump_clock: Any) -> None:
    """Also when it came first and holds what it has; alone it may have all."""
    gate = Gate(ModelConfig("m", Provider.OPENAI, "m", 1000, max_in_flight=8), lambda trouble: None)
    gate.scenarios = 2
    went: list[str] = []

    async def hold(who: str) -> None:
        turn = await gate.enter(who, 0)
        went.append(who)
        try:
            await trio.sleep_forever()
        finally:
            turn.close(0)

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(hold, "greedy")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(hold, "modest")
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(went) == ["greedy", "greedy", "modest"]
        gate.scenarios = 1
        nursery.start_soon(hold, "modest")
        await trio.testing.wait_all_tasks_blocked()
        assert (went.count("greedy"), went.count("modest")) == (6, 2)
        nursery.cancel_scope.cancel()
    assert gate.allowance.in_flight == 0


async def test_a_wish_for_more_than_the_window_ends_no_scenario() -> None:
    """What may be asked for is bounded by the model, so no request can make the budget look spent."""
    async with bench(lambda request, n: whole(GOOD), budget=Budget(call_usd=0.25), price=PRICE) as gate:
        answer = await gate.ask(max_tokens=10**15)
    assert answer.status_code == 200
    assert gate.seat.exhausted is None


async def test_a_request_that_is_refused_with_403_for_what_is_in_it_does_not_stop_everybody_for_ever(patient_clock: Any) -> None:
    """Others are answered; so after a few outages that it began it gets its refusal, in the provider's words without keys."""
    key = SECRETS_OF["chat"]

    def script(request: HttpRequest, n: int) -> Pieces:
        if b"poison" in request.body:
            return whole({"error": {"message": f"blocked by a policy; your key is {key}"}}, 403)
        return whole(GOOD)

    async with bench(script) as gate:
        statuses: list[int] = []
        done = trio.Event()

        async def others() -> None:
            with gate.gate.seat(Caller("cell", 2, 0), gate.model) as seat:
                seat.begin(0, 0, 0)
                while not done.is_set():
                    statuses.append((await gate.ask(token=seat.token)).status_code)
                    await trio.sleep(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            with trio.fail_after(300):
                refused = await gate.ask(note="poison")
            done.set()
    assert refused.status_code == 403
    assert set(statuses) == {200}
    assert key not in refused.text
    reasons = [trouble.reason for trouble in gate.troubles if trouble.reason]
    assert len(reasons) == 2
    assert all("blocked by a policy; your key is [secret]" in reason for reason in reasons)


def test_the_names_of_secrets_are_those_that_providers_read() -> None:
    """Of every provider's own variable the value is taken out of all that is written."""
    assert {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_SECRET_ACCESS_KEY"} <= set(gateway_module.SECRETS)
