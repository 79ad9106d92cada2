"""Family ``references``: set, read back, change and clear a reference or list, and what the deletion of its target does (contract V5, V7, D1, S7, S8)."""

from __future__ import annotations

from collections.abc import Iterator

from stamina.rest import testdata
from stamina.rest.schema import Field
from stamina.rest.suite.kit import Kit, Kits, Object, case, create, delete, get, listing, patch, post, refuse_patch
from stamina.rest.suite.validation import bad_ids, refusals
from stamina.suite import Case, Step


def references(kit: Kit, kits: Kits) -> Iterator[Case]:
    """Two cases for each reference and list: its values, and the cascade."""
    for field in kit.references:
        target = kits.target(field)
        if testdata.is_list(field):
            yield _list_values(kit, target, field)
            yield _list_cascade(kit, target, field)
        else:
            yield _reference_values(kit, target, field)
            yield _reference_cascade(kit, target, field)


def _targets(target: Kit, *keys: str) -> list[Step]:
    return [create(target, target.minimal(key)) for key in keys]


def _holder(kit: Kit, key: str, field: Field, value: object) -> Object:
    return {**kit.minimal(key), field.name: value}


def _own(kit: Kit, target: Kit, *keys: str) -> list[Object]:
    """The targets as the holder's list shows them: only when they are objects of the same entity."""
    return [kit.stored(kit.minimal(key)) for key in keys] if kit is target else []


def _to_itself(kit: Kit, target: Kit, field: Field, before: Object) -> tuple[list[Step], Object]:
    """A PATCH that makes an object refer to itself, where the field allows that; and the object after it."""
    if kit is not target:
        return [], before
    value = [before["id"]] if testdata.is_list(field) else before["id"]
    after = {**before, field.name: value}
    return [patch(kit, {field.name: value}, after, "an object may refer to itself")], after


def _reference_values(kit: Kit, target: Kit, field: Field) -> Case:
    name = field.name
    first, second = _holder(kit, "h1", field, "t1"), _holder(kit, "h2", field, None)
    one, two = kit.stored(first), kit.stored(second)
    moved, cleared = {**one, name: "t2"}, {**one, name: None}
    itself, last = _to_itself(kit, target, field, {**two, name: "t2"})
    bad = bad_ids(kit, target, field, holder="h1", there="t1")
    return case(
        "references",
        f"{kit.entity.segment}_{name}_reference",
        f"{kit.entity.name}.{name} holds the id of a {target.entity.name}, and can be set, changed and cleared; nothing else is taken.",
        ("V3", "V4", "V5", "V7", "H2"),
        ("field", kit.entity.name, name),
        *_targets(target, "t1", "t2"),
        post(kit, first),
        post(kit, second, f"{name} may be null"),
        get(kit, one),
        patch(kit, {name: "t2"}, moved),
        patch(kit, {}, moved, f"PATCH without {name} leaves it"),
        patch(kit, {name: None}, cleared, f"{name} may be null"),
        patch(kit, {name: "t2"}, {**two, name: "t2"}),
        *itself,
        *refusals(kit, field, bad, last),
        listing(kit, (cleared, last, *_own(kit, target, "t1", "t2")), "the refused requests changed nothing"),
    )


def _reference_cascade(kit: Kit, target: Kit, field: Field) -> Case:
    name = field.name
    bodies = [_holder(kit, key, field, value) for key, value in (("h1", "t1"), ("h2", "t2"), ("h3", "t1"))]
    one, two, three = map(kit.stored, bodies)
    one, three = {**one, name: None}, {**three, name: None}
    return case(
        "references",
        f"{kit.entity.segment}_{name}_cascade",
        f"Deleting a {target.entity.name} sets every {kit.entity.name}.{name} that refers to it to null, and no other.",
        ("D1", "S8"),
        ("field", kit.entity.name, name),
        *_targets(target, "t1", "t2"),
        *(create(kit, body) for body in bodies),
        delete(target, "t1"),
        get(kit, one, "what it referred to was deleted"),
        listing(kit, (one, two, three, *_own(kit, target, "t2")), "t1 was deleted"),
        refuse_patch(kit, "h2", {name: "t1"}, f"{name} names a deleted object"),
        post(target, target.minimal("t1"), "the id is free again"),
        listing(kit, (one, two, three, *_own(kit, target, "t1", "t2")), "references to the deleted t1 stay null"),
    )


def _list_values(kit: Kit, target: Kit, field: Field) -> Case:
    name = field.name
    body, bare = _holder(kit, "h1", field, ["t3", "t1"]), kit.minimal("h2")
    one, two = kit.stored(body), kit.stored(bare)
    swapped = {**one, name: ["t2", "t1"]}
    itself, last = _to_itself(kit, target, field, {**two, name: ["t3"]})
    bad = bad_ids(kit, target, field, holder="h1", there="t1")
    return case(
        "references",
        f"{kit.entity.segment}_{name}_list",
        f"{kit.entity.name}.{name} holds ids of {target.entity.name}; a list that is sent replaces the one before, an omitted one is empty.",
        ("V3", "V4", "V5", "V7", "H2", "H8", "S3"),
        ("field", kit.entity.name, name),
        *_targets(target, "t1", "t2", "t3"),
        post(kit, body),
        post(kit, bare, f"an omitted {name} is empty"),
        get(kit, one),
        patch(kit, {name: ["t2", "t1"]}, swapped, "the list was replaced"),
        patch(kit, {}, swapped, f"PATCH without {name} leaves it"),
        patch(kit, {name: []}, {**one, name: []}, "the list was emptied"),
        patch(kit, {name: ["t3"]}, {**two, name: ["t3"]}),
        *itself,
        *refusals(kit, field, bad, last),
        listing(kit, ({**one, name: []}, last, *_own(kit, target, "t1", "t2", "t3")), "the refused requests changed nothing"),
    )


def _list_cascade(kit: Kit, target: Kit, field: Field) -> Case:
    name = field.name
    lists = {"h1": ["t1", "t2"], "h2": ["t3", "t2", "t1"], "h3": ["t2"], "h4": ["t1"]}
    bodies = [_holder(kit, key, field, value) for key, value in lists.items()]
    after = [kit.stored({**body, name: [key for key in body[name] if key != "t1"]}) for body in bodies]
    return case(
        "references",
        f"{kit.entity.segment}_{name}_cascade",
        f"Deleting a {target.entity.name} removes its id from every {kit.entity.name}.{name}, and only that id.",
        ("D1", "S8"),
        ("field", kit.entity.name, name),
        *_targets(target, "t1", "t2", "t3"),
        *(create(kit, body) for body in bodies),
        delete(target, "t1"),
        get(kit, after[0], "t1 was deleted"),
        listing(kit, (*after, *_own(kit, target, "t2", "t3")), "t1 was deleted"),
        refuse_patch(kit, "h3", {name: ["t2", "t1"]}, f"{name} names a deleted object"),
        post(target, target.minimal("t1"), "the id is free again"),
        listing(kit, (*after, *_own(kit, target, "t1", "t2", "t3")), "the deleted t1 stays out of every list"),
    )
