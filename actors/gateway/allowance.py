"""How much of a model may be used now: requests in flight, requests and tokens a minute, less after it has said "too many". Pure: time comes in as a number."""

from __future__ import annotations

from typing import Final

import attrs

MINUTE: Final = 60.0


@attrs.define
class Bucket:
    """At most ``per_minute`` in the long run, and at once at most what a tenth of a minute gives (or one thing that is larger).

    A minute's worth all at once is what providers refuse, even when the minute's sum is kept.
    """

    per_minute: float
    level: float = attrs.field(init=False)
    at: float = 0.0

    def __attrs_post_init__(self) -> None:
        self.level = self._most

    @property
    def _most(self) -> float:
        return max(1.0, self.per_minute / 10)

    def wait(self, amount: float, now: float) -> float:
        """Seconds until ``amount`` may be taken; 0 when it may be now."""
        self._fill(now)
        short = min(amount, self._most) - self.level
        return max(0.0, short * MINUTE / self.per_minute)

    def take(self, amount: float, now: float) -> None:
        """Take it; what is larger than the bucket leaves a debt."""
        self._fill(now)
        self.level -= amount

    def _fill(self, now: float) -> None:
        self.level = min(self._most, self.level + (now - self.at) * self.per_minute / MINUTE)
        self.at = max(self.at, now)


BACK_OFF: Final = 0.5
SETTLE: Final = 1.0
"""Seconds after a cut in which further refusals say nothing new: they are answers to requests that were out already."""


@attrs.define
class Allowance:
    """The allowance of one model.

    The number in flight adapts as TCP's window does: a refusal (429) halves it, each answer adds a little, never above ``most``.
    """

    most: int
    requests: Bucket | None = None
    tokens: Bucket | None = None
    in_flight: int = 0
    window: float = attrs.field(init=False)
    not_before: float = 0.0
    _cut: float = attrs.field(default=float("-inf"), init=False)

    def __attrs_post_init__(self) -> None:
        self.window = float(self.most)

    def wait(self, tokens: float, now: float) -> float:
        """Seconds until a request of so many tokens may go: 0 now, infinity when only the end of another one makes room."""
        if self.in_flight >= max(1, int(self.window)):
            return float("inf")
        waits = [self.not_before - now]
        if self.requests is not None:
            waits.append(self.requests.wait(1, now))
        if self.tokens is not None:
            waits.append(self.tokens.wait(tokens, now))
        return max(0.0, *waits)

    def start(self, tokens: float, now: float) -> None:
        """A request goes."""
        self.in_flight += 1
        if self.requests is not None:
            self.requests.take(1, now)
        if self.tokens is not None:
            self.tokens.take(tokens, now)

    def end(self, reserved: float, used: float | None, now: float) -> None:
        """It has ended; the difference to what was reserved is given back, or owed."""
        self.in_flight -= 1
        if self.tokens is not None and used is not None:
            self.tokens.take(used - reserved, now)

    def answered(self) -> None:
        """The model answered: a little more may be tried."""
        self.window = min(float(self.most), self.window + 1 / self.window)

    def refused(self, now: float, retry_after: float) -> None:
        """The model said "too many": nothing for so long, and then fewer at once."""
        self.not_before = max(self.not_before, now + retry_after)
        if now - self._cut >= SETTLE:
            self._cut = now
            self.window = max(1.0, min(self.window, float(self.in_flight)) * BACK_OFF)
