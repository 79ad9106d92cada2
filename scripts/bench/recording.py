"""The recorder: 100 turns of a conversation that grows to 150,000 tokens, every request of it sent whole, as CLIs do.

Prints what was sent and what is kept, the growth from turn to turn against what was new in it, the processor time of recording, and how long the event loop
was held up while it went on.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from actors.gateway.interfaces import Caller, ExchangeEnd, Operation, UpstreamRequest
from actors.gateway.recording import WireRecorder, recording
from actors.gateway.redact import Redactor
from scenario_store.recording import Recording
from scenario_store.wire import NAME
from stamina.config.model import ModelConfig, Provider
from stamina.protocols import Protocol
from stamina.usage import How, Usage

TOKEN_BYTES: Final = 4
EVENT_BYTES: Final = 24
MODEL: Final = ModelConfig("m", Provider.ANTHROPIC, "m", 200_000)
WORDS: Final = Path(__file__).read_text().split()


def text(chance: random.Random, size: int) -> str:
    """Words of code, so many characters."""
    out = ""
    while len(out) < size:
        out += WORDS[int(chance.random() * len(WORDS))] + (" " if chance.random() < 0.8 else "\n    ")
    return out[:size]


@attrs.define
class Conversation:
    """A coding agent's: an answer with a tool call and its result are new in each request; the mark for the provider's cache moves along."""

    chance: random.Random
    grows: int
    messages: list[dict[str, Any]] = attrs.field(factory=list)
    tools: list[dict[str, Any]] = attrs.field(factory=list)
    new: int = 0

    def request(self) -> bytes:
        """The next request's body."""
        mark = {"cache_control": {"type": "ephemeral"}}
        last = {**self.messages[-1], "content": [{**self.messages[-1]["content"][0], **mark}]}
        body = {"model": "m", "max_tokens": 32000, "messages": [*self.messages[:-1], last], "tools": self.tools, "stream": True}
        return json.dumps(body).encode()

    def goes_on(self) -> bytes:
        """An answer, and what the tool gave back; the answer's bytes."""
        said, got = text(self.chance, self.grows // 3), text(self.chance, self.grows * 2 // 3)
        self.new += len(said) + len(got)
        self.messages.append({"role": "assistant", "content": [{"type": "text", "text": said}]})
        self.messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{len(self.messages)}", "content": got}]})
        parts = [said[at : at + EVENT_BYTES] for at in range(0, len(said), EVENT_BYTES)]
        deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}} for part in parts]
        return b"".join(b"event: content_block_delta\ndata: " + json.dumps(delta).encode() + b"\n\n" for delta in deltas)


async def heartbeat(gaps: list[float]) -> None:
    """Notes how late the loop is, each time."""
    while True:
        before = time.perf_counter()
        await trio.sleep(0.001)
        gaps.append(time.perf_counter() - before - 0.001)


