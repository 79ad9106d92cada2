"""Reads conditions and effects."""

from __future__ import annotations

from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Assignment,
    Comparator,
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
from stamina.rest.reading.cursor import Cursor

_COMPARATORS = ("==", "!=", "<=", ">=", "<", ">")
_QUANTIFIERS = {"any item in this.": Quantifier.ANY, "every item in this.": Quantifier.ALL}


def read_condition(text: str) -> Condition:
    """The condition that the text means. Raises InputError."""
    cursor = Cursor(text)
    for words, quantifier in _QUANTIFIERS.items():
        if cursor.take(words):
            list_field = cursor.word()
            cursor.expect(" satisfies ")
            return Quantified(quantifier, list_field, _simple(cursor))
    return _simple(cursor)


def read_effect(text: str) -> Effect:
    """The effect that the text means. Raises InputError."""
    cursor = Cursor(text)
    if cursor.take("for each item in this."):
        list_field = cursor.word()
        cursor.expect(": ")
        target, assignment = _change(cursor, "item.")
        return Effect(target, assignment, OnEach(list_field))
    verb = cursor.pick("set this.", "increment this.")
    first = cursor.word()
    if cursor.take("."):
        target = cursor.word()
        return Effect(target, _assignment(cursor, verb, f"this.{first}."), OnReference(first))
    return Effect(first, _assignment(cursor, verb, "item."), OnThis())


def _change(cursor: Cursor, other: str) -> tuple[str, Assignment]:
    verb = cursor.pick(f"set {other}", f"increment {other}")
    target = cursor.word()
    return target, _assignment(cursor, verb, other)


def _assignment(cursor: Cursor, verb: str, other: str) -> Assignment:
    if verb.startswith("increment"):
        cursor.expect(" by ")
        amount = cursor.literal()
        cursor.end()
        assert isinstance(amount, int | float)
        return IncrementBy(amount)
    cursor.expect(" to ")
    left = _reference(cursor, other)
    if left is None:
        value = cursor.literal()
        cursor.end()
        return SetTo(value)
    result = _arithmetic(cursor, left, other)
    cursor.end()
    return Compute(result) if isinstance(result, Arithmetic) else cursor.wrong("an operator")


def _simple(cursor: Cursor) -> Comparison | NullCheck:
    left = _operand(cursor)
    if isinstance(left, FieldRef) and cursor.take(" is "):
        found = cursor.pick("not null", "null")
        cursor.end()
        return NullCheck(left, found == "null")
    cursor.expect(" ")
    comparator = Comparator(cursor.pick(*_COMPARATORS))
    cursor.expect(" ")
    right = _reference(cursor, "item.")
    compared = Literal(cursor.literal()) if right is None else right  # type: ignore[arg-type]
    cursor.end()
    return Comparison(left, comparator, compared)


def _operand(cursor: Cursor) -> Operand:
    if cursor.take("count(this."):
        name = cursor.word()
        cursor.expect(")")
        return Count(name)
    if cursor.take("sum(this."):
        name = cursor.word()
        cursor.expect(".")
        field = cursor.word()
        cursor.expect(")")
        return Sum(name, field)
    left = _reference(cursor, "item.")
    return cursor.wrong("an operand") if left is None else _arithmetic(cursor, left, "item.")


def _arithmetic(cursor: Cursor, left: FieldRef, other: str) -> FieldRef | Arithmetic:
    """The field alone, or two fields joined by an operator."""
    for symbol in ArithmeticOperator:
        if cursor.take(f" {symbol} "):
            right = _reference(cursor, other)
            return cursor.wrong("a field") if right is None else Arithmetic(left, symbol, right)
    return left


def _reference(cursor: Cursor, other: str) -> FieldRef | None:
    """A field of the other object, behind the words given, or of the acting one; None when something else comes."""
    if cursor.take(other):
        return FieldRef(cursor.word(), Subject.OTHER)
    return FieldRef(cursor.word()) if cursor.take("this.") else None
