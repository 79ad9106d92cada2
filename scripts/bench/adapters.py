"""What an adapter adds to its CLI: the time until the CLI's first request, and what is left of it between calls. Needs an engine and the harnesses' images.

``python scripts/bench/adapters.py [--runs 5] [--scenarios 10] [HARNESS ...]``

A call of the adapter is compared with the same command by hand: a shell in the same container that notes the time and starts the CLI. After that, two of the
harnesses play so many scenarios of two turns at once against the scripted model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[2]))

import attrs
import trio

from actors.agent import Files, call_agent
from actors.container_sandbox import ContainerSandbox
from actors.containers import Containers, containers
from actors.docker import engine_host
from actors.permits import Threads
from actors.sandbox import CallLimits
from harnesses.harness import CallContext, CallEnd, CallReport, Command, Harness, ModelAccess, Program
from harnesses.recipes import names as images
from harnesses.registry import BUILT_IN, HARNESSES
from scenario_store.folder import LiveFolder
from stamina.config.model import AgentConfig, SandboxConfig
from stamina.errors import InputError

CLIS: Final = [entry.name for entry in BUILT_IN if HARNESSES[entry.name].uses_model and entry.name in images()]
NOTE: Final = 'date +%s.%N >"$HOME/begun"; exec "$@"'
SECONDS: Final = 600.0
SETTLE_SECONDS: Final = 30.0
WAIT_SECONDS: Final = 30.0


@attrs.define
class Model:
    """Listens where the gateway would, and notes when the first request for an answer comes."""

    url: str
    asked: trio.Event = attrs.field(factory=trio.Event)
    at: float = 0.0

    async def talk(self, stream: trio.SocketStream) -> None:
        """One connection."""
        with contextlib.suppress(trio.BrokenResourceError):
            while data := await stream.receive_some():
                if data.startswith(b"POST "):
                    if not self.asked.is_set():
                        self.at = time.time()
                        self.asked.set()
                    await trio.sleep_forever()
                await stream.send_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")

    async def first_request(self, call: Callable[[], object], then: Callable[[], Awaitable[None]] | None = None) -> float:
        """When the first request of a call came; the call is ended then, or after what is still to be done. There is no answer."""
        self.asked, self.at = trio.Event(), 0.0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call)  # type: ignore[arg-type]
            with trio.fail_after(SECONDS):
                await self.asked.wait()
            if then is not None:
                await then()
            nursery.cancel_scope.cancel()
        return self.at


@asynccontextmanager
async def listening(host: str, reach: str) -> AsyncIterator[Model]:
    """A model for the length of the block."""
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host=host)
        model = Model(f"http://{reach}:{listeners[0].socket.getsockname()[1]}")
        nursery.start_soon(trio.serve_listeners, model.talk, listeners)
        yield model
        nursery.cancel_scope.cancel()


@attrs.frozen
class Noted:
    """A harness whose command notes in its HOME when it begins."""

    harness: Harness

    @property
    def name(self) -> str:
        """See :class:`Harness`."""
        return self.harness.name

    @property
    def uses_model(self) -> bool:
        """See :class:`Harness`."""
        return True

    @property
    def program(self) -> Program | None:
        """See :class:`Harness`."""
        return self.harness.program

    def command(self, context: CallContext) -> Command:
        """The CLI's, behind a shell."""
        command = self.harness.command(context)
        return attrs.evolve(command, argv=("bash", "-c", NOTE, "-", *command.argv))

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        """See :class:`Harness`."""
        return self.harness.read(context, end)


@attrs.define
class Times:
    """Seconds, one for each run: from the call to the CLI's process, from there to its first request, and the latter by hand."""

    ours: list[float] = attrs.field(factory=list)
    adapter: list[float] = attrs.field(factory=list)
    by_hand: list[float] = attrs.field(factory=list)


async def measure(made: Containers, name: str, runs: int, folder: Path) -> None:
    """One harness."""
    live = LiveFolder(folder)
    for path in (live.workspace, live.home, live.tmp):
        path.mkdir(parents=True)
    harness, times = Noted(HARNESSES.make(AgentConfig(name, model="m"))), Times()
    async with listening(made.network.listen, made.network.reach) as model, made.open(name, {}, live) as sandbox:
        for run in range(runs + 1):  # the first fills the caches of the disk
            begun = time.time()
            asked = await model.first_request(lambda run=run: adapter_call(harness, sandbox, model, 2 * run))  # type: ignore[misc]
            started = float((live.home / "begun").read_text())
            by_hand = await model.first_request(lambda run=run: hand_call(harness, sandbox, model, 2 * run + 1))  # type: ignore[misc]
            if run:
                times.ours.append(started - begun)
                times.adapter.append(asked - started)
                times.by_hand.append(by_hand - float((live.home / "begun").read_text()))
        share, work = await waiting(harness, sandbox, model, 2 * runs + 2)
        left = (await sandbox.probe()).processes
        await sandbox.call(Command(("grep", "VmRSS", "/proc/1/status")), limits=CallLimits(60), stdout=folder / "init", stderr=folder / "err")
        memory = (folder / "init").read_text().split()[1]
    ours, adapter, hand = (statistics.median(each) for each in (times.ours, times.adapter, times.by_hand))
    print(f"{name}: {1000 * ours:.0f} ms until its process begins; from there {adapter:.2f} s to its first request, {hand:.2f} s by hand")
    print(f"  waiting for an answer: {100 * share:.2f} % of a processor, {100 * work:.2f} % without what it is known to use then")
    print(f"  between calls: {left} processes beside init, which has {memory} kB", flush=True)


