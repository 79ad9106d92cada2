"""``status``: positions from the journals alone."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stamina.cli.runs import find_run
from stamina.cli.status import status
from stamina.errors import InputError
from tests.cli.cli_samples import lost_machinery, sample_run, write


def rows(path: Path) -> dict[tuple[str, int], dict[str, object]]:
    """What ``status --json`` says of each scenario."""
    result = CliRunner().invoke(status, [str(path), "--json"], catch_exceptions=False)
    return {(row["cell"], row["seed"]): row for row in json.loads(result.stdout)["scenarios"]}


def test_says_where_each_scenario_is(tmp_path: Path) -> None:
    """Turn, attempt, turns passed and the last cause, also for what was not begun."""
    sample_run(tmp_path / "run")
    found = rows(tmp_path / "run")

    assert {key: (row["state"], row["turn"], row["attempt"], row["passed"]) for key, row in found.items()} == {
        ("reference", 0): ("completed", None, None, 3),
        ("reference", 1): ("agent", 1, 0, 1),
        ("mock", 0): ("exhausted", None, None, 0),
        ("mock", 1): ("to come", None, None, 0),
    }
    assert (found["reference", 1]["cause"], found["reference", 1]["detail"]) == ("harness", "exit code 3")


def test_shows_what_was_censored(tmp_path: Path) -> None:
    """With whose fault it was."""
    run = sample_run(tmp_path / "run")
    write(run, "mock", 1, lost_machinery(0, 10))
    row = rows(tmp_path / "run")["mock", 1]

    assert (row["state"], row["cause"], row["detail"]) == ("censored", "host", "disk full")


def test_a_damaged_journal_hides_no_other(tmp_path: Path) -> None:
    """It is shown with what is wrong."""
    run = sample_run(tmp_path / "run")
    journal = run.scenario("mock", 0, 0).journal
    journal.write_bytes(journal.read_bytes().replace(b'"passed":8', b'"passed":9', 1))
    found = rows(tmp_path / "run")

    assert found["mock", 0]["state"] == "unreadable"
    assert found["reference", 0]["state"] == "completed"


def test_prints_aligned_lines(tmp_path: Path) -> None:
    """A summary, a heading, a line a scenario."""
    sample_run(tmp_path / "run")
    lines = CliRunner().invoke(status, [str(tmp_path / "run"), "--cell", "mock"]).stdout.splitlines()

    assert lines[0] == f"{tmp_path}/run: not being played; 2 scenarios: 1 exhausted, 1 to come"
    assert lines[1].split() == ["cell", "seed", "repeat", "state", "turn", "attempt", "passed", "cause", "detail"]
    assert lines[2].split()[:4] == ["mock", "0", "0", "exhausted"]
    assert len(lines) == 4


def test_knows_whether_a_run_is_being_played(tmp_path: Path) -> None:
    """By the lock that its player holds."""
    run = sample_run(tmp_path / "run")

    with run.playing():
        assert run.is_played
    assert not run.is_played


def test_finds_a_run_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below runs/, or as a path; a near name is offered."""
    monkeypatch.chdir(tmp_path)
    sample_run(tmp_path / "runs/quickstart")
    (tmp_path / "quickstart.toml").write_text("")

    assert find_run("quickstart").path == Path("runs/quickstart")
    assert find_run("runs/quickstart").path == Path("runs/quickstart")
    with pytest.raises(InputError, match='did you mean "quickstart"'):
        find_run("quikstart")
    with pytest.raises(InputError, match=r"is a sweep file; expected a run.*quickstart"):
        find_run("quickstart.toml")


def test_says_that_there_are_no_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to suggest."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(InputError, match="there are no runs in runs/"):
        find_run("x")
