"""Whether values exist for which two readings of one comparison differ, decided by going through all of them (B2, B4, V8).

The acting object's fields in the comparison are numbers, or one instant. The conditions over the same fields must hold, and where the right server takes the
action, what effects make of those fields must stay inside its bounds; that narrows the values down (:mod:`stamina.rest.mutants.narrowing`). One field goes
through all that are left to it, which must be few; for each, the other is looked for around the edge, where alone two readings that differ by one step can
differ. A product is taken apart into its factors where neither has few values. What rests on other fields is left out, so that a difference may be found
where there is none, but none is missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from stamina.exchange import Json
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Comparison,
    Compute,
    Condition,
    Effect,
    FieldRef,
    IncrementBy,
    Literal,
    OnThis,
    Operand,
    Subject,
)
from stamina.rest.mutants.narrowing import Interval, Known, narrowed
from stamina.rest.schema import Action, DatetimeType, Entity, Field, FieldType, FloatType, IntegerType
from stamina.rest.semantics import Object, View, is_met
from stamina.rest.testdata import step_datetime

MANY: Final = 150_000
"""Values that are gone through at most."""

FACTORS: Final = 4_000_000
"""Numbers that are tried as factors at most."""

NO_VALUES: Final = "B2, V8: no values inside the bounds for which the other conditions hold lie on different sides"


def no_difference(entity: Entity, action: Action, index: int, wrong: Comparison) -> str:
    """Why a reading of condition ``index`` that differs at its edge alone cannot be told from the right one; empty when it can, or when that is not known."""
    right = action.conditions[index]
    names = sorted(set(_names(right)))
    if (
        not isinstance(right, Comparison)
        or not isinstance(right.right, Literal)
        or "" in names
        or len(names) != (2 if isinstance(right.left, Arithmetic) else 1)
    ):
        return ""
    fields = {name: entity.field(name) for name in names}
    others = [each for number, each in enumerate(action.conditions) if number != index and set(_names(each)) and set(_names(each)) <= set(names)]
    wishes: list[_Wished] = [[*((each, True) for each in others), (right, holds), (wrong, not holds)] for holds in (True, False)]
    if isinstance(fields[names[0]].type, DatetimeType):
        return "" if any(_is_met(each, wished) for wished in wishes for each in _instants(fields[names[0]], right)) else NO_VALUES
    numbers = [field.type for field in fields.values()]
    if not all(isinstance(each, IntegerType | FloatType) for each in numbers) or not _is_step(right.right.value, numbers):
        return ""
    for wished, effects in zip(wishes, (list(_own_results(action, names)), []), strict=True):  # A refused action has no results.
        box = narrowed(Known({("", name): field for name, field in fields.items()}, frozenset()), wished, effects)
        if box is not None and not _none_is_met({name: box["", name] for name in names}, right, wrong, wished):
            return ""
    return NO_VALUES


_Wished: TypeAlias = list[tuple[Condition, bool]]
"""Conditions, and whether they shall hold."""


def _is_step(value: Json, numbers: Sequence[FieldType]) -> bool:
    """Whether a literal moves by no more than the fields do: an integer beside floats leaves more between two readings than what lies around the edge."""
    return type(value) is float or (type(value) is int and all(isinstance(each, IntegerType) for each in numbers))


def _own_results(action: Action, names: Sequence[str]) -> Iterator[Effect]:
    """Effects on the acting object whose results rest on these fields alone, as they are before the action, and are still there after it."""
    for number, effect in enumerate(action.effects):
        match effect.assignment:
            case IncrementBy():
                read = {effect.target}
            case Compute(Arithmetic(left, _, right)):
                read = {left.field, right.field}
            case _:
                continue
        before, after = ({each.target for each in effects} for effects in (action.effects[:number], action.effects[number + 1 :]))
        if isinstance(effect.scope, OnThis) and effect.target in names and read <= set(names) and before.isdisjoint(read) and effect.target not in after:
            yield effect


def _none_is_met(box: dict[str, Interval], right: Comparison, wrong: Comparison, wished: _Wished) -> bool:
    """Whether it is known that none of the values that are left are as wished."""
    one, other = (*box, *box)[0], (*box, *box)[-1]
    for walked, solved in ((one, other), (other, one)):
        if len(box) == 1 or box[walked].count <= MANY:
            values = box[walked].values() if len(box) == 2 else iter([0])
            if _is_product(right) and box[walked].low <= 0 <= box[walked].high and _is_met_by_zero(walked, solved, box[solved], wished):
                return False
            return not any(_is_met(each, wished) for value in values for each in _around(walked, solved, box[solved], value, right))
    return _no_factors_are_met(box, right, wrong, wished)


def _is_met_by_zero(zero: str, solved: str, interval: Interval, wished: _Wished) -> bool:
    """Whether some values are as wished, or may be, where one factor is 0: the other may be anything."""
    if not _is_met({zero: 0, solved: 1}, wished[-2:]):
        return False
    return interval.count > MANY or any(_is_met({zero: 0, solved: each}, wished) for each in interval.values())


def _is_product(condition: Comparison) -> bool:
    return isinstance(condition.left, Arithmetic) and condition.left.operator is ArithmeticOperator.MULTIPLY


def _no_factors_are_met(box: dict[str, Interval], right: Comparison, wrong: Comparison, wished: _Wished) -> bool:
    """Whether it is known that no factors are as wished whose product lies between the readings."""
    assert isinstance(right.left, Arithmetic)
    if not _is_product(right) or wrong.left != right.left or not isinstance(wrong.right, Literal):
        return False
    assert isinstance(right.right, Literal)
    one, two = right.left.left.field, right.left.right.field
    scale = box[one].scale * box[two].scale
    goals = sorted(Fraction(each.value) * scale for each in (right.right, wrong.right) if not isinstance(each.value, str | bool | None))
    products = range(math.ceil(goals[0]), math.floor(goals[-1]) + 1)
    if 0 in products or len(products) * (math.isqrt(max(map(abs, (*products[:1], *products[-1:])), default=0)) + 1) > FACTORS:
        return False
    for product in products:
        for factor in factors(product):
            this = {one: _value(box[one], factor), two: _value(box[two], product // factor)}
            if None not in this.values() and _is_met(this, wished):
                return False
    return True


def factors(product: int) -> Iterator[int]:
    """All whole numbers, negative ones too, that a whole number other than 0 can be divided by."""
    for factor in range(1, math.isqrt(abs(product)) + 1):
        if product % factor == 0:
            yield from (sign * each for each in dict.fromkeys((factor, abs(product) // factor)) for sign in (1, -1))


def _value(interval: Interval, unit: int) -> float | None:
    """So many steps of a field, None where that lies outside."""
    if not interval.low * interval.scale <= unit <= interval.high * interval.scale:
        return None
    return unit if interval.scale == 1 else unit / interval.scale


def _names(condition: Condition) -> Iterator[str]:
    """The acting object's fields in a condition; of one that reads anything else, a name that no field has."""
    if not isinstance(condition, Comparison):
        yield ""
        return
    for side in (condition.left, condition.right):
        yield from _operand_names(side)


