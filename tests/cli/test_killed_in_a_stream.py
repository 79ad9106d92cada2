"""The orchestrator is killed while an answer is on its way, and the run is gone on with: what was counted stays, once, and the recording can be read."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

from scenario_store.outcomes import outcomes_from
from scenario_store.recording import Recording
from scenario_store.run import Run
from scenario_store.usage import ASKED, lost_requests, read_requests
from stamina.usage import How
from tests.cli.model_lab import SWEEP, Asked, Reply, install, provider, works
from tests.cli.test_processes import ROOT, command
from tests.waiting import SECONDS, until


def test_tokens_are_counted_once_and_the_recording_is_whole_up_to_there(tmp_path: Path) -> None:
    """The third request is in the middle of its stream at the kill: it counts as one whose usage nobody knows, and the next run counts on behind it."""
    site, streaming, free = install(tmp_path), threading.Event(), threading.Event()

    def answer(asked: Asked) -> Reply:
        if asked.number == 2:
            streaming.set()
            free.wait(SECONDS)
        return works(asked)

    env = {**os.environ, "LAB_KEY": "lab-key-0123456789", "PYTHONPATH": f"{ROOT}{os.pathsep}{site}", "NO_COLOR": "1"}
    with provider(answer) as (port, asked):
        (tmp_path / "lab.toml").write_text(SWEEP.replace("PORT", str(port)).replace('seeds = "0-1"', 'seeds = "0"'))
        with subprocess.Popen(command("run", "lab.toml"), cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            assert streaming.wait(SECONDS)
            [folder] = Run.open(tmp_path / "runs/lab").scenarios()
            until(lambda: len(list(read_requests(folder.path))) == 2)
            process.kill()
        free.set()
        before = list(read_requests(folder.path))
        [row] = outcomes_from(Run.open(tmp_path / "runs/lab"))
        assert row.spending is not None
        assert (row.spending.requests, row.spending.measured) == (3, 2)
        with (folder.path / "wire.bin").open("ab") as file:
            file.write(b"WIRE\x02\xff\xff")  # a write that the kill cut short
        done = subprocess.run(command("resume", "runs/lab"), cwd=tmp_path, env=env, capture_output=True, timeout=2 * SECONDS, check=False)
    assert done.returncode == 0, done.stderr

    after = list(read_requests(folder.path))
    assert after[: len(before)] == before
    assert [request.number for request in before] == [0, 1]
    numbers = [request.number for request in after]
    assert numbers == sorted(set(numbers))
    assert [(request.how, request.usage is None) for request in after] == [(How.ANSWERED, False)] * 2 + [(How.ABANDONED, True)] + [(How.ANSWERED, False)] * (
        len(after) - 3
    )
    assert len(after) == len(asked)
    assert not (folder.path / ASKED).exists() or not lost_requests(folder.path)
    recording = Recording.read(folder.path)
    assert recording.torn == 0
    ends = [recording.answer(exchange).end for exchange in recording.exchanges]
    assert sum(end is not None for end in ends) == len(after) - 1
    assert sum(end is None for end in ends) <= 1
