"""Operators on what POST and PATCH do with a body as a whole (H1-H4, H9, V7, S3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import attrs

from stamina.exchange import NO_BODY, Json, RawBody, Request, Response
from stamina.rest.mutants.flawed import PATCH, POST, Builder, Flawed, checks, flawed, rewriting, slot_fault, tampering
from stamina.rest.mutants.mutant import CRASH, Fault, Faults, Ground, each_field, field_target, operator, place
from stamina.rest.resources import Resource
from stamina.rest.schema import DatetimeType, Entity, EnumType, FieldType, FloatType, IntegerType, StringType
from stamina.rest.semantics import Object
from stamina.rest.testdata import is_plain, takes_null
from stamina.rest.truth import Truth, ok
from stamina.rest.values import checker

_BARE: Final[dict[type[FieldType], FieldType]] = {StringType: StringType(), IntegerType: IntegerType(), FloatType: FloatType(), DatetimeType: DatetimeType()}


def on_each_entity(ground: Ground, kind: type[Truth], detail: str) -> Iterator[Fault]:
    """The faults of a faulty kind of server, one for each entity."""
    for entity in ground.state.entities:
        yield entity_fault(entity, detail, flawed(kind, ground.state, entity.name))


def entity_fault(entity: Entity, detail: str, build: Builder) -> Fault:
    """A fault in how an entity's objects are handled."""
    return Fault(("entity", entity.name), f"{entity.name}: {detail}", build)


@operator("patch-unvalidated", "V7")
def patch_unvalidated(ground: Ground) -> Faults:
    """A PATCH stores whatever it carries for a field."""
    for entity, field in each_field(ground):
        if is_plain(field):
            build = slot_fault(ground.state, entity, field, checks(lambda _: None), (PATCH,))
            yield Fault(field_target(entity, field), f"{place(entity, field)}: PATCH takes anything", build)


@operator("patch-bounds-unchecked", "V7")
def patch_bounds_unchecked(ground: Ground) -> Faults:
    """A PATCH checks the type and not the bounds or values."""
    for entity, field in each_field(ground):
        bare = StringType() if isinstance(field.type, EnumType) else _BARE.get(type(field.type))
        if bare is not None and bare != field.type:
            check = checker(attrs.evolve(field, type=bare))
            build = slot_fault(ground.state, entity, field, lambda slot, check=check: attrs.evolve(slot, check=check), (PATCH,))  # type: ignore[misc]
            why = "V4: no string is shorter than 0 characters" if field.type == StringType(0) else ""
            yield Fault(field_target(entity, field), f"{place(entity, field)}: PATCH checks no bounds", build, why)


@operator("patch-null-accepted", "V7")
def patch_null_accepted(ground: Ground) -> Faults:
    """A PATCH takes null for a field that is not nullable."""
    for entity, field in each_field(ground):
        if is_plain(field) and not field.nullable:
            check = checker(attrs.evolve(field, nullable=True))
            build = slot_fault(ground.state, entity, field, lambda slot, check=check: attrs.evolve(slot, check=check), (PATCH,))  # type: ignore[misc]
            yield Fault(field_target(entity, field), f"{place(entity, field)}: PATCH takes null", build)


@operator("post-unvalidated", "V7")
def post_unvalidated(ground: Ground) -> Faults:
    """A POST stores whatever it carries for a field."""
    for entity, field in each_field(ground):
        if is_plain(field):
            build = slot_fault(ground.state, entity, field, checks(lambda _: None), (POST,))
            yield Fault(field_target(entity, field), f"{place(entity, field)}: POST takes anything", build)


@operator("patch-field-ignored", "V7")
def patch_field_ignored(ground: Ground) -> Faults:
    """A PATCH does not change a field."""
    for entity, field in each_field(ground):

        def without(body: Object, name: str = field.name) -> Object:
            return {key: value for key, value in body.items() if key != name}

        yield Fault(field_target(entity, field), f"{place(entity, field)}: PATCH does not change it", rewriting(ground.state, entity, without, (PATCH,)))


@operator("patch-null-ignored", "V7")
def patch_null_ignored(ground: Ground) -> Faults:
    """A PATCH does not set a field to null."""
    for entity, field in each_field(ground):
        if takes_null(field):

            def without(body: Object, name: str = field.name) -> Object:
                return {key: value for key, value in body.items() if key != name or value is not None}

            yield Fault(field_target(entity, field), f"{place(entity, field)}: PATCH ignores null", rewriting(ground.state, entity, without, (PATCH,)))


