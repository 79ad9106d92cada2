"""Conditions and effects as text. The grammar is in ``docs/language.md``; no two of them read the same."""

from __future__ import annotations

from typing import assert_never

from stamina.rest.expressions import (
    Arithmetic,
    Assignment,
    Comparison,
    Compute,
    Condition,
    Count,
    Effect,
    FieldRef,
    IncrementBy,
    Literal,
    NullCheck,
    OnEach,
    OnReference,
    OnThis,
    Operand,
    Quantified,
    Quantifier,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.prose.literals import literal

_ITEM = "item"
_QUANTIFIED = {Quantifier.ANY: "any item in", Quantifier.ALL: "every item in"}


def condition_text(condition: Condition) -> str:
    """A condition, such as ``this.total > 5`` or ``any item in this.lines satisfies item.price >= 2.5``."""
    match condition:
        case Quantified(quantifier, list_field, inner):
            return f"{_QUANTIFIED[quantifier]} this.{list_field} satisfies {_simple(inner)}"
        case Comparison() | NullCheck():
            return _simple(condition)
        case _:
            assert_never(condition)


def effect_text(effect: Effect) -> str:
    """An effect, such as ``set this.total to this.price * this.amount`` or ``for each item in this.lines: increment item.used by 1``."""
    match effect.scope:
        case OnThis():
            return _assignment(effect.target, effect.assignment, "this")
        case OnReference(field):
            return _assignment(effect.target, effect.assignment, f"this.{field}")
        case OnEach(field):
            return f"for each item in this.{field}: {_assignment(effect.target, effect.assignment, _ITEM)}"
        case _:
            assert_never(effect.scope)


def _simple(condition: Comparison | NullCheck) -> str:
    match condition:
        case NullCheck(operand, is_null):
            return f"{_operand(operand)} is {'null' if is_null else 'not null'}"
        case Comparison(left, comparator, Literal(value)):
            return f"{_operand(left)} {comparator} {literal(value)}"
        case Comparison(left, comparator, FieldRef() as right):
            return f"{_operand(left)} {comparator} {_operand(right)}"
        case _:
            raise TypeError(f"not a simple condition: {condition!r}")


def _assignment(target: str, assignment: Assignment, other: str) -> str:
    written = f"{other}.{target}"
    match assignment:
        case SetTo(value):
            return f"set {written} to {literal(value)}"
        case IncrementBy(amount):
            return f"increment {written} by {literal(amount)}"
        case Compute(value):
            return f"set {written} to {_arithmetic(value, other)}"
        case _:
            assert_never(assignment)


def _operand(operand: Operand, other: str = _ITEM) -> str:
    match operand:
        case FieldRef(field, subject):
            return f"{'this' if subject is Subject.THIS else other}.{field}"
        case Arithmetic():
            return _arithmetic(operand, other)
        case Count(list_field):
            return f"count(this.{list_field})"
        case Sum(list_field, field):
            return f"sum(this.{list_field}.{field})"
        case _:
            assert_never(operand)


def _arithmetic(value: Arithmetic, other: str) -> str:
    return f"{_operand(value.left, other)} {value.operator} {_operand(value.right, other)}"
