"""A recorded run is played again without its models: to the same result, or to a loud miss; what cannot be replayed is refused before anything is made."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from scenario_store.run import Run
from scenario_store.usage import read_requests
from scenario_store.wire import NAME
from stamina.cli.app import main
from tests.cli.model_lab import SWEEP, installed, provider, works


@attrs.frozen
class Played:
    """What a command of ours said: its exit code, the one cell of its report, and stderr."""

    code: int
    cell: dict[str, Any]
    said: str


Stamina = Any


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a sweep file and its recorded run."""
    cwd = tmp_path_factory.mktemp("recorded")
    with installed(cwd):
        with provider(works) as (port, asked), pytest.MonkeyPatch.context() as patched:
            patched.chdir(cwd)
            patched.setenv("LAB_KEY", "lab-key-0123456789")
            Path("lab.toml").write_text(SWEEP.replace("PORT", str(port)))
            assert main(["run", "lab.toml"]) == 0
            assert len(asked) == 8
        yield cwd


@pytest.fixture
def stamina(recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stamina:
    """A command of ours, in that folder."""
    monkeypatch.chdir(recorded)
    monkeypatch.delenv("LAB_KEY", raising=False)

    def call(*arguments: str) -> Played:
        code = main([*arguments, "--json"])
        captured = capsys.readouterr()
        [cell] = json.loads(captured.out)["cells"] if captured.out else [{}]
        return Played(code, cell, captured.err)

    return call


def test_a_replay_has_the_same_result_without_provider_and_key(stamina: Stamina, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though sessions, folders, times and the output of commands differ; its lock says what it replays, and so it can be gone on with."""
    first = stamina("report", "lab")
    done = stamina("run", "lab.toml", "--replay", "lab")
    assert done.code == 0, done.said
    assert done.cell == first.cell
    assert done.cell["average_turns_passed"] == {"0": 2.0, "1": 2.0}
    old, new = (Run.open(Path("runs") / name) for name in ("lab", "lab-replay"))
    assert new.lock().replay == "../lab"
    used = [[(request.number, request.usage) for folder in run.scenarios() for request in read_requests(folder.path)] for run in (old, new)]
    assert used[0] == used[1]
    assert len(used[0]) == 8

    assert (stamina("resume", "lab-replay").code, stamina("report", "lab-replay").cell) == (0, first.cell)
    monkeypatch.setenv("LAB_KEY", "lab-key-0123456789")
    mixed = stamina("run", "lab.toml", "--out", "runs/lab-replay")
    assert (mixed.code, 'replay of was "lab", is nothing' in mixed.said) == (2, True)


def test_another_agents_requests_are_missed(stamina: Stamina, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of the benchmark, not of the agent, that says where the first difference is."""
    adapter = sys.modules["lab_adapter"]
    monkeypatch.setattr(adapter, "TEXT", adapter.TEXT.replace("You work in", "You play in"))
    done = stamina("run", "lab.toml", "--replay", "lab", "--out", "runs/missed", "--set", "sweep.seeds=1")
    assert (done.code, done.cell["crashed"], done.cell["causes"]) == (1, 1, {"benchmark": 1})
    [folder] = Run.open(Path("runs/missed")).scenarios()
    journal = folder.journal.read_text()
    assert "replay of lab, scenario lab-m/1/0, turn 0, attempt 0, call 0, request 0: it asks something else than the recorded request 0" in journal
    assert "$.messages[0].content was " in journal
    assert "You work in" in journal


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--replay", "labb"], 'did you mean "lab"?'),
        (["--replay", "lab", "--set", "sweep.seeds=0-2"], "seed 2 is new"),
        (["--replay", "lab", "--set", "sweep.turns=2"], "turns 1 → 2"),
        (["--replay", "lab", "--set", "sweep.language=go"], 'language was "python", is "go"'),
        (["--replay", "lab", "--set", "agent.0.name=other"], "cell other was not played; played were lab-m"),
        (["--replay", "bare"], "has no recording: no scenario of it has a wire.bin"),
        (["--replay", "half"], "has no recording of lab-m/1/0. Leave them out"),
    ],
)
def test_what_cannot_be_replayed_is_refused(stamina: Stamina, arguments: list[str], said: str) -> None:
    """With exit code 2, before a folder is made."""
    for name, kept in (("bare", ()), ("half", ("0",))):
        if not Path("runs", name).exists():
            shutil.copytree("runs/lab", Path("runs", name))
            for path in Path("runs", name, "scenarios").glob(f"*/*/*/{NAME}"):
                if path.parts[-3] not in kept:
                    path.unlink()
    done = stamina("run", "lab.toml", "--out", "runs/refused", *arguments)
    assert (done.code, Path("runs/refused").exists()) == (2, False)
    assert said in done.said
    assert "Traceback" not in done.said
