"""Fields as text: type, required or optional, nullable or not, bounds, default; one line each."""

from __future__ import annotations

from typing import assert_never

from stamina.rest.expressions import Scalar
from stamina.rest.prose.literals import listed, literal, quoted
from stamina.rest.schema import (
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

ID_LINE = '"id": string, required, non-nullable, unique, given by the client'
"""The line of the primary key, which every entity has (S3)."""

BOUND_WORDS = {
    "min_length": "minimum length",
    "max_length": "maximum length",
    "minimum": "minimum",
    "maximum": "maximum",
    "earliest": "earliest",
    "latest": "latest",
}
"""The attribute of a type that is a bound, and how the text calls it. All bounds are inclusive."""


def field_text(field: Field) -> str:
    """A field in one line, such as ``"age": integer, required, non-nullable, minimum 0, default 5``."""
    parts = [
        f"{quoted(field.name)}: {type_text(field.type)}",
        "required" if field.required else "optional",
        "nullable" if field.nullable else "non-nullable",
        *(bound_text(name, value) for name, value in bounds(field.type)),
        *_default(field),
    ]
    return ", ".join(parts)


def type_text(kind: FieldType) -> str:
    """A type without its bounds, such as ``reference to "Person"``."""
    match kind:
        case StringType():
            return "string"
        case IntegerType():
            return "integer"
        case FloatType():
            return "float"
        case BooleanType():
            return "boolean"
        case DatetimeType():
            return "datetime"
        case EnumType(name, values):
            return f"enum {quoted(name)} ({listed(values)})"
        case ReferenceType(target):
            return f"reference to {quoted(target)}"
        case ReferenceListType(target):
            return f"list of references to {quoted(target)}"
        case _:
            assert_never(kind)


def bound_text(name: str, value: Scalar) -> str:
    """One bound, such as ``maximum length 20``. ``name`` is a key of :data:`BOUND_WORDS`."""
    return f"{BOUND_WORDS[name]} {literal(value)}"


def bounds(kind: FieldType) -> tuple[tuple[str, Scalar], ...]:
    """The bounds that a type has, as name and value, the lower one first."""
    pairs = ((name, getattr(kind, name, None)) for name in BOUND_WORDS)
    return tuple((name, value) for name, value in pairs if value is not None)


def _default(field: Field) -> tuple[str, ...]:
    if isinstance(field.type, ReferenceListType):
        return ("default []",)
    return () if field.default is None else (f"default {literal(field.default)}",)
