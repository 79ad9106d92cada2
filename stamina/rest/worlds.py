"""Worlds: a few concrete objects in which an action can be tried (contract B5)."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from stamina.exchange import Json
from stamina.rest.schema import Field, ReferenceListType
from stamina.rest.semantics import Object, Store

FieldsOf: TypeAlias = dict[str, dict[str, Field]]
"""Entity name to field name to field."""


@attrs.frozen
class WorldObject:
    """An object to create.

    Attributes:
        entity: the name of its entity.
        id: unique among the world's objects of that entity; matches S8.
        fields: what the POST must carry besides the id; a list of ids is a tuple here.
        omitted: fields that the POST must leave out, so that they are null (V3).

    Fields in neither are free: any valid value will do, and none changes the outcome.
    """

    entity: str
    id: str
    fields: tuple[tuple[str, Json], ...]
    omitted: tuple[str, ...] = ()

    def body(self) -> dict[str, Json]:
        """The body of the POST, as far as this world cares; a fresh dict."""
        return {"id": self.id} | {name: list(value) if isinstance(value, tuple) else value for name, value in self.fields}


@attrs.frozen
class Link:
    """A field to PATCH once all objects exist: a reference back to the acting object (S7). A list of ids is a tuple here."""

    entity: str
    id: str
    field: str
    value: str | tuple[str, ...]

    def body(self) -> dict[str, Json]:
        """The body of the PATCH; a fresh dict."""
        return {self.field: list(self.value) if isinstance(self.value, tuple) else self.value}


@attrs.frozen
class World:
    """Objects in the order of their creation, then links; ``acting`` is the entity and the id of the object that the action is called on."""

    objects: tuple[WorldObject, ...]
    links: tuple[Link, ...]
    acting: tuple[str, str]

    def store(self, fields: FieldsOf) -> Store:
        """The store that holds this world's objects; free fields are null (lists empty), as nothing reads them."""
        store: Store = {entity: {} for entity in fields}
        for each in self.objects:
            blank: Object = {name: [] if isinstance(field.type, ReferenceListType) else None for name, field in fields[each.entity].items()}
            store[each.entity][each.id] = blank | each.body()
        for link in self.links:
            store[link.entity][link.id] |= link.body()
        return store