class _Replaces(Flawed):
    """PATCH works as PUT: what it does not carry is emptied."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        response = super()._update(resource, stored, body)
        if self._is_flawed(resource) and response.status == 200 and body is not None:
            stored.update({slot.name: slot.absent() if slot.absent else None for slot in resource.slots if slot.name not in body})
        return ok(stored) if response.status == 200 else response


@operator("patch-replaces", "V7")
def patch_replaces(ground: Ground) -> Faults:
    """A PATCH empties the fields that it does not carry."""
    for entity in ground.state.entities:
        equivalent = "" if entity.fields else "S1: there is no field besides id"
        yield attrs.evolve(entity_fault(entity, "PATCH empties what it does not carry", flawed(_Replaces, ground.state, entity.name)), equivalent=equivalent)


class _AppliesDefaults(Flawed):
    """PATCH applies the default of a field that it does not carry."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        response = super()._update(resource, stored, body)
        if not self._is_flawed(resource) or response.status != 200 or body is None or self._member in body:
            return response
        absent = resource.by_name[self._member].absent
        stored[self._member] = absent() if absent else None
        return ok(stored)


@operator("default-on-patch", "V7")
def default_on_patch(ground: Ground) -> Faults:
    """A PATCH gives a field that it does not carry its default."""
    for entity, field in each_field(ground):
        if is_plain(field) and field.default is not None:
            build = flawed(_AppliesDefaults, ground.state, entity.name, field.name)
            yield Fault(field_target(entity, field), f"{place(entity, field)}: PATCH applies the default", build)


class _HalfApplied(Flawed):
    """A refused PATCH has stored the fields before the one that is bad."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        if self._is_flawed(resource) and body is not None:
            for name, value in body.items():
                slot = resource.by_name.get(name)
                if slot is not None and slot.check(value, self._store.__getitem__) is not None:
                    break
                stored.update({name: value} if slot is not None else {})
        return super()._update(resource, stored, body)


class _GoodApplied(Flawed):
    """A refused PATCH has stored every field that is good."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        if self._is_flawed(resource) and body is not None:
            for name, value in body.items():
                slot = resource.by_name.get(name)
                if slot is not None and slot.check(value, self._store.__getitem__) is None:
                    stored[name] = value
        return super()._update(resource, stored, body)


class _RefusedApplied(Flawed):
    """A refused PATCH is stored as it is."""

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        if self._is_flawed(resource) and body is not None:
            stored.update({name: value for name, value in body.items() if name in resource.by_name})
        return super()._update(resource, stored, body)


@operator("patch-half-applied", "H2")
def patch_half_applied(ground: Ground) -> Faults:
    """A refused PATCH leaves the fields before the bad one changed."""
    yield from _partly(ground, _HalfApplied, "a refused PATCH is half applied")


@operator("patch-good-applied", "H2")
def patch_good_applied(ground: Ground) -> Faults:
    """A refused PATCH leaves all fields but the bad one changed."""
    yield from _partly(ground, _GoodApplied, "the good part of a refused PATCH is applied")


def _partly(ground: Ground, kind: type[Truth], detail: str) -> Iterator[Fault]:
    for fault, entity in zip(on_each_entity(ground, kind, detail), ground.state.entities, strict=True):
        yield attrs.evolve(fault, equivalent="" if len(entity.fields) > 1 else "H2: with one field a refused PATCH carries nothing that is good")


@operator("patch-refused-applied", "H2")
def patch_refused_applied(ground: Ground) -> Faults:
    """A refused PATCH is stored."""
    yield from on_each_entity(ground, _RefusedApplied, "a refused PATCH is stored")


class _RefusedStored(Flawed):
    """A refused POST is stored all the same, with what is bad left out."""

    def _create(self, resource: Resource, body: Object | None) -> Response:
        response = super()._create(resource, body)
        if self._is_flawed(resource) and response.status == 400 and body is not None and isinstance(body.get("id"), str):
            stored = {slot.name: slot.absent() if slot.absent else None for slot in resource.slots}
            self._store[resource.name].setdefault(body["id"], {"id": body["id"], **stored})
        return response


@operator("post-refused-stored", "H2")
def post_refused_stored(ground: Ground) -> Faults:
    """A refused POST leaves an object behind."""
    yield from on_each_entity(ground, _RefusedStored, "a refused POST leaves an object behind")


class _Overwrites(Flawed):
    """A second POST with an id replaces the object."""

    def _taken(self, resource: Resource, created: Object) -> Response:
        if not self._is_flawed(resource):
            return super()._taken(resource, created)
        self._store[resource.name][created["id"]] = created
        return ok(created, 201)


class _Ignores(Flawed):
    """A second POST with an id answers well and changes nothing."""

    def _taken(self, resource: Resource, created: Object) -> Response:
        return ok(self._store[resource.name][created["id"]], 200) if self._is_flawed(resource) else super()._taken(resource, created)


class _RefusesAndOverwrites(Flawed):
    """A second POST with an id is refused, but has replaced the object."""

    def _taken(self, resource: Resource, created: Object) -> Response:
        if self._is_flawed(resource):
            self._store[resource.name][created["id"]] = created
        return super()._taken(resource, created)


@operator("duplicate-overwrites", "H3")
def duplicate_overwrites(ground: Ground) -> Faults:
    """A second POST with an id replaces the object."""
    yield from on_each_entity(ground, _Overwrites, "a second POST replaces the object")


