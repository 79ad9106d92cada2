"""The run folder: made whole, opened only when it is one, played by one process, and nothing in it is lost."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import attrs
import pytest

from scenario_store import atomic
from scenario_store.record import JournalDamaged
from scenario_store.run import Run
from stamina.config.lock import CellLock, Lock
from stamina.config.model import AgentConfig, Engine, ModelConfig, Price, Provider, SandboxConfig, Settings
from stamina.errors import HostFault, InputError

SWEEP = b'[sweep]\nname = "a"\n'
LOCK = Lock(
    benchmark="1",
    package="0.1.0",
    prompts="sha256:12",
    sandbox=SandboxConfig(engine=Engine.PROCESS, env={"A": "sha256:ab"}, docker_args={"Ulimits": [{"Soft": 1}]}),
    seeds=(1, 2),
    repeats=1,
    cells=(
        CellLock("mock", AgentConfig("mock", options={"mistakes": [0.5]}), ModelConfig("m", Provider.OPENAI, "m-1", 1000, price=Price(1.0, 2.0)), Settings()),
    ),
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.create(tmp_path / "runs" / "a", SWEEP, LOCK)


def test_a_run_is_read_back_from_its_folder_alone(run: Run) -> None:
    """Sweep file and lock are as they were given, byte for byte and value for value."""
    again = Run.open(run.path)
    assert again.sweep_file.read_bytes() == SWEEP
    assert again.lock() == LOCK


def test_a_run_is_never_made_over_another(run: Run) -> None:
    """The message names the way to go on with it."""
    with pytest.raises(InputError, match=r"holds a run already\. Resume it"):
        Run.create(run.path, b"other", LOCK)
    assert run.sweep_file.read_bytes() == SWEEP


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    """Somebody's folder is not turned into a run."""
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(InputError, match=r"not empty \(it holds thesis\.txt\)"):
        Run.create(tmp_path, SWEEP, LOCK)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_creation_that_was_cut_short_is_no_run_and_can_be_made_again(run: Run) -> None:
    """lock.json comes last: without it there is nothing to resume, and nothing in the way."""
    run.lock_file.unlink()
    (run.path / ".lock.json.12ab.tmp").touch()
    with pytest.raises(InputError, match=r"is not a run folder: it holds no lock\.json"):
        Run.open(run.path)
    assert Run.create(run.path, SWEEP, LOCK).lock() == LOCK


def test_a_run_of_another_version_is_refused(run: Run) -> None:
    """Its format is named, and what to use instead."""
    run.lock_file.write_text(run.lock_file.read_text().replace('"format": 1', '"format": 7'))
    with pytest.raises(InputError, match="this run has format 7, this version of stamina reads 1"):
        Run.open(run.path)


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 1}', '{"format": 1, "lock": {"colour": 3}}'])
def test_a_damaged_lock_is_a_message(run: Run, content: str) -> None:
    """Whatever is in lock.json, its name is in the error."""
    run.lock_file.write_text(content)
    with pytest.raises(InputError, match=r"lock\.json"):
        Run.open(run.path).lock()


def test_extending_keeps_what_was_there(run: Run) -> None:
    """Earlier sweep files and locks stay beside the new ones, in order."""
    run.extend(b"two", attrs.evolve(LOCK, seeds=(1, 2, 3)))
    run.extend(b"three", attrs.evolve(LOCK, seeds=(1, 2, 3, 4)))
    assert Run.open(run.path).lock().seeds == (1, 2, 3, 4)
    assert [(run.path / name).read_bytes() for name in ("sweep.1.toml", "sweep.2.toml", "sweep.toml")] == [SWEEP, b"two", b"three"]
    assert json.loads((run.path / "lock.1.json").read_text())["lock"]["seeds"] == [1, 2]


def test_a_second_orchestrator_is_refused_until_the_first_is_gone(run: Run) -> None:
    """The refusal names the process that plays the run; a killed one leaves nothing to clean up."""
    code = f"from pathlib import Path; from scenario_store.run import Run\nwith Run(Path({str(run.path)!r})).playing(): print('mine', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[2]
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"mine\n"
        with pytest.raises(InputError, match=rf"played by another process \(pid {child.pid}\)"), run.playing():
            pass
        child.kill()
    with run.playing():
        assert (run.path / "run.pid").read_text() == f"{os.getpid()}\n"


