"""What the model knows that it served: one entry for each try of each request, to be compared with what the gateway counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from harnesses.scripted_model.answer import Count
from harnesses.scripted_model.continuity import Kept
from stamina.config.script import ModelFailure

Scenario: TypeAlias = tuple[str, int, int]
"""Cell, seed and repeat."""


@attrs.frozen
class Served:
    """One try of one request.

    Attributes:
        scenario: whose.
        turn, attempt, call, number: which request of it.
        protocol, purpose: see :class:`stamina.protocols.Protocol` and :class:`harnesses.scripted_model.purpose.Purpose`.
        stream: whether events were asked for.
        status: of the answer, None when there was none.
        failure: what the script made go wrong, None when nothing.
        count: what the answer says that it used; None when it does not say.
        whole: all of the answer was taken.
        kept: whether the conversation held the marks of earlier answers.
        trouble: why the work was not done, for a last word that says so.
    """

    scenario: Scenario
    turn: int
    attempt: int
    call: int
    number: int
    protocol: str
    purpose: str
    stream: bool
    status: int | None
    failure: ModelFailure | None
    count: Count | None
    whole: bool = False
    kept: Kept = attrs.field(factory=Kept)
    trouble: str = ""

    @property
    def usage(self) -> Count | None:
        """What the gateway must have counted: nothing for an answer that was cut off or an error."""
        return self.count if self.whole else None

    def line(self) -> Mapping[str, Any]:
        """As JSON."""
        return attrs.asdict(self)
