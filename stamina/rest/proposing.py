"""Candidates for each type of change, in random order, each target as likely as another. They are well formed; the state says whether they are valid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias, TypeVar

import attrs

from stamina.draw import Draw
from stamina.rest import composing, inventing
from stamina.rest.apply import BOUNDED
from stamina.rest.changes import (
    AddAction,
    AddAnalytics,
    AddCondition,
    AddEffect,
    AddEntity,
    AddEnumValue,
    AddField,
    Change,
    ChangeConstraints,
    DeleteAnalytics,
    DeleteEntity,
    DeleteField,
    RemoveAction,
    RemoveCondition,
    RemoveEffect,
    RenameEntity,
    RenameField,
)
from stamina.rest.names import Taken, entity_name, field_name, further_value, reference_name, taken_by
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
    StringType,
)

T = TypeVar("T")
Proposer: TypeAlias = Callable[[Draw, State], Iterator[Change]]

CONTENTS: Final = 4
"""How many contents are drawn for one target before the next target is tried."""

MOST: Final = 3
"""The sampler gives an action no more conditions, and no more effects, than this."""

ENTITY_REFERENCES: Final = (0.25, 0.4, 0.35)
"""How likely a new entity has no reference, one, or two."""

ENTITY_ENUM: Final = 0.5
"""How likely a new entity is sure to have an enum field, and so can have actions."""


def add_entity(draw: Draw, state: State) -> Iterator[Change]:
    """New entities; the first few may refer to others, the last does not, and so has no name in common with anything."""
    for number in range(CONTENTS):
        place = draw.at(number)
        references = place.weighted((0, 1, 2), ENTITY_REFERENCES) if number < CONTENTS - 1 else 0
        kinds = (EnumType,) if place.chance(ENTITY_ENUM) else ()
        yield AddEntity(inventing.entity(place, state, references=references, kinds=kinds))


def delete_entity(draw: Draw, state: State) -> Iterator[Change]:
    """Every entity."""
    return (DeleteEntity(entity.name) for entity in draw.shuffled(state.entities))


def rename_entity(draw: Draw, state: State) -> Iterator[Change]:
    """Every entity."""
    taken = Taken.of(state)
    return (RenameEntity(entity.name, entity_name(draw, taken)) for entity in draw.shuffled(state.entities))


def add_field(draw: Draw, state: State) -> Iterator[Change]:
    """A few new fields for every entity."""
    for entity in draw.shuffled(state.entities):
        for _ in range(CONTENTS):
            yield AddField(entity.name, inventing.any_field(draw, state, entity))


def delete_field(draw: Draw, state: State) -> Iterator[Change]:
    """Every field."""
    return (DeleteField(entity.name, field.name) for entity, field in draw.shuffled(_fields(state)))


def rename_field(draw: Draw, state: State) -> Iterator[Change]:
    """Every field."""
    return (RenameField(entity.name, field.name, _new_name(draw, entity, field)) for entity, field in draw.shuffled(_fields(state)))


def change_constraints(draw: Draw, state: State) -> Iterator[Change]:
    """New bounds for every field that has them; more often both than one, and a few attempts each."""
    for entity, field in draw.shuffled([pair for pair in _fields(state) if isinstance(pair[1].type, BOUNDED)]):
        for _ in range(CONTENTS):
            bounds = _bounds(draw, field.type)
            if bounds:
                yield ChangeConstraints(entity.name, field.name, bounds)


def add_analytics(draw: Draw, state: State) -> Iterator[Change]:
    """Every endpoint that is neither there nor freed."""
    pairs = [(entity, analytics) for entity in state.entities for analytics in _free_analytics(entity)]
    return (AddAnalytics(entity.name, analytics) for entity, analytics in draw.shuffled(pairs))


def delete_analytics(draw: Draw, state: State) -> Iterator[Change]:
    """Every endpoint."""
    pairs = [(entity, analytics) for entity in state.entities for analytics in entity.analytics]
    return (DeleteAnalytics(entity.name, analytics) for entity, analytics in draw.shuffled(pairs))


def add_action(draw: Draw, state: State) -> Iterator[Change]:
    """A few new actions for every entity that has an enum field."""
    for entity in draw.shuffled(state.entities):
        for _ in range(CONTENTS):
            action = composing.action(draw, state, entity)
            if action is not None:
                yield AddAction(entity.name, action)


def remove_action(draw: Draw, state: State) -> Iterator[Change]:
    """Every action."""
    return (RemoveAction(entity.name, action.name) for entity, action in draw.shuffled(_actions(state)))


def add_condition(draw: Draw, state: State) -> Iterator[Change]:
    """A few new conditions for every action that has not many."""
    for entity, action in draw.shuffled([pair for pair in _actions(state) if len(pair[1].conditions) < MOST]):
        for _ in range(CONTENTS):
            condition = composing.condition(draw, state, entity)
            if condition is not None:
                yield AddCondition(entity.name, action.name, condition)


def remove_condition(draw: Draw, state: State) -> Iterator[Change]:
    """Every condition."""
    triples = [(entity, action, condition) for entity, action in _actions(state) for condition in action.conditions]
    return (RemoveCondition(entity.name, action.name, condition) for entity, action, condition in draw.shuffled(triples))


def add_effect(draw: Draw, state: State) -> Iterator[Change]:
    """A few new effects for every action that has not many."""
    for entity, action in draw.shuffled([pair for pair in _actions(state) if len(pair[1].effects) < MOST]):
        for _ in range(CONTENTS):
            effect = composing.effect(draw, state, entity, action)
            if effect is not None:
                yield AddEffect(entity.name, action.name, effect)


def remove_effect(draw: Draw, state: State) -> Iterator[Change]:
    """Every effect."""
    triples = [(entity, action, effect) for entity, action in _actions(state) for effect in action.effects]
    return (RemoveEffect(entity.name, action.name, effect) for entity, action, effect in draw.shuffled(triples))


def add_enum_value(draw: Draw, state: State) -> Iterator[Change]:
    """A further value for every enum field."""
    for entity, field in draw.shuffled(_fields(state)):
        if isinstance(field.type, EnumType):
            value = further_value(draw, field.type.values)
            if value is not None:
                yield AddEnumValue(entity.name, field.name, value)


PROPOSERS: Final[Mapping[type[Change], Proposer]] = {
    AddEntity: add_entity,
    DeleteEntity: delete_entity,
    RenameEntity: rename_entity,
    AddField: add_field,
    DeleteField: delete_field,
    RenameField: rename_field,
    ChangeConstraints: change_constraints,
    AddAnalytics: add_analytics,
    DeleteAnalytics: delete_analytics,
    AddAction: add_action,
    RemoveAction: remove_action,
    AddCondition: add_condition,
    RemoveCondition: remove_condition,
    AddEffect: add_effect,
    RemoveEffect: remove_effect,
    AddEnumValue: add_enum_value,
}
"""The proposer of each type."""


def _fields(state: State) -> list[tuple[Entity, Field]]:
    return [(entity, field) for entity in state.entities for field in entity.fields]


def _actions(state: State) -> list[tuple[Entity, Action]]:
    return [(entity, action) for entity in state.entities for action in entity.actions]


def _new_name(draw: Draw, entity: Entity, field: Field) -> str:
    taken = taken_by(entity)
    if isinstance(field.type, ReferenceType | ReferenceListType):
        return reference_name(draw, field.type.target, taken, many=isinstance(field.type, ReferenceListType))
    return field_name(draw, type(field.type), taken)


def _free_analytics(entity: Entity) -> Iterator[Analytics]:
    gone = entity.analytics + entity.retired.analytics
    numeric = [field for field in entity.fields if isinstance(field.type, IntegerType | FloatType)]
    of_fields = [Analytics(operation, field.name) for field in numeric for operation in AnalyticsOperation if operation is not AnalyticsOperation.COUNT]
    return (analytics for analytics in (Analytics(AnalyticsOperation.COUNT), *of_fields) if analytics not in gone)


def _bounds(draw: Draw, kind: FieldType) -> tuple[tuple[str, int | float | str], ...]:
    """Bounds of a freshly drawn type that differ from those there are; one of the two now and then."""
    fresh = _fresh(draw, kind)
    pairs = [(attribute.name, getattr(fresh, attribute.name)) for attribute in attrs.fields(type(kind))]
    new = [(name, value) for name, value in pairs if value is not None and value != getattr(kind, name)]
    if len(new) > 1 and draw.chance(0.4):
        new = [draw.pick(new)]
    return tuple(new)


def _fresh(draw: Draw, kind: FieldType) -> FieldType:
    match kind:
        case StringType():
            return inventing.string_bounds(draw)
        case IntegerType():
            return inventing.integer_bounds(draw)
        case FloatType():
            return inventing.float_bounds(draw)
        case DatetimeType():
            return inventing.datetime_bounds(draw)
        case _:
            return kind
