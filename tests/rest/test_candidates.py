"""Values worth trying: valid, tame, of the right type, and different for different places."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.rest.candidates import GRAIN, around, distance, domain, fits, tame
from stamina.rest.schema import BooleanType, DatetimeType, EnumType, Field, FloatType, IntegerType, ScalarType, StringType
from stamina.rest.values import checker

GRAINS = st.integers(-(2**20), 2**20).map(lambda number: number * GRAIN)
MOMENTS = st.datetimes().map(lambda moment: str(moment.replace(microsecond=0)))


def ranges(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    both = st.tuples(values, values).map(lambda pair: (min(pair), max(pair)))
    return st.tuples(both, st.booleans(), st.booleans()).map(lambda drawn: (drawn[0][0] if drawn[1] else None, drawn[0][1] if drawn[2] else None))


KINDS: st.SearchStrategy[ScalarType] = st.one_of(
    ranges(st.integers(-(2**31) + 1, 2**31 - 1)).map(lambda bounds: IntegerType(*bounds)),
    ranges(GRAINS).map(lambda bounds: FloatType(*bounds)),
    ranges(st.integers(0, 60)).map(lambda bounds: StringType(*bounds)),
    ranges(MOMENTS).map(lambda bounds: DatetimeType(*bounds)),
    st.just(BooleanType()),
    st.just(EnumType("Mood", ("calm", "wild"))),
)
WISHES = st.lists(st.one_of(st.integers(-(2**31), 2**31), GRAINS, st.booleans(), st.sampled_from(["calm", "", "oak"]), MOMENTS, st.none()), max_size=5)


@given(KINDS, WISHES, st.integers(0, 100))
def test_every_candidate_is_valid_tame_and_of_the_type(kind: ScalarType, wishes: list[Any], rank: int) -> None:
    """Whatever the bounds and the literals around; and there is always one."""
    field = Field("size", kind)
    values = domain(field, wishes).turned(rank)
    assert values
    assert len({(type(value), value) for value in values}) == len(values)
    check = checker(field)
    for value in values:
        assert check(value, dict.__getitem__) is None
        assert tame(value)
        assert fits(field, value)
        assert isinstance(value, float) is isinstance(kind, FloatType)


def test_places_of_different_rank_start_with_different_values() -> None:
    """So that a swapped operand shows."""
    for kind in (IntegerType(), FloatType(), StringType(), DatetimeType(), BooleanType(), IntegerType(3, 9)):
        known = domain(Field("size", kind), ())
        assert known.turned(0)[0] != known.turned(1)[0]
        assert set(known.turned(0)) == set(known.turned(1))


@pytest.mark.parametrize(
    ("kind", "wish", "expected"),
    [
        (IntegerType(), 4.5, {3, 4, 5, 6}),
        (FloatType(), 2, {2.0, 2 + GRAIN, 2 - GRAIN, 2.25, 1.75}),
        (DatetimeType(), "2020-01-01 00:00:00", {"2020-01-01 00:00:00", "2020-01-01 00:00:01", "2019-12-31 23:59:59"}),
        (DatetimeType(), "0001-01-01 00:00:00", {"0001-01-01 00:00:00", "0001-01-01 00:00:01"}),
        (DatetimeType(), "9999-12-31 23:59:59", {"9999-12-31 23:59:59", "9999-12-31 23:59:58"}),
        (DatetimeType(), "tomorrow", set()),
        (BooleanType(), True, {True, False}),
        (BooleanType(), 1, set()),
        (IntegerType(), True, set()),
        (IntegerType(), "4", set()),
        (StringType(), "oak", {"oak"}),
    ],
)
def test_around_a_wish(kind: ScalarType, wish: Any, expected: set[Any]) -> None:
    """One step to each side, in the field's own type; nothing for a wish of another type."""
    assert set(around(kind, wish)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2**31 - 1, True), (2**31, False), (-(2**31), False), (0.1, False), (3 * GRAIN, True), (2.0**30, False), (True, True), ("x", True), (None, True)],
)
def test_tame_numbers(value: Any, expected: bool) -> None:
    """Integers within 32 bits, floats that are multiples of 1/1024 below 2^30 (V8)."""
    assert tame(value) is expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [(7, 2.5, 4.5), ("2020-01-02 00:00:00", "2020-01-01 23:59:58", 2), ("oak", "ash", None), (None, 1, None), (True, 0, None), (1, "1", None)],
)
def test_distances(left: Any, right: Any, expected: float | None) -> None:
    """Of numbers and datetimes; nothing else has one."""
    assert distance(left, right) == expected
