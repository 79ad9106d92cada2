"""Families ``crud``, ``many`` and ``server``: what every entity answers whatever its fields are (contract H1-H5, V7)."""

from __future__ import annotations

from collections.abc import Iterator

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

_NO_OBJECTS: tuple[Json, ...] = (RawBody(b'{"id": "broken"'), [], RawBody(b"id=broken"), "broken", RawBody(b""), None)
"""Bodies that are not JSON, or not an object (H9)."""


def crud(kit: Kit) -> Iterator[Case]:
    """Create and read, update, delete, ids, several objects: each one case an entity."""
    yield _create_and_read(kit)
    yield _update(kit)
    yield _delete(kit)
    yield _ids(kit)
    yield _many(kit)


def server(kits: Kits) -> Iterator[Case]:
    """What holds for the server as a whole: the reset, ids that are unique per entity only, and bodies that are no objects."""
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
    yield case(
        "server",
        "server_malformed_body",
        "A body that is not JSON or not a JSON object is refused and stores nothing.",
        ("H9", "H2"),
        ("server",),
        *(step for number, kit in enumerate(every) for step in _malformed(kit, number)),
    )


def _malformed(kit: Kit, number: int) -> Iterator[Step]:
    for offset in range(2):
        body = _NO_OBJECTS[(2 * number + offset) % len(_NO_OBJECTS)]
        why = "the body is not JSON" if isinstance(body, RawBody) else "the body is not an object"
        yield refuse_post(kit, body, why)


def _create_and_read(kit: Kit) -> Case:
    body = kit.full("first-1")
    for field in kit.plain:
        if isinstance(field.type, StringType):
            body[field.name] = _verbatim(field.type, body[field.name])
    expected = kit.stored(body)
    return case(
        "crud",
        f"{kit.entity.segment}_create_and_read",
        f"A {kit.entity.name} that was created is stored as it was sent, and can be read alone and in the list.",
        ("H1", "H8"),
        ("entity", kit.entity.name),
        post(kit, body),
        get(kit, expected),
        listing(kit, (expected,)),
    )


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


def _delete(kit: Kit) -> Case:
    entity, kept = kit.entity, kit.stored(kit.minimal("kept"))
    again = kit.full("gone", 2)
    return case(
        "crud",
        f"{entity.segment}_delete",
        f"A deleted {entity.name} is gone, others stay, and an id that names none is answered with 404.",
        ("H1", "S8"),
        ("entity", entity.name),
        create(kit, kit.minimal("gone")),
        create(kit, kit.minimal("kept")),
        delete(kit, "gone"),
        missing("GET", kit.at("gone"), "it was deleted"),
        missing("PATCH", kit.at("gone"), "it was deleted", {}),
        missing("DELETE", kit.at("gone"), "it was deleted"),
        missing("GET", kit.at("never-was"), "there is no such id"),
        listing(kit, (kept,), "the other one was deleted"),
        post(kit, again, "its id is free again"),
        get(kit, kit.stored(again)),
    )


def _ids(kit: Kit) -> Case:
    first, second = kit.full("taken"), kit.full("taken", 1)
    return case(
        "crud",
        f"{kit.entity.segment}_id",
        f"The id of a {kit.entity.name} is a required string that no other one has.",
        ("H3", "S3"),
        ("entity", kit.entity.name),
        create(kit, first),
        refuse_taken(kit, second),
        refuse_post(kit, kit.needed, "id is missing"),
        refuse_post(kit, {**second, "id": None}, "id must not be null"),
        refuse_post(kit, {**second, "id": 17}, "id is a number"),
        listing(kit, (kit.stored(first),), "the refused requests stored nothing"),
    )


def _many(kit: Kit) -> Case:
    bodies = [kit.full(key, index) for index, key in enumerate(("m1", "m2", "m3"))]
    one, two, three = map(kit.stored, bodies)
    changed = kit.plain[:1]
    news = {field.name: testdata.different(field, kit.number + 5, two[field.name]) for field in changed}
    return case(
        "many",
        f"{kit.entity.segment}_many",
        f"Several objects of {kit.entity.name} are kept apart: the list holds each, and a change or deletion reaches one.",
        ("H1",),
        ("entity", kit.entity.name),
        *(create(kit, body) for body in bodies),
        listing(kit, (one, two, three)),
        patch(kit, news, {**two, **news}),
        listing(kit, (one, {**two, **news}, three), "only one of them was changed"),
        delete(kit, "m1"),
        listing(kit, ({**two, **news}, three), "one of them was deleted"),
    )
