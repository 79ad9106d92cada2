"""Plays a suite against mutants and counts who is found out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import attrs

from stamina.domain import Handler
from stamina.draw import Draw
from stamina.rest.mutants.mutant import Ground, Mutant, Operator
from stamina.suite import Case, Suite, Target


@attrs.frozen
class Tally:
    """How the mutants of one operator fared in one turn. What is proven equivalent is counted apart and in no total."""

    killed: int = 0
    total: int = 0
    equivalent: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.killed + other.killed, self.total + other.total, self.equivalent + other.equivalent)


@attrs.frozen(eq=False)
class Measured:
    """What came of the mutants of one turn.

    Attributes:
        tallies: by the operator's name, for those that were tried.
        survivors: those that no case told from the truth and no proof excuses.
        reasons: why the equivalent ones are, with how many.
        refuted: mutants that were proven equivalent, and killed: the proof is wrong, or the suite is.
        useful: the names of the cases that killed a mutant.
    """

    tallies: dict[str, Tally]
    survivors: tuple[Mutant, ...]
    reasons: dict[str, int]
    refuted: tuple[tuple[Mutant, str], ...]
    useful: frozenset[str]


class Jury:
    """A suite in the order in which it is most likely to find a mutant out."""

    def __init__(self, suite: Suite) -> None:
        self._cases = suite.cases
        self._orders: dict[Target, Sequence[Case]] = {}

    def killer(self, mutant: Mutant) -> str | None:
        """The name of the first case that fails on the mutant, None when all pass."""
        handler = mutant.fault.build()
        return next((case.name for case in self._order(mutant.fault.target) if fails(case, handler)), None)

    def _order(self, target: Target) -> Sequence[Case]:
        """The cases of the target, then those of its entity, then all others."""
        if target not in self._orders:
            self._orders[target] = sorted(self._cases, key=lambda case: (case.target != target, case.target[1:2] != target[1:2]))
        return self._orders[target]


def fails(case: Case, handler: Handler) -> bool:
    """Whether some step of the case is not as expected."""
    return any(step.expect.judge(step.request, handler(step.request)) is not None for step in case.steps)


def measure(suite: Suite, mutants: Sequence[Mutant]) -> Measured:
    """Play the suite against each mutant, up to the first case that fails."""
    jury = Jury(suite)
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    reasons: defaultdict[str, int] = defaultdict(int)
    survivors, refuted, useful = list[Mutant](), list[tuple[Mutant, str]](), set[str]()
    for mutant in mutants:
        killer = jury.killer(mutant)
        reason = mutant.fault.equivalent or ("" if killer else mutant.fault.prove())
        tallies[mutant.operator.name] += Tally(0, 0, 1) if reason else Tally(int(killer is not None), 1)
        if reason:
            reasons[reason] += 1
        if reason and killer:
            refuted.append((mutant, killer))
        elif killer:
            useful.add(killer)
        elif not reason:
            survivors.append(mutant)
    return Measured(dict(tallies), tuple(survivors), dict(reasons), tuple(refuted), frozenset(useful))


def sample(operators: Sequence[Operator], ground: Ground, size: int, draw: Draw) -> list[Mutant]:
    """So many mutants of a state, as evenly over the operators as the numbers of their faults allow, by operator.

    Faults are looked for as they are needed, for some operators have many that take long to find.
    """
    waiting = [(operator, operator.drawn(ground, draw.at(operator.name))) for operator in operators]
    taken: defaultdict[str, list[Mutant]] = defaultdict(list)
    number = 0
    while waiting and size > 0:
        left = []
        # In another order each time, so that a small sample is not of the first operators alone.
        for operator, faults in draw.at("round", number).shuffled(waiting):
            fault = next(faults, None) if size > 0 else None
            if fault is not None:
                taken[operator.name].append(Mutant(operator, fault))
                left.append((operator, faults))
                size -= 1
        waiting, number = left, number + 1
    return [mutant for operator in operators for mutant in taken[operator.name]]
