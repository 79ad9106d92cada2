"""What passes is recorded, and a recording answers as the models did: nothing else does, and what it does not have is told loudly."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import httpx
import pytest
import trio

from actors.gateway.gateway import Gateway, Options, gateway
from actors.gateway.interfaces import Caller, Operation, UpstreamRequest
from actors.gateway.recording import WireRecorder, recording
from actors.gateway.redact import SHOWN, Redactor
from actors.gateway.replay import Replay
from actors.gateway.requests import HttpRequest
from actors.gateway.seats import Seat
from scenario_store import wire_writer
from scenario_store.recording import Recording
from stamina.config.model import ModelConfig, Provider
from stamina.protocols import Protocol
from stamina.usage import How, ModelRequest, Usage
from tests.actors.gateway.stub import CUT, ENVIRONMENT, PATHS, PROVIDERS, Pieces, Stub, events, stream, whole
from tests.waiting import SECONDS, until_true

SECRET = ENVIRONMENT["OPENAI_API_KEY"]
USED = {"prompt_tokens": 1000, "completion_tokens": 100}
STREAMED = (events({"choices": [{"delta": {"content": "hel"}}]}), events({"choices": [{"delta": {"content": "lo"}}], "usage": USED}), b"data: [DONE]\n\n")


@attrs.define
class Lab:
    """A gateway that records or replays, and one scenario at it."""

    gate: Gateway
    url: str
    model: ModelConfig
    seat: Seat
    client: httpx.AsyncClient
    stub: Stub
    written: list[ModelRequest]

    async def ask(self, text: str = "hi", protocol: str = "chat", **members: Any) -> httpx.Response:
        body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}], **members}
        headers = {"authorization": f"Bearer {self.seat.token}"}
        return await self.client.post(self.url + PATHS[protocol], json=body, headers=headers)


@asynccontextmanager
async def lab(script: Any, folder: Path | None, *, replay: Path | None = None, **changes: Any) -> AsyncIterator[Lab]:
    """Records into one folder, or answers from another."""
    stub = Stub(script)
    written: list[ModelRequest] = []
    redactor = Redactor()
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, stub.serve, 0, host="127.0.0.1"))
        base = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
        model = ModelConfig("m", PROVIDERS["chat"], "vendor/real", 100_000, base, api_key_env="OPENAI_API_KEY", **changes)
        options = Options({"m": model}, write=lambda caller, request: written.append(request), environment=ENVIRONMENT, redactor=redactor)
        if replay is not None:
            options = attrs.evolve(options, upstreams=lambda model: Replay("old", lambda caller: replay, redactor), recorded=True)
        async with recording(lambda caller: folder or Path("/nonexistent"), redactor) as recorder:
            options = attrs.evolve(options, recorder=recorder if folder is not None else None)
            async with gateway(options) as gate, httpx.AsyncClient(timeout=None) as client:
                with gate.seat(Caller("cell", 1, 0), model) as seat:
                    seat.begin(0, 0, 0)
                    yield Lab(gate, gate.bind(), model, seat, client, stub, written)
        nursery.cancel_scope.cancel()


def nobody(request: HttpRequest, number: int) -> Pieces:
    raise AssertionError("a replay asks no model")


async def test_a_recording_answers_as_the_model_did(tmp_path: Path) -> None:
    """Whole answers, streams with their usage, and the provider's refusals; requests that were sent side by side may change places."""
    script = [whole({"usage": USED, "n": 0}), stream(*STREAMED), whole({"error": {"message": "too long"}}, 400), whole({"n": 3})]

    def asked(gate: Lab, names: list[str]) -> Any:
        return [(gate.ask, name, {"stream": True} if name == "streamed" else {}) for name in names]

    answers: dict[str, tuple[int, bytes]] = {}
    async with lab(lambda request, n: script[n], tmp_path) as gate:
        for ask, name, members in asked(gate, ["whole", "streamed", "refused", "last"]):
            answer = await ask(name, **members)
            answers[name] = answer.status_code, answer.content
        used = [request.usage for request in gate.written]
    async with lab(nobody, None, replay=tmp_path) as again:
        for ask, name, members in asked(again, ["streamed", "whole", "last", "refused"]):
            answer = await ask(name, **members)
            assert (answer.status_code, answer.content) == answers[name]
        assert again.stub.asked == []
        assert sorted(map(str, used)) == sorted(str(request.usage) for request in again.written)
    recorded = Recording.read(tmp_path)
    bodies = [json.loads(recorded.body(exchange)) for exchange in recorded.exchanges]
    assert [body["messages"][0]["content"] for body in bodies] == ["whole", "streamed", "refused", "last"]
    assert bodies[0]["model"] == "vendor/real"
    kept = recorded.answer(recorded.exchanges[1])
    assert b"".join(data for _, data in kept.pieces) == b"".join(STREAMED)
    assert kept.end is not None
    assert (kept.end.how, kept.end.usage) == (How.ANSWERED, Usage(1000, 100))


