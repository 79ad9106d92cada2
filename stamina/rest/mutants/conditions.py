"""Operators on the conditions of an action (B2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import attrs

from stamina.exchange import Json
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
    Quantified,
    Quantifier,
    Subject,
    Sum,
)
from stamina.rest.mentions import compared_fields
from stamina.rest.mutants.acting import Acting, action_fault, altered, each_action, replaced
from stamina.rest.mutants.edges import no_difference
from stamina.rest.mutants.flawed import flawed
from stamina.rest.mutants.mutant import Fault, Faults, Ground, operator
from stamina.rest.mutants.nulls import never_null
from stamina.rest.mutants.proofs import NEVER_NULL, NULL_IS_WRONG_STATE, any_is_all, apart, at_most_one, each_meets, never_empty, never_equal
from stamina.rest.schema import Action, Entity, Field, State
from stamina.rest.semantics import Refusal, View, is_met, value_of
from stamina.rest.testdata import UNIT, step_datetime
from stamina.rest.values import is_instant, may_be_null

AT_EQUALITY: Final = {Comparator.LT: Comparator.LE, Comparator.LE: Comparator.LT, Comparator.GT: Comparator.GE, Comparator.GE: Comparator.GT}


def _each_condition(ground: Ground) -> Iterator[tuple[Entity, Action, int, Condition]]:
    for entity, action in each_action(ground):
        for index, condition in enumerate(action.conditions):
            yield entity, action, index, condition


def _with_condition(ground: Ground, where: tuple[Entity, Action, int, Condition], detail: str, new: Condition | None, why: str = "") -> Fault:
    entity, action, index, _ = where
    conditions = replaced(action.conditions, index, *(() if new is None else (new,)))
    return altered(ground, entity, action, f"condition {index + 1} {detail}", why, conditions=conditions)


@operator("condition-dropped", "B2")
def condition_dropped(ground: Ground) -> Faults:
    """A condition is not checked."""
    for where in _each_condition(ground):
        yield _with_condition(ground, where, "dropped", None)


@operator("condition-negated", "B2")
def condition_negated(ground: Ground) -> Faults:
    """A condition is negated."""
    yield from _inner(ground, "negated", _negated)


@operator("comparison-at-equality", "B2")
def comparison_at_equality(ground: Ground) -> Faults:
    """A comparison is wrong when both sides are equal."""
    yield from _inner(ground, _AT_EQUALITY, _at_equality)


@operator("comparison-literal-off", "B2")
def comparison_literal_off(ground: Ground) -> Faults:
    """The literal of a comparison is off by one."""
    for step in (-1, 1):
        yield from _inner(ground, f"literal off by {step}", lambda inner, step=step: _literal_off(inner, step))  # type: ignore[misc]


@operator("comparison-operator-swapped", "B2")
def comparison_operator_swapped(ground: Ground) -> Faults:
    """Arithmetic in a condition uses another operator."""
    for where in _each_condition(ground):
        condition = where[3]
        if isinstance(condition, Comparison) and isinstance(condition.left, Arithmetic):
            for symbol in ArithmeticOperator:
                if symbol is not condition.left.operator:
                    yield _with_condition(ground, where, f"with {symbol}", attrs.evolve(condition, left=attrs.evolve(condition.left, operator=symbol)))


@operator("quantifier-swapped", "B2")
def quantifier_swapped(ground: Ground) -> Faults:
    """Any for every, or every for any."""
    for where in _each_condition(ground):
        condition = where[3]
        if isinstance(condition, Quantified):
            other = Quantifier.ALL if condition.quantifier is Quantifier.ANY else Quantifier.ANY
            why = any_is_all(where[1], where[2])
            yield _with_condition(ground, where, f"{other} for {condition.quantifier}", attrs.evolve(condition, quantifier=other), why)


def _inner(ground: Ground, detail: str, change: Callable[[Comparison | NullCheck], Comparison | NullCheck | None]) -> Iterator[Fault]:
    """The faults in a comparison or null check, inside a quantifier too."""
    for where in _each_condition(ground):
        condition = where[3]
        inner = condition.condition if isinstance(condition, Quantified) else condition
        new = change(inner)
        if new is None:
            continue
        if isinstance(condition, Quantified):
            why = _apart(ground, where[0], condition) if detail == _AT_EQUALITY else ""
            yield _with_condition(ground, where, detail, attrs.evolve(condition, condition=new), why)
        else:
            fault = _with_condition(ground, where, detail, new)
            yield attrs.evolve(fault, prove=partial(_no_edge, *where[:3], new, fault.prove)) if isinstance(new, Comparison) else fault


_AT_EQUALITY: Final = "wrong at equality"


def _apart(ground: Ground, entity: Entity, condition: Quantified) -> str:
    """Why the two fields of the objects in a list that a condition compares are never equal."""
    target = ground.state.entity(entity.field(condition.list_field).type.target)  # type: ignore[union-attr]
    match condition.condition:
        case Comparison(FieldRef(one, Subject.OTHER), _, FieldRef(two, Subject.OTHER)):
            return apart(target.field(one), target.field(two))
        case _:
            return ""


def _no_edge(entity: Entity, action: Action, index: int, wrong: Comparison, otherwise: Callable[[], str]) -> str:
    """Why a comparison that is wrong at its edge alone cannot be told from the right one; ``otherwise`` is asked last."""
    right = action.conditions[index]
    at_equality = isinstance(right, Comparison) and AT_EQUALITY.get(right.comparator) is wrong.comparator
    if at_equality and isinstance(wrong.left, FieldRef) and isinstance(wrong.right, FieldRef):
        return never_equal(action, index) or apart(entity.field(wrong.left.field), entity.field(wrong.right.field)) or otherwise()
    return no_difference(entity, action, index, wrong) or otherwise()


def _negated(condition: Comparison | NullCheck) -> Comparison | NullCheck:
    if isinstance(condition, NullCheck):
        return attrs.evolve(condition, is_null=not condition.is_null)
    return attrs.evolve(condition, comparator=condition.comparator.opposite)


def _at_equality(condition: Comparison | NullCheck) -> Comparison | None:
    if isinstance(condition, NullCheck) or condition.comparator not in AT_EQUALITY:
        return None
    return attrs.evolve(condition, comparator=AT_EQUALITY[condition.comparator])


def _literal_off(condition: Comparison | NullCheck, step: int) -> Comparison | None:
    if isinstance(condition, NullCheck) or not isinstance(condition.right, Literal):
        return None
    value = condition.right.value
    moved: Json = None
    if isinstance(value, float):
        moved = value + step * UNIT
    elif type(value) is int:
        moved = value + step
    elif isinstance(value, str) and is_instant(value):
        moved = step_datetime(value, step)
    return None if moved is None else attrs.evolve(condition, right=Literal(moved))


class _Judging(Acting):
    """Decides on the conditions of one action in another way."""

    def __init__(self, state: State, entity: str, member: str, judge: Callable[[Action, View], bool]) -> None:
        super().__init__(state, entity, member)
        self._judge = judge

    def _refusal(self, action: Action, seen: View) -> Refusal | None:
        if not self._mine or seen.this[action.enum_field] not in action.from_values:
            return super()._refusal(action, seen)
        return None if self._judge(action, seen) else Refusal.UNMET_CONDITION


def _judging(ground: Ground, detail: str, judge: Callable[[Action, View], bool], applies: Callable[[Entity, Action], bool]) -> Iterator[Fault]:
    for entity, action in each_action(ground):
        if applies(entity, action):
            yield action_fault(entity, action, detail, flawed(_Judging, ground.state, entity.name, action.name, judge))


@operator("conditions-ored", "B2")
def conditions_ored(ground: Ground) -> Faults:
    """One condition that holds is enough."""

    def judge(action: Action, seen: View) -> bool:
        return any(is_met(condition, seen) for condition in action.conditions)

    yield from _judging(ground, "conditions joined by OR", judge, lambda _, action: len(action.conditions) > 1)


@operator("null-compares", "B2")
def null_compares(ground: Ground) -> Faults:
    """A comparison with a null operand holds, if it is !=."""
    for where in _each_condition(ground):
        entity, action, index, condition = where
        if isinstance(condition, Comparison) and condition.comparator is Comparator.NE and _operands_may_be_null(entity, condition):

            def judge(action: Action, seen: View, mine: Condition = condition) -> bool:
                return all(is_met(each, seen) or (each is mine and _null_operand(each, seen)) for each in action.conditions)

            build = flawed(_Judging, ground.state, entity.name, action.name, judge)
            others = never_null(attrs.evolve(action, conditions=replaced(action.conditions, index)), 0)
            nullable = {name for name in compared_fields(condition) if may_be_null(entity.field(name))}
            why = NULL_IS_WRONG_STATE if nullable == {action.enum_field} else ""
            if nullable <= others | {action.enum_field} and not why:
                why = NEVER_NULL.format(f"this.{min(nullable & others)}")
            yield action_fault(entity, action, f"condition {index + 1} holds for null", build, why)


@operator("null-operand-crashes-condition", "B2")
def null_operand_crashes_condition(ground: Ground) -> Faults:
    """A comparison with a null operand is answered with 500."""
    for where in _each_condition(ground):
        entity, action, index, condition = where
        if isinstance(condition, Comparison) and _operands_may_be_null(entity, condition):

            def judge(action: Action, seen: View, mine: Comparison = condition) -> bool:
                if _null_operand(mine, seen):
                    raise TypeError("an operand is null")
                return all(is_met(each, seen) for each in action.conditions)

            build = flawed(_Judging, ground.state, entity.name, action.name, judge)
            nullable = {name for name in compared_fields(condition) if may_be_null(entity.field(name))}
            why = NULL_IS_WRONG_STATE if nullable == {action.enum_field} else ""
            yield action_fault(entity, action, f"condition {index + 1} crashes on null", build, why)


def _null_operand(condition: Condition, seen: View) -> bool:
    return isinstance(condition, Comparison) and (value_of(condition.left, seen) is None or value_of(condition.right, seen) is None)


def _operands_may_be_null(entity: Entity, condition: Comparison) -> bool:
    return any(may_be_null(entity.field(name)) for name in compared_fields(condition))


@operator("list-nulls-crash", "B2")
def list_nulls_crash(ground: Ground) -> Faults:
    """A sum over a list with a null is answered with 500."""
    for where in _each_condition(ground):
        entity, action, index, condition = where
        if isinstance(condition, Comparison) and isinstance(condition.left, Sum) and may_be_null(_listed_field(ground, entity, condition.left)):

            def judge(action: Action, seen: View, total: Sum = condition.left) -> bool:
                if any(each[total.field] is None for each in seen.listed(total.list_field)):
                    raise TypeError("a null among the numbers")
                return all(is_met(each, seen) for each in action.conditions)

            build = flawed(_Judging, ground.state, entity.name, action.name, judge)
            yield action_fault(entity, action, f"condition {index + 1} crashes on a null in the list", build)


def _listed_field(ground: Ground, entity: Entity, total: Sum) -> Field:
    target = entity.field(total.list_field).type.target  # type: ignore[union-attr]
    return ground.state.entity(target).field(total.field)


@operator("sum-as-count", "B2")
def sum_as_count(ground: Ground) -> Faults:
    """A sum over a list counts its objects."""
    for where in _each_condition(ground):
        condition = where[3]
        if isinstance(condition, Comparison) and isinstance(condition.left, Sum):
            yield _with_condition(ground, where, "counts instead of adding up", attrs.evolve(condition, left=Count(condition.left.list_field)))


@operator("empty-list-fails", "B2")
def empty_list_wrong(ground: Ground) -> Faults:
    """Every over an empty list does not hold, or any does."""
    for where in _each_condition(ground):
        entity, action, index, condition = where
        if isinstance(condition, Quantified):

            def judge(action: Action, seen: View, mine: Quantified = condition) -> bool:
                empty = not seen.listed(mine.list_field)
                return all(is_met(each, seen) is not (each is mine and empty) for each in action.conditions)

            build = flawed(_Judging, ground.state, entity.name, action.name, judge)
            rest = attrs.evolve(action, conditions=replaced(action.conditions, index))
            yield action_fault(entity, action, f"condition {index + 1} is wrong for an empty list", build, never_empty(rest, condition.list_field))


@operator("first-item-only", "B2")
def first_item_only(ground: Ground) -> Faults:
    """A condition over a list looks at its first object alone."""
    for where in _each_condition(ground):
        entity, action, index, condition = where
        if isinstance(condition, Quantified):

            def judge(action: Action, seen: View, mine: Quantified = condition) -> bool:
                first = View({**seen.this, mine.list_field: seen.this[mine.list_field][:1]}, seen.store, seen.targets)
                return all(is_met(each, first if each is mine else seen) for each in action.conditions)

            build = flawed(_Judging, ground.state, entity.name, action.name, judge)
            why = at_most_one(action, condition.list_field) or each_meets(action, index)
            yield action_fault(entity, action, f"condition {index + 1} looks at one object", build, why)


OPERATORS: Final = (
    condition_dropped,
    condition_negated,
    comparison_at_equality,
    comparison_literal_off,
    comparison_operator_swapped,
    quantifier_swapped,
    conditions_ored,
    null_compares,
    null_operand_crashes_condition,
    list_nulls_crash,
    sum_as_count,
    empty_list_wrong,
    first_item_only,
)
