"""One scenario, played from its journal's last event to its end.

The loop is: ask the turn machine what is next, do it, append what happened to the journal, tell the machine. An event is in the journal before anything is
done because of it, so a kill at any instant loses at most the call or suite that was under way, and resuming is the same loop. What the agent and its server
do wrong comes back as values; a failure of the machinery is an event too, and what was going on is repeated in a new sandbox (contract T4).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import structlog
import trio

from actors.agent import CallEvent, Files, call_agent
from actors.gateway.seating import Seated, Seating, unseated
from actors.gateway.seats import Seat
from actors.grading import FEEDBACK, Grader, Test, measure, ran
from actors.observer import Happened, Observer, ScenarioEnded, ScenarioStarted, Waiting
from actors.permits import Compute, Permits, Threads
from actors.sandbox import CallLimits, IdleLimits, Sandbox, ServerLimits
from actors.stopping import Stop
from actors.supervise import Restart, infra_fault
from actors.tester import TesterLimits, run_suite
from actors.vetting import check_drift, version_of
from actors.workspace import restore
from harnesses.harness import CallContext, Harness
from scenario_store.folder import LiveFolder, ScenarioFolder
from scenario_store.journal import Clock, Journal
from stamina import domain
from stamina.config.model import Settings, Work
from stamina.errors import BenchmarkFault, InputError
from stamina.outcome import Cause, ScenarioOutcome
from stamina.turns import (
    BenchmarkFailed,
    BudgetExhausted,
    CallAgent,
    CallFailed,
    CallStarted,
    Ended,
    Event,
    FilesRestored,
    HarnessSeen,
    MachineryFailed,
    Progress,
    Rules,
    RunSuite,
    TurnBegan,
    advance,
    next_step,
    outcome,
    replay,
)

log = structlog.get_logger()

PAUSES: Final = Restart(base=2.0, cap=300.0)
IN_THREADS: Final = Threads()

SandboxFactory: TypeAlias = Callable[[Work, LiveFolder], AbstractAsyncContextManager[Sandbox]]
"""Opens a sandbox around a working folder; everything of it is gone when the block ends, the folder stays."""


@attrs.frozen
class Cast:
    """What one scenario is played with.

    Attributes:
        work: which one.
        scenario: what is asked and how it is judged.
        harness: the adapter of the agent.
        folder: where it is kept.
    """

    work: Work
    scenario: domain.Scenario
    harness: Harness
    folder: ScenarioFolder


def open_end() -> str | None:
    """Scenarios may always begin."""
    return None


@attrs.frozen
class Stage:
    """What all scenarios of a sweep share.

    Attributes:
        sandbox: opens sandboxes.
        permits, compute, stop, observe: see their modules.
        clock: seconds since 1970, for the journals.
        seating: gives a scenario its seat at the model gateway.
        closed: why no more scenarios are begun, such as money that is spent; None while they are.
        pauses: between repetitions after failures of the machinery; its ``attempts`` play no part.
        test: plays suites.
        disk: waits for the journals' disk.
    """

    sandbox: SandboxFactory
    permits: Permits
    compute: Compute
    stop: Stop
    observe: Observer
    clock: Clock
    seating: Seating = unseated
    closed: Callable[[], str | None] = open_end
    pauses: Restart = PAUSES
    test: Test = run_suite
    disk: Compute = IN_THREADS


def rules_of(settings: Settings) -> Rules:
    """What the turn machine needs to know of a cell's settings."""
    return Rules(settings.turns, settings.retries, settings.on_exhausted, settings.infra_retries)


async def play(cast: Cast, stage: Stage) -> ScenarioOutcome:
    """Play a scenario from where its journal ends, to its end or until it is asked to stop.

    Raises:
        InputError: the journal is damaged, or was made by another scenario.
        InfraError: the journal or the folder cannot be written.
    """
    work = cast.work
    with (
        structlog.contextvars.bound_contextvars(cell=work.cell.slug, seed=work.seed, repeat=work.repeat),
        open_journal(cast.folder, stage) as journal,
        stage.seating(work, cast.folder) as seated,
    ):
        cast.folder.vouch_for(journal.history.events)
        playing = _Play(cast, stage, seated, journal, replay(rules_of(work.cell.settings), journal.history.events))
        stage.observe(ScenarioStarted(work, playing.progress, resumed=bool(journal.history.events)))
        if playing.next() is not None:
            cast.folder.vouch_for_work()
        await playing.run()
        result = outcome(playing.progress, cell=work.cell.slug, seed=work.seed, repeat=work.repeat)
        stage.observe(ScenarioEnded(work, result))
        return result


def open_journal(folder: ScenarioFolder, stage: Stage) -> Journal[Event]:
    """The scenario's journal, for appending."""
    return Journal.open(folder.journal, Event, clock=stage.clock)


