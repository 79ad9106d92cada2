"""The tests of a state, as data: one module a family, put together here (contract sections 2-6, H6).

What a case expects is worked out from the contract by the family that writes it; only what an action does is asked of :mod:`stamina.rest.semantics`. The
ground truth is never asked: every suite is played against it before it is used, and a difference is a fault of the benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import attrs

from stamina.draw import Draw
from stamina.rest.schema import State
from stamina.rest.suite.actions import actions
from stamina.rest.suite.analytics import analytics
from stamina.rest.suite.crud import crud, server
from stamina.rest.suite.defaults import defaults
from stamina.rest.suite.kit import Kit, Kits, make_kits
from stamina.rest.suite.references import references
from stamina.rest.suite.removed import removed, removed_segments
from stamina.rest.suite.validation import validation
from stamina.suite import Case, Suite, Target

__all__ = ["build"]


class Origins(Protocol):
    """What :class:`stamina.rest.origins.Origins` knows."""

    def since(self, target: Target) -> int:
        """The turn that brought the target in or last altered it."""
        ...


def build(state: State, origins: Origins, draw: Draw) -> Suite:
    """All cases of a valid state, in a fixed order; pure and deterministic.

    Args:
        state: valid by :func:`stamina.rest.validate.check`.
        origins: says for every target when it was last altered.
        draw: where the test values come from.

    Raises:
        BenchmarkFault: an action cannot be exercised, so the state is not valid.
    """
    kits = make_kits(state, draw)
    cases: list[Case] = []
    taken: set[str] = set()
    for case in _cases(kits):
        name = _unique(case.name, taken)
        taken.add(name)
        cases.append(attrs.evolve(case, name=name, since=origins.since(case.target)))
    return Suite(tuple(cases))


def _cases(kits: Kits) -> Iterator[Case]:
    yield from server(kits)
    for kit in kits.by_name.values():
        yield from _of_entity(kit, kits)
    yield from removed_segments(kits)


def _of_entity(kit: Kit, kits: Kits) -> Iterator[Case]:
    yield from crud(kit)
    yield from validation(kit, kits)
    yield from defaults(kit)
    yield from references(kit, kits)
    yield from analytics(kit)
    yield from actions(kit, kits)
    yield from removed(kit)


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number when another case has it: a field named ``age_default`` beside a default of ``age``, say."""
    number, result = 2, name
    while result in taken:
        result, number = f"{name}_{number}", number + 1
    return result
