"""How servers misread a condition, and the fewest scenes in which each misreading shows (contract B2).

A misreading is another judgement of the same condition: wrong at equality, off by a step, ``any`` for ``all``, wrong where an operand is null. It shows in a
scene where all other conditions hold and the two judgements differ: one server takes the action there and the other refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import attrs

from stamina.exchange import Json
from stamina.rest import testdata
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Comparator,
    Comparison,
    Condition,
    Count,
    FieldRef,
    Literal,
    NullCheck,
    Quantified,
    Quantifier,
    Sum,
)
from stamina.rest.schema import Action
from stamina.rest.semantics import View, compare, is_met, value_of
from stamina.rest.values import is_instant

Reading: TypeAlias = Callable[[View], bool]
"""Whether a condition holds for the acting object."""

_NEIGHBOUR: Final = {Comparator.LT: Comparator.LE, Comparator.LE: Comparator.LT, Comparator.GT: Comparator.GE, Comparator.GE: Comparator.GT}
"""The comparator that differs from this one at equality only."""


@attrs.frozen(eq=False)
class Misreading:
    """What a server takes a condition for; ``condition`` is how that would be written, where it can be."""

    holds: Reading
    condition: Condition | None = None


def misreadings(condition: Condition) -> list[Misreading]:
    """The ways in which a server may take a condition for another one."""
    # Never checked, and turned round.
    readings: list[Reading] = [lambda _: True, lambda seen: not is_met(condition, seen)]
    if isinstance(condition, Quantified):
        name = condition.list_field
        readings += [lambda seen: is_met(condition, _cut(seen, name, 0, 1)), lambda seen: is_met(condition, _cut(seen, name, -1, None))]
        readings.append(lambda seen: is_met(condition, seen) is not (not seen.listed(name)))
    if isinstance(condition, Comparison) and condition.comparator is Comparator.NE:
        readings += [lambda seen, null=null: is_met(condition, seen) or null(seen) for null in nulls(condition)]  # type: ignore[misc]
    return [*map(Misreading, readings), *(Misreading(lambda seen, each=each: is_met(each, seen), each) for each in _others(condition))]  # type: ignore[misc]


def nulls(condition: Condition) -> list[Reading]:
    """For each field that a condition reads: whether it is null somewhere. Many a server crashes there, whatever else holds."""
    match condition:
        case Quantified(_, name, Comparison() as inner):
            return [lambda seen, ref=ref: any(value_of(ref, seen, each) is None for each in seen.listed(name)) for ref in _refs(inner)]  # type: ignore[misc]
        case Comparison(Sum(name, field)):
            return [lambda seen: any(each[field] is None for each in seen.listed(name))]
        case Comparison():
            return [lambda seen, ref=ref: value_of(ref, seen) is None for ref in _refs(condition)]  # type: ignore[misc]
        case _:
            return []


def _refs(condition: Comparison) -> Iterator[FieldRef]:
    for side in (condition.left, condition.right):
        yield from (ref for ref in ((side.left, side.right) if isinstance(side, Arithmetic) else (side,)) if isinstance(ref, FieldRef))


def _cut(seen: View, name: str, start: int, end: int | None) -> View:
    """The view with a part of one list alone."""
    return View({**seen.this, name: seen.this[name][start:end]}, seen.store, seen.targets)


def _others(condition: Condition) -> Iterator[Condition]:
    """The conditions that are written a little differently."""
    match condition:
        case Quantified(quantifier, _, inner):
            yield attrs.evolve(condition, quantifier=Quantifier.ALL if quantifier is Quantifier.ANY else Quantifier.ANY)
            inners = (negated(inner), *_others(inner))
            yield from (attrs.evolve(condition, condition=each) for each in inners if isinstance(each, Comparison | NullCheck))
        case Comparison():
            yield from _other_comparisons(condition)
        case _:
            return


def _other_comparisons(condition: Comparison) -> Iterator[Comparison]:
    neighbour = _NEIGHBOUR.get(condition.comparator)
    if neighbour is not None:
        yield attrs.evolve(condition, comparator=neighbour)
    if isinstance(condition.right, Literal):
        yield from (attrs.evolve(condition, right=Literal(value)) for value in _beside(condition.right.value))
    if isinstance(condition.left, Arithmetic):
        left = condition.left
        yield from (attrs.evolve(condition, left=attrs.evolve(left, operator=each)) for each in ArithmeticOperator if each is not left.operator)
    if isinstance(condition.left, Sum):
        yield attrs.evolve(condition, left=Count(condition.left.list_field))


def _beside(value: Json) -> Iterator[Json]:
    """The value one step lower and one higher, where it has such neighbours."""
    for step in (-1, 1):
        if isinstance(value, float):
            yield value + step * testdata.UNIT
        elif type(value) is int:
            yield value + step
        elif isinstance(value, str) and is_instant(value):
            moved = testdata.step_datetime(value, step)
            if moved is not None:
                yield moved


def edge_of(condition: Condition, wrong: Condition) -> int | None:
    """How many steps above its right side the left side of a comparison lies where a reading differs that is off by a step or at equality; None for others."""
    if not isinstance(condition, Comparison) or not isinstance(wrong, Comparison) or wrong.left != condition.left:
        return None
    moved = 0
    if isinstance(condition.right, Literal) and isinstance(wrong.right, Literal):
        here, there = condition.right.value, wrong.right.value
        moved = 0 if here == there else 1 if compare(there, Comparator.GT, here) else -1
    edges = (step for step in (-1, 0, 1) if compare(step, condition.comparator, 0) is not compare(step, wrong.comparator, moved))
    return next(edges, None)


def negated(condition: Condition) -> Condition:
    """The condition that holds where this one does not, nulls aside."""
    match condition:
        case Comparison():
            return attrs.evolve(condition, comparator=condition.comparator.opposite)
        case NullCheck():
            return attrs.evolve(condition, is_null=not condition.is_null)
        case Quantified(quantifier, _, inner):
            other = Quantifier.ALL if quantifier is Quantifier.ANY else Quantifier.ANY
            turned = negated(inner)
            assert isinstance(turned, Comparison | NullCheck)
            return attrs.evolve(condition, quantifier=other, condition=turned)


@attrs.frozen(eq=False)
class Choice:
    """A few views in which misreadings show: their positions, and the misreadings that show in none."""

    positions: list[int]
    hidden: list[Misreading]


def fewest(action: Action, index: int, views: Sequence[View], usable: Callable[[int], bool]) -> Choice:
    """A few views in which every misreading of condition ``index`` shows that shows in any usable one.

    Views are of scenes in which the action may be tried; one in the wrong state shows nothing, one in which another condition does not hold shows a crash on
    null alone. ``usable`` is asked about a view before it is taken.
    """
    condition = action.conditions[index]
    others = [each for number, each in enumerate(action.conditions) if number != index]
    readings, empty = misreadings(condition), nulls(condition)
    left = set(range(len(readings) + len(empty)))
    shown: dict[int, set[int]] = {}
    for position, seen in enumerate(views):
        if seen.this[action.enum_field] in action.from_values:
            shown[position] = {number for number, null in enumerate(empty, len(readings)) if null(seen)}
            if all(is_met(each, seen) for each in others):
                right = is_met(condition, seen)
                shown[position] |= {number for number, reading in enumerate(readings) if reading.holds(seen) is not right}
    chosen: list[int] = []
    while True:
        best = max(shown, key=lambda position: len(shown[position] & left), default=None)
        if best is None or not shown[best] & left:
            return Choice(sorted(chosen), [reading for number, reading in enumerate(readings) if number in left])
        if usable(best):
            chosen.append(best)
            left -= shown[best]
        del shown[best]
