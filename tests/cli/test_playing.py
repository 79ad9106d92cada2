"""Whole runs with the agents that need no model: results, extension, refusal, interruption, damage."""

import json
import os
import signal
from pathlib import Path

import pytest

from scenario_store.outcomes import outcomes_from
from scenario_store.run import Run
from stamina.cli.app import main
from stamina.outcome import Cause, Ending
from tests.cli.test_processes import running
from tests.waiting import SECONDS, until

SWEEP = """\
[sweep]
name = "tiny"
seeds = 0
turns = 0
retries = 1

[sandbox]
engine = "process"

[[agent]]
harness = "reference"
"""

_FLAGS = ("sweep.turns=1", "agent.0.harness=mock", "agent.0.mistake_chance=0", "agent.0.hang={turn = 1}")
HANGS = ("run", "tiny.toml", *(part for flag in _FLAGS for part in ("--set", flag)))
"""A run whose agent's call of turn 1 never ends."""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one sweep file."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(SWEEP)


def played(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object], str]:
    """Exit code, the one cell of the report, and what went to stderr."""
    code = main([*arguments, "--json"])
    captured = capsys.readouterr()
    [cell] = json.loads(captured.out)["cells"] if captured.out else [{}]
    return code, cell, captured.err


def test_a_run_is_played_extended_and_never_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    """From nothing to a result; again: nothing to do; longer: the rest; different: refused, and the run stays as it was."""
    code, cell, _ = played(capsys, "run", "tiny.toml")
    assert (code, cell["turns"], cell["average_turns_passed"]) == (0, 1, {"0": 1.0, "1": 1.0})

    journal = next(Path("runs/tiny/scenarios").glob("*/*/*/journal.jsonl"))
    before = journal.read_bytes()
    assert played(capsys, "resume", "tiny")[0] == 0
    assert journal.read_bytes() == before

    code, cell, said = played(capsys, "run", "tiny.toml", "--set", "sweep.turns=1")
    assert (code, cell["turns"], cell["average_turns_passed"]) == (0, 2, {"0": 2.0, "1": 2.0})
    assert "the run grows: cell reference: turns 0 → 1" in said
    assert journal.read_bytes().startswith(before)

    lock = Path("runs/tiny/lock.json").read_bytes()
    code, _, said = played(capsys, "run", "tiny.toml", "--set", "sweep.turns=1", "--set", "sweep.language=go")
    assert code == 2
    assert 'cell reference: language was "python", is "go"' in said
    assert Path("runs/tiny/lock.json").read_bytes() == lock
    assert json.loads(Path("runs/tiny/result.json").read_text())["scenarios"][0]["ending"] == "completed"


def test_an_agent_that_gives_up_is_no_failure_of_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The scenario is exhausted, the exit code 0."""
    flags = ["sweep.turns=1", "sweep.retries=0", "agent.0.harness=mock", "agent.0.mistake_chance=0", "agent.0.quit_turn=1"]
    code, cell, _ = played(capsys, "run", "tiny.toml", *(part for flag in flags for part in ("--set", flag)))

    assert (code, cell["average_turns_passed"], cell["causes"]) == (0, {"0": 1.0}, {"agent": 1})


def test_an_agent_that_never_does_anything_is_exhausted_at_turn_0(capsys: pytest.CaptureFixture[str]) -> None:
    """Also the report on its first failure finds a session: nothing is repeated as if the machinery had failed."""
    flags = ["sweep.retries=1", "agent.0.harness=mock", "agent.0.mistake_chance=0", "agent.0.quit_turn=0"]
    code, cell, _ = played(capsys, "run", "tiny.toml", *(part for flag in flags for part in ("--set", flag)))
    assert (code, cell["average_turns_passed"]) == (0, {"0": 0.0, "1": 0.0})
    assert "CallFailed" not in next(Path("runs/tiny/scenarios").glob("*/*/*/journal.jsonl")).read_text()


def test_a_result_that_cannot_be_written_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """It can always be had again from the journals."""
    assert played(capsys, "run", "tiny.toml")[0] == 0
    Path("runs/tiny/result.json").unlink()
    Path("runs/tiny/result.json").mkdir()
    code, cell, _ = played(capsys, "run", "tiny.toml", "--set", "sweep.turns=1")
    assert (code, cell["average_turns_passed"]) == (0, {"0": 2.0, "1": 2.0})


def test_work_that_was_lost_is_not_held_against_the_agent(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is played in an empty folder in its place; put back, the scenario goes on."""
    assert played(capsys, "run", "tiny.toml")[0] == 0
    journal = next(Path("runs/tiny/scenarios").glob("*/*/*/journal.jsonl"))
    before = journal.read_bytes()
    [root] = Path("runs/tiny/live").iterdir()
    root.rename("elsewhere")
    longer = ("run", "tiny.toml", "--set", "sweep.turns=1")
    assert played(capsys, *longer)[0] == 1
    assert journal.read_bytes() == before

    Path("elsewhere").rename(root)
    code, cell, _ = played(capsys, *longer)
    assert (code, cell["average_turns_passed"]) == (0, {"0": 2.0, "1": 2.0})


