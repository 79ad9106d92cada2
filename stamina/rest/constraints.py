"""Whether a type's bounds make sense, and whether a literal lies inside them (contract S3, V1, V2, V8, D5)."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from typing import Final

from stamina.rest.expressions import Scalar
from stamina.rest.schema import BooleanType, DatetimeType, EnumType, FieldType, FloatType, IntegerType, ReferenceListType, ReferenceType, StringType

INTEGER_LIMIT: Final = 2**31 - 1
"""Integers are within plus and minus this (V8)."""

FLOAT_LIMIT: Final = 2.0**30
"""Floats are below this in magnitude (V8)."""

FLOAT_STEP: Final = 1 / 1024
"""Floats are multiples of this (V8)."""

DATETIME_FORMAT: Final = "%Y-%m-%d %H:%M:%S"

_DATETIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")


def bounds_problem(kind: FieldType) -> str | None:
    """What is wrong with the bounds of a type; None when they are well formed and leave at least three values."""
    match kind:
        case StringType():
            return _string_bounds(kind)
        case IntegerType():
            return _number_bounds(kind, spread=2)
        case FloatType():
            return _number_bounds(kind, spread=2 * FLOAT_STEP)
        case DatetimeType():
            return _datetime_bounds(kind)
        case EnumType():
            return None if len(kind.values) >= 2 else "an enum has at least two values"
        case BooleanType() | ReferenceType() | ReferenceListType():
            return None


def value_problem(kind: FieldType, value: Scalar) -> str | None:
    """Why a value that is written in the state is none of the type's; None when it is one."""
    match kind:
        case StringType():
            return _string_problem(kind, value)
        case IntegerType():
            return integer_problem(value) or _outside(value, kind.minimum, kind.maximum)
        case FloatType():
            return float_problem(value) or _outside(value, kind.minimum, kind.maximum)
        case BooleanType():
            return None if isinstance(value, bool) else f"{value!r} is neither true nor false"
        case DatetimeType():
            return datetime_problem(value) or _outside(value, kind.earliest, kind.latest)
        case EnumType():
            return None if value in kind.values else f"{value!r} is not among the enum's values"
        case ReferenceType() | ReferenceListType():
            return "a reference takes no literal but null or []"


def integer_problem(value: object) -> str | None:
    """Why a value is no integer of the contract (V1, V8)."""
    if type(value) is not int:
        return f"{value!r} is not an integer"
    return None if abs(value) <= INTEGER_LIMIT else f"{value} is not within plus and minus {INTEGER_LIMIT}"


def float_problem(value: object) -> str | None:
    """Why a value is no float of the contract (V8); floats are written with a fraction, 5.0."""
    if type(value) is not float:
        return f"{value!r} is not a float (a whole one is written like 5.0)"
    if not math.isfinite(value) or abs(value) >= FLOAT_LIMIT or not (value / FLOAT_STEP).is_integer():
        return f"{value} is not a multiple of 1/1024 below 2^30"
    return None


def datetime_problem(value: object) -> str | None:
    """Why a value is no datetime of the contract (V2)."""
    if not isinstance(value, str) or not _DATETIME.fullmatch(value):
        return f"{value!r} is not of the form YYYY-MM-DD hh:mm:ss"
    try:
        datetime.strptime(value, DATETIME_FORMAT)
    except ValueError:
        return f"{value!r} is not a real instant of the calendar"
    return None


def _outside(value: Scalar, low: Scalar | None, high: Scalar | None) -> str | None:
    # The caller knows that all three are of one ordered type.
    if low is not None and value < low:  # type: ignore[operator]
        return f"{value} is below the bound {low}"
    if high is not None and value > high:  # type: ignore[operator]
        return f"{value} is above the bound {high}"
    return None


def _string_problem(kind: StringType, value: Scalar) -> str | None:
    if not isinstance(value, str) or not value.isascii():
        return f"{value!r} is not an ASCII string"
    if kind.min_length is not None and len(value) < kind.min_length:
        return f"{value!r} is shorter than {kind.min_length}"
    if kind.max_length is not None and len(value) > kind.max_length:
        return f"{value!r} is longer than {kind.max_length}"
    return None


def _string_bounds(kind: StringType) -> str | None:
    low, high = kind.min_length, kind.max_length
    if low is not None and low < 0:
        return "the minimum length is negative"
    # A length of one or more leaves many strings; a maximum of 0 leaves one.
    if high is not None and high < max(low or 0, 1):
        return "the lengths leave fewer than three values"
    return None


def _number_bounds(kind: IntegerType | FloatType, spread: float) -> str | None:
    check = integer_problem if isinstance(kind, IntegerType) else float_problem
    for bound in (kind.minimum, kind.maximum):
        if bound is not None and (problem := check(bound)):
            return f"bound {problem}"
    if kind.minimum is not None and kind.maximum is not None and kind.maximum - kind.minimum < spread:
        return f"the bounds {kind.minimum} and {kind.maximum} leave fewer than three values"
    return None


def _datetime_bounds(kind: DatetimeType) -> str | None:
    for bound in (kind.earliest, kind.latest):
        if bound is not None and (problem := datetime_problem(bound)):
            return f"bound {problem}"
    if kind.earliest is None or kind.latest is None:
        return None
    span = datetime.strptime(kind.latest, DATETIME_FORMAT) - datetime.strptime(kind.earliest, DATETIME_FORMAT)
    return None if span >= timedelta(seconds=2) else f"the bounds {kind.earliest} and {kind.latest} leave fewer than three values"
