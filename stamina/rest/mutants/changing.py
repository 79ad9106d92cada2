"""Operators on the changes that led to a state: one that this turn asks for not made, an earlier one undone, what is removed still there (D2-D6, H6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import attrs

from stamina.errors import InvalidChange, InvalidState
from stamina.exchange import Request, Response
from stamina.rest.apply import transformed
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
from stamina.rest.expression_rules import check_condition, check_effect
from stamina.rest.mutants.acting import replaced
from stamina.rest.mutants.effects import idle
from stamina.rest.mutants.exhaustion import nothing_tells
from stamina.rest.mutants.flawed import Builder, showing, tampering
from stamina.rest.mutants.mutant import Fault, Faults, Ground, Operator, each_field, field_target, guarded, operator, place, serving, with_entity, with_field
from stamina.rest.mutants.proofs import effect_without_trace, implied, same_but_for_order, same_when_reduced
from stamina.rest.schema import Action, Entity, EnumType, Field, State, StringType
from stamina.rest.semantics import Object
from stamina.rest.suite.removed import analytics_label, analytics_path
from stamina.rest.truth import Truth, ok
from stamina.suite import Target

_RULES: Final[tuple[tuple[type[Change], str], ...]] = (
    (AddEntity, "D6"),
    (DeleteEntity, "D2"),
    (RenameEntity, "D3"),
    (AddField, "D4"),
    (DeleteField, "D2"),
    (RenameField, "D3"),
    (ChangeConstraints, "D5"),
    (AddAnalytics, "A1"),
    (DeleteAnalytics, "H6"),
    (AddAction, "B1"),
    (RemoveAction, "H6"),
    (AddCondition, "D6"),
    (RemoveCondition, "D6"),
    (AddEffect, "D6"),
    (RemoveEffect, "D6"),
    (AddEnumValue, "S9"),
)


def _words(kind: type[Change]) -> str:
    name = kind.__name__
    return "".join(f"-{each.lower()}" if each.isupper() else each for each in name).strip("-")


def _not_made(kind: type[Change], rule: str) -> Operator:
    """The operator for one type of change."""

    def faults(ground: Ground) -> Faults:
        for index, made in enumerate(ground.history):
            if made.turn == ground.turn and isinstance(made.change, kind):
                yield from _undone(ground, index, "not made")

    name = _words(kind)
    return Operator(f"{name}-not-made", rule, f"the change {name.replace('-', ' ')} of this turn is not made", faults)


def _earlier(ground: Ground) -> list[Callable[[], Iterator[Fault]]]:
    """One place for each change of an earlier turn."""
    return [partial(_undone, ground, index, f"of turn {made.turn} undone") for index, made in enumerate(ground.history) if made.turn != ground.turn]


def _all_earlier(ground: Ground) -> Iterator[Fault]:
    return (fault for find in _earlier(ground) for fault in find())


earlier_change_undone: Final = Operator("earlier-change-undone", "H6", "a change of an earlier turn is undone", _all_earlier, _earlier)


def _undone(ground: Ground, index: int, detail: str) -> Iterator[Fault]:
    """The fault of a server that lacks one change; none when a later change has overtaken it."""
    made = ground.history[index]
    state = without(ground, index)
    if state is not None and _essence(state) != _essence(ground.state):
        what = f"{_words(type(made.change))} {_named(made.change)} {detail}"
        why = _no_difference(ground.state, state)
        yield Fault(_target(made.change), what, serving(state), why, partial(_no_difference, ground.state, state, thoroughly=True))


def _no_difference(right: State, wrong: State, *, thoroughly: bool = False) -> str:
    """Why a client cannot tell two states apart that differ in one entity; empty when it can, as far as is known.

    Values are gone through only when it is to be decided ``thoroughly``.
    """
    pairs = [(one, wrong.find(one.name)) for one in right.entities]
    differing = [(one, other) for one, other in pairs if other is None or _owned(one) != _owned(other)]
    if len(differing) != 1 or len(wrong.entities) != len(right.entities):
        return ""
    one, other = differing[0]
    if other is None or set(one.fields) != set(other.fields):
        return ""
    return _undescribed(one, other) or _acting_alike(right, one, other, thoroughly=thoroughly)


def _undescribed(right: Entity, wrong: Entity) -> str:
    """What is there too much was never described under this name, so it was not freed under it either."""
    analytics, actions = set(wrong.analytics) - set(right.analytics), set(wrong.actions) - set(right.actions)
    known = {*right.retired.analytics, *right.retired.actions, *(action.name for action in right.actions)}
    more = set(wrong.analytics) >= set(right.analytics) and set(wrong.actions) >= set(right.actions)
    if more and known.isdisjoint(analytics) and known.isdisjoint(action.name for action in actions):
        return "H6, H7: an endpoint may exist under a path that no text has ever described or freed"
    return ""


def _acting_alike(state: State, right: Entity, wrong: Entity, *, thoroughly: bool) -> str:
    """The two differ in actions alone, and each of those does the same in both."""
    if set(right.analytics) != set(wrong.analytics) or len(right.actions) != len(wrong.actions):
        return ""
    why = ""
    for action in right.actions:
        other = wrong.find_action(action.name)
        if other is None or not _is_sound(state, right, other):
            return ""
        if other != action:
            why = _idle_effect(state, right, action, other) or same_but_for_order(action, other) or same_when_reduced(action, other) or implied(action, other)
            if not why and thoroughly:
                why = nothing_tells(state, right, action, other)
            if not why:
                return ""
    return why


def _is_sound(state: State, entity: Entity, action: Action) -> bool:
    """Whether an action mentions nothing that is not there: a change that is left out may leave others without what they rest on."""
    try:
        for condition in action.conditions:
            check_condition(state, entity, condition)
        for effect in action.effects:
            check_effect(state, entity, action, effect)
    except InvalidState:
        return False
    return True


def _idle_effect(state: State, entity: Entity, action: Action, other: Action) -> str:
    """The two differ in one effect, which never changes anything."""
    if attrs.evolve(other, effects=()) != attrs.evolve(action, effects=()):
        return ""
    longer, shorter = sorted((action, other), key=lambda each: -len(each.effects))
    for index, effect in enumerate(longer.effects):
        if effect not in shorter.effects and replaced(longer.effects, index) == shorter.effects:
            return effect_without_trace(longer, index) or idle(Ground(state), (entity, longer, index, effect))
    return ""


def without(ground: Ground, index: int) -> State | None:
    """The state as it would be had one change of its history not been made; later ones that rest on it are not made either. None: nothing is left of it.

    A rename is made with the old name coming back in the end, so that the later changes find what they name.
    """
    made = ground.history[index]
    if isinstance(made.change, RenameEntity | RenameField):
        return _renamed_back(ground, index, made.change)
    state = made.before
    for later in ground.history[index + 1 :]:
        if _repeats(state, later.change):
            continue
        try:
            state = transformed(state, later.change)
        except (InvalidChange, KeyError):
            continue
    return state


def _repeats(state: State, change: Change) -> bool:
    """Whether the change adds what is there: an action has no two equal conditions or effects (D6)."""
    if not isinstance(change, AddCondition | AddEffect):
        return False
    entity = state.find(change.entity)
    action = None if entity is None else entity.find_action(change.action)
    if action is None:
        return False
    return change.condition in action.conditions if isinstance(change, AddCondition) else change.effect in action.effects


def _renamed_back(ground: Ground, index: int, change: RenameEntity | RenameField) -> State | None:
    entity = _name_now(ground, index, change.new_name if isinstance(change, RenameEntity) else change.entity)
    found = ground.state.find(entity)
    if isinstance(change, RenameEntity):
        # A later rename has overtaken it when the name that it gave is not the one of today.
        return transformed(ground.state, RenameEntity(entity, change.entity)) if found is not None and entity == change.new_name else None
    if found is None or found.find_field(change.new_name) is None:
        return None
    return transformed(ground.state, RenameField(entity, change.new_name, change.field))


def _name_now(ground: Ground, index: int, name: str) -> str:
    """What an entity is called today that had this name after a change."""
    for later in ground.history[index + 1 :]:
        if isinstance(later.change, RenameEntity) and later.change.entity == name:
            name = later.change.new_name
    return name


def _essence(state: State) -> object:
    """A state without the order of what it holds and without names that were freed."""
    return {entity.name: _owned(entity) for entity in state.entities}


def _owned(entity: Entity) -> object:
    return set(entity.fields), set(entity.analytics), set(entity.actions)


def _target(change: Change) -> Target:
    match change:
        case AddEntity(entity):
            return ("entity", entity.name)
        case RenameEntity(_, name):
            return ("entity", name)
        case DeleteEntity(name):
            return ("retired-segment", name.lower())
        case AddField(entity, field):
            return ("field", entity, field.name)
        case RenameField(entity, _, name) | ChangeConstraints(entity, name) | AddEnumValue(entity, name):
            return ("field", entity, name)
        case DeleteField(entity, name):
            return ("retired-field", entity, name)
        case AddAnalytics(entity, analytics):
            return ("analytics", entity, analytics.field or "", analytics.operation.value)
        case DeleteAnalytics(entity, analytics):
            return ("retired-analytics", entity, analytics.field or "", analytics.operation.value)
        case RemoveAction(entity, action):
            return ("retired-action", entity, action)
        case AddAction(entity, action):
            return ("action", entity, action.name)
        case _:
            return ("action", change.entity, change.action)


def _named(change: Change) -> str:
    return ".".join(_target(change)[1:])


# --- what is gone and is still there (H6)


@operator("old-segment-alive", "H6")
def old_segment_alive(ground: Ground) -> Faults:
    """The path of a renamed or deleted entity still answers."""
    for retired in ground.state.retired:
        entity = Entity(f"{retired.segment.capitalize()}", (Field("name", StringType()),))
        assert entity.segment == retired.segment
        yield Fault(
            ("retired-segment", retired.segment), f"/{retired.segment} answers", serving(attrs.evolve(ground.state, entities=(*ground.state.entities, entity)))
        )


@operator("old-segment-aliased", "H6")
def old_segment_aliased(ground: Ground) -> Faults:
    """The path of a renamed entity leads to the entity."""
    for index, made in enumerate(ground.history):
        if isinstance(made.change, RenameEntity):
            entity = ground.state.find(_name_now(ground, index, made.change.new_name))
            if entity is not None:
                old = made.change.entity.lower()
                yield Fault(("retired-segment", old), f"/{old} leads to /{entity.segment}", _aliased(ground.state, f"/{old}", f"/{entity.segment}"))


@operator("old-analytics-path-alive", "H6")
def old_analytics_path_alive(ground: Ground) -> Faults:
    """The analytics under a renamed entity's old path still answer."""
    for retired in ground.state.retired:
        for endpoint in retired.analytics:
            path = analytics_path(retired.segment, endpoint)
            yield Fault(("retired-segment", retired.segment), f"{path} answers", _answering(ground.state, path))