@operator("duplicate-ignored", "H3")
def duplicate_ignored(ground: Ground) -> Faults:
    """A second POST with an id answers 200 with the first object."""
    yield from on_each_entity(ground, _Ignores, "a second POST answers 200")


@operator("duplicate-refused-late", "H3")
def duplicate_refused_late(ground: Ground) -> Faults:
    """A second POST with an id is refused after it has replaced the object."""
    for entity in ground.state.entities:
        why = "" if entity.fields else "S1: with id alone the object that replaces the first is the same"
        yield attrs.evolve(entity_fault(entity, "the refused duplicate is stored", flawed(_RefusesAndOverwrites, ground.state, entity.name)), equivalent=why)


@operator("id-invented", "S3")
def id_invented(ground: Ground) -> Faults:
    """A POST without an id gets one."""
    yield from _with_ids(ground, "a missing id is made up", lambda body: body if "id" in body else {"id": "made-up", **body})


@operator("id-null-invented", "S3")
def id_null_invented(ground: Ground) -> Faults:
    """A POST with a null id gets one."""
    yield from _with_ids(ground, "a null id is made up", lambda body: {**body, "id": "made-up"} if body.get("id", "") is None else body)


@operator("id-number-accepted", "V1")
def id_number_accepted(ground: Ground) -> Faults:
    """A POST with a number for an id is taken."""
    yield from _with_ids(ground, "a number is taken for an id", lambda body: {**body, "id": str(body["id"])} if type(body.get("id")) is int else body)


def _with_ids(ground: Ground, detail: str, change: Callable[[Object], Object]) -> Iterator[Fault]:
    for entity in ground.state.entities:
        yield entity_fault(entity, detail, rewriting(ground.state, entity, change, (POST,)))


@operator("own-id-refused", "H4")
def own_id_refused(ground: Ground) -> Faults:
    """A PATCH that carries the object's own id is refused."""
    yield from _on_bodies(ground, "PATCH refuses the object's own id", PATCH, lambda body: isinstance(body, dict) and "id" in body, 400)


@operator("empty-patch-refused", "V7")
def empty_patch_refused(ground: Ground) -> Faults:
    """A PATCH with {} is refused."""
    yield from _on_bodies(ground, "PATCH refuses {}", PATCH, lambda body: body == {}, 400)


@operator("malformed-post-crashes", "H9")
def malformed_post_crashes(ground: Ground) -> Faults:
    """A POST with a body that is no JSON is answered with 500."""
    yield from _on_bodies(ground, "POST crashes on what is no JSON", POST, lambda body: isinstance(body, RawBody), 500)


@operator("malformed-patch-crashes", "H9")
def malformed_patch_crashes(ground: Ground) -> Faults:
    """A PATCH with a body that is no JSON is answered with 500."""
    yield from _on_bodies(ground, "PATCH crashes on what is no JSON", PATCH, lambda body: isinstance(body, RawBody), 500)


@operator("no-object-crashes", "H9")
def no_object_crashes(ground: Ground) -> Faults:
    """A POST with a body that is JSON but no object is answered with 500."""
    yield from _on_bodies(ground, "POST crashes on what is no object", POST, _is_no_object, 500)


@operator("no-object-patch-taken", "H9")
def no_object_patch_taken(ground: Ground) -> Faults:
    """A PATCH with a body that is JSON but no object is taken for {}."""
    yield from _on_bodies(ground, "PATCH takes what is no object for {}", PATCH, _is_no_object, 200)


def _is_no_object(body: Json) -> bool:
    return not isinstance(body, dict | RawBody)


def _on_bodies(ground: Ground, detail: str, method: str, applies: Callable[[Json], bool], status: int) -> Iterator[Fault]:
    """The faults of a server that answers certain bodies with a status of its own, without looking further."""
    for entity in ground.state.entities:

        def tamper(request: Request, response: Response, prefix: str = f"/{entity.segment}") -> Response:
            meant = request.method == method and (request.path == prefix or (request.path.startswith(f"{prefix}/") and request.path.count("/") == 2))
            if not meant or request.body is NO_BODY or response.status == 404 or not applies(request.body):
                return response
            return CRASH if status == 500 else ok({}, status)

        yield entity_fault(entity, detail, tampering(ground.state, tamper))


OPERATORS: Final = (
    patch_unvalidated,
    patch_bounds_unchecked,
    patch_null_accepted,
    post_unvalidated,
    patch_field_ignored,
    patch_null_ignored,
    patch_replaces,
    default_on_patch,
    patch_half_applied,
    patch_good_applied,
    patch_refused_applied,
    post_refused_stored,
    duplicate_overwrites,
    duplicate_ignored,
    duplicate_refused_late,
    id_invented,
    id_null_invented,
    id_number_accepted,
    own_id_refused,
    empty_patch_refused,
    malformed_post_crashes,
    malformed_patch_crashes,
    no_object_crashes,
    no_object_patch_taken,
)
