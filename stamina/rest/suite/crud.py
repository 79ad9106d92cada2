"""Families ``crud``, ``many`` and ``server``: what every entity answers whatever its fields are (contract H1-H5, V7)."""

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


def crud(kit: Kit) -> Iterator[Case]:
    """Create and read, update, several objects and deletion: each one case an entity."""
    yield _create_and_read(kit)
    yield _update(kit)
    yield _many(kit)


def server(kits: Kits) -> Iterator[Case]:
    """What holds for the server as a whole: the reset, and ids that are unique per entity only."""
    every = tuple(kits.by_name.values())
    yield case(
        "server",
        "server_reset",
        "POST /reset removes every object of every entity, and entities do not share ids.",
        ("H5", "S8"),
        ("server",),
        *(create(kit, kit.minimal("shared-id")) for kit in every),
        *(get(kit, kit.stored(kit.minimal("shared-id"))) for kit in every),
        RESETTING,
        *(listing(kit, (), "everything was reset") for kit in every),
    )


def _create_and_read(kit: Kit) -> Case:
    body, second = kit.full("first-1"), kit.full("first-1", 1)
    for field in kit.plain:
        if isinstance(field.type, StringType):
            body[field.name] = _verbatim(field.type, body[field.name])
    expected = kit.stored(body)
    return case(
        "crud",
        f"{kit.entity.segment}_create_and_read",
        f"A {kit.entity.name} that was created is stored as it was sent, under an id of its own, and can be read alone and in the list.",
        ("H1", "H2", "H3", "H8", "H9", "S3"),
        ("entity", kit.entity.name),
        post(kit, body),
        get(kit, expected),
        refuse_taken(kit, second),
        refuse_post(kit, kit.needed, "id is missing"),
        refuse_post(kit, {**second, "id": None}, "id must not be null"),
        refuse_post(kit, {**second, "id": 17}, "id is a number"),
        *_malformed(kit),
        listing(kit, (expected,), "the refused requests stored nothing"),
    )


def _malformed(kit: Kit) -> Iterator[Step]:
    yield refuse_post(kit, _NOT_JSON[kit.number % len(_NOT_JSON)], "the body is not JSON")
    yield refuse_post(kit, _NO_OBJECTS[kit.number % len(_NO_OBJECTS)], "the body is not an object")


def _verbatim(kind: StringType, text: str) -> str:
    """The text with blanks at its ends, quotes and a backslash, which a server must keep as they are; unchanged where there is no room."""
    odd = f" {text} \"'\\%<&> "
    return odd if kind.max_length is None or len(odd) <= kind.max_length else f" {text[:-2]} " if len(text) > 2 else text


def _update(kit: Kit) -> Case:
    before = kit.stored(kit.full("one_1"))
    names = [field.name for field in kit.plain]
    news = {field.name: testdata.different(field, kit.number + 3, before[field.name]) for field in kit.plain}
    first, second = ({name: news[name] for name in names[start::2]} for start in (0, 1))
    halfway: Object = {**before, **first}
    after: Object = {**halfway, **second}
    return case(
        "crud",
        f"{kit.entity.segment}_update",
        f"PATCH changes the fields of a {kit.entity.name} that it carries and no others.",
        ("V7", "H1", "H4"),
        ("entity", kit.entity.name),
        create(kit, kit.full("one_1")),
        create(kit, kit.full("other", 1)),
        patch(kit, first, halfway),
        get(kit, halfway),
        patch(kit, {}, halfway, "an empty PATCH changes nothing"),
        patch(kit, {"id": "one_1", **second}, after, "the id that it carries is its own"),
        refuse_patch(kit, "one_1", [first], "the body is not an object"),
        refuse_patch(kit, "one_1", RawBody(b"{"), "the body is not JSON"),
        listing(kit, (after, kit.stored(kit.full("other", 1)))),
    )


def _many(kit: Kit) -> Case:
    entity = kit.entity
    bodies = [kit.full(key, index) for index, key in enumerate(("m1", "m2", "m3"))]
    one, two, three = map(kit.stored, bodies)
    news = {field.name: testdata.different(field, kit.number + 5, two[field.name]) for field in kit.plain[:1]}
    changed, again = {**two, **news}, kit.minimal("m1")
    return case(
        "many",
        f"{entity.segment}_many_and_delete",
        f"Several objects of {entity.name} are kept apart; a deleted one is gone, and an id that names none is answered with 404.",
        ("H1", "S8"),
        ("entity", entity.name),
        *(create(kit, body) for body in bodies),
        patch(kit, news, changed),
        listing(kit, (one, changed, three), "only one of them was changed"),
        delete(kit, "m1"),
        missing("GET", kit.at("m1"), "it was deleted"),
        missing("PATCH", kit.at("m1"), "it was deleted", {}),
        missing("DELETE", kit.at("m1"), "it was deleted"),
        missing("GET", kit.at("never-was"), "there is no such id"),
        listing(kit, (changed, three), "one of them was deleted"),
        post(kit, again, "the id of the deleted one is free again"),
        listing(kit, (changed, three, kit.stored(again))),
    )
