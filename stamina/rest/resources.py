"""What the ground truth has ready for each entity of a state, so that answering a request is dict look-ups."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from stamina.exchange import Json
from stamina.rest.schema import Action, Analytics, AnalyticsOperation, Entity, Field, ReferenceListType, ReferenceType, State
from stamina.rest.semantics import reference_targets
from stamina.rest.values import Check, checker


@attrs.frozen(eq=False)
class Slot:
    """One field, ready for use. ``absent`` makes what an omitted field stores, None where it is required (V3)."""

    name: str
    check: Check
    absent: Callable[[], Json] | None
    is_list: bool


@attrs.frozen(eq=False)
class Inbound:
    """A field of some entity that leads to this one; what a deletion has to clear (D1)."""

    entity: str
    field: str
    is_list: bool


@attrs.frozen(eq=False)
class Resource:
    """Everything that the requests for one entity need."""

    name: str
    slots: tuple[Slot, ...]
    by_name: Mapping[str, Slot]
    actions: Mapping[str, Action]
    analytics: Mapping[tuple[str, ...], AnalyticsOperation]
    targets: dict[str, str]
    inbound: tuple[Inbound, ...]


def make_resource(entity: Entity, state: State) -> Resource:
    """The resource of an entity of the state."""
    slots = tuple(_slot(field) for field in entity.fields)
    return Resource(
        name=entity.name,
        slots=slots,
        by_name={slot.name: slot for slot in slots},
        actions={action.name: action for action in entity.actions},
        analytics={analytics_path(each): each.operation for each in entity.analytics},
        targets=reference_targets(entity),
        inbound=tuple(_inbound(entity.name, state)),
    )


def analytics_path(analytics: Analytics) -> tuple[str, ...]:
    """What follows the entity's segment in the path (A1)."""
    return (analytics.operation.value,) if analytics.field is None else (analytics.field, analytics.operation.value)


def _slot(field: Field) -> Slot:
    is_list = isinstance(field.type, ReferenceListType)
    return Slot(field.name, checker(field), _absent(field), is_list)


def _absent(field: Field) -> Callable[[], Json] | None:
    if isinstance(field.type, ReferenceListType):
        return list
    if field.default is None and field.required:
        return None
    return lambda: field.default


def _inbound(name: str, state: State) -> list[Inbound]:
    return [
        Inbound(entity.name, field.name, isinstance(field.type, ReferenceListType))
        for entity in state.entities
        for field in entity.fields
        if isinstance(field.type, ReferenceType | ReferenceListType) and field.type.target == name
    ]
