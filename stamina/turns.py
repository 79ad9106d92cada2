"""Algorithm 1 of the paper as a pure machine: events that happened go in, the next thing to do comes out.

No clock and no I/O. The journal of a scenario is the list of its events, so resuming is ``replay``: the same fold that runs live. Events are facts and
:class:`Rules` are wishes: :func:`advance` never looks at the rules, only :func:`next_step` does. Raising ``turns`` on a scenario that was COMPLETED, or
``retries`` on one that was EXHAUSTED, therefore continues it, from the very same journal.

::

    CallStarted ─► CallCompleted | CallExpired | CallFailed by the agent ─► suite ─► SuiteRan ─► next turn, next attempt, or the end
        ▲               │
        └───────────────┴─ CallFailed by harness, provider, sandbox or host; MachineryFailed   (contract T4: repeated, consumes no retry)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias, assert_never

import attrs

from stamina.config.model import OnExhausted
from stamina.errors import InputError
from stamina.outcome import AttemptOutcome, Cause, Ending, ScenarioOutcome, TurnOutcome


@attrs.frozen
class Rules:
    """What is wished for; may be raised between two runs of the same journal.

    Attributes:
        turns: N; turns 0..N are played (T1).
        retries: R (T2).
        on_exhausted: T3.
        infra_retries: T4's 10: after so many failures of the harness in one attempt the suite runs on what is there; after so many failures of provider,
            sandbox and host in one attempt the scenario is censored. 0 and 1 both mean that nothing is repeated.
    """

    turns: int
    retries: int
    on_exhausted: OnExhausted = OnExhausted.STOP
    infra_retries: int = 10


# Events. Each is appended to the journal before anything is done because of it.


@attrs.frozen
class TurnBegan:
    """The turn's request was made. A resumed run checks ``digest`` (of the state, hex) before it goes on; ``short`` is S6's."""

    turn: int
    digest: str
    short: bool = False


@attrs.frozen
class HarnessSeen:
    """A sandbox has this version of the agent's CLI: recorded before the first call in each sandbox. A resumed run refuses another one. Only recorded."""

    turn: int
    harness: str
    version: str


@attrs.frozen
class CallStarted:
    """An agent call is about to be started. Without an ending in the journal it was interrupted with us, and is repeated."""

    turn: int
    attempt: int
    call: int


@attrs.frozen
class CallCompleted:
    """The agent finished, with positive evidence (T4). ``session`` is the CLI's session to continue with; ``seconds`` is wall time."""

    turn: int
    attempt: int
    call: int
    seconds: float
    session: str | None = None
    detail: str = ""


@attrs.frozen
class CallExpired:
    """The call ran out of wall time: graded as it stands. ``cause`` is AGENT, or PROVIDER when the model was silent (T4)."""

    turn: int
    attempt: int
    call: int
    seconds: float
    cause: Cause
    session: str | None = None
    detail: str = ""


@attrs.frozen
class CallFailed:
    """The call ended without completing. With cause AGENT it is graded as it stands, with any other it is repeated (T4).

    ``by_agent`` marks a sandbox that the agent itself broke: graded as it stands, with cause SANDBOX.
    """

    turn: int
    attempt: int
    call: int
    seconds: float
    cause: Cause
    detail: str
    session: str | None = None
    by_agent: bool = False


@attrs.frozen
class SuiteRan:
    """The attempt was graded. ``detail`` says why nothing ran, such as a server that did not start; ``seconds`` is wall time."""

    turn: int
    attempt: int
    passed: int
    total: int
    seconds: float = 0.0
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether every case passed, and there is at least one."""
        return 0 < self.total == self.passed


@attrs.frozen
class MachineryFailed:
    """Sandbox, host or tester failed around a call or a suite: what was going on is repeated. ``work_lost``: the workspace is back at an earlier snapshot, so
    the agent is called again even when its call had ended."""

    turn: int
    attempt: int
    cause: Cause
    detail: str
    work_lost: bool = False


@attrs.frozen
class BenchmarkFailed:
    """The benchmark contradicted itself (its suite fails against its ground truth), or a bug of ours ended the scenario."""

    turn: int
    detail: str


@attrs.frozen
class BudgetExhausted:
    """The money is spent; ``detail`` says which limit."""

    turn: int
    detail: str


@attrs.frozen
class Reopened:
    """Somebody asked to play on what was censored or crashed; failures are counted from 0 again."""

    reason: str


@attrs.frozen
class FilesRestored:
    """The agent had changed or removed these files of the benchmark; they were restored before the call (L3). Only recorded."""

    turn: int
    attempt: int
    files: tuple[str, ...]


@attrs.frozen
class WorkspaceMeasured:
    """The workspace after an attempt. Only recorded.

    Attributes:
        lines: lines of code by language.
        added, removed: lines of code since the attempt measured before (churn).
        partial: the scan's limits were reached.
        program: what listened on the port, None when nothing did.
        program_language: its language, None when unknown.
    """

    turn: int
    attempt: int
    lines: Mapping[str, int]
    added: int
    removed: int
    partial: bool = False
    program: str | None = None
    program_language: str | None = None


Event: TypeAlias = (
    TurnBegan
    | HarnessSeen
    | CallStarted
    | CallCompleted
    | CallExpired
    | CallFailed
    | SuiteRan
    | MachineryFailed
    | BenchmarkFailed
    | BudgetExhausted
    | Reopened
    | FilesRestored
    | WorkspaceMeasured
)
"""Everything that a scenario's journal holds."""


