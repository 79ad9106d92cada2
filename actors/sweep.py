"""A whole sweep: scenarios under permits, in the plan's order; one failing disturbs no other; a report accepted is a report kept.

``play_sweep`` cancels producers and lets the recorder drain. A bug in one scenario is confined to it, recorded in its journal with the traceback beside, and
told; the machinery's failures restart a scenario from its journal; many of them at once stop the sweep and say why.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import attrs
import structlog
import trio

from actors.observer import Draining, Held, ScenarioCrashed
from actors.scenario import Cast, Stage, open_journal, play, rules_of
from actors.supervise import Abandoned, Crashed, Exit, Finished, Intensity, Restart, RestartStorm, culprit, supervise
from scenario_store.atomic import write_atomic
from scenario_store.folder import ScenarioFolder
from stamina.config.model import Plan, Work
from stamina.errors import StaminaError
from stamina.outcome import Cause, Ending, ScenarioOutcome
from stamina.turns import BenchmarkFailed, advance, outcome, replay

CRASH_FILE: Final = "crash.txt"

log = structlog.get_logger()

Casting: TypeAlias = Callable[[Work], Cast]
"""Chooses the parts of one scenario. Raises InputError for what the user gave."""


@attrs.frozen
class Report:
    """What became of one scenario. ``crash`` is the traceback of a bug of ours, None when there was none."""

    work: Work
    outcome: ScenarioOutcome
    crash: str | None = None


Keep: TypeAlias = Callable[[Report], None]
"""Keeps one report for good; called for one at a time, where it holds up nobody."""


@attrs.frozen
class SweepEnd:
    """How a sweep ended.

    Attributes:
        reports: of scenarios that were played, in the order in which they ended.
        interrupted: somebody asked to stop.
        storm: why it stopped by itself, None when it did not.
        closed: why some scenarios were not begun, such as money that is spent; None when all were.
    """

    reports: tuple[Report, ...]
    interrupted: bool
    storm: str | None = None
    closed: str | None = None

    @property
    def clean(self) -> bool:
        """Whether nothing was censored, crashed or left out: the exit status tells."""
        bad = (Ending.CENSORED, Ending.CRASHED, Ending.RUNNING)
        return not self.interrupted and self.storm is None and self.closed is None and all(report.outcome.ending not in bad for report in self.reports)


@attrs.frozen
class Company:
    """How a sweep's scenarios are cast and supervised.

    Attributes:
        cast: chooses the parts of a scenario.
        stage: what they share.
        keep: keeps reports.
        restart: of a scenario whose journal or folder could not be written.
        intensity: of all restarts together.
    """

    cast: Casting
    stage: Stage
    keep: Keep
    restart: Restart = attrs.field(factory=Restart)
    intensity: Intensity = attrs.field(factory=Intensity)


async def play_sweep(plan: Plan, company: Company) -> SweepEnd:
    """Play all work of a plan. Ends early, in good order, when asked to stop, or in a storm of restarts.

    Raises what the recorder raises: when results cannot be kept, going on is pointless.
    """
    sweep = _Sweep(company)
    send, receive = trio.open_memory_channel[Report](0)
    async with trio.open_nursery() as outer:
        outer.start_soon(sweep.record, receive)
        with send, trio.CancelScope() as producers:
            async with trio.open_nursery() as watch:
                watch.start_soon(partial(company.stage.stop.cancel, producers, told=sweep.draining))
                await sweep.produce(plan, send, producers)
                watch.cancel_scope.cancel()
    return SweepEnd(tuple(sweep.reports), company.stage.stop.asked, sweep.storm, sweep.closed)


@attrs.define
class _Sweep:
    """A sweep under way."""

    company: Company
    reports: list[Report] = attrs.field(factory=list)
    storm: str | None = None
    closed: str | None = None

    async def produce(self, plan: Plan, send: trio.MemorySendChannel[Report], producers: trio.CancelScope) -> None:
        """Start scenarios in order, each as soon as there is a permit and room."""
        stage = self.company.stage
        async with trio.open_nursery() as nursery:
            for work in plan.work:
                await stage.permits.scenarios.acquire_on_behalf_of(_token(work))
                await stage.permits.admit()
                if stage.stop.asked:
                    return
                if (reason := stage.closed()) is not None:
                    self.closed = reason
                    stage.observe(Held(reason))
                    return
                nursery.start_soon(self.one, work, send, producers)

    async def one(self, work: Work, send: trio.MemorySendChannel[Report], producers: trio.CancelScope) -> None:
        """One scenario to its end, and its report."""
        try:
            report = await self.supervised(work)
        except RestartStorm as storm:
            self.storm = str(storm)
            log.error("too many restarts: the sweep stops", reason=str(storm))
            producers.cancel()
        else:
            with trio.CancelScope(shield=True):  # the recorder takes it at once, or is gone and says so
                await send.send(report)
        finally:
            self.company.stage.permits.scenarios.release_on_behalf_of(_token(work))

    async def supervised(self, work: Work) -> Report:
        """Play one scenario under supervision."""

        async def start(attempt: int) -> ScenarioOutcome:
            if attempt > 1:
                await self.company.stage.permits.admit()
            return await play(self.company.cast(work), self.company.stage)

        end = await supervise(start, restart=self.company.restart, intensity=self.company.intensity)
        return self.report(work, end)

    def report(self, work: Work, end: Exit[ScenarioOutcome]) -> Report:
        """What an exit means for the result."""
        match end:
            case Finished(value=value):
                return Report(work, value)
            case Abandoned(cause=fault):
                return Report(work, _without_turns(work, Ending.CENSORED, Cause(fault.cause), str(fault)))
            case Crashed(cause=error):
                return self.crashed(work, error)

    def crashed(self, work: Work, error: Exception) -> Report:
        """Confine a failure to its scenario. A bug is written to the scenario's journal, its traceback beside it; input that cannot be used (a damaged journal,
        another version's run) leaves everything as it was, to be put right."""
        error = culprit(error)
        if isinstance(error, StaminaError):
            self.company.stage.observe(ScenarioCrashed(work, str(error), ""))
            return Report(work, _without_turns(work, Ending.CRASHED, Cause.HOST, str(error)))
        line, text = f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))
        self.company.stage.observe(ScenarioCrashed(work, line, text))
        return Report(work, self._recorded(work, line, text), text)

    def _recorded(self, work: Work, line: str, text: str) -> ScenarioOutcome:
        try:
            return _record_crash(work, self.company.cast(work).folder, self.company.stage, line, text)
        except Exception:
            log.exception("a crash could not be recorded")
            return _without_turns(work, Ending.CRASHED, Cause.BENCHMARK, line)

    async def record(self, receive: trio.MemoryReceiveChannel[Report]) -> None:
        """Keep each report; the only writer."""
        with receive:
            async for report in receive:
                with trio.CancelScope(shield=True):
                    await self.company.stage.compute(partial(self.company.keep, report))
                self.reports.append(report)

    def draining(self, seconds: float) -> None:
        """Tell that we were asked to stop."""
        self.company.stage.observe(Draining(seconds))


def _token(work: Work) -> tuple[str, int, int]:
    """What a permit is taken on behalf of."""
    return work.cell.slug, work.seed, work.repeat


def _record_crash(work: Work, folder: ScenarioFolder, stage: Stage, line: str, text: str) -> ScenarioOutcome:
    write_atomic(folder.path / CRASH_FILE, text.encode(errors="replace"))
    with open_journal(folder, stage) as journal:
        progress = replay(rules_of(work.cell.settings), journal.history.events)
        event = BenchmarkFailed(progress.turn, line)
        journal.append(event)
        return outcome(advance(progress, event), cell=work.cell.slug, seed=work.seed, repeat=work.repeat)


def _without_turns(work: Work, ending: Ending, cause: Cause, detail: str) -> ScenarioOutcome:
    settings = work.cell.settings
    return ScenarioOutcome(work.cell.slug, work.seed, work.repeat, settings.turns, settings.retries, (), ending, cause, detail)
