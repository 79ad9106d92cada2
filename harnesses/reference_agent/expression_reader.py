"""Reads conditions and effects."""

from __future__ import annotations

from harnesses.reference_agent.expressions import (
    Arithmetic,
    Comparison,
    Condition,
    Effect,
    Fold,
    ForEach,
    Increment,
    Literal,
    NullTest,
    Quantified,
    Ref,
    Setting,
)
from harnesses.reference_agent.text import Cursor

_COMPARATORS = ("==", "!=", "<=", ">=", "<", ">")
_OPERATORS = (" + ", " - ", " * ")
_FIELDS = ("this.", "item.")


def condition(cursor: Cursor) -> Condition:
    """A condition, to the end of the cursor."""
    found: Condition
    if cursor.sees("any item in ") or cursor.sees("every item in "):
        kind = cursor.one_of("any", "every")
        cursor.expect(" item in ")
        items = _list(cursor)
        cursor.expect(" satisfies ")
        found = Quantified(kind, items, _test(cursor))
    else:
        found = _test(cursor)
    cursor.end()
    return found


def effect(cursor: Cursor) -> Effect:
    """An effect, to the end of the cursor."""
    found: Effect
    if cursor.take("for each item in "):
        items = _list(cursor)
        cursor.expect(": ")
        found = ForEach(items, _change(cursor))
    else:
        found = _change(cursor)
    cursor.end()
    return found


def _list(cursor: Cursor) -> Ref:
    cursor.expect("this.")
    return Ref("this", (cursor.word(),))


def _test(cursor: Cursor) -> Comparison | NullTest:
    left = _left(cursor)
    if isinstance(left, Ref) and cursor.sees(" is "):
        return NullTest(left, cursor.one_of(" is null", " is not null") == " is null")
    cursor.expect(" ")
    comparator = cursor.one_of(*_COMPARATORS)
    cursor.expect(" ")
    return Comparison(left, comparator, _field(cursor) if _sees_field(cursor) else Literal.of(cursor.literal()))


def _left(cursor: Cursor) -> Ref | Arithmetic | Fold:
    for kind in ("count", "sum"):
        if cursor.take(f"{kind}("):
            over = _field(cursor)
            cursor.expect(")")
            return Fold(kind, over)
    field = _field(cursor)
    operator = next(filter(cursor.take, _OPERATORS), "")
    return Arithmetic(field, operator.strip(), _field(cursor)) if operator else field


def _change(cursor: Cursor) -> Setting | Increment:
    if cursor.take("increment "):
        target = _field(cursor)
        cursor.expect(" by ")
        return Increment(target, Literal.of(cursor.number()))
    cursor.expect("set ")
    target = _field(cursor)
    cursor.expect(" to ")
    return Setting(target, _arithmetic(cursor) if _sees_field(cursor) else Literal.of(cursor.literal()))


def _arithmetic(cursor: Cursor) -> Arithmetic:
    left = _field(cursor)
    operator = cursor.one_of(*_OPERATORS)
    return Arithmetic(left, operator.strip(), _field(cursor))


def _sees_field(cursor: Cursor) -> bool:
    return any(map(cursor.sees, _FIELDS))


def _field(cursor: Cursor) -> Ref:
    root = cursor.one_of(*_FIELDS).rstrip(".")
    names = [cursor.word()]
    if root == "this" and cursor.take("."):
        names.append(cursor.word())
    return Ref(root, tuple(names))
