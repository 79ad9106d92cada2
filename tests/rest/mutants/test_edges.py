"""Whether two readings of a comparison differ anywhere, decided by going through values: the same as trying every pair of them."""

import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.rest.expressions import Arithmetic, ArithmeticOperator, Comparator, Comparison, Count, Effect, FieldRef, IncrementBy, Literal, SetTo
from stamina.rest.mutants.edges import factors, no_difference
from stamina.rest.schema import Action, DatetimeType, Entity, EnumType, Field, FloatType, IntegerType
from stamina.rest.semantics import View, is_met

STATE = Field("state", EnumType("ThingState", ("on", "off")))
NEIGHBOUR = {Comparator.LT: Comparator.LE, Comparator.LE: Comparator.LT, Comparator.GT: Comparator.GE, Comparator.GE: Comparator.GT}

RANGES = st.tuples(st.integers(-6, 6), st.integers(0, 6)).map(lambda pair: IntegerType(pair[0], pair[0] + pair[1]))
COMPARATORS = st.sampled_from(sorted(NEIGHBOUR))
OPERATORS = st.sampled_from(sorted(ArithmeticOperator))


def question(one: IntegerType | FloatType, two: IntegerType | FloatType, *conditions: Comparison) -> tuple[Entity, Action]:
    entity = Entity("Thing", (STATE, Field("a", one), Field("b", two)))
    return entity, Action("act", "state", ("on",), "off", conditions)


def arithmetic(symbol: ArithmeticOperator) -> Arithmetic:
    return Arithmetic(FieldRef("a"), symbol, FieldRef("b"))


def differs(one: IntegerType, two: IntegerType, wrong: Comparison, right: Comparison, *others: Comparison) -> bool:
    """By trying all pairs of integers."""
    assert one.minimum is not None and one.maximum is not None and two.minimum is not None and two.maximum is not None  # noqa: PT018
    pairs = itertools.product(range(one.minimum, one.maximum + 1), range(two.minimum, two.maximum + 1))
    views = [View({"a": a, "b": b}, {}, {}) for a, b in pairs]
    return any(is_met(right, seen) is not is_met(wrong, seen) and all(is_met(each, seen) for each in others) for seen in views)


@given(RANGES, RANGES, OPERATORS, COMPARATORS, st.integers(-30, 30), st.sampled_from((-1, 0, 1)))
def test_small_ranges_are_decided_as_by_trying_everything(
    one: IntegerType, two: IntegerType, symbol: ArithmeticOperator, comparator: Comparator, goal: int, step: int
) -> None:
    right = Comparison(arithmetic(symbol), comparator, Literal(goal))
    wrong = attrs.evolve(right, right=Literal(goal + step)) if step else attrs.evolve(right, comparator=NEIGHBOUR[comparator])
    assert bool(no_difference(*question(one, two, right), 0, wrong)) is not differs(one, two, wrong, right)


@given(RANGES, RANGES, COMPARATORS, st.integers(-12, 12), st.integers(-8, 8))
def test_conditions_over_the_same_fields_are_taken_into_account(one: IntegerType, two: IntegerType, comparator: Comparator, goal: int, least: int) -> None:
    right = Comparison(arithmetic(ArithmeticOperator.ADD), comparator, Literal(goal))
    other = Comparison(FieldRef("a"), Comparator.GE, Literal(least))
    wrong = attrs.evolve(right, comparator=NEIGHBOUR[comparator])
    assert bool(no_difference(*question(one, two, other, right), 1, wrong)) is not differs(one, two, wrong, right, other)


@given(RANGES, RANGES, OPERATORS, COMPARATORS, st.integers(-30, 30), st.integers(-6, 6), st.booleans())
def test_where_the_action_is_taken_results_must_stay_inside(
    one: IntegerType,
    two: IntegerType,
    symbol: ArithmeticOperator,
    comparator: Comparator,
    goal: int,
    amount: int,
    twice: bool,
) -> None:
    """A result that another effect overwrites may lie anywhere."""
    right = Comparison(arithmetic(symbol), comparator, Literal(goal))
    wrong = attrs.evolve(right, comparator=NEIGHBOUR[comparator])
    entity, action = question(one, two, right)
    action = attrs.evolve(action, effects=(Effect("a", IncrementBy(amount)), *((Effect("a", SetTo(one.minimum)),) if twice else ())))
    assert one.minimum is not None and one.maximum is not None and two.minimum is not None and two.maximum is not None  # noqa: PT018
    found = False
    for a, b in itertools.product(range(one.minimum, one.maximum + 1), range(two.minimum, two.maximum + 1)):
        seen = View({"a": a, "b": b}, {}, {})
        fair = twice or not is_met(right, seen) or one.minimum <= a + amount <= one.maximum
        found |= fair and is_met(right, seen) is not is_met(wrong, seen)
    assert bool(no_difference(entity, action, 0, wrong)) is not found