async def waiting(harness: Noted, sandbox: ContainerSandbox, model: Model, turn: int) -> tuple[float, float]:
    """The share of a processor that the CLI takes while its model says nothing, and what of it is not its known idle load: what counts as work must be more."""
    engine, name = sandbox.body.engine, sandbox.body.name
    used: list[tuple[float, float, float]] = []

    async def watch() -> None:
        await trio.sleep(SETTLE_SECONDS)
        for pause in (0.0, WAIT_SECONDS):
            await trio.sleep(pause)
            used.append((await engine.processor_seconds(name) or 0.0, await sandbox.body.warden.worked() or 0.0, trio.current_time()))

    await model.first_request(lambda: adapter_call(harness, sandbox, model, turn), watch)
    (before, own_before, begun), (after, own_after, ended) = used
    share, own = (after - before) / (ended - begun), (own_after - own_before) / (ended - begun)
    return share, share - min(own, harness.command(context(sandbox, model, turn)).idle_load)


def context(sandbox: ContainerSandbox, model: Model, turn: int) -> CallContext:
    """A first call; another turn begins another session."""
    workspace, home = sandbox.inside
    return CallContext(turn, 0, 0, "Say hello.\n", None, workspace, home, ModelAccess(model.url, f"token-{turn}", "scripted", 200_000))


async def adapter_call(harness: Noted, sandbox: ContainerSandbox, model: Model, turn: int) -> None:
    """As a scenario calls its agent."""
    folder = sandbox.folder.root / str(turn)
    folder.mkdir()
    await call_agent(
        harness, sandbox, context(sandbox, model, turn), limits=CallLimits(SECONDS, grace=0.2), files=Files(folder), compute=Threads(trio.CapacityLimiter(2))
    )


async def hand_call(harness: Noted, sandbox: ContainerSandbox, model: Model, turn: int) -> None:
    """The bare command in a shell of the container, with its files as they are there."""
    command = attrs.evolve(harness.command(context(sandbox, model, turn)), files={})
    out, err = (sandbox.folder.root / f"{turn}.{name}" for name in ("out", "err"))
    await sandbox.call(command, limits=CallLimits(SECONDS, grace=0.2), stdout=out, stderr=err)


def sweep(names: list[str], scenarios: int, folder: Path) -> None:
    """So many scenarios of these harnesses at once."""
    text = f'[sweep]\nname = "bench"\nseeds = "0-{scenarios // len(names) - 1}"\nturns = 1\nretries = 0\nconcurrency = {scenarios}\n'
    text += "".join(f'[[agent]]\nharness = "{name}"\nmodel = "m"\n' for name in names)
    text += '[model.m]\nprovider = "scripted"\nid = "scripted-1"\ncontext_window = 200000\n'
    (folder / "bench.toml").write_text(text)
    begun = time.perf_counter()
    argv = [sys.executable, "-m", "stamina", "run", "bench.toml", "--json"]
    done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, check=False, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    seconds = time.perf_counter() - begun
    print(f"{scenarios} scenarios of {' and '.join(names)} at once, two turns each: {seconds:.0f} s, exit code {done.returncode}")
    for cell in json.loads(done.stdout)["cells"]:
        passed, causes = cell["average_turns_passed"]["0"], cell["causes"] or "nothing"
        print(f"  {cell['cell']}: {passed:g} of {cell['turns']} turns passed on average in {cell['scenarios']} scenarios; stopped by {causes}")


async def main(names: list[str], runs: int) -> None:
    """Each harness alone."""
    with tempfile.TemporaryDirectory() as folder:
        async with containers(engine_host("docker", os.environ), SandboxConfig(), names, os.environ) as made:
            for name in names:
                await measure(made, name, runs, Path(folder) / name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("harnesses", nargs="*", default=CLIS, help="all by default")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scenarios", type=int, default=10)
    arguments = parser.parse_args()
    try:
        if arguments.runs:
            trio.run(main, arguments.harnesses, arguments.runs)
        if arguments.scenarios:
            with tempfile.TemporaryDirectory() as scratch:
                sweep(arguments.harnesses[:2], arguments.scenarios, Path(scratch))
    except InputError as error:
        print(f"not measured: {error}")
