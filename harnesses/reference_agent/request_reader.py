"""Reads a change request."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from harnesses.reference_agent import expression_reader, part_reader
from harnesses.reference_agent.changes import (
    ActionRef,
    AddAction,
    AddAnalytics,
    AddEntity,
    AddEnumValue,
    AddField,
    AddRule,
    Change,
    ChangeConstraints,
    DeleteEntity,
    DeleteField,
    Remove,
    RenameEntity,
    RenameField,
)
from harnesses.reference_agent.consequences import Consequence
from harnesses.reference_agent.model import Api, Entity, Impossible
from harnesses.reference_agent.text import Cursor, Line, Lines

_HEADING = re.compile(r"The API changes\. Please make (\d+) changes?, in this order:")
_NO_CHANGES = "The API stays as it is this time."
_ITEM = re.compile(r"(\d+)\. ")


@dataclass(frozen=True)
class Step:
    """A change and its first line, for messages."""

    line: Line
    change: Change

    def apply(self, api: Api) -> None:
        """Alter the API. Raises :class:`~harnesses.reference_agent.text.Unreadable` when the change does not fit."""
        try:
            self.change.apply(api)
        except Impossible as error:
            raise self.line.wrong(f"a change that fits the API ({error})") from None


def is_request(text: str) -> bool:
    """Whether a prompt is a change request."""
    return text.startswith(("The API changes.", _NO_CHANGES))


def request(text: str, source: str) -> list[Step]:
    """The changes of a request, in order. Raises :class:`~harnesses.reference_agent.text.Unreadable`."""
    lines = text.split("\n")
    first = Line(source, 1, lines[0])
    items = _items([Line(source, number, line) for number, line in enumerate(lines[1:], 2)])
    if first.text.startswith(_NO_CHANGES):
        expected = 0
    else:
        heading = _HEADING.fullmatch(first.text)
        if heading is None:
            raise first.wrong('"The API changes. Please make N changes, in this order:"')
        expected = int(heading[1])
    if len(items) != expected:
        raise first.wrong(f"as many changes as the list below has, {len(items)}")
    return [Step(item[0], _change(item[0], Lines(item[1:], source))) for item in items]


def _items(lines: list[Line]) -> list[list[Line]]:
    """The lines of each change: the first without its number, the others without their indentation."""
    items: list[list[Line]] = []
    indent = ""
    for line in lines:
        match = _ITEM.match(line.text)
        if match is not None:
            if int(match[1]) != len(items) + 1:
                raise line.wrong(f"change number {len(items) + 1}")
            indent = " " * match.end()
            items.append([line.without(match[0])])
        elif line.text.startswith(" "):
            if not items:
                raise line.wrong("a numbered change before what belongs to one")
            items[-1].append(line.without(indent))
    return items


def _change(line: Line, below: Lines) -> Change:
    cursor = Cursor(line)
    for beginning, read in _READERS:
        if cursor.take(beginning):
            change = read(cursor, below)
            cursor.end()
            below.end()
            return change
    raise cursor.wrong("a change")


def _add_entity(cursor: Cursor, below: Lines) -> Change:
    name = cursor.quoted()
    cursor.expect(" with the path ")
    path = cursor.path()
    if path != f"/{name.lower()}":
        raise cursor.wrong(f'the path of "{name}", which is its name in lower case')
    cursor.expect(" and these fields:")
    return AddEntity(Entity(name, path, part_reader.fields(below)))


def _delete_entity(cursor: Cursor, below: Lines) -> Change:
    name = cursor.quoted()
    cursor.expect(" (path ")
    path = cursor.path()
    cursor.expect(")")
    return DeleteEntity(name, path, _consequences(cursor, below))


def _rename_entity(cursor: Cursor, below: Lines) -> Change:
    old = cursor.quoted()
    cursor.expect(" to ")
    new = cursor.quoted()
    cursor.expect(":")
    return RenameEntity(old, new, _moves(below))


def _moves(below: Lines) -> tuple[tuple[str, str], ...]:
    """The bullets of a rename. The last one is prose."""
    bullets = [line.without("- ") for line in below.starting_with("- ")]
    return tuple(_move(line) for line in bullets[:-1])


def _move(line: Line) -> tuple[str, str]:
    old, becomes, new = line.text.partition(" becomes ")
    if not becomes:
        raise line.wrong("one path that becomes another")
    return old, new


def _add_to_entity(cursor: Cursor, below: Lines) -> Change:
    entity = cursor.quoted()
    if cursor.take(" the field "):
        return AddField(entity, part_reader.field(cursor))
    cursor.expect(" the analytics endpoint ")
    path, analytics = part_reader.analytics(cursor)
    cursor.expect(": ")
    cursor.rest()
    return AddAnalytics(entity, path, analytics)


def _delete_field(cursor: Cursor, below: Lines) -> Change:
    entity, field = _field_of(cursor)
    return DeleteField(entity, field, _consequences(cursor, below))


def _field_of(cursor: Cursor) -> tuple[str, str]:
    field = cursor.quoted()
    cursor.expect(" of entity ")
    return cursor.quoted(), field


def _rename_field(cursor: Cursor, below: Lines) -> Change:
    entity, old = _field_of(cursor)
    cursor.expect(" to ")
    new = cursor.quoted()
    cursor.expect(":")
    return RenameField(entity, old, new, _moves(below))


def _change_constraints(cursor: Cursor, below: Lines) -> Change:
    entity, field = _field_of(cursor)
    cursor.expect(": ")
    bounds = dict([part_reader.bound(cursor)])
    while cursor.take(", "):
        bounds.update([part_reader.bound(cursor)])
    return ChangeConstraints(entity, field, bounds)


def _add_enum_value(cursor: Cursor, below: Lines) -> Change:
    value = cursor.quoted()
    cursor.expect(" to enum ")
    enum = cursor.quoted()
    cursor.expect(" of field ")
    entity, field = _field_of(cursor)
    cursor.expect(", after its other values")
    return AddEnumValue(entity, field, enum, value)


def _delete_analytics(cursor: Cursor, below: Lines) -> Change:
    entity = cursor.quoted()
    cursor.expect(" the analytics endpoint ")
    path, analytics = part_reader.analytics(cursor)
    return Remove(entity, path, Consequence("analytics", path, what=analytics))


def _action_ref(cursor: Cursor) -> ActionRef:
    """``"name" of entity "Entity" (POST /segment/{id}/name)``."""
    name = cursor.quoted()
    cursor.expect(" of entity ")
    entity = cursor.quoted()
    cursor.expect(" (POST ")
    path = cursor.path()
    if not path.endswith(f"/{{id}}/{name}"):
        raise cursor.wrong(f"the path of action {name} before here")
    cursor.expect(")")
    return ActionRef(name, entity, path.removesuffix(f"/{{id}}/{name}"))


def _add_action(cursor: Cursor, below: Lines) -> Change:
    ref = _action_ref(cursor)
    cursor.expect(":")
    return AddAction(ref, part_reader.action(ref.name, below))


def _remove_action(cursor: Cursor, below: Lines) -> Change:
    ref = _action_ref(cursor)
    return Remove(ref.entity, ref.path, Consequence("action", ref.entity, ref.name))


def _add_to_action(cursor: Cursor, below: Lines) -> Change:
    ref = _action_ref(cursor)
    if cursor.take(", after its other conditions, the condition "):
        return AddRule(ref, expression_reader.condition(cursor.expression()), conditions=True)
    cursor.expect(", after its other effects, the effect ")
    return AddRule(ref, expression_reader.effect(cursor.expression()), conditions=False)


def _remove_from_action(cursor: Cursor, below: Lines) -> Change:
    ref = _action_ref(cursor)
    if cursor.take(" the condition "):
        return Remove(ref.entity, ref.path, Consequence("condition", ref.entity, ref.name, expression_reader.condition(cursor.expression())))
    cursor.expect(" the effect ")
    return Remove(ref.entity, ref.path, Consequence("effect", ref.entity, ref.name, expression_reader.effect(cursor.expression())))


def _consequences(cursor: Cursor, below: Lines) -> tuple[Consequence, ...]:
    """The bullets below a deletion; the cursor is where its first line announces them."""
    if not cursor.take(". These go with it:"):
        return ()
    return tuple(_consequence(Cursor(line.without("- "))) for line in below.starting_with("- "))


def _consequence(cursor: Cursor) -> Consequence:
    kind = cursor.one_of("field ", "analytics endpoint ", "action ", "condition ", "effect ").strip()
    found = _consequence_of(kind, cursor)
    cursor.end()
    return found


def _consequence_of(kind: str, cursor: Cursor) -> Consequence:
    if kind == "field":
        return Consequence("field", *_field_of(cursor))
    if kind == "analytics endpoint":
        path, analytics = part_reader.analytics(cursor)
        return Consequence("analytics", path, what=analytics)
    if kind == "action":
        ref = _action_ref(cursor)
        return Consequence("action", ref.entity, ref.name)
    inner = cursor.expression()
    rule = expression_reader.condition(inner) if kind == "condition" else expression_reader.effect(inner)
    cursor.expect(" of action ")
    ref = _action_ref(cursor)
    return Consequence(kind, ref.entity, ref.name, rule)


_READERS: tuple[tuple[str, Callable[[Cursor, Lines], Change]], ...] = (
    ("Add entity ", _add_entity),
    ("Delete entity ", _delete_entity),
    ("Rename entity ", _rename_entity),
    ("Add to entity ", _add_to_entity),
    ("Delete field ", _delete_field),
    ("Rename field ", _rename_field),
    ("Change the constraints of field ", _change_constraints),
    ("Add the value ", _add_enum_value),
    ("Delete from entity ", _delete_analytics),
    ("Add action ", _add_action),
    ("Remove action ", _remove_action),
    ("Add to action ", _add_to_action),
    ("Remove from action ", _remove_from_action),
)
