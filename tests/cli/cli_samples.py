"""A run folder with journals, as a sweep that was interrupted leaves it."""

from pathlib import Path

from scenario_store.journal import Journal
from scenario_store.run import Run
from stamina.config.load import parse
from stamina.config.lock import identity
from stamina.config.model import HarnessInfo, Plan
from stamina.config.plan import plan
from stamina.outcome import Cause
from stamina.turns import CallCompleted, CallFailed, CallStarted, Event, MachineryFailed, SuiteRan, TurnBegan

HARNESSES = {name: HarnessInfo(name, uses_model=False) for name in ("reference", "mock")}

SWEEP = """\
[sweep]
name = "sample"
seeds = "0-1"
turns = 2
retries = 1

[sandbox]
engine = "process"

[[agent]]
harness = "reference"

[[agent]]
harness = "mock"
"""


def sample_plan() -> Plan:
    """Two cells, two seeds."""
    return plan(parse(SWEEP, "sample.toml", harnesses=HARNESSES))


def attempt(turn: int, number: int, passed: int, total: int = 10) -> list[Event]:
    """One attempt that was graded."""
    return [CallStarted(turn, number, 0), CallCompleted(turn, number, 0, 1.0), SuiteRan(turn, number, passed, total)]


STORIES: dict[tuple[str, int], list[Event]] = {
    ("reference", 0): [TurnBegan(0, "aa"), *attempt(0, 0, 10), *attempt(1, 0, 9), *attempt(1, 1, 10), *attempt(2, 0, 10)],
    ("reference", 1): [TurnBegan(0, "aa"), *attempt(0, 0, 10), CallStarted(1, 0, 0), CallFailed(1, 0, 0, 1.0, Cause.HARNESS, "exit code 3")],
    ("mock", 0): [*attempt(0, 0, 8), *attempt(0, 1, 7)],
}
"""Completed; being played, after a failure of the harness; exhausted. Mock's seed 1 was not begun."""


def sample_run(path: Path) -> Run:
    """The run of :data:`STORIES`."""
    run = Run.create(path, SWEEP.encode(), identity(sample_plan(), benchmark="1", package="0", prompts="p"))
    for (cell, seed), events in STORIES.items():
        write(run, cell, seed, events)
    return run


def write(run: Run, cell: str, seed: int, events: list[Event]) -> None:
    """Append to one scenario's journal."""
    with Journal.open(run.scenario(cell, seed, 0).journal, Event, clock=lambda: 0.0) as journal:
        for event in events:
            journal.append(event)


def lost_machinery(turn: int, count: int) -> list[Event]:
    """Failures of the host."""
    return [MachineryFailed(turn, 0, Cause.HOST, "disk full")] * count
