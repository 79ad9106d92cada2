"""What a provider, or whoever sits at its address, may answer: a clear error at worst, never a key, a wrong count or another's answer."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from actors.gateway import events as events_module
from actors.gateway.events import Whole, payload
from actors.gateway.events import events as cut_events
from actors.gateway.judging import PATIENCE, judge, retry_after
from actors.gateway.readers import StreamReader, message_of, parsed, usage_in
from scenario_store.usage import NAME, append_request, read_requests
from stamina.protocols import Protocol
from stamina.usage import How, Usage
from tests.actors.gateway.stub import CUT, HANG, PATHS, Pieces, bench, events, hang_up_after, stream, whole
from tests.waiting import SECONDS, until_true

GOOD = {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}
DATA = json.dumps(GOOD).encode()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("body", [b"<html>", DATA])
async def test_redirects_are_not_followed(status: int, body: bytes, patient_clock: Any) -> None:
    """A key goes to the host that it is for, and to no other; the message says what to correct."""
    asked: list[bytes] = []

    async def other(connection: trio.SocketStream) -> None:
        asked.append(await connection.receive_some(65536))

    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, other, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        async with bench(lambda request, n: whole(body, status, f"location: http://127.0.0.1:{port}/v1")) as gate:
            answer = await gate.ask()
        nursery.cancel_scope.cancel()
    assert answer.status_code == 502
    assert f"the provider is elsewhere (status {status}): http://127.0.0.1:{port}/v1; correct base_url" in answer.text
    assert "location" not in answer.headers
    assert asked == []


async def test_answers_that_come_before_the_answer_are_passed_over() -> None:
    """100 and 103, also one byte at a time; what changes the protocol is a failure."""
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    pieces: Pieces = [bytes([byte]) for byte in hints + whole(GOOD)[0]]
    async with bench(lambda request, n: pieces) as gate:
        answer = await gate.ask()
    assert (answer.status_code, answer.json()) == (200, GOOD)
    assert "link" not in answer.headers


async def test_a_change_of_protocol_is_a_failure(patient_clock: Any) -> None:
    async with bench(lambda request, n: [b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n", HANG]) as gate:
        answer = await gate.ask()
    assert (answer.status_code, "switches to another protocol" in answer.text) == (502, True)


@pytest.mark.parametrize("extra", [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", b"garbage", b"\r\n\r\n"])
async def test_what_follows_an_answer_is_no_answer_to_the_next_request(extra: bytes) -> None:
    """A wrong length, or an answer too many, must not become another agent's."""
    async with bench(lambda request, n: [whole({**GOOD, "n": n})[0] + extra]) as gate:
        answers = [(await gate.ask()).json()["n"] for _ in range(3)]
    assert answers == [0, 1, 2]


async def test_a_length_that_is_too_small_cuts_the_answer_off(patient_clock: Any) -> None:
    """Half a JSON object is none."""
    async with bench(lambda request, n: [whole(GOOD)[0].replace(b"content-length: %d" % len(DATA), b"content-length: 9")]) as gate:
        answer = await gate.ask()
    assert answer.status_code == 502
    assert "instead of JSON" in answer.text


async def test_a_bomb_of_gzip_goes_off_within_bounds(patient_clock: Any) -> None:
    """An answer is counted as it is unpacked."""
    bomb = gzip.compress(bytes(80 << 20))
    async with bench(lambda request, n: whole(bomb, 200, "content-encoding: gzip")) as gate:
        answer = await gate.ask()
    assert answer.status_code == 502
    assert "larger than 64 MiB" in answer.text


