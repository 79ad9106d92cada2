"""Real CLIs that use processor time while they wait: one that hangs is ended by its clocks all the same; ``make test-harnesses``."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from actors.containers import containers
from actors.sandbox import CallLimits, IdleLimits
from harnesses.harness import MODEL_IDLE, CallContext, ModelAccess
from harnesses.registry import make_harness
from scenario_store.folder import LiveFolder
from stamina.config.model import AgentConfig, SandboxConfig
from tests.docker.harness_plays import CLIS, each
from tests.harnesses.cli_lab import command
from tests.local_server import QuietHandler, listening

pytestmark = [pytest.mark.docker, pytest.mark.harnesses]

BUSY: Final = [name for name in CLIS if command(name).idle_load]
"""Those whose waiting alone would count as work."""

HANG: Final = 100.0
"""Seconds without work. Looks are a tenth of it apart, so that the second which the engine takes for one counts for little."""


@contextmanager
def mute(address: str) -> Iterator[tuple[int, threading.Event]]:
    """A model that takes requests and never answers: its port, and whether it was asked."""
    asked, over = threading.Event(), threading.Event()

    class Mute(QuietHandler):
        def do_POST(self) -> None:
            asked.set()
            over.wait()

    with listening(Mute, address) as port:
        try:
            yield port, asked
        finally:
            over.set()


@each(*BUSY, together=False)
async def test_a_cli_that_hangs_is_ended_though_it_uses_processor_time_meanwhile(harness: str, host: str, tmp_path: Path) -> None:
    """It waits as it does for anything; by its wall clock it would have an hour."""
    live = LiveFolder(tmp_path / "live")
    for path in (live.workspace, live.home, live.tmp):
        path.mkdir(parents=True)
    out, err = tmp_path / "out", tmp_path / "err"
    limits = CallLimits(3600, grace=1, idle=IdleLimits(HANG, 3600, quiet=lambda: 1e9))
    async with containers(host, SandboxConfig(), [harness], os.environ) as made, made.open(harness, {}, live) as sandbox:
        with mute(made.network.listen) as (port, asked):
            model = ModelAccess(f"http://{made.network.reach}:{port}", "token", "stub", 200_000)
            call = CallContext(0, 0, 0, "Say hello.", None, *sandbox.inside, model)
            end = await sandbox.call(make_harness(AgentConfig(harness)).command(call), limits=limits, stdout=out, stderr=err)

    assert asked.is_set(), err.read_text()
    assert end.expired == MODEL_IDLE
