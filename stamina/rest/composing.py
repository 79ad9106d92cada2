"""New conditions, effects and actions for the sampler.

A form is chosen first, uniformly among those that the entity's fields allow, then its parts. So every form of :mod:`stamina.rest.expressions` occurs
regularly, whatever the fields are. What comes out is well typed; whether an action can be exercised with it (B5) is for the state to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from typing import Final, TypeAlias

import attrs

from stamina.draw import Draw
from stamina.rest.expression_rules import ORDER, can_be_absent
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Assignment,
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
    OnEach,
    OnReference,
    OnThis,
    Quantified,
    Quantifier,
    Scope,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.inventing import value
from stamina.rest.names import action_name, taken_by
from stamina.rest.schema import (
    Action,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
)

Form: TypeAlias = Callable[[Draw], Condition]
SimpleForm: TypeAlias = Callable[[Draw], Comparison | NullCheck]

_COMPARATORS: Final = tuple(Comparator)
_EQUALITY: Final = (Comparator.EQ, Comparator.NE)
_ORDERED: Final = (IntegerType, FloatType, DatetimeType)
_NUMERIC: Final = (IntegerType, FloatType)
_REFERENCES: Final = (ReferenceType, ReferenceListType)
_MODEST: Final = 100_000
"""Literals that stand against a computed operand stay within plus and minus this, far from the limits of V8."""


def condition(draw: Draw, state: State, entity: Entity) -> Condition | None:
    """A new condition for an action of ``entity``; None when its fields allow none."""
    forms = list(_forms(state, entity))
    return draw.pick(forms)(draw) if forms else None


def effect(draw: Draw, state: State, entity: Entity, action: Action) -> Effect | None:
    """A new effect for ``action``; None when the fields within reach allow none."""
    scopes = _scopes(entity, action)
    kind = draw.pick(sorted({type(scope).__name__ for scope in scopes}))
    scope = draw.pick([scope for scope in scopes if type(scope).__name__ == kind])
    written = entity if isinstance(scope, OnThis) else state.entity(_target(entity.field(scope.field)))
    targets = _targets(draw, entity, written, action, scope)
    assignments = list(_assignments(entity, written, scope, targets))
    if not assignments:
        return None
    target, assignment = draw.pick(assignments)(draw)
    return Effect(target.name, assignment, scope)


def action(draw: Draw, state: State, entity: Entity) -> Action | None:
    """A new action with up to two conditions and up to two effects; None when ``entity`` has no enum field."""
    enums = [field for field in entity.fields if isinstance(field.type, EnumType)]
    if not enums:
        return None
    field = draw.pick(enums)
    assert isinstance(field.type, EnumType)
    values = draw.shuffled(field.type.values)
    many = len(values) if draw.chance(0.1) else draw.integer(1, max(1, len(values) - 2))
    made = Action(action_name(draw, taken_by(entity)), field.name, tuple(values[:many]), values[-1])
    for _ in range(draw.integer(0, 2)):
        made = _with_condition(made, condition(draw, state, entity))
    for _ in range(draw.integer(0, 2)):
        made = _with_effect(made, effect(draw, state, entity, made))
    return made


def _with_condition(action: Action, new: Condition | None) -> Action:
    if new is None or new in action.conditions:
        return action
    return attrs.evolve(action, conditions=(*action.conditions, new))


def _with_effect(action: Action, new: Effect | None) -> Action:
    if new is None or new in action.effects:
        return action
    return attrs.evolve(action, effects=(*action.effects, new))


def _target(field: Field) -> str:
    assert isinstance(field.type, ReferenceType | ReferenceListType)
    return field.type.target


def _forms(state: State, entity: Entity) -> Iterator[Form]:
    yield from _simple_forms(entity, Subject.THIS)
    pairs = list(permutations(_of(entity, _NUMERIC), 2))
    if pairs:
        yield partial(_computed_with_literal, pairs)
    triples = list(_triples(_of(entity, _NUMERIC)))
    if triples:
        yield partial(_computed_with_field, triples)
    lists = _of(entity, (ReferenceListType,))
    if not lists:
        return
    yield partial(_count, lists)
    sums = [(field, item) for field in lists for item in _of(state.entity(_target(field)), _NUMERIC)]
    if sums:
        yield partial(_sum, sums)
    inner = [(field, form) for field in lists for form in _simple_forms(state.entity(_target(field)), Subject.OTHER)]
    if inner:
        for quantifier in Quantifier:
            yield partial(_quantified, quantifier, inner)


def _simple_forms(entity: Entity, subject: Subject) -> Iterator[SimpleForm]:
    plain = [field for field in entity.fields if not isinstance(field.type, _REFERENCES)]
    if plain:
        yield partial(_with_literal, plain, subject)
    pairs = [(left, right) for left in plain for right in plain if _comparable(left, right)]
    if pairs:
        yield partial(_with_field, pairs, subject)
    absent = [field for field in entity.fields if can_be_absent(field)]
    if absent:
        yield partial(_null_check, absent, subject)


def _of(entity: Entity, kinds: tuple[type, ...]) -> list[Field]:
    return [field for field in entity.fields if isinstance(field.type, kinds)]


def _comparable(left: Field, right: Field) -> bool:
    return left is not right and type(left.type) is type(right.type) and not isinstance(left.type, EnumType)


def _comparator(draw: Draw, field: Field) -> Comparator:
    return draw.pick(_COMPARATORS if isinstance(field.type, _ORDERED) else _EQUALITY)


def _with_literal(fields: list[Field], subject: Subject, draw: Draw) -> Comparison:
    field = draw.pick(fields)
    assert not isinstance(field.type, ReferenceType | ReferenceListType)
    return Comparison(FieldRef(field.name, subject), _comparator(draw, field), Literal(value(draw, field.type)))


def _with_field(pairs: list[tuple[Field, Field]], subject: Subject, draw: Draw) -> Comparison:
    left, right = draw.pick(pairs)
    return Comparison(FieldRef(left.name, subject), _comparator(draw, left), FieldRef(right.name, subject))


def _null_check(fields: list[Field], subject: Subject, draw: Draw) -> NullCheck:
    return NullCheck(FieldRef(draw.pick(fields).name, subject), is_null=draw.chance(0.5))


def _arithmetic(draw: Draw, left: Field, right: Field, subjects: tuple[Subject, Subject] = (Subject.THIS, Subject.THIS)) -> Arithmetic:
    return Arithmetic(FieldRef(left.name, subjects[0]), draw.pick(tuple(ArithmeticOperator)), FieldRef(right.name, subjects[1]))


def _computed_with_literal(pairs: list[tuple[Field, Field]], draw: Draw) -> Comparison:
    left, right = draw.pick(pairs)
    operand = _arithmetic(draw, left, right)
    return Comparison(operand, draw.pick(_COMPARATORS), Literal(_result(draw, left, operand.operator, right)))


def _result(draw: Draw, left: Field, operator: ArithmeticOperator, right: Field) -> int | float:
    """What the operation gives for modest values of both fields, so that it can be more and less."""
    first, second = _number(draw, left), _number(draw, right)
    match operator:
        case ArithmeticOperator.ADD:
            result = first + second
        case ArithmeticOperator.SUBTRACT:
            result = first - second
        case ArithmeticOperator.MULTIPLY:
            result = first * second
    return max(-_MODEST, min(_MODEST, result)) if isinstance(result, int) else max(-float(_MODEST), min(float(_MODEST), result))


def _number(draw: Draw, field: Field) -> int | float:
    assert isinstance(field.type, IntegerType | FloatType)
    number = value(draw, field.type)
    assert isinstance(number, int | float)
    return number


def _triples(numeric: list[Field]) -> Iterator[tuple[Field, Field, Field]]:
    """Two operands and a third field to compare the result with: an integer field when both are integers, else a float field."""
    for left, right, third in permutations(numeric, 3):
        integers = isinstance(left.type, IntegerType) and isinstance(right.type, IntegerType)
        if isinstance(third.type, IntegerType) is integers:
            yield left, right, third


def _computed_with_field(triples: list[tuple[Field, Field, Field]], draw: Draw) -> Comparison:
    left, right, third = draw.pick(triples)
    return Comparison(_arithmetic(draw, left, right), draw.pick(_COMPARATORS), FieldRef(third.name))


def _count(lists: list[Field], draw: Draw) -> Comparison:
    comparator, limit = draw.pick(
        ((Comparator.GT, 0), (Comparator.GE, 1), (Comparator.GE, 2), (Comparator.LT, 3), (Comparator.LE, 2), (Comparator.EQ, 1), (Comparator.NE, 0))
    )
    return Comparison(Count(draw.pick(lists).name), comparator, Literal(limit))


def _sum(pairs: list[tuple[Field, Field]], draw: Draw) -> Comparison:
    field, item = draw.pick(pairs)
    total = _number(draw, item) * draw.integer(1, 2)
    return Comparison(Sum(field.name, item.name), draw.pick(tuple(comparator for comparator in _COMPARATORS if comparator in ORDER)), Literal(total))


def _quantified(quantifier: Quantifier, inner: list[tuple[Field, SimpleForm]], draw: Draw) -> Quantified:
    field, form = draw.pick(inner)
    return Quantified(quantifier, field.name, form(draw))


def _scopes(entity: Entity, action: Action) -> list[Scope]:
    """Where an effect may write; not through a reference that an effect before it clears."""
    cleared = {effect.target for effect in action.effects if isinstance(effect.assignment, SetTo)}
    scopes: list[Scope] = [OnThis()]
    for field in entity.fields:
        if isinstance(field.type, ReferenceType) and field.name not in cleared:
            scopes.append(OnReference(field.name))
        elif isinstance(field.type, ReferenceListType) and field.name not in cleared:
            scopes.append(OnEach(field.name))
    return scopes


def _targets(draw: Draw, entity: Entity, written: Entity, action: Action, scope: Scope) -> list[Field]:
    """What an effect may write; mostly what no effect before it writes, so that effects show, and now and then what one does, so that their order shows."""
    targets = [field for field in written.fields if written is not entity or field.name != action.enum_field]
    before = {effect.target for effect in action.effects if effect.scope == scope}
    fresh = [field for field in targets if field.name not in before]
    return fresh if fresh and draw.chance(0.75) else targets


AssignmentForm: TypeAlias = Callable[[Draw], tuple[Field, Assignment]]


def _assignments(entity: Entity, written: Entity, scope: Scope, targets: list[Field]) -> Iterator[AssignmentForm]:
    plain = [field for field in targets if not isinstance(field.type, _REFERENCES)]
    if plain:
        yield partial(_set_value, plain)
    nullable = [field for field in targets if field.nullable]
    if nullable:
        yield partial(_set_fixed, nullable, SetTo(None))
    lists = [field for field in targets if isinstance(field.type, ReferenceListType)]
    if lists:
        yield partial(_set_fixed, lists, SetTo(()))
    numeric = [field for field in targets if isinstance(field.type, _NUMERIC)]
    if numeric:
        yield partial(_increment, numeric)
    computed = [(target, left, right) for target in numeric for left, right in _operands(entity, written, scope, target)]
    if computed:
        yield partial(_compute, computed)


Operands: TypeAlias = tuple[tuple[Field, Subject], tuple[Field, Subject]]


def _operands(entity: Entity, written: Entity, scope: Scope, target: Field) -> Iterator[Operands]:
    """The pairs of operands that a computed effect on ``target`` may have (B3)."""
    readable = [(field, Subject.THIS) for field in _of(entity, _NUMERIC)]
    if not isinstance(scope, OnThis):
        readable += [(field, Subject.OTHER) for field in _of(written, _NUMERIC)]
    if isinstance(scope, OnEach):
        readable = [(field, subject) for field, subject in readable if field is not target]
    if isinstance(target.type, IntegerType):
        readable = [(field, subject) for field, subject in readable if isinstance(field.type, IntegerType)]
    return permutations(readable, 2)


def _set_value(fields: list[Field], draw: Draw) -> tuple[Field, Assignment]:
    field = draw.pick(fields)
    assert not isinstance(field.type, ReferenceType | ReferenceListType)
    return field, SetTo(value(draw, field.type))


def _set_fixed(fields: list[Field], assignment: SetTo, draw: Draw) -> tuple[Field, Assignment]:
    return draw.pick(fields), assignment


def _increment(fields: list[Field], draw: Draw) -> tuple[Field, Assignment]:
    field = draw.pick(fields)
    amount = draw.integer(1, 5) * draw.pick((1, 1, -1))
    return field, IncrementBy(amount if isinstance(field.type, IntegerType) else amount / 2)


def _compute(choices: list[tuple[Field, tuple[Field, Subject], tuple[Field, Subject]]], draw: Draw) -> tuple[Field, Assignment]:
    target, (left, left_subject), (right, right_subject) = draw.pick(choices)
    return target, Compute(_arithmetic(draw, left, right, (left_subject, right_subject)))
