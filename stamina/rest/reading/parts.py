"""Reads fields, analytics endpoints and actions, which specifications and change requests share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stamina.errors import InputError
from stamina.rest.expressions import Condition, Effect
from stamina.rest.reading.cursor import Cursor
from stamina.rest.reading.expressions import read_condition, read_effect
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    BooleanType,
    DatetimeType,
    EnumType,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    StringType,
)

ID_LINE: Final = '"id": string, required, non-nullable, unique, given by the client'
_PLAIN: Final[dict[str, type[Any]]] = {"string": StringType, "integer": IntegerType, "float": FloatType, "boolean": BooleanType, "datetime": DatetimeType}
_BOUNDS: Final = {
    "minimum length ": "min_length",
    "maximum length ": "max_length",
    "minimum ": "minimum",
    "maximum ": "maximum",
    "earliest ": "earliest",
    "latest ": "latest",
}


def read_fields(lines: Sequence[str]) -> tuple[Field, ...]:
    """The fields of an entity, from its bullets without their marks; the first is the id."""
    if not lines or lines[0] != ID_LINE:
        raise InputError(f"the first field of an entity is the id: {ID_LINE}")
    return tuple(read_field(Cursor(line)) for line in lines[1:])


def read_field(cursor: Cursor) -> Field:
    """A field, to the end of the line."""
    name = cursor.quoted()
    cursor.expect(": ")
    make, values = _type(cursor)
    cursor.expect(", ")
    required = cursor.pick("required", "optional") == "required"
    cursor.expect(", ")
    nullable = cursor.pick("nullable", "non-nullable") == "nullable"
    default: Any = None
    while cursor.take(", "):
        if cursor.take("default "):
            default = cursor.literal()
        else:
            bound, value = read_bound(cursor)
            values[bound] = value
    cursor.end()
    kind: FieldType = make(**values)
    return Field(name, kind, required, nullable, None if isinstance(kind, ReferenceListType) else default)


def _type(cursor: Cursor) -> tuple[type[Any], dict[str, Any]]:
    """The class of a type and what it is made with, bounds aside."""
    if cursor.take("enum "):
        name = cursor.quoted()
        cursor.expect(" (")
        values = cursor.strings()
        cursor.expect(")")
        return EnumType, {"name": name, "values": values}
    if cursor.take("reference to "):
        return ReferenceType, {"target": cursor.quoted()}
    if cursor.take("list of references to "):
        return ReferenceListType, {"target": cursor.quoted()}
    return _PLAIN[cursor.pick(*_PLAIN)], {}


def read_bound(cursor: Cursor) -> tuple[str, Any]:
    """A bound, as the name of the type's attribute and its value."""
    return _BOUNDS[cursor.pick(*_BOUNDS)], cursor.literal()


def read_analytics(cursor: Cursor) -> tuple[str, Analytics]:
    """An endpoint from its path: the entity's segment, and what is computed. The explanation behind it is left."""
    cursor.expect("GET /analytics/")
    segment = cursor.word()
    cursor.expect("/")
    first = cursor.word()
    if cursor.take("/"):
        return segment, Analytics(AnalyticsOperation(cursor.word()), first)
    return segment, Analytics(AnalyticsOperation(first))


def read_action(name: str, lines: Sequence[str]) -> Action:
    """An action from its bullets: the transition, the conditions, the effects."""
    cursor = Cursor(lines[0])
    cursor.expect("- Transition: ")
    enum_field = cursor.quoted()
    cursor.expect(" from ")
    from_values = cursor.strings()
    cursor.expect(" to ")
    to_value = cursor.quoted()
    cursor.end()
    split = next((number for number, line in enumerate(lines) if line.startswith("- Effects:")), len(lines))
    conditions: tuple[Condition, ...] = tuple(map(read_condition, _expressions("Conditions", lines[1:split])))
    effects: tuple[Effect, ...] = tuple(map(read_effect, _expressions("Effects", lines[split:])))
    return Action(name, enum_field, from_values, to_value, conditions, effects)


def _expressions(title: str, lines: Sequence[str]) -> list[str]:
    """The numbered expressions below a bullet."""
    if list(lines) == [f"- {title}: none"]:
        return []
    if not lines or lines[0] != f"- {title}:":
        raise InputError(f"expected the {title.lower()} of an action, found: {lines[0] if lines else 'nothing'}")
    found = []
    for number, line in enumerate(lines[1:], 1):
        cursor = Cursor(line)
        cursor.expect(f"  {number}. ")
        found.append(cursor.backticked())
        cursor.end()
    return found