def test_a_journal_that_was_emptied_is_damage(capsys: pytest.CaptureFixture[str]) -> None:
    """And not a scenario that has not begun."""
    assert played(capsys, "run", "tiny.toml")[0] == 0
    next(Path("runs/tiny/scenarios").glob("*/*/*/journal.jsonl")).write_bytes(b"")
    [row] = outcomes_from(Run.open(Path("runs/tiny")))
    assert (row.outcome.ending, row.outcome.cause) == (Ending.CRASHED, Cause.HOST)
    assert "the journal holds nothing" in row.outcome.detail
    assert played(capsys, "run", "tiny.toml")[0] == 1


def test_an_interrupted_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two Ctrl-C end a call that hangs; the exit code is 130; resume plays the rest, and a second player is refused meanwhile."""
    with running(*HANGS, cwd=tmp_path) as run:
        log = _until_it_hangs(tmp_path)
        code, _, said = played(capsys, "resume", "tiny")
        assert (code, "is being played by another process" in said) == (2, True)
        run.send_signal(signal.SIGINT)
        until(lambda: "draining" in log.read_text())
        run.send_signal(signal.SIGINT)
        assert run.wait(SECONDS) == 130

    code, cell, _ = played(capsys, "resume", "tiny")
    assert (code, cell["average_turns_passed"]) == (0, {"0": 2.0, "1": 2.0})


def test_a_terminal_that_closes_ends_a_run_in_order(tmp_path: Path) -> None:
    """As Ctrl-C does, though nothing can be shown any more."""
    terminal, end = os.openpty()
    with running(*HANGS, cwd=tmp_path, stderr=end) as run:
        os.close(end)
        log = _until_it_hangs(tmp_path)
        os.close(terminal)
        run.send_signal(signal.SIGHUP)
        until(lambda: "draining" in log.read_text())
        run.send_signal(signal.SIGHUP)
        assert run.wait(SECONDS) in (1, 130)
    [row] = outcomes_from(Run.open(tmp_path / "runs/tiny"))
    assert (row.outcome.ending, len(row.outcome.turns)) == (Ending.RUNNING, 1)


def test_a_reader_of_progress_that_goes_does_not_end_a_run(tmp_path: Path) -> None:
    """It is played to its end; the log says that nobody looked."""
    with running("run", "tiny.toml", cwd=tmp_path) as run:
        assert run.stderr is not None
        run.stderr.close()
        assert run.wait(SECONDS) == 0
    [row] = outcomes_from(Run.open(tmp_path / "runs/tiny"))
    assert row.outcome.ending is Ending.COMPLETED
    assert "progress is shown no more" in (tmp_path / "runs/tiny/log.jsonl").read_text()


def test_a_dry_run_says_what_the_run_holds_already(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever makes a run longer sees what is not paid again."""
    assert played(capsys, "run", "tiny.toml")[0] == 0
    assert main(["run", "tiny.toml", "--dry-run", "--set", "sweep.turns=1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "begun in runs/tiny: 1 of 1 scenario ended, 0 under way; not played again: 1 graded turn"


def test_a_damaged_journal_is_told_and_the_exit_code_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a traceback, and what was there stays."""
    assert played(capsys, "run", "tiny.toml")[0] == 0
    folder = Run.open(Path("runs/tiny").absolute()).scenarios()[0]
    damaged = folder.journal.read_bytes().replace(b'"turn":0', b'"turn":9', 1)
    folder.journal.write_bytes(damaged)

    code, cell, said = played(capsys, "resume", "tiny")
    assert (code, cell["crashed"]) == (1, 1)
    assert "Traceback" not in said
    assert folder.journal.read_bytes() == damaged


def _until_it_hangs(folder: Path) -> Path:
    """The log of HANGS, once its last call is under way."""
    log = folder / "runs/tiny/log.jsonl"
    until(lambda: log.exists() and any('"CallStarted"' in line and '"turn": 1' in line for line in log.read_text().splitlines()))
    return log
