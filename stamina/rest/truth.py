"""The ground truth: an interpreter of a state that answers as the contract says (sections 2-6).

Pure and in memory: one call, one answer, no clock and no socket. Served over HTTP by :mod:`stamina.rest.asgi`. What a request needs is prepared once per
state, so that routing is dict look-ups.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Final, TypeAlias

from stamina.exchange import NO_BODY, Json, RawBody, Request, Response
from stamina.rest.resources import Inbound, Resource, Slot, make_resource
from stamina.rest.schema import Action, AnalyticsOperation, State
from stamina.rest.semantics import Object, Refusal, Store, View, perform, refusal

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


class Truth:
    """The right server for one state. Requests come one at a time (H9).

    Each method is one rule or a few, so that a faulty server (:mod:`stamina.rest.mutants`) or one that is right in another way
    (:mod:`stamina.rest.permissive`) overrides just that.

    Args:
        state: a valid state.
    """

    def __init__(self, state: State) -> None:
        self._resources = {entity.segment: make_resource(entity, state) for entity in state.entities}
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
        return NO_PATH

    def _reset(self) -> Response:
        for objects in self._store.values():
            objects.clear()
        return EMPTY

    def _entity(self, resource: Resource, request: Request, rest: list[str]) -> Response:
        match rest:
            case []:
                return self._collection(resource, request)
            case [key]:
                stored = self._store[resource.name].get(key)
                return _no_object(resource) if stored is None else self._single(resource, request, stored)
            case [key, name] if request.method == "POST":
                return self._act(resource, key, name)
        return NO_PATH

    def _collection(self, resource: Resource, request: Request) -> Response:
        if request.method == "GET":
            return ok(list(self._store[resource.name].values()))
        if request.method == "POST":
            return self._create(resource, object_in(request))
        return _wrong_method()

    def _single(self, resource: Resource, request: Request, stored: Object) -> Response:
        if request.method == "GET":
            return ok(stored)
        if request.method == "PATCH":
            return self._update(resource, stored, object_in(request))
        if request.method == "DELETE":
            return self._delete(resource, stored["id"])
        return _wrong_method()

    def _create(self, resource: Resource, body: Object | None) -> Response:
        if body is None:
            return _NOT_AN_OBJECT
        key = body.get("id")
        if not isinstance(key, str) or not key:
            return error(400, "id must be a string that is not empty")
        created: Object = {"id": key}
        for slot in resource.slots:
            fault = self._fill(created, slot, body)
            if fault is not None:
                return error(400, fault)
        objects = self._store[resource.name]
        if key in objects:
            return self._taken(resource, created)
        objects[key] = created
        return ok(created, 201)

    def _taken(self, resource: Resource, created: Object) -> Response:
        """The answer to a POST with the id of an object that exists (H3)."""
        return error(409, f"there is a {resource.name} with this id")

    def _fill(self, created: Object, slot: Slot, body: Object) -> str | None:
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

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        if body is None:
            return _NOT_AN_OBJECT
        if body.get("id", stored["id"]) != stored["id"]:
            return error(400, "id cannot be changed")
        news: Object = {}
        for name, value in body.items():
            slot = resource.by_name.get(name)
            if slot is None:
                continue
            fault = slot.check(value, self._store.__getitem__)
            if fault is not None:
                return error(400, f"{name} {fault}")
            news[name] = list(value) if slot.is_list else value
        stored.update(news)
        return ok(stored)

    def _delete(self, resource: Resource, key: str) -> Response:
        del self._store[resource.name][key]
        for inbound in resource.inbound:
            self._cascade(inbound, key)
        return EMPTY

    def _cascade(self, inbound: Inbound, key: str) -> None:
        """Clear one field of every object that refers to the deleted one (D1)."""
        for holder in self._store[inbound.entity].values():
            _forget(holder, inbound, key)

    def _act(self, resource: Resource, key: str, name: str) -> Response:
        this = self._store[resource.name].get(key)
        action = resource.actions.get(name)
        if action is None:
            return NO_PATH
        if this is None:
            return _no_object(resource)
        seen = View(this, self._store, resource.targets)
        reason = self._refusal(action, seen)
        if reason is not None:
            return self._refused(reason)
        self._perform(action, seen)
        return ok(this)

    def _refusal(self, action: Action, seen: View) -> Refusal | None:
        """Why the action is refused, None when it is not (B1, B2)."""
        return refusal(action, seen)

    def _refused(self, reason: Refusal) -> Response:
        """The answer to an action that is refused (B1)."""
        return error(_STATUS[reason], f"the action is refused: {reason.value}")

    def _perform(self, action: Action, seen: View) -> None:
        """Run the effects and the transition (B3)."""
        perform(action, seen)

    def _analytics(self, resource: Resource, method: str, rest: list[str]) -> Response:
        operation = resource.analytics.get(tuple(rest))
        if operation is None:
            return NO_PATH
        if method != "GET":
            return _wrong_method()
        objects = list(self._store[resource.name].values())
        return ok({"result": self._computed(operation, rest[0], objects)})

    def _computed(self, operation: AnalyticsOperation, field: str, objects: list[Object]) -> Json:
        """The result over these objects; ``field`` does not matter to a count (A2, A3)."""
        if operation is AnalyticsOperation.COUNT:
            return len(objects)
        return _COMPUTE[operation]([each[field] for each in objects if each[field] is not None])


def _forget(holder: Object, inbound: Inbound, key: str) -> None:
    value = holder[inbound.field]
    if inbound.is_list:
        holder[inbound.field] = [each for each in value if each != key]
    elif value == key:
        holder[inbound.field] = None


def object_in(request: Request) -> Object | None:
    """The body when it is a JSON object, else None (H9)."""
    body = request.body
    if body is NO_BODY:
        return None
    if isinstance(body, RawBody):
        # One reading of JSON for both directions: NaN is none, and neither is what nests too deep.
        body = Response(0, body.data).json
    return body if isinstance(body, dict) else None


def ok(body: Json, status: int = 200) -> Response:
    """An answer with this JSON value."""
    return Response(status, _encode(body).encode())


def error(status: int, text: str) -> Response:
    """A refusal that says why; no test reads the text (H7)."""
    return ok({"error": text}, status)


def _wrong_method() -> Response:
    return error(405, "this path does not answer to this method")


def _no_object(resource: Resource) -> Response:
    return error(404, f"there is no such {resource.name}")


EMPTY: Final = Response(204)
"""Done, and nothing to say (H1, H5)."""
NO_PATH: Final = error(404, "there is no such path")
"""The answer under every path that is none."""
_NOT_AN_OBJECT: Final = error(400, "the body must be a JSON object")
