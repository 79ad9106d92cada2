"""A clock for tests with real sockets."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

PATIENCE = 0.05
"""Seconds of real time: bytes on their way through the kernel are not seen by trio."""


@pytest.fixture
def patient_clock(autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch) -> trio.testing.MockClock:
    """Jumps when nothing has happened for a moment of real time, and no thread is at work: trio does not see those either."""
    autojump_clock.autojump_threshold = PATIENCE
    run_sync, busy = trio.to_thread.run_sync, 0

    async def seen(*given: Any, **options: Any) -> Any:
        nonlocal busy
        busy += 1
        autojump_clock.autojump_threshold = float("inf")
        try:
            return await run_sync(*given, **options)
        finally:
            busy -= 1
            if not busy:
                autojump_clock.autojump_threshold = PATIENCE

    monkeypatch.setattr(trio.to_thread, "run_sync", seen)
    return autojump_clock
