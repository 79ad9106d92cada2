"""Which numbers an operand can come to at all, from the bounds of its fields. Shows quickly that a search for values cannot end well."""

from __future__ import annotations

import itertools
from typing import Final, TypeAlias

from stamina.rest.candidates import FLOAT_LIMIT, GRAIN, bounds
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Comparison,
    Condition,
    Count,
    FieldRef,
    Literal,
    Operand,
    Quantified,
    Quantifier,
    Subject,
    Sum,
)
from stamina.rest.schema import Field, FloatType, IntegerType
from stamina.rest.semantics import compare
from stamina.rest.values import may_be_null

Interval: TypeAlias = tuple[float, float]
"""The lowest and the highest number, inclusive."""

FieldsBehind: TypeAlias = dict[str, tuple[int, dict[str, Field]]]
"""For each reference list: how many items it has, and their fields."""

_FAR: Final = FLOAT_LIMIT * FLOAT_LIMIT
"""Further than any number that a test may meet."""


def contradictory(conditions: tuple[tuple[Condition, bool], ...], own: dict[str, Field], behind: FieldsBehind) -> bool:
    """Whether conditions over literals can never all be as wanted; never a false alarm.

    Args:
        conditions: each with whether it must hold.
        own: the acting object's fields.
        behind: its lists.
    """
    quantified = [(each, wanted) for each, wanted in conditions if isinstance(each, Quantified)]
    if any(_never(each, behind, wanted=wanted) for each, wanted in quantified):
        return True
    return _clash(conditions, own, behind, Subject.THIS)


def _never(condition: Quantified, behind: FieldsBehind, *, wanted: bool) -> bool:
    """Whether no item can be what a quantified condition needs; an empty list is decided by the quantifier alone."""
    count, fields = behind[condition.list_field]
    all_of_none = (condition.quantifier is Quantifier.ALL) is wanted
    return not all_of_none if count == 0 else _clash(((condition.condition, wanted),), fields, behind, Subject.OTHER)


def _clash(conditions: tuple[tuple[Condition, bool], ...], own: dict[str, Field], behind: FieldsBehind, subject: Subject) -> bool:
    """Whether comparisons of one operand with literals exclude each other; ``own`` are the fields of what ``subject`` means."""
    groups: dict[Operand, list[tuple[Comparison, bool]]] = {}
    for condition, wanted in conditions:
        if isinstance(condition, Comparison) and isinstance(condition.right, Literal) and not isinstance(condition.right.value, str | bool):
            groups.setdefault(condition.left, []).append((condition, wanted))
    return any(not _possible(wishes, interval(operand, own, behind, subject), _may_be_nothing(operand, own, subject)) for operand, wishes in groups.items())


def _possible(wishes: list[tuple[Comparison, bool]], reach: Interval, nullable: bool) -> bool:  # noqa: FBT001  # told by its name
    if nullable and not any(wanted for _, wanted in wishes):
        return True
    low, high = reach
    marks = [float(wish.right.value) for wish, _ in wishes if isinstance(wish.right, Literal)]
    points = [low, high, *(min(max(mark + step, low), high) for mark in marks for step in (-GRAIN, 0, GRAIN))]
    return any(all(compare(point, wish.comparator, mark) is wanted for (wish, wanted), mark in zip(wishes, marks, strict=True)) for point in points)


def _may_be_nothing(operand: Operand, own: dict[str, Field], subject: Subject) -> bool:
    match operand:
        case FieldRef(field, whose):
            return whose is not subject or field not in own or may_be_null(own[field])
        case Arithmetic(left, _, right):
            return _may_be_nothing(left, own, subject) or _may_be_nothing(right, own, subject)
    return False


def interval(operand: Operand, own: dict[str, Field], behind: FieldsBehind, subject: Subject = Subject.THIS) -> Interval:
    """The numbers between which the operand lies when it is not null; ``own`` are the fields of what ``subject`` means."""
    match operand:
        case FieldRef(field, whose) if whose is subject and field in own:
            return _range(own[field])
        case Arithmetic(left, operator, right):
            return _combined(interval(left, own, behind, subject), operator, interval(right, own, behind, subject))
        case Count(list_field):
            return behind[list_field][0], behind[list_field][0]
        case Sum(list_field, field):
            count, fields = behind[list_field]
            return _summed(count, fields[field])
    return -_FAR, _FAR


def _range(field: Field) -> Interval:
    if not isinstance(field.type, IntegerType | FloatType):
        return -_FAR, _FAR
    low, high = bounds(field.type)
    return -FLOAT_LIMIT * 2 if low is None else low, FLOAT_LIMIT * 2 if high is None else high


def _summed(count: int, field: Field) -> Interval:
    low, high = _range(field)
    if may_be_null(field):
        # A null adds nothing.
        low, high = min(low, 0), max(high, 0)
    return count * low, count * high


def _combined(left: Interval, operator: ArithmeticOperator, right: Interval) -> Interval:
    match operator:
        case ArithmeticOperator.ADD:
            return left[0] + right[0], left[1] + right[1]
        case ArithmeticOperator.SUBTRACT:
            return left[0] - right[1], left[1] - right[0]
        case ArithmeticOperator.MULTIPLY:
            corners = [one * other for one, other in itertools.product(left, right)]
            return min(corners), max(corners)
