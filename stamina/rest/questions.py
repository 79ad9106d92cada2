"""What a world depends on: the action, the fields that it mentions, and what kind of world is wanted. Nothing else, so that answers can be remembered."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import attrs

from stamina.rest.expressions import (
    Arithmetic,
    Comparison,
    Compute,
    Condition,
    Count,
    FieldRef,
    Literal,
    NullCheck,
    OnThis,
    Operand,
    Quantified,
    Subject,
    Sum,
)
from stamina.rest.schema import Action, Entity, Field, ReferenceListType, ReferenceType, State
from stamina.rest.worlds import FieldsOf


class Stage(Enum):
    """Where the enum field stands before the action."""

    INSIDE = "among the from-values"
    OUTSIDE = "a value that is not among the from-values"
    NULL = "null"


@attrs.frozen
class Wish:
    """What kind of world is wanted; the default is one in which the action succeeds.

    Attributes:
        stage: where the enum field stands.
        unmet: the index of the condition that alone must not hold.
        edge: a condition's index and how many steps its left side lies above its right side.
        nulls: fields of the acting object that must be null; single references too.
        empty: reference lists of the acting object that must be empty.
        own: references and lists of the acting object that must lead back to it.
        shown: the index of an effect that must change something, on every object that it writes.
        given: numbers of the acting object and the values that they must have.
        last: the field of the acting object that is solved for last, when all others have values; where the usual order finds nothing.
    """

    stage: Stage = Stage.INSIDE
    unmet: int | None = None
    edge: tuple[int, int] | None = None
    nulls: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    shown: int | None = None
    given: tuple[tuple[str, float], ...] = ()
    last: str | None = None


@attrs.frozen
class Mentions:
    """The fields that an action reads or writes: on the acting object, and through each of its references and lists."""

    this: tuple[str, ...]
    through: tuple[tuple[str, tuple[str, ...]], ...]


@attrs.frozen
class Question:
    """An action of an entity with the fields that matter, by entity, and a wish: all that the world depends on."""

    owner: str
    action: Action
    mentions: Mentions
    fields: tuple[tuple[str, tuple[Field, ...]], ...]
    wish: Wish

    def fields_of(self) -> FieldsOf:
        """The fields by entity and name."""
        return {entity: {field.name: field for field in fields} for entity, fields in self.fields}


def ask(state: State, entity: Entity, action: Action, wish: Wish) -> Question:
    """Cut the state down to what the action's worlds depend on. Every name in the action must exist."""
    said = mentions(action)
    entities = {each.name: each for each in state.entities} | {entity.name: entity}
    own = {field.name: field for field in entity.fields}
    needed: dict[str, dict[str, None]] = {entity.name: dict.fromkeys(said.this)}
    for reference, names in said.through:
        needed.setdefault(target_of(own[reference]), {}).update(dict.fromkeys(names))
    fields = {name: tuple(field for field in entities[name].fields if field.name in names) for name, names in needed.items()}
    # The objects behind references that are only null-checked or cleared have to exist too.
    spare = {target_of(field): () for kept in fields.values() for field in kept if isinstance(field.type, ReferenceType | ReferenceListType)}
    return Question(entity.name, action, said, tuple((spare | fields).items()), wish)


def mentions(action: Action) -> Mentions:
    """The fields that an action mentions, in the order of first mention, the enum field first."""
    this: dict[str, None] = {action.enum_field: None}
    through: dict[str, dict[str, None]] = {}
    for condition in action.conditions:
        _note_condition(condition, this, through)
    for effect in action.effects:
        subject = this if isinstance(effect.scope, OnThis) else through.setdefault(effect.scope.field, {})
        subject[effect.target] = None
        if isinstance(effect.assignment, Compute):
            _note_operand(effect.assignment.value, this, subject, through)
    this.update(dict.fromkeys(through))
    return Mentions(_without_id(this), tuple((name, _without_id(fields)) for name, fields in through.items()))


def _note_condition(condition: Condition, this: dict[str, None], through: dict[str, dict[str, None]]) -> None:
    match condition:
        case Quantified(list_field=name, condition=inner):
            items = through.setdefault(name, {})
            for operand in _operands(inner):
                _note_operand(operand, this, items, through)
        case Comparison() | NullCheck():
            for operand in _operands(condition):
                _note_operand(operand, this, this, through)


def _operands(condition: Comparison | NullCheck) -> tuple[Operand | Literal, ...]:
    return (condition.operand,) if isinstance(condition, NullCheck) else (condition.left, condition.right)


def _note_operand(operand: Operand | Literal, this: dict[str, None], other: dict[str, None], through: dict[str, dict[str, None]]) -> None:
    match operand:
        case FieldRef(field, subject):
            (this if subject is Subject.THIS else other)[field] = None
        case Arithmetic(left, _, right):
            _note_operand(left, this, other, through)
            _note_operand(right, this, other, through)
        case Count(list_field):
            through.setdefault(list_field, {})
        case Sum(list_field, field):
            through.setdefault(list_field, {})[field] = None


def _without_id(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name != "id")


def target_of(field: Field) -> str:
    """The entity that a reference or list leads to."""
    assert isinstance(field.type, ReferenceType | ReferenceListType)
    return field.type.target
