"""Which fields a condition or an effect mentions, and the same expression under another name of a field.

One walk serves both: it rebuilds the expression through a function from field to name, which may as well only take notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import attrs

from stamina.rest.expressions import (
    Arithmetic,
    Assignment,
    Comparison,
    Compute,
    Condition,
    Count,
    Effect,
    FieldRef,
    Literal,
    NullCheck,
    OnEach,
    OnReference,
    OnThis,
    Operand,
    Quantified,
    Scope,
    Subject,
    Sum,
)
from stamina.rest.schema import Action, Entity, ReferenceListType, ReferenceType, State

FieldName: TypeAlias = tuple[str, str]
"""Entity and field."""

Naming: TypeAlias = Callable[[FieldName], str]
"""From a field as it is mentioned to the name that it has afterwards."""


def target_of(entity: Entity, field: str) -> str:
    """The entity that a reference or reference list points to. Raises KeyError when it is neither."""
    kind = entity.field(field).type
    if isinstance(kind, ReferenceType | ReferenceListType):
        return kind.target
    raise KeyError(f"{entity.name}.{field} is no reference")


def referring_fields(state: State, target: str) -> tuple[FieldName, ...]:
    """The references and lists of all other entities that point to ``target``."""
    return tuple(
        (entity.name, field.name)
        for entity in state.entities
        if entity.name != target
        for field in entity.fields
        if isinstance(field.type, ReferenceType | ReferenceListType) and field.type.target == target
    )


def mentioned_by_condition(entity: Entity, condition: Condition) -> tuple[FieldName, ...]:
    """The fields that a condition of an action of ``entity`` mentions, in reading order."""
    notes: list[FieldName] = []
    _condition(entity, condition, _note_in(notes))
    return tuple(notes)


def compared_fields(condition: Condition) -> Iterator[str]:
    """The fields whose own values a condition compares or asks for null, in reading order; none for one about a list."""
    sides = (condition.left, condition.right) if isinstance(condition, Comparison) else (condition.operand,) if isinstance(condition, NullCheck) else ()
    return (ref.field for side in sides for ref in fields_in(side))


def fields_in(operand: Operand | Literal) -> tuple[FieldRef, ...]:
    """The fields whose values an operand reads, in reading order; none for a constant, and none for what it reads of a list."""
    match operand:
        case FieldRef():
            return (operand,)
        case Arithmetic(left, _, right):
            return left, right
        case _:
            return ()


def mentioned_by_effect(entity: Entity, effect: Effect) -> tuple[FieldName, ...]:
    """The fields that an effect of an action of ``entity`` mentions, in reading order."""
    notes: list[FieldName] = []
    _effect(entity, effect, _note_in(notes))
    return tuple(notes)


def mentioned_by_action(entity: Entity, action: Action) -> frozenset[FieldName]:
    """Every field that an action of ``entity`` mentions, its enum field included."""
    notes: list[FieldName] = [(entity.name, action.enum_field)]
    naming = _note_in(notes)
    for condition in action.conditions:
        _condition(entity, condition, naming)
    for effect in action.effects:
        _effect(entity, effect, naming)
    return frozenset(notes)


def renamed(entity: Entity, action: Action, naming: Naming) -> Action:
    """The action with every field called what ``naming`` says."""
    return attrs.evolve(
        action,
        enum_field=naming((entity.name, action.enum_field)),
        conditions=tuple(_condition(entity, condition, naming) for condition in action.conditions),
        effects=tuple(_effect(entity, effect, naming) for effect in action.effects),
    )


def _note_in(notes: list[FieldName]) -> Naming:
    def naming(name: FieldName) -> str:
        notes.append(name)
        return name[1]

    return naming


def _condition(entity: Entity, condition: Condition, naming: Naming) -> Condition:
    match condition:
        case Quantified():
            item = target_of(entity, condition.list_field)
            inner = _simple(entity, item, condition.condition, naming)
            return attrs.evolve(condition, list_field=naming((entity.name, condition.list_field)), condition=inner)
        case _:
            return _simple(entity, entity.name, condition, naming)


def _simple(entity: Entity, other: str, condition: Comparison | NullCheck, naming: Naming) -> Comparison | NullCheck:
    match condition:
        case NullCheck():
            return attrs.evolve(condition, operand=_ref(entity, other, condition.operand, naming))
        case Comparison():
            right = condition.right if isinstance(condition.right, Literal) else _ref(entity, other, condition.right, naming)
            return attrs.evolve(condition, left=_operand(entity, other, condition.left, naming), right=right)


def _operand(entity: Entity, other: str, operand: Operand, naming: Naming) -> Operand:
    match operand:
        case FieldRef():
            return _ref(entity, other, operand, naming)
        case Arithmetic():
            return _arithmetic(entity, other, operand, naming)
        case Count():
            return Count(naming((entity.name, operand.list_field)))
        case Sum():
            item = target_of(entity, operand.list_field)
            return Sum(naming((entity.name, operand.list_field)), naming((item, operand.field)))


def _arithmetic(entity: Entity, other: str, value: Arithmetic, naming: Naming) -> Arithmetic:
    return attrs.evolve(value, left=_ref(entity, other, value.left, naming), right=_ref(entity, other, value.right, naming))


def _ref(entity: Entity, other: str, ref: FieldRef, naming: Naming) -> FieldRef:
    owner = entity.name if ref.subject is Subject.THIS else other
    return FieldRef(naming((owner, ref.field)), ref.subject)


def _effect(entity: Entity, effect: Effect, naming: Naming) -> Effect:
    written = entity.name if isinstance(effect.scope, OnThis) else target_of(entity, effect.scope.field)
    return Effect(
        target=naming((written, effect.target)),
        assignment=_assignment(entity, written, effect.assignment, naming),
        scope=_scope(entity, effect.scope, naming),
    )


def _assignment(entity: Entity, written: str, assignment: Assignment, naming: Naming) -> Assignment:
    if isinstance(assignment, Compute):
        return Compute(_arithmetic(entity, written, assignment.value, naming))
    return assignment


def _scope(entity: Entity, scope: Scope, naming: Naming) -> Scope:
    match scope:
        case OnThis():
            return scope
        case OnReference():
            return OnReference(naming((entity.name, scope.field)))
        case OnEach():
            return OnEach(naming((entity.name, scope.field)))