@pytest.mark.parametrize("field", [IntegerType(), FloatType()])
def test_an_open_field_beside_a_closed_one_reaches_the_edge(field: IntegerType | FloatType) -> None:
    right = Comparison(arithmetic(ArithmeticOperator.ADD), Comparator.LT, Literal(7))
    assert no_difference(*question(IntegerType(0, 3), field, right), 0, attrs.evolve(right, comparator=Comparator.LE)) == ""


def test_a_product_that_never_comes_to_the_literal_is_proven() -> None:
    right = Comparison(arithmetic(ArithmeticOperator.MULTIPLY), Comparator.LT, Literal(7))
    wrong = attrs.evolve(right, comparator=Comparator.LE)
    assert no_difference(*question(IntegerType(2, 5), IntegerType(2, 5), right), 0, wrong)
    assert no_difference(*question(IntegerType(1, 5), IntegerType(2, 7), right), 0, wrong) == ""


@pytest.mark.parametrize(
    ("goal", "one", "two", "there"),
    [
        (10_000_019, IntegerType(2, 9_000_000), IntegerType(2, 9_000_000), False),
        (10_000_019, IntegerType(1, None), IntegerType(1, None), True),
        (10_000_000, IntegerType(2, 9_000_000), IntegerType(2, 9_000_000), True),
        (-10_000_000, IntegerType(2, 9_000_000), IntegerType(-9_000_000, -2), True),
        (-10_000_000, IntegerType(2, 9_000_000), IntegerType(2, 9_000_000), False),
        (0, IntegerType(None, None), IntegerType(None, None), True),
        (54906.5009765625, FloatType(0.0, 950.0), IntegerType(None, 10010), False),
        (54906.501953125, FloatType(0.0, 950.0), IntegerType(None, 10010), True),
    ],
)
def test_a_product_of_two_wide_fields_is_taken_apart(goal: float, one: IntegerType | FloatType, two: IntegerType | FloatType, *, there: bool) -> None:
    """54906.5009765625 is 3 * 18741419 grains, and 18741419 is a prime."""
    right = Comparison(arithmetic(ArithmeticOperator.MULTIPLY), Comparator.LT, Literal(goal))
    assert bool(no_difference(*question(one, two, right), 0, attrs.evolve(right, comparator=Comparator.LE))) is not there


def test_factors_of_either_sign_are_found_once() -> None:
    assert sorted(factors(-12)) == sorted(sign * each for sign in (1, -1) for each in (1, 2, 3, 4, 6, 12))
    assert sorted(factors(9)) == [-9, -3, -1, 1, 3, 9]


@pytest.mark.parametrize(("latest", "proven"), [("2024-01-01 10:00:00", False), ("2024-01-01 09:59:59", True), (None, False)])
def test_an_instant_is_looked_at_beside_the_edge(latest: str | None, *, proven: bool) -> None:
    right = Comparison(FieldRef("a"), Comparator.LT, Literal("2024-01-01 10:00:00"))
    entity = Entity("Thing", (STATE, Field("a", DatetimeType(None, latest))))
    action = Action("act", "state", ("on",), "off", (right,))
    assert bool(no_difference(entity, action, 0, attrs.evolve(right, comparator=Comparator.LE))) is proven
    apart = attrs.evolve(action, conditions=(right, Comparison(FieldRef("a"), Comparator.NE, Literal("2024-01-01 10:00:00"))))
    assert no_difference(entity, apart, 0, attrs.evolve(right, comparator=Comparator.LE))


@pytest.mark.parametrize(
    "right",
    [
        Comparison(FieldRef("a"), Comparator.LT, FieldRef("b")),
        Comparison(Count("things"), Comparator.LT, Literal(3)),
        Comparison(arithmetic(ArithmeticOperator.ADD), Comparator.LT, Literal(3)),
    ],
    ids=["two fields", "a list", "two open fields"],
)
def test_what_cannot_be_gone_through_is_not_proven(right: Comparison) -> None:
    entity, action = question(FloatType(), FloatType(), right)
    assert no_difference(entity, action, 0, attrs.evolve(right, comparator=Comparator.LE)) == ""
