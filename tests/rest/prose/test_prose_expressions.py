"""Conditions, effects, fields and values as text: each has one spelling, and no two share one."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
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
from stamina.rest.prose.expressions import condition_text, effect_text
from stamina.rest.prose.fields import field_text
from stamina.rest.prose.literals import literal
from stamina.rest.schema import (
    BooleanType,
    DatetimeType,
    EnumType,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    StringType,
)

NAMES = ("a", "b")
SCALARS = (0, 1, 1.0, -1, -1.5, "1", "", "a", "null", "this.a", '"', "`", True, False, "2020-01-01 00:00:00")
OTHER = Subject.OTHER


def refs(*subjects: Subject) -> list[FieldRef]:
    return [FieldRef(name, subject) for name in NAMES for subject in subjects]


def arithmetics(*subjects: Subject) -> list[Arithmetic]:
    return [Arithmetic(*parts) for parts in itertools.product(refs(*subjects), ArithmeticOperator, refs(*subjects))]


def simple_conditions(*subjects: Subject) -> Iterator[Comparison | NullCheck]:
    fields = refs(*subjects)
    aggregates: list[Operand] = [Count("a"), Count("b"), *(Sum(*pair) for pair in itertools.product(NAMES, NAMES))]
    operands: list[Operand] = [*fields, *arithmetics(*subjects), *aggregates]
    rights: list[FieldRef | Literal] = [*fields, *(Literal(value) for value in SCALARS)]
    yield from (Comparison(*parts) for parts in itertools.product(operands, Comparator, rights))
    yield from (NullCheck(*parts) for parts in itertools.product(fields, (True, False)))


def conditions() -> Iterator[Condition]:
    yield from simple_conditions(Subject.THIS)
    yield from (Quantified(*parts) for parts in itertools.product(Quantifier, NAMES, simple_conditions(Subject.THIS, OTHER)) if parts[1] == "a")


def effects() -> Iterator[Effect]:
    constants = [*(SetTo(value) for value in (*SCALARS, None, ())), *(IncrementBy(amount) for amount in (1, 1.0, -1, 2.5))]
    for target in NAMES:
        yield from (Effect(target, assignment, scope) for assignment in constants for scope in (OnThis(), *others()))
        yield from (Effect(target, Compute(value)) for value in arithmetics(Subject.THIS))
        yield from (Effect(target, Compute(value), scope) for value in arithmetics(*Subject) for scope in others())


def others() -> list[OnReference | OnEach]:
    return [scope(name) for name in NAMES for scope in (OnReference, OnEach)]


def types() -> Iterator[FieldType]:
    yield from (StringType(*pair) for pair in itertools.product((None, 1, 2), repeat=2))
    yield from (IntegerType(*pair) for pair in itertools.product((None, -1, 1), repeat=2))
    yield from (FloatType(*pair) for pair in itertools.product((None, -1.0, 1.0), repeat=2))
    yield from (DatetimeType(*pair) for pair in itertools.product((None, "2020-01-01 00:00:00", "2021-01-01 00:00:00"), repeat=2))
    yield from (EnumType(name, values) for name in NAMES for values in (("x",), ("y",), ("x", "y"), ("y", "x")))
    yield from (kind(name) for kind in (ReferenceType, ReferenceListType) for name in NAMES)
    yield BooleanType()


def fields() -> Iterator[Field]:
    flags = (True, False)
    for name, kind, required, nullable in itertools.product(NAMES, types(), flags, flags):
        defaults = (None,) if isinstance(kind, ReferenceType | ReferenceListType) else (None, *SCALARS)
        yield from (Field(name, kind, required, nullable, default) for default in defaults)


def assert_all_distinct(texts: Iterable[tuple[str, object]]) -> None:
    seen: dict[str, object] = {}
    for text, value in texts:
        assert text not in seen, f"{value!r} and {seen[text]!r} are both written {text}"
        seen[text] = value


def test_no_two_conditions_read_the_same() -> None:
    """A reader can tell every condition from every other."""
    assert_all_distinct((condition_text(one), one) for one in conditions())


def test_no_two_effects_read_the_same() -> None:
    """A reader can tell every effect from every other."""
    assert_all_distinct((effect_text(one), one) for one in effects())


def test_no_two_fields_read_the_same() -> None:
    """A reader can tell every field from every other, its bounds and its default included."""
    assert_all_distinct((field_text(one), one) for one in fields())


@given(st.text() | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_literal_reads_back_with_its_type(value: str | int | float | bool | None) -> None:
    """JSON gives back the value and its type: an integer stays one, a float stays one."""
    text = literal(value)
    back = json.loads(text)
    assert (type(back), back) == (type(value), value)
    assert "\n" not in text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_has_a_decimal_point_and_no_exponent(value: float) -> None:
    """Floats are told from integers by their point, also very large and very small ones."""
    text = literal(value)
    assert "." in text
    assert "e" not in text.lower()


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Comparison(FieldRef("total"), Comparator.GE, Literal(5.0)), "this.total >= 5.0"),
        (Comparison(FieldRef("total"), Comparator.NE, FieldRef("paid")), "this.total != this.paid"),
        (Comparison(FieldRef("note"), Comparator.EQ, Literal('a "b"')), 'this.note == "a \\"b\\""'),
        (Comparison(Arithmetic(FieldRef("a"), ArithmeticOperator.SUBTRACT, FieldRef("b")), Comparator.LT, FieldRef("c")), "this.a - this.b < this.c"),
        (Comparison(Count("lines"), Comparator.GT, Literal(0)), "count(this.lines) > 0"),
        (Comparison(Sum("lines", "price"), Comparator.LE, Literal(9.5)), "sum(this.lines.price) <= 9.5"),
        (NullCheck(FieldRef("note"), is_null=True), "this.note is null"),
        (
            Quantified(Quantifier.ANY, "lines", Comparison(FieldRef("open", OTHER), Comparator.EQ, Literal(True))),
            "any item in this.lines satisfies item.open == true",
        ),
        (Quantified(Quantifier.ALL, "lines", NullCheck(FieldRef("note", OTHER), is_null=False)), "every item in this.lines satisfies item.note is not null"),
    ],
)
def test_conditions_in_words(condition: Condition, text: str) -> None:
    """Each form of a condition has the wording of docs/language.md."""
    assert condition_text(condition) == text


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (Effect("lines", SetTo(())), "set this.lines to []"),
        (Effect("note", SetTo(None)), "set this.note to null"),
        (Effect("seen", SetTo(True)), "set this.seen to true"),
        (Effect("total", IncrementBy(-2)), "increment this.total by -2"),
        (Effect("total", Compute(Arithmetic(FieldRef("a"), ArithmeticOperator.MULTIPLY, FieldRef("b")))), "set this.total to this.a * this.b"),
        (Effect("note", SetTo("x"), OnReference("owner")), 'set this.owner.note to "x"'),
        (
            Effect("money", Compute(Arithmetic(FieldRef("money", OTHER), ArithmeticOperator.SUBTRACT, FieldRef("total"))), OnReference("owner")),
            "set this.owner.money to this.owner.money - this.total",
        ),
        (Effect("stock", IncrementBy(0.5), OnEach("lines")), "for each item in this.lines: increment item.stock by 0.5"),
        (
            Effect("used", Compute(Arithmetic(FieldRef("stock", OTHER), ArithmeticOperator.ADD, FieldRef("total"))), OnEach("lines")),
            "for each item in this.lines: set item.used to item.stock + this.total",
        ),
    ],
)
def test_effects_in_words(effect: Effect, text: str) -> None:
    """Each form of an effect has the wording of docs/language.md."""
    assert effect_text(effect) == text
