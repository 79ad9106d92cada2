"""Which names a change reads, writes and adds (contract D4), so that the changes of one request do not get in each other's way.

A name is a path: ``("Dog",)``, ``("Dog", "field", "age")``, ``("Dog", "action", "approve")``, ``("Dog", "analytics", "age", "avg")``,
``("Dog", "field", "phase", "done")``. The owner in a path is an address, not a name that is used: two changes may each add a field to Dog. But
whatever is renamed, deleted or altered takes everything below it along, so nothing at or below a written name is named by another change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, assert_never

import attrs

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
from stamina.rest.consequences import ActionGone, AnalyticsGone, ConditionGone, Consequence, EffectGone, FieldGone, consequences
from stamina.rest.mentions import FieldName, mentioned_by_action, mentioned_by_condition, mentioned_by_effect
from stamina.rest.schema import Action, Analytics, EnumType, Field, ReferenceListType, ReferenceType, State

Name: TypeAlias = tuple[str, ...]
"""A path of names; see the module."""


@attrs.frozen
class Footprint:
    """The names that one change, or several together, read, write (rename, delete, alter) and add."""

    read: frozenset[Name] = frozenset()
    written: frozenset[Name] = frozenset()
    added: frozenset[Name] = frozenset()

    @property
    def named(self) -> frozenset[Name]:
        """All of its names."""
        return self.read | self.written | self.added

    def __or__(self, other: Footprint) -> Footprint:
        """The footprint of both together."""
        return Footprint(self.read | other.read, self.written | other.written, self.added | other.added)


def compatible(earlier: Footprint, later: Footprint) -> bool:
    """Whether a change may follow others in the same request: they share only names that an earlier one added, and none that any of them writes.

    Args:
        earlier: of all changes before it, together.
        later: of the change in question.
    """
    if not (earlier.named & later.named) <= earlier.added:
        return False
    return not _disturbs(earlier.written, later.named) and not _disturbs(later.written, earlier.named)


def _disturbs(written: frozenset[Name], named: frozenset[Name]) -> bool:
    return any(name[:length] in written for name in named for length in range(1, len(name) + 1)) if written else False


def footprint(state: State, change: Change) -> Footprint:
    """The footprint of a change that is valid on ``state``; what goes with a deletion, or takes part in a renaming, is written too."""
    return Footprint(
        frozenset(_read(state, change)),
        frozenset(_written(state, change)),
        frozenset(_added(change)),
    )


def field_path(name: FieldName) -> Name:
    """The path of a field."""
    return (name[0], "field", name[1])


def action_path(entity: str, action: str) -> Name:
    """The path of an action."""
    return (entity, "action", action)


def analytics_path(entity: str, analytics: Analytics) -> Name:
    """The path of an analytics endpoint."""
    return (entity, "analytics", *([] if analytics.field is None else [analytics.field]), analytics.operation.value)


def _added(change: Change) -> Iterator[Name]:
    match change:
        case AddEntity(entity=entity):
            yield (entity.name,)
            for field in entity.fields:
                yield from _added_field(entity.name, field)
        case AddField(entity=owner, field=field):
            yield from _added_field(owner, field)
        case AddAnalytics(entity=owner, analytics=analytics):
            yield analytics_path(owner, analytics)
        case AddAction(entity=owner, action=action):
            yield action_path(owner, action.name)
        case AddEnumValue():
            yield (*field_path((change.entity, change.field)), change.value)


def _added_field(entity: str, field: Field) -> Iterator[Name]:
    yield field_path((entity, field.name))
    if isinstance(field.type, EnumType):
        yield (field.type.name,)


def _written(state: State, change: Change) -> Iterator[Name]:
    match change:
        case DeleteEntity(entity=name):
            yield (name,)
            yield from (_path(gone) for gone in consequences(state, change))
        case RenameEntity():
            yield (change.entity,)
            yield (change.new_name,)
        case DeleteField():
            yield field_path((change.entity, change.field))
            yield from (_path(gone) for gone in consequences(state, change))
        case RenameField():
            yield field_path((change.entity, change.new_name))
            yield from _renamed_field(state, (change.entity, change.field))
        case ChangeConstraints() | AddEnumValue():
            yield field_path((change.entity, change.field))
        case DeleteAnalytics(entity=owner, analytics=analytics):
            yield analytics_path(owner, analytics)
        case RemoveAction() | AddCondition() | RemoveCondition() | AddEffect() | RemoveEffect():
            yield action_path(change.entity, change.action)


def _renamed_field(state: State, name: FieldName) -> Iterator[Name]:
    """The field with its analytics and the actions that mention it, all of which are told under its new name."""
    yield field_path(name)
    for analytics in state.entity(name[0]).analytics:
        if analytics.field == name[1]:
            yield analytics_path(name[0], analytics)
    for entity in state.entities:
        for action in entity.actions:
            if name in mentioned_by_action(entity, action):
                yield action_path(entity.name, action.name)


def _path(gone: Consequence) -> Name:
    match gone:
        case FieldGone():
            return field_path((gone.entity, gone.field))
        case AnalyticsGone():
            return analytics_path(gone.entity, gone.analytics)
        case ActionGone() | ConditionGone() | EffectGone():
            return action_path(gone.entity, gone.action)
        case _:
            assert_never(gone)


def _read(state: State, change: Change) -> Iterator[Name]:
    match change:
        case AddEntity(entity=entity):
            yield from (name for name in _targets(entity.fields) if name != (entity.name,))
        case AddField(field=field):
            yield from _targets([field])
        case AddAnalytics(entity=owner, analytics=analytics) | DeleteAnalytics(entity=owner, analytics=analytics):
            if analytics.field is not None:
                yield field_path((owner, analytics.field))
        case AddAction(entity=owner, action=action):
            yield from _reads_of(state, owner, action)
        case AddCondition(entity=owner, condition=condition) | RemoveCondition(entity=owner, condition=condition):
            yield from map(field_path, mentioned_by_condition(state.entity(owner), condition))
        case AddEffect(entity=owner, effect=effect) | RemoveEffect(entity=owner, effect=effect):
            yield from map(field_path, mentioned_by_effect(state.entity(owner), effect))


def _reads_of(state: State, owner: str, action: Action) -> Iterable[Name]:
    return map(field_path, mentioned_by_action(state.entity(owner), action))


def _targets(fields: Iterable[Field]) -> Iterator[Name]:
    for field in fields:
        if isinstance(field.type, ReferenceType | ReferenceListType):
            yield (field.type.target,)