@attrs.define
class _Play:
    """A scenario under way: what it is played with, and where it is.

    Attributes:
        pause: seconds to wait before the next step.
        spoiled: the agent broke its sandbox: what is there is graded, the next call gets a new one.
        version: of the CLI in the present sandbox, None until it was asked.
    """

    cast: Cast
    stage: Stage
    seated: Seated | None
    journal: Journal[Event]
    progress: Progress
    pause: float = 0.0
    spoiled: bool = False
    version: str | None = None
    plan: domain.TurnPlan | None = None
    begun: dict[int, str] = attrs.field(init=False)
    seen: str | None = attrs.field(init=False)
    grader: Grader = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        settings, options = self.cast.work.cell.settings, self.cast.scenario.options
        self.begun = {event.turn: event.digest for event in self.journal.history.events if isinstance(event, TurnBegan)}
        self.seen = next((event.version for event in reversed(self.journal.history.events) if isinstance(event, HarnessSeen)), None)
        self.grader = Grader(
            self.cast.scenario,
            settings.feedback,
            ServerLimits(options.start_seconds),
            TesterLimits(options.answer_seconds),
            self.stage.compute,
            self.stage.test,
        )

    async def run(self) -> None:
        """Until the end, or until asked to stop; in a new sandbox after each failure of the machinery, and after the agent broke its own."""
        while self.next() is not None:
            self.spoiled, self.version = False, None
            await self.wait()  # also when it was opening the sandbox that failed
            if self.next() is None:
                return
            try:
                async with self.stage.sandbox(self.cast.work, self.cast.folder.live()) as sandbox:
                    await self.steps(sandbox)
            except Exception as error:
                await self.failed(error)

    def next(self) -> CallAgent | RunSuite | None:
        """The next thing to do, None when there is nothing or we are asked to stop."""
        step = next_step(self.progress)
        return None if isinstance(step, Ended) or self.stage.stop.asked else step

    async def steps(self, sandbox: Sandbox) -> None:
        """Steps in one sandbox, to the end, the first failure of the machinery, or the first call that needs another sandbox."""
        while True:
            await self.wait()
            step = self.next()
            if step is None or (self.spoiled and isinstance(step, CallAgent)):
                return
            try:
                await self.take(sandbox, step)
            except BenchmarkFault as fault:
                await self.record(BenchmarkFailed(step.turn, str(fault)))

    async def take(self, sandbox: Sandbox, step: CallAgent | RunSuite) -> None:
        """One step."""
        with structlog.contextvars.bound_contextvars(turn=step.turn, attempt=step.attempt):
            if isinstance(step, CallAgent):
                await self.call(sandbox, step)
            else:
                await self.grade(sandbox, step)

    async def call(self, sandbox: Sandbox, step: CallAgent) -> None:
        """One agent call."""
        prompt = await self.prompt(step)
        async with self.stage.permits.calls(self.cast.work.cell.agent.model):
            await self.stage.permits.admit()
            if self.stage.stop.asked:
                return
            await self.vet(sandbox, step)
            folder = self.cast.folder.attempt(step.turn, step.attempt, step.call)
            await self.restore(sandbox, step)
            await self.record(CallStarted(step.turn, step.attempt, step.call))
            workspace, home = sandbox.inside
            model = None if self.seated is None else self.seated.access
            context = CallContext(step.turn, step.attempt, step.call, prompt, self.progress.session, workspace, home, model, self.version)
            event = await self.called(sandbox, context, Files(folder))
        await self.record(event)
        if isinstance(event, BudgetExhausted):
            return
        self.spoiled = isinstance(event, CallFailed) and event.by_agent

    async def vet(self, sandbox: Sandbox, step: CallAgent) -> None:
        """Ask the CLI for its version, once a sandbox. Raises InputError for a wrong one, and when the scenario was begun with another one."""
        program = self.cast.harness.program
        if program is None or self.version is not None:
            return
        self.version = await version_of(program, sandbox, self.cast.folder.path)
        check_drift(program.harness, self.seen, self.version)
        self.seen = self.version
        await self.record(HarnessSeen(step.turn, program.harness, self.version), sync=False)

    async def called(self, sandbox: Sandbox, context: CallContext, files: Files) -> CallEvent | BudgetExhausted:
        """The call's end; or that the money was spent, which ends it at once, as a recording does that has no answer.

        Raises BenchmarkFault for the latter.
        """
        call = partial(call_agent, self.cast.harness, sandbox, context, files=files, compute=self.stage.compute)
        settings = self.cast.work.cell.settings
        idle = IdleLimits(settings.call_model_idle_seconds, settings.call_progress_idle_seconds)
        if self.seated is None:
            return await call(limits=CallLimits(settings.call_seconds, idle=idle))
        seat = self.seated.seat
        seat.begin(context.turn, context.attempt, context.call)
        event: CallEvent | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_when_spent, seat, nursery.cancel_scope)
            watched = attrs.evolve(idle, quiet=lambda: seat.quiet_seconds)
            event = await call(limits=CallLimits(settings.call_seconds, held=lambda: seat.held_seconds, idle=watched), watch=self.seated.seen)
            nursery.cancel_scope.cancel()
        if seat.missed is not None:
            raise BenchmarkFault(seat.missed)
        if seat.exhausted is not None:
            return BudgetExhausted(context.turn, seat.exhausted)
        assert event is not None, "only a spent budget or recording cancels the call"
        return event

    async def grade(self, sandbox: Sandbox, step: RunSuite) -> None:
        """One suite run. Its files are written before the event that makes the next prompt read them."""
        folder = self.cast.folder.latest(step.turn, step.attempt) or self.cast.folder.attempt(step.turn, step.attempt, 0)
        async with self.stage.permits.suites:
            graded = await self.grader.grade(sandbox, step.turn, folder)
        await self.grader.keep(graded, folder)
        known = self.cast.folder.path / "lines.json"
        await self.record(await measure(sandbox, graded.server, step.turn, step.attempt, known=known, compute=self.stage.compute), sync=False)
        await self.record(ran(graded, step.turn, step.attempt))

    async def prompt(self, step: CallAgent) -> str:
        """The turn's request, or the feedback on the attempt before."""
        plan = await self.begin_turn(step.turn)
        if step.attempt == 0:
            return plan.prompt
        folder = self.cast.folder.latest(step.turn, step.attempt - 1)
        return _read_feedback(folder, step)

    async def begin_turn(self, turn: int) -> domain.TurnPlan:
        """The turn's plan, recorded when it is new. Raises InputError when the journal knows another scenario's."""
        if self.plan is None or self.plan.turn != turn:
            self.plan = await self.stage.compute(lambda: self.cast.scenario.turn(turn))
        plan = self.plan
        known = self.begun.get(turn)
        if known is None:
            self.begun[turn] = plan.digest
            await self.record(TurnBegan(turn, plan.digest, plan.short))
        elif known != plan.digest:
            raise InputError(
                f"{self.cast.folder.journal}: turn {turn} was played with another state (digest {known[:12]}, now {plan.digest[:12]}), so this scenario was "
                "made by another version of stamina. Use the version that lock.json names"
            )
        return plan

    async def restore(self, sandbox: Sandbox, step: CallAgent) -> None:
        """Put the benchmark's files back (L3); before the very first call they are laid, not restored."""
        changed = await self.stage.compute(lambda: restore(sandbox.workspace, self.cast.scenario.files))
        first = (step.turn, step.attempt, step.call) == (0, 0, 0)
        if changed and not first:
            await self.record(FilesRestored(step.turn, step.attempt, changed))

    async def record(self, event: Event, *, sync: bool = True) -> None:
        """Append, then tell the machine and whoever listens. A failure that consumes no retry calls for a pause.

        What happened is written although we are cancelled meanwhile; a slow disk holds up this scenario alone.
        """
        with trio.CancelScope(shield=True):
            if sync:
                await self.stage.disk(partial(self.journal.append, event))
            else:
                self.journal.append(event, sync=False)
        failures = self.progress.failures.count
        self.progress = advance(self.progress, event)
        if self.progress.failures.count > failures:
            self.pause = self.stage.pauses.delay(self.progress.failures.count)
        self.stage.observe(Happened(self.cast.work, event, self.progress))

    async def failed(self, error: Exception) -> None:
        """Record a failure of the machinery; raise what is none."""
        fault = infra_fault(error)
        if fault is None:
            raise error
        step = self.next()
        if step is None:
            log.warning("the sandbox failed after the end", reason=str(fault))
        else:
            await self.record(MachineryFailed(step.turn, step.attempt, Cause(fault.cause), str(fault)))

    async def wait(self) -> None:
        """The pause that a failure called for; being asked to stop ends it."""
        if self.pause:
            self.stage.observe(Waiting(self.cast.work, self.pause, self.progress.failures.detail))
            await self.stage.stop.sleep(self.pause)
            self.pause = 0.0
            await self.stage.permits.admit()  # a full disk would fail every repetition, and in the end the scenario


async def _when_spent(seat: Seat, scope: trio.CancelScope) -> None:
    """Without money, or without answers, the agent can do nothing more."""
    await seat.wait_spent()
    scope.cancel()


def _read_feedback(folder: Path | None, step: CallAgent) -> str:
    path = (folder or Path()) / FEEDBACK
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"the feedback on turn {step.turn}, attempt {step.attempt - 1} is missing ({path}: {error.strerror}). Put back a copy of it"
        ) from error
