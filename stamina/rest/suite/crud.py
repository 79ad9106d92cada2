"""Families ``crud``, ``many`` and ``server``: what every entity answers whatever its fields are (contract H1-H5, H9, S8, V7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stamina.exchange import Json, RawBody
from stamina.rest import testdata
from stamina.rest.schema import StringType
from stamina.rest.suite.kit import (
    RESETTING,
    Kit,
    Kits,
    Object,
    case,
    create,
    delete,
    get,
    listing,
    missing,
    patch,
    post,
    refuse_patch,
    refuse_post,
    refuse_taken,
)
from stamina.suite import Case, Step

_NOT_JSON: Final = (RawBody(b'{"id": "broken"'), RawBody(b"id=broken"), RawBody(b"{'id': 'broken'}"))
_NO_OBJECTS: Final[tuple[Json, ...]] = ([], "broken", None, 5)
"""JSON that is no object (H9)."""


def crud(kit: Kit, *, fine: bool) -> Iterator[Case]:
    """What POST, GET, PATCH and DELETE do: four cases an entity, or two of the same steps."""
    if fine:
        yield _create_and_read(kit, ())
        yield _bad_bodies(kit)
        yield _update(kit)
        yield _many(kit)
    else:
        yield _create_and_read(kit, tuple(_refused(kit)))
        yield _update_and_delete(kit)


def server(kits: Kits, *, fine: bool) -> Iterator[Case]:
    """What holds for the server as a whole: the reset, and ids that are unique per entity only."""
    every = tuple(kits.by_name.values())
    made = [create(kit, kit.minimal(_SHARED)) for kit in every]
    if fine:
        empty = (listing(kit, (), "everything was reset") for kit in every)
        yield _server("reset", "POST /reset removes every object of every entity.", ("H5",), *made, RESETTING, *empty)
        yield _server("ids", "Entities do not share ids: objects of the same id live and go apart.", ("S8",), *made, *_apart(every))
    else:
        title = "POST /reset removes every object of every entity, and entities do not share ids."
        again = (post(kit, kit.minimal(_SHARED), "everything was reset, and ids are unique per entity only") for kit in every)
        yield _server("reset", title, ("H5", "S8"), *made, RESETTING, *again, *_apart(every))


_SHARED: Final = "shared-id"


def _server(name: str, title: str, rules: tuple[str, ...], *steps: Step) -> Case:
    return case("server", f"server_{name}", title, rules, ("server",), *steps)


def _apart(every: tuple[Kit, ...]) -> Iterator[Step]:
    """One object after the other goes, and each is still there when its turn comes. The first is made anew when all others are there, and is seen last."""
    first, *others = every
    why = "the objects of the same id of other entities were deleted, not this one"
    yield delete(first, _SHARED)
    yield post(first, first.minimal(_SHARED), "only other entities have objects of this id")
    yield from (delete(kit, _SHARED, why) for kit in others)
    yield get(first, first.stored(first.minimal(_SHARED)), why)


def _create_and_read(kit: Kit, refused: tuple[Step, ...]) -> Case:
    body = kit.full(_FIRST)
    for field in kit.plain:
        if isinstance(field.type, StringType):
            body[field.name] = testdata.verbatim(field.type, kit.number)
    expected = kit.stored(body)
    seen = (listing(kit, (expected,), "the refused requests stored nothing" if refused else ""),)
    return case(
        "crud",
        f"{kit.entity.segment}_create_and_read",
        f"A {kit.entity.name} that was created is stored as it was sent, under an id of its own, and can be read.",
        ("H1", "H8", "S3", *(("H2", "H3", "H9") if refused else ())),
        ("entity", kit.entity.name),
        post(kit, body),
        *(() if refused else (get(kit, expected),)),
        *refused,
        *seen,
    )


_FIRST: Final = "first-1"


def _bad_bodies(kit: Kit) -> Case:
    body = kit.full(_FIRST)
    return case(
        "crud",
        f"{kit.entity.segment}_bad_bodies",
        f"A {kit.entity.name} without an id of its own, and a body that is no JSON object, are refused.",
        ("H2", "H3", "H9", "S3"),
        ("entity", kit.entity.name),
        create(kit, body),
        *_refused(kit),
        *_malformed_patches(kit, _FIRST),
        listing(kit, (kit.stored(body),), "the refused requests changed nothing"),
    )


def _refused(kit: Kit) -> Iterator[Step]:
    """POSTs that are refused whatever the fields hold, while the first object is there."""
    body = kit.full(_FIRST, 1)
    yield refuse_taken(kit, body)
    yield refuse_post(kit, kit.needed, "id is missing")
    yield refuse_post(kit, {**body, "id": None}, "id must not be null")
    yield refuse_post(kit, {**body, "id": 17}, "id is a number")
    for field in kit.plain[:1]:
        probe = testdata.wrong(field, kit.number)[0]
        yield refuse_post(kit, {**body, "id": "refused", field.name: probe.value}, probe.why)
    yield refuse_post(kit, _NOT_JSON[kit.number % len(_NOT_JSON)], "the body is not JSON")
    yield refuse_post(kit, _NO_OBJECTS[kit.number % len(_NO_OBJECTS)], "the body is not an object")


def _malformed_patches(kit: Kit, key: str) -> Iterator[Step]:
    yield refuse_patch(kit, key, [{"id": key}], "the body is not an object")
    yield refuse_patch(kit, key, RawBody(b"{"), "the body is not JSON")


def _update(kit: Kit) -> Case:
    after, steps = _patched(kit)
    return case(
        "crud",
        f"{kit.entity.segment}_update",
        f"PATCH changes the fields of a {kit.entity.name} that it carries and no others.",
        ("V7", "H1", "H4"),
        ("entity", kit.entity.name),
        create(kit, kit.full(_ONE)),
        create(kit, _other(kit)),
        *steps,
        listing(kit, (after, kit.stored(_other(kit)))),
    )


_ONE, _OTHER = "one_1", "other"


def _news(kit: Kit) -> Object:
    """What the fields of the first object are changed to."""
    before = kit.full(_ONE)
    return {field.name: testdata.different(field, kit.number + 3, before[field.name]) for field in kit.plain}


def _other(kit: Kit) -> Object:
    """A second object, with other values than the first one's new ones: a change of both would show."""
    news = _news(kit)
    return {**kit.full(_OTHER), **{field.name: testdata.different(field, kit.number + 2, news[field.name]) for field in kit.plain}}