@operator("old-analytics-alive", "H6")
def old_analytics_alive(ground: Ground) -> Faults:
    """A removed analytics endpoint still answers."""
    for entity in ground.state.entities:
        for endpoint in entity.retired.analytics:
            target = ("retired-analytics", entity.name, endpoint.field or "", endpoint.operation.value)
            yield Fault(target, f"{entity.name} {analytics_label(endpoint)} answers", _answering(ground.state, analytics_path(entity.segment, endpoint)))


@operator("old-field-as-null", "H6")
def old_field_as_null(ground: Ground) -> Faults:
    """The key of a removed or renamed field is there with null."""
    for entity in ground.state.entities:
        for name in entity.retired.fields:

            def leak(each: Object, name: str = name) -> Object:
                return {**each, name: None}

            yield Fault(("retired-field", entity.name, name), f"{entity.name}.{name} is null", showing(ground.state, entity, leak))


@operator("old-field-alive", "H6")
def old_field_alive(ground: Ground) -> Faults:
    """A removed field is still served, as an optional one."""
    for entity in ground.state.entities:
        for name in entity.retired.fields:
            old = Field(name, StringType(), required=False, nullable=True)
            state = with_entity(ground.state, entity, attrs.evolve(entity, fields=(*entity.fields, old)))
            yield Fault(("retired-field", entity.name, name), f"{entity.name}.{name} is served", serving(state))


