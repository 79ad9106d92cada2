"""What a suite costs: the tester beside pytest + requests, against four servers; and the event loop with hundreds of suites in one process.

    scripts/bench/tester.py [--peer-python PYTHON] [--node-modules DIR] [--runs 5] [--peer-runs 2] [--suites 300]

The peer plays the same cases, each a test function, over one requests.Session (the quickest way to use it). Flask, pytest and requests come from an
environment of their own, Express from a folder of its own:

    python -m venv /tmp/bench && /tmp/bench/bin/pip install -r requirements/bench.in     then --peer-python /tmp/bench/bin/python
    mkdir /tmp/node && npm install --prefix /tmp/node express                            then --node-modules /tmp/node/node_modules

What is missing is left out, and the output says so. CPU is user + system of the client's process, or of the server's; pytest's start and collection
are not counted (measured on their own and taken off).
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import psutil
import trio

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from actors.tester import SuiteRun, TesterLimits, time_suite
from stamina.exchange import Answer, Json, NoResponse, Request
from stamina.suite import Case, Step, Suite

SERVERS = Path(__file__).parent / "servers"
CASES = 170
PEER_SECONDS = 300
LIMITS = TesterLimits(answer_seconds=30)


@attrs.frozen
class Replies:
    """Expects a status and a JSON value."""

    status: int
    value: Json

    def judge(self, request: Request, answer: Answer) -> str | None:
        """None when it is so."""
        if isinstance(answer, NoResponse):
            return answer.detail
        if answer.status != self.status:
            return f"expected {self.status}, got {answer.status}"
        return None if answer.json == self.value else f"expected {self.value}, got {answer.body[:300]!r}"


def case(number: int) -> Case:
    """Reset, create, read, change, read again: five requests."""
    thing = {"id": f"thing-{number}", "name": "x" * (number % 30), "age": number, "weight": number / 4, "tags": ["a", "b", "c"], "owner": None}
    changed = thing | {"age": number + 1, "owner": "someone"}
    path = f"/thing/{thing['id']}"
    steps = (
        Step(Request("POST", "/reset"), Replies(200, {}), setup=True),
        Step(Request("POST", "/thing", thing), Replies(201, thing)),
        Step(Request("GET", path), Replies(200, thing)),
        Step(Request("PATCH", path, {"age": number + 1, "owner": "someone"}), Replies(200, changed)),
        Step(Request("GET", path), Replies(200, changed)),
    )
    return Case(f"thing_{number}", "A thing is created and changed", "crud", ("H1",), ("entity", "Thing"), 0, steps)


SUITE = Suite(tuple(case(number) for number in range(CASES)))


@attrs.frozen
class Cost:
    """Of one suite: CPU seconds of the client and of the server, wall seconds."""

    client: float
    server: float
    wall: float


@attrs.frozen
class Subject:
    """A server to play against: its name, the command without the port, and what its environment needs."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]


@contextmanager
def running(subject: Subject) -> Iterator[tuple[psutil.Process, tuple[str, int]]]:
    """The server for the length of the block."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address: tuple[str, int] = probe.getsockname()
    process = subprocess.Popen([*subject.command, str(address[1])], env=os.environ | subject.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(address, process)
        yield psutil.Process(process.pid), address
    finally:
        process.kill()
        process.wait()


def wait_for(address: tuple[str, int], process: subprocess.Popen[bytes]) -> None:
    """Until the port answers; SystemExit when the server ends or 20 s pass."""
    for _ in range(200):
        if process.poll() is not None:
            break
        with socket.socket() as sock:
            if sock.connect_ex(address) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"the server did not start: {process.args!r}")


def cpu(process: psutil.Process) -> float:
    """CPU seconds so far."""
    times = process.cpu_times()
    return times.user + times.system


def ours(address: tuple[str, int], server: psutil.Process) -> Cost:
    """The tester, in this process."""
    before = time.process_time(), cpu(server), time.perf_counter()
    trio.run(passing_run, address)
    after = time.process_time(), cpu(server), time.perf_counter()
    return Cost(*(end - begin for begin, end in zip(before, after, strict=True)))


def best(costs: list[Cost]) -> Cost:
    """The run that cost the client least: on a shared machine the others tell about the neighbours."""
    return min(costs, key=lambda cost: cost.client)


async def passing_run(address: tuple[str, int]) -> SuiteRun:
    """One suite; SystemExit when it does not pass, for then the figures mean nothing."""
    run = await time_suite(SUITE, address, LIMITS)
    if not run.verdict.ok:
        raise SystemExit(next(result.failure.message for result in run.verdict.results if result.failure))
    return run


def peers(address: tuple[str, int], server: psutil.Process, python: str, folder: Path) -> Cost:
    """pytest + requests, in a process of its own."""
    file = folder / "test_suite.py"
    file.write_text(as_pytest(SUITE, address))
    collect = pytest_cpu([python, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", str(file)])
    before = cpu(server), time.perf_counter()
    whole = pytest_cpu([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)])
    return Cost(whole - collect, cpu(server) - before[0], time.perf_counter() - before[1])


def pytest_cpu(command: list[str]) -> float:
    """CPU seconds of a child process; SystemExit with its output when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PEER_SECONDS)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def as_pytest(suite: Suite, address: tuple[str, int]) -> str:
    """The suite as a file of test functions."""
    lines = ["import requests", "", f"BASE = 'http://{address[0]}:{address[1]}'", "SESSION = requests.Session()", "", ""]
    for played in suite.cases:
        lines.append(f"def test_{played.name}():")
        for step in played.steps:
            assert isinstance(step.expect, Replies)
            payload = step.request.payload()
            body = "" if payload is None else f", json={step.request.body!r}"
            lines.append(f"    response = SESSION.request({step.request.method!r}, BASE + {step.request.path!r}{body}, timeout=10)")
            lines.append(f"    assert response.status_code == {step.expect.status}")
            lines.append(f"    assert response.json() == {step.expect.value!r}")
        lines += ["", ""]
    return "\n".join(lines)


