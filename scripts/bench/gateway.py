"""The gateway's relay: many streams of small events at once, with the provider and the agents in processes of their own.

Prints the gateway's share of a core, the latency that it adds, its memory for each stream, and what was lost or out of order (nothing may be). All clocks are
the host's monotonic one, so an event's age can be taken in another process.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import secrets
import time
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from typing import Final

import psutil
import trio

from actors.gateway.gateway import Options, gateway
from actors.gateway.interfaces import Caller
from stamina.config.model import ModelConfig, Provider

EVENT: Final = '{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"number %d at %d, and words"},"finish_reason":null}]}'
LAST: Final = (
    b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9}}\n\ndata: [DONE]\n\n'
)
KEYS: Final = {name: secrets.token_urlsafe(48) for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")}
"""Every event is searched for these, in all forms."""
HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """A chunk of an HTTP body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


async def stub(stream: trio.SocketStream, events: int, rate: float) -> None:
    """The provider: waits for a request, then sends events in step with the clock."""
    received = b""
    while b'"stream"' not in received:
        received += await stream.receive_some(65536)
    await stream.send_all(HEAD)
    start = time.monotonic()
    for number in range(events):
        await trio.sleep(max(0.0, start + number / rate - time.monotonic()))
        await stream.send_all(chunk(b"data: " + (EVENT % (number, time.monotonic_ns())).encode() + b"\n\n"))
    await stream.send_all(chunk(LAST) + b"0\r\n\r\n")


def provider(pipe: Connection, events: int, rate: float) -> None:
    """The provider's process; tells its port."""

    async def main() -> None:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=2048)
        pipe.send(listeners[0].socket.getsockname()[1])
        await trio.serve_listeners(lambda stream: stub(stream, events, rate), listeners)

    trio.run(main)


async def agent(port: int, token: str, ages: list[float], faults: list[str]) -> None:
    """An agent: one streamed request, each event checked and dated."""
    body = json.dumps({"model": "m", "stream": True, "stream_options": {"include_usage": True}, "messages": []}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n\r\n"
    sock = trio.socket.socket()
    await sock.connect(("127.0.0.1", port))
    await sock.send(head.encode() + body)
    rest, expected, ended, done = b"", 0, False, False
    while not ended:
        data = await sock.recv(65536)
        now = time.monotonic_ns()
        done |= b"[DONE]" in rest + data
        ended = not data or (done and data.endswith(b"0\r\n\r\n"))
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if b"number " not in line:
                continue
            words = line.split(b"number ", 1)[1].split(b",", 1)[0].split()
            if int(words[0]) != expected:
                faults.append(f"expected event {expected}, got {words[0].decode()}")
            expected = int(words[0]) + 1
            ages.append((now - int(words[2])) / 1e6)
    faults.extend([] if done else ["a stream without its end"])
    ages.append(-float(expected))


def agents(pipe: Connection, port: int, tokens: list[str]) -> None:
    """The agents' process; tells what came."""

    async def main() -> None:
        ages: list[float] = []
        faults: list[str] = []
        async with trio.open_nursery() as nursery:
            for token in tokens:
                nursery.start_soon(agent, port, token, ages, faults)
                await trio.sleep(1 / 300)
        pipe.send((ages, faults))

    trio.run(main)


async def measure(streams: int, events: int, rate: float) -> None:
    """Play it all."""
    spawn = multiprocessing.get_context("spawn")
    near, far = spawn.Pipe()
    upstream = spawn.Process(target=provider, args=(far, events, rate), daemon=True)
    upstream.start()
    behind = near.recv()
    direct = spawn.Process(target=agents, args=(far, behind, ["none"] * streams), daemon=True)
    direct.start()
    alone = percentile((await trio.to_thread.run_sync(near.recv))[0], 0.99)
    print(f"without the gateway: p99 {alone:.1f} ms")
    model = ModelConfig("m", Provider.OPENAI, "m", 100_000, base_url=f"http://127.0.0.1:{behind}/v1", max_in_flight=streams)
    async with gateway(Options({"m": model}, environment=KEYS)) as gate, AsyncExitStack() as seats:
        port = int(gate.bind().rpartition(":")[2])
        tokens = [seats.enter_context(gate.seat(Caller("bench", number, 0), model)).token for number in range(streams)]
        here = psutil.Process()
        before, cpu, start = here.memory_info().rss, here.cpu_times(), time.monotonic()
        clients = spawn.Process(target=agents, args=(far, port, tokens), daemon=True)
        clients.start()
        most = before
        while not near.poll():
            await trio.sleep(0.25)
            most = max(most, here.memory_info().rss)
        ages, faults = near.recv()
        spent = here.cpu_times()
        report(streams, events, rate, ages, faults, spent.user + spent.system - cpu.user - cpu.system, time.monotonic() - start, (most - before) / streams)
    upstream.terminate()


def percentile(ages: list[float], share: float) -> float:
    """The age that this share of events stays below."""
    known = sorted(age for age in ages if age >= 0)
    return known[int(len(known) * share)]


def report(streams: int, events: int, rate: float, ages: list[float], faults: list[str], cpu: float, wall: float, memory: float) -> None:
    """Print the figures."""
    got = -sum(age for age in ages if age < 0)
    print(f"{streams} streams of {events} events at {rate:g} a second: {got:.0f} of {streams * events} came, {len(faults)} faults {faults[:3]}")
    share, each = cpu / (events / rate), cpu / (streams * events) * 1e6
    print(f"gateway: {share:.2f} cores while the events flow ({cpu:.1f} s of CPU in {wall:.1f} s), {each:.0f} µs an event")
    middle, high, most = percentile(ages, 0.5), percentile(ages, 0.99), max(ages)
    print(f"age of an event at the agent (provider, gateway and agent together): p50 {middle:.1f} ms, p99 {high:.1f} ms, most {most:.1f} ms")
    print(f"memory: {memory / 1000:.0f} kB a stream")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=300)
    parser.add_argument("--events", type=int, default=500)
    parser.add_argument("--rate", type=float, default=50.0)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    trio.run(measure, given.streams, given.events, given.rate)
