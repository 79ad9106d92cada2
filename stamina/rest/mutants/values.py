"""Operators on which values a field takes and how it keeps them: types, conversions, forms (V1, V2, V6, H8)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

import attrs

from stamina.exchange import Json
from stamina.rest.mutants.flawed import PATCH, POST, checks, converting, showing, slot_fault
from stamina.rest.mutants.mutant import Fault, Faults, Ground, each_field, field_target, operator, place
from stamina.rest.resources import Slot
from stamina.rest.schema import BooleanType, DatetimeType, Entity, Field, FieldType, FloatType, IntegerType, ReferenceListType, StringType
from stamina.rest.semantics import Object
from stamina.rest.testdata import is_plain
from stamina.rest.values import checker

Convert = Callable[[Json], Json]

_NUMBERS: Final = (IntegerType, FloatType)


def _converted(ground: Ground, kinds: type | tuple[type, ...], detail: str, convert: Callable[[Field], Convert]) -> Iterator[Fault]:
    """The faults of a server that converts what it is sent for fields of these types."""
    for entity, field in _of(ground, kinds):
        build = converting(ground.state, entity, field, convert(field))
        yield Fault(field_target(entity, field), f"{place(entity, field)}: {detail}", build)


def _of(ground: Ground, kinds: type | tuple[type, ...]) -> Iterator[tuple[Entity, Field]]:
    return ((entity, field) for entity, field in each_field(ground) if isinstance(field.type, kinds))


@operator("type-unchecked", "V1")
def type_unchecked(ground: Ground) -> Faults:
    """A value of any JSON type is taken and stored as it is."""
    for entity, field in each_field(ground):
        if is_plain(field):
            build = slot_fault(ground.state, entity, field, checks(lambda value: "must not be null" if value is None else None))
            yield Fault(field_target(entity, field), f"{place(entity, field)}: any value but null", build)


@operator("post-type-unchecked", "V1")
def post_type_unchecked(ground: Ground) -> Faults:
    """A POST takes a value of any JSON type for a field; null, bounds and forms are checked."""
    yield from _untyped(ground, POST)


@operator("patch-type-unchecked", "V1")
def patch_type_unchecked(ground: Ground) -> Faults:
    """A PATCH takes a value of any JSON type for a field; null, bounds and forms are checked."""
    yield from _untyped(ground, PATCH)


_JSON_TYPES: Final[dict[type[FieldType], tuple[type, ...]]] = {
    IntegerType: (int,),
    FloatType: (int, float),
    BooleanType: (bool,),
    ReferenceListType: (list,),
}
"""Of the values of a field; of all others, strings. A boolean is no integer."""


def _untyped(ground: Ground, method: str) -> Iterator[Fault]:
    """The faults of a server that one method of which checks the values of one field only where they have the right type."""
    for entity, field in each_field(ground):
        types = (*_JSON_TYPES.get(type(field.type), (str,)), type(None))

        def unless(slot: Slot, types: tuple[type, ...] = types) -> Slot:
            return attrs.evolve(slot, check=lambda value, ids_of: slot.check(value, ids_of) if type(value) in types else None)

        yield Fault(field_target(entity, field), f"{place(entity, field)}: {method} takes any type", slot_fault(ground.state, entity, field, unless, (method,)))


@operator("text-as-number", "V1")
def text_as_number(ground: Ground) -> Faults:
    """A number in a string ("5") is converted."""
    yield from _converted(ground, _NUMBERS, "strings become numbers", lambda field: _number_of_text(int if isinstance(field.type, IntegerType) else float))


def _number_of_text(kind: Callable[[str], Json]) -> Convert:
    def convert(value: Json) -> Json:
        try:
            return kind(value) if isinstance(value, str) else value
        except ValueError:
            return value

    return convert


@operator("boolean-as-number", "V1")
def boolean_as_number(ground: Ground) -> Faults:
    """True and false are taken for 1 and 0."""
    for entity, field in _of(ground, _NUMBERS):
        build = converting(ground.state, entity, field, lambda value: int(value) if isinstance(value, bool) else value)
        check = checker(field)
        taken = any(check(number, lambda _: ()) is None for number in (0, 1))
        why = "" if taken else "V4: neither 1 nor 0 is inside the bounds, so both booleans are refused all the same"
        yield Fault(field_target(entity, field), f"{place(entity, field)}: booleans become numbers", build, why)


@operator("fraction-truncated", "V1")
def fraction_truncated(ground: Ground) -> Faults:
    """A fraction sent for an integer is cut off."""
    yield from _converted(ground, IntegerType, "fractions are cut", lambda _: lambda value: int(value) if isinstance(value, float) else value)


@operator("integer-refused", "V1")
def integer_refused(ground: Ground) -> Faults:
    """A float field refuses a number without a fraction."""
    for entity, field in _of(ground, FloatType):
        check = checker(field)
        build = slot_fault(
            ground.state,
            entity,
            field,
            lambda slot, check=check: attrs.evolve(slot, check=lambda value, ids_of: "must be a float" if type(value) is int else check(value, ids_of)),  # type: ignore[misc]
        )
        assert isinstance(field.type, FloatType)
        low, high = field.type.minimum, field.type.maximum
        whole = low is None or high is None or int(high // 1) >= low
        yield Fault(
            field_target(entity, field), f"{place(entity, field)}: integers are refused", build, "" if whole else "V4: no whole number is inside the bounds"
        )


@operator("float-as-integer", "V1")
def float_as_integer(ground: Ground) -> Faults:
    """A float is stored without its fraction."""
    yield from _converted(ground, FloatType, "stored as integers", lambda _: lambda value: int(value) if isinstance(value, float) else value)


@operator("float-rounded", "H8")
def float_rounded(ground: Ground) -> Faults:
    """A float is stored with two decimals."""
    yield from _converted(ground, FloatType, "stored with two decimals", lambda _: lambda value: round(value, 2) if isinstance(value, float) else value)


@operator("anything-as-text", "V1")
def anything_as_text(ground: Ground) -> Faults:
    """A number or boolean sent for a string is converted."""
    kinds = (StringType,)
    yield from _converted(ground, kinds, "anything becomes text", lambda _: lambda value: value if isinstance(value, str | None) else str(value))


@operator("number-as-boolean", "V1")
def number_as_boolean(ground: Ground) -> Faults:
    """1 and 0 are taken for true and false."""
    convert: Convert = lambda value: bool(value) if type(value) is int and value in (0, 1) else value  # noqa: E731 (one conversion, as the others)
    yield from _converted(ground, BooleanType, "1 and 0 become booleans", lambda _: convert)


@operator("text-as-boolean", "V1")
def text_as_boolean(ground: Ground) -> Faults:
    """ "true" and "false" are taken for true and false."""
    words = {"true": True, "false": False}
    yield from _converted(ground, BooleanType, "words become booleans", lambda _: lambda value: words.get(value, value) if isinstance(value, str) else value)


@operator("boolean-shown-as-number", "H8")
def boolean_shown_as_number(ground: Ground) -> Faults:
    """A boolean is returned as 1 or 0."""
    yield from _shown(ground, BooleanType, "returned as 1 and 0", lambda value: int(value) if isinstance(value, bool) else value)


@operator("number-shown-as-text", "H8")
def number_shown_as_text(ground: Ground) -> Faults:
    """A number is returned as a string."""
    yield from _shown(ground, _NUMBERS, "returned as text", lambda value: value if value is None else str(value))


def _shown(ground: Ground, kinds: type | tuple[type, ...], detail: str, show: Convert) -> Iterator[Fault]:
    """The faults of a server that changes a field on its way out."""
    for entity, field in _of(ground, kinds):

        def changed(each: Object, name: str = field.name) -> Object:
            return {**each, name: show(each[name])}

        yield Fault(field_target(entity, field), f"{place(entity, field)}: {detail}", showing(ground.state, entity, changed))


@operator("calendar-unchecked", "V2")
def calendar_unchecked(ground: Ground) -> Faults:
    """An instant that no calendar has is taken."""
    yield from _formed(ground, "any digits in the right places", lambda text: _FORM.fullmatch(text) is not None)


@operator("time-unchecked", "V2")
def time_unchecked(ground: Ground) -> Faults:
    """The day is checked, the time of day is not."""
    yield from _formed(ground, "the time of day is not checked", lambda text: _FORM.fullmatch(text) is not None and _read("%Y-%m-%d", text[:10]))


@operator("form-lax", "V2")
def form_lax(ground: Ground) -> Faults:
    """Other spellings of an instant are taken: T for the blank, no seconds, a zone, digits missing."""
    for entity, field in _of(ground, DatetimeType):
        yield Fault(field_target(entity, field), f"{place(entity, field)}: lax form", converting(ground.state, entity, field, _normalised))


@operator("digits-missing", "V2")
def digits_missing(ground: Ground) -> Faults:
    """An instant with digits missing is taken, as strptime takes it."""
    for entity, field in _of(ground, DatetimeType):
        yield Fault(field_target(entity, field), f"{place(entity, field)}: digits may be missing", converting(ground.state, entity, field, _padded))


_FORM: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.ASCII)


def _read(form: str, text: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _formed(ground: Ground, detail: str, is_form: Callable[[str], bool]) -> Iterator[Fault]:
    """The faults of a server that judges the form of an instant by this, and its range as it should."""
    for entity, field in _of(ground, DatetimeType):
        assert isinstance(field.type, DatetimeType)
        low, high = field.type.earliest or "", field.type.latest or "~"

        def check(value: Json, low: str = low, high: str = high, field: Field = field) -> str | None:
            if value is None:
                return None if field.nullable else "must not be null"
            return None if isinstance(value, str) and is_form(value) and low <= value <= high else "must be an instant"

        yield Fault(field_target(entity, field), f"{place(entity, field)}: {detail}", slot_fault(ground.state, entity, field, checks(check)))


def _normalised(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value.strip().replace("/", "-")).replace(tzinfo=None, microsecond=0).isoformat(sep=" ")
    except ValueError:
        return _padded(value)


def _padded(value: Json) -> Json:
    try:
        return datetime.strptime(value, "%Y-%m-%d %H:%M:%S").isoformat(sep=" ") if isinstance(value, str) else value
    except ValueError:
        return value


@operator("text-trimmed", "H8")
def text_trimmed(ground: Ground) -> Faults:
    """Blanks at the ends of a string are cut."""
    yield from _converted(ground, StringType, "trimmed", lambda _: lambda value: value.strip() if isinstance(value, str) else value)


@operator("text-lowered", "H8")
def text_lowered(ground: Ground) -> Faults:
    """A string is stored in lower case."""
    yield from _converted(ground, StringType, "in lower case", lambda _: lambda value: value.lower() if isinstance(value, str) else value)


@operator("text-collapsed", "H8")
def text_collapsed(ground: Ground) -> Faults:
    """Blanks in a row become one."""
    yield from _converted(ground, StringType, "blanks collapsed", lambda _: lambda value: re.sub(r" +", " ", value) if isinstance(value, str) else value)


@operator("text-escaped", "H8")
def text_escaped(ground: Ground) -> Faults:
    """A string is stored escaped for HTML."""
    yield from _converted(
        ground, StringType, "escaped for HTML", lambda _: lambda value: value.replace("&", "&amp;").replace("<", "&lt;") if isinstance(value, str) else value
    )


OPERATORS: Final = (
    type_unchecked,
    post_type_unchecked,
    patch_type_unchecked,
    text_as_number,
    boolean_as_number,
    fraction_truncated,
    integer_refused,
    float_as_integer,
    float_rounded,
    anything_as_text,
    number_as_boolean,
    text_as_boolean,
    boolean_shown_as_number,
    number_shown_as_text,
    calendar_unchecked,
    time_unchecked,
    form_lax,
    digits_missing,
    text_trimmed,
    text_lowered,
    text_collapsed,
    text_escaped,
)
