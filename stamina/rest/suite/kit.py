"""What every case of one entity is written with: its paths, its bodies, what the server must store, and the steps made of them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

import attrs

from stamina.draw import Draw
from stamina.exchange import NO_BODY, Json, NoBody, RawBody, Request
from stamina.rest import testdata
from stamina.rest.checks import CREATED, DELETED, MISSING, OK, REFUSED, RESET, TAKEN, Listed, Result, Status, Stored
from stamina.rest.schema import Entity, Field, ReferenceListType, ReferenceType, State
from stamina.rest.values import Check, checker, may_be_null
from stamina.suite import Case, Step, Target

Object: TypeAlias = dict[str, Json]
"""A body or a stored object. Never changed once a step holds it."""

RESETTING: Final = Step(Request("POST", "/reset"), Status(RESET), setup=True)
"""The first step of every case (H5)."""

_CREATED: Final = Status(CREATED)


@attrs.frozen(eq=False)
class Kit:
    """One entity as the suite sees it.

    Attributes:
        entity: the entity.
        path: of its collection.
        plain: its fields that hold values of their own, in order.
        references: its references and reference lists, in order.
        number: the first number of its test values (:mod:`stamina.rest.testdata`).
        blank: what a POST stores that carries nothing, without ``id``.
        needed: values of the fields that every POST must carry.
        only_omitted: fields that are null by omission only.
        checks: for each field, which values it takes.
        filled: fields that a stored object never has null in.
    """

    entity: Entity
    path: str
    plain: tuple[Field, ...]
    references: tuple[Field, ...]
    number: int
    blank: Object
    needed: Object
    only_omitted: tuple[str, ...]
    checks: dict[str, Check]
    filled: frozenset[str]

    def minimal(self, key: str) -> Object:
        """The smallest body that creates an object."""
        return {"id": key, **self.needed}

    def full(self, key: str, index: int = 0) -> Object:
        """A body with an ordinary value in every plain field; objects of neighbouring index differ in each of them where its type allows."""
        return {"id": key, **self.needed, **{field.name: self.value(field, index) for field in self.plain}}

    def value(self, field: Field, index: int = 0) -> Json:
        """An ordinary value of a plain field for the object of this index."""
        return testdata.ordinary(field, self.number + index)

    def stored(self, body: Object) -> Object:
        """The object that a valid POST body stores (V3)."""
        return {**self.blank, **body}

    def at(self, key: str) -> str:
        """The path of one object."""
        return f"{self.path}/{key}"


Source: TypeAlias = tuple[Entity, int]
"""All that a kit is made from: the entity and its first number."""


@lru_cache(maxsize=256)
def make_kit(source: Source) -> Kit:
    """The kit of an entity."""
    entity, number = source
    return Kit(
        entity=entity,
        path=f"/{entity.segment}",
        plain=tuple(field for field in entity.fields if testdata.is_plain(field)),
        references=tuple(field for field in entity.fields if not testdata.is_plain(field)),
        number=number,
        blank={field.name: testdata.blank(field) for field in entity.fields},
        needed={field.name: testdata.ordinary(field, number) for field in entity.fields if testdata.needed(field)},
        only_omitted=tuple(field.name for field in entity.fields if may_be_null(field) and not testdata.takes_null(field)),
        checks={field.name: checker(field) for field in entity.fields},
        filled=frozenset(field.name for field in entity.fields if not may_be_null(field)),
    )


@attrs.frozen(eq=False)
class Kits:
    """The kits of a state, or of an entity and those that its references lead to."""

    state: State
    by_name: dict[str, Kit]

    def target(self, field: Field) -> Kit:
        """The kit of the entity that a reference or list leads to."""
        return self.by_name[target_name(field)]

    def around(self, kit: Kit, steps: int, *, stranger: bool = False) -> tuple[Source, ...]:
        """This entity, then those that so many references in a row lead to, without what their own cases alone depend on.

        With ``stranger`` another one is added where it refers to none but itself.
        """
        found, edge = {kit.entity.name: kit}, [kit]
        for _ in range(steps):
            targets = {target.entity.name: target for each in edge for target in map(self.target, each.references)}
            edge = [target for name, target in targets.items() if name not in found]
            found.update({target.entity.name: target for target in edge})
        if stranger and len(found) == 1:
            found.update([(name, each) for name, each in self.by_name.items() if each is not kit][:1])
        return tuple((bare(each.entity), each.number) for each in found.values())


def bare(entity: Entity) -> Entity:
    """The entity with its fields alone."""
    return Entity(entity.name, entity.fields)


def target_name(field: Field) -> str:
    """The name of the entity that a reference or list leads to."""
    assert isinstance(field.type, ReferenceType | ReferenceListType)
    return field.type.target


def make_kits(state: State, draw: Draw) -> Kits:
    """The kits of a state, by entity name; the first number of each entity is drawn."""
    return Kits(state, {entity.name: make_kit((entity, draw.at(entity.name).integer(1, 5000))) for entity in state.entities})


def kits_of(sources: tuple[Source, ...]) -> Kits:
    """The kits of a few entities."""
    return Kits(State(tuple(entity for entity, _ in sources)), {source[0].name: make_kit(source) for source in sources})


def case(family: str, name: str, title: str, rules: tuple[str, ...], target: Target, *steps: Step) -> Case:
    """A case of these steps after a reset. Its ``since`` is filled in when the suite is put together."""
    return Case(name, title, family, rules, target, 0, (RESETTING, *steps))


def create(kit: Kit, body: Object) -> Step:
    """Set-up: an object that the case needs."""
    return Step(Request("POST", kit.path, body), _CREATED, setup=True)


def post(kit: Kit, body: Object, why: str = "") -> Step:
    """A POST that must store the body and answer with it (H1)."""
    return Step(Request("POST", kit.path, body), Stored(CREATED, kit.stored(body), (), why))


# What must be refused changes nothing, so nothing rests on it: such steps are probes.


def refuse_post(kit: Kit, body: Json | RawBody, why: str) -> Step:
    """A POST that must be refused as bad input (H2). Its id is no other's, or a server that takes it would refuse the next one for another reason."""
    return Step(Request("POST", kit.path, body), Status(REFUSED, why), probe=True)


