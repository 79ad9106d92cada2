"""Inequalities contradict each other only where no numbers meet them all."""

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from stamina.rest.mutants.linear import Linear, contradictory, linear

FACTORS = st.integers(-2, 2)
RELATIONS = st.lists(
    st.builds(
        lambda factors, constant, strict: linear(dict(enumerate(factors)), constant, strict=strict),
        st.tuples(FACTORS, FACTORS, FACTORS),
        st.integers(-4, 4),
        st.booleans(),
    ),
    max_size=6,
)


def is_met(each: Linear, values: tuple[int, ...]) -> bool:
    left = sum((factor * values[variable] for variable, factor in each.terms), each.constant)
    return left < 0 or (left == 0 and not each.strict)


@given(RELATIONS)
def test_what_some_numbers_meet_is_no_contradiction(relations: list[Linear]) -> None:
    met = any(all(is_met(each, values) for each in relations) for values in itertools.product(range(-3, 4), repeat=3))
    assert not (met and contradictory(relations))


def test_a_circle_of_orders_is_a_contradiction_where_one_of_them_is_strict() -> None:
    circle = [linear({0: 1, 1: -1}, 0), linear({1: 1, 2: -1}, 0), linear({2: 1, 0: -1}, 0)]
    assert not contradictory(circle)
    assert contradictory([*circle[:2], linear({2: 1, 0: -1}, 0, strict=True)])
    assert contradictory([*circle[:2], linear({2: 1, 0: -1}, Fraction(1, 1024))])


def test_a_sum_that_is_as_large_as_one_part_leaves_nothing_for_the_other() -> None:
    """x + y <= z, z <= x, y >= 1."""
    relations = [linear({0: 1, 1: 1, 2: -1}, 0), linear({2: 1, 0: -1}, 0)]
    assert contradictory([*relations, linear({1: -1}, 1)])
    assert not contradictory([*relations, linear({1: -1}, 0)])
