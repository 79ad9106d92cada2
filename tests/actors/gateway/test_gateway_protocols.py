"""Each protocol through real sockets: what the provider gets, what the agent gets, and what is written down."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import attrs
import pytest
import zstandard

from actors.gateway.requests import HttpRequest
from stamina.usage import How, Usage
from tests.actors.gateway.stub import CUT, ENVIRONMENT, HANG, PATHS, bench, events, raw, stream, whole

ANSWERS: dict[str, tuple[dict[str, Any], Usage]] = {
    "chat": (
        {
            "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 60},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
        },
        Usage(100, 20, 60, 0, 5),
    ),
    "responses": (
        {
            "id": "r",
            "output": [],
            "usage": {
                "input_tokens": 100,
                "output_tokens": 20,
                "input_tokens_details": {"cached_tokens": 60},
                "output_tokens_details": {"reasoning_tokens": 5},
            },
        },
        Usage(100, 20, 60, 0, 5),
    ),
    "messages": (
        {"content": [], "usage": {"input_tokens": 30, "output_tokens": 20, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10}},
        Usage(100, 20, 60, 10, 0),
    ),
    "gemini": (
        {
            "candidates": [{"finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "cachedContentTokenCount": 60},
        },
        Usage(100, 20, 60, 0, 5),
    ),
}

STREAMS: dict[str, bytes] = {
    "chat": events(
        {"choices": [{"delta": {"content": 'say "usage":{ and [DONE]'}, "finish_reason": None}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": ANSWERS["chat"][0]["usage"]},
        b"[DONE]",
    ),
    "responses": events({"type": "response.output_text.delta", "delta": "hi"}, {"type": "response.completed", "response": ANSWERS["responses"][0]}),
    "messages": events(
        {
            "type": "message_start",
            "message": {"usage": {"input_tokens": 30, "output_tokens": 1, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 10}},
        },
        {"type": "content_block_delta", "delta": {"text": "message_stop"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ),
    "gemini": events(
        {"candidates": [{"content": {}}], "usageMetadata": {"promptTokenCount": 100}},
        ANSWERS["gemini"][0],
    ),
}
STREAM_PATH = {"gemini": "/v1beta/models/m:streamGenerateContent?alt=sse&key=not-the-providers"}
PROTOCOLS = sorted(ANSWERS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_whole_answer_passes_as_it_is_and_is_counted(protocol: str) -> None:
    """Bytes are the provider's; usage is what it said."""
    body, usage = ANSWERS[protocol]
    async with bench(lambda request, n: whole(body), protocol) as gate:
        answer = await gate.ask(protocol)
    assert (answer.status_code, answer.content) == (200, json.dumps(body).encode())
    assert [(request.how, request.usage, request.status, request.tries) for request in gate.requests] == [(How.ANSWERED, usage, 200, 1)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("cut_at", [1, 7, 64, 10_000])
async def test_a_stream_passes_in_order_and_is_counted_however_it_is_cut_up(protocol: str, cut_at: int) -> None:
    """The agent that asked for usage gets every byte."""
    data = STREAMS[protocol]
    pieces = [data[at : at + cut_at] for at in range(0, len(data), cut_at)]
    async with bench(lambda request, n: stream(*pieces), protocol) as gate:
        answer = await gate.ask(protocol, stream=True, stream_options={"include_usage": True}, path=STREAM_PATH.get(protocol))
    assert answer.content == data
    assert [(request.how, request.usage) for request in gate.requests] == [(How.ANSWERED, ANSWERS[protocol][1])]


async def test_usage_that_the_agent_did_not_ask_for_is_counted_and_kept_from_it() -> None:
    """Chat streams have usage only for those who ask."""
    async with bench(lambda request, n: stream(STREAMS["chat"])) as gate:
        answer = await gate.ask(stream=True)
    assert json.loads(gate.stub.asked[0].body)["stream_options"] == {"include_usage": True}
    assert b'"prompt_tokens"' not in answer.content
    assert answer.content.endswith(b"data: [DONE]\n\n")
    assert gate.requests[0].usage == ANSWERS["chat"][1]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_provider_gets_its_own_model_parameters_and_key_and_nothing_of_the_agents(protocol: str) -> None:
    """The agent's token never leaves the gateway."""
    async with bench(lambda request, n: whole(ANSWERS[protocol][0]), protocol, params={"temperature": 0.25}) as gate:
        await gate.ask(protocol, odd=[1, {"a": None}])
    asked = gate.stub.asked[0]
    sent = json.loads(asked.body)
    assert sent["odd"] == [1, {"a": None}]
    assert (sent["generationConfig"] if protocol == "gemini" else sent)["temperature"] == 0.25
    assert "vendor/real-model" in (asked.target if protocol == "gemini" else sent["model"])
    assert any(value.endswith(secret) for _, value in asked.headers for secret in ENVIRONMENT.values())
    assert gate.seat.token not in str(attrs.asdict(asked))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("end", ["hung up", "ended early", "half an event"])
async def test_a_stream_that_is_cut_off_gets_a_proper_end(protocol: str, end: str) -> None:
    """Some agents loop for ever on a stream without an end."""
    first = STREAMS[protocol].split(b"\n\n")[0] + b"\n\n"
    pieces: list[Any] = {"hung up": [first, CUT], "ended early": [first], "half an event": [first, b'data: {"half', CUT]}[end]
    async with bench(lambda request, n: stream(*pieces), protocol) as gate:
        answer = await gate.ask(protocol, stream=True, path=STREAM_PATH.get(protocol))
    assert answer.content.startswith(first)
    assert b"half" not in answer.content
    tail = answer.content.removeprefix(first)
    assert b"error" in tail
    assert tail.endswith(b"\n\n")
    assert [(request.how, request.usage) for request in gate.requests] == [(How.PROVIDER, None)]
    assert gate.seat.trouble


async def test_a_provider_that_falls_silent_is_given_up(patient_clock: Any) -> None:
    """In a stream, with an event that says so."""
    first = STREAMS["responses"].split(b"\n\n")[0] + b"\n\n"
    async with bench(lambda request, n: stream(first, HANG), "responses", model_idle_seconds=30.0) as gate:
        answer = await gate.ask("responses", stream=True)
    assert answer.content.startswith(first)
    assert b"response.failed" in answer.content
    assert (gate.requests[0].how, gate.requests[0].usage) == (How.SILENT, None)
    assert gate.seat.silence(1e9)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_errors_have_the_protocols_shape(protocol: str) -> None:
    """A wrong token and an unknown model."""
    async with bench(lambda request, n: whole({}), protocol) as gate:
        token = await gate.ask(protocol, token="nobody's")
        path = "/v1beta/models/other:generateContent" if protocol == "gemini" else None
        model = await gate.ask(protocol, model="other", path=path)
    assert (token.status_code, model.status_code) == (401, 404)
    for answer in (token, model):
        error = answer.json()["error"]
        assert error["message"]
        assert {"chat": "code", "responses": "code", "messages": "type", "gemini": "status"}[protocol] in error
    assert gate.stub.asked == []
    assert [request.how for request in gate.requests] == [How.REFUSED]


async def test_gzip_that_nobody_asked_for_is_undone() -> None:
    """Some proxies send it all the same."""
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(json.dumps(ANSWERS["chat"][0]).encode()) + packer.flush()
    async with bench(lambda request, n: whole(packed, 200, "content-encoding: gzip")) as gate:
        answer = await gate.ask()
    assert answer.json() == ANSWERS["chat"][0]
    assert gate.requests[0].usage == ANSWERS["chat"][1]


HOSTILE = {
    "html": whole(b"<html>hello</html>", content_type="text/html"),
    "not HTTP": [b"SSH-2.0-OpenSSH\r\n\r\n", CUT],
    "endless headers": [b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 70_000 + b"\r\n", HANG],
    "nothing": [CUT],
    "strange coding": whole(b"{}", 200, "content-encoding: br"),
    "cut body": [b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", CUT],
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
async def test_what_is_no_answer_becomes_a_clear_error(name: str, patient_clock: Any) -> None:
    """After as many tries as any failure gets; the record has the cause."""
    async with bench(lambda request, n: HOSTILE[name]) as gate:
        answer = await gate.ask()
    assert answer.status_code == 502
    assert answer.json()["error"]["message"] == gate.requests[0].detail
    assert (gate.requests[0].how, gate.requests[0].tries) == (How.PROVIDER, 3)


async def test_lists_and_greetings_are_answered_by_the_gateway() -> None:
    """CLIs ask for them before anything else."""
    async with bench(lambda request, n: whole({})) as gate:
        headers = {"authorization": f"Bearer {gate.seat.token}"}
        listed = await gate.client.get(f"{gate.url}/v1/models", headers=headers)
        card = await gate.client.get(f"{gate.url}/models/m", headers=headers)
        other = await gate.client.get(f"{gate.url}/v1/models/zzz", headers=headers)
        greeting = await gate.client.head(f"{gate.url}/api/hello")
    assert [model["id"] for model in listed.json()["data"]] == ["m"]
    assert (card.json()["id"], other.status_code, greeting.status_code, greeting.content) == ("m", 404, 200, b"")
    assert gate.requests == []


async def test_a_protocol_that_the_provider_does_not_speak_is_refused() -> None:
    """With the reason, in the agent's protocol."""
    async with bench(lambda request, n: whole({}), "chat") as gate:
        answer = await gate.ask("messages")
    assert answer.status_code == 404
    assert "not messages" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000, 431),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", 413),
    ],
)
async def test_requests_that_are_none_get_an_answer_and_the_end(data: bytes, status: int, patient_clock: Any) -> None:
    """And harm nobody else."""
    async with bench(lambda request, n: whole(ANSWERS["chat"][0])) as gate:
        assert (await raw(gate, data)).startswith(b"HTTP/1.1 %d " % status)
        assert (await gate.ask()).status_code == 200


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_an_oversized_body_is_refused_in_the_agents_protocol(protocol: str) -> None:
    """Before it has come."""
    async with bench(lambda request, n: whole({}), protocol) as gate:
        path = STREAM_PATH.get(protocol, PATHS[protocol])
        answer = await raw(gate, f"POST {path} HTTP/1.1\r\ncontent-length: {1 << 30}\r\n\r\n".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert head.startswith(b"HTTP/1.1 413 ")
    assert "larger than 64 MiB" in error["message"]
    assert {"chat": "code", "responses": "code", "messages": "type", "gemini": "status"}[protocol] in error


PLAIN = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi" * 100}]}).encode()


@pytest.mark.parametrize(
    ("coding", "body", "status", "said"),
    [
        ("gzip", gzip.compress(PLAIN), 200, ""),
        ("deflate", zlib.compress(PLAIN), 200, ""),
        ("zstd", zstandard.compress(PLAIN), 200, ""),
        ("gzip", gzip.compress(PLAIN)[:-20], 400, "cut short"),
        ("gzip", PLAIN, 400, "cannot be unpacked"),
        ("zstd", PLAIN, 400, "cannot be unpacked"),
        ("gzip", gzip.compress(b" " * (65 << 20)), 400, "larger than 64 MiB when it is unpacked"),
        ("br", PLAIN, 415, "'br' is not supported"),
    ],
    ids=["gzip", "deflate", "zstd", "cut", "no gzip", "no zstd", "bomb", "unknown"],  # what gzip makes has the time in it
)
async def test_codings_of_requests_are_undone_or_refused(coding: str, body: bytes, status: int, said: str) -> None:
    """The provider gets the body as it is."""
    async with bench(lambda request, n: whole(ANSWERS["chat"][0])) as gate:
        headers = {"x-api-key": gate.seat.token, "content-encoding": coding}
        answer = await gate.client.post(gate.url + PATHS["chat"], content=body, headers=headers)
    assert answer.status_code == status
    if status == 200:
        assert json.loads(gate.stub.asked[0].body)["messages"] == json.loads(PLAIN)["messages"]
        assert gate.stub.asked[0].header("content-encoding") is None
    else:
        assert said in answer.json()["error"]["message"]
        assert gate.requests[0].how is How.REFUSED


async def test_pipelined_chunked_and_expecting_requests_are_understood() -> None:
    """Clients may send the next request before they have the answer."""
    async with bench(lambda request, n: whole(ANSWERS["chat"][0])) as gate:
        body = b'{"model":"m","messages":[]}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nx-api-key: {gate.seat.token}\r\n".encode()
        chunked = head + b"transfer-encoding: chunked\r\n\r\n5\r\n" + body[:5] + b"\r\n%x\r\n" % (len(body) - 5) + body[5:] + b"\r\n0\r\n\r\n"
        last = head + b"connection: close\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        answers = await raw(gate, chunked + last)
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert isinstance(gate.stub.asked[0], HttpRequest)
    assert [request.how for request in gate.requests] == [How.ANSWERED] * 2
