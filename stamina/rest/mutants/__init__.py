"""Faulty variants of the ground truth, one fault each, to measure how much the suite sees (``docs/validity.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stamina.rest.mutants import acting, analytics, bodies, changing, conditions, effects, fields, objects, ordering, references, running, values
from stamina.rest.mutants.mutant import Fault, Ground, Made, Mutant, Operator

__all__ = ["OPERATORS", "Fault", "Ground", "Made", "Mutant", "Operator", "mutants"]

OPERATORS: Final[tuple[Operator, ...]] = (
    *objects.OPERATORS,
    *bodies.OPERATORS,
    *fields.OPERATORS,
    *values.OPERATORS,
    *references.OPERATORS,
    *analytics.OPERATORS,
    *acting.OPERATORS,
    *conditions.OPERATORS,
    *effects.OPERATORS,
    *running.OPERATORS,
    *ordering.OPERATORS,
    *changing.OPERATORS,
)
"""Every operator, in a fixed order; names are unique."""


def mutants(ground: Ground) -> Iterator[Mutant]:
    """Every mutant of a state."""
    return (Mutant(each, fault) for each in OPERATORS for fault in each.faults(ground))
