"""Waiting for what another process, thread or task does: until it is so, and not for a time that a busy machine may need. The limits only end what hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import trio

SECONDS: Final = 300.0
"""After which something counts as hung."""


def until(condition: Callable[[], object]) -> None:
    """Wait for another process or thread."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.02)


async def until_true(condition: Callable[[], object]) -> None:
    """Wait for another task that tells nobody in particular. The limit is one of real time: there may be a clock that jumps."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        await trio.sleep(0.01)


def clock_from(begun: Callable[[], object]) -> Callable[[], float]:
    """For a call's ``held``: its clock stands until ``begun`` is true for the first time."""
    start, before = trio.current_time(), 0.0

    def held() -> float:
        nonlocal before
        if not begun():
            before = trio.current_time() - start
        return before

    return held
