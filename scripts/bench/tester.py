"""What a suite costs: the tester beside pytest + requests, against five servers; and the event loop with a hundred suites and more in one process.

    scripts/bench/tester.py [--peer-python PYTHON] [--node NODE] [--node-modules DIR] [--seed 1] [--turn 25] [--runs 5] [--peer-runs 1] [--suites 100]

The suite is a real one, of a turn of the REST domain. Its servers: the quickest that can be, http.server as the reference agent uses it (it plays all the
turns before, so this one works out its answers), and http.server, Flask and Express with recorded answers. The peer plays the same cases, each a test
function, over one requests.Session (the quickest way to use it). The suites at once play against ground truths, one each, in another process.

Flask, pytest, requests and Node come from an environment of their own, Express from a folder of its own:

    python3 -m venv /tmp/bench && /tmp/bench/bin/pip install -r requirements/bench.in     then --peer-python /tmp/bench/bin/python
    /tmp/bench/bin/npm install --prefix /tmp/node express                                 then --node /tmp/bench/bin/node --node-modules /tmp/node/node_modules

What is missing is left out, and the output says so. CPU is user + system of the client's process, or of the server's; pytest's start and collection
are not counted (measured on their own and taken off).
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import shutil
import signal
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

from peers.material import Material
from peers.pytest_file import as_pytest

from actors.keeper import descendants
from actors.listeners import listener
from actors.tester import SuiteRun, TesterLimits, time_suite
from stamina.suite import Suite

PEERS = Path(__file__).parent / "peers"
PEER_SECONDS = 900
LIMITS = TesterLimits(answer_seconds=30)


@attrs.frozen
class Cost:
    """Of one suite: CPU seconds of the client and of the server, wall seconds."""

    client: float
    server: float
    wall: float


@attrs.frozen
class Subject:
    """A server to play against: its name, the command without the port, what its environment needs, and whether the peer is to play against it too."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = attrs.field(factory=dict)
    for_peer: bool = True


@contextmanager
def running(subject: Subject) -> Iterator[tuple[psutil.Process, tuple[str, int]]]:
    """The server for the length of the block; the process is the one that listens, which a wrapper may have started."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address: tuple[str, int] = probe.getsockname()
    environment = os.environ | subject.environment
    command = [*subject.command, str(address[1])]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for(address, process)
        found = listener(address[1], [process.pid, *descendants(process.pid)])
        assert found is not None
        yield psutil.Process(found.pid), address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
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


def ours(suite: Suite, address: tuple[str, int], server: psutil.Process) -> Cost:
    """The tester, in this process."""
    before = time.process_time(), cpu(server), time.perf_counter()
    trio.run(passing_run, suite, address)
    after = time.process_time(), cpu(server), time.perf_counter()
    return Cost(*(end - begin for begin, end in zip(before, after, strict=True)))


def best(costs: list[Cost]) -> Cost:
    """The run that cost the client least: on a shared machine the others tell about the neighbours."""
    return min(costs, key=lambda cost: cost.client)


async def passing_run(suite: Suite, address: tuple[str, int]) -> SuiteRun:
    """One suite; SystemExit when it does not pass, for then the figures mean nothing."""
    run = await time_suite(suite, address, LIMITS)
    if not run.verdict.ok:
        raise SystemExit(next(f"{result.case.name}: {result.failure.message}" for result in run.verdict.results if result.failure))
    return run


def peers(suite: Suite, address: tuple[str, int], server: psutil.Process, python: str, folder: Path) -> Cost:
    """pytest + requests, in a process of its own."""
    file = folder / "test_suite.py"
    file.write_text(as_pytest(suite, f"http://{address[0]}:{address[1]}"))
    command = [python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(file)]
    pytest_cpu([*command, "--collect-only"])  # Once more, so that the file is compiled.
    collect = pytest_cpu([*command, "--collect-only"])
    before = cpu(server), time.perf_counter()
    whole = pytest_cpu(command)
    return Cost(whole - collect, cpu(server) - before[0], time.perf_counter() - before[1])


def pytest_cpu(command: list[str]) -> float:
    """CPU seconds of a child process; SystemExit with its output when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PEER_SECONDS)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@attrs.frozen
class Crowd:
    """Many suites at once: CPU seconds of ours a request, wall seconds, and by how much a task that slept 10 ms woke too late (seconds: median, p99, worst)."""

    client: float
    wall: float
    median: float
    p99: float
    worst: float


