"""Values for test bodies: ordinary ones, those at and beyond each bound, and those of the wrong type (contract section 3, V8, S7, S8).

Everything is a pure function of a field and a number; two numbers in a row give two different values where the type has that many. Nothing here draws: the
suite draws the first number of each entity.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

import attrs

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
from stamina.rest.values import is_instant

UNIT: Final = 1 / 1024
"""The step between two test floats (V8): exact in binary, so that sums are exact too."""

_SPAN: Final = 900
_FAR: Final = 1_000_000
_YEARS: Final = ("2001-02-03 04:05:06", "2019-08-07 16:05:04")
_WORDS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "jetty", "karst", "larch", "mango", "north", "otter", "plume")
_PADDING: Final = "Quick Brown Foxes, Jump Over 5 Lazy Dogs; "


@attrs.frozen
class Probe:
    """One value to send and what it shows, such as ``"age = 101 is above 100"``."""

    value: Json
    why: str


def is_plain(field: Field) -> bool:
    """Whether the field holds a value of its own, not a reference."""
    return not isinstance(field.type, ReferenceType | ReferenceListType)


def needed(field: Field) -> bool:
    """Whether a POST without the field is refused (V3)."""
    return field.required and field.default is None and not isinstance(field.type, ReferenceListType)


def blank(field: Field) -> Json:
    """What a POST that omits the field stores (V3)."""
    return [] if isinstance(field.type, ReferenceListType) else field.default


def ordinary(field: Field, number: int) -> Json:
    """A valid value that is not the field's default where there is another one. References are null, lists empty."""
    value = _ordinary(field.type, number)
    if field.default is None or value != field.default:
        return value
    return _ordinary(field.type, number + 1)


def different(field: Field, number: int, other: Json) -> Json:
    """An ordinary value that is not ``other``, where the type has one."""
    values = itertools.chain.from_iterable((ordinary(field, each), _ordinary(field.type, each)) for each in range(number + 1, number + 4))
    value = ordinary(field, number)
    return value if value != other else next((each for each in values if each != other), value)


def _ordinary(kind: FieldType, number: int) -> Json:
    match kind:
        case StringType():
            return _text(kind, number)
        case IntegerType():
            low, high = integer_range(kind)
            return low + _spread(number, high - low + 1)
        case FloatType():
            first, last = float_units(kind)
            return (first + _spread(number * 149, last - first + 1)) / 1024
        case BooleanType():
            return number % 2 == 0
        case DatetimeType():
            return _instant(kind, number)
        case EnumType():
            return kind.values[number % len(kind.values)]
        case ReferenceType():
            return None
        case ReferenceListType():
            return []


def _spread(number: int, size: int) -> int:
    return (number if size < 50 else number * 7) % size


def integer_range(kind: IntegerType) -> tuple[int, int]:
    """Where ordinary integers lie: the bounds, or a few hundred values beside the only one; without bounds 2 to 902."""
    low, high = kind.minimum, kind.maximum
    if low is None:
        low = 2 if high is None or high > 2 else high - _SPAN
    return low, low + _SPAN if high is None else min(high, low + _SPAN)


def float_units(kind: FloatType) -> tuple[int, int]:
    """Where ordinary floats lie, in units of 1/1024."""
    low, high = kind.minimum, kind.maximum
    if low is None:
        low = 1.5 if high is None or high > 2 else high - _SPAN
    return round(low * 1024), round((low + _SPAN if high is None else min(high, low + _SPAN)) * 1024)