async def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a proper end for the agent."""
    monkeypatch.setattr(events_module, "MAX_EVENT", 100_000)
    async with bench(lambda request, n: stream(events({"choices": []}), b"data: ", *[b"x" * 5000] * 30)) as gate:
        answer = await gate.ask(stream=True)
    assert answer.content.startswith(events({"choices": []}) + b'data: {"error"')
    assert answer.content.endswith(b"data: [DONE]\n\n")
    assert gate.requests[0].how is How.PROVIDER


async def test_cookies_are_neither_kept_nor_passed_on() -> None:
    """They would tie one scenario's requests to another's."""
    async with bench(lambda request, n: whole(GOOD, 200, "set-cookie: a=b", "alt-svc: h3", "x-ratelimit-remaining-tokens: 5")) as gate:
        first = await gate.ask()
        await gate.ask()
    assert not {"set-cookie", "alt-svc", "x-ratelimit-remaining-tokens"} & set(first.headers)
    assert all(request.header("cookie") is None for request in gate.stub.asked)


COUNTS = [-1, 1.5, "12", None, True, [], {}, 10**30, float("nan"), float("inf")]
STRANGE = {
    Protocol.CHAT: [{"usage": {"prompt_tokens": count, "completion_tokens": 3}} for count in COUNTS] + [{"usage": {"total_tokens": 9}}],
    Protocol.RESPONSES: [{"usage": {"input_tokens": 7, "output_tokens": count}} for count in COUNTS] + [{"usage": []}],
    Protocol.MESSAGES: [{"usage": {"input_tokens": count, "output_tokens": 3}} for count in COUNTS] + [{"usage": "none"}],
    Protocol.GEMINI: [{"usageMetadata": {"promptTokenCount": count}} for count in COUNTS] + [{"usageMetadata": {"totalTokenCount": 9}}],
}


@pytest.mark.parametrize("protocol", list(Protocol))
def test_a_count_that_is_none_makes_usage_unknown(protocol: Protocol) -> None:
    """And not nothing: nobody knows what it cost."""
    for body in STRANGE[protocol]:
        assert usage_in(protocol, json.dumps(body).encode()) is None, body


def test_counts_that_can_be_read_are() -> None:
    """Whole floats are counts; parts are never more than their whole; a count of thoughts alone is enough for Google."""
    chat = {
        "prompt_tokens": 12.0,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 99},
        "completion_tokens_details": {"reasoning_tokens": -4},
    }
    assert usage_in(Protocol.CHAT, json.dumps({"usage": chat}).encode()) == Usage(12, 3, 12)
    thinking = {"promptTokenCount": 5, "thoughtsTokenCount": 7}
    assert usage_in(Protocol.GEMINI, json.dumps({"usageMetadata": thinking}).encode()) == Usage(5, 7, 0, 0, 7)


async def test_what_is_no_json_is_never_written(tmp_path: Path) -> None:
    """A provider's own object is kept as it is, but for numbers that no JSON has."""
    body = b'{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1, "cost": NaN, "more": [-Infinity, {"x": 1e999}]}}'
    async with bench(lambda request, n: whole(body)) as gate:
        assert (await gate.ask()).status_code == 200
    append_request(tmp_path, gate.requests[0])

    def refuse(name: str) -> None:
        raise AssertionError(name)

    json.loads((tmp_path / NAME).read_text(), parse_constant=refuse)
    [read] = read_requests(tmp_path)
    assert read.usage == Usage(5, 1)
    assert read.usage is not None
    assert read.usage.raw["more"] == ["-inf", {"x": "inf"}]