def _operand_names(operand: Operand | Literal) -> Iterator[str]:
    match operand:
        case Literal():
            return
        case FieldRef(field, Subject.THIS):
            yield field
        case Arithmetic(left, _, right):
            yield left.field
            yield right.field
        case _:
            yield ""


def _is_met(this: Object, wished: _Wished) -> bool:
    seen = View(this, {}, {})
    return all(is_met(condition, seen) is wanted for condition, wanted in wished)


def _around(walked: str, solved: str, interval: Interval, value: Json, condition: Comparison) -> Iterator[Object]:
    """Objects in which one field has the value and the other lies on the edge or beside it."""
    assert isinstance(condition.right, Literal)
    edge = _edge(condition.left, walked, value, Fraction(condition.right.value))
    if edge is None:
        return
    unit = math.floor(edge * interval.scale)
    for step in range(-2, 4):
        found = _value(interval, unit + step)
        if found is not None:
            yield {walked: value, solved: found}


def _instants(field: Field, condition: Comparison) -> Iterator[Object]:
    """Objects whose instant lies on the edge or beside it, inside its bounds."""
    kind = field.type
    assert isinstance(kind, DatetimeType)
    assert isinstance(condition.right, Literal)
    for step in (-1, 0, 1):
        found = step_datetime(str(condition.right.value), step)
        if found is not None and (kind.earliest or "") <= found <= (kind.latest or "9999-12-31 23:59:59"):
            yield {field.name: found}


def _edge(left: Operand, walked: str, value: float, goal: Fraction) -> Fraction | None:
    """Where the other operand makes both sides equal."""
    match left:
        case FieldRef():
            return goal
        case Arithmetic(one, ArithmeticOperator.ADD, _):
            return goal - Fraction(value)
        case Arithmetic(one, ArithmeticOperator.SUBTRACT, _):
            return Fraction(value) - goal if one.field == walked else goal + Fraction(value)
        case Arithmetic(_, ArithmeticOperator.MULTIPLY, _):
            return goal / Fraction(value) if value else None
        case _:
            return None
