"""Which requests go wrong, as the script says."""

from __future__ import annotations

from collections import Counter
from typing import Final

import attrs

from harnesses.scripted_model.coder import Place
from harnesses.scripted_model.purpose import Purpose
from stamina.config.script import FailureConfig, ModelFailure, ScriptConfig
from stamina.draw import Draw

OF_CALLS: Final = frozenset({ModelFailure.MALFORMED_CALL, ModelFailure.WRONG_TOOL, ModelFailure.SLOW_COMMAND, ModelFailure.KILL, ModelFailure.FULL})
"""They need an answer that calls a tool."""
OF_ANSWERS: Final = frozenset({*OF_CALLS, ModelFailure.CUT, ModelFailure.STALL, ModelFailure.EMPTY})
"""They are made of the answer that would have been given; the others give none."""


@attrs.frozen
class Occasion:
    """One try of one request.

    Attributes:
        nonce: of the scenario.
        ordinal: how many requests for work came before it in this agent call.
        number, attempt: of the request in its scenario, and how often it was tried before.
        calls: whether the answer would call a tool.
        now: seconds since the model's first request.
    """

    nonce: str
    place: Place
    purpose: Purpose
    ordinal: int
    number: int
    tries: int
    calls: bool
    now: float


@attrs.define
class Failing:
    """Counts how often each failure has struck each scenario."""

    script: ScriptConfig
    _struck: Counter[tuple[str, int]] = attrs.field(factory=Counter)

    def strike(self, occasion: Occasion) -> FailureConfig | None:
        """The failure that strikes now, None when none does."""
        for index, failure in enumerate(self.script.failures):
            if self._fits(index, failure, occasion):
                self._struck[occasion.nonce, index] += 1
                return failure
        return None

    def _fits(self, index: int, failure: FailureConfig, at: Occasion) -> bool:
        if at.purpose is not Purpose.WORK and (failure.work_only or failure.kind in OF_ANSWERS):
            return False
        if failure.kind in OF_CALLS and not at.calls:
            return False
        places = ((failure.turn, at.place.turn), (failure.attempt, at.place.attempt), (failure.call, at.place.call))
        if any(wanted not in (None, found) for wanted, found in places) or at.ordinal < failure.request:
            return False
        if at.now < failure.after_seconds or (failure.for_seconds is not None and at.now >= failure.after_seconds + failure.for_seconds):
            return False
        if failure.times is not None and self._struck[at.nonce, index] >= failure.times:
            return False
        return Draw(self.script.seed, "failure", index, at.nonce, at.number, at.tries).chance(failure.chance)
