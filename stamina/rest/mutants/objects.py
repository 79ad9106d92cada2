"""Operators on how objects are kept: create, list, read, delete, reset, memory, statuses (H1, H2, H5, S8)."""

from __future__ import annotations

from typing import Final

from stamina.exchange import Request, Response
from stamina.rest.mutants.bodies import entity_fault, on_each_entity
from stamina.rest.mutants.flawed import Flawed, tampering
from stamina.rest.mutants.mutant import CRASH, Fault, Faults, Ground, Operator, operator, serving
from stamina.rest.resources import Resource
from stamina.rest.schema import State
from stamina.rest.semantics import Object
from stamina.rest.truth import EMPTY, Truth, error, ok


@operator("entity-missing", "H1")
def entity_missing(ground: Ground) -> Faults:
    """An entity is not served at all."""
    for entity in ground.state.entities:
        rest = State(tuple(each for each in ground.state.entities if each is not entity))
        yield entity_fault(entity, "not served", serving(rest))


class _DeleteKeeps(Flawed):
    """DELETE answers well and deletes nothing."""

    def _delete(self, resource: Resource, key: str) -> Response:
        return EMPTY if self._is_flawed(resource) else super()._delete(resource, key)


class _DeletesAll(Flawed):
    """DELETE of one object deletes all."""

    def _delete(self, resource: Resource, key: str) -> Response:
        response = super()._delete(resource, key)
        if self._is_flawed(resource):
            self._store[resource.name].clear()
        return response


class _Tombstones(Flawed):
    """The id of a deleted object is never free again."""

    def __init__(self, state: State, entity: str) -> None:
        super().__init__(state, entity)
        self._dead: set[str] = set()

    def _reset(self) -> Response:
        self._dead.clear()
        return super()._reset()

    def _delete(self, resource: Resource, key: str) -> Response:
        if self._is_flawed(resource):
            self._dead.add(key)
        return super()._delete(resource, key)

    def _create(self, resource: Resource, body: Object | None) -> Response:
        if self._is_flawed(resource) and body is not None and body.get("id") in self._dead:
            return error(409, "this id was taken once")
        return super()._create(resource, body)


class _ResetKeeps(Flawed):
    """The reset leaves one entity's objects."""

    def _reset(self) -> Response:
        kept = dict(self._store[self._flawed])
        response = super()._reset()
        self._store[self._flawed].update(kept)
        return response


class _SharedIds(Flawed):
    """An id that any other entity uses is taken."""

    def _create(self, resource: Resource, body: Object | None) -> Response:
        if self._is_flawed(resource) and body is not None and any(body.get("id") in objects for objects in self._store.values()):
            return error(409, "this id is taken")
        return super()._create(resource, body)


class _SharedObjects(Flawed):
    """Objects are found by id, whatever entity they belong to: the one of another entity is deleted with this one's."""

    def _delete(self, resource: Resource, key: str) -> Response:
        response = super()._delete(resource, key)
        if self._is_flawed(resource):
            for objects in self._store.values():
                objects.pop(key, None)
        return response


class _ListsOne(Flawed):
    """The list holds the first object alone."""

    def _collection(self, resource: Resource, request: Request) -> Response:
        if self._is_flawed(resource) and request.method == "GET":
            return ok(list(self._store[resource.name].values())[:1])
        return super()._collection(resource, request)


class _ListsTwice(Flawed):
    """The list holds every object twice."""

    def _collection(self, resource: Resource, request: Request) -> Response:
        if self._is_flawed(resource) and request.method == "GET":
            return ok([*self._store[resource.name].values()] * 2)
        return super()._collection(resource, request)


class _ReadsLast(Flawed):
    """GET of one object answers with the one that was created last."""

    def _single(self, resource: Resource, request: Request, stored: Object) -> Response:
        if self._is_flawed(resource) and request.method == "GET":
            stored = list(self._store[resource.name].values())[-1]
        return super()._single(resource, request, stored)


class _ChangesAll(Flawed):
    """PATCH of one object changes all."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        response = super()._update(resource, stored, body)
        if self._is_flawed(resource) and response.status == 200 and body is not None:
            for each in self._store[resource.name].values():
                each.update({name: stored[name] for name in body if name in resource.by_name})
        return response


class _AnswersBefore(Flawed):
    """PATCH answers with the object as it was."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        before = ok(stored)
        response = super()._update(resource, stored, body)
        return before if self._is_flawed(resource) and response.status == 200 else response


class _AnswersBody(Flawed):
    """PATCH answers with what it was sent."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        response = super()._update(resource, stored, body)
        return ok({"id": stored["id"], **(body or {})}) if self._is_flawed(resource) and response.status == 200 else response


class _Forgets(Flawed):
    """PATCH answers well and stores nothing."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        return super()._update(resource, dict(stored) if self._is_flawed(resource) else stored, body)


