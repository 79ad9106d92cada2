"""A clock for tests with real sockets."""

from __future__ import annotations

import pytest
import trio.testing


@pytest.fixture
def patient_clock(autojump_clock: trio.testing.MockClock) -> trio.testing.MockClock:
    """Jumps when nothing has happened for a moment of real time: bytes on their way through the kernel are not seen by trio."""
    autojump_clock.autojump_threshold = 0.05
    return autojump_clock