def _patched(kit: Kit, *probes: Step) -> tuple[Object, list[Step]]:
    """The first object after all of its PATCHes, and those: none of its fields, every other field, the rest with its own id. Probes come before the last."""
    before, news = kit.stored(kit.full(_ONE)), _news(kit)
    names = list(news)
    first, second = ({name: news[name] for name in names[start::2]} for start in (0, 1))
    halfway: Object = {**before, **first}
    after: Object = {**halfway, **second}
    return after, [
        patch(kit, {}, before, "an empty PATCH changes nothing"),
        patch(kit, first, halfway),
        *probes,
        patch(kit, {"id": _ONE, **second}, after, "the id that it carries is its own"),
    ]


def _many(kit: Kit) -> Case:
    entity = kit.entity
    bodies = [kit.full(key, index) for index, key in enumerate((_ONE, _OTHER, "third"))]
    _, two, three = map(kit.stored, bodies)
    return case(
        "many",
        f"{entity.segment}_many_and_delete",
        f"Several objects of {entity.name} are kept apart; a deleted one is gone, and an id that names none is answered with 404.",
        ("H1", "S8"),
        ("entity", entity.name),
        *(create(kit, body) for body in bodies),
        get(kit, two),
        *_deleted(kit, (two, three), why="one of them was deleted"),
    )


def _deleted(kit: Kit, others: tuple[Object, ...], why: str) -> Iterator[Step]:
    """The first object goes; then its id is free again."""
    again = kit.minimal(_ONE)
    yield delete(kit, _ONE)
    yield missing("GET", kit.at(_ONE), "it was deleted")
    yield missing("PATCH", kit.at(_ONE), "it was deleted", {})
    yield missing("DELETE", kit.at(_ONE), "it was deleted")
    yield post(kit, again, "the id of the deleted one is free again")
    yield listing(kit, (*others, kit.stored(again)), why)


def _update_and_delete(kit: Kit) -> Case:
    other = _other(kit)
    after, steps = _patched(kit, *_malformed_patches(kit, _ONE))
    return case(
        "many",
        f"{kit.entity.segment}_update_and_delete",
        f"PATCH changes the fields of a {kit.entity.name} that it carries and no others, DELETE removes it; both leave other objects alone.",
        ("H1", "H2", "H4", "H9", "S8", "V7"),
        ("entity", kit.entity.name),
        create(kit, kit.full(_ONE)),
        create(kit, other),
        *steps,
        get(kit, after),
        *_deleted(kit, (kit.stored(other),), why="the other object is as it was"),
    )
