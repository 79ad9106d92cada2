"""Being asked to stop: the first time politely (drain), the second time at once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Final

import attrs
import trio

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@attrs.define
class Stop:
    """The wish to stop, shared by everything that plays.

    Args:
        grace: seconds that calls in flight get to end by themselves after the first request.
    """

    grace: float = 30.0
    _asked: trio.Event = attrs.field(factory=trio.Event, init=False)
    _now: trio.Event = attrs.field(factory=trio.Event, init=False)

    @property
    def asked(self) -> bool:
        """No new step is to be begun."""
        return self._asked.is_set()

    def ask(self) -> None:
        """Drain; asked again: end at once."""
        (self._now if self.asked else self._asked).set()

    async def wait(self) -> None:
        """Until the first request."""
        await self._asked.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than until the first request."""
        with trio.move_on_after(seconds):
            await self._asked.wait()

    async def cancel(self, scope: trio.CancelScope, *, told: Callable[[float], None]) -> None:
        """After the first request, and then the grace or a second request, cancel the scope. ``told`` hears of the first, with the grace."""
        await self._asked.wait()
        told(self.grace)
        with trio.move_on_after(self.grace):
            await self._now.wait()
        scope.cancel()


async def on_signals(stop: Stop, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Ask to stop at each of SIGNALS, for as long as this runs. After the second one signals mean again what they meant before.

    A terminal that closes asks too, unless nohup or its like said that nobody minds.
    """
    minded = [number for number in SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    with trio.open_signal_receiver(*minded) as received:
        task_status.started()
        count = 0
        async for _ in received:
            stop.ask()
            count += 1
            if count == 2:
                return