def _text(kind: StringType, number: int) -> str:
    low, high = kind.min_length or 0, kind.max_length
    text = f"{_WORDS[number % len(_WORDS)]} {number}"
    if len(text) < low:
        text += (_PADDING * (1 + low // len(_PADDING)))[: low - len(text) - 1] + "."
    if high is not None and len(text) > high:
        text = text[:1] + str(number)[::-1][: high - 1] if high else ""
        text += "-" * (low - len(text))
    return text


@lru_cache(maxsize=4096)
def _seconds(kind: DatetimeType) -> tuple[datetime, int]:
    first = kind.earliest or (kind.latest and step_datetime(kind.latest, -_SPAN)) or _YEARS[0]
    last = kind.latest or (_YEARS[1] if first < _YEARS[1] else step_datetime(first, _SPAN)) or first
    start = datetime.fromisoformat(first)
    return start, int((datetime.fromisoformat(last) - start).total_seconds())


def _instant(kind: DatetimeType, number: int) -> str:
    start, span = _seconds(kind)
    return (start + timedelta(seconds=number * 86_477 % (span + 1))).isoformat(sep=" ")


def step_datetime(text: str, seconds: int) -> str | None:
    """The instant so many seconds later, None when the calendar ends before."""
    try:
        return (datetime.fromisoformat(text) + timedelta(seconds=seconds)).isoformat(sep=" ")
    except OverflowError:
        return None


def inside(field: Field) -> tuple[Probe, ...]:
    """The extreme values that must be accepted: each bound exactly, every enum value, both booleans, and zero or the empty string where allowed (V3, V4)."""
    name = field.name
    match field.type:
        case StringType(low, high):
            return tuple(Probe(_exactly(size), f"{name} of length {size} is allowed") for size in dict.fromkeys((low or 0, high)) if size is not None)
        case IntegerType(low, high):
            return _numbers_inside(name, (_zero(low, high), low, high))
        case FloatType(low, high):
            return _numbers_inside(name, _floats_inside(low, high))
        case DatetimeType(low, high):
            bounds = [value for value in dict.fromkeys((low, high)) if value is not None]
            return tuple(Probe(value, f"{name} = {value} is allowed") for value in bounds or (_ordinary(field.type, 5),))
        case EnumType(_, values):
            return tuple(Probe(value, f"{name} = {value} is allowed") for value in values)
        case BooleanType():
            return Probe(False, f"{name} = false is a value"), Probe(True, f"{name} = true is allowed")  # noqa: FBT003
        case _:
            return ()


def _numbers_inside(name: str, values: Iterable[float | None]) -> tuple[Probe, ...]:
    """Zero first, for it is false where a server asks whether there is a value at all."""
    return tuple(Probe(value, f"{name} = {value} is allowed") for value in dict.fromkeys(values) if value is not None)


def _zero(low: float | None, high: float | None) -> int | None:
    return 0 if (low is None or low <= 0) and (high is None or high >= 0) else None


def _floats_inside(low: float | None, high: float | None) -> tuple[float | None, ...]:
    """Zero and the bounds. One of the values is a whole number without a point where there is one, for a float takes those too (V1)."""
    zero = _zero(low, high)
    if zero is not None:
        return zero, low, high
    whole = [int(bound) for bound in (low, high) if bound is not None and bound == int(bound)][:1] or _whole(low, high)
    return *whole, *(bound for bound in (low, high) if bound not in whole)


def _whole(low: float | None, high: float | None) -> list[int]:
    """A whole number within bounds that exclude zero, if there is one."""
    found = math.ceil(low) if low is not None and low > 0 else math.floor(high) if high is not None else 0
    return [found] if (low is None or found >= low) and (high is None or found <= high) else []


def verbatim(kind: StringType, number: int) -> str:
    """A string that does not survive trimming, collapsing, folding of case or escaping, as far as there is room (H8)."""
    text = f" A  {_text(StringType(), number)} \"'\\%<&> "
    if kind.max_length is not None and len(text) > kind.max_length:
        text = ("", "A", "A&", "A  ", "A&  ")[min(kind.max_length, 4)]
    return text.rjust(kind.min_length or 0, ".")


def outside(field: Field) -> tuple[Probe, ...]:
    """The nearest values that must be refused: one step beyond each bound (V4)."""
    name = field.name
    match field.type:
        case StringType(low, high):
            short = (Probe(_exactly(low - 1), f"{name} is shorter than {low}"),) if low else ()
            return short if high is None else (*short, Probe(_exactly(high + 1), f"{name} is longer than {high}"))
        case IntegerType(low, high):
            return _beyond(name, low, high, 1)
        case FloatType(low, high):
            return _beyond(name, low, high, UNIT)
        case DatetimeType(low, high):
            early, late = low and step_datetime(low, -1), high and step_datetime(high, 1)
            before = (Probe(early, f"{name} is before {low}"),) if early else ()
            return (*before, Probe(late, f"{name} is after {high}")) if late else before
        case _:
            return ()


def _beyond(name: str, low: float | None, high: float | None, step: float) -> tuple[Probe, ...]:
    below = () if low is None else (Probe(low - step, f"{name} is below {low}"),)
    return below if high is None else (*below, Probe(high + step, f"{name} is above {high}"))


@lru_cache(maxsize=512)
def _exactly(size: int) -> str:
    """A string of this length that does not survive collapsing, folding of case or escaping: two blanks inside, no blank at either end."""
    return ("W  &" + _PADDING * (1 + size // len(_PADDING)))[: size - 1] + "Z" if size else ""


def choices_elsewhere(fields: Iterable[Field], field: Field) -> tuple[str, ...]:
    """Values of the other enums among some fields that are not among those of this one."""
    kinds = [each.type for each in fields if isinstance(each.type, EnumType) and each.name != field.name]
    assert isinstance(field.type, EnumType)
    own = field.type.values
    return tuple(dict.fromkeys(value for kind in kinds for value in kind.values if value not in own))


def wrong(field: Field, number: int, fields: Iterable[Field] = ()) -> tuple[Probe, ...]:
    """Values of the wrong type or form; each is chosen so that a server that converted it would find it within the bounds (V1, V2, V4, V5).

    Each shows another fault, and among the first, third and so on there is one of another JSON type, as there is among the others. ``number`` picks among
    values that show the same, so that over many fields all of them are sent; ``fields`` are those of the entity.
    """
    name, value = field.name, ordinary(field, number)
    match field.type:
        case StringType():
            return Probe(_number_like(field.type), f"{name} is a number"), _no_text(name, value, number)
        case IntegerType(_, high):
            half = value + 0.5 if high is None or value < high else value - 0.5
            return Probe(str(value), f"{name} is a string"), _boolean(field), Probe(half, f"{name} has a fraction")
        case FloatType():
            return Probe(str(value), f"{name} is a string"), _boolean(field)
        case BooleanType():
            return Probe(json.dumps(value), f"{name} is a string"), Probe(number % 2, f"{name} is a number")
        case DatetimeType():
            return _wrong_instants(name, field.type, value, number)
        case EnumType():
            return _wrong_choices(name, field.type, number, choices_elsewhere(fields, field))
        case _:
            return ()


def _no_text(name: str, value: Json, number: int) -> Probe:
    """What is no string, nor a number."""
    if number % 3 == 0:
        return Probe(True, f"{name} is a boolean")  # noqa: FBT003
    return Probe([value], f"{name} is an array") if number % 3 == 1 else Probe({"value": value}, f"{name} is an object")


def _boolean(field: Field) -> Probe:
    """The boolean that is within the bounds once it is taken for 1 or 0."""
    assert isinstance(field.type, IntegerType | FloatType)
    low, high = field.type.minimum, field.type.maximum
    return Probe((low is None or low <= 1) and (high is None or high >= 1), f"{field.name} is a boolean")


def _number_like(kind: StringType) -> int:
    """A number whose digits make a string of allowed length."""
    size = max(1, min(kind.min_length or 3, 9))
    return int("123456789"[: size if kind.max_length is None else max(1, min(size, kind.max_length))])


def _wrong_choices(name: str, kind: EnumType, number: int, elsewhere: tuple[str, ...]) -> tuple[Probe, ...]:
    chosen = kind.values[number % len(kind.values)]
    cased = next((text for text in (chosen.upper(), chosen.capitalize()) if text not in kind.values), None)
    unknown, another = [text for text in ((chosen[:-1], "", f"{chosen}_x")[number % 3], f"{chosen}_y", f"{chosen}_z", "q_q", "r_r") if text not in kind.values][
        :2
    ]
    if elsewhere:
        unknown = elsewhere[number % len(elsewhere)]
    return (
        Probe(unknown, f"{name} = {json.dumps(unknown)} is not among the allowed values"),
        Probe(another, f"{name} = {another} is not among the allowed values") if cased is None else Probe(cased, f"{name} = {cased} has the wrong case"),
        Probe(number % len(kind.values), f"{name} is a number"),
        _no_text(name, chosen, number),
    )


def _wrong_instants(name: str, kind: DatetimeType, value: str, number: int) -> tuple[Probe, ...]:
    day, time = value.split(" ")
    forms = (f"{day}T{time}", day, f"{value}Z", f"{value}.000", value[:-3], value.replace("-", "/"), f"{value}\n", f" {value}", f"{day} 24:00:00")
    return (
        Probe(forms[number % len(forms)], f"{name} is not an instant in the form YYYY-MM-DD hh:mm:ss"),
        Probe(_impossible(kind), f"{name} is no instant of the calendar"),
        Probe(_short_of_digits(kind, day), f"{name} has digits missing"),
        Probe(_impossible_time(kind, day), f"{name} is no time of the day"),
        Probe(20240131, f"{name} is a number"),
        _no_text(name, value, number),
    )


def _short_of_digits(kind: DatetimeType, day: str) -> str:
    """An instant without its leading zeros; with them it would be within the bounds."""
    if f"{day} 01:02:03" < (kind.earliest or ""):
        day = (step_datetime(f"{day} 01:02:03", 86_400) or day)[:10]
    return f"{int(day[:4])}-{int(day[5:7])}-{int(day[8:])} 1:2:3"


@lru_cache(maxsize=4096)
def _impossible_time(kind: DatetimeType, day: str) -> str:
    """An instant of a real day at a time that no day has, within the bounds when compared as a string where there is one."""
    low, high = kind.earliest or "", kind.latest or "9999"
    days = [day, (kind.latest or day)[:10], *(text[:10] for text in (kind.latest and step_datetime(kind.latest, -86_400),) if text)]
    minutes = (kind.earliest or "00:00:00")[-8:], (kind.latest or "00:00:00")[-8:]
    times = ("25:61:61", "24:30:00", *(f"{time[:2]}:60:00" for time in minutes), *(f"{time[:5]}:61" for time in minutes))
    return next((f"{day} {time}" for day in days for time in times if low <= f"{day} {time}" <= high), f"{day} 25:61:61")


@lru_cache(maxsize=4096)
def _impossible(kind: DatetimeType) -> str:
    """A date that no calendar has, within the bounds when compared as a string where there is one, so that only a look at the calendar refuses it."""
    start, span = _seconds(kind)
    years = range(start.year, min((start + timedelta(seconds=span)).year, start.year + 3) + 1)
    candidates = [f"{year:04d}-{day} 12:34:56" for year in years for day in ("02-29", "02-30", "04-31", "06-31", "09-31", "11-31")]
    low, high = kind.earliest or "", kind.latest or "9999"
    return next((text for text in candidates if low <= text <= high and not is_instant(text)), "2023-02-29 12:34:56")


def is_list(field: Field) -> bool:
    """Whether the field is a reference list."""
    return isinstance(field.type, ReferenceListType)


def is_instant_type(kind: FieldType) -> bool:
    """Whether the type is the datetime."""
    return isinstance(kind, DatetimeType)


def as_text(value: Json) -> str:
    """A value as a person reads it in a title: JSON."""
    return json.dumps(value)


def takes_null(field: Field) -> bool:
    """Whether a request may carry null for the field (V3)."""
    return isinstance(field.type, ReferenceType) or (field.nullable and not isinstance(field.type, ReferenceListType))


def no_value(field: Field) -> Json:
    """Null, or the empty list."""
    return [] if isinstance(field.type, ReferenceListType) else None


def ends(field: Field) -> tuple[Json, Json]:
    """A low and a high value of a plain field, inside its bounds; without bounds far from zero on either side."""
    match field.type:
        case IntegerType(low, high):
            return -_FAR if low is None else low, _FAR if high is None else high
        case FloatType(low, high):
            return -_FAR - 0.5 if low is None else low, _FAR + 0.5 if high is None else high
        case BooleanType():
            return False, True
        case DatetimeType(low, high):
            return low or "1901-02-03 04:05:06", high or "2098-07-06 05:04:03"
        case EnumType(_, values):
            return values[0], values[-1]
        case StringType():
            return _ordinary(field.type, 3), _ordinary(field.type, 8)
        case _:
            return no_value(field), no_value(field)
