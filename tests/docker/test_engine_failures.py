"""Engines that are restarted, stopped and broken in the middle of a sweep: what was under way is played on, nothing is lost, and nobody waits for ever."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from stamina.turns import MachineryFailed
from tests.docker.container_lab import leftovers
from tests.docker.sweep_lab import Private, events, playing, private_engine, suites, until

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def second_engine(host: str) -> Iterator[Private]:
    """One for all tests here, as copying an image to it takes a while."""
    with private_engine(host) as engine:
        yield engine


def test_a_sweep_outlives_a_restart_of_its_engine(second_engine: Private, tmp_path: Path) -> None:
    """Scenarios that were under way fail as sandboxes do, are played on in new containers, and all end well; nothing of the old ones is left."""
    out = tmp_path / "run"
    with playing(out, second_engine.host, "sweep.turns=6", "sweep.seeds=0") as process:
        until(lambda: suites(out) >= 2)
        second_engine.signal(signal.SIGKILL)
        second_engine.do("start")
        _, complaints = process.communicate(timeout=240)
        assert process.returncode == 0, complaints.decode()
        assert trio.run(leftovers, second_engine.host, process.pid) == ([], [])
    failures = [event for event in events(out) if isinstance(event, MachineryFailed)]
    assert failures
    assert {event.cause.value for event in failures} == {"sandbox"}
