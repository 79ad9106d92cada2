"""The clocks of an agent call: its wall time, and two that begin anew whenever anything happens.

*Model*: how long the agent has asked its model nothing, while it did nothing else either. *Progress*: how long there has been no sign of progress of any kind.
An agent that is at work for long (a build, a test) uses processor time, and is never ended for being idle: that it does not talk to its model is only told.

Some CLIs use processor time while they wait, too: their timers and pictures of progress take up to a twentieth of a processor, as much as a build gets on a
crowded host. So what a CLI's *own process* is known to use when it waits is not counted, and all that it has started is: a tool's work never runs in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import structlog
import trio

from actors.sandbox import CallLimits, IdleLimits
from harnesses.harness import MODEL_IDLE, PROGRESS_IDLE, WALL

WORKING: Final = 0.01
"""Share of one processor from which on what runs in a sandbox is at work. Most CLIs that wait take less, the others tell (``Command.idle_load``); on a host
with ten times as many runnable processes as processors, a build that keeps one busy gets no more than 6 %, so it must not be much higher."""

log = structlog.get_logger()


@attrs.frozen
class Measured:
    """What a call has done so far.

    Attributes:
        output: bytes that it has written.
        processor: seconds of processor time of all that has run in its sandbox, None when nobody knows.
        own: how much of it the command's own process has used, None when nobody knows.
    """

    output: int
    processor: float | None
    own: float | None = None


Measure: TypeAlias = Callable[[], Awaitable[Measured]]


async def clock_over(ended: Callable[[], Awaitable[object]], limits: CallLimits, measure: Measure, idle_load: float = 0.0) -> str | None:
    """Wait until a call has ended by itself (None), or one of its clocks is over: which one. ``ended`` is cancelled and called again meanwhile.
    ``idle_load`` is that of the command."""
    begun = trio.current_time()
    idle = None if limits.idle is None else Idleness(limits.idle, begun, idle_load)
    while (left := limits.left(trio.current_time() - begun)) > 0:
        with trio.move_on_after(left if idle is None else min(left, idle.limits.pause)):
            await ended()
            return None
        if idle is None:
            continue
        if idle.talks:
            idle.alive(trio.current_time())
        elif (clock := idle.look(trio.current_time(), await measure())) is not None:
            return clock
    return WALL


@attrs.define
class Idleness:
    """One call, looked at from time to time. What cannot be measured counts as work."""

    limits: IdleLimits
    _begun: float
    _idle_load: float = 0.0
    _looked: float = attrs.field(init=False)
    _worked: float = attrs.field(init=False)
    _printed: float = attrs.field(init=False)
    _output: int = attrs.field(default=0, init=False)
    _before: Measured | None = attrs.field(default=None, init=False)
    _told: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._looked = self._worked = self._printed = self._begun

    @property
    def talks(self) -> bool:
        """The agent has had to do with its model since the last look: that is sign enough, and nothing need be measured (an engine takes a second for it)."""
        return self.limits.quiet is not None and self.limits.quiet() < self.limits.pause

    def alive(self, now: float) -> None:
        """Take in that the agent lives."""
        self._looked = self._worked = self._printed = now
        self._before = None

    def look(self, now: float, seen: Measured) -> str | None:
        """Take in what was done so far: the clock that is over, None while none is."""
        before, self._before = self._before, seen
        if before is None or (work := _work(before, seen, self._idle_load * (now - self._looked))) is None or work >= WORKING * (now - self._looked):
            self._worked = now
        if seen.output > self._output:
            self._output, self._printed = seen.output, now
        self._looked = now
        return self._over(now)

    def _over(self, now: float) -> str | None:
        idle = now - self._worked
        quiet = None if self.limits.quiet is None else self.limits.quiet()
        if quiet is not None and quiet >= self.limits.model:
            if idle >= self.limits.model:
                return MODEL_IDLE
            self._tell(quiet)
        signs = (idle, now - self._printed, *(() if quiet is None else (quiet,)))
        return PROGRESS_IDLE if min(signs) >= self.limits.progress else None

    def _tell(self, quiet: float) -> None:
        if not self._told:
            self._told = True
            log.info("the agent is at work, but has long asked its model nothing", seconds=round(quiet))


def _work(before: Measured, now: Measured, waiting: float) -> float | None:
    """Seconds of processor time that were worked from one look to the next; None when nobody knows. ``waiting``: what the command's own process uses
    meanwhile without doing anything; what it has not used itself is never taken off."""
    if before.processor is None or now.processor is None or now.processor < before.processor:
        return None
    own = 0.0 if before.own is None or now.own is None else max(0.0, now.own - before.own)
    return now.processor - before.processor - min(own, waiting)


def size(*paths: Path) -> int:
    """Bytes of files together; those that are not there have none."""
    return sum(_size(path) for path in dict.fromkeys(paths))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
