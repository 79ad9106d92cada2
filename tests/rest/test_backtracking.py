"""The bounded search for values, on plain numbers."""

import itertools
import math
from collections.abc import Callable, Iterable
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from stamina.rest.backtracking import Budget, Constraint, Variable, solve

Values = dict[str, int]


def near(wish: float) -> Iterable[int]:
    return (math.floor(wish), math.floor(wish) + 1)


def variables(values: Values, **domains: Iterable[int]) -> dict[str, Variable]:
    return {name: Variable(values, name, tuple(domain), near) for name, domain in domains.items()}


def test_an_equation_over_wide_ranges_is_solved_not_guessed() -> None:
    """Neither operand's domain holds the answer; the gap's root does."""
    values: Values = {}
    places = variables(values, x=[3], y=[1])
    constraint = Constraint(tuple(places.values()), lambda: values["x"] * values["y"] == 300_000, (lambda: values["x"] * values["y"] - 300_000,))
    assert solve(list(places.values()), [constraint], Budget(50))
    assert values == {"x": 3, "y": 100_000}


def test_what_is_suggested_still_meets_the_other_constraints() -> None:
    """A root that breaks a constraint over one variable is passed over."""
    values: Values = {}
    places = variables(values, x=[1, 2, 3], y=[0])
    total = Constraint(tuple(places.values()), lambda: values["x"] + values["y"] == 10, (lambda: values["x"] + values["y"] - 10,))
    small = Constraint((places["y"],), lambda: values["y"] <= 7)
    assert solve(list(places.values()), [total, small], Budget(100))
    assert values["x"] + values["y"] == 10
    assert values["y"] <= 7


def test_a_spent_budget_ends_the_search() -> None:
    """False, after about as many tests as the budget allows; a part takes from the whole."""
    values: Values = {}
    tests = 0

    def never() -> bool:
        nonlocal tests
        tests += 1
        return False

    places = variables(values, x=range(1000), y=range(1000))
    whole = Budget(500)
    assert not solve(list(places.values()), [Constraint(tuple(places.values()), never)], whole.part(100))
    assert 0 < tests <= 100
    assert 390 <= whole.steps <= 410


def test_constraints_without_variables_are_facts() -> None:
    """One that is false ends the search before it begins."""
    budget = Budget(10)
    assert not solve([], [Constraint((), lambda: False)], budget)
    assert solve([], [Constraint((), lambda: True)], budget)
    assert budget.steps == 10


def test_independent_groups_do_not_multiply() -> None:
    """Six pairs of a hundred candidates each cost a sum of steps, not a product."""
    values: Values = {}
    places = variables(values, **{f"v{number}": range(100) for number in range(12)})
    all_places = list(places.values())
    pairs = [
        Constraint((one, other), partial(lambda a, b: values[a] + values[b] == 198, one.key, other.key))
        for one, other in zip(all_places[::2], all_places[1::2], strict=True)
    ]
    assert solve(all_places, pairs, Budget(70_000))
    assert set(values.values()) == {99}


TESTS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "!=": lambda a, b: a != b,
    "sum 5": lambda a, b: a + b == 5,
    "product 6": lambda a, b: a * b == 6,
}


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True), min_size=3, max_size=3),
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.sampled_from(list(TESTS))), max_size=4),
)
def test_finds_what_a_full_enumeration_finds(domains: list[list[int]], rules: list[tuple[str, str, str]]) -> None:
    """With budget enough, there is an answer exactly when there is one; and it is one."""
    values: Values = {}
    places = variables(values, **dict(zip("abc", domains, strict=True)))
    constraints = [
        Constraint(tuple(dict.fromkeys((places[one], places[other]))), partial(lambda a, b, rule: TESTS[rule](values[a], values[b]), one, other, rule))
        for one, other, rule in rules
    ]
    possible = any(
        all(TESTS[rule](dict(zip("abc", choice, strict=True))[one], dict(zip("abc", choice, strict=True))[other]) for one, other, rule in rules)
        for choice in itertools.product(*domains)
    )
    assert solve(list(places.values()), constraints, Budget(10_000)) is possible
    if possible:
        assert all(TESTS[rule](values[one], values[other]) for one, other, rule in rules)
        assert all(values[name] in domain for name, domain in zip("abc", domains, strict=True))