# What to do next.


@attrs.frozen
class CallAgent:
    """Call the agent. ``call`` counts calls of this attempt from 0; the prompt is the same for each."""

    turn: int
    attempt: int
    call: int


@attrs.frozen
class RunSuite:
    """Grade the workspace as it stands."""

    turn: int
    attempt: int


@attrs.frozen
class Ended:
    """Nothing more to do. ``cause`` is None when nobody is to blame: COMPLETED, or a budget."""

    ending: Ending
    cause: Cause | None = None
    detail: str = ""


Step: TypeAlias = CallAgent | RunSuite | Ended


class Phase(StrEnum):
    """What the current attempt waits for."""

    CALL = "call"
    SUITE = "suite"


@attrs.frozen
class Failures:
    """Failures of the current attempt that consumed no retry, and the last one."""

    harness: int = 0
    infra: int = 0
    cause: Cause | None = None
    detail: str = ""

    def plus(self, cause: Cause, detail: str) -> Failures:
        """With one more."""
        harness = cause is Cause.HARNESS
        return Failures(self.harness + harness, self.infra + (not harness), cause, detail)

    @property
    def count(self) -> int:
        """Of either kind; what a back-off goes by."""
        return self.harness + self.infra


@attrs.frozen
class Progress:
    """Where a scenario is: the fold of its events, and the rules it is played by.

    Attributes:
        graded: turns with at least one graded attempt, in order, without a gap.
        turn, attempt: the current position. After a failed attempt it is the next attempt of that turn, whatever R is.
        calls: agent calls started in this attempt.
        failures: see :class:`Failures`.
        blame: the cause that a failed suite will get.
        session: the CLI's session to continue with.
        stopped: a fact that ended the scenario, until it is reopened.
    """

    rules: Rules
    graded: tuple[TurnOutcome, ...] = ()
    turn: int = 0
    attempt: int = 0
    phase: Phase = Phase.CALL
    calls: int = 0
    failures: Failures = Failures()
    blame: Cause = Cause.AGENT
    session: str | None = None
    stopped: Ended | None = None


def begin(rules: Rules) -> Progress:
    """Before the first event."""
    return Progress(rules)


def replay(rules: Rules, events: Iterable[Event]) -> Progress:
    """The progress after these events; resuming is this. Raises InputError when they are not one scenario's, in order."""
    progress = begin(rules)
    for event in events:
        progress = advance(progress, event)
    return progress


def advance(progress: Progress, event: Event) -> Progress:
    """The progress after one more event. Raises InputError when the event cannot follow."""
    match event:
        case TurnBegan() | HarnessSeen() | FilesRestored() | WorkspaceMeasured():
            return progress
        case Reopened():
            return attrs.evolve(progress, stopped=None, failures=Failures())
        case BenchmarkFailed():
            return attrs.evolve(progress, stopped=Ended(Ending.CRASHED, Cause.BENCHMARK, event.detail))
        case BudgetExhausted():
            return attrs.evolve(progress, stopped=Ended(Ending.CENSORED, None, event.detail))
        case CallStarted() | CallCompleted() | CallExpired() | CallFailed():
            return _after_call(_arrived(progress, event.turn, event.attempt), event)
        case SuiteRan():
            return _after_suite(_arrived(progress, event.turn, event.attempt), event)
        case MachineryFailed():
            return _after_failure(_arrived(progress, event.turn, event.attempt), event)
        case _:
            assert_never(event)


