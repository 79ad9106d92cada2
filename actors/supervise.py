"""Run one actor to its end, afresh while only the machinery fails. Supervising is a loop around an await.

====================================  =====================================================================
an :class:`InfraError`                afresh after a pause, at most ``attempts`` times, then :class:`Abandoned`
anything else                         :class:`Crashed`: a bug, or bad input; starting again would only hide it
many failures at once, of all actors  :class:`RestartStorm` is raised: they have one cause; stop and look
cancellation                          passes through: it is no failure
====================================  =====================================================================
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeAlias, TypeVar

import attrs
import trio

from stamina.errors import InfraError

T = TypeVar("T")

Start: TypeAlias = Callable[[int], Awaitable[T]]
"""Attempt n (from 1), with nothing left of attempt n - 1."""

HANG_UPS: Final = (trio.EndOfChannel, trio.BrokenResourceError)


@attrs.frozen
class Finished(Generic[T]):
    """The actor returned."""

    value: T
    attempts: int


@attrs.frozen
class Abandoned:
    """The machinery failed every time it was allowed to; ``cause`` is the last failure."""

    cause: InfraError
    attempts: int


@attrs.frozen
class Crashed:
    """A bug of ours, or input that cannot be used."""

    cause: Exception
    attempts: int


Exit: TypeAlias = Finished[T] | Abandoned | Crashed


@attrs.frozen
class Restart:
    """How often, and after which pauses: ``base * 2^(n-1)`` seconds after the n-th failure, at most ``cap``."""

    attempts: int = 3
    base: float = 2.0
    cap: float = 60.0

    def delay(self, failures: int) -> float:
        """Seconds to wait after so many failures."""
        return min(self.cap, self.base * 2.0 ** min(failures - 1, 60))


class RestartStorm(InfraError):
    """Too many failures in too short a time: they have one cause."""


@attrs.define
class Intensity:
    """OTP's: at most ``most`` restarts in any ``seconds``, counted over everything that shares this object."""

    most: int = 30
    seconds: float = 10.0
    _spent: deque[float] = attrs.field(factory=deque, init=False)

    def spend(self, why: Exception) -> None:
        """Count one restart. Raises RestartStorm, with this failure as its cause, when it is one too many."""
        now = trio.current_time()
        self._spent.append(now)
        while self._spent[0] <= now - self.seconds:
            self._spent.popleft()
        if len(self._spent) > self.most:
            raise RestartStorm(f"{len(self._spent)} failures within {self.seconds:g} s, the last one: {why}") from why


async def supervise(start: Start[T], *, restart: Restart, intensity: Intensity) -> Exit[T]:
    """Run an actor to its end. Raises RestartStorm, and what is not an Exception."""
    attempt = 1
    while True:
        try:
            return Finished(await start(attempt), attempt)
        except Exception as error:
            fault = infra_fault(error)
            if fault is None or isinstance(fault, RestartStorm):
                return Crashed(error, attempt)
            if attempt >= restart.attempts:
                return Abandoned(fault, attempt)
        intensity.spend(fault)
        await trio.sleep(restart.delay(attempt))
        attempt += 1


def infra_fault(error: Exception) -> InfraError | None:
    """The machinery's failure behind this error, None when there is none or there is a bug beside it.

    Failures come out of nurseries in groups, and a task whose peer has failed hears that its channel is closed: such a hang-up is an echo, and counts for
    nothing unless it is alone.
    """
    group = error if isinstance(error, ExceptionGroup) else ExceptionGroup("", [error])
    infra, rest = group.split(InfraError)
    bugs = rest.split(HANG_UPS)[1] if rest else None
    return None if infra is None or bugs is not None else _first(infra)


def culprit(error: Exception) -> Exception:
    """The one failure in a group of one, without the echoes of hang-ups: nurseries wrap what goes through them. A group of several stays as it is."""
    while isinstance(error, ExceptionGroup):
        rest = error.split(HANG_UPS)[1] or error
        if len(rest.exceptions) != 1:
            return rest
        error = rest.exceptions[0]
    return error


def _first(group: ExceptionGroup[InfraError]) -> InfraError:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, ExceptionGroup) else inner
