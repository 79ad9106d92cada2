"""What goes with something that is deleted. The agent works it out by the rules of README.md, and compares it with what the request lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from harnesses.reference_agent.expressions import Condition, Effect
from harnesses.reference_agent.model import Analytics, Api, Entity, Impossible


@dataclass(frozen=True)
class Consequence:
    """One thing that goes.

    Attributes:
        kind: ``field``, ``analytics``, ``action``, ``condition`` or ``effect``.
        entity: its entity; for analytics the entity's path, which is all that the text names.
        name: of the field or action.
        what: the endpoint, the condition or the effect.
    """

    kind: str
    entity: str
    name: str = ""
    what: Analytics | Condition | Effect | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.entity, self.name, "" if self.what is None else str(self.what))))


def with_entity(api: Api, entity: Entity) -> Iterator[Consequence]:
    """All that goes with an entity, except what is inside its own fields."""
    yield from (Consequence("analytics", entity.path, what=each) for each in entity.analytics)
    yield from (Consequence("action", entity.name, each.name) for each in entity.actions)
    fields = {(other.name, each.name) for other in api.entities if other is not entity for each in other.fields if each.target == entity.name}
    yield from (Consequence("field", owner, name) for owner, name in sorted(fields))
    for other, action in api.actions():
        if other is not entity:
            yield from _rules(api, other, action.name, fields)


def with_field(api: Api, entity: Entity, name: str) -> Iterator[Consequence]:
    """All that goes with a field."""
    yield from (Consequence("analytics", entity.path, what=each) for each in entity.analytics if each.field == name)
    for other, action in api.actions():
        if other is entity and action.field == name:
            yield Consequence("action", entity.name, action.name)
        else:
            yield from _rules(api, other, action.name, {(entity.name, name)})


def _rules(api: Api, entity: Entity, name: str, gone: set[tuple[str, str]]) -> Iterator[Consequence]:
    """The conditions and effects of an action that mention a field that is gone."""
    action = entity.action_named(name)
    yield from (Consequence("condition", entity.name, name, each) for each in action.conditions if api.mentions(entity, each) & gone)
    yield from (Consequence("effect", entity.name, name, each) for each in action.effects if api.mentions(entity, each) & gone)


def compare(listed: Iterable[Consequence], expected: Iterable[Consequence]) -> None:
    """Raises :class:`Impossible` when a request lists other consequences than follow from the rules."""
    said, due = Counter(listed), Counter(expected)
    for one in said - due:
        raise Impossible(f"the request lists what the rules would not take away: {one}")
    for one in due - said:
        raise Impossible(f"the request does not list what the rules take away: {one}")


def carry_out(api: Api, consequences: Iterable[Consequence]) -> None:
    """Take these away. Fields go last, for expressions can only be understood while their fields are there."""
    for one in sorted(consequences, key=lambda each: each.kind == "field"):
        _REMOVERS[one.kind](api, one)


def _take(rules: list[Any], what: Any, one: Consequence) -> None:
    if what not in rules:
        raise Impossible(f"there is no {one}")
    rules.remove(what)


def _remove_analytics(api: Api, one: Consequence) -> None:
    entity = next((each for each in api.entities if each.path == one.entity), None)
    if entity is None:
        raise Impossible(f"there is no entity with the path {one.entity}")
    _take(entity.analytics, one.what, one)


def _remove_action(api: Api, one: Consequence) -> None:
    entity = api.entity(one.entity)
    entity.actions.remove(entity.action_named(one.name))


def _remove_condition(api: Api, one: Consequence) -> None:
    _take(api.entity(one.entity).action_named(one.name).conditions, one.what, one)


def _remove_effect(api: Api, one: Consequence) -> None:
    _take(api.entity(one.entity).action_named(one.name).effects, one.what, one)


def _remove_field(api: Api, one: Consequence) -> None:
    entity = api.entity(one.entity)
    entity.fields.remove(entity.field_named(one.name))
    entity.former_fields.append(one.name)


_REMOVERS = {
    "analytics": _remove_analytics,
    "action": _remove_action,
    "condition": _remove_condition,
    "effect": _remove_effect,
    "field": _remove_field,
}
