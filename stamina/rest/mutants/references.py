"""Operators on references and lists of them, and on what a deletion does to them (V4, V5, V7, D1, S3, S7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import attrs

from stamina.exchange import Json, Request, Response
from stamina.rest.mutants.flawed import PATCH, Flawed, SlotChange, checks, converting, flawed, showing, slot_fault
from stamina.rest.mutants.mutant import Fault, Faults, Ground, field_target, guarded, operator, place
from stamina.rest.resources import Inbound, Resource, Slot
from stamina.rest.schema import Entity, Field, ReferenceListType, ReferenceType, State
from stamina.rest.semantics import Object
from stamina.rest.truth import Truth, error, ok


def _single(ground: Ground) -> Iterator[tuple[Entity, Field]]:
    return ((entity, field) for entity, field in _both(ground) if isinstance(field.type, ReferenceType))


def _lists(ground: Ground) -> Iterator[tuple[Entity, Field]]:
    return ((entity, field) for entity, field in _both(ground) if isinstance(field.type, ReferenceListType))


def _both(ground: Ground) -> Iterator[tuple[Entity, Field]]:
    for entity in ground.state.entities:
        for field in entity.fields:
            if isinstance(field.type, ReferenceType | ReferenceListType):
                yield entity, field


def _fault(entity: Entity, field: Field, detail: str, build: Callable[[], Callable[[Request], Response]], equivalent: str = "") -> Fault:
    return Fault(field_target(entity, field), f"{place(entity, field)}: {detail}", build, equivalent)


@operator("reference-unchecked", "V4")
def reference_unchecked(ground: Ground) -> Faults:
    """A reference or list may name objects that do not exist."""
    for entity, field in _both(ground):
        check = _any_texts if isinstance(field.type, ReferenceListType) else _any_text
        yield _fault(entity, field, "ids are not looked up", slot_fault(ground.state, entity, field, checks(check)))


def _any_text(value: Json) -> str | None:
    return None if value is None or isinstance(value, str) else "must be an id"


def _any_texts(value: Json) -> str | None:
    return None if isinstance(value, list) and all(isinstance(each, str) for each in value) else "must be an array of ids"


@operator("reference-unchecked-by-patch", "V7")
def reference_unchecked_by_patch(ground: Ground) -> Faults:
    """A PATCH may name objects that do not exist."""
    for entity, field in _both(ground):
        check = _any_texts if isinstance(field.type, ReferenceListType) else _any_text
        yield _fault(entity, field, "PATCH does not look ids up", slot_fault(ground.state, entity, field, checks(check), (PATCH,)))


@operator("reference-to-any-entity", "V4")
def reference_to_any_entity(ground: Ground) -> Faults:
    """A reference or list may name an object of another entity."""
    names = tuple(entity.name for entity in ground.state.entities)
    for entity, field in _both(ground):
        why = "" if len(names) > 1 else "V4: there is no other entity"
        yield _fault(entity, field, "objects of other entities are taken", slot_fault(ground.state, entity, field, _anywhere(names)), why)


def _anywhere(names: tuple[str, ...]) -> SlotChange:
    def change(slot: Slot) -> Slot:
        return attrs.evolve(slot, check=lambda value, ids_of: slot.check(value, lambda _: {key for name in names for key in ids_of(name)}))  # type: ignore[attr-defined]

    return change


@operator("reference-to-holder", "V4")
def reference_to_holder(ground: Ground) -> Faults:
    """A reference or list is looked up among the objects of its own entity."""
    for entity, field in _both(ground):
        assert isinstance(field.type, ReferenceType | ReferenceListType)
        if field.type.target != entity.name:

            def change(slot: Slot, own: str = entity.name) -> Slot:
                return attrs.evolve(slot, check=lambda value, ids_of: slot.check(value, lambda _: ids_of(own)))

            yield _fault(entity, field, f"ids are looked up in {entity.name}", slot_fault(ground.state, entity, field, change))


@operator("reference-type-unchecked", "V5")
def reference_type_unchecked(ground: Ground) -> Faults:
    """A reference takes a value that is no string, a list one that is no array."""
    for entity, field in _single(ground):
        build = converting(ground.state, entity, field, lambda value: value if isinstance(value, str) else None)
        yield _fault(entity, field, "what is no string counts as null", build)
    for entity, field in _lists(ground):
        build = converting(ground.state, entity, field, lambda value: [value] if isinstance(value, str) else value)
        yield _fault(entity, field, "a string counts as a list of one", build)


@operator("list-first-checked-only", "V4")
def list_first_checked_only(ground: Ground) -> Faults:
    """Of a list the first id is looked up alone."""
    for entity, field in _lists(ground):

        def change(slot: Slot) -> Slot:
            return attrs.evolve(slot, check=lambda value, ids_of: slot.check(value[:1] if isinstance(value, list) else value, ids_of))

        yield _fault(entity, field, "only the first id is looked up", slot_fault(ground.state, entity, field, change))


@operator("list-unknown-dropped", "V4")
def list_unknown_dropped(ground: Ground) -> Faults:
    """Ids in a list that name nothing are left out without a word."""
    for entity, field in _lists(ground):
        yield _fault(entity, field, "unknown ids are dropped", flawed(_Dropping, ground.state, entity, field))


class _Dropping(Truth):
    """Leaves unknown ids out of one list before it looks at the body."""

    def __init__(self, state: State, entity: Entity, field: Field) -> None:
        super().__init__(state)
        assert isinstance(field.type, ReferenceListType)
        self._place = (entity.name, field.name, field.type.target)

    def _create(self, resource: Resource, body: Object | None) -> Response:
        return super()._create(resource, self._known(resource, body))

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        return super()._update(resource, stored, self._known(resource, body))

    def _known(self, resource: Resource, body: Object | None) -> Object | None:
        entity, field, target = self._place
        if resource.name != entity or body is None or not isinstance(body.get(field), list):
            return body
        return {**body, field: [each for each in body[field] if not isinstance(each, str) or each in self._store[target]]}


@operator("self-reference-refused", "S7")
def self_reference_refused(ground: Ground) -> Faults:
    """An object cannot refer to itself."""
    for entity, field in _both(ground):
        assert isinstance(field.type, ReferenceType | ReferenceListType)
        if field.type.target == entity.name:
            yield _fault(entity, field, "no object may refer to itself", flawed(_NoSelf, ground.state, entity.name, field.name))


class _NoSelf(Flawed):
    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        if self._is_flawed(resource) and body is not None:
            value = body.get(self._member)
            if value == stored["id"] or (isinstance(value, list) and stored["id"] in value):
                return error(400, "an object cannot refer to itself")
        return super()._update(resource, stored, body)


@operator("reference-expanded", "V5")
def reference_expanded(ground: Ground) -> Faults:
    """The object that is referred to is returned in place of its id."""
    for entity, field in _both(ground):

        def change(each: Object, name: str = field.name) -> Object:
            value = each[name]
            return {**each, name: [{"id": key} for key in value] if isinstance(value, list) else value and {"id": value}}

        yield _fault(entity, field, "objects instead of ids", showing(ground.state, entity, change))


@operator("list-absent-when-empty", "H8")
def list_absent_when_empty(ground: Ground) -> Faults:
    """An empty list is null in answers."""
    for entity, field in _lists(ground):

        def change(each: Object, name: str = field.name) -> Object:
            return {**each, name: each[name] or None}

        yield _fault(entity, field, "null instead of []", showing(ground.state, entity, change))


@operator("list-merged", "V7")
def list_merged(ground: Ground) -> Faults:
    """A list in a PATCH is added to the one before."""
    for entity, field in _lists(ground):
        yield _fault(entity, field, "PATCH adds to the list", flawed(_Merging, ground.state, entity.name, field.name))


class _Merging(Flawed):
    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        if self._is_flawed(resource) and body is not None and isinstance(body.get(self._member), list):
            before = [key for key in stored[self._member] if key not in body[self._member]]
            body = {**body, self._member: [*before, *body[self._member]]}
        return super()._update(resource, stored, body)


@operator("list-empty-ignored", "V7")
def list_empty_ignored(ground: Ground) -> Faults:
    """An empty list in a PATCH is ignored."""
    for entity, field in _lists(ground):
        yield _fault(entity, field, "PATCH ignores []", flawed(_NeverEmptied, ground.state, entity.name, field.name))


class _NeverEmptied(Flawed):
    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        if self._is_flawed(resource) and body is not None and body.get(self._member) == []:
            body = {key: value for key, value in body.items() if key != self._member}
        return super()._update(resource, stored, body)


class _Cascading(Truth):
    """Clears one field of others in another way when what it refers to is deleted."""

    def __init__(self, state: State, entity: Entity, field: Field, clear: Callable[[Truth, Inbound, str, list[Object]], None]) -> None:
        super().__init__(state)
        self._place = (entity.name, field.name)
        self._clear = clear

    def _cascade(self, inbound: Inbound, key: str) -> None:
        if (inbound.entity, inbound.field) != self._place:
            super()._cascade(inbound, key)
            return
        holders = self._store[inbound.entity]
        self._clear(self, inbound, key, [each for each in holders.values() if _refers(each[inbound.field], key)])

    def hiding(self, entity: Entity, field: str, target: str, request: Request) -> Response:
        """The answer, without the ids of objects that are not there."""
        response = self.handle(request)
        if response.status not in (200, 201) or request.path.split("/")[1] != entity.segment:
            return response
        body, there = response.json, self._store[target]
        shown = [_without_dead(each, field, there) for each in (body if isinstance(body, list) else [body])]
        return ok(shown if isinstance(body, list) else shown[0], response.status)

    def drop(self, inbound: Inbound, holder: Object) -> None:
        """Delete an object that referred to the deleted one."""
        self._store[inbound.entity].pop(holder["id"], None)


def _without_dead(each: Object, field: str, there: dict[str, Object]) -> Object:
    value = each[field]
    return {**each, field: [key for key in value if key in there] if isinstance(value, list) else value if value in there else None}


def _refers(value: Json, key: str) -> bool:
    return key in value if isinstance(value, list) else bool(value == key)


def _nothing(truth: Truth, inbound: Inbound, key: str, holders: list[Object]) -> None:
    """The reference stays."""


def _first(truth: Truth, inbound: Inbound, key: str, holders: list[Object]) -> None:
    for holder in holders[:1]:
        value = holder[inbound.field]
        holder[inbound.field] = [each for each in value if each != key] if inbound.is_list else None


def _emptied(truth: Truth, inbound: Inbound, key: str, holders: list[Object]) -> None:
    for holder in holders:
        holder[inbound.field] = []


def _nulled(truth: Truth, inbound: Inbound, key: str, holders: list[Object]) -> None:
    for holder in holders:
        holder[inbound.field] = [None if each == key else each for each in holder[inbound.field]]


def _dropped(truth: Truth, inbound: Inbound, key: str, holders: list[Object]) -> None:
    assert isinstance(truth, _Cascading)
    for holder in holders:
        truth.drop(inbound, holder)


def _cascades(ground: Ground, places: Iterator[tuple[Entity, Field]], detail: str, clear: Callable[..., None]) -> Iterator[Fault]:
    for entity, field in places:
        yield _fault(entity, field, detail, flawed(_Cascading, ground.state, entity, field, clear))


@operator("cascade-missed", "D1")
def cascade_missed(ground: Ground) -> Faults:
    """A reference to a deleted object stays."""
    yield from _cascades(ground, _single(ground), "stays after the deletion", _nothing)


@operator("list-cascade-missed", "D1")
def list_cascade_missed(ground: Ground) -> Faults:
    """A deleted object's id stays in a list."""
    yield from _cascades(ground, _lists(ground), "keeps the deleted id", _nothing)


