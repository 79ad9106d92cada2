"""What many scenarios at once cost us. Run: ``python scripts/bench/scale.py [--sandbox null] [--scenarios 200] [--turns 3] [--call 20] [--out FOLDER]``.

Plays a sweep of the REST domain and prints memory of this process (peak RSS), lag of the event loop (how late a 10 ms timer wakes: median, p99, worst), CPU
per graded attempt, and CPU of all processes that were started. Goal: 200 scenarios under 300 MB, with a lag of under 100 ms at p99.

``null``: no agent, the server is the ground truth in this process, asked over real sockets. ``process``: mock agents in process sandboxes, each call and each
server a real process; a call pauses first, at least once for everybody, so that all scenarios are under way at the same time.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import attrs
import psutil
import trio

from actors.null_sandbox import NullHarness, NullSandbox
from actors.observer import Event, Happened
from actors.permits import Threads, permits
from actors.ports import Ports
from actors.process_sandbox import ProcessSandbox
from actors.sandbox import Sandbox
from actors.scenario import Cast, SandboxFactory, Stage
from actors.stopping import Stop
from actors.sweep import Company, SweepEnd, play_sweep
from harnesses.harness import CallContext, CallEnd, CallReport, Command, Harness
from harnesses.mock import MockHarness, MockOptions
from scenario_store.folder import LiveFolder, ScenarioFolder
from stamina.config.model import AgentConfig, Cell, Plan, Settings, Sweep, Work
from stamina.domain import ScenarioOptions
from stamina.draw import Draw
from stamina.outcome import Ending
from stamina.rest.domain import RestDomain, RestScenario
from stamina.turns import SuiteRan

TICK = 0.01
FAILING = 0.2
"""Share of first attempts that serve the state of the turn before, so that feedback and retries are part of the load."""


@attrs.define
class Gauge:
    """What is measured while the sweep plays. ``busy`` is the CPU that this process used, all threads, while each lag came about."""

    lags: list[float] = attrs.field(factory=list)
    busy: list[float] = attrs.field(factory=list)
    graded: int = 0

    def see(self, event: Event) -> None:
        """Counts graded attempts."""
        if isinstance(event, Happened) and isinstance(event.event, SuiteRan):
            self.graded += 1

    async def watch(self) -> None:
        """How much later than asked a short sleep ends, for as long as this runs."""
        while True:
            due, used = trio.current_time() + TICK, time.process_time()
            await trio.sleep_until(due)
            self.lags.append(trio.current_time() - due)
            self.busy.append(time.process_time() - used)


@attrs.frozen
class Unhurried(Harness):
    """The mock agent, whose calls begin with a pause."""

    seconds: float
    mock: MockHarness = attrs.field(factory=lambda: MockHarness(MockOptions(mistake_chance=FAILING)))

    @property
    def name(self) -> str:
        """The mock's."""
        return self.mock.name

    @property
    def uses_model(self) -> bool:
        """It runs none."""
        return False

    @property
    def program(self) -> None:
        """It comes with each call."""
        return

    def command(self, context: CallContext) -> Command:
        """The mock's, after a while."""
        command = self.mock.command(context)
        return attrs.evolve(command, argv=("sh", "-c", f'sleep {self.seconds}; exec "$@"', "sh", *command.argv))

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        """The mock's."""
        return self.mock.read(context, end)


