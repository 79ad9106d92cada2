"""Operators on what an action does: effects, their order, their objects, the transition (B1, B3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from stamina.exchange import Json
from stamina.rest import testdata
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Compute,
    Effect,
    FieldRef,
    IncrementBy,
    LiteralValue,
    OnThis,
    SetTo,
    Subject,
)
from stamina.rest.mutants.acting import altered, each_action, replaced
from stamina.rest.mutants.mutant import Fault, Faults, Ground, operator
from stamina.rest.mutants.proofs import effect_without_force, effect_without_trace, unwritable
from stamina.rest.schema import Action, Entity, Field

Where = tuple[Entity, Action, int, Effect]


def each_effect(ground: Ground) -> Iterator[Where]:
    """Every effect with its action, entity and position."""
    for entity, action in each_action(ground):
        for index, effect in enumerate(action.effects):
            yield entity, action, index, effect


def target_field(ground: Ground, entity: Entity, effect: Effect) -> tuple[Entity, Field]:
    """The field that an effect writes, with its entity."""
    if isinstance(effect.scope, OnThis):
        return entity, entity.field(effect.target)
    target = ground.state.entity(entity.field(effect.scope.field).type.target)  # type: ignore[union-attr]
    return target, target.field(effect.target)


def read_field(ground: Ground, entity: Entity, effect: Effect, ref: FieldRef) -> Field:
    """The field that an operand of an effect reads."""
    return (entity if ref.subject is Subject.THIS else target_field(ground, entity, effect)[0]).field(ref.field)


def idle(ground: Ground, where: Where) -> str:
    """Why an effect, right as it is, never changes anything."""
    return effect_without_force(where[1], where[2]) or unwritable_effect(ground, where)


def unwritable_effect(ground: Ground, where: Where) -> str:
    """Why an effect writes nothing in a fair test where nothing has changed its operands before."""
    entity, _, _, effect = where
    value = effect.assignment.value if isinstance(effect.assignment, Compute) else None
    operands = () if value is None else tuple(read_field(ground, entity, effect, ref) for ref in (value.left, value.right))
    return unwritable(target_field(ground, entity, effect)[1], effect, operands)


def _with_effect(ground: Ground, where: Where, detail: str, *news: Effect, why: str = "") -> Fault:
    entity, action, index, _ = where
    why = why or effect_without_trace(action, index)
    return altered(ground, entity, action, f"effect {index + 1} {detail}", why, effects=replaced(action.effects, index, *news))


@operator("effect-dropped", "B3")
def effect_dropped(ground: Ground) -> Faults:
    """An effect does not take place."""
    for where in each_effect(ground):
        yield _with_effect(ground, where, "dropped", why=idle(ground, where))


@operator("effect-twice", "B3")
def effect_twice(ground: Ground) -> Faults:
    """An effect takes place twice."""
    for where in each_effect(ground):
        effect = where[3]
        if isinstance(effect.assignment, IncrementBy) or (isinstance(effect.assignment, Compute) and _reads_itself(effect)):
            yield _with_effect(ground, where, "twice", effect, effect, why=idle(ground, where))


def _reads_itself(effect: Effect) -> bool:
    assert isinstance(effect.assignment, Compute)
    own = Subject.THIS if isinstance(effect.scope, OnThis) else Subject.OTHER
    value = effect.assignment.value
    return any(ref.field == effect.target and ref.subject is own for ref in (value.left, value.right))


@operator("effect-literal-wrong", "B3")
def effect_literal_wrong(ground: Ground) -> Faults:
    """An effect stores another literal."""
    for where in each_effect(ground):
        entity, _, _, effect = where
        if isinstance(effect.assignment, SetTo) and effect.assignment.value not in (None, ()):
            other = _another(target_field(ground, entity, effect)[1], effect.assignment.value)
            yield _with_effect(ground, where, f"stores {other!r}", attrs.evolve(effect, assignment=SetTo(other)))


def _another(field: Field, value: LiteralValue) -> Json:
    """A value of the field that is not this one."""
    return not value if isinstance(value, bool) else testdata.different(attrs.evolve(field, default=None), 3, value)


@operator("increment-off", "B3")
def increment_off(ground: Ground) -> Faults:
    """An increment adds another number."""
    for where in each_effect(ground):
        effect = where[3]
        if isinstance(effect.assignment, IncrementBy):
            amount = effect.assignment.amount
            for wrong in (-amount, amount + 1):
                why = idle(ground, where)
                yield _with_effect(ground, where, f"adds {wrong}", attrs.evolve(effect, assignment=IncrementBy(wrong)), why=why)


@operator("increment-sets", "B3")
def increment_sets(ground: Ground) -> Faults:
    """An increment stores its number instead of adding it."""
    for where in each_effect(ground):
        effect = where[3]
        if isinstance(effect.assignment, IncrementBy):
            yield _with_effect(ground, where, "stores its amount", attrs.evolve(effect, assignment=SetTo(effect.assignment.amount)))


@operator("arithmetic-operator", "B3")
def arithmetic_operator(ground: Ground) -> Faults:
    """Arithmetic in an effect uses another operator."""
    for where, value in _computations(ground):
        for symbol in ArithmeticOperator:
            if symbol is not value.operator:
                why = idle(ground, where)
                yield _with_effect(ground, where, f"with {symbol}", attrs.evolve(where[3], assignment=Compute(attrs.evolve(value, operator=symbol))), why=why)


@operator("arithmetic-turned", "B3")
def arithmetic_turned(ground: Ground) -> Faults:
    """A subtraction is turned round."""
    for where, value in _computations(ground):
        if value.operator is ArithmeticOperator.SUBTRACT:
            turned = Arithmetic(value.right, value.operator, value.left)
            why = "B3: both operands are the same field" if value.left == value.right else idle(ground, where)
            yield _with_effect(ground, where, "turned round", attrs.evolve(where[3], assignment=Compute(turned)), why=why)


@operator("arithmetic-subject", "B3")
def arithmetic_subject(ground: Ground) -> Faults:
    """An operand is read from the acting object instead of the one written, or the other way round."""
    for where, value in _computations(ground):
        entity, action, index, effect = where
        owner, _ = target_field(ground, entity, effect)
        if isinstance(effect.scope, OnThis):
            continue
        for side in ("left", "right"):
            ref = getattr(value, side)
            other, source = (Subject.OTHER, owner) if ref.subject is Subject.THIS else (Subject.THIS, entity)
            same = source.find_field(ref.field)
            before = (entity if ref.subject is Subject.THIS else owner).field(ref.field)
            if same is not None and type(same.type) is type(before.type):
                swapped = attrs.evolve(effect, assignment=Compute(attrs.evolve(value, **{side: attrs.evolve(ref, subject=other)})))
                wrongly = attrs.evolve(action, effects=replaced(action.effects, index, swapped))
                why = idle(ground, where) if idle(ground, (entity, wrongly, index, swapped)) else ""
                yield _with_effect(ground, where, f"reads {ref.field} elsewhere", swapped, why=why)


def _computations(ground: Ground) -> Iterator[tuple[Where, Arithmetic]]:
    for where in each_effect(ground):
        if isinstance(where[3].assignment, Compute):
            yield where, where[3].assignment.value


OPERATORS: Final = (
    effect_dropped,
    effect_twice,
    effect_literal_wrong,
    increment_off,
    increment_sets,
    arithmetic_operator,
    arithmetic_turned,
    arithmetic_subject,
)
