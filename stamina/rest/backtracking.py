"""A small bounded search for values that meet constraints together. Knows nothing of REST; deterministic.

Variables are places in dicts, so that constraints can be any code that reads those dicts. The search splits the variables into independent groups, and
for each group tries candidates in order, testing a constraint as soon as its last variable has a value. Candidates are the variable's own domain and what
the open constraints suggest: the roots of their gaps, solved for by probing, so that equations over wide ranges need no luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import attrs

from stamina.exchange import Json

Gap: TypeAlias = Callable[[], float | None]
"""A number that is 0 where a constraint is on its edge; None when it is not about numbers."""

MANY: Final = 2
"""With more open variables than this, suggestions go before the domain: domains alone would be tried in too many combinations."""


@attrs.define(eq=False)
class Budget:
    """How many more candidates a search may try; ``whole`` is the budget that this one is part of."""

    steps: int
    whole: Budget | None = None

    def spend(self) -> bool:
        """Take one step; False when none is left."""
        self.steps -= 1
        return self.steps >= 0 and (self.whole is None or self.whole.spend())

    def part(self, steps: int) -> Budget:
        """A budget of at most so many steps, which are taken from this one too."""
        return Budget(steps, self)


@attrs.frozen(eq=False)
class Variable:
    """A place that needs a value.

    Attributes:
        holder: the dict that holds the place.
        key: the place.
        domain: candidates, best first.
        around: from a wish, such as the root of a gap, to values of this variable's type near it.
    """

    holder: dict[str, Json]
    key: str
    domain: tuple[Json, ...]
    around: Callable[[Json], Iterable[Json]]

    def assign(self, value: Json) -> None:
        """Give it a value."""
        self.holder[self.key] = value


@attrs.frozen(eq=False)
class Constraint:
    """Something that must hold.

    Attributes:
        over: the variables that it reads.
        test: whether it holds; called only when all of them have values.
        gaps: numbers whose roots are good candidates.
        echoes: other values worth trying, such as the other side of an equality.
    """

    over: tuple[Variable, ...]
    test: Callable[[], bool]
    gaps: tuple[Gap, ...] = ()
    echoes: Callable[[], Iterable[Json]] = tuple


def solve(variables: Sequence[Variable], constraints: Sequence[Constraint], budget: Budget, *, last: Variable | None = None) -> bool:
    """Assign all variables so that all constraints hold. False when there is no way among the candidates, or the budget is spent.

    ``last`` is assigned after all others of its group.
    """
    if not all(constraint.test() for constraint in constraints if not constraint.over):
        return False
    domains: dict[Variable, tuple[Json, ...]] = {}
    for variable in variables:
        domains[variable] = _narrowed(variable, [each for each in constraints if each.over == (variable,)], budget)
        if not domains[variable]:
            return False
    return all(_solve_group(*group, domains, budget, last) for group in _groups(variables, constraints))


def _groups(variables: Sequence[Variable], constraints: Sequence[Constraint]) -> list[tuple[list[Variable], list[Constraint]]]:
    """Split into groups that share no constraint, in the order of their first variables."""
    leader = {variable: variable for variable in variables}

    def find(variable: Variable) -> Variable:
        while leader[variable] is not variable:
            variable = leader[variable]
        return variable

    for constraint in constraints:
        for variable in constraint.over[1:]:
            leader[find(variable)] = find(constraint.over[0])
    groups: dict[Variable, tuple[list[Variable], list[Constraint]]] = {}
    for variable in variables:
        groups.setdefault(find(variable), ([], []))[0].append(variable)
    for constraint in constraints:
        if constraint.over:
            groups[find(constraint.over[0])][1].append(constraint)
    return list(groups.values())


def _solve_group(
    variables: list[Variable],
    constraints: list[Constraint],
    domains: dict[Variable, tuple[Json, ...]],
    budget: Budget,
    last: Variable | None,
) -> bool:
    order = _ordered(variables, constraints, domains)
    order.sort(key=lambda variable: variable is last)
    place = {variable: number for number, variable in enumerate(order)}
    due: list[list[Constraint]] = [[] for _ in order]
    touching: list[list[Constraint]] = [[] for _ in order]
    for constraint in constraints:
        # Those over one variable too: what other constraints suggest for it has not been narrowed.
        due[max(place[variable] for variable in constraint.over)].append(constraint)
        for variable in constraint.over if len(constraint.over) > 1 else ():
            touching[place[variable]].append(constraint)
    return _Search(order, domains, place, due, touching, budget).run(0)


def _ordered(variables: list[Variable], constraints: list[Constraint], domains: dict[Variable, tuple[Json, ...]]) -> list[Variable]:
    """Fewest candidates first, then always what is closest to completing a constraint: what depends on each other is tried together."""
    rest = sorted(variables, key=lambda variable: len(domains[variable]))
    order: list[Variable] = []
    while rest:
        missing = [sum(variable not in order for variable in each.over) for each in constraints]
        nearest = {
            variable: min(
                (count for each, count in zip(constraints, missing, strict=True) if variable in each.over and count < len(each.over)), default=len(rest) + 1
            )
            for variable in rest
        }
        order.append(min(rest, key=nearest.__getitem__))
        rest.remove(order[-1])
    return order


def _narrowed(variable: Variable, unary: list[Constraint], budget: Budget) -> tuple[Json, ...]:
    """The candidates that meet the constraints over this variable alone."""
    if not unary:
        return variable.domain
    passing = []
    for value in _distinct([*variable.domain, *_suggestions(variable, unary, (variable,))]):
        variable.assign(value)
        if not budget.spend():
            continue
        for constraint in unary:
            if not constraint.test():
                break
        else:
            passing.append(value)
    return tuple(passing)


@attrs.frozen(eq=False)
class _Search:
    order: list[Variable]
    domains: dict[Variable, tuple[Json, ...]]
    place: dict[Variable, int]
    due: list[list[Constraint]]
    touching: list[list[Constraint]]
    budget: Budget

    def run(self, number: int) -> bool:
        """Assign the variables from this place in the order on."""
        if number == len(self.order):
            return True
        variable, due = self.order[number], self.due[number]
        for value in self._candidates(number):
            if not self.budget.spend():
                return False
            variable.holder[variable.key] = value
            for constraint in due:
                if not constraint.test():
                    break
            else:
                if self.run(number + 1):
                    return True
        return False

    def _candidates(self, number: int) -> Iterator[Json]:
        """The domain and the suggestions, which are worked out only when they are needed."""
        variable, touching = self.order[number], self.touching[number]
        crowded = [each for each in touching if len(self._open(each, number)) > MANY]
        first = [value for each in crowded for value in _suggestions(variable, [each], self._open(each, number))]
        # Where one value for all open variables meets what is crowded, it goes before values that need luck further on.
        first.sort(key=lambda value: not all(self._meets(each, number, value) for each in crowded))
        yield from _distinct([*first, *self.domains[variable]])
        for each in touching:
            if each not in crowded:
                yield from _suggestions(variable, [each], self._open(each, number))

    def _meets(self, constraint: Constraint, number: int, value: Json) -> bool:
        for variable in self._open(constraint, number):
            variable.assign(value)
        return constraint.test()

    def _open(self, constraint: Constraint, number: int) -> tuple[Variable, ...]:
        return tuple(variable for variable in constraint.over if self.place[variable] >= number)


def _suggestions(variable: Variable, constraints: list[Constraint], opens: tuple[Variable, ...]) -> list[Json]:
    """Candidates that bring a constraint to its edge when all open variables take the same value, and the constraint's echoes."""
    wishes: list[Json] = []
    for constraint in constraints:
        for gap in constraint.gaps:
            wishes += _roots([_probe(gap, opens, value) for value in (0, 1, 2)])
        wishes += constraint.echoes()
    return _distinct([value for wish in wishes for value in variable.around(wish)])


def _probe(gap: Gap, opens: tuple[Variable, ...], value: int) -> float | None:
    for variable in opens:
        variable.assign(value)
    return gap()


def _roots(points: list[float | None]) -> list[float]:
    """Where the polynomial of degree at most two through (0, p), (1, q), (2, r) is zero."""
    p, q, r = points
    if p is None or q is None or r is None:
        return []
    a = (r - 2 * q + p) / 2
    b = q - p - a
    if a == 0:
        return [] if b == 0 else [-p / b]
    inside = b * b - 4 * a * p
    if inside < 0:
        return []
    return [(-b + math.sqrt(inside)) / (2 * a), (-b - math.sqrt(inside)) / (2 * a)]


def _distinct(values: Iterable[Json]) -> list[Json]:
    """Without repetitions, in order. Lists are compared by value; True and 1 are not the same."""
    return list({(type(value), str(value)): value for value in values}.values())
