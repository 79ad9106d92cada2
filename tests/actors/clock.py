"""Virtual time where the ``autojump_clock`` fixture does not fit: under hypothesis, which wants no function-scoped fixtures."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio
import trio.testing

T = TypeVar("T")


def run_jumping(main: Callable[[], Awaitable[T]]) -> T:
    """Run to the end with a clock that jumps whenever everybody sleeps."""
    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
