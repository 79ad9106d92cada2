"""A sample of mutants is even over the operators, the same each time, and finds no more faults than it needs."""

from collections import Counter
from collections.abc import Iterator

from stamina.draw import Draw
from stamina.rest.mutants import OPERATORS, Fault, Ground, Operator, mutants
from stamina.rest.mutants.measure import sample
from stamina.rest.rules import ABOUT
from stamina.rest.truth import Truth
from tests.rest.library import LIBRARY

GROUND = Ground(LIBRARY)


def test_a_sample_as_large_as_all_is_all() -> None:
    every = [(mutant.operator.name, mutant.fault.detail) for mutant in mutants(GROUND)]
    found = [(mutant.operator.name, mutant.fault.detail) for mutant in sample(OPERATORS, GROUND, 10**6, Draw("s"))]
    assert sorted(found) == sorted(every)


def test_a_sample_takes_from_every_operator_in_turn() -> None:
    there = Counter(mutant.operator.name for mutant in mutants(GROUND))
    taken = Counter(mutant.operator.name for mutant in sample(OPERATORS, GROUND, 300, Draw("s")))
    assert taken.total() == 300
    most = max(taken.values())
    assert all(taken[name] >= min(count, most - 1) for name, count in there.items())


def test_the_same_draw_makes_the_same_sample() -> None:
    one, two = (sample(OPERATORS, GROUND, 40, Draw("s", 1)) for _ in range(2))
    assert [mutant.fault.detail for mutant in one] == [mutant.fault.detail for mutant in two]
    assert [mutant.fault.detail for mutant in one] != [mutant.fault.detail for mutant in sample(OPERATORS, GROUND, 40, Draw("s", 2))]


def test_places_are_looked_at_only_as_far_as_a_sample_needs() -> None:
    looked: list[int] = []

    def find(number: int) -> Iterator[Fault]:
        looked.append(number)
        if number % 2:
            yield Fault(("server",), str(number), lambda: Truth(LIBRARY).handle)

    slow = Operator("slow", "H1", "is slow", lambda _: iter(()), lambda _: [lambda number=number: find(number) for number in range(100)])  # type: ignore[misc]
    assert len(sample((slow,), GROUND, 3, Draw("s"))) == 3
    assert 3 <= len(looked) < 40


def test_every_rule_of_the_tables_is_explained() -> None:
    """A number alone says nothing to whoever has not read the contract."""
    assert {operator.rule for operator in OPERATORS} <= set(ABOUT)