@pytest.mark.parametrize("protocol", ["chat", "messages"])
@pytest.mark.parametrize("ending", [b"\r\n", b"\r", b"\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("cut_at", [1, 5, 10_000])
async def test_streams_of_any_line_ending_are_counted(protocol: str, ending: bytes, mark: bytes, cut_at: int) -> None:
    """With a mark of UTF-8 in front or without; every byte passes."""
    values: dict[str, list[Any]] = {
        "chat": [{"choices": [{"delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": GOOD["usage"]}, b"[DONE]"],
        "messages": [
            {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
            {"type": "message_delta", "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ],
    }
    data = mark + events(*values[protocol]).replace(b"\n", ending)
    pieces = [data[at : at + cut_at] for at in range(0, len(data), cut_at)]
    async with bench(lambda request, n: stream(*pieces), protocol) as gate:
        answer = await gate.ask(protocol, stream=True, stream_options={"include_usage": True})
    assert answer.content == data
    assert [(request.how, request.usage) for request in gate.requests] == [(How.ANSWERED, Usage(10, 1))]


@given(
    st.lists(st.sampled_from([b"data: x", b"\n", b"\n", b"\r\n", b"\r\n", b"\r", b"id: 1\r\n", b"\xef\xbb\xbf", b": note\n", b"a"]), max_size=30),
    st.integers(1, 7),
)
def test_a_stream_is_cut_behind_whole_events_alone(parts: list[bytes], size: int) -> None:
    """However it arrives; nothing is lost, added or moved."""
    data, whole_ = b"".join(parts), Whole()
    out = [whole_.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert b"".join(out) + whole_.rest == data
    assert all(not piece or piece.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")) for piece in out)
    assert not any(blank in whole_.rest for blank in (b"\n\n", b"\r\n\r\n", b"\r\r"))


WORDS = [
    "type",
    "usage",
    "error",
    "message",
    "choices",
    "finish_reason",
    "response",
    "usageMetadata",
    "candidates",
    "finishReason",
    "promptFeedback",
    "blockReason",
    "delta",
    "prompt_tokens",
    "completion_tokens",
    "input_tokens",
    "output_tokens",
    "prompt_tokens_details",
    "cached_tokens",
    "promptTokenCount",
    "thoughtsTokenCount",
]
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "stop", "error", "message_delta", "message_start", "response.completed"])
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4), max_leaves=12)


@given(st.sampled_from(list(Protocol)), st.lists(VALUES, max_size=4), st.booleans())
def test_no_event_breaks_the_reader(protocol: Protocol, values: list[Any], strip: bool) -> None:
    """Of any shape."""
    reader = StreamReader(protocol, strip=strip)
    for value in values:
        one = b"data: " + json.dumps(value).encode() + b"\n\n"
        assert reader.feed(one) in (one, b"")
        usage_in(protocol, json.dumps(value).encode())
        message_of(value)
    if reader.usage is not None:
        counts = reader.usage
        assert 0 <= counts.cached + counts.cache_writes <= counts.input
        assert 0 <= counts.reasoning <= counts.output


@given(st.integers(100, 999), st.text(max_size=40), st.binary(max_size=40))
def test_no_head_breaks_the_judge(status: int, header: str, body: bytes) -> None:
    """Whatever it says of the time to wait."""
    headers = (("retry-after", header), ("location", header))
    judge(status, headers, body, 0)
    assert 0 <= retry_after(headers, 10**6) <= PATIENCE


@pytest.mark.parametrize("value", ["Fri, 31 Dec 99999999999 23:59:59 GMT", "-5", "1e400", "9" * 400, "nan", "Mon, 00 Jan 0000 00:00:00 GMT", "soon"])
def test_times_to_wait_are_within_reason(value: str) -> None:
    for name in ("retry-after", "retry-after-ms"):
        assert 0 <= retry_after(((name, value),), 3) <= PATIENCE


async def test_a_stream_that_never_ends_ends_with_its_agent() -> None:
    """The provider's connection is given back at once; what the answer cost is not known."""
    gone = trio.Event()

    async def endless(connection: trio.SocketStream) -> None:
        await connection.receive_some(65536)
        try:
            await connection.send_all(stream(events({"choices": []}), HANG)[0])
            while True:
                await connection.send_all(b"5\r\n: x\n\n\r\n")
                await trio.sleep(0.01)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            gone.set()

    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, endless, 0, host="127.0.0.1"))
        async with bench(lambda request, n: [CUT]) as gate:
            base = f"http://127.0.0.1:{listener.socket.getsockname()[1]}/v1"
            model = attrs.evolve(gate.model, name="m", base_url=base)
            with gate.gate.seat(attrs.evolve(gate.seat.caller, seed=7), attrs.evolve(model, name="endless")) as seat:
                seat.begin(0, 0, 0)
                body = {"model": "endless", "stream": True, "messages": []}
                await hang_up_after(b": x", gate.url, seat.token, PATHS["chat"], body)
                with trio.fail_after(SECONDS):
                    await gone.wait()
                await until_true(lambda: gate.requests)
        nursery.cancel_scope.cancel()
    assert [(request.how, request.usage) for request in gate.requests] == [(How.ABANDONED, None)]


def test_events_are_what_their_lines_say() -> None:
    """Several lines of data are one text; a mark of UTF-8 is no part of the first."""
    found = list(cut_events(b"\xef\xbb\xbfdata: a\r\ndata: b\r\n\r\n: note\r\n\r\ndata:c\r\n\r\n"))
    assert [payload(one) for one in found] == [b"a\nb", b"", b"c"]
    assert parsed(b"\xef\xbb\xbf{}") in (None, {})
