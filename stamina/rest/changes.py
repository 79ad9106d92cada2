"""Every type of change, one class each (paper Table 8, contract section 4)."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from stamina.rest.expressions import Condition, Effect
from stamina.rest.schema import Action, Analytics, Entity, Field


@attrs.frozen
class AddEntity:
    """A new entity with fields; it comes without analytics and actions."""

    entity: Entity


@attrs.frozen
class DeleteEntity:
    """Remove an entity and everything that reaches it (D2)."""

    entity: str


@attrs.frozen
class RenameEntity:
    """Give an entity another name; only its paths move (D3)."""

    entity: str
    new_name: str


@attrs.frozen
class AddField:
    """A new field, plain or reference, on an existing entity."""

    entity: str
    field: Field


@attrs.frozen
class DeleteField:
    """Remove a field and what depends on it (D2)."""

    entity: str
    field: str


@attrs.frozen
class RenameField:
    """Give a field another name everywhere it is mentioned (D3)."""

    entity: str
    field: str
    new_name: str


@attrs.frozen
class ChangeConstraints:
    """Set the bounds that it names and leave the others (D5). ``bounds`` is ordered pairs of bound name and new value."""

    entity: str
    field: str
    bounds: tuple[tuple[str, int | float | str], ...]


@attrs.frozen
class AddAnalytics:
    """A new analytics endpoint."""

    entity: str
    analytics: Analytics


@attrs.frozen
class DeleteAnalytics:
    """Remove an analytics endpoint."""

    entity: str
    analytics: Analytics


@attrs.frozen
class AddAction:
    """A new action with its conditions and effects."""

    entity: str
    action: Action


@attrs.frozen
class RemoveAction:
    """Remove an action."""

    entity: str
    action: str


@attrs.frozen
class AddCondition:
    """Append a condition to an action (D6)."""

    entity: str
    action: str
    condition: Condition


@attrs.frozen
class RemoveCondition:
    """Remove the condition that equals this one; the others keep their order (D6)."""

    entity: str
    action: str
    condition: Condition


@attrs.frozen
class AddEffect:
    """Append an effect to an action (D6)."""

    entity: str
    action: str
    effect: Effect


@attrs.frozen
class RemoveEffect:
    """Remove the effect that equals this one; the others keep their order (D6)."""

    entity: str
    action: str
    effect: Effect


@attrs.frozen
class AddEnumValue:
    """A further allowed value of an enum field, last; changes no action's from-values (S9)."""

    entity: str
    field: str
    value: str


Change: TypeAlias = (
    AddEntity
    | DeleteEntity
    | RenameEntity
    | AddField
    | DeleteField
    | RenameField
    | ChangeConstraints
    | AddAnalytics
    | DeleteAnalytics
    | AddAction
    | RemoveAction
    | AddCondition
    | RemoveCondition
    | AddEffect
    | RemoveEffect
    | AddEnumValue
)