@attrs.frozen
class Crowd:
    """Many suites at once: CPU seconds of ours a request, wall seconds, and by how much a task that slept 10 ms woke too late (seconds: median, p99, worst)."""

    client: float
    wall: float
    median: float
    p99: float
    worst: float


async def crowd(address: tuple[str, int], suites: int) -> Crowd:
    """Play so many suites at once and watch the event loop."""
    lags: list[float] = []
    begun = time.process_time(), time.perf_counter()
    async with trio.open_nursery() as outer:
        outer.start_soon(watch, lags)
        async with trio.open_nursery() as inner:
            for _ in range(suites):
                inner.start_soon(passing_run, address)
        outer.cancel_scope.cancel()
    ended = time.process_time(), time.perf_counter()
    lags.sort()
    return Crowd((ended[0] - begun[0]) / suites / SUITE.requests, ended[1] - begun[1], lags[len(lags) // 2], lags[math.ceil(len(lags) * 0.99) - 1], lags[-1])


async def watch(lags: list[float]) -> None:
    """Note by how much each sleep of 10 ms overslept."""
    while True:
        begun = time.perf_counter()
        await trio.sleep(0.01)
        lags.append(time.perf_counter() - begun - 0.01)


def subjects(python: str, modules: Path | None) -> Iterator[Subject]:
    """Those that can be started here; prints why one cannot."""
    yield Subject("fast", (sys.executable, str(SERVERS / "fast.py")), {})
    yield Subject("http.server", (sys.executable, str(SERVERS / "stdlib.py")), {})
    if has_module(python, "flask"):
        yield Subject("Flask", (python, str(SERVERS / "flask_app.py")), {})
    else:
        print(f"left out: Flask ({python} has no flask; see --help)")
    node = shutil.which("node")
    if node and modules and (modules / "express").is_dir():
        yield Subject("Express", (node, str(SERVERS / "express_app.js")), {"NODE_PATH": str(modules), "NODE_ENV": "production"})
    else:
        print("left out: Express (" + ("no node on PATH" if not node else "no express in --node-modules") + "; see --help)")


def has_module(python: str, name: str) -> bool:
    """Whether that Python can import it."""
    return subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def row(name: str, mine: Cost, theirs: Cost | None) -> str:
    """One line of the table; CPU in µs a request, wall in seconds a suite."""
    micro = 1e6 / SUITE.requests
    text = f"{name:12} {mine.client * micro:8.0f} {mine.server * micro:8.0f} {mine.wall:8.2f}"
    if theirs is None:
        return f"{text} {'-':>10} {'-':>8} {'-':>8} {'-':>7}"
    return f"{text} {theirs.client * micro:10.0f} {theirs.server * micro:8.0f} {theirs.wall:8.2f} {theirs.client / mine.client:6.1f}x"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has flask, pytest and requests")
    parser.add_argument("--node-modules", type=Path, help="a node_modules folder that has express")
    parser.add_argument("--runs", type=int, default=5, help="suites of ours per server, of which the best counts")
    parser.add_argument("--peer-runs", type=int, default=2, help="the same for pytest + requests")
    parser.add_argument("--suites", type=int, default=300, help="suites at once for the event loop's lag")
    arguments = parser.parse_args()
    with_peers = has_module(arguments.peer_python, "pytest, requests")
    if not with_peers:
        print(f"left out: pytest + requests ({arguments.peer_python} has not both; see --help)")
    servers = list(subjects(arguments.peer_python, arguments.node_modules))
    print(f"{len(SUITE.cases)} cases, {SUITE.requests} requests; CPU in µs a request, wall in s a suite (pytest's includes its start)\n")
    print(f"{'':12} {'tester':>8} {'server':>8} {'wall':>8} {'pytest':>10} {'server':>8} {'wall':>8} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for subject in servers:
            with running(subject) as (server, address):
                mine = best([ours(address, server) for _ in range(arguments.runs)])
                theirs = best([peers(address, server, arguments.peer_python, Path(folder)) for _ in range(arguments.peer_runs)]) if with_peers else None
                print(row(subject.name, mine, theirs), flush=True)
    if arguments.suites:
        with running(servers[0]) as (_, address):
            many = trio.run(crowd, address, arguments.suites)
        lag = f"median {many.median * 1e3:.1f} ms, p99 {many.p99 * 1e3:.1f} ms, worst {many.worst * 1e3:.1f} ms"
        print(f"\n{arguments.suites} suites at once: {many.client * 1e6:.0f} µs CPU a request, {many.wall:.1f} s; event loop late by {lag}")


if __name__ == "__main__":
    main()