async def test_a_miss_names_place_and_first_difference(tmp_path: Path) -> None:
    """It ends the scenario, not as a fault of the agent: the seat knows."""
    async with lab(lambda request, n: whole({"n": n}), tmp_path) as gate:
        await gate.ask("the first request", tools=[{"name": "shell", "limit": 5}])
    async with lab(nobody, None, replay=tmp_path) as again:
        answer = await again.ask("the first request", tools=[{"name": "shell", "limit": 6}])
        assert again.seat.missed == answer.json()["error"]["message"]
        assert again.seat.missed == (
            "replay of old, scenario cell/1/0, turn 0, attempt 0, call 0, request 0: it asks something else than the recorded request 0: "
            "$.tools[0].limit was 5, is 6"
        )
        with trio.fail_after(SECONDS):
            await again.seat.wait_spent()
    async with lab(nobody, None, replay=tmp_path) as more:
        assert (await more.ask("the first request", tools=[{"name": "shell", "limit": 5}])).status_code == 200
        await more.ask("the first request", tools=[{"name": "shell", "limit": 5}])
        assert "no more of this call than the 1 requests" in (more.seat.missed or "")
        assert [request.tries for request in more.written] == [1, 1]
    async with lab(nobody, None, replay=tmp_path / "nowhere") as none:
        await none.ask()
        assert "nothing was recorded for this scenario" in (none.seat.missed or "")


async def test_failures_are_replayed_at_once_and_nobody_is_waited_for(tmp_path: Path, patient_clock: Any) -> None:
    """A provider that failed in the recorded run fails again, without an outage of its own; a call that was cut short there ends there."""
    script = [*[whole({"error": {"message": "oops"}}, 500)] * 3, stream(STREAMED[0], CUT), whole({"n": 5})]
    async with lab(lambda request, n: script[n], tmp_path) as gate:
        first = [await gate.ask("one"), await gate.ask("two", stream=True)]
        gate.seat.begin(0, 0, 1)
        await gate.ask("one")
    async with lab(nobody, None, replay=tmp_path) as again:
        started = trio.current_time()
        second = [await again.ask("one"), await again.ask("two", stream=True)]
        assert (await again.ask("three")).status_code == 502
        assert again.seat.missed is None
        assert again.seat.trouble == "as recorded: the call was cut short here, and made again"
        again.seat.begin(0, 0, 1)
        assert (await again.ask("one")).json() == {"n": 5}
        assert trio.current_time() - started < 1
        assert again.gate.down(again.model) is None
    assert [answer.status_code for answer in first] == [answer.status_code for answer in second] == [500, 200]
    assert [(request.how, request.tries) for request in again.written][:2] == [(How.PROVIDER, 1), (How.PROVIDER, 1)]


async def test_recordings_hold_no_secrets(tmp_path: Path) -> None:
    """Also where one comes in two pieces, or stands in a request or a header."""
    half = len(SECRET) // 2
    split = stream(b'data: {"a": "' + SECRET[:half].encode(), SECRET[half:].encode() + b'"}\n\n', *STREAMED)
    encoded = base64.b64encode(f"Bearer {SECRET}".encode()).decode()
    script = [split, whole({"error": {"message": encoded}}, 400, f"x-request-id: {SECRET}", "set-cookie: session=1")]
    async with lab(lambda request, n: script[n], tmp_path) as gate:
        one = await gate.ask(f"do you know {SECRET}?", stream=True)
        two = await gate.ask("again")
    assert SECRET not in one.text + two.text + str(two.headers)
    recorded = Recording.read(tmp_path)
    out = str([(exchange, recorded.body(exchange), recorded.answer(exchange)) for exchange in recorded.exchanges])
    assert SECRET not in out
    assert encoded[12:40] not in out
    assert "set-cookie" not in out
    assert out.count(SHOWN) == 5
    async with lab(nobody, None, replay=tmp_path) as again:
        assert (await again.ask(f"do you know {SECRET}?", stream=True)).content == one.content


async def test_a_disk_that_is_full_harms_no_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The recording says what it lacks, and a replay repeats it."""

    def full(descriptor: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    async with lab(lambda request, n: whole({"n": n}), tmp_path) as gate:
        assert (await gate.ask("first")).json() == {"n": 0}
        recorder = gate.gate._options.recorder
        assert isinstance(recorder, WireRecorder)
        await until_true(lambda: recorder.waiting == 0 and len(gate.written) == 1)
        with monkeypatch.context() as patched:
            patched.setattr(wire_writer, "write_all", full)
            assert (await gate.ask("lost")).json() == {"n": 1}
            await until_true(lambda: recorder.waiting == 0 and len(gate.written) == 2)
        assert (await gate.ask("third")).json() == {"n": 2}
    recorded = Recording.read(tmp_path)
    assert [exchange.head.number for exchange in recorded.exchanges] == [0, 2]
    assert recorded.lost == 1


async def test_a_disk_that_is_slow_costs_recordings_and_no_memory(tmp_path: Path) -> None:
    """What does not fit into the queue is dropped as a whole, and counted."""
    recorder = WireRecorder(lambda caller: tmp_path, Redactor(), queue_bytes=1000)
    async with trio.open_nursery() as nursery:
        tape = recorder.begin(attrs.evolve(request(), body=b"x" * 2000))
        tape.received(b"never")
        fine = recorder.begin(request())
        fine.answered(200, ())
        recorder.left(request().caller)
        nursery.start_soon(recorder.run)
        recorder.close()
    recorded = Recording.read(tmp_path)
    assert (recorded.lost, len(recorded.exchanges)) == (1, 1)


def request() -> UpstreamRequest:
    model = ModelConfig("m", Provider.OPENAI, "id", 9000)
    return UpstreamRequest(Caller("c", 1, 0), 0, model, Protocol.CHAT, Operation.GENERATE, "/v1/chat/completions", (), b"{}", False)