@operator("cascade-first-only", "D1")
def cascade_first_only(ground: Ground) -> Faults:
    """Only the first object that refers to a deleted one is cleared."""
    yield from _cascades(ground, _both(ground), "only the first holder is cleared", _first)


@operator("cascade-empties-list", "D1")
def cascade_empties_list(ground: Ground) -> Faults:
    """A list that holds a deleted object is emptied."""
    yield from _cascades(ground, _lists(ground), "emptied by a deletion", _emptied)


@operator("cascade-nulls-in-list", "D1")
def cascade_nulls_in_list(ground: Ground) -> Faults:
    """A deleted object's id becomes null in a list."""
    yield from _cascades(ground, _lists(ground), "null in the place of a deleted id", _nulled)


@operator("cascade-deletes-holder", "D1")
def cascade_deletes_holder(ground: Ground) -> Faults:
    """An object that refers to a deleted one is deleted."""
    yield from _cascades(ground, _both(ground), "holders are deleted", _dropped)


@operator("delete-refused-when-referenced", "D1")
def delete_refused_when_referenced(ground: Ground) -> Faults:
    """An object that another one refers to cannot be deleted."""
    for entity, field in _both(ground):
        yield _fault(entity, field, "keeps its target from being deleted", flawed(_Holding, ground.state, entity.name, field.name))


