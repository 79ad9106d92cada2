"""What goes with a deletion (contract D2), listed one by one; a change request names each of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import attrs

from stamina.rest.changes import Change, DeleteEntity, DeleteField
from stamina.rest.expressions import Condition, Effect
from stamina.rest.mentions import FieldName, mentioned_by_condition, mentioned_by_effect, referring_fields
from stamina.rest.schema import Action, Analytics, Entity, State


@attrs.frozen
class FieldGone:
    """A field of another entity, because it refers to a deleted one."""

    entity: str
    field: str


@attrs.frozen
class AnalyticsGone:
    """An analytics endpoint, with its entity or its field."""

    entity: str
    analytics: Analytics


@attrs.frozen
class ActionGone:
    """An action, with its entity or its enum field."""

    entity: str
    action: str


@attrs.frozen
class ConditionGone:
    """A condition of an action that stays, because it mentions what is deleted."""

    entity: str
    action: str
    condition: Condition


@attrs.frozen
class EffectGone:
    """An effect of an action that stays, because it mentions what is deleted."""

    entity: str
    action: str
    effect: Effect


Consequence: TypeAlias = FieldGone | AnalyticsGone | ActionGone | ConditionGone | EffectGone


def consequences(state: State, change: Change) -> tuple[Consequence, ...]:
    """What else goes when ``change`` is applied to ``state``, in the order of the state; empty for all but deletions.

    Names are those before the change. A deleted entity's own fields are not listed, for they are part of it.
    """
    match change:
        case DeleteEntity(entity=name):
            return tuple(_with_entity(state, name))
        case DeleteField(entity=entity, field=field):
            return tuple(_with_fields(state, frozenset([(entity, field)]), gone=None))
        case _:
            return ()


def _with_entity(state: State, name: str) -> Iterator[Consequence]:
    entity = state.entity(name)
    for analytics in entity.analytics:
        yield AnalyticsGone(name, analytics)
    for action in entity.actions:
        yield ActionGone(name, action.name)
    fields = referring_fields(state, name)
    for owner, field in fields:
        yield FieldGone(owner, field)
    yield from _with_fields(state, frozenset(fields), gone=name)


def _with_fields(state: State, fields: frozenset[FieldName], *, gone: str | None) -> Iterator[Consequence]:
    """What goes with the fields, in all entities but the one that goes as a whole."""
    for entity in state.entities:
        if entity.name == gone:
            continue
        for analytics in entity.analytics:
            if analytics.field is not None and (entity.name, analytics.field) in fields:
                yield AnalyticsGone(entity.name, analytics)
        for action in entity.actions:
            yield from _in_action(entity, action, fields)


def _in_action(entity: Entity, action: Action, fields: frozenset[FieldName]) -> Iterator[Consequence]:
    if (entity.name, action.enum_field) in fields:
        yield ActionGone(entity.name, action.name)
        return
    for condition in action.conditions:
        if not fields.isdisjoint(mentioned_by_condition(entity, condition)):
            yield ConditionGone(entity.name, action.name, condition)
    for effect in action.effects:
        if not fields.isdisjoint(mentioned_by_effect(entity, effect)):
            yield EffectGone(entity.name, action.name, effect)
