"""Which JSON values a field takes (contract V1-V7).

Nothing is converted: ``"5"`` is not 5 and ``true`` is not 1. Every check exists in a prepared form, :func:`checker`, because the ground truth asks the
same question for the same field thousands of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from datetime import datetime
from types import UnionType
from typing import Final, TypeAlias

from stamina.exchange import Json
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

IdsOf: TypeAlias = Callable[[str], Container[str]]
"""From the name of an entity to the ids of its existing objects."""

Check: TypeAlias = Callable[[Json, IdsOf], str | None]
"""None when the value is fine, else what is wrong with it: the part of a sentence that follows the field's name."""

LARGEST: Final = 1e300
"""Numbers beyond this magnitude are refused, so that sums stay finite doubles. Far outside what the contract tests (V8)."""

_DATETIME: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)", re.ASCII)


def problem(field: Field, value: Json, ids_of: IdsOf) -> str | None:
    """What is wrong with a value that a request gives for a field, None when nothing is; ``ids_of`` knows the existing objects (V4)."""
    fault = checker(field)(value, ids_of)
    return None if fault is None else f"{field.name} {fault}"


def checker(field: Field) -> Check:
    """The check of one field, null included (V3), prepared for many values."""
    check = _check_of(field.type)
    if isinstance(field.type, ReferenceListType):
        return check
    if field.nullable or isinstance(field.type, ReferenceType):
        return lambda value, ids_of: None if value is None else check(value, ids_of)
    return lambda value, ids_of: "must not be null" if value is None else check(value, ids_of)


def may_be_null(field: Field) -> bool:
    """Whether a stored object can have null here: by an explicit null, or by leaving the field out on POST (V3)."""
    if isinstance(field.type, ReferenceListType):
        return False
    return field.nullable or isinstance(field.type, ReferenceType) or (not field.required and field.default is None)


def is_instant(text: str) -> bool:
    """Whether the text is exactly ``YYYY-MM-DD hh:mm:ss`` and names a real calendar instant (V2)."""
    match = _DATETIME.fullmatch(text)
    if match is None:
        return False
    try:
        datetime(*map(int, match.groups()))  # type: ignore[arg-type]  # six groups of digits
    except ValueError:
        return False
    return True


def _check_of(kind: FieldType) -> Check:
    match kind:
        case StringType():
            return _string_check(kind)
        case IntegerType():
            return _number_check(int, "must be an integer", kind.minimum, kind.maximum)
        case FloatType():
            return _number_check(int | float, "must be a number", kind.minimum, kind.maximum)
        case BooleanType():
            return lambda value, _: None if value is True or value is False else "must be a boolean"
        case DatetimeType():
            return _datetime_check(kind)
        case EnumType():
            return _enum_check(kind)
        case ReferenceType():
            return _reference_check(kind.target)
        case ReferenceListType():
            return _list_check(kind.target)


def _string_check(kind: StringType) -> Check:
    low, high = kind.min_length, kind.max_length

    def check(value: Json, _: IdsOf) -> str | None:
        if not isinstance(value, str):
            return "must be a string"
        if low is not None and len(value) < low:
            return f"must have at least {low} characters"
        if high is not None and len(value) > high:
            return f"must have at most {high} characters"
        return None

    return check


def _number_check(types: type[int] | UnionType, fault: str, low: float | None, high: float | None) -> Check:
    def check(value: Json, _: IdsOf) -> str | None:
        if isinstance(value, bool) or not isinstance(value, types):
            return fault
        if low is not None and value < low:
            return f"must be at least {low}"
        if high is not None and value > high:
            return f"must be at most {high}"
        return None if -LARGEST <= value <= LARGEST else "is too large"

    return check


def _datetime_check(kind: DatetimeType) -> Check:
    low, high = kind.earliest, kind.latest

    def check(value: Json, _: IdsOf) -> str | None:
        if not isinstance(value, str) or not is_instant(value):
            return "must be a datetime of the form YYYY-MM-DD hh:mm:ss"
        if low is not None and value < low:
            return f"must not be before {low}"
        if high is not None and value > high:
            return f"must not be after {high}"
        return None

    return check


def _enum_check(kind: EnumType) -> Check:
    values, fault = frozenset(kind.values), f"must be one of {', '.join(kind.values)}"
    return lambda value, _: None if isinstance(value, str) and value in values else fault


def _reference_check(target: str) -> Check:
    def check(value: Json, ids_of: IdsOf) -> str | None:
        if not isinstance(value, str):
            return f"must be the id of a {target}"
        return None if value in ids_of(target) else f"names no existing {target}"

    return check


def _list_check(target: str) -> Check:
    def check(value: Json, ids_of: IdsOf) -> str | None:
        if not isinstance(value, list):
            return f"must be an array of {target} ids"
        ids = ids_of(target)
        if all(isinstance(item, str) and item in ids for item in value):
            return None
        return f"holds something that is not the id of an existing {target}"

    return check
