"""Operators on when an action is taken: existence, from-values, conditions (B1, B2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import attrs

from stamina.exchange import Request, Response
from stamina.rest.expressions import (
    Comparison,
    FieldRef,
    Literal,
    NullCheck,
)
from stamina.rest.mutants.exhaustion import nothing_tells
from stamina.rest.mutants.flawed import Builder, Flawed, flawed, tampering
from stamina.rest.mutants.mutant import CRASH, Fault, Faults, Ground, Operator, operator, serving, with_entity
from stamina.rest.mutants.proofs import same_when_reduced
from stamina.rest.resources import Resource
from stamina.rest.schema import Action, Entity, EnumType, State
from stamina.rest.semantics import Refusal, View, is_met
from stamina.rest.truth import error, ok
from stamina.rest.values import may_be_null


def each_action(ground: Ground) -> Iterator[tuple[Entity, Action]]:
    """Every action with its entity."""
    return ((entity, action) for entity in ground.state.entities for action in entity.actions)


def action_fault(entity: Entity, action: Action, detail: str, build: Builder, equivalent: str = "", prove: Callable[[], str] = str) -> Fault:
    """A fault in one action."""
    return Fault(("action", entity.name, action.name), f"{entity.name}.{action.name}: {detail}", build, equivalent, prove)


def altered(ground: Ground, entity: Entity, action: Action, detail: str, equivalent: str = "", **news: Any) -> Fault:
    """The fault of a server that takes an action for another one."""
    new = attrs.evolve(action, **news)
    actions = tuple(new if each is action else each for each in entity.actions)
    build = serving(with_entity(ground.state, entity, attrs.evolve(entity, actions=actions)))
    return action_fault(entity, action, detail, build, equivalent, partial(_no_difference, ground.state, entity, action, new))


def _no_difference(state: State, entity: Entity, right: Action, wrong: Action) -> str:
    """Why a server that takes one action for another cannot be told from a right one; empty when it can be, or when that is not known."""
    return same_when_reduced(right, wrong) or nothing_tells(state, entity, right, wrong)


def replaced(items: tuple[Any, ...], index: int, *news: Any) -> tuple[Any, ...]:
    """The items with others in the place of one."""
    return (*items[:index], *news, *items[index + 1 :])


class Acting(Flawed):
    """A server with a fault in one action."""

    def __init__(self, state: State, entity: str, member: str) -> None:
        super().__init__(state, entity, member)
        self._mine = False

    def _act(self, resource: Resource, key: str, name: str) -> Response:
        self._mine = self._is_flawed(resource) and name == self._member
        return super()._act(resource, key, name)


# --- existence and state


@operator("action-missing", "B1")
def action_missing(ground: Ground) -> Faults:
    """An action is not served."""
    for entity, action in each_action(ground):
        rest = attrs.evolve(entity, actions=tuple(each for each in entity.actions if each is not action))
        yield action_fault(entity, action, "not served", serving(with_entity(ground.state, entity, rest)))


@operator("from-value-missing", "B1")
def from_value_missing(ground: Ground) -> Faults:
    """An action is refused from one of its values."""
    for entity, action in each_action(ground):
        for index, value in enumerate(action.from_values):
            yield altered(ground, entity, action, f"not from {value}", from_values=replaced(action.from_values, index))


@operator("from-value-extra", "B1")
def from_value_extra(ground: Ground) -> Faults:
    """An action is taken from a value from which it cannot start."""
    for entity, action in each_action(ground):
        kind = entity.field(action.enum_field).type
        assert isinstance(kind, EnumType)
        for value in kind.values:
            if value not in action.from_values:
                yield altered(ground, entity, action, f"from {value} too", _refused_anyway(action, value), from_values=(*action.from_values, value))


def _refused_anyway(action: Action, value: str | None) -> str:
    """Why an action that wrongly starts from a value is refused nevertheless: by a condition on the enum field itself, and then either status is right."""
    for number, condition in enumerate(action.conditions, 1):
        own = FieldRef(action.enum_field)
        match condition:
            case Comparison(left, _, Literal()) | NullCheck(left) if left == own and not is_met(condition, View({action.enum_field: value}, {}, {})):
                return f"B1: condition {number} refuses that value, and for an action with both wrong 400 and 409 are right"
            case _:
                pass
    return ""


@operator("from-null", "B1")
def from_null(ground: Ground) -> Faults:
    """An action is taken from null."""
    for entity, action in each_action(ground):
        if may_be_null(entity.field(action.enum_field)):
            yield altered(ground, entity, action, "from null too", _refused_anyway(action, None), from_values=(*action.from_values, None))


@operator("to-value-wrong", "B1")
def to_value_wrong(ground: Ground) -> Faults:
    """An action leads to another value."""
    for entity, action in each_action(ground):
        kind = entity.field(action.enum_field).type
        assert isinstance(kind, EnumType)
        for value in kind.values:
            if value != action.to_value:
                yield altered(ground, entity, action, f"to {value}", to_value=value)


def _tampered(name: str, rule: str, summary: str, tamper: Callable[[Response], Response]) -> Operator:
    """An operator on the answers of one action."""

    def faults(ground: Ground) -> Faults:
        for entity, action in each_action(ground):

            def changed(request: Request, response: Response, segment: str = entity.segment, last: str = action.name) -> Response:
                parts = request.path.split("/")
                return tamper(response) if parts[1] == segment and len(parts) == 4 and parts[3] == last else response

            why = _never_in_a_wrong_state(entity, action) if name.startswith("wrong-state") else ""
            yield action_fault(entity, action, summary, tampering(ground.state, changed), why)

    return Operator(name, rule, summary, faults)


def _never_in_a_wrong_state(entity: Entity, action: Action) -> str:
    field = entity.field(action.enum_field)
    assert isinstance(field.type, EnumType)
    every = set(field.type.values) <= set(action.from_values) and not may_be_null(field)
    return "B1: the action can start from every value that its enum field can have" if every else ""


def _instead(seen: int, answer: Response) -> Callable[[Response], Response]:
    return lambda response: answer if response.status == seen else response


ANSWERS: Final = (
    _tampered("existence-late", "B1", "an unknown id is answered with 400, as a wrong state", _instead(404, error(400, "wrong state"))),
    _tampered("existence-late-conflict", "B1", "an unknown id is answered with 409", _instead(404, error(409, "condition"))),
    _tampered("existence-crashes", "B1", "an unknown id is answered with 500", _instead(404, CRASH)),
    _tampered("wrong-state-crashes", "B1", "a wrong state is answered with 500", _instead(400, CRASH)),
    _tampered("wrong-state-is-422", "B1", "a wrong state is answered with 422", _instead(400, error(422, "wrong state"))),
    _tampered("wrong-state-answers-well", "B1", "a wrong state is answered with 200", _instead(400, ok({}))),
    _tampered("action-answers-nothing", "B1", "an action that is taken answers 204", _instead(200, Response(204))),
    _tampered("action-answers-empty", "B1", "an action that is taken answers with an empty object", _instead(200, ok({}))),
)


def _unmet(name: str, summary: str, status: int) -> Operator:
    def faults(ground: Ground) -> Faults:
        for entity, action in each_action(ground):
            why = "" if action.conditions else "B1: an action without conditions is never refused for one"
            yield action_fault(entity, action, summary, flawed(_Unmet, ground.state, entity.name, action.name, status), why)

    return Operator(name, "B1", summary, faults)


class _Unmet(Acting):
    """Answers an unmet condition with another status."""

    def __init__(self, state: State, entity: str, member: str, status: int) -> None:
        super().__init__(state, entity, member)
        self._status = status

    def _refused(self, reason: Refusal) -> Response:
        if self._mine and reason is Refusal.UNMET_CONDITION:
            return error(self._status, "refused")
        return super()._refused(reason)


UNMET: Final = (
    _unmet("unmet-is-400", "an unmet condition is answered with 400", 400),
    _unmet("unmet-is-422", "an unmet condition is answered with 422", 422),
    _unmet("unmet-crashes", "an unmet condition is answered with 500", 500),
    _unmet("unmet-answers-well", "an unmet condition is answered with 200, though nothing is done", 200),
)


OPERATORS: Final = (
    action_missing,
    from_value_missing,
    from_value_extra,
    from_null,
    to_value_wrong,
    *ANSWERS,
    *UNMET,
)
