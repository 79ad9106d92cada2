"""What each change does to a state (contract section 4). A state that comes out is valid, and shares every entity that did not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar, assert_never

import attrs

from stamina.errors import InvalidChange
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
from stamina.rest.consequences import Consequence, consequences
from stamina.rest.footprint import Footprint, compatible, footprint
from stamina.rest.mentions import FieldName, mentioned_by_action, mentioned_by_condition, mentioned_by_effect, referring_fields, renamed
from stamina.rest.schema import (
    Action,
    Analytics,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    Retired,
    RetiredSegment,
    State,
    StringType,
)
from stamina.rest.validate import problems_after

__all__ = ["Consequence", "Footprint", "apply", "compatible", "consequences", "footprint", "transformed"]

T = TypeVar("T")

BOUNDED: Final = (StringType, IntegerType, FloatType, DatetimeType)
"""The types that have bounds."""


def apply(state: State, change: Change) -> State:
    """The state after ``change``. Raises InvalidChange, with the rule and the reason, when the change does not fit or its result would not be valid."""
    after = transformed(state, change)
    for problem in problems_after(state, after, renaming=isinstance(change, RenameEntity | RenameField)):
        raise InvalidChange("D5" if isinstance(change, ChangeConstraints) else problem.rule, problem.reason)
    return after


def transformed(state: State, change: Change) -> State:
    """The state after a change that is known to be valid: nothing is checked but that what it names is there (InvalidChange)."""
    match change:
        case AddEntity():
            return _add_entity(state, change.entity)
        case DeleteEntity():
            return _delete_entity(state, _entity(state, change.entity))
        case RenameEntity():
            return _rename_entity(state, _entity(state, change.entity), change.new_name)
        case DeleteField():
            return _delete_field(state, _entity(state, change.entity), change.field)
        case RenameField():
            return _rename_field(state, _entity(state, change.entity), change.field, change.new_name)
        case _:
            entity = _entity(state, change.entity)
            return _replace(state, entity, _within(entity, change))


def _within(
    entity: Entity,
    change: (
        AddField
        | ChangeConstraints
        | AddEnumValue
        | AddAnalytics
        | DeleteAnalytics
        | AddAction
        | RemoveAction
        | AddCondition
        | RemoveCondition
        | AddEffect
        | RemoveEffect
    ),
) -> Entity:
    """The entity after a change that touches no other."""
    match change:
        case AddField():
            return attrs.evolve(entity, fields=(*entity.fields, change.field))
        case ChangeConstraints():
            return _with_field(entity, _constrained(_field(entity, change.field), change.bounds))
        case AddEnumValue():
            return _with_field(entity, _extended(_field(entity, change.field), change.value))
        case AddAnalytics():
            return attrs.evolve(entity, analytics=(*entity.analytics, change.analytics))
        case DeleteAnalytics():
            return _delete_analytics(entity, change.analytics)
        case AddAction():
            return attrs.evolve(entity, actions=(*entity.actions, change.action))
        case RemoveAction():
            return _remove_action(entity, _action(entity, change.action))
        case _:
            action = _action(entity, change.action)
            return _with_action(entity, _within_action(action, change))


def _within_action(action: Action, change: AddCondition | RemoveCondition | AddEffect | RemoveEffect) -> Action:
    match change:
        case AddCondition():
            return attrs.evolve(action, conditions=(*action.conditions, change.condition))
        case RemoveCondition():
            return attrs.evolve(action, conditions=_less(action.conditions, change.condition, f"{action.name!r} has no such condition"))
        case AddEffect():
            return attrs.evolve(action, effects=(*action.effects, change.effect))
        case RemoveEffect():
            return attrs.evolve(action, effects=_less(action.effects, change.effect, f"{action.name!r} has no such effect"))
        case _:
            assert_never(change)


def _refuse(rule: str, reason: str) -> NoReturn:
    raise InvalidChange(rule, reason)


def _entity(state: State, name: str) -> Entity:
    return state.find(name) or _refuse("D4", f"there is no entity {name!r}")


def _field(entity: Entity, name: str) -> Field:
    return entity.find_field(name) or _refuse("D4", f"{entity.name} has no field {name!r}")


def _action(entity: Entity, name: str) -> Action:
    return entity.find_action(name) or _refuse("D4", f"{entity.name} has no action {name!r}")


def _less(items: tuple[T, ...], item: T, missing: str) -> tuple[T, ...]:
    if item not in items:
        _refuse("D6", missing)
    return tuple(other for other in items if other != item)


def _replace(state: State, old: Entity, new: Entity) -> State:
    return attrs.evolve(state, entities=tuple(new if entity is old else entity for entity in state.entities))


def _with_field(entity: Entity, field: Field) -> Entity:
    return attrs.evolve(entity, fields=tuple(field if other.name == field.name else other for other in entity.fields))


def _with_action(entity: Entity, action: Action) -> Entity:
    return attrs.evolve(entity, actions=tuple(action if other.name == action.name else other for other in entity.actions))


def _retire(
    entity: Entity,
    *,
    fields: tuple[str, ...] = (),
    actions: tuple[str, ...] = (),
    analytics: tuple[Analytics, ...] = (),
) -> Retired:
    retired = entity.retired
    return Retired(retired.fields + fields, retired.actions + actions, retired.analytics + analytics)


def _add_entity(state: State, entity: Entity) -> State:
    if entity.analytics or entity.actions or entity.retired != Retired():
        _refuse("D6", f"{entity.name} is added with its fields alone")
    return attrs.evolve(state, entities=(*state.entities, entity))


def _delete_entity(state: State, entity: Entity) -> State:
    if len(state.entities) == 1:
        _refuse("S1", f"{entity.name} is the last entity")
    without = _drop_fields(state, frozenset(referring_fields(state, entity.name)))
    return State(
        entities=tuple(other for other in without.entities if other.name != entity.name),
        retired=(*state.retired, RetiredSegment(entity.segment, entity.analytics)),
    )


def _rename_entity(state: State, entity: Entity, new_name: str) -> State:
    entities = (_retargeted(other, entity.name, new_name) for other in state.entities)
    return State(
        entities=tuple(attrs.evolve(other, name=new_name) if other.name == entity.name else other for other in entities),
        retired=(*state.retired, RetiredSegment(entity.segment, entity.analytics)),
    )


def _retargeted(entity: Entity, old: str, new: str) -> Entity:
    """The entity with every reference to ``old`` leading to ``new``."""

    def field_after(field: Field) -> Field:
        if isinstance(field.type, ReferenceType | ReferenceListType) and field.type.target == old:
            return attrs.evolve(field, type=attrs.evolve(field.type, target=new))
        return field

    return _with_each_field(entity, field_after)


def _with_each_field(entity: Entity, after: Callable[[Field], Field]) -> Entity:
    fields = tuple(after(field) for field in entity.fields)
    unchanged = all(new is old for new, old in zip(fields, entity.fields, strict=True))
    return entity if unchanged else attrs.evolve(entity, fields=fields)


def _delete_field(state: State, entity: Entity, name: str) -> State:
    field = _field(entity, name)
    return _drop_fields(state, frozenset([(entity.name, field.name)]))


def _drop_fields(state: State, names: frozenset[FieldName]) -> State:
    """The state without these fields and without what depends on them (D2)."""
    return attrs.evolve(state, entities=tuple(_without_fields(entity, names) for entity in state.entities))


def _without_fields(entity: Entity, names: frozenset[FieldName]) -> Entity:
    own = tuple(name for owner, name in sorted(names) if owner == entity.name)
    actions = tuple(_without_mentions(entity, action, names) for action in entity.actions if action.enum_field not in own)
    if not own and all(new is old for new, old in zip(actions, entity.actions, strict=True)):
        return entity
    gone_analytics = tuple(analytics for analytics in entity.analytics if analytics.field in own)
    return attrs.evolve(
        entity,
        fields=tuple(field for field in entity.fields if field.name not in own),
        analytics=tuple(analytics for analytics in entity.analytics if analytics not in gone_analytics),
        actions=actions,
        retired=_retire(
            entity,
            fields=own,
            actions=tuple(action.name for action in entity.actions if action.enum_field in own),
            analytics=gone_analytics,
        ),
    )


def _without_mentions(entity: Entity, action: Action, names: frozenset[FieldName]) -> Action:
    if names.isdisjoint(mentioned_by_action(entity, action)):
        return action
    return attrs.evolve(
        action,
        conditions=tuple(item for item in action.conditions if names.isdisjoint(mentioned_by_condition(entity, item))),
        effects=tuple(item for item in action.effects if names.isdisjoint(mentioned_by_effect(entity, item))),
    )


def _rename_field(state: State, entity: Entity, name: str, new_name: str) -> State:
    field = _field(entity, name)
    owner = attrs.evolve(
        _with_field_as(entity, field, attrs.evolve(field, name=new_name)),
        analytics=tuple(attrs.evolve(item, field=new_name) if item.field == name else item for item in entity.analytics),
        retired=_retire(entity, fields=(name,), analytics=tuple(item for item in entity.analytics if item.field == name)),
    )

    def called(mention: FieldName) -> str:
        return new_name if mention == (entity.name, name) else mention[1]

    # Mentions are resolved in the entities as they were, before the references in them go by another name.
    return attrs.evolve(
        state,
        entities=tuple(_with_mentions(other, owner if other is entity else other, (entity.name, name), called) for other in state.entities),
    )


def _with_field_as(entity: Entity, old: Field, new: Field) -> Entity:
    return _with_each_field(entity, lambda field: new if field is old else field)


def _with_mentions(old: Entity, new: Entity, name: FieldName, called: Callable[[FieldName], str]) -> Entity:
    actions = tuple(renamed(old, action, called) if name in mentioned_by_action(old, action) else action for action in old.actions)
    if all(after is before for after, before in zip(actions, old.actions, strict=True)):
        return new
    return attrs.evolve(new, actions=actions)


def _constrained(field: Field, bounds: tuple[tuple[str, int | float | str], ...]) -> Field:
    if not isinstance(field.type, BOUNDED):
        _refuse("D5", f"{field.name!r} has no bounds")
    names = [name for name, _ in bounds]
    known = [attribute.name for attribute in attrs.fields(type(field.type))]
    if not names or len(set(names)) < len(names) or any(name not in known for name in names):
        _refuse("D5", f"the bounds of {field.name!r} are {' and '.join(known)}, each named once")
    if any(getattr(field.type, name) == value for name, value in bounds):
        _refuse("D5", f"a bound of {field.name!r} would stay as it is")
    if isinstance(field.type, StringType) and any(type(value) is not int for _, value in bounds):
        _refuse("D5", "a length is an integer")
    values: dict[str, Any] = dict(bounds)
    return attrs.evolve(field, type=attrs.evolve(field.type, **values))


def _extended(field: Field, value: str) -> Field:
    if not isinstance(field.type, EnumType):
        _refuse("S9", f"{field.name!r} is not an enum field")
    return attrs.evolve(field, type=attrs.evolve(field.type, values=(*field.type.values, value)))


def _delete_analytics(entity: Entity, analytics: Analytics) -> Entity:
    left = _less(entity.analytics, analytics, f"{entity.name} has no such analytics")
    return attrs.evolve(entity, analytics=left, retired=_retire(entity, analytics=(analytics,)))


def _remove_action(entity: Entity, action: Action) -> Entity:
    left = tuple(other for other in entity.actions if other is not action)
    return attrs.evolve(entity, actions=left, retired=_retire(entity, actions=(action.name,)))