@operator("old-action-alive", "H6")
def old_action_alive(ground: Ground) -> Faults:
    """A removed action still answers."""
    for entity in ground.state.entities:
        for name in entity.retired.actions:

            def alive(request: Request, response: Response, segment: str = entity.segment, name: str = name) -> Response:
                parts = request.path.split("/")
                return ok({}) if parts[1] == segment and len(parts) == 4 and parts[3] == name else response

            yield Fault(("retired-action", entity.name, name), f"{entity.name}.{name} answers", tampering(ground.state, alive))


@operator("rename-leaks-into-fields", "D3")
def rename_leaks_into_fields(ground: Ground) -> Faults:
    """Renaming an entity renames the fields that refer to it."""
    for index, made in enumerate(ground.history):
        if isinstance(made.change, RenameEntity):
            entity = _name_now(ground, index, made.change.new_name)
            yield from _leaks(ground, entity)


def _leaks(ground: Ground, renamed: str) -> Iterator[Fault]:
    for entity in ground.state.entities:
        for field in entity.fields:
            new = renamed.lower()
            if getattr(field.type, "target", None) == renamed and entity.find_field(new) is None:
                state = transformed(ground.state, RenameField(entity.name, field.name, new))
                yield Fault(("field", entity.name, field.name), f"{entity.name}.{field.name} is called {new}", serving(state))


