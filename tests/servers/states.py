"""The canonical JSON of a state (`stamina scenarios show --what state --json`) as the generators read it.

Nothing of the ground truth is used here: what a default left out means is written down once more.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

Node: TypeAlias = dict[str, Any]
"""One node of an expression, as it is in the JSON."""


@attrs.frozen
class Field:
    """One field. ``low`` and ``high`` are inclusive bounds of what its kind bounds: value, length or instant. None is none."""

    name: str
    kind: str
    required: bool
    nullable: bool
    default: str | int | float | bool | None
    low: str | int | float | None
    high: str | int | float | None
    values: tuple[str, ...]
    target: str

    @property
    def is_list(self) -> bool:
        """A list of references."""
        return self.kind == "reference_list"

    @property
    def is_reference(self) -> bool:
        """A single reference."""
        return self.kind == "reference"

    @property
    def takes_null(self) -> bool:
        """Whether a request may send null."""
        return not self.is_list and (self.nullable or self.is_reference)

    @property
    def must_be_sent(self) -> bool:
        """Whether a POST without it is refused."""
        return self.required and self.default is None and not self.is_list

    @classmethod
    def read(cls, node: Node) -> Field:
        """From its JSON."""
        kind = node["type"]

        def bound(*names: str) -> Any:
            return next((kind[name] for name in names if name in kind), None)

        return cls(
            node["name"],
            kind["kind"],
            node.get("required", True),
            node.get("nullable", False),
            node.get("default"),
            bound("minimum", "min_length", "earliest"),
            bound("maximum", "max_length", "latest"),
            tuple(kind.get("values", ())),
            kind.get("target", ""),
        )


@attrs.frozen
class Action:
    """One action; conditions and effects stay nodes."""

    name: str
    enum_field: str
    from_values: tuple[str, ...]
    to_value: str
    conditions: tuple[Node, ...]
    effects: tuple[Node, ...]

    @classmethod
    def read(cls, node: Node) -> Action:
        """From its JSON."""
        conditions, effects = tuple(node.get("conditions", ())), tuple(node.get("effects", ()))
        return cls(node["name"], node["enum_field"], tuple(node["from_values"]), node["to_value"], conditions, effects)


@attrs.frozen
class Entity:
    """One entity; ``analytics`` are pairs of operation and field, the field None for a count."""

    name: str
    fields: tuple[Field, ...]
    analytics: tuple[tuple[str, str | None], ...]
    actions: tuple[Action, ...]

    @property
    def path(self) -> str:
        """The first segment of its paths."""
        return self.name.lower()

    def field(self, name: str) -> Field:
        """The field of that name."""
        return next(field for field in self.fields if field.name == name)

    @classmethod
    def read(cls, node: Node) -> Entity:
        """From its JSON."""
        analytics = tuple((each["operation"], each.get("field")) for each in node.get("analytics", ()))
        return cls(node["name"], tuple(map(Field.read, node["fields"])), analytics, tuple(map(Action.read, node.get("actions", ()))))


@attrs.frozen
class Api:
    """A whole state."""

    entities: tuple[Entity, ...]

    def entity(self, name: str) -> Entity:
        """The entity of that name."""
        return next(entity for entity in self.entities if entity.name == name)

    def referring_to(self, entity: Entity) -> list[tuple[Entity, Field]]:
        """Every field, of any entity, that leads to this one."""
        return [(holder, field) for holder in self.entities for field in holder.fields if field.target == entity.name]

    @classmethod
    def read(cls, state: Node) -> Api:
        """From the canonical JSON."""
        return cls(tuple(map(Entity.read, state["entities"])))
