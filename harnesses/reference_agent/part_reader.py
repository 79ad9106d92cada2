"""Reads what specification and change requests share: fields, analytics endpoints and actions."""

from __future__ import annotations

from typing import Any

from harnesses.reference_agent import expression_reader
from harnesses.reference_agent.model import Action, Analytics, Field
from harnesses.reference_agent.text import Cursor, Lines

ID_LINE = '- "id": string, required, non-nullable, unique, given by the client'
OPERATIONS = ("avg", "min", "max", "sum")
_SIMPLE_KINDS = ("string", "integer", "float", "boolean", "datetime")
_NUMBER_BOUNDS = ("minimum length ", "maximum length ", "minimum ", "maximum ")
_TIME_BOUNDS = ("earliest ", "latest ")


def fields(lines: Lines) -> list[Field]:
    """The bullets of an entity: the id line and its fields."""
    lines.expect(ID_LINE)
    return [_field_bullet(Cursor(line)) for line in lines.starting_with('- "')]


def _field_bullet(cursor: Cursor) -> Field:
    cursor.expect("- ")
    return field(cursor)


def field(cursor: Cursor) -> Field:
    """A field, to the end of the line."""
    found = _kind(cursor)
    cursor.expect(", ")
    found.required = cursor.one_of("required", "optional") == "required"
    cursor.expect(", ")
    found.nullable = cursor.one_of("nullable", "non-nullable") == "nullable"
    while cursor.take(", "):
        if cursor.take("default "):
            found.has_default, found.default = True, cursor.literal()
            break
        found.bounds.update([bound(cursor)])
    cursor.end()
    return found


def _kind(cursor: Cursor) -> Field:
    """Name and type."""
    name = cursor.quoted()
    cursor.expect(": ")
    if cursor.take("enum "):
        enum = cursor.quoted()
        cursor.expect(" (")
        values = cursor.strings()
        cursor.expect(")")
        return Field(name, "enum", enum=enum, values=values)
    if cursor.take("reference to "):
        return Field(name, "reference", target=cursor.quoted())
    if cursor.take("list of references to "):
        return Field(name, "list", target=cursor.quoted())
    return Field(name, cursor.one_of(*_SIMPLE_KINDS))


def bound(cursor: Cursor) -> tuple[str, Any]:
    """A bound: its words and its value."""
    words = cursor.one_of(*_NUMBER_BOUNDS, *_TIME_BOUNDS)
    return words.strip(), cursor.quoted() if words in _TIME_BOUNDS else cursor.number()


def analytics(cursor: Cursor) -> tuple[str, Analytics]:
    """The path of an analytics endpoint: the entity's path and the rest; the cursor is behind it."""
    cursor.expect("GET /analytics")
    path = cursor.path()
    parts = path.split("/")
    if len(parts) == 3 and parts[2] == "count":
        return f"/{parts[1]}", Analytics("", "count")
    if len(parts) == 4 and parts[3] in OPERATIONS:
        return f"/{parts[1]}", Analytics(parts[2], parts[3])
    raise cursor.wrong("the path of an analytics endpoint")


def action(name: str, lines: Lines) -> Action:
    """The bullets of an action."""
    cursor = Cursor(lines.next("- Transition"))
    cursor.expect("- Transition: ")
    found = Action(name, cursor.quoted(), [], "")
    cursor.expect(" from ")
    found.sources = cursor.strings()
    cursor.expect(" to ")
    found.goal = cursor.quoted()
    cursor.end()
    found.conditions = [expression_reader.condition(each) for each in _numbered(lines, "Conditions")]
    found.effects = [expression_reader.effect(each) for each in _numbered(lines, "Effects")]
    return found


def _numbered(lines: Lines, title: str) -> list[Cursor]:
    """The expressions of a numbered list in an action."""
    cursor = Cursor(lines.next(f"- {title}"))
    cursor.expect(f"- {title}:")
    if cursor.take(" none"):
        cursor.end()
        return []
    cursor.end()
    return [_numbered_expression(Cursor(line), number) for number, line in enumerate(lines.starting_with("  "), 1)]


def _numbered_expression(cursor: Cursor, number: int) -> Cursor:
    cursor.expect(f"  {number}. ")
    inner = cursor.expression()
    cursor.end()
    return inner
