"""The state of a REST API as an immutable value (contract section 1).

``id`` is not listed among an entity's fields: every entity has it (S3). Values are immutable and share structure between turns, so work can be
remembered per entity.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import attrs

from stamina.rest.expressions import Condition, Effect, Scalar


@attrs.frozen
class StringType:
    """A string; lengths are inclusive and count characters; None is no bound."""

    min_length: int | None = None
    max_length: int | None = None


@attrs.frozen
class IntegerType:
    """An integer; bounds inclusive."""

    minimum: int | None = None
    maximum: int | None = None


@attrs.frozen
class FloatType:
    """A double; bounds inclusive, multiples of 1/1024 (V8)."""

    minimum: float | None = None
    maximum: float | None = None


@attrs.frozen
class BooleanType:
    """A JSON boolean."""


@attrs.frozen
class DatetimeType:
    """``YYYY-MM-DD hh:mm:ss``; bounds inclusive, compared as strings."""

    earliest: str | None = None
    latest: str | None = None


@attrs.frozen
class EnumType:
    """One of a few strings. An enum type belongs to one field (S9); its name shares the namespace of entities (S5)."""

    name: str
    values: tuple[str, ...]


@attrs.frozen
class ReferenceType:
    """The id of one object of the target entity. Always nullable, no default."""

    target: str


@attrs.frozen
class ReferenceListType:
    """Ids of objects of the target entity. Never required, never null, default ``[]``."""

    target: str


ScalarType: TypeAlias = StringType | IntegerType | FloatType | BooleanType | DatetimeType | EnumType
FieldType: TypeAlias = ScalarType | ReferenceType | ReferenceListType


@attrs.frozen(cache_hash=True)
class Field:
    """One field of an entity. ``default`` None means that there is none (a default is never null)."""

    name: str
    type: FieldType
    required: bool = True
    nullable: bool = False
    default: Scalar | None = None


class AnalyticsOperation(StrEnum):
    """What an analytics endpoint computes."""

    AVG = "avg"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    COUNT = "count"


@attrs.frozen
class Analytics:
    """One analytics endpoint of its entity; ``field`` is None for COUNT alone."""

    operation: AnalyticsOperation
    field: str | None = None


@attrs.frozen(cache_hash=True)
class Action:
    """A state transition: moves ``enum_field`` from one of ``from_values`` to ``to_value`` (contract B1)."""

    name: str
    enum_field: str
    from_values: tuple[str, ...]
    to_value: str
    conditions: tuple[Condition, ...] = ()
    effects: tuple[Effect, ...] = ()


@attrs.frozen
class Retired:
    """Names of one entity that were freed; they stay tested and are never used again (S5, H6)."""

    fields: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    analytics: tuple[Analytics, ...] = ()


@attrs.frozen
class Entity:
    """An entity type with everything it owns. The path segment is the lower-case name."""

    name: str
    fields: tuple[Field, ...]
    analytics: tuple[Analytics, ...] = ()
    actions: tuple[Action, ...] = ()
    retired: Retired = Retired()

    @property
    def segment(self) -> str:
        """The first path segment, such as ``userprofile`` for ``UserProfile``."""
        return self.name.lower()

    def find_field(self, name: str) -> Field | None:
        """The field of that name; None when there is none (``id`` is not listed)."""
        return next((field for field in self.fields if field.name == name), None)

    def field(self, name: str) -> Field:
        """The field of that name. Raises KeyError when there is none."""
        field = self.find_field(name)
        if field is None:
            raise KeyError(f"{self.name}.{name}")
        return field

    def find_action(self, name: str) -> Action | None:
        """The action of that name; None when there is none."""
        return next((action for action in self.actions if action.name == name), None)


@attrs.frozen
class RetiredSegment:
    """The path segment of a renamed or deleted entity, with the analytics that it had when it went."""

    segment: str
    analytics: tuple[Analytics, ...] = ()


@attrs.frozen
class State:
    """A whole API at one turn."""

    entities: tuple[Entity, ...]
    retired: tuple[RetiredSegment, ...] = ()

    def find(self, name: str) -> Entity | None:
        """The entity of that name; None when there is none."""
        return next((entity for entity in self.entities if entity.name == name), None)

    def entity(self, name: str) -> Entity:
        """The entity of that name. Raises KeyError when there is none."""
        entity = self.find(name)
        if entity is None:
            raise KeyError(name)
        return entity
