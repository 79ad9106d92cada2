"""Everything that is scored follows from lock.json and the journals."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from scenario_store.journal import Journal
from scenario_store.outcomes import asked_of, outcomes_from, planned_of
from scenario_store.run import Run
from stamina.config.lock import CellLock, Lock
from stamina.config.model import AgentConfig, OnExhausted, SandboxConfig, Settings
from stamina.domain import Language
from stamina.outcome import Cause, Ending
from stamina.scoring.score import score_cells
from stamina.turns import CallCompleted, CallStarted, Event, Rules, SuiteRan, TurnBegan, WorkspaceMeasured

SETTINGS = Settings(turns=2, retries=1, on_exhausted=OnExhausted.STOP, language=Language.GO)
LOCK = Lock("b7", "0.1.0", "p", SandboxConfig(), (5, 6, 7), 2, (CellLock("one", AgentConfig("mock"), None, SETTINGS),))


def play(run: Run, seed: int, *passed: bool) -> Path:
    """Write the journal of a scenario whose first turns ended like this, one attempt after the other."""
    folder = run.scenario("one", seed, 0)
    turn = attempt = 0
    with Journal[Event].open(folder.journal, Event, clock=lambda: 0.0) as journal:
        for ok in passed:
            for event in (
                TurnBegan(turn, "d"),
                CallStarted(turn, attempt, 0),
                CallCompleted(turn, attempt, 0, 1.0),
                WorkspaceMeasured(turn, attempt, {"go": 10 + turn}, 1, 0, program="x", program_language="python" if turn else "go"),
                SuiteRan(turn, attempt, int(ok), 1),
            ):
                journal.append(event, sync=False)
            turn, attempt = (turn + 1, 0) if ok else (turn, attempt + 1)
    return folder.journal


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.create(tmp_path / "run", b"", LOCK)


def test_outcomes_are_read_from_the_folder_alone(run: Run) -> None:
    """Endings, lines, languages and the version come back from a copy of the path, without the process that played."""
    play(run, 5, True, True, True)
    play(run, 6, True, False, False)
    play(run, 7, True, False, True)
    done, lost, running = outcomes_from(Run.open(run.path))
    assert [found.outcome.ending for found in (done, lost, running)] == [Ending.COMPLETED, Ending.EXHAUSTED, Ending.RUNNING]
    assert (done.version, done.lines, done.mismatches) == ("b7", 12, (1, 2))
    assert (lost.outcome.cause, lost.outcome.seed, lost.outcome.cell) == (Cause.AGENT, 6, "one")
    assert len(running.outcome.turns) == 2


def test_a_scenario_with_a_damaged_journal_is_crashed_and_the_others_are_scored(run: Run) -> None:
    """The damage is in the row, with file and line; it is neither dropped nor counted as the agent's failure."""
    play(run, 5, True, True, True)
    journal = play(run, 6, True, True, True)
    journal.write_bytes(journal.read_bytes().replace(b"TurnBegan", b"TurnEnded", 1))
    (score,) = score_cells(outcomes_from(run))
    assert (score.tally.finished, score.tally.crashed, score.causes) == (1, 1, {"host": 1})
    damaged = outcomes_from(run)[1].outcome
    assert (damaged.ending, damaged.cause) == (Ending.CRASHED, Cause.HOST)
    assert "journal.jsonl, line 2" in damaged.detail


def test_events_that_are_not_one_scenarios_are_damage_too(run: Run) -> None:
    """A journal whose records are whole but out of order is crashed, not guessed at."""
    folder = run.scenario("one", 5, 0)
    with Journal[Event].open(folder.journal, Event, clock=lambda: 0.0) as journal:
        journal.append(SuiteRan(3, 0, 1, 1))
    assert "not in order" in outcomes_from(run)[0].outcome.detail


def test_a_journal_of_another_version_is_crashed_and_the_others_are_scored(run: Run) -> None:
    """What a newer stamina wrote is not scored by an older one, and costs no other scenario its row."""
    play(run, 6, True, True, True)

    @attrs.frozen
    class Teleported:
        turn: int

    with Journal[Teleported].open(run.scenario("one", 5, 0).journal, Teleported, clock=lambda: 0.0) as journal:
        journal.append(Teleported(1))
    unknown, done = outcomes_from(run)
    assert (unknown.outcome.ending, unknown.outcome.cause, done.outcome.ending) == (Ending.CRASHED, Cause.HOST, Ending.COMPLETED)
    assert "Teleported" in unknown.outcome.detail


def test_a_folder_in_the_place_of_a_journal_is_crashed_and_the_others_are_scored(run: Run) -> None:
    """The disk's complaint is the row's detail."""
    play(run, 6, True, True, True)
    run.scenario("one", 5, 0).journal.mkdir()
    broken, done = outcomes_from(run)
    assert (broken.outcome.ending, broken.outcome.cause, done.outcome.ending) == (Ending.CRASHED, Cause.HOST, Ending.COMPLETED)
    assert "journal.jsonl" in broken.outcome.detail


def test_a_scenario_that_was_only_begun_is_running(run: Run) -> None:
    """A folder without a journal is a scenario without events."""
    run.scenario("one", 5, 1)
    (found,) = outcomes_from(run)
    assert (found.outcome.ending, found.outcome.repeat, found.lines) == (Ending.RUNNING, 1, None)


def test_rules_and_extent_come_from_the_lock() -> None:
    """A larger lock makes a finished scenario a running one: that is what extending a run means."""
    asked = asked_of(LOCK)["one"]
    assert (asked.version, asked.language, asked.rules) == ("b7", Language.GO, Rules(2, 1, OnExhausted.STOP, 10))
    assert planned_of(LOCK) == {"one": 6}


def test_an_extended_run_goes_on_from_the_same_journals(run: Run) -> None:
    """More turns: completed becomes running. More retries: exhausted becomes running."""
    play(run, 5, True, True, True)
    play(run, 6, True, False, False)
    run.extend(b"", attrs.evolve(LOCK, cells=(attrs.evolve(LOCK.cells[0], settings=attrs.evolve(SETTINGS, turns=5, retries=2)),)))
    assert [found.outcome.ending for found in outcomes_from(run)] == [Ending.RUNNING, Ending.RUNNING]
