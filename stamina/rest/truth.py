"""The ground truth: an interpreter of a state that answers as the contract says (sections 2-6).

Pure and in memory: one call, one answer, no clock and no socket. Served over HTTP by :mod:`stamina.rest.asgi`. What a request needs is prepared once per
state, so that routing is dict look-ups.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import attrs

from stamina.exchange import NO_BODY, Json, RawBody, Request, Response
from stamina.rest.schema import Action, Analytics, AnalyticsOperation, Entity, Field, ReferenceListType, ReferenceType, State
from stamina.rest.semantics import Object, Refusal, Store, View, perform, reference_targets, refusal
from stamina.rest.values import Check, checker

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode

Numbers: TypeAlias = list[int | float]

_COMPUTE: Final[dict[AnalyticsOperation, Callable[[Numbers], Json]]] = {
    # fsum is exact up to one rounding, whatever the order (A3).
    AnalyticsOperation.AVG: lambda numbers: math.fsum(numbers) / len(numbers) if numbers else None,
    AnalyticsOperation.SUM: math.fsum,
    AnalyticsOperation.MIN: lambda numbers: min(numbers, default=None),
    AnalyticsOperation.MAX: lambda numbers: max(numbers, default=None),
}

_STATUS: Final = {Refusal.WRONG_STATE: 400, Refusal.UNMET_CONDITION: 409}


@attrs.frozen(eq=False)
class _Slot:
    """One field, ready for use. ``absent`` makes what an omitted field stores, None where it is required (V3)."""

    name: str
    check: Check
    absent: Callable[[], Json] | None
    is_list: bool


@attrs.frozen(eq=False)
class _Inbound:
    """A field of some entity that leads to this one; what a deletion has to clear (D1)."""

    entity: str
    field: str
    is_list: bool


@attrs.frozen(eq=False)
class _Resource:
    """Everything that the requests for one entity need."""

    name: str
    slots: tuple[_Slot, ...]
    by_name: Mapping[str, _Slot]
    actions: Mapping[str, Action]
    analytics: Mapping[tuple[str, ...], AnalyticsOperation]
    targets: dict[str, str]
    inbound: tuple[_Inbound, ...]


class Truth:
    """The right server for one state. Requests come one at a time (H9).

    Args:
        state: a valid state.
    """

    def __init__(self, state: State) -> None:
        self._resources = {entity.segment: _resource(entity, state) for entity in state.entities}
        self._store: Store = {entity.name: {} for entity in state.entities}

    def handle(self, request: Request) -> Response:
        """Answer one request. Never raises for what a client can send."""
        match request.path.split("/"):
            case ["", "reset"]:
                return self._reset() if request.method == "POST" else _wrong_method()
            case ["", "analytics", segment, *rest] if segment in self._resources:
                return self._analytics(self._resources[segment], request.method, rest)
            case ["", segment, *rest] if segment in self._resources:
                return self._entity(self._resources[segment], request, rest)
        return _NO_PATH

    def _reset(self) -> Response:
        for objects in self._store.values():
            objects.clear()
        return _EMPTY

    def _entity(self, resource: _Resource, request: Request, rest: list[str]) -> Response:
        match rest:
            case []:
                return self._collection(resource, request)
            case [key]:
                stored = self._store[resource.name].get(key)
                return _no_object(resource) if stored is None else self._single(resource, request, stored)
            case [key, name] if request.method == "POST":
                return self._act(resource, key, name)
        return _NO_PATH

    def _collection(self, resource: _Resource, request: Request) -> Response:
        if request.method == "GET":
            return _ok(list(self._store[resource.name].values()))
        if request.method == "POST":
            return self._create(resource, _object_in(request))
        return _wrong_method()

    def _single(self, resource: _Resource, request: Request, stored: Object) -> Response:
        if request.method == "GET":
            return _ok(stored)
        if request.method == "PATCH":
            return self._update(resource, stored, _object_in(request))
        if request.method == "DELETE":
            return self._delete(resource, stored["id"])
        return _wrong_method()

    def _create(self, resource: _Resource, body: Object | None) -> Response:
        if body is None:
            return _NOT_AN_OBJECT
        key = body.get("id")
        if not isinstance(key, str) or not key:
            return _error(400, "id must be a string that is not empty")
        created: Object = {"id": key}
        for slot in resource.slots:
            fault = self._fill(created, slot, body)
            if fault is not None:
                return _error(400, fault)
        objects = self._store[resource.name]
        if key in objects:
            return _error(409, f"there is a {resource.name} with this id")
        objects[key] = created
        return _ok(created, 201)

    def _fill(self, created: Object, slot: _Slot, body: Object) -> str | None:
        """Store one field of a new object; the fault when that cannot be (V3)."""
        if slot.name in body:
            value = body[slot.name]
            fault = slot.check(value, self._store.__getitem__)
            created[slot.name] = list(value) if slot.is_list and fault is None else value
            return fault and f"{slot.name} {fault}"
        if slot.absent is None:
            return f"{slot.name} is required"
        created[slot.name] = slot.absent()
        return None

    def _update(self, resource: _Resource, stored: Object, body: Object | None) -> Response:
        if body is None:
            return _NOT_AN_OBJECT
        if body.get("id", stored["id"]) != stored["id"]:
            return _error(400, "id cannot be changed")
        news: Object = {}
        for name, value in body.items():
            slot = resource.by_name.get(name)
            if slot is None:
                continue
            fault = slot.check(value, self._store.__getitem__)
            if fault is not None:
                return _error(400, f"{name} {fault}")
            news[name] = list(value) if slot.is_list else value
        stored.update(news)
        return _ok(stored)

    def _delete(self, resource: _Resource, key: str) -> Response:
        del self._store[resource.name][key]
        for inbound in resource.inbound:
            for holder in self._store[inbound.entity].values():
                _forget(holder, inbound, key)
        return _EMPTY

    def _act(self, resource: _Resource, key: str, name: str) -> Response:
        this = self._store[resource.name].get(key)
        action = resource.actions.get(name)
        if action is None:
            return _NO_PATH
        if this is None:
            return _no_object(resource)
        seen = View(this, self._store, resource.targets)
        reason = refusal(action, seen)
        if reason is not None:
            return _error(_STATUS[reason], f"{name} is refused: {reason.value}")
        perform(action, seen)
        return _ok(this)

    def _analytics(self, resource: _Resource, method: str, rest: list[str]) -> Response:
        operation = resource.analytics.get(tuple(rest))
        if operation is None:
            return _NO_PATH
        if method != "GET":
            return _wrong_method()
        objects = self._store[resource.name].values()
        if operation is AnalyticsOperation.COUNT:
            return _ok({"result": len(objects)})
        numbers = [each[rest[0]] for each in objects if each[rest[0]] is not None]
        return _ok({"result": _COMPUTE[operation](numbers)})


def _resource(entity: Entity, state: State) -> _Resource:
    slots = tuple(_slot(field) for field in entity.fields)
    return _Resource(
        name=entity.name,
        slots=slots,
        by_name={slot.name: slot for slot in slots},
        actions={action.name: action for action in entity.actions},
        analytics={_analytics_path(each): each.operation for each in entity.analytics},
        targets=reference_targets(entity),
        inbound=tuple(_inbound(entity.name, state)),
    )


def _analytics_path(analytics: Analytics) -> tuple[str, ...]:
    """What follows the entity's segment in the path (A1)."""
    return (analytics.operation.value,) if analytics.field is None else (analytics.field, analytics.operation.value)