def test_who_only_looks_whether_a_run_is_played_keeps_nobody_from_playing_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`status` has the lock for a moment, and a run that begins in it goes on when the moment is over."""
    with run.playing():
        assert run.is_played
    looking = os.open(run.path / "run.pid", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
    with run.playing():
        assert run.is_played
    os.close(looking)
    assert not run.is_played


def test_attempt_folders_are_never_used_again(run: Run) -> None:
    """An agent call that is played again after a crash gets a folder of its own; the newest is found by number, not by spelling."""
    folder = run.scenario("mock", 3, 0)
    assert folder.latest(3, 1) is None
    made = [folder.attempt(3, 1, 0), folder.attempt(3, 1, 0), folder.attempt(3, 1, 2), folder.attempt(3, 1, 10), folder.attempt(3, 1, 10)]
    assert [str(path.relative_to(folder.path)) for path in made] == [f"turns/003/1/{name}" for name in ("0", "0.1", "2", "10", "10.1")]
    assert folder.latest(3, 1) == made[-1]
    assert folder.latest(3, 0) is None


def test_the_working_folder_says_nothing_and_is_found_again(run: Run) -> None:
    """Its path holds neither cell nor seed, and a resumed scenario has the same one."""
    live = run.scenario("mock-model", 424242, 0).live()
    (live.workspace / "main.py").touch()
    again = Run.open(run.path).scenario("mock-model", 424242, 0).live()
    assert (again.workspace / "main.py").exists()
    assert live.home.is_dir()
    assert live.tmp.is_dir()
    inside = str(live.root.relative_to(run.path))
    assert "mock" not in inside
    assert "424242" not in inside
    assert run.scenario("mock-model", 424243, 0).live().root != live.root


def test_a_damaged_token_is_a_message(run: Run) -> None:
    """A working folder is not made anywhere that a damaged file points to."""
    folder = run.scenario("mock", 1, 0)
    (folder.path / "live").write_text("../../elsewhere")
    with pytest.raises(InputError, match="name of the working folder"):
        folder.live()


def test_an_emptied_journal_of_a_played_scenario_is_damage(run: Run) -> None:
    """Nothing is wrong before the first call; after it a journal that holds nothing was lost, and is not played over in silence."""
    folder = run.scenario("mock", 1, 0)
    folder.vouch_for([])
    folder.attempt(0, 0, 0)
    folder.vouch_for(["an event"])
    with pytest.raises(JournalDamaged, match="agent calls were made"):
        folder.vouch_for([])


def test_a_working_folder_that_is_gone_is_not_held_against_the_agent(run: Run) -> None:
    """An empty one in its place would fail every test."""
    folder = run.scenario("mock", 1, 0)
    folder.vouch_for_work()
    live = folder.live()
    folder.attempt(0, 0, 0)
    folder.vouch_for_work()
    shutil.rmtree(live.root)
    with pytest.raises(InputError, match="it held the agent's work"):
        folder.vouch_for_work()


def test_scenarios_come_in_numeric_order(run: Run) -> None:
    """By cell, then seed, then repeat; other folders are passed over."""
    for cell, seed, repeat in [("b", 2, 0), ("a", 10, 0), ("a", 9, 1), ("a", 9, 0)]:
        run.scenario(cell, seed, repeat)
    (run.path / "scenarios" / "a" / "notes" / "x").mkdir(parents=True)
    assert [(folder.cell, folder.seed, folder.repeat) for folder in run.scenarios()] == [("a", 9, 0), ("a", 9, 1), ("a", 10, 0), ("b", 2, 0)]


@pytest.mark.parametrize("cell", ["", "..", "a/b", ".hidden", "x" * 201, "a b"])
def test_a_cell_that_cannot_name_a_folder_is_refused(run: Run, cell: str) -> None:
    """A slug never leads out of the run."""
    with pytest.raises(InputError, match="cannot name a folder"):
        run.scenario(cell, 0, 0)


def test_a_result_is_replaced_whole_or_not_at_all(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk fails in the middle the old result stands and nothing is left beside it."""
    run.write_result(b"older and longer")
    with run.result_file.open("rb") as reader:
        run.write_result(b"old")
        assert reader.read() == b"older and longer"
    before = sorted(path.name for path in run.path.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(atomic, "write_all", _half)
        with pytest.raises(HostFault, match=r"cannot write .*result\.json: No space left"):
            run.write_result(b"new and longer")
    assert run.result_file.read_bytes() == b"old"
    assert sorted(path.name for path in run.path.iterdir()) == before == ["live", "lock.json", "result.json", "scenarios", "sweep.toml"]


def _half(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data[: len(data) // 2])
    raise OSError(28, "No space left on device")
