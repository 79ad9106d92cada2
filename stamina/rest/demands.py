"""What a scene's variables must meet: conditions, results of effects, and what makes a world telling.

Conditions are asked of :mod:`stamina.rest.semantics` itself. Effects are followed symbolically, place by place, so that a result is a function of the
variables that it depends on and can be tested as soon as those have values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from typing import Final, TypeAlias

import attrs

from stamina.exchange import Json
from stamina.rest.backtracking import Constraint, Gap, Variable
from stamina.rest.candidates import GRAIN, distance, fits, fitting, tame
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
    OnThis,
    Operand,
    Quantified,
    Quantifier,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.questions import Question
from stamina.rest.reach import contradictory
from stamina.rest.scenes import Scene
from stamina.rest.schema import Field, FloatType, IntegerType
from stamina.rest.semantics import Object, arithmetic, compare, is_met, value_of

Pattern: TypeAlias = tuple[bool | None, ...]
"""For each item of a list, whether the sub-condition of a quantifier must hold for it; None leaves it open."""

MAX_PATTERNS: Final = 16
"""How many combinations of patterns are tried for one shape."""


def patterns(question: Question, scene: Scene) -> Iterator[dict[int, Pattern]]:
    """For each quantified condition, which items meet it: every combination worth trying, the most telling first."""
    choices = {
        index: _patterns(condition.quantifier, len(scene.behind[condition.list_field]), wanted=index != question.wish.unmet)
        for index, condition in enumerate(question.action.conditions)
        if isinstance(condition, Quantified)
    }
    for choice in itertools.islice(itertools.product(*choices.values()), MAX_PATTERNS):
        yield dict(zip(choices, choice, strict=True))


def _patterns(quantifier: Quantifier, size: int, *, wanted: bool) -> list[Pattern]:
    if (quantifier is Quantifier.ALL) is wanted:
        # All true, or any false: every item the same. An empty list is decided by the quantifier alone.
        return [(wanted,) * size]
    # Any true, or all false: one item decides. With the others against it, any and all differ.
    decisive = range(size - 1, -1, -1)
    lone: list[Pattern] = [tuple((number == one) is wanted for number in range(size)) for one in decisive]
    loose: list[Pattern] = [tuple(wanted if number == one else None for number in range(size)) for one in decisive]
    return list(dict.fromkeys(lone + loose))


def conditions_met(question: Question, scene: Scene, chosen: dict[int, Pattern]) -> list[Constraint]:
    """Every condition holds, except the one that is wished unmet; one that is wished on its edge may do either."""
    demands: list[Constraint] = []
    for index, condition in enumerate(question.action.conditions):
        wanted = index != question.wish.unmet
        if isinstance(condition, Quantified):
            items = zip(scene.behind[condition.list_field], chosen[index], strict=True)
            demands += [_condition(scene, condition.condition, wanted=each, item=item) for item, each in items if each is not None]
            if not scene.behind[condition.list_field]:
                demands.append(Constraint((), partial(_is, condition, scene, None, wanted)))
        elif question.wish.edge is not None and question.wish.edge[0] == index:
            demands.append(_on_edge(scene, condition, question.wish.edge[1]))
        else:
            demands.append(_condition(scene, condition, wanted=wanted))
    return demands


def impossible(question: Question, scene: Scene) -> bool:
    """Whether the bounds of the fields alone show that the conditions cannot be as wished in a scene of this shape."""
    wish, conditions = question.wish, question.action.conditions
    wanted = tuple((each, index != wish.unmet) for index, each in enumerate(conditions) if wish.edge is None or index != wish.edge[0])
    fields = question.fields_of()
    behind = {name: (len(items), fields[scene.seen.targets[name]]) for name, items in scene.behind.items()}
    return contradictory(wanted, fields[question.owner], behind)


def alone(question: Question, scene: Scene) -> list[Constraint]:
    """The conditions over the acting object's own scalar fields, which are the same in every shape."""
    shaped = scene.seen.targets
    kept = [(index, each) for index, each in enumerate(question.action.conditions) if not isinstance(each, Quantified) and not _reads(each, shaped)]
    return [_condition(scene, each, wanted=index != question.wish.unmet) for index, each in kept if question.wish.edge is None]


def _reads(condition: Comparison | NullCheck, shaped: Container[str]) -> bool:
    """Whether the condition depends on the acting object's references or lists."""
    operands = _operands(condition)
    return any(isinstance(each, Count | Sum) or (isinstance(each, FieldRef) and each.field in shaped) for each in operands)


