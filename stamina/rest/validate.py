"""The rules that every state keeps (contract S2-S9, D5, B2, B3, B5).

``problems`` looks at a whole state. ``problems_after`` looks at what one change can have broken in a state that was valid before; a property test holds
the two to the same answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from stamina.errors import InvalidState
from stamina.rest.constraints import bounds_problem, value_problem
from stamina.rest.expression_rules import check_condition, check_effect
from stamina.rest.mentions import mentioned_by_action
from stamina.rest.naming import name_problem, segment_problem, type_name_problem
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
)
from stamina.rest.witness import exercisable

T = TypeVar("T", bound=Hashable)


def problems(state: State) -> list[InvalidState]:
    """Every rule that the state breaks, in the order of the state; whether actions can be exercised is asked only when the rest is right."""
    found = [*_shared_names(state), *(problem for entity in state.entities for problem in _entity(state, entity))]
    return found or [problem for entity in state.entities for action in entity.actions for problem in _exercise(state, entity, action)]


def check(state: State) -> None:
    """Raise InvalidState, the first of :func:`problems`, when there is one."""
    for problem in problems(state):
        raise problem


def problems_after(before: State, after: State, *, renaming: bool = False) -> list[InvalidState]:
    """The same as ``problems(after)`` where ``before`` is valid and one change led from it to ``after``.

    Args:
        renaming: the change only renamed something, which leaves every action as exercisable as it was.
    """
    unchanged = {id(entity) for entity in before.entities}
    touched = {entity.name for entity in after.entities if id(entity) not in unchanged}
    at_hand = [entity for entity in after.entities if entity.name in touched or _refers_to(entity, touched)]
    found = [*_shared_names(after), *(problem for entity in at_hand for problem in _entity(after, entity))]
    if found or renaming:
        return found
    return [problem for entity, action in _at_risk(before, after, at_hand) for problem in _exercise(after, entity, action)]


def _refers_to(entity: Entity, names: set[str]) -> bool:
    return any(isinstance(field.type, ReferenceType | ReferenceListType) and field.type.target in names for field in entity.fields)


def _at_risk(before: State, after: State, entities: Iterable[Entity]) -> Iterator[tuple[Entity, Action]]:
    """The actions that are new or altered, or that mention a field that is."""
    old_actions = {id(action) for entity in before.entities for action in entity.actions}
    old_fields = {id(field) for entity in before.entities for field in entity.fields}
    altered = {(entity.name, field.name) for entity in after.entities for field in entity.fields if id(field) not in old_fields}
    for entity in entities:
        for action in entity.actions:
            if id(action) not in old_actions or not altered.isdisjoint(mentioned_by_action(entity, action)):
                yield entity, action


def _exercise(state: State, entity: Entity, action: Action) -> Iterator[InvalidState]:
    problem = exercisable(state, entity, action)
    if problem is not None:
        yield problem


def _shared_names(state: State) -> Iterator[InvalidState]:
    """S1, S5 and S9 over the whole state: path segments, and the namespace of entities and enum types."""
    if not state.entities:
        yield InvalidState("S1", "a state has at least one entity")
    segments = [entity.segment for entity in state.entities] + [retired.segment for retired in state.retired]
    for segment in _repeated(segments):
        yield InvalidState("S5", f"the path segment {segment!r} is taken or was freed earlier")
    names = [entity.name for entity in state.entities]
    names += [field.type.name for entity in state.entities for field in entity.fields if isinstance(field.type, EnumType)]
    for name in _repeated(names):
        yield InvalidState("S5", f"{name!r} names more than one entity or enum type")


def _entity(state: State, entity: Entity) -> Iterator[InvalidState]:
    for problem in (type_name_problem(entity.name), segment_problem(entity.name)):
        if problem:
            yield InvalidState("S5", f"entity {problem}")
    yield from _owned_names(entity)
    for field in entity.fields:
        for rule, reason in _field(state, field):
            yield InvalidState(rule, f"{entity.name}.{field.name}: {reason}")
    for analytics in entity.analytics:
        if problem := _analytics(entity, analytics):
            yield InvalidState("A1", f"{entity.name}, analytics {analytics.operation.value}: {problem}")
    for action in entity.actions:
        yield from _action(state, entity, action)


def _owned_names(entity: Entity) -> Iterator[InvalidState]:
    """S5 within one owner; a freed name is taken for ever."""
    retired = entity.retired
    for name in _repeated([field.name for field in entity.fields] + list(retired.fields)):
        yield InvalidState("S5", f"{entity.name}: the field name {name!r} is taken or was freed earlier")
    for name in _repeated([action.name for action in entity.actions] + list(retired.actions)):
        yield InvalidState("S5", f"{entity.name}: the action name {name!r} is taken or was freed earlier")
    for analytics in _repeated(entity.analytics + retired.analytics):
        yield InvalidState("S5", f"{entity.name}: analytics {analytics.operation.value} of {analytics.field} is there or was freed earlier")


def _repeated(names: Iterable[T]) -> Iterator[T]:
    seen: set[T] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


def _field(state: State, field: Field) -> Iterator[tuple[str, str]]:
    """Rule and reason of everything that is wrong with a field."""
    if problem := name_problem(field.name):
        yield "S5", problem
    if problem := bounds_problem(field.type):
        yield "S3", problem
    match field.type:
        case ReferenceType() | ReferenceListType():
            yield from _reference(state, field, field.type)
        case EnumType():
            yield from _enum(field.type)
    if field.default is not None and (problem := value_problem(field.type, field.default)):
        yield "S3", f"the default is outside the field: {problem}"


def _reference(state: State, field: Field, kind: ReferenceType | ReferenceListType) -> Iterator[tuple[str, str]]:
    if state.find(kind.target) is None:
        yield "S3", f"refers to {kind.target!r}, which does not exist"
    if isinstance(kind, ReferenceType) and not field.nullable:
        yield "S3", "a single reference is nullable"
    if isinstance(kind, ReferenceListType) and (field.required or field.nullable):
        yield "S3", "a reference list is neither required nor nullable"


def _enum(kind: EnumType) -> Iterator[tuple[str, str]]:
    if problem := type_name_problem(kind.name):
        yield "S5", f"enum type {problem}"
    for value in kind.values:
        if problem := name_problem(value):
            yield "S5", f"enum value {problem}"
    for name in _repeated(kind.values):
        yield "S5", f"the enum value {name!r} is there twice"


def _analytics(entity: Entity, analytics: Analytics) -> str | None:
    if analytics.operation is AnalyticsOperation.COUNT:
        return None if analytics.field is None else "count has no field"
    field = entity.find_field(analytics.field) if analytics.field is not None else None
    if field is None:
        return f"there is no field {analytics.field!r}"
    return None if isinstance(field.type, IntegerType | FloatType) else f"{field.name!r} is not numeric"


def _action(state: State, entity: Entity, action: Action) -> Iterator[InvalidState]:
    place = f"{entity.name}.{action.name}"
    if reason := name_problem(action.name):
        yield InvalidState("S5", f"{place}: {reason}")
    if reason := _transition(entity, action):
        yield InvalidState("B1", f"{place}: {reason}")
    for number, condition in enumerate(action.conditions, start=1):
        try:
            check_condition(state, entity, condition)
        except InvalidState as problem:
            yield InvalidState(problem.rule, f"{place}, condition {number}: {problem.reason}")
    for number, effect in enumerate(action.effects, start=1):
        try:
            check_effect(state, entity, action, effect)
        except InvalidState as problem:
            yield InvalidState(problem.rule, f"{place}, effect {number}: {problem.reason}")
    if any(_repeated(action.conditions)) or any(_repeated(action.effects)):
        yield InvalidState("D6", f"{place}: two conditions or two effects are equal")


def _transition(entity: Entity, action: Action) -> str | None:
    field = entity.find_field(action.enum_field)
    if field is None or not isinstance(field.type, EnumType):
        return f"{action.enum_field!r} is not an enum field"
    if not action.from_values or any(_repeated(action.from_values)):
        return "from-values are one or more different values"
    for value in (*action.from_values, action.to_value):
        if value not in field.type.values:
            return f"{value!r} is not a value of {action.enum_field!r}"
    return None