async def crowd(suite: Suite, address: tuple[str, int], suites: int) -> Crowd:
    """Play so many suites at once and watch the event loop."""
    lags: list[float] = []
    begun = time.process_time(), time.perf_counter()
    async with trio.open_nursery() as outer:
        outer.start_soon(watch, lags)
        async with trio.open_nursery() as inner:
            for _ in range(suites):
                inner.start_soon(passing_run, suite, address)
        outer.cancel_scope.cancel()
    ended = time.process_time(), time.perf_counter()
    lags.sort()
    return Crowd((ended[0] - begun[0]) / suites / suite.requests, ended[1] - begun[1], lags[len(lags) // 2], lags[math.ceil(len(lags) * 0.99) - 1], lags[-1])


async def watch(lags: list[float]) -> None:
    """Note by how much each sleep of 10 ms overslept."""
    while True:
        begun = time.perf_counter()
        await trio.sleep(0.01)
        lags.append(time.perf_counter() - begun - 0.01)


def subjects(arguments: argparse.Namespace, recording: Path, reference: Path) -> Iterator[Subject]:
    """Those that can be started here; prints why one cannot."""
    yield Subject("fast", (sys.executable, str(PEERS / "fast.py"), str(recording)))
    yield Subject("http.server", (sys.executable, str(reference / "server.py")))
    # With two writes an answer, and a client that does not ask for quick acknowledgements, each request takes 43 ms: minutes for the peer.
    yield Subject("  two writes", (sys.executable, str(PEERS / "stdlib.py"), str(recording)), for_peer=False)
    python = arguments.peer_python
    if has_module(python, "flask"):
        yield Subject("Flask", (python, str(PEERS / "flask_app.py"), str(recording)))
    else:
        print(f"left out: Flask ({python} has no flask; see --help)")
    node, modules = arguments.node, arguments.node_modules
    if node and modules and (modules / "express").is_dir():
        yield Subject("Express", (node, str(PEERS / "express_app.js"), str(recording)), {"NODE_PATH": str(modules), "NODE_ENV": "production"})
    else:
        print("left out: Express (" + ("no --node" if not node else "no express in --node-modules") + "; see --help)")


def has_module(python: str, name: str) -> bool:
    """Whether that Python can import it."""
    return subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def row(name: str, requests: int, mine: Cost, theirs: Cost | None) -> str:
    """One line of the table; CPU in µs a request, wall in seconds a suite."""
    micro = 1e6 / requests
    text = f"{name:12} {mine.client * micro:8.0f} {mine.server * micro:8.0f} {mine.wall:8.2f}"
    if theirs is None:
        return f"{text} {'-':>10} {'-':>8} {'-':>8} {'-':>7}"
    return f"{text} {theirs.client * micro:10.0f} {theirs.server * micro:8.0f} {theirs.wall:8.2f} {theirs.client / mine.client:6.1f}x"


def table(arguments: argparse.Namespace, material: Material, suite: Suite, folder: Path) -> None:
    """One suite after the other against each server."""
    recording = folder / "recording.json"
    material.record(recording)
    servers = list(subjects(arguments, recording, material.reference_server(folder / "reference")))
    with_peers = has_module(arguments.peer_python, "pytest, requests")
    if not with_peers:
        print(f"left out: pytest + requests ({arguments.peer_python} has not both; see --help)")
    print(f"{len(suite.cases)} cases, {suite.requests} requests; CPU in µs a request, wall in s a suite (pytest's includes its start)\n")
    print(f"{'':12} {'tester':>8} {'server':>8} {'wall':>8} {'pytest':>10} {'server':>8} {'wall':>8} {'ratio':>7}")
    for subject in servers:
        with running(subject) as (server, address):
            theirs = None
            if with_peers and subject.for_peer:
                theirs = best([peers(suite, address, server, arguments.peer_python, folder) for _ in range(arguments.peer_runs)])
            mine = best([ours(suite, address, server) for _ in range(arguments.runs)])
            print(row(subject.name, suite.requests, mine, theirs), flush=True)


def at_once(material: Material, suite: Suite, suites: int) -> None:
    """Many suites in this process, each against its own ground truth in another."""
    truth = Subject("truth", (sys.executable, str(PEERS / "truth.py"), str(material.seed), str(material.turn)))
    with running(truth) as (_, address):
        many = trio.run(crowd, suite, address, suites)
    lag = f"median {many.median * 1e3:.1f} ms, p99 {many.p99 * 1e3:.1f} ms, worst {many.worst * 1e3:.1f} ms"
    print(f"\n{suites} suites at once: {many.client * 1e6:.0f} µs CPU a request, {many.wall:.1f} s; event loop late by {lag}")


def main() -> None:
    """Print the table, then the crowd."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=sys.executable, help="a Python that has flask, pytest and requests")
    parser.add_argument("--node", default=shutil.which("node"), help="Node 18 or newer; by default the one on PATH")
    parser.add_argument("--node-modules", type=Path, help="a node_modules folder that has express")
    parser.add_argument("--seed", type=int, default=1, help="of the scenario")
    parser.add_argument("--turn", type=int, default=25, help="of the scenario")
    parser.add_argument("--runs", type=int, default=5, help="suites of ours per server, of which the best counts")
    parser.add_argument("--peer-runs", type=int, default=1, help="the same for pytest + requests")
    parser.add_argument("--suites", type=int, default=100, help="suites at once for the event loop's lag; 0 for none")
    arguments = parser.parse_args()
    material = Material(arguments.seed, arguments.turn)
    suite = material.suite()
    if arguments.runs:
        with tempfile.TemporaryDirectory() as folder:
            table(arguments, material, suite, Path(folder))
    if arguments.suites:
        at_once(material, suite, arguments.suites)


if __name__ == "__main__":
    main()