def refuse_taken(kit: Kit, body: Object) -> Step:
    """A POST that must be refused because its id is taken (H3)."""
    return Step(Request("POST", kit.path, body), Status(TAKEN, "there is an object with this id"), probe=True)


def patch(kit: Kit, body: Object, expected: Object, why: str = "") -> Step:
    """A PATCH of the expected object that must answer with it."""
    return Step(Request("PATCH", kit.at(expected["id"]), body), Stored(OK, expected, (), why))


def refuse_patch(kit: Kit, key: str, body: Json | RawBody, why: str) -> Step:
    """A PATCH that must be refused as bad input (H2)."""
    return Step(Request("PATCH", kit.at(key), body), Status(REFUSED, why), probe=True)


def get(kit: Kit, expected: Object, why: str = "") -> Step:
    """A GET that must answer with this object."""
    return Step(Request("GET", kit.at(expected["id"])), Stored(OK, expected, (), why))


def listing(kit: Kit, expected: Iterable[Object], why: str = "") -> Step:
    """A GET of the collection that must hold exactly these objects."""
    return Step(Request("GET", kit.path), Listed(tuple(expected), (), why))


def delete(kit: Kit, key: str, why: str = "") -> Step:
    """A DELETE that must succeed."""
    return Step(Request("DELETE", kit.at(key)), Status(DELETED, why))


def missing(method: str, path: str, why: str, body: Json | NoBody = NO_BODY) -> Step:
    """A request that must be answered with 404."""
    return Step(Request(method, path, body), Status(MISSING, why), probe=True)


def result(path: str, expected: Fraction | int | None, why: str) -> Step:
    """An analytics request and its exact result (A1)."""
    return Step(Request("GET", path), Result(None if expected is None else Fraction(expected), why), probe=True)
