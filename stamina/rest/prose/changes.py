"""Changes as text: each complete in itself, described against the state just before it (contract D3-D6)."""

from __future__ import annotations

from typing import assert_never

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
from stamina.rest.prose.consequences import consequence_lines
from stamina.rest.prose.endpoints import action_lines, action_name, action_path, analytics_path, analytics_text
from stamina.rest.prose.expressions import condition_text, effect_text
from stamina.rest.prose.fields import bound_text, field_text
from stamina.rest.prose.literals import quoted
from stamina.rest.prose.specification import entity_field_lines
from stamina.rest.schema import Analytics, Entity, EnumType, State


def describe_change(state: State, change: Change) -> str:
    """The change in words; ``state`` is the one just before it. The first line says what changes, bullets below it say the rest."""
    return "\n".join(_lines(state, change))


def change_headline(state: State, change: Change) -> str:
    """The first line of :func:`describe_change`, for lists of changes."""
    return _lines(state, change)[0].removesuffix(":").removesuffix(". These go with it")


def _lines(state: State, change: Change) -> list[str]:
    match change:
        case AddEntity() | DeleteEntity() | RenameEntity():
            return _entity_change(state, change)
        case AddField() | DeleteField() | RenameField() | ChangeConstraints() | AddEnumValue():
            return _field_change(state, change)
        case AddAnalytics() | DeleteAnalytics():
            return [_analytics_change(state, change)]
        case AddAction() | RemoveAction() | AddCondition() | RemoveCondition() | AddEffect() | RemoveEffect():
            return _action_change(state, change)
        case _:
            assert_never(change)


def _entity_change(state: State, change: AddEntity | DeleteEntity | RenameEntity) -> list[str]:
    match change:
        case AddEntity(entity):
            return [f"Add entity {quoted(entity.name)} with the path /{entity.segment} and these fields:", *entity_field_lines(entity)]
        case DeleteEntity(name):
            return _deletion(f"Delete entity {quoted(name)} (path /{state.entity(name).segment})", consequence_lines(state, change))
        case RenameEntity(name, new_name):
            return _rename_entity(state.entity(name), new_name)
        case _:
            assert_never(change)


def _field_change(state: State, change: AddField | DeleteField | RenameField | ChangeConstraints | AddEnumValue) -> list[str]:
    match change:
        case AddField(entity, field):
            return [f"Add to entity {quoted(entity)} the field {field_text(field)}"]
        case DeleteField(entity, name):
            return _deletion(f"Delete field {_of(name, entity)}", consequence_lines(state, change))
        case RenameField(entity, name, new_name):
            return _rename_field(state.entity(entity), name, new_name)
        case ChangeConstraints(entity, name, bounds):
            values = ", ".join(bound_text(bound, value) for bound, value in bounds)
            return [f"Change the constraints of field {_of(name, entity)}: {values}"]
        case AddEnumValue(entity, name, value):
            return [f"Add the value {quoted(value)} to enum {quoted(_enum(state, entity, name))} of field {_of(name, entity)}, after its other values"]
        case _:
            assert_never(change)


def _analytics_change(state: State, change: AddAnalytics | DeleteAnalytics) -> str:
    entity = state.entity(change.entity)
    if isinstance(change, AddAnalytics):
        return f"Add to entity {quoted(entity.name)} the analytics endpoint {analytics_text(entity, change.analytics)}"
    return f"Delete from entity {quoted(entity.name)} the analytics endpoint GET {analytics_path(entity, change.analytics)}"  # noqa: S608 (this is English, not SQL)


def _action_change(state: State, change: AddAction | RemoveAction | AddCondition | RemoveCondition | AddEffect | RemoveEffect) -> list[str]:
    entity = state.entity(change.entity)
    match change:
        case AddAction(_, action):
            return [f"Add {action_name(entity, action.name)}:", *action_lines(action)]
        case RemoveAction(_, action):
            return [f"Remove {action_name(entity, action)}"]
        case AddCondition(_, action, condition):
            return [f"Add to {action_name(entity, action)}, after its other conditions, the condition `{condition_text(condition)}`"]
        case RemoveCondition(_, action, condition):
            return [f"Remove from {action_name(entity, action)} the condition `{condition_text(condition)}`"]
        case AddEffect(_, action, effect):
            return [f"Add to {action_name(entity, action)}, after its other effects, the effect `{effect_text(effect)}`"]
        case RemoveEffect(_, action, effect):
            return [f"Remove from {action_name(entity, action)} the effect `{effect_text(effect)}`"]
        case _:
            assert_never(change)


def _rename_entity(entity: Entity, new_name: str) -> list[str]:
    renamed = Entity(new_name, ())
    moves = [
        (f"/{entity.segment}", f"/{renamed.segment}"),
        *((f"POST {action_path(entity, action.name)}", f"POST {action_path(renamed, action.name)}") for action in entity.actions),
        *(_analytics_move(entity, renamed, analytics, analytics) for analytics in entity.analytics),
    ]
    kept = f"Fields that refer to {quoted(entity.name)} keep their names and now refer to {quoted(new_name)}; enum types, values and defaults stay as they are."
    return [f"Rename entity {quoted(entity.name)} to {quoted(new_name)}:", *_move_lines(moves), f"- {kept}"]


def _rename_field(entity: Entity, name: str, new_name: str) -> list[str]:
    moves = [_analytics_move(entity, entity, analytics, Analytics(analytics.operation, new_name)) for analytics in entity.analytics if analytics.field == name]
    kept = "Conditions, effects and transitions of any entity that mention it now use the new name; its type, constraints and default stay as they are."
    return [f"Rename field {_of(name, entity.name)} to {quoted(new_name)}:", *_move_lines(moves), f"- {kept}"]


def _analytics_move(old: Entity, new: Entity, before: Analytics, after: Analytics) -> tuple[str, str]:
    return f"GET {analytics_path(old, before)}", f"GET {analytics_path(new, after)}"


def _move_lines(moves: list[tuple[str, str]]) -> list[str]:
    return [f"- {old} becomes {new}" for old, new in moves]


def _deletion(headline: str, gone: list[str]) -> list[str]:
    return [f"{headline}. These go with it:", *(f"- {line}" for line in gone)] if gone else [headline]


def _of(field: str, entity: str) -> str:
    return f"{quoted(field)} of entity {quoted(entity)}"


def _enum(state: State, entity: str, field: str) -> str:
    kind = state.entity(entity).field(field).type
    if not isinstance(kind, EnumType):
        raise TypeError(f"field {field} of {entity} is no enum")
    return kind.name