def next_step(progress: Progress) -> Step:
    """What to do now."""
    if progress.stopped is not None:
        return progress.stopped
    at = _moved_on(progress) if _exhausted(progress) and progress.rules.on_exhausted is OnExhausted.CONTINUE else progress
    if at.turn > at.rules.turns:
        return Ended(Ending.COMPLETED)
    if _exhausted(at):
        return Ended(Ending.EXHAUSTED, _last_cause(at), f"turn {at.turn} failed {at.attempt} times")
    limit = max(1, at.rules.infra_retries)
    if at.failures.infra >= limit:
        return Ended(Ending.CENSORED, at.failures.cause, at.failures.detail)
    if at.phase is Phase.SUITE or at.failures.harness >= limit:
        return RunSuite(at.turn, at.attempt)
    return CallAgent(at.turn, at.attempt, at.calls)


def outcome(progress: Progress, *, cell: str, seed: int, repeat: int) -> ScenarioOutcome:
    """What scoring reads; RUNNING when there is still something to do."""
    step = next_step(progress)
    end = step if isinstance(step, Ended) else Ended(Ending.RUNNING)
    rules = progress.rules
    turns = progress.graded[: rules.turns + 1]
    return ScenarioOutcome(cell, seed, repeat, rules.turns, rules.retries, turns, end.ending, end.cause, end.detail)


def _exhausted(progress: Progress) -> bool:
    return progress.attempt > progress.rules.retries


def _last_cause(progress: Progress) -> Cause | None:
    return progress.graded[-1].attempts[-1].cause


def _moved_on(progress: Progress) -> Progress:
    """At the first attempt of the next turn, with nothing left of the one before but the session."""
    return Progress(progress.rules, progress.graded, progress.turn + 1, session=progress.session)


def _arrived(progress: Progress, turn: int, attempt: int) -> Progress:
    """At the position that an event names: where we are, or the next turn when this one was given up (``on_exhausted = "continue"``)."""
    if (turn, attempt) == (progress.turn, progress.attempt):
        return progress
    if (turn, attempt) == (progress.turn + 1, 0) and progress.attempt > 0:
        return _moved_on(progress)
    here = f"turn {progress.turn}, attempt {progress.attempt}"
    raise InputError(f"the journal is not in order: an event of turn {turn}, attempt {attempt} comes while {here} is being played")


def _after_call(progress: Progress, event: CallStarted | CallCompleted | CallExpired | CallFailed) -> Progress:
    if isinstance(event, CallStarted):
        return attrs.evolve(progress, phase=Phase.CALL, calls=event.call + 1)
    progress = attrs.evolve(progress, session=event.session)
    match event:
        case CallCompleted():
            return attrs.evolve(progress, phase=Phase.SUITE, blame=Cause.AGENT)
        case CallFailed() if event.cause is not Cause.AGENT and not event.by_agent:
            return attrs.evolve(progress, failures=progress.failures.plus(event.cause, event.detail))
        case CallExpired() | CallFailed():
            return attrs.evolve(progress, phase=Phase.SUITE, blame=event.cause)
        case _:
            assert_never(event)


def _after_failure(progress: Progress, event: MachineryFailed) -> Progress:
    phase = Phase.CALL if event.work_lost else progress.phase
    return attrs.evolve(progress, phase=phase, failures=progress.failures.plus(event.cause, event.detail))


def _after_suite(progress: Progress, event: SuiteRan) -> Progress:
    # Graded while a call is still due: the harness failed too often for another one (T4).
    blame = Cause.HARNESS if progress.phase is Phase.CALL else progress.blame
    cause = None if event.ok else blame
    attempt = AttemptOutcome(event.attempt, event.ok, event.passed, event.total, cause)
    done = attrs.evolve(progress, graded=_with_attempt(progress.graded, event.turn, attempt))
    if event.ok:
        return _moved_on(done)
    return Progress(done.rules, done.graded, done.turn, done.attempt + 1, session=done.session)


def _with_attempt(graded: tuple[TurnOutcome, ...], turn: int, attempt: AttemptOutcome) -> tuple[TurnOutcome, ...]:
    if graded and graded[-1].turn == turn:
        return (*graded[:-1], attrs.evolve(graded[-1], attempts=(*graded[-1].attempts, attempt)))
    return (*graded, TurnOutcome(turn, (attempt,)))
