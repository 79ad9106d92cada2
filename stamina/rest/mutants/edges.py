"""Whether values exist for which two readings of one comparison differ, decided by going through all of them (B2, V8).

The acting object's fields in the comparison are numbers. One of them goes through all of its values, which must be few; for each, the other is looked for
around the edge, where alone two readings that differ by one step can differ. Conditions over the same two fields must hold; those over other fields are
left out, so that a difference may be found where there is none, but none is missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from stamina.rest.expressions import Arithmetic, ArithmeticOperator, Comparison, Condition, FieldRef, Literal, Operand, Subject
from stamina.rest.schema import Action, Entity, Field, FloatType, IntegerType
from stamina.rest.semantics import Object, View, is_met

MANY: Final = 150_000
"""Values that are gone through at most."""
_LARGEST: Final = 2**31 - 1

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
    fields = [entity.field(name) for name in names]
    others = [each for number, each in enumerate(action.conditions) if number != index and set(_names(each)) and set(_names(each)) <= set(names)]
    for walked, solved in ((fields[0], fields[-1]), (fields[-1], fields[0])):
        values: Sequence[float] | None = _all_values(walked) if len(names) == 2 else [0]
        if values is not None:
            found = any(_differs(each, right, wrong, others) for value in values for each in _around(walked, solved, value, right))
            return "" if found else NO_VALUES
    return ""


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


def _all_values(field: Field) -> Sequence[float] | None:
    """The values of a number with two bounds, None where there are too many; floats are multiples of 1/1024 in tests (V8)."""
    kind = field.type
    if not isinstance(kind, IntegerType | FloatType) or kind.minimum is None or kind.maximum is None:
        return None
    if isinstance(kind, IntegerType):
        return range(kind.minimum, kind.maximum + 1) if kind.maximum - kind.minimum < MANY else None
    first, last = math.ceil(kind.minimum * 1024), math.floor(kind.maximum * 1024)
    return [unit / 1024 for unit in range(first, last + 1)] if last - first < MANY else None


def _differs(this: Object, right: Comparison, wrong: Comparison, others: list[Condition]) -> bool:
    seen = View(this, {}, {})
    return is_met(right, seen) is not is_met(wrong, seen) and all(is_met(each, seen) for each in others)


def _around(walked: Field, solved: Field, value: float, condition: Comparison) -> Iterator[Object]:
    """Objects in which one field has the value and the other lies on the edge or beside it."""
    assert isinstance(condition.right, Literal)
    if isinstance(condition.right.value, str | bool):
        return
    edge = _edge(condition.left, walked.name, value, Fraction(condition.right.value))
    if edge is None:
        return
    scale = 1024 if isinstance(solved.type, FloatType) else 1
    unit = math.floor(edge * scale)
    for step in range(-2, 4):
        found = (unit + step) / scale if scale > 1 else unit + step
        if _is_inside(solved, found):
            yield {walked.name: value, solved.name: found}


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


def _is_inside(field: Field, value: float) -> bool:
    assert isinstance(field.type, IntegerType | FloatType)
    low, high = field.type.minimum, field.type.maximum
    return (-_LARGEST if low is None else low) <= value <= (_LARGEST if high is None else high)