class _CreatesMissing(Flawed):
    """PATCH of an unknown id makes the object."""

    def _entity(self, resource: Resource, request: Request, rest: list[str]) -> Response:
        if self._is_flawed(resource) and request.method == "PATCH" and len(rest) == 1 and rest[0] not in self._store[resource.name]:
            stored = {slot.name: slot.absent() if slot.absent else None for slot in resource.slots}
            self._store[resource.name][rest[0]] = {"id": rest[0], **stored}
        return super()._entity(resource, request, rest)


_KINDS: Final[tuple[tuple[str, str, str, type[Truth]], ...]] = (
    ("delete-keeps", "H1", "DELETE answers well and deletes nothing", _DeleteKeeps),
    ("delete-all", "H1", "DELETE of one object deletes all objects", _DeletesAll),
    ("id-never-free", "S8", "the id of a deleted object stays taken", _Tombstones),
    ("reset-keeps", "H5", "the reset leaves one entity's objects", _ResetKeeps),
    ("ids-shared", "S8", "an id that another entity uses is taken", _SharedIds),
    ("delete-across", "S8", "a deletion takes the object of the same id of another entity along", _SharedObjects),
    ("list-first-only", "H1", "the list holds one object", _ListsOne),
    ("list-twice", "H1", "the list holds every object twice", _ListsTwice),
    ("read-last", "H1", "GET of one object answers with another one", _ReadsLast),
    ("patch-all", "V7", "PATCH of one object changes all objects", _ChangesAll),
    ("patch-answers-before", "H1", "PATCH answers with the object as it was", _AnswersBefore),
    ("patch-answers-body", "H1", "PATCH answers with what it was sent", _AnswersBody),
    ("patch-forgotten", "H1", "PATCH answers well and stores nothing", _Forgets),
    ("patch-creates", "H1", "PATCH of an unknown id makes the object", _CreatesMissing),
)


def _operator_of(name: str, rule: str, summary: str, kind: type[Truth]) -> Operator:
    return Operator(name, rule, summary, lambda ground: on_each_entity(ground, kind, summary))


def _statuses(name: str, rule: str, summary: str, methods: tuple[str, ...], seen: tuple[int, ...], answer: Response) -> Operator:
    """An operator that answers in another way wherever the truth has one of the statuses seen, on the paths of one entity's objects."""

    def faults(ground: Ground) -> Faults:
        for entity in ground.state.entities:

            def tamper(request: Request, response: Response, segment: str = entity.segment) -> Response:
                parts = request.path.split("/")
                meant = parts[1] == segment and len(parts) < 4 and request.method in methods and response.status in seen
                return answer if meant else response

            yield entity_fault(entity, summary, tampering(ground.state, tamper))

    return Operator(name, rule, summary, faults)


@operator("reset-refused", "H5")
def reset_refused(ground: Ground) -> Faults:
    """POST /reset is answered with 404."""
    yield Fault(("server",), "no reset", tampering(ground.state, lambda request, response: error(404, "no") if request.path == "/reset" else response))


_STATUSES: Final = (
    _statuses("refusal-crashes", "H2", "bad input is answered with 500", ("POST", "PATCH"), (400,), CRASH),
    _statuses("refusal-answers-well", "H2", "bad input is answered with 200, though nothing is stored", ("POST", "PATCH"), (400,), ok({})),
    _statuses("duplicate-crashes", "H3", "a second POST with an id is answered with 500", ("POST",), (409,), CRASH),
    _statuses("missing-crashes", "H1", "an unknown id is answered with 500", ("GET", "PATCH", "DELETE"), (404,), CRASH),
    _statuses("missing-read-is-null", "H1", "GET of an unknown id answers 200 with null", ("GET",), (404,), ok(None)),
    _statuses("missing-is-bad", "H1", "an unknown id is answered with 400", ("GET", "PATCH", "DELETE"), (404,), error(400, "no such id")),
    _statuses("missing-delete-done", "H1", "DELETE of an unknown id answers 204", ("DELETE",), (404,), EMPTY),
    _statuses("create-answers-nothing", "H1", "POST answers with an empty object", ("POST",), (201,), ok({}, 201)),
    _statuses("create-answers-204", "H1", "POST answers 204", ("POST",), (201,), EMPTY),
)


@operator("list-wrapped", "H1")
def list_wrapped(ground: Ground) -> Faults:
    """The list comes inside an object."""
    for entity in ground.state.entities:

        def tamper(request: Request, response: Response, path: str = f"/{entity.segment}") -> Response:
            return ok({"items": response.json}) if request.path == path and request.method == "GET" else response

        yield entity_fault(entity, "the list is wrapped", tampering(ground.state, tamper))


OPERATORS: Final = (entity_missing, reset_refused, list_wrapped, *(_operator_of(*kind) for kind in _KINDS), *_STATUSES)
