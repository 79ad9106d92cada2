"""``run`` and ``resume``: what is refused, what is printed, what is created."""

import json
import tomllib
from pathlib import Path

import pytest

from actors.permits import Room
from stamina import __version__
from stamina.cli.app import main
from tests.cli.cli_samples import sample_run

ROOT = Path(__file__).resolve().parents[2]
SWEEP = '[sweep]\nname = "tiny"\nseeds = "0-1"\nturns = 3\n[sandbox]\nengine = "process"\n[[agent]]\nharness = "reference"\n'


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one sweep file."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(SWEEP)


BAD = {
    "no file": (["run", "tinny.toml"], 'tinny.toml: there is no such file; did you mean "tiny.toml"?'),
    "bad flag": (["run", "tiny.toml", "--set", "sweep.turns=x"], '--set sweep.turns=x: [sweep] turns: expected a whole number from 0 to 10000, got "x"'),
    "bad dry run": (["run", "tiny.toml", "--set", "agent.0.harness=refrence", "--dry-run"], 'there is no harness "refrence"; did you mean "reference"?'),
    "engine": (["run", "tiny.toml", "--set", "sandbox.engine=docker"], "no container engine here: there is no /nowhere/engine.sock"),
    "no run": (["resume", "nowhere"], "nowhere is not a run"),
    "cause": (["resume", "nowhere", "--retry-cause", "agent"], "agent is none of provider, sandbox, host, benchmark"),
    "unknown option": (["run", "tiny.toml", "--turns", "5"], "No such option"),
}


@pytest.mark.parametrize("case", BAD)
def test_refuses_bad_input_before_anything_is_made(case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One message, exit 2, nothing created."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/engine.sock")
    arguments, message = BAD[case]

    assert main(arguments) == 2

    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert [path.name for path in Path().iterdir()] == ["tiny.toml"]


def test_a_dry_run_prints_the_plan_and_makes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Scenarios, calls at most, requests."""
    assert main(["run", "tiny.toml", "--dry-run", "--set", "sweep.repeats=2"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "tiny: 1 cell × 2 seeds × 2 repeats = 4 scenarios",
        "  reference  4 scenarios of 4 turns, at most 48 agent calls, no cost",
        "together at most 48 agent calls and about 24,240 test requests; 4 at a time",
    ]
    assert [path.name for path in Path().iterdir()] == ["tiny.toml"]


def test_a_dry_run_says_what_run_would_refuse(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan all the same, each obstacle on a line of its own, exit 1."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/engine.sock")
    Path("full").mkdir()
    Path("full/thesis.txt").write_text("years of work")

    assert main(["run", "tiny.toml", "--dry-run", "--set", "sandbox.engine=docker", "--out", "full"]) == 1

    captured = capsys.readouterr()
    assert captured.out.startswith("tiny: 1 cell × 2 seeds")
    engine, folder = captured.err.splitlines()
    assert engine.startswith("run would refuse: no container engine here")
    assert folder.startswith("run would refuse: ")
    assert "is not empty (it holds thesis.txt)" in folder


def test_a_disk_without_room_is_refused_before_anything_is_made(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that could only wait is not begun."""
    monkeypatch.setattr("stamina.cli.obstacles.look", lambda path: Room(disk=100 << 20, inodes=10**6, memory=1 << 40))

    assert main(["run", "tiny.toml"]) == 2

    assert "runs/tiny: 100 MiB of disk are free, 1024 MiB are needed" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["tiny.toml"]


def test_a_run_that_lost_its_lock_is_told_the_same_by_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    """Put the lock back: neither playing over it nor another folder is the answer."""
    run = sample_run(Path("runs/tiny"))
    run.lock_file.unlink()

    assert [main(["run", "tiny.toml"]), main(["report", "tiny"]), main(["resume", "runs/tiny"])] == [2, 2, 2]

    for line in capsys.readouterr().err.splitlines():
        assert "lock.json, which says what they were played under, is gone. Put back a copy of it" in line


def test_a_lock_that_says_nothing_is_damaged(capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence for a person."""
    run = sample_run(Path("runs/tiny"))
    run.lock_file.write_text('{"format": 1, "lock": null}')

    assert main(["report", "tiny"]) == 2

    assert "runs/tiny/lock.json is damaged: it does not say what the run is made of" in capsys.readouterr().err


def test_a_dry_run_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """The documented keys."""
    assert main(["run", "tiny.toml", "--dry-run", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert {"name", "scenarios", "agent_calls", "requests", "usd", "unpriced", "notes", "cells", "begun"} == set(found)
    assert (found["scenarios"], found["agent_calls"], found["cells"][0]["cell"]) == (2, 24, "reference")


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    """One number, in two files that must agree."""
    assert main(["--version"]) == 0
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == __version__
    assert __version__ in capsys.readouterr().out