def one(recorder: WireRecorder, turn: int, number: int, body: bytes, answer: bytes) -> None:
    """One exchange passes."""
    caller = Caller("bench", 0, 0, turn)
    tape = recorder.begin(UpstreamRequest(caller, number, MODEL, Protocol.MESSAGES, Operation.GENERATE, "/v1/messages", (), body, stream=True))
    tape.answered(200, (("content-type", "text/event-stream"),))
    for event in answer.split(b"\n\n"):
        tape.received(event + b"\n\n")
    tape.ended(ExchangeEnd(How.ANSWERED, Usage(len(body) // TOKEN_BYTES, 100)))


def size_of(path: Path) -> int:
    """Bytes of a file."""
    return path.stat().st_size


async def drained(recorder: WireRecorder) -> None:
    """Until all is written."""
    while recorder.waiting:  # noqa: ASYNC110 (it tells nobody)
        await trio.sleep(0.0005)


async def play(recorder: WireRecorder, conversation: Conversation, turns: int, requests: int, path: Path) -> tuple[list[int], list[int], list[int]]:
    """Every turn; what was sent in each, what was new, and how large the file was after it."""
    sent, new, sizes = [], [], []
    for turn in range(turns):
        sent.append(0)
        before = conversation.new
        for number in range(requests):
            body = conversation.request()
            answer = conversation.goes_on()
            one(recorder, turn, turn * requests + number, body, answer)
            sent[-1] += len(body) + len(answer)
            await drained(recorder)
        new.append(conversation.new - before)
        sizes.append(size_of(path))
    return sent, new, sizes


async def measure(turns: int, requests: int, tokens: int) -> None:
    """Play it all, and read it back."""
    chance = random.Random(1)
    grows = tokens * TOKEN_BYTES // (turns * requests)
    conversation = Conversation(chance, grows, [{"role": "user", "content": [{"type": "text", "text": text(chance, 8000)}]}])
    conversation.tools = [{"name": f"tool{number}", "description": text(chance, 2000)} for number in range(15)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        async with recording(lambda caller: Path(folder), Redactor(["a-planted-key-0123456789"])) as recorder:
            spent = time.process_time() - time.thread_time()
            sent, new, sizes = await play(recorder, conversation, turns, requests, path)
            spent = time.process_time() - time.thread_time() - spent
        started = time.process_time()
        read = Recording.read(Path(folder))
        bodies = sum(len(read.body(exchange)) for exchange in read.exchanges)
        reading = time.process_time() - started
    grown = [after - before for before, after in zip([0, *sizes], sizes, strict=False)]
    mb = sum(sent) / 1e6
    print(f"{turns} turns of {requests} requests, to {tokens} tokens: {mb:.0f} MB sent, {sum(new) / 1e6:.2f} MB of it new, {sizes[-1] / 1e6:.2f} MB kept")
    for low in range(0, turns, max(1, turns // 5)):
        some = slice(low, low + max(1, turns // 5))
        print(
            f"turns {low:3} to {some.stop - 1:3}: a turn sends {sum(sent[some]) / len(sent[some]) / 1e3:6.0f} kB, "
            f"has {sum(new[some]) / len(new[some]) / 1e3:4.1f} kB new, and adds {sum(grown[some]) / len(grown[some]) / 1e3:4.1f} kB to the file"
        )
    print(f"processor time of the recorder's thread: {spent:.1f} s, {spent / mb * 1e3:.1f} ms for each MB sent")
    await lateness(conversation)
    print(f"read back: {bodies / 1e6:.0f} MB of requests, exact, in {reading:.1f} s of processor time")


async def lateness(conversation: Conversation) -> None:
    """How late the loop is while full-size requests are recorded one after the other, and while nothing is."""
    bodies = [(conversation.request(), conversation.goes_on()) for _ in range(10)]
    with tempfile.TemporaryDirectory() as folder:
        async with trio.open_nursery() as nursery, recording(lambda caller: Path(folder), Redactor(["a-planted-key-0123456789"])) as recorder:
            gaps: list[float] = []
            nursery.start_soon(heartbeat, gaps)
            await trio.sleep(3)
            told("at rest", gaps)
            for number in range(20 * len(bodies)):
                body, answer = bodies[number % len(bodies)]
                one(recorder, 0, number, body, answer)
                await drained(recorder)
            told(f"while it records {20 * len(bodies)} requests of {len(bodies[0][0]) / 1e3:.0f} kB", gaps)
            nursery.cancel_scope.cancel()


def told(what: str, gaps: list[float]) -> None:
    """Print how late the loop was, and begin anew."""
    beats = sorted(gaps)
    gaps.clear()
    print(f"event loop late {what}: p50 {beats[len(beats) // 2] * 1e3:.1f} ms, p99 {beats[int(len(beats) * 0.99)] * 1e3:.1f} ms, most {beats[-1] * 1e3:.1f} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--requests", type=int, default=10, help="of a turn")
    parser.add_argument("--tokens", type=int, default=150_000)
    given = parser.parse_args()
    trio.run(measure, given.turns, given.requests, given.tokens)