@operator("rename-leaks-into-enum-values", "D3")
def rename_leaks_into_enum_values(ground: Ground) -> Faults:
    """Renaming an entity or a field renames it in the values of enums, too."""
    for made in ground.history:
        if isinstance(made.change, RenameEntity | RenameField):
            old = (made.change.entity if isinstance(made.change, RenameEntity) else made.change.field).lower()
            for entity, field in each_field(ground):
                if isinstance(field.type, EnumType) and any(old in value.split("_") for value in field.type.values):
                    values = tuple(value.replace(old, made.change.new_name.lower()) for value in field.type.values)
                    state = with_field(ground.state, entity, field, attrs.evolve(field, type=attrs.evolve(field.type, values=values)))
                    yield Fault(field_target(entity, field), f"{place(entity, field)}: {old} is {made.change.new_name.lower()} in its values", serving(state))


def _aliased(state: State, old: str, new: str) -> Builder:
    def handle(truth: Truth, request: Request) -> Response:
        if request.path == old or request.path.startswith(f"{old}/"):
            request = attrs.evolve(request, path=new + request.path.removeprefix(old))
        return truth.handle(request)

    return lambda: guarded(partial(handle, Truth(state)))


def _answering(state: State, path: str) -> Builder:
    return tampering(state, lambda request, response: ok({"result": 0}) if request.path == path else response)


OPERATORS: Final = (
    *(_not_made(kind, rule) for kind, rule in _RULES),
    earlier_change_undone,
    old_segment_alive,
    old_segment_aliased,
    old_analytics_path_alive,
    old_analytics_alive,
    old_field_as_null,
    old_field_alive,
    old_action_alive,
    rename_leaks_into_fields,
    rename_leaks_into_enum_values,
)