class _Holding(Flawed):
    def _delete(self, resource: Resource, key: str) -> Response:
        for inbound in resource.inbound:
            held = any(_refers(each[inbound.field], key) for each in self._store[inbound.entity].values())
            if (inbound.entity, inbound.field) == (self._flawed, self._member) and held:
                return error(409, "something refers to this object")
        return super()._delete(resource, key)


@operator("reference-comes-back", "S8")
def reference_comes_back(ground: Ground) -> Faults:
    """A reference to a deleted object is there again with the next object of its id."""
    for entity, field in _both(ground):
        yield _fault(entity, field, "comes back with the id", partial(_weak, ground.state, entity, field))


def _weak(state: State, entity: Entity, field: Field) -> Callable[[Request], Response]:
    """References stay in the store and are hidden from answers while their target is not there."""
    truth = _Cascading(state, entity, field, _nothing)
    assert isinstance(field.type, ReferenceType | ReferenceListType)
    return guarded(partial(truth.hiding, entity, field.name, field.type.target))


OPERATORS: Final = (
    reference_unchecked,
    reference_unchecked_by_patch,
    reference_to_any_entity,
    reference_to_holder,
    reference_type_unchecked,
    list_first_checked_only,
    list_unknown_dropped,
    self_reference_refused,
    reference_expanded,
    list_absent_when_empty,
    list_merged,
    list_empty_ignored,
    cascade_missed,
    list_cascade_missed,
    cascade_first_only,
    cascade_empties_list,
    cascade_nulls_in_list,
    cascade_deletes_holder,
    delete_refused_when_referenced,
    reference_comes_back,
)
