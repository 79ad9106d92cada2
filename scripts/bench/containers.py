"""What containers cost: overhead of a turn with many at once, what is left after many, memory for each. Needs an engine and ``stamina images build``.

``python scripts/bench/containers.py [--containers 20] [--turns 5] [--cycles 40]``
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import attrs
import psutil
import trio

from actors.container_sandbox import ContainerSandbox
from actors.containers import Containers, containers
from actors.docker import connect, engine_host
from actors.ownership import SWEEP
from actors.sandbox import CallLimits, Server, ServerLimits
from harnesses.harness import Command
from scenario_store.folder import LiveFolder
from stamina.config.model import SandboxConfig
from stamina.errors import InputError

MIB = 1 << 20
SERVER = """import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *given): pass
print(flush=True)
http.server.HTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
"""


@attrs.define
class Spent:
    """Seconds of each turn that were neither the agent's nor its server's start, and of each container's start and removal."""

    turns: list[float] = attrs.field(factory=list)
    starts: list[float] = attrs.field(factory=list)
    ends: list[float] = attrs.field(factory=list)


@asynccontextmanager
async def timed(made: Containers, root: Path, spent: Spent) -> AsyncIterator[ContainerSandbox]:
    """A container, with the time that it takes to come and to go."""
    live = LiveFolder(Path(tempfile.mkdtemp(dir=root)))
    for path in (live.workspace, live.home, live.tmp):
        path.mkdir()
    begun = time.perf_counter()
    async with made.open("reference", {}, live) as sandbox:
        spent.starts.append(time.perf_counter() - begun)
        yield sandbox
        begun = time.perf_counter()
    spent.ends.append(time.perf_counter() - begun)


async def play(made: Containers, root: Path, turns: int, pause: float, spent: Spent) -> None:
    """Turns as a scenario takes them: probe, call, probe, serve. The agent sleeps for a while; the server takes what it takes to start."""
    async with timed(made, root, spent) as sandbox:
        (sandbox.workspace / "run_server.sh").write_text('exec python3 -I -S server.py "$1"\n')
        (sandbox.workspace / "server.py").write_text(SERVER)
        for turn in range(turns):
            begun = time.perf_counter()
            out, err, log = (sandbox.folder.root / f"{turn}.{name}" for name in ("out", "err", "log"))
            end = await sandbox.call(Command(("sleep", str(pause))), limits=CallLimits(60), stdout=out, stderr=err)
            await sandbox.probe()
            working = time.perf_counter()
            async with sandbox.serve(limits=ServerLimits(60), log=log) as server:
                assert isinstance(server, Server), server
                started = time.perf_counter() - working
            assert end.exit_code == 0, err.read_text()
            spent.turns.append(time.perf_counter() - begun - pause - started)


async def overhead(made: Containers, root: Path, count: int, turns: int, pause: float) -> None:
    """So many containers at once, each playing turns."""
    process, spent = psutil.Process(), Spent()
    memory, cpu = process.memory_info().rss, sum(process.cpu_times()[:2])
    peak = memory

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, process.memory_info().rss)
            await trio.sleep(0.2)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        async with trio.open_nursery() as playing:
            for _ in range(count):
                playing.start_soon(play, made, root, turns, pause, spent)
        nursery.cancel_scope.cancel()
    used = sum(process.cpu_times()[:2]) - cpu
    milliseconds = sorted(1000 * seconds for seconds in spent.turns)
    print(f"{count} containers at once, {turns} turns each, agents of {pause:g} s; load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors")
    print(f"  overhead of a turn: median {statistics.median(milliseconds):.0f} ms, p95 {milliseconds[int(len(milliseconds) * 0.95)]:.0f} ms")
    print(f"  start of a container: median {statistics.median(spent.starts):.2f} s; removal: median {statistics.median(spent.ends):.2f} s")
    print(f"  our own process: {1000 * used / len(milliseconds):.0f} ms CPU a turn; {(peak - memory) / count / MIB:.2f} MiB a container at most")


async def cycles(made: Containers, root: Path, count: int) -> None:
    """Make, use and remove containers, eight at a time; count what is left."""
    process, limit, spent = psutil.Process(), trio.CapacityLimiter(8), Spent()
    files, volumes = process.num_fds(), set(await made.engine.volumes())

    async def cycle() -> None:
        async with limit, timed(made, root, spent) as sandbox:
            await sandbox.call(Command(("true",)), limits=CallLimits(60), stdout=sandbox.folder.root / "out", stderr=sandbox.folder.root / "err")

    begun = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for _ in range(count):
            nursery.start_soon(cycle)
    seconds = time.perf_counter() - begun
    left = len(await made.engine.containers(f"{SWEEP}={made.network.sweep}"))
    more = len(set(await made.engine.volumes()) - volumes)
    still = max(0, process.num_fds() - files)
    print(f"{count} create-run-remove cycles in {seconds:.1f} s: {left} containers and {more} volumes left, {still} connections of ours still open")


async def main(arguments: argparse.Namespace) -> None:
    """All figures."""
    config = SandboxConfig(cpus=1.0, memory=256 * MIB, pids=64)
    with tempfile.TemporaryDirectory() as folder:
        async with containers(engine_host("docker", os.environ), config, ["reference"], os.environ) as made:
            await cycles(made, Path(folder), arguments.cycles)
            for _ in range(arguments.repeat):
                await overhead(made, Path(folder), arguments.containers, arguments.turns, arguments.pause)
            label = f"{SWEEP}={made.network.sweep}"
        async with connect(engine_host("docker", os.environ)) as engine:
            print(f"at the end: {len(await engine.containers(label))} containers, {len(await engine.networks(label))} networks of ours")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--containers", type=int, default=20)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--cycles", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=1, help="of the turns: the machine may be busy")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds that the agent of a turn takes")
    try:
        trio.run(main, parser.parse_args())
    except InputError as error:
        print(f"not measured: {error}")
