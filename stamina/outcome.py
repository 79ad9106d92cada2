"""What became of a scenario, as values: the turn machine makes them, the store keeps them, scoring reads them."""

from __future__ import annotations

from enum import StrEnum

import attrs


class Cause(StrEnum):
    """Who is to blame that something did not pass."""

    AGENT = "agent"
    HARNESS = "harness"
    PROVIDER = "provider"
    SANDBOX = "sandbox"
    HOST = "host"
    BENCHMARK = "benchmark"


class Ending(StrEnum):
    """How a scenario ended, or that it has not."""

    RUNNING = "running"
    COMPLETED = "completed"
    """All turns were played: every one passed, or ``on_exhausted = "continue"``."""
    EXHAUSTED = "exhausted"
    """A turn failed after its last retry and ``on_exhausted`` is ``"stop"``."""
    CENSORED = "censored"
    """Provider, sandbox, host or budget stopped it: says nothing about the agent beyond the turns it passed."""
    CRASHED = "crashed"
    """A bug of ours, or the benchmark contradicted itself."""


@attrs.frozen
class AttemptOutcome:
    """One graded attempt. ``cause`` is None when it passed."""

    attempt: int
    passed: bool
    tests_passed: int
    tests_total: int
    cause: Cause | None = None


@attrs.frozen
class TurnOutcome:
    """One turn that was reached, with its graded attempts in order (at least one)."""

    turn: int
    attempts: tuple[AttemptOutcome, ...]

    @property
    def passed(self) -> bool:
        """Whether one of the attempts passed (then it is the last)."""
        return any(attempt.passed for attempt in self.attempts)

    @property
    def retries_used(self) -> int | None:
        """Retries that it took to pass, None when it did not."""
        return next((attempt.attempt for attempt in self.attempts if attempt.passed), None)


@attrs.frozen
class ScenarioOutcome:
    """One scenario played by one cell.

    Attributes:
        cell: the cell's slug.
        seed, repeat: which scenario, which repetition (0-based).
        turns_planned: N; there are N + 1 turns.
        retries: R.
        turns: those reached, from turn 0 on without a gap.
        ending, cause, detail: how it ended; cause and detail are for CENSORED, CRASHED and EXHAUSTED.
    """

    cell: str
    seed: int
    repeat: int
    turns_planned: int
    retries: int
    turns: tuple[TurnOutcome, ...]
    ending: Ending
    cause: Cause | None = None
    detail: str = ""
