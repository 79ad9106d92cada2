"""Bounds that show a search to be hopeless: sound, and sharp where it is cheap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    Operand,
    Quantified,
    Quantifier,
    Subject,
    Sum,
)
from stamina.rest.reach import contradictory
from stamina.rest.schema import Entity, Field, IntegerType, ReferenceListType
from stamina.rest.semantics import holds

ITEM = {"n": Field("n", IntegerType(2, 5)), "m": Field("m", IntegerType(-1, 4), nullable=True)}
OWN = {"a": Field("a", IntegerType(0, 3)), "b": Field("b", IntegerType(-2, 2), nullable=True), "items": Field("items", ReferenceListType("Item"))}
CART = Entity("Cart", tuple(OWN.values()))


def other(field: str) -> FieldRef:
    return FieldRef(field, Subject.OTHER)


def is_(left: Operand, comparator: str, value: int) -> Comparison:
    return Comparison(left, Comparator(comparator), Literal(value))


@pytest.mark.parametrize(
    ("conditions", "items"),
    [
        ([(is_(Sum("items", "n"), ">", 10), True)], 2),
        ([(is_(Sum("items", "n"), ">=", 4), False)], 2),
        ([(is_(Sum("items", "n"), ">", 6), True), (is_(Sum("items", "n"), "<", 6), True)], 2),
        ([(is_(Count("items"), "==", 3), True)], 2),
        ([(is_(FieldRef("a"), ">", 3), True)], 0),
        ([(is_(Arithmetic(FieldRef("a"), ArithmeticOperator.SUBTRACT, FieldRef("b")), ">", 5), True)], 0),
        ([(Quantified(Quantifier.ANY, "items", is_(other("n"), "==", 9)), True)], 2),
        ([(Quantified(Quantifier.ALL, "items", is_(other("n"), "<=", 5)), False)], 2),
        ([(Quantified(Quantifier.ANY, "items", NullCheck(other("m"), is_null=True)), True)], 0),
    ],
)
def test_what_bounds_exclude_is_seen(conditions: list[tuple[Condition, bool]], items: int) -> None:
    """Sums, counts, arithmetic, two conditions that exclude each other, and quantifiers that no item can serve."""
    assert contradictory(tuple(conditions), OWN, {"items": (items, ITEM)})


OPERANDS: st.SearchStrategy[Operand] = st.one_of(
    st.sampled_from([FieldRef("a"), FieldRef("b"), Count("items"), Sum("items", "n"), Sum("items", "m")]),
    st.builds(
        Arithmetic, st.sampled_from([FieldRef("a"), FieldRef("b")]), st.sampled_from(ArithmeticOperator), st.sampled_from([FieldRef("a"), FieldRef("b")])
    ),
)
COMPARATORS = st.sampled_from([each.value for each in Comparator])
CONDITIONS: st.SearchStrategy[Condition] = st.one_of(
    st.builds(is_, OPERANDS, COMPARATORS, st.integers(-8, 12)),
    st.builds(
        Quantified, st.sampled_from(Quantifier), st.just("items"), st.builds(is_, st.sampled_from([other("n"), other("m")]), COMPARATORS, st.integers(-3, 7))
    ),
)
MAYBE = st.one_of(st.none(), st.integers(-1, 4))


@given(
    st.lists(CONDITIONS, min_size=1, max_size=3),
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(-2, 2)),
    st.lists(st.tuples(st.integers(2, 5), MAYBE), max_size=3),
)
def test_what_happens_is_never_called_impossible(conditions: list[Condition], a: int, b: int | None, items: list[tuple[int, int | None]]) -> None:
    """No false alarm: the truth values of real objects are always possible."""
    stored = {f"i{number}": {"id": f"i{number}", "n": n, "m": m} for number, (n, m) in enumerate(items)}
    this = {"id": "c", "a": a, "b": b, "items": list(stored)}
    seen = tuple((each, holds(each, this, {"Item": stored, "Cart": {"c": this}}, CART)) for each in conditions)
    assert not contradictory(seen, OWN, {"items": (len(items), ITEM)})
