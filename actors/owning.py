"""Give back what was taken: in every case, shielded from cancellation, within a bound."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import structlog
import trio

T = TypeVar("T")

GRACE: Final = 30.0
"""Seconds that giving back may take."""

log = structlog.get_logger()


@asynccontextmanager
async def owning(name: T, give_back: Callable[[T], Awaitable[object]], *, grace: float = GRACE) -> AsyncIterator[T]:
    """Own a name for the length of a block. Own the name first, then make the thing inside the block: then there is no instant at which it exists and nobody
    owns it, and giving back what was never made must be no error.

    A failure to give back is logged as a leak and hides nothing: why the block ended is what is raised.
    """
    try:
        yield name
    finally:
        with trio.move_on_after(grace, shield=True) as scope:
            try:
                await give_back(name)
            except Exception:
                log.exception("leaked", name=str(name))
        if scope.cancelled_caught:
            log.error("leaked", name=str(name), after=grace)
