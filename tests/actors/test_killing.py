"""Real processes, really killed: what a kill leaves behind, and that the sweep plays on from its journals."""

import os
import signal
import subprocess
import sys
import time
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

ROOT = Path(__file__).parents[2]


@contextmanager
def playing(root: Path, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """The tiny sweep as a process of its own."""
    argv = [sys.executable, str(Path(real_sweep.__file__)), str(root), str(seconds)]
    process = subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(condition: object, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.02)


def events(root: Path) -> list[Event]:
    return [event for work in works((1, 2)) for event in read_journal(folder_of(work, root).journal, Event).events]


def daemons(root: Path) -> list[int]:
    """The processes that the agents left running in their last call."""
    files = [path for path in root.glob("live/*/home/daemon") if path.read_text().strip()]
    return [int(path.read_text()) for path in files]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def resumed(root: Path) -> SweepEnd:
    return trio.run(real_sweep.main, root, 0)


def check_whole(root: Path, end: SweepEnd) -> None:
    assert [report.outcome.ending for report in end.reports] == [Ending.COMPLETED] * 2
    assert all(turn.attempts[0].passed for report in end.reports for turn in report.outcome.turns)
    for work in works((1, 2)):
        completed = [event.turn for event in read_journal(folder_of(work, root).journal, Event).events if isinstance(event, CallCompleted)]
        assert completed == [0, 1, 2]


def test_sigkill_in_a_call_leaves_no_process_and_loses_no_turn(tmp_path: Path) -> None:
    """The keeper outlives us: the agents and their daemons end with us, and playing on repeats the interrupted calls alone."""
    with playing(tmp_path, 0.5) as process:
        until(lambda: sum(isinstance(event, CallStarted) and event.turn == 1 for event in events(tmp_path)) == 2 and len(daemons(tmp_path)) == 2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    until(lambda: not any(alive(pid) for pid in daemons(tmp_path)))
    check_whole(tmp_path, resumed(tmp_path))
    assert len([event for event in events(tmp_path) if isinstance(event, CallStarted)]) > 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_drains(tmp_path: Path, number: signal.Signals) -> None:
    """Calls in flight end by themselves and are kept; exit 130; nothing is left; playing on repeats nothing."""
    with playing(tmp_path, 0.5) as process:
        until(lambda: sum(isinstance(event, CallStarted) for event in events(tmp_path)) >= 2)
        process.send_signal(number)
        assert process.wait(timeout=20) == 130
    started = [event for event in events(tmp_path) if isinstance(event, CallStarted)]
    assert len(started) == len([event for event in events(tmp_path) if isinstance(event, CallCompleted)])
    check_whole(tmp_path, resumed(tmp_path))
    assert len([event for event in events(tmp_path) if isinstance(event, CallStarted)]) == 6


def test_the_second_signal_ends_at_once(tmp_path: Path) -> None:
    """Calls that would take minutes are ended, with all that they started."""
    with playing(tmp_path, 300) as process:
        until(lambda: len(daemons(tmp_path)) == 2)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
    assert not any(alive(pid) for pid in daemons(tmp_path))
    check_whole(tmp_path, resumed(tmp_path))