def _condition(scene: Scene, condition: Comparison | NullCheck, *, wanted: bool, item: Object | None = None) -> Constraint:
    over = _variables(scene, _operands(condition), item)
    if isinstance(condition, NullCheck):
        return Constraint(over, partial(_is, condition, scene, item, wanted))
    left, right = _reader(condition.left, scene, item), _reader(condition.right, scene, item)
    return Constraint(over, partial(_is_tamely, left, condition.comparator, right, wanted), (lambda: distance(left(), right()),), lambda: (left(), right()))


def _on_edge(scene: Scene, condition: Condition, steps: int) -> Constraint:
    """The left side lies exactly so many steps above the right side."""
    if not isinstance(condition, Comparison):
        return Constraint((), lambda: False)
    over = _variables(scene, _operands(condition), None)
    left, right = _reader(condition.left, scene, None), _reader(condition.right, scene, None)
    by = steps * (GRAIN if any(isinstance(scene.field(each.holder, each.key).type, FloatType) for each in over) else 1)

    def gap() -> float | None:
        apart = distance(left(), right())
        return None if apart is None else apart - by

    return Constraint(over, lambda: gap() == 0 and tame(left()) and tame(right()), (gap,), lambda: (left(), right()))


def _operands(condition: Comparison | NullCheck) -> tuple[Operand | Literal, ...]:
    return (condition.operand,) if isinstance(condition, NullCheck) else (condition.left, condition.right)


def _variables(scene: Scene, operands: Iterable[Operand | Literal], item: Object | None) -> tuple[Variable, ...]:
    return _merged(scene.over(place, field) for operand in operands for place, field in _places(scene, operand, item))


def _places(scene: Scene, operand: Operand | Literal, item: Object | None) -> list[tuple[Object, str]]:
    match operand:
        case FieldRef():
            return [_place(scene, operand, item)]
        case Arithmetic(left, _, right):
            return [_place(scene, left, item), _place(scene, right, item)]
        case Sum(list_field, field):
            return [(each, field) for each in scene.behind[list_field]]
    return []


def _place(scene: Scene, operand: FieldRef, other: Object | None) -> tuple[Object, str]:
    place = scene.main if operand.subject is Subject.THIS or other is None else other
    return place, operand.field


def _merged(groups: Iterable[tuple[Variable, ...]]) -> tuple[Variable, ...]:
    return tuple(dict.fromkeys(variable for group in groups for variable in group))


def _reader(operand: Operand | Literal, scene: Scene, item: Object | None) -> Callable[[], Json]:
    """:func:`stamina.rest.semantics.value_of` of one operand in one scene, prepared for many values of its variables."""
    match operand:
        case Literal(value):
            return lambda: value
        case FieldRef() if _exists(operand, item):
            place, field = _place(scene, operand, item)
            return lambda: place[field]
        case Arithmetic(left, symbol, right) if _exists(left, item) and _exists(right, item):
            one, other = _reader(left, scene, item), _reader(right, scene, item)
            return lambda: arithmetic(one(), symbol, other())
    return partial(value_of, operand, scene.seen, item)


def _exists(operand: FieldRef, item: Object | None) -> bool:
    return operand.subject is Subject.THIS or item is not None


def _is(condition: Condition, scene: Scene, item: Object | None, wanted: bool) -> bool:  # noqa: FBT001  # bound by partial
    return is_met(condition, scene.seen, item) is wanted


def _is_tamely(left: Callable[[], Json], comparator: Comparator, right: Callable[[], Json], wanted: bool) -> bool:  # noqa: FBT001  # bound by partial
    one, other = left(), right()
    return compare(one, comparator, other) is wanted and tame(one) and tame(other)


@attrs.frozen(eq=False)
class _Term:
    """What a place holds at some point of the effects: a function of the variables it depends on."""

    over: tuple[Variable, ...]
    value: Callable[[], Json]


@attrs.frozen
class Demands:
    """What the effects ask for.

    Attributes:
        valid: results inside all constraints (B4, B5).
        telling: worlds in which every effect shows.
        shown: worlds in which the wished effect has something to write, and shows.
    """

    valid: tuple[Constraint, ...]
    telling: tuple[Constraint, ...]
    shown: tuple[Constraint, ...]


