"""Real processes, really killed: what a kill leaves behind, and that the sweep plays on from its journals."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from actors.sweep import SweepEnd
from scenario_store.journal import read_journal
from stamina.outcome import Ending
from stamina.turns import CallCompleted, CallStarted, Event
from tests.actors import real_sweep
from tests.actors.fakes import folder_of, works
from tests.waiting import SECONDS, until

ROOT = Path(__file__).parents[2]
NEVER = 99


@contextmanager
def playing(root: Path, turn: int) -> Iterator[subprocess.Popen[bytes]]:
    """The tiny sweep as a process of its own; its agents wait from this turn on."""
    argv = [sys.executable, str(Path(real_sweep.__file__)), str(root), str(turn)]
    process = subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def events(root: Path) -> list[Event]:
    return [event for work in works((1, 2)) for event in read_journal(folder_of(work, root).journal, Event).events]


def daemons(root: Path) -> list[int]:
    """The processes that the agents left running in their last call."""
    return [int(path.read_text()) for path in root.glob("live/*/home/daemon")]


def alive(pid: int) -> bool:
    """Whether a daemon still runs; another process may have got its number."""
    try:
        return b"sleep\x00600" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def started(root: Path, turn: int = 0) -> int:
    """How many calls of this turn or a later one were begun."""
    return sum(isinstance(event, CallStarted) and event.turn >= turn for event in events(root))


def resumed(root: Path) -> SweepEnd:
    return trio.run(real_sweep.main, root, NEVER)


def check_whole(root: Path, end: SweepEnd) -> None:
    assert [report.outcome.ending for report in end.reports] == [Ending.COMPLETED] * 2
    assert all(turn.attempts[0].passed for report in end.reports for turn in report.outcome.turns)
    for work in works((1, 2)):
        completed = [event.turn for event in read_journal(folder_of(work, root).journal, Event).events if isinstance(event, CallCompleted)]
        assert completed == [0, 1, 2]


def test_sigkill_in_a_call_leaves_no_process_and_loses_no_turn(tmp_path: Path) -> None:
    """The keeper outlives us: the agents and their daemons end with us, and playing on repeats the interrupted calls alone."""
    with playing(tmp_path, 1) as process:
        until(lambda: started(tmp_path, 1) == 2 and len(daemons(tmp_path)) == 2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not any(alive(pid) for pid in daemons(tmp_path)))
    check_whole(tmp_path, resumed(tmp_path))
    assert started(tmp_path) == 8


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_drains(tmp_path: Path, number: signal.Signals) -> None:
    """Calls in flight end by themselves and are kept; exit 130; nothing is left; playing on repeats nothing."""
    with playing(tmp_path, 0) as process:
        until(lambda: started(tmp_path) == 2)
        process.send_signal(number)
        until((tmp_path / "draining").exists)
        (tmp_path / "go").touch()
        assert process.wait(SECONDS) == 130
    assert len([event for event in events(tmp_path) if isinstance(event, CallCompleted)]) == started(tmp_path) == 2
    check_whole(tmp_path, resumed(tmp_path))
    assert started(tmp_path) == 6


def test_the_second_signal_ends_at_once(tmp_path: Path) -> None:
    """Calls that would never end are ended, with all that they started."""
    with playing(tmp_path, 0) as process:
        until(lambda: len(daemons(tmp_path)) == 2)
        process.send_signal(signal.SIGINT)
        until((tmp_path / "draining").exists)
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
    assert not any(alive(pid) for pid in daemons(tmp_path))
    check_whole(tmp_path, resumed(tmp_path))
