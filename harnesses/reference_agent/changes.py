"""Every change that a request can ask for, and how it alters the agent's idea of the API. What a change asks that does not fit is :class:`Impossible`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from harnesses.reference_agent.consequences import Consequence, carry_out, compare, with_entity, with_field
from harnesses.reference_agent.expressions import Condition, Effect
from harnesses.reference_agent.model import Action, Analytics, Api, Entity, Field, Impossible


class Change(Protocol):
    """One change."""

    def apply(self, api: Api) -> None:
        """Alter the API. Raises :class:`Impossible`."""
        ...


def _new(name: str, there: Iterator[str], what: str) -> None:
    if name in there:
        raise Impossible(f'there is {what} "{name}" already')


@dataclass(frozen=True)
class AddEntity:
    """A new entity."""

    entity: Entity

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        _new(self.entity.path, (each.path for each in api.entities), "an entity with the path")
        api.entities.append(self.entity)
        for each in self.entity.fields:
            _known_target(api, each)


def _known_target(api: Api, added: Field) -> None:
    if added.target:
        api.entity(added.target)


@dataclass(frozen=True)
class DeleteEntity:
    """An entity goes, with the consequences listed."""

    entity: str
    path: str
    listed: tuple[Consequence, ...]

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        entity = api.entity(self.entity)
        _same_path(entity, self.path)
        expected = list(with_entity(api, entity))
        compare(self.listed, expected)
        carry_out(api, expected)
        api.entities.remove(entity)


def _same_path(entity: Entity, path: str) -> None:
    if entity.path != path:
        raise Impossible(f'the path of entity "{entity.name}" is {entity.path}, not {path}')


@dataclass(frozen=True)
class RenameEntity:
    """An entity gets another name; ``moves`` are the paths listed, old and new."""

    old: str
    new: str
    moves: tuple[tuple[str, str], ...]

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        entity = api.entity(self.old)
        path = f"/{self.new.lower()}"
        _new(path, (each.path for each in api.entities if each is not entity), "an entity with the path")
        before = list(entity.paths())
        entity.former_paths.append(entity.path)
        entity.name, entity.path = self.new, path
        for each in api.entities:
            for reference in each.fields:
                reference.target = self.new if reference.target == self.old else reference.target
        _compare_moves(self.moves, before, list(entity.paths()))


def _compare_moves(listed: tuple[tuple[str, str], ...], before: list[str], after: list[str]) -> None:
    expected = {(old, new) for old, new in zip(before, after, strict=True) if old != new}
    if set(listed) != expected:
        wrong = sorted(set(listed) ^ expected)
        raise Impossible("the paths that move are not those listed: " + "; ".join(f"{old} becomes {new}" for old, new in wrong))


@dataclass(frozen=True)
class AddField:
    """A new field."""

    entity: str
    field: Field

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        entity = api.entity(self.entity)
        _new(self.field.name, (each.name for each in entity.fields), f'in entity "{self.entity}" a field')
        _known_target(api, self.field)
        entity.fields.append(self.field)


@dataclass(frozen=True)
class DeleteField:
    """A field goes, with the consequences listed."""

    entity: str
    field: str
    listed: tuple[Consequence, ...]

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        entity = api.entity(self.entity)
        entity.field_named(self.field)
        expected = list(with_field(api, entity, self.field))
        compare(self.listed, expected)
        carry_out(api, [*expected, Consequence("field", self.entity, self.field)])


@dataclass(frozen=True)
class RenameField:
    """A field gets another name, everywhere; ``moves`` are the paths listed, old and new."""

    entity: str
    old: str
    new: str
    moves: tuple[tuple[str, str], ...]

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        entity = api.entity(self.entity)
        renamed = entity.field_named(self.old)
        _new(self.new, (each.name for each in entity.fields), f'in entity "{self.entity}" a field')
        before = list(entity.paths())
        self._rename_in_expressions(api)
        for action in entity.actions:
            action.field = self.new if action.field == self.old else action.field
        entity.analytics = [Analytics(self.new, each.operation) if each.field == self.old else each for each in entity.analytics]
        renamed.name = self.new
        entity.former_fields.append(self.old)
        _compare_moves(self.moves, before, list(entity.paths()))

    def _rename_in_expressions(self, api: Api) -> None:
        for owner, action in api.actions():
            scope = api.scope(owner.name, self._name)
            action.conditions = [each.mapped(scope) for each in action.conditions]
            action.effects = [each.mapped(scope) for each in action.effects]

    def _name(self, entity: str, name: str) -> str:
        return self.new if (entity, name) == (self.entity, self.old) else name


@dataclass(frozen=True)
class ChangeConstraints:
    """A field gets other bounds; those not named stay."""

    entity: str
    field: str
    bounds: dict[str, Any] = dataclasses.field(default_factory=dict)

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        api.entity(self.entity).field_named(self.field).bounds.update(self.bounds)


@dataclass(frozen=True)
class AddEnumValue:
    """An enum gets another value."""

    entity: str
    field: str
    enum: str
    value: str

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        altered = api.entity(self.entity).field_named(self.field)
        if altered.enum != self.enum:
            raise Impossible(f'the enum type of field "{self.field}" of entity "{self.entity}" is "{altered.enum}", not "{self.enum}"')
        _new(self.value, iter(altered.values), f'in enum "{self.enum}" a value')
        altered.values.append(self.value)


@dataclass(frozen=True)
class AddAnalytics:
    """A new analytics endpoint."""

    entity: str
    path: str
    analytics: Analytics

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        entity = api.entity(self.entity)
        _same_path(entity, self.path)
        if self.analytics.field:
            entity.field_named(self.analytics.field)
        _new(self.analytics.path(entity.path), (each.path(entity.path) for each in entity.analytics), "an endpoint")
        entity.analytics.append(self.analytics)


@dataclass(frozen=True)
class ActionRef:
    """An action as a request names it."""

    name: str
    entity: str
    path: str

    def find(self, api: Api) -> Action:
        """The action. Raises :class:`Impossible` when there is none, or when its path is another."""
        self.owner(api)
        return api.entity(self.entity).action_named(self.name)

    def owner(self, api: Api) -> Entity:
        """Its entity, once the path is right."""
        entity = api.entity(self.entity)
        _same_path(entity, self.path)
        return entity


@dataclass(frozen=True)
class AddAction:
    """A new action."""

    ref: ActionRef
    action: Action

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        entity = self.ref.owner(api)
        _new(self.action.name, (each.name for each in entity.actions), f'in entity "{entity.name}" an action')
        entity.field_named(self.action.field)
        for each in (*self.action.conditions, *self.action.effects):
            api.mentions(entity, each)
        entity.actions.append(self.action)


@dataclass(frozen=True)
class AddRule:
    """A condition or an effect comes in behind those that are there."""

    ref: ActionRef
    rule: Condition | Effect
    conditions: bool

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        action = self.ref.find(api)
        api.mentions(api.entity(self.ref.entity), self.rule)
        rules: list[Any] = action.conditions if self.conditions else action.effects
        rules.append(self.rule)


@dataclass(frozen=True)
class Remove:
    """One thing of an entity goes that nothing depends on: an analytics endpoint, an action, a condition or an effect."""

    entity: str
    path: str
    what: Consequence

    def apply(self, api: Api) -> None:
        """See :class:`Change`."""
        _same_path(api.entity(self.entity), self.path)
        carry_out(api, [self.what])
