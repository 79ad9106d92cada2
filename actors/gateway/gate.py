"""The gate of one model: requests go through one after the other as limits allow, in turns between scenarios, and wait while the provider is down."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Final, TypeAlias

import attrs
import trio

from actors.gateway.allowance import Allowance, Bucket
from actors.gateway.outage import Kind, Outage
from stamina.config.model import ModelConfig

UP: Final = ""

SHARE: Final = 0.25
"""Of what may be in flight, the most that one of several scenarios may have."""

LEAST_SHARE: Final = 2


@attrs.frozen
class Trouble:
    """The provider of a model went down, or came back (``reason`` is empty then); ``seconds`` is how long it was down."""

    model: str
    reason: str
    seconds: float = 0.0


Tell: TypeAlias = Callable[[Trouble], None]


@attrs.define(eq=False)
class _Waiter:
    """Somebody who waits. ``news`` wakes it, to look again or because it went."""

    scenario: Hashable
    tokens: float
    went: bool = False
    probe: bool = False
    news: trio.Event = attrs.field(factory=trio.Event)


class FairQueue:
    """Whoever waits, one scenario after the other: one that asks for much does not push back those that ask for little."""

    def __init__(self) -> None:
        self._turns: deque[Hashable] = deque()
        self._waiting: dict[Hashable, deque[_Waiter]] = {}

    def add(self, waiter: _Waiter) -> None:
        """At the end of its scenario's line."""
        if waiter.scenario not in self._waiting:
            self._waiting[waiter.scenario] = deque()
            self._turns.append(waiter.scenario)
        self._waiting[waiter.scenario].append(waiter)

    def first(self, may: Callable[[Hashable], bool]) -> _Waiter | None:
        """Whose turn it is, of the scenarios that may."""
        return next((self._waiting[scenario][0] for scenario in self._turns if may(scenario)), None)

    def next(self, scenario: Hashable) -> None:
        """The first one of this scenario went: it comes last now."""
        self._turns.remove(scenario)
        self._waiting[scenario].popleft()
        if self._waiting[scenario]:
            self._turns.append(scenario)
        else:
            del self._waiting[scenario]

    def remove(self, waiter: _Waiter) -> None:
        """It gave up."""
        line = self._waiting[waiter.scenario]
        line.remove(waiter)
        if not line:
            del self._waiting[waiter.scenario]
            self._turns.remove(waiter.scenario)


class Pass:
    """The right to have one request with the provider. Say what became of it (:meth:`answered`, :meth:`refused`, :meth:`failed`), then :meth:`close` it."""

    def __init__(self, gate: Gate, waiter: _Waiter) -> None:
        self._gate = gate
        self._waiter = waiter

    def answered(self) -> None:
        """An answer began that shows the provider at work."""
        self._gate.answered()

    def refused(self, retry_after: float) -> None:
        """The provider said "too many"."""
        self._gate.refused(retry_after)

    def failed(self, kind: Kind, reason: str) -> bool:
        """The provider failed; whether an outage begins with it."""
        return self._gate.failed(self._waiter, kind, reason)

    def close(self, used: float | None = None) -> None:
        """The request has ended; ``used`` tokens, None when unknown."""
        self._gate.close(self._waiter, used)


class Gate:
    """See the module.

    Args:
        model: its name and limits.
        tell: hears when the provider goes down and comes back.

    Attributes:
        scenarios: how many share it. Where there are several, none of them has more than a share in flight: one that opens hundreds of requests, and does not
            read their answers, would else have all there is.
    """

    def __init__(self, model: ModelConfig, tell: Tell) -> None:
        self.model = model
        self.allowance = Allowance(
            model.max_in_flight,
            None if model.requests_per_minute is None else Bucket(model.requests_per_minute),
            None if model.tokens_per_minute is None else Bucket(model.tokens_per_minute),
        )
        self.outage = Outage()
        self.scenarios = 0
        self._tell = tell
        self._queue = FairQueue()
        self._flying: Counter[Hashable] = Counter()

    @property
    def down(self) -> str | None:
        """Why the provider is down, None when it is up."""
        return self.outage.reason

    async def enter(self, scenario: Hashable, tokens: float) -> Pass:
        """Wait until a request of about so many tokens may go."""
        waiter = _Waiter(scenario, tokens)
        self._queue.add(waiter)
        try:
            await self._wait(waiter)
        except BaseException:
            if waiter.went:
                self.close(waiter, 0)
            else:
                self._queue.remove(waiter)
                self._let_go()
            raise
        return Pass(self, waiter)

    async def _wait(self, waiter: _Waiter) -> None:
        while True:
            pause = self._let_go()
            if waiter.went:
                await trio.lowlevel.checkpoint()
                return
            waiter.news = trio.Event()
            with trio.move_on_after(pause if self._queue.first(self._may) is waiter else float("inf")):
                await waiter.news.wait()

    def _let_go(self) -> float:
        """Let go whoever may; seconds until the first of the others may. Only that one keeps time, so it must hear when the time changes."""
        now = trio.current_time()
        while (first := self._queue.first(self._may)) is not None:
            pause = max(self.outage.wait(now), self.allowance.wait(first.tokens, now))
            if pause > 0:
                first.news.set()
                return pause
            self._queue.next(first.scenario)
            self._flying[first.scenario] += 1
            self.allowance.start(first.tokens, now)
            first.probe = self.outage.start()
            first.went = True
            first.news.set()
        return float("inf")

    def _may(self, scenario: Hashable) -> bool:
        """Whether a scenario has less than its share in flight."""
        return self.scenarios <= 1 or self._flying[scenario] < max(LEAST_SHARE, int(self.allowance.window * SHARE))

    def answered(self) -> None:
        """See :class:`Pass`."""
        self.allowance.answered()
        since = self.outage.since
        if self.outage.answered():
            self._tell(Trouble(self.model.name, UP, trio.current_time() - since))
        self._let_go()

    def refused(self, retry_after: float) -> None:
        """See :class:`Pass`."""
        self.allowance.refused(trio.current_time(), retry_after)

    def failed(self, waiter: _Waiter, kind: Kind, reason: str) -> bool:
        """See :class:`Pass`."""
        begins = self.outage.failed(waiter.scenario, kind, reason, trio.current_time(), probe=waiter.probe)
        if begins:
            self._tell(Trouble(self.model.name, reason))
        return begins

    def close(self, waiter: _Waiter, used: float | None) -> None:
        """See :class:`Pass`."""
        self.allowance.end(waiter.tokens, used, trio.current_time())
        self._flying[waiter.scenario] -= 1
        if not self._flying[waiter.scenario]:
            del self._flying[waiter.scenario]
        if waiter.probe:
            self.outage.probe_ended()
        self._let_go()
