"""The agent's idea of the API: what the specification said, with all changes made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from harnesses.reference_agent.expressions import Condition, Effect, Scope


class Impossible(Exception):
    """A change does not fit the API as it is: the text, or this agent's reading of it, is wrong."""


@dataclass
class Field:
    """A field of an entity, except ``id``.

    Attributes:
        kind: ``string``, ``integer``, ``float``, ``boolean``, ``datetime``, ``enum``, ``reference`` or ``list``.
        bounds: by their words, such as ``minimum length``.
        enum: the enum type's name.
        values: of the enum, in order.
        target: the entity that a reference or a list leads to.
    """

    name: str
    kind: str
    required: bool = False
    nullable: bool = False
    bounds: dict[str, Any] = dataclasses.field(default_factory=dict)
    has_default: bool = False
    default: Any = None
    enum: str = ""
    values: list[str] = dataclasses.field(default_factory=list)
    target: str = ""


@dataclass(frozen=True)
class Analytics:
    """An analytics endpoint; ``count`` has no field."""

    field: str
    operation: str

    def path(self, segment: str) -> str:
        """Its method and path; ``segment`` is the entity's path."""
        return f"GET /analytics{segment}/{self.field}/{self.operation}" if self.field else f"GET /analytics{segment}/{self.operation}"


@dataclass
class Action:
    """An action: a transition of the enum ``field`` from one of ``sources`` to ``goal``, with conditions and effects in order."""

    name: str
    field: str
    sources: list[str]
    goal: str
    conditions: list[Condition] = dataclasses.field(default_factory=list)
    effects: list[Effect] = dataclasses.field(default_factory=list)


T = TypeVar("T")


def only(found: Iterator[T], what: str) -> T:
    """The first of what was found. Raises :class:`Impossible` when there is none."""
    first = next(found, None)
    if first is None:
        raise Impossible(f"there is no {what}")
    return first


@dataclass
class Entity:
    """An entity; ``path`` has its slash. ``former_paths`` and ``former_fields`` are what it has had: a careless programmer would leave them in."""

    name: str
    path: str
    fields: list[Field] = dataclasses.field(default_factory=list)
    analytics: list[Analytics] = dataclasses.field(default_factory=list)
    actions: list[Action] = dataclasses.field(default_factory=list)
    former_paths: list[str] = dataclasses.field(default_factory=list)
    former_fields: list[str] = dataclasses.field(default_factory=list)

    def field_named(self, name: str) -> Field:
        """Raises :class:`Impossible` when there is none."""
        return only((each for each in self.fields if each.name == name), f'field "{name}" of entity "{self.name}"')

    def action_named(self, name: str) -> Action:
        """Raises :class:`Impossible` when there is none."""
        return only((each for each in self.actions if each.name == name), f'action "{name}" of entity "{self.name}"')

    def paths(self) -> Iterator[str]:
        """Its path, and those of its analytics and actions."""
        yield self.path
        yield from (each.path(self.path) for each in self.analytics)
        yield from (f"POST {self.path}/{{id}}/{each.name}" for each in self.actions)


@dataclass
class Api:
    """The whole API, entities in order."""

    entities: list[Entity] = dataclasses.field(default_factory=list)

    def entity(self, name: str) -> Entity:
        """Raises :class:`Impossible` when there is none."""
        return only((each for each in self.entities if each.name == name), f'entity "{name}"')

    def actions(self) -> Iterator[tuple[Entity, Action]]:
        """All actions with their entities."""
        for entity in self.entities:
            for action in entity.actions:
                yield entity, action

    def target(self, entity: str, name: str) -> str:
        """The entity that a reference or list leads to."""
        return self.entity(entity).field_named(name).target

    def scope(self, entity: str, name: Callable[[str, str], str]) -> Scope:
        """The scope of an expression in an action of the entity."""
        return Scope(entity, self.target, name)

    def mentions(self, entity: Entity, expression: Condition | Effect) -> set[tuple[str, str]]:
        """Entity and name of every field that an expression of an action of ``entity`` mentions. Raises :class:`Impossible` for an unknown one."""
        found = set()

        def note(owner: str, name: str) -> str:
            self.entity(owner).field_named(name)
            found.add((owner, name))
            return name

        expression.mapped(self.scope(entity.name, note))
        return found