@attrs.frozen
class Load:
    """A sweep of agents that cost nothing (``null``), or of mock agents in process sandboxes."""

    root: Path
    turns: int
    scenarios: int
    call_seconds: float
    null: bool = True
    domain: RestDomain = attrs.field(factory=RestDomain)
    ports: Ports = attrs.field(factory=Ports)

    def plan(self) -> Plan:
        """One cell, many seeds."""
        cell = Cell("scale", AgentConfig("null" if self.null else "mock"), None, Settings(turns=self.turns))
        seeds = tuple(range(self.scenarios))
        sweep = Sweep("scale", seeds, (cell.agent,), concurrency=self.scenarios, settings=cell.settings)
        return Plan(sweep, (cell,), tuple(Work(cell, seed, 0) for seed in seeds))

    def cast(self, work: Work) -> Cast:
        """A scenario with an agent that fails some first attempts."""
        path = self.root / str(work.seed)
        path.mkdir(parents=True, exist_ok=True)

        def done(turn: int, attempt: int) -> int | None:
            late = attempt == 0 and Draw(work.seed, turn).chance(FAILING)
            return max(0, turn - 1) if late else turn

        harness = NullHarness(done) if self.null else Unhurried(self.pause(work))
        return Cast(work, self.scenario(work), harness, ScenarioFolder(path, self.root / "live", "scale", work.seed, 0))

    def pause(self, work: Work) -> float:
        """Seconds that a call takes, or begins with: different from scenario to scenario."""
        return self.call_seconds * (0.5 + Draw("spread", work.seed).unit())

    def scenario(self, work: Work) -> RestScenario:
        """The REST scenario of a seed."""
        return self.domain.scenario(ScenarioOptions(seed=work.seed))

    @property
    def sandbox(self) -> SandboxFactory:
        """Opens a scenario's sandbox."""
        return self._null_sandbox if self.null else self._process_sandbox

    @asynccontextmanager
    async def _null_sandbox(self, work: Work, folder: LiveFolder) -> AsyncIterator[Sandbox]:
        yield NullSandbox(folder, self.scenario(work).truth, self.pause(work))

    @asynccontextmanager
    async def _process_sandbox(self, work: Work, folder: LiveFolder) -> AsyncIterator[Sandbox]:
        sandbox = ProcessSandbox(folder.root, self.ports)
        await sandbox.fence()
        yield sandbox


async def play(load: Load, gauge: Gauge) -> SweepEnd:
    """The sweep, with the gauge beside it."""
    plan = load.plan()
    compute = Threads(trio.CapacityLimiter(max(2, os.cpu_count() or 1)))
    stage = Stage(load.sandbox, permits(plan.sweep, trio.lowlevel.checkpoint), compute, Stop(), gauge.see, time.time)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gauge.watch)
        end = await play_sweep(plan, Company(load.cast, stage, lambda report: None))
        nursery.cancel_scope.cancel()
    return end


def told(load: Load, gauge: Gauge, end: SweepEnd, seconds: float) -> str:
    """The figures, one a line."""
    lags, busy = sorted(gauge.lags), sorted(gauge.busy)
    usage, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, theirs = usage.ru_utime + usage.ru_stime, others.ru_utime + others.ru_stime
    now = psutil.Process().memory_info().rss
    return "\n".join(
        (
            f"scenarios at once     {load.scenarios}; {endings(end)}",
            f"graded attempts       {gauge.graded} in {seconds:.1f} s",
            f"peak RSS              {usage.ru_maxrss / 1024:.0f} MB ({now / 2**20:.0f} MB at the end)",
            f"event loop lag        median {_ms(lags, 0.5)}, p99 {_ms(lags, 0.99)}, worst {_ms(lags, 1.0)} ({len(lags)} samples)",
            f"  our CPU meanwhile   median {_ms(busy, 0.5)}, p99 {_ms(busy, 0.99)}, worst {_ms(busy, 1.0)}; the rest of a lag is other processes' work",
            f"CPU                   {cpu:.1f} s, {1000 * cpu / max(1, gauge.graded):.0f} ms per graded attempt, all included",
            f"CPU of agents etc.    {theirs:.1f} s",
        )
    )


def endings(end: SweepEnd) -> str:
    """How they ended, and the first reason that is not the agent's."""
    counts = Counter(report.outcome.ending.value for report in end.reports)
    reason = next((report.outcome.detail for report in end.reports if report.outcome.ending in (Ending.CENSORED, Ending.CRASHED)), "")
    return ", ".join(f"{count} {ending}" for ending, count in sorted(counts.items())) + (f" ({reason})" if reason else "")


def _ms(ordered: list[float], share: float) -> str:
    return f"{1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.1f} ms"


def main() -> None:
    """Parse, play, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sandbox", choices=("null", "process"), default="null")
    parser.add_argument("--scenarios", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--call", type=float, default=20.0, help="seconds of an agent call, on average")
    parser.add_argument("--out", type=Path, help="keep the folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        load = Load(options.out or Path(temporary), options.turns, options.scenarios, options.call, options.sandbox == "null")
        gauge, begun = Gauge(), time.monotonic()
        end = trio.run(play, load, gauge)
        print(told(load, gauge, end, time.monotonic() - begun))


if __name__ == "__main__":
    main()
