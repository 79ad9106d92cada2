"""Faulty servers, one fault each: states that are a little wrong, and ground truths that behave wrongly."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from stamina.exchange import Request, Response
from stamina.rest import semantics
from stamina.rest.expressions import Comparator, Comparison, Compute, Condition, Effect, IncrementBy, Literal, NullCheck, OnEach, Quantified, Quantifier, SetTo
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
    StringType,
)
from stamina.rest.testdata import UNIT, step_datetime
from stamina.rest.truth import Truth

Fault = tuple[str, str, State]
"""What is wrong, the family that must notice, and the state that the faulty server serves."""

_OPPOSITE = {
    Comparator.EQ: Comparator.NE,
    Comparator.NE: Comparator.EQ,
    Comparator.LT: Comparator.GE,
    Comparator.LE: Comparator.GT,
    Comparator.GT: Comparator.LE,
    Comparator.GE: Comparator.LT,
}
_OFF_BY_ONE = {Comparator.LT: Comparator.LE, Comparator.LE: Comparator.LT, Comparator.GT: Comparator.GE, Comparator.GE: Comparator.GT}


def state_faults(state: State) -> Iterator[Fault]:
    """Every one-step misreading of a state that a client can tell apart."""
    for entity in state.entities:
        for family, what, faulty in _entity_faults(entity):
            yield f"{entity.name}: {what}", family, attrs.evolve(state, entities=tuple(faulty if each is entity else each for each in state.entities))


def _entity_faults(entity: Entity) -> Iterator[tuple[str, str, Entity]]:
    for field in entity.fields:
        for family, what, faulty in _field_faults(field):
            yield family, f"{field.name} {what}", attrs.evolve(entity, fields=tuple(faulty if each is field else each for each in entity.fields))
    for analytics in entity.analytics:
        yield from _analytics_faults(entity, analytics)
    for action in entity.actions:
        for what, faulty in _action_faults(entity, action):
            yield "actions", f"{action.name} {what}", attrs.evolve(entity, actions=tuple(faulty if each is action else each for each in entity.actions))
        yield "actions", f"{action.name} missing", attrs.evolve(entity, actions=tuple(each for each in entity.actions if each is not action))
    for name in entity.retired.fields:
        old = Field(name, StringType(), required=False, nullable=True)
        yield "removed", f"{name} alive", attrs.evolve(entity, fields=(*entity.fields, old))
    for analytics in entity.retired.analytics:
        if analytics.field is None or any(field.name == analytics.field for field in entity.fields):
            yield "removed", f"{analytics} alive", attrs.evolve(entity, analytics=(*entity.analytics, analytics))


def _field_faults(field: Field) -> Iterator[tuple[str, str, Field]]:
    kind = field.type
    if isinstance(kind, ReferenceListType | ReferenceType):
        return
    yield "validation", "null misjudged", attrs.evolve(field, nullable=not field.nullable)
    if field.default is None:
        yield "validation", "required misjudged", attrs.evolve(field, required=not field.required)
    else:
        yield "validation", "default not applied", attrs.evolve(field, default=None, required=False)
        yield "validation", "default not known, required", attrs.evolve(field, default=None, required=True)
    for what, faulty in _type_faults(kind):
        yield "validation", what, attrs.evolve(field, type=faulty)


def _type_faults(kind: Any) -> Iterator[tuple[str, Any]]:
    match kind:
        case StringType():
            names: tuple[str, ...] = ("min_length", "max_length")
            steps: tuple[Any, ...] = (-1, 1)
        case IntegerType():
            names, steps = ("minimum", "maximum"), (-1, 1)
        case FloatType():
            names, steps = ("minimum", "maximum"), (-UNIT, UNIT)
        case DatetimeType():
            names, steps = ("earliest", "latest"), (-1, 1)
        case EnumType(_, values):
            yield "first value missing", attrs.evolve(kind, values=values[1:])
            yield "last value missing", attrs.evolve(kind, values=values[:-1])
            return
        case _:
            return
    for name in names:
        bound = getattr(kind, name)
        if bound is not None:
            for step in steps:
                moved = step_datetime(bound, step) if isinstance(bound, str) else bound + step
                if moved != -1 or name != "min_length":
                    yield f"{name} off by {step}", attrs.evolve(kind, **{name: moved})
            yield f"{name} dropped", attrs.evolve(kind, **{name: None})


def _analytics_faults(entity: Entity, analytics: Analytics) -> Iterator[tuple[str, str, Entity]]:
    rest = tuple(each for each in entity.analytics if each is not analytics)
    yield "analytics", f"{analytics} missing", attrs.evolve(entity, analytics=rest)


def _action_faults(entity: Entity, action: Action) -> Iterator[tuple[str, Action]]:
    values = entity.field(action.enum_field).type
    assert isinstance(values, EnumType)
    for value in action.from_values:
        if len(action.from_values) > 1:
            yield f"not from {value}", attrs.evolve(action, from_values=tuple(each for each in action.from_values if each != value))
    for value in values.values:
        if value not in action.from_values:
            yield f"from {value} too", attrs.evolve(action, from_values=(*action.from_values, value))
        if value != action.to_value:
            yield f"to {value}", attrs.evolve(action, to_value=value)
    for index, condition in enumerate(action.conditions):
        rest = action.conditions[:index], action.conditions[index + 1 :]
        yield f"condition {index + 1} dropped", attrs.evolve(action, conditions=(*rest[0], *rest[1]))
        for what, faulty in _condition_faults(condition):
            yield f"condition {index + 1} {what}", attrs.evolve(action, conditions=(*rest[0], faulty, *rest[1]))
    for index, effect in enumerate(action.effects):
        before, after = action.effects[:index], action.effects[index + 1 :]
        yield f"effect {index + 1} dropped", attrs.evolve(action, effects=(*before, *after))
        for what, faulty in _effect_faults(effect):
            yield f"effect {index + 1} {what}", attrs.evolve(action, effects=(*before, faulty, *after))
        if isinstance(effect.assignment, IncrementBy):
            yield f"effect {index + 1} twice", attrs.evolve(action, effects=(*before, effect, effect, *after))


def _condition_faults(condition: Condition) -> Iterator[tuple[str, Condition]]:
    match condition:
        case Comparison(_, comparator, right):
            yield "negated", attrs.evolve(condition, comparator=_OPPOSITE[comparator])
            if comparator in _OFF_BY_ONE:
                yield "off by one", attrs.evolve(condition, comparator=_OFF_BY_ONE[comparator])
            if isinstance(right, Literal) and type(right.value) is int:
                yield "literal + 1", attrs.evolve(condition, right=Literal(right.value + 1))
                yield "literal - 1", attrs.evolve(condition, right=Literal(right.value - 1))
        case NullCheck(_, is_null):
            yield "negated", attrs.evolve(condition, is_null=not is_null)
        case Quantified(quantifier, _, inner):
            other = Quantifier.ALL if quantifier is Quantifier.ANY else Quantifier.ANY
            yield "any for all", attrs.evolve(condition, quantifier=other)
            for what, faulty in _condition_faults(inner):
                yield f"inner {what}", attrs.evolve(condition, condition=faulty)


def _effect_faults(effect: Effect) -> Iterator[tuple[str, Effect]]:
    match effect.assignment:
        case IncrementBy(amount):
            yield "opposite", attrs.evolve(effect, assignment=IncrementBy(-amount))
        case Compute(value):
            swapped = next(operator for operator in type(value.operator) if operator is not value.operator)
            yield "operator", attrs.evolve(effect, assignment=Compute(attrs.evolve(value, operator=swapped)))
        case SetTo(value) if isinstance(value, str):
            yield "other literal", attrs.evolve(effect, assignment=SetTo(value + "x"))


Behaviour = Callable[[Truth, Request], Response]


def _truth(state: State, handle: Behaviour) -> Callable[[Request], Response]:
    truth = Truth(state)
    return lambda request: handle(truth, request)


def _body(request: Request) -> dict[str, Any]:
    return request.body if isinstance(request.body, dict) else {}


def _reply(status: int, body: Any) -> Response:
    return Response(status, json.dumps(body).encode())


def _always(status: int, when: Callable[[Response], bool]) -> Behaviour:
    def handle(truth: Truth, request: Request) -> Response:
        response = truth.handle(request)
        return Response(status, response.body) if when(response) else response

    return handle


def coercing(truth: Truth, request: Request) -> Response:
    """Strings of digits, booleans and fractions are taken for integers when the request is refused as it is."""
    response = truth.handle(request)
    if response.status != 400 or not isinstance(request.body, dict):
        return response
    changed = {key: int(value) if isinstance(value, str) and value.isdigit() else value for key, value in request.body.items()}
    return truth.handle(attrs.evolve(request, body=changed)) if changed != request.body else response


def put_like_patch(truth: Truth, request: Request) -> Response:
    """PATCH sets what it does not carry to null, where that is possible."""
    if request.method == "PATCH":
        stored = truth.handle(Request("GET", request.path)).json
        for name in set(stored) - set(_body(request)) - {"id"} if isinstance(stored, dict) and "error" not in stored else ():
            truth.handle(Request("PATCH", request.path, {name: None}))
    return truth.handle(request)


def half_applied_patch(truth: Truth, request: Request) -> Response:
    """A PATCH that is refused is applied field by field first."""
    response = truth.handle(request)
    if request.method == "PATCH" and response.status == 400:
        for name, value in _body(request).items():
            if truth.handle(Request("PATCH", request.path, {name: value})).status == 400:
                break
    return response


def post_before_check(truth: Truth, request: Request) -> Response:
    """A POST that is refused for one field is stored without that field, where that is possible."""
    response = truth.handle(request)
    if request.method == "POST" and response.status == 400 and isinstance(request.body, dict):
        for name in request.body:
            if truth.handle(Request("POST", request.path, {key: value for key, value in request.body.items() if key != name})).status == 201:
                break
    return response


def duplicate_overwrites(truth: Truth, request: Request) -> Response:
    """A second POST with an id replaces the object."""
    response = truth.handle(request)
    if response.status == 409 and isinstance(request.body, dict):
        truth.handle(Request("DELETE", f"{request.path}/{request.body['id']}"))
        return truth.handle(request)
    return response


def patch_unvalidated(truth: Truth, request: Request) -> Response:
    """A PATCH is merged without a look at the values."""
    if request.method != "PATCH" or not isinstance(request.body, dict):
        return truth.handle(request)
    stored = truth.handle(Request("GET", request.path))
    if stored.status != 200:
        return stored
    _, segment, key = request.path.split("/")
    name = truth._resources[segment].name
    truth._store[name][key].update(request.body)
    return _reply(200, truth._store[name][key])


def no_cascade(truth: Truth, request: Request) -> Response:
    """A deletion leaves every reference as it was."""
    if request.method == "DELETE":
        for resource in truth._resources.values():
            object.__setattr__(resource, "inbound", ())
    return truth.handle(request)


def cascading_delete(truth: Truth, request: Request) -> Response:
    """A deletion takes the objects that refer to the deleted one with it."""
    if request.method == "DELETE":
        _, segment, key = request.path.split("/")
        for inbound in truth._resources[segment].inbound:
            holders = truth._store[inbound.entity]
            for holder in [each for each in holders.values() if key == each[inbound.field] or (inbound.is_list and key in each[inbound.field])]:
                if holder["id"] != key:
                    del holders[holder["id"]]
    return truth.handle(request)


def delete_keeps(truth: Truth, request: Request) -> Response:
    """DELETE answers well and deletes nothing."""
    if request.method == "DELETE" and truth.handle(Request("GET", request.path)).status == 200:
        return Response(204)
    return truth.handle(request)


def delete_clears(truth: Truth, request: Request) -> Response:
    """DELETE deletes every object of the entity."""
    response = truth.handle(request)
    if request.method == "DELETE" and response.status == 204:
        truth._store[truth._resources[request.path.split("/")[1]].name].clear()
    return response


def patch_default(truth: Truth, request: Request) -> Response:
    """PATCH gives the default to fields that have one and that it does not carry."""
    response = truth.handle(request)
    if request.method == "PATCH" and response.status == 200:
        _, segment, key = request.path.split("/")
        resource = truth._resources[segment]
        stored = truth._store[resource.name][key]
        for slot in resource.slots:
            default = slot.absent() if slot.absent is not None and not slot.is_list else None
            if default is not None and slot.name not in _body(request):
                stored[slot.name] = default
        return _reply(200, stored)
    return response


def default_for_null(truth: Truth, request: Request) -> Response:
    """An explicit null on POST becomes the default."""
    resource = truth._resources.get(request.path.strip("/"))
    if request.method == "POST" and isinstance(request.body, dict) and resource is not None:
        defaults = {slot.name for slot in resource.slots if slot.absent is not None and slot.absent() is not None}
        return truth.handle(attrs.evolve(request, body={name: value for name, value in request.body.items() if value is not None or name not in defaults}))
    return truth.handle(request)


def falsy_is_missing(truth: Truth, request: Request) -> Response:
    """Empty strings, zeros and false count as missing on POST."""
    if request.method == "POST" and isinstance(request.body, dict):
        return truth.handle(attrs.evolve(request, body={name: value for name, value in request.body.items() if value not in ("", 0)}))
    return truth.handle(request)


def trimming(truth: Truth, request: Request) -> Response:
    """Blanks at the ends of strings are cut."""
    if isinstance(request.body, dict):
        body = {name: value.strip() if isinstance(value, str) else value for name, value in request.body.items()}
        return truth.handle(attrs.evolve(request, body=body))
    return truth.handle(request)


def case_folding(truth: Truth, request: Request) -> Response:
    """A refused string is tried in lower case."""
    response = truth.handle(request)
    if response.status == 400 and isinstance(request.body, dict):
        body = {name: value.lower() if isinstance(value, str) else value for name, value in request.body.items()}
        return truth.handle(attrs.evolve(request, body=body)) if body != request.body else response
    return response


def rounding(truth: Truth, request: Request) -> Response:
    """Analytics are rounded to two decimals."""
    return _result(truth, request, lambda value: round(value, 2))


def integer_division(truth: Truth, request: Request) -> Response:
    """Averages are cut to integers."""
    return _result(truth, request, lambda value: int(value)) if request.path.endswith("/avg") else truth.handle(request)


def empty_is_zero(truth: Truth, request: Request) -> Response:
    """Analytics over nothing are 0."""
    return _result(truth, request, lambda value: value, nothing=0)


def _result(truth: Truth, request: Request, change: Callable[[Any], Any], nothing: Any = None) -> Response:
    response = truth.handle(request)
    if not request.path.startswith("/analytics/") or response.status != 200:
        return response
    value = response.json["result"]
    return _reply(200, {"result": nothing if value is None else change(value)})


def nulls_counted(truth: Truth, request: Request) -> Response:
    """Nulls count as 0 in averages and minima."""
    parts = request.path.split("/")
    if parts[1] != "analytics" or len(parts) < 5 or parts[4] not in ("avg", "min") or truth.handle(request).status != 200:
        return truth.handle(request)
    values = [each[parts[3]] or 0 for each in truth._store[truth._resources[parts[2]].name].values()]
    value = None if not values else sum(values) / len(values) if parts[4] == "avg" else min(values)
    return _reply(200, {"result": value})


def operations_swapped(truth: Truth, request: Request) -> Response:
    """Minimum and maximum, sum and average are swapped."""
    swap = {AnalyticsOperation.MIN: AnalyticsOperation.MAX, AnalyticsOperation.MAX: AnalyticsOperation.MIN}
    swap |= {AnalyticsOperation.SUM: AnalyticsOperation.AVG, AnalyticsOperation.AVG: AnalyticsOperation.SUM}
    parts = request.path.split("/")
    if parts[1] == "analytics" and len(parts) == 5 and truth.handle(request).status == 200:
        resource = truth._resources[parts[2]]
        other = attrs.evolve(resource, analytics={key: swap.get(value, value) for key, value in resource.analytics.items()})
        truth._resources[parts[2]] = other
        response = truth.handle(request)
        truth._resources[parts[2]] = resource
        return response
    return truth.handle(request)


def effects_on_refusal(truth: Truth, request: Request) -> Response:
    """The effects run even when the action is refused."""
    seen = _acting(truth, request)
    response = truth.handle(request)
    if seen is not None and response.status in (400, 409):
        with contextlib.suppress(TypeError):
            semantics.run_effects(seen[1].effects, seen[0])
    return response


def _acting(truth: Truth, request: Request) -> tuple[semantics.View, Action] | None:
    parts = request.path.split("/")
    if request.method != "POST" or len(parts) != 4 or parts[1] not in truth._resources:
        return None
    resource = truth._resources[parts[1]]
    this, action = truth._store[resource.name].get(parts[2]), resource.actions.get(parts[3])
    return None if this is None or action is None else (semantics.View(this, truth._store, resource.targets), action)


def for_each_first_only(truth: Truth, request: Request) -> Response:
    """A for-each writes the first object of the list only."""
    seen = _acting(truth, request)
    if seen is None:
        return truth.handle(request)
    view, action = seen
    fields = {effect.scope.field for effect in action.effects if isinstance(effect.scope, OnEach)}
    reason = semantics.refusal(action, view)
    if reason is not None or not fields:
        return truth.handle(request)
    whole = {name: view.this[name] for name in fields}
    view.this.update({name: ids[:1] for name, ids in whole.items()})
    semantics.perform(action, view)
    view.this.update({name: ids for name, ids in whole.items() if view.this[name]})
    return _reply(200, view.this)


def action_answers_before(truth: Truth, request: Request) -> Response:
    """An action answers with the object as it was before."""
    seen = _acting(truth, request)
    before = dict(seen[0].this) if seen else None
    response = truth.handle(request)
    return _reply(200, before) if before is not None and response.status == 200 else response


def old_path_alive(truth: Truth, request: Request) -> Response:
    """The paths of retired segments answer with an empty list."""
    response = truth.handle(request)
    return _reply(200, []) if response.status == 404 and request.method == "GET" and request.path.count("/") == 1 else response


def old_key_as_null(truth: Truth, request: Request) -> Response:
    """Objects carry a key ``heading`` with null."""
    response = truth.handle(request)
    if response.status in (200, 201) and isinstance(response.json, dict) and "id" in response.json:
        return _reply(response.status, {**response.json, "heading": None})
    return response


def old_action_alive(truth: Truth, request: Request) -> Response:
    """Every action that is not known succeeds."""
    response = truth.handle(request)
    return _reply(200, {}) if response.status == 404 and request.path.endswith("/shred") else response


def unknown_reference_taken(truth: Truth, request: Request) -> Response:
    """References are not looked up: a refused one is stored as null or as an empty list."""
    response = truth.handle(request)
    if response.status != 400 or not isinstance(request.body, dict) or b"existing" not in response.body:
        return response
    name = response.json["error"].split(" ")[0]
    return truth.handle(attrs.evolve(request, body={**request.body, name: [] if isinstance(request.body[name], list) else None}))


def reset_does_nothing(truth: Truth, request: Request) -> Response:
    """POST /reset is not done."""
    return Response(204) if request.path == "/reset" else truth.handle(request)


def shared_ids(truth: Truth, request: Request) -> Response:
    """An id is unique over all entities."""
    if request.method == "POST" and request.path.count("/") == 1 and any(_body(request).get("id") in objects for objects in truth._store.values()):
        return _reply(409, {})
    return truth.handle(request)


def numbers_for_booleans(truth: Truth, request: Request) -> Response:
    """Booleans come back as 1 and 0."""
    response = truth.handle(request)
    if isinstance(response.json, dict):
        return _reply(response.status, {name: int(value) if isinstance(value, bool) else value for name, value in response.json.items()})
    return response


BEHAVIOURS: tuple[tuple[Behaviour, str], ...] = (
    (coercing, "validation"),
    (put_like_patch, "many"),
    (half_applied_patch, "validation"),
    (post_before_check, "crud"),
    (duplicate_overwrites, "crud"),
    (patch_unvalidated, "validation"),
    (no_cascade, "references"),
    (cascading_delete, "references"),
    (delete_keeps, "many"),
    (delete_clears, "many"),
    (patch_default, "many"),
    (falsy_is_missing, "validation"),
    (trimming, "crud"),
    (case_folding, "validation"),
    (rounding, "analytics"),
    (integer_division, "analytics"),
    (empty_is_zero, "analytics"),
    (nulls_counted, "analytics"),
    (operations_swapped, "analytics"),
    (effects_on_refusal, "actions"),
    (for_each_first_only, "actions"),
    (action_answers_before, "actions"),
    (old_path_alive, "removed"),
    (old_key_as_null, "removed"),
    (old_action_alive, "removed"),
    (unknown_reference_taken, "references"),
    (reset_does_nothing, "server"),
    (shared_ids, "server"),
    (numbers_for_booleans, "crud"),
    (_always(500, lambda response: response.status == 400), "validation"),
    (_always(500, lambda response: response.status == 404), "many"),
    (_always(400, lambda response: response.status == 409), "actions"),
)


def faulty(state: State, behaviour: Behaviour) -> Callable[[Request], Response]:
    """A fresh server of the state with one wrong behaviour."""
    return _truth(state, behaviour)