def effects_shown(question: Question, scene: Scene) -> Demands:
    """What must and what should hold for the effects to run in the scene."""
    trace = _Trace(scene)
    shown: list[Constraint] = []
    for index, effect in enumerate(question.action.effects):
        before = len(trace.telling), len(trace.computed)
        trace.run(effect)
        if index == question.wish.shown:
            shown = [*trace.telling[before[0] :], *trace.computed[before[1] :]] or [Constraint((), lambda: False)]
    return Demands(tuple(trace.valid), tuple(trace.telling), tuple(shown))


class _Trace:
    """Runs effects on terms. References of the acting object are followed as they stand, since effects only ever clear them (B3)."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._terms: dict[tuple[int, str], _Term] = {}
        self._behind = dict(scene.behind)
        self.valid: list[Constraint] = []
        self.telling: list[Constraint] = []
        self.computed: list[Constraint] = []

    def run(self, effect: Effect) -> None:
        subjects = [self._scene.main] if isinstance(effect.scope, OnThis) else self._behind[effect.scope.field]
        for subject in subjects:
            self._write(subject, effect)
        if isinstance(effect.assignment, SetTo) and self._scene.main in subjects and effect.target in self._behind:
            self._behind[effect.target] = []

    def _write(self, subject: Object, effect: Effect) -> None:
        before = self._term(subject, effect.target)
        field = self._scene.field(subject, effect.target)
        match effect.assignment:
            case SetTo(value):
                self._terms[id(subject), effect.target] = self._set(before, field, [] if value == () else value)
            case IncrementBy(amount):
                increment = _Term((), lambda: amount)
                self._terms[id(subject), effect.target] = self._compute(before, field, before, ArithmeticOperator.ADD, increment)
            case Compute(value):
                left, right = (self._term(*_place(self._scene, operand, subject)) for operand in (value.left, value.right))
                self._terms[id(subject), effect.target] = self._compute(before, field, left, value.operator, right)

    def _term(self, place: Object, field: str) -> _Term:
        return self._terms.get((id(place), field)) or _Term(self._scene.over(place, field), lambda: place[field])

    def _set(self, before: _Term, field: Field, value: Json) -> _Term:
        self.valid.append(Constraint((), lambda: value in (None, []) or fits(field, value)))
        self.telling.append(Constraint(before.over, lambda: before.value() not in (value, None)))
        return _Term((), lambda: value)

    def _compute(self, before: _Term, field: Field, left: _Term, symbol: ArithmeticOperator, right: _Term) -> _Term:
        def result() -> Json:
            computed = arithmetic(left.value(), symbol, right.value())
            return before.value() if computed is None else computed

        after = _Term(_merged((before.over, left.over, right.over)), result)
        self.valid.append(Constraint(after.over, partial(_lands, fitting(field), result), _room(field, result)))
        self.telling.append(Constraint(after.over, lambda: _tells(before.value(), left.value(), symbol, right.value(), result())))
        # Over the operands alone, so that it fails before the target, which matters little, has been tried with everything.
        both = _merged((left.over, right.over))
        self.computed.append(Constraint(both, lambda: _is_computed(fitting(field), arithmetic(left.value(), symbol, right.value())), _room(field, result)))
        return after


def _is_computed(fit: Callable[[Json], bool], value: Json) -> bool:
    return value is not None and fit(value)


def _lands(fit: Callable[[Json], bool], result: Callable[[], Json]) -> bool:
    value = result()
    return value is None or fit(value)


def _room(field: Field, result: Callable[[], Json]) -> tuple[Gap, ...]:
    """How far the result is from the middle and the ends of the target's range."""
    if not isinstance(field.type, IntegerType | FloatType):
        return ()
    low, high = field.type.minimum, field.type.maximum
    middle = None if low is None or high is None else (low + high) / 2
    return tuple(partial(_apart, result, mark) for mark in (middle, low, high) if mark is not None)


def _apart(result: Callable[[], Json], mark: float) -> float | None:
    return distance(result(), mark)


def _tells(before: Json, left: Json, symbol: ArithmeticOperator, right: Json, after: Json) -> bool:
    """Whether the effect changes something, and neither swapping the operands nor leaving one out comes to the same."""
    if before is None or left is None or right is None or after == before:
        return False
    if symbol is ArithmeticOperator.SUBTRACT and left == right:
        return False
    return after not in (left, right) or symbol is not ArithmeticOperator.MULTIPLY
