"""Whether a model's provider is down for everyone. Pure: time comes in as a number."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from typing import Final

import attrs

WINDOW: Final = 60.0
"""Seconds in which failures count together."""

SCENARIOS: Final = 2
"""So many scenarios that fail with no answer to anybody in between mean that it is not one request's fault."""

CONNECTIONS: Final = 2
"""So many connections that fail, of whomever, with no answer to anybody in between, mean that nobody is there."""

FIRST_PROBE: Final = 5.0
LONGEST_PROBE: Final = 60.0


class Kind(Enum):
    """What a failure is evidence of."""

    STATUS = 1
    """A status 5xx, or an answer that is none: perhaps this request's fault, until others fail too."""
    CONNECTION = 2
    """Nobody answers: no request's fault."""
    CREDENTIALS = 3
    """The key is not taken: nobody's request will be."""


@attrs.define
class Outage:
    """The watch over one model's provider.

    While it is down one request at a time goes through as a probe, after pauses that grow; its answer ends the outage.

    Attributes:
        reason: why it is down, None when it is up.
        since: when it went down.
        due: when the next probe may go.
    """

    reason: str | None = None
    since: float = 0.0
    due: float = 0.0
    _pause: float = FIRST_PROBE
    _failures: dict[Hashable, float] = attrs.field(factory=dict)
    _connections: int = 0
    _probing: bool = False

    def wait(self, now: float) -> float:
        """Seconds until a request may go: 0 now, infinity while a probe is out."""
        if self.reason is None:
            return 0.0
        return float("inf") if self._probing else max(0.0, self.due - now)

    def start(self) -> bool:
        """A request goes; whether it is a probe."""
        self._probing = self.reason is not None
        return self._probing

    def probe_ended(self) -> None:
        """The probe ended without saying anything about the provider, as when its agent hung up: the next one may go."""
        self._probing = False

    def answered(self) -> bool:
        """Somebody was answered; whether that ends an outage."""
        was_down = self.reason is not None
        self.reason = None
        self._failures.clear()
        self._connections = 0
        self._pause = FIRST_PROBE
        self._probing = False
        return was_down

    def failed(self, scenario: Hashable, kind: Kind, reason: str, now: float, *, probe: bool = False) -> bool:
        """A try of a scenario's request failed; whether an outage begins. While it is down only the probe's failure says anything new."""
        if self.reason is not None:
            if probe:
                self._pause = min(self._pause * 2, LONGEST_PROBE)
                self.due = now + self._pause
            return False
        self._failures[scenario] = now
        self._failures = {who: at for who, at in self._failures.items() if now - at <= WINDOW}
        self._connections += kind is Kind.CONNECTION
        if kind is not Kind.CREDENTIALS and len(self._failures) < SCENARIOS and self._connections < CONNECTIONS:
            return False
        self.reason, self.since, self.due = reason, now, now + self._pause
        return True
