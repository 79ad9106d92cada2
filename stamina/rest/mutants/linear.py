"""Whether linear inequalities contradict each other: one variable after the other is eliminated (Fourier and Motzkin). Exact, or undecided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

import attrs

MANY: Final = 600
"""Inequalities that are carried along at most."""


@attrs.frozen
class Linear:
    """The sum of ``terms``, each a variable's number with its factor, and ``constant`` is at most 0, or less where it is ``strict``."""

    terms: tuple[tuple[int, Fraction], ...]
    constant: Fraction
    strict: bool = False


def linear(terms: Mapping[int, Fraction | int], constant: Fraction | int, *, strict: bool = False) -> Linear:
    """An inequality in its one form: without factors of 0, the first factor 1 or -1."""
    kept = sorted((variable, Fraction(factor)) for variable, factor in terms.items() if factor)
    scale = abs(kept[0][1]) if kept else Fraction(1)
    return Linear(tuple((variable, factor / scale) for variable, factor in kept), Fraction(constant) / scale, strict)


def contradictory(relations: Iterable[Linear]) -> bool:
    """Whether no numbers meet all of them. False too when that is not known."""
    left = set(relations)
    while True:
        if any(not each.terms and (each.constant > 0 or (each.strict and each.constant == 0)) for each in left):
            return True
        left = {each for each in left if each.terms}
        if not left or len(left) > MANY:
            return False
        left = _without(min({variable for each in left for variable, _ in each.terms}, key=lambda variable: _cost(variable, left)), left)


def _sides(variable: int, relations: Iterable[Linear]) -> tuple[Sequence[Linear], Sequence[Linear]]:
    """Those that bound a variable from above, and from below."""
    above = [each for each in relations if dict(each.terms).get(variable, 0) > 0]
    return above, [each for each in relations if dict(each.terms).get(variable, 0) < 0]


def _cost(variable: int, relations: Iterable[Linear]) -> tuple[int, int]:
    above, below = _sides(variable, relations)
    return len(above) * len(below), variable


def _without(variable: int, relations: set[Linear]) -> set[Linear]:
    """What the relations say of all other variables."""
    above, below = _sides(variable, relations)
    rest = relations - {*above, *below}
    return rest | {_added(variable, one, other) for one in above for other in below}


def _added(variable: int, above: Linear, below: Linear) -> Linear:
    """Their sum, in such parts that the variable falls out."""
    one, other = dict(above.terms), dict(below.terms)
    parts = -other[variable], one[variable]
    terms = {key: one.get(key, Fraction(0)) * parts[0] + other.get(key, Fraction(0)) * parts[1] for key in {**one, **other}}
    return linear(terms, above.constant * parts[0] + below.constant * parts[1], strict=above.strict or below.strict)
