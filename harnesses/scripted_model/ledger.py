"""What the model knows that it served: one entry for each try of each request, to be compared with what the gateway counted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
        called: the answer calls a tool.
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
    called: bool = False

    def line(self) -> Mapping[str, Any]:
        """As JSON."""
        return attrs.asdict(self)


NOTHING = Count(0)
"""What was used where the model did no work."""


def due(entries: Iterable[Served]) -> dict[tuple[Scenario, int], Count | None]:
    """What the gateway must have counted for each request; None where nobody can know: an answer that was not taken whole."""
    found: dict[tuple[Scenario, int], Count | None] = {}
    for entry in entries:
        key = (entry.scenario, entry.number)
        if found.get(key, NOTHING) is not None:  # what was lost once stays unknown
            found[key] = _due(entry)
    return found


def _due(entry: Served) -> Count | None:
    if entry.status is None:
        return None if entry.failure is ModelFailure.HANG else NOTHING
    if entry.status >= 400:
        return NOTHING
    return (entry.count or NOTHING) if entry.whole else None


def read_line(line: str) -> Served:
    """An entry that :meth:`Served.line` wrote."""
    data = json.loads(line)
    failure, count = data["failure"], data["count"]
    return Served(
        **{
            **data,
            "scenario": tuple(data["scenario"]),
            "failure": None if failure is None else ModelFailure(failure),
            "count": None if count is None else Count(**count),
            "kept": Kept(**data["kept"]),
        }
    )
