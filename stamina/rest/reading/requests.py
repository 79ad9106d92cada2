"""Reads change requests. No state is needed: each change names all that it is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from stamina.errors import InputError
from stamina.rest.changes import (
    AddAction,
    AddAnalytics,
    AddCondition,
    AddEffect,
    AddEntity,
    AddEnumValue,
    AddField,
    Change,
    ChangeConstraints,
    DeleteAnalytics,
    DeleteEntity,
    DeleteField,
    RemoveAction,
    RemoveCondition,
    RemoveEffect,
    RenameEntity,
    RenameField,
)
from stamina.rest.reading.cursor import Cursor
from stamina.rest.reading.expressions import read_condition, read_effect
from stamina.rest.reading.parts import read_action, read_analytics, read_bound, read_field, read_fields
from stamina.rest.schema import Entity

Read = Callable[[Cursor, Sequence[str]], Change]

_NUMBERED: Final = re.compile(r"(\d+)\. ")


def read_request(text: str) -> tuple[Change, ...]:
    """The changes that a request asks for, in order; none when it asks for none. Raises InputError that shows the line that cannot be read."""
    blocks: list[list[str]] = []
    width = 0
    for line in text.splitlines():
        match = _NUMBERED.match(line)
        if match is not None and int(match.group(1)) == len(blocks) + 1:
            width = match.end()
            blocks.append([line[width:]])
        elif blocks and line.startswith(" " * width):
            blocks[-1].append(line[width:])
    return tuple(read_change("\n".join(block)) for block in blocks)


def read_change(text: str) -> Change:
    """The change that the text describes: its first line, and the bullets below it where there are any. Raises InputError."""
    first, *below = text.splitlines()
    for words, read in _FORMS.items():
        cursor = Cursor(first)
        if cursor.take(words):
            return read(cursor, below)
    raise InputError(f"no change is described like this: {first}")


def _owner(cursor: Cursor) -> tuple[str, str]:
    """``"name" of entity "Entity"``, as entity and name."""
    name = cursor.quoted()
    cursor.expect(" of entity ")
    return cursor.quoted(), name


def _action(cursor: Cursor) -> tuple[str, str]:
    """An action behind the word, with its path: entity and name."""
    entity, name = _owner(cursor)
    cursor.expect(f" (POST /{entity.lower()}/{{id}}/{name})")
    return entity, name


def _bullets(lines: Sequence[str]) -> list[str]:
    return [line.removeprefix("- ") for line in lines]


def _add_entity(cursor: Cursor, below: Sequence[str]) -> Change:
    name = cursor.quoted()
    cursor.expect(f" with the path /{name.lower()} and these fields:")
    cursor.end()
    return AddEntity(Entity(name, read_fields(_bullets(below))))


def _delete_entity(cursor: Cursor, below: Sequence[str]) -> Change:
    return DeleteEntity(cursor.quoted())


def _rename_entity(cursor: Cursor, below: Sequence[str]) -> Change:
    name = cursor.quoted()
    cursor.expect(" to ")
    return RenameEntity(name, cursor.quoted())


def _add_to_entity(cursor: Cursor, below: Sequence[str]) -> Change:
    entity = cursor.quoted()
    if cursor.take(" the field "):
        return AddField(entity, read_field(cursor))
    cursor.expect(" the analytics endpoint ")
    return AddAnalytics(entity, read_analytics(cursor)[1])


def _delete_analytics(cursor: Cursor, below: Sequence[str]) -> Change:
    entity = cursor.quoted()
    cursor.expect(" the analytics endpoint ")
    return DeleteAnalytics(entity, read_analytics(cursor)[1])


def _delete_field(cursor: Cursor, below: Sequence[str]) -> Change:
    return DeleteField(*_owner(cursor))


def _rename_field(cursor: Cursor, below: Sequence[str]) -> Change:
    entity, name = _owner(cursor)
    cursor.expect(" to ")
    return RenameField(entity, name, cursor.quoted())


def _change_constraints(cursor: Cursor, below: Sequence[str]) -> Change:
    entity, name = _owner(cursor)
    cursor.expect(": ")
    bounds = [read_bound(cursor)]
    while cursor.take(", "):
        bounds.append(read_bound(cursor))
    cursor.end()
    return ChangeConstraints(entity, name, tuple(bounds))


def _add_enum_value(cursor: Cursor, below: Sequence[str]) -> Change:
    value = cursor.quoted()
    cursor.expect(" to enum ")
    cursor.quoted()
    cursor.expect(" of field ")
    entity, name = _owner(cursor)
    return AddEnumValue(entity, name, value)


def _add_action(cursor: Cursor, below: Sequence[str]) -> Change:
    entity, name = _action(cursor)
    cursor.expect(":")
    return AddAction(entity, read_action(name, below))


def _remove_action(cursor: Cursor, below: Sequence[str]) -> Change:
    return RemoveAction(*_action(cursor))


def _add_to_action(cursor: Cursor, below: Sequence[str]) -> Change:
    entity, name = _action(cursor)
    if cursor.take(", after its other conditions, the condition "):
        return AddCondition(entity, name, read_condition(cursor.backticked()))
    cursor.expect(", after its other effects, the effect ")
    return AddEffect(entity, name, read_effect(cursor.backticked()))


def _remove_from_action(cursor: Cursor, below: Sequence[str]) -> Change:
    entity, name = _action(cursor)
    if cursor.take(" the condition "):
        return RemoveCondition(entity, name, read_condition(cursor.backticked()))
    cursor.expect(" the effect ")
    return RemoveEffect(entity, name, read_effect(cursor.backticked()))


_FORMS: Final[dict[str, Read]] = {
    "Add entity ": _add_entity,
    "Delete entity ": _delete_entity,
    "Rename entity ": _rename_entity,
    "Add to entity ": _add_to_entity,
    "Delete from entity ": _delete_analytics,
    "Delete field ": _delete_field,
    "Rename field ": _rename_field,
    "Change the constraints of field ": _change_constraints,
    "Add the value ": _add_enum_value,
    "Add action ": _add_action,
    "Remove action ": _remove_action,
    "Add to action ": _add_to_action,
    "Remove from action ": _remove_from_action,
}
"""How the first line of each change begins, and what reads it."""