def _slot(field: Field) -> _Slot:
    is_list = isinstance(field.type, ReferenceListType)
    return _Slot(field.name, checker(field), _absent(field), is_list)


def _absent(field: Field) -> Callable[[], Json] | None:
    if isinstance(field.type, ReferenceListType):
        return list
    if field.default is None and field.required:
        return None
    return lambda: field.default


def _inbound(name: str, state: State) -> list[_Inbound]:
    return [
        _Inbound(entity.name, field.name, isinstance(field.type, ReferenceListType))
        for entity in state.entities
        for field in entity.fields
        if isinstance(field.type, ReferenceType | ReferenceListType) and field.type.target == name
    ]


def _forget(holder: Object, inbound: _Inbound, key: str) -> None:
    value = holder[inbound.field]
    if inbound.is_list:
        holder[inbound.field] = [each for each in value if each != key]
    elif value == key:
        holder[inbound.field] = None


def _object_in(request: Request) -> Object | None:
    """The body when it is a JSON object, else None (H9)."""
    body = request.body
    if body is NO_BODY:
        return None
    if isinstance(body, RawBody):
        # One reading of JSON for both directions: NaN is none, and neither is what nests too deep.
        body = Response(0, body.data).json
    return body if isinstance(body, dict) else None


def _ok(body: Json, status: int = 200) -> Response:
    return Response(status, _encode(body).encode())


def _error(status: int, text: str) -> Response:
    return _ok({"error": text}, status)


def _wrong_method() -> Response:
    return _error(405, "this path does not answer to this method")


def _no_object(resource: _Resource) -> Response:
    return _error(404, f"there is no such {resource.name}")


_EMPTY: Final = Response(204)
_NO_PATH: Final = _error(404, "there is no such path")
_NOT_AN_OBJECT: Final = _error(400, "the body must be a JSON object")
