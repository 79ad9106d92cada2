"""Permits of which urgent work gets the next one that comes free: an engine that is busy creating must not keep anybody from removing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import trio


@attrs.define
class PriorityPermits:
    """At most ``total`` at once; who waits is served in order, the urgent first."""

    total: int
    _taken: int = attrs.field(default=0, init=False)
    _urgent: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot, init=False)
    _others: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot, init=False)

    @asynccontextmanager
    async def permit(self, *, urgent: bool = False) -> AsyncIterator[None]:
        """One permit, for the length of the block."""
        await self._take(self._urgent if urgent else self._others)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, lot: trio.lowlevel.ParkingLot) -> None:
        if self._taken < self.total:
            self._taken += 1
            await self._checked()
        else:
            await lot.park()  # whoever gives back leaves its permit to us

    async def _checked(self) -> None:
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled:
            self._give_back()
            raise

    def _give_back(self) -> None:
        if not self._urgent.unpark() and not self._others.unpark():
            self._taken -= 1
