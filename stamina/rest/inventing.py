"""New values, fields and entities for the sampler: everything that it adds, except actions (:mod:`stamina.rest.composing`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

import attrs

from stamina.draw import Draw
from stamina.rest.constraints import DATETIME_FORMAT
from stamina.rest.expressions import Scalar
from stamina.rest.names import TEXTS, Taken, entity_name, enum_type_name, enum_values, field_name, reference_name, taken_by
from stamina.rest.schema import (
    BooleanType,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    ScalarType,
    State,
    StringType,
)

T = TypeVar("T", int, float)

_KINDS: Final[tuple[type, ...]] = (StringType, IntegerType, FloatType, BooleanType, DatetimeType, EnumType)
_KIND_WEIGHTS: Final = (22.0, 24.0, 16.0, 10.0, 10.0, 18.0)

_FRACTION: Final = 8
"""Floats are drawn as multiples of 1/8, so that a product of two, and of three, is still a multiple of 1/1024 (V8)."""

_EPOCH: Final = datetime(2000, 1, 1)
_DAYS: Final = 12_000


@attrs.frozen
class Chances:
    """How likely each property of a new field is."""

    required: float = 0.6
    nullable: float = 0.3
    default: float = 0.3
    reference: float = 0.45
    many: float = 0.5


CHANCES: Final = Chances()


def value(draw: Draw, kind: ScalarType) -> Scalar:
    """A modest value inside a type's constraints."""
    match kind:
        case StringType():
            return _text(draw, kind.min_length or 0, kind.max_length)
        case IntegerType():
            return draw.integer(*_window(kind.minimum, kind.maximum, 60))
        case FloatType():
            low, high = _window(kind.minimum, kind.maximum, 60.0)
            steps = draw.integer(0, int((high - low) * _FRACTION))
            return low + steps / _FRACTION
        case BooleanType():
            return draw.chance(0.5)
        case DatetimeType():
            return _instant(draw, kind.earliest, kind.latest)
        case EnumType():
            return draw.pick(kind.values)


def string_bounds(draw: Draw) -> StringType:
    """A string type, bounded or not."""
    low, high = draw.integer(1, 6), draw.integer(10, 60)
    return draw.weighted(
        (StringType(), StringType(max_length=high), StringType(low, high), StringType(min_length=low)),
        (35, 35, 20, 10),
    )


def integer_bounds(draw: Draw) -> IntegerType:
    """An integer type, bounded or not."""
    low = draw.pick((-100, -10, 0, 0, 1, 1, 5, 10))
    high = low + draw.pick((9, 20, 50, 100, 500, 1000, 10_000))
    return draw.weighted(
        (IntegerType(), IntegerType(low, high), IntegerType(minimum=low), IntegerType(maximum=high)),
        (25, 45, 15, 15),
    )


def float_bounds(draw: Draw) -> FloatType:
    """A float type, bounded or not."""
    low = draw.pick((-50.0, -2.5, 0.0, 0.0, 0.5, 1.0, 9.75))
    high = low + draw.pick((5.0, 12.5, 40.0, 99.5, 250.0, 1000.0))
    return draw.weighted(
        (FloatType(), FloatType(low, high), FloatType(minimum=low), FloatType(maximum=high)),
        (25, 45, 15, 15),
    )


def datetime_bounds(draw: Draw) -> DatetimeType:
    """A datetime type, bounded or not."""
    first = draw.integer(0, _DAYS // 2)
    earliest, latest = _format(_EPOCH + timedelta(days=first)), _format(_EPOCH + timedelta(days=first + draw.integer(30, _DAYS // 2), seconds=-1))
    return draw.weighted(
        (DatetimeType(), DatetimeType(earliest, latest), DatetimeType(earliest=earliest), DatetimeType(latest=latest)),
        (40, 30, 15, 15),
    )


def scalar_field(draw: Draw, state: State, owner: str, taken: frozenset[str], kind: type | None = None) -> Field:
    """A new field with a plain type, of ``kind`` where given.

    Args:
        owner: the name of its entity, for the name of an enum type.
        taken: names that it must not have.
    """
    kind = draw.weighted(_KINDS, _KIND_WEIGHTS) if kind is None else kind
    name = field_name(draw, kind, taken)
    type_ = _scalar_type(draw, state, owner, name, kind)
    default = value(draw, type_) if draw.chance(CHANCES.default) else None
    return Field(name, type_, required=draw.chance(CHANCES.required), nullable=draw.chance(CHANCES.nullable), default=default)


def reference_field(draw: Draw, target: str, taken: frozenset[str]) -> Field:
    """A new reference, or a list of references, to ``target``."""
    many = draw.chance(CHANCES.many)
    name = reference_name(draw, target, taken, many=many)
    if many:
        return Field(name, ReferenceListType(target), required=False)
    return Field(name, ReferenceType(target), required=draw.chance(0.4), nullable=True)


def any_field(draw: Draw, state: State, entity: Entity) -> Field:
    """A new field of any type for an entity of the state; a reference may lead back to the entity itself."""
    taken = taken_by(entity)
    if draw.chance(CHANCES.reference):
        return reference_field(draw, draw.pick(state.entities).name, taken)
    return scalar_field(draw, state, entity.name, taken)


def entity(draw: Draw, state: State, *, references: int = 0, kinds: Sequence[type] = ()) -> Entity:
    """A new entity of 4 or 5 fields.

    Args:
        references: how many of them refer to an entity of the state, or to the new one itself.
        kinds: types that its first fields have.
    """
    name = entity_name(draw, Taken.of(state))
    made = Entity(name, ())
    plain = draw.integer(4, 5) - references
    for number in range(plain):
        kind = kinds[number] if number < len(kinds) else None
        field = scalar_field(draw, attrs.evolve(state, entities=(*state.entities, made)), name, taken_by(made), kind)
        made = attrs.evolve(made, fields=(*made.fields, field))
    for _ in range(references):
        field = reference_field(draw, draw.pick((*state.entities, made)).name, taken_by(made))
        made = attrs.evolve(made, fields=(*made.fields, field))
    return attrs.evolve(made, fields=tuple(draw.shuffled(made.fields)))


def _scalar_type(draw: Draw, state: State, owner: str, name: str, kind: type) -> ScalarType:
    if kind is EnumType:
        return EnumType(enum_type_name(owner, name, Taken.of(state)), enum_values(draw, name, draw.integer(3, 5)))
    if kind is BooleanType:
        return BooleanType()
    return _BOUNDS[kind](draw)


_BOUNDS: Final[Mapping[type, Callable[[Draw], ScalarType]]] = {
    StringType: string_bounds,
    IntegerType: integer_bounds,
    FloatType: float_bounds,
    DatetimeType: datetime_bounds,
}


def _window(low: T | None, high: T | None, width: T) -> tuple[T, T]:
    """At most ``width`` of the numbers between two bounds, near zero where there is a choice."""
    if low is None and high is None:
        return (width * 0, width)
    if low is None:
        assert high is not None
        return (high - width, high)
    return (low, low + width if high is None else min(high, low + width))


def _text(draw: Draw, shortest: int, longest: int | None) -> str:
    text = draw.pick(TEXTS)
    while len(text) < shortest:
        text = f"{text} {draw.pick(TEXTS)}"
    return text if longest is None else text[:longest].rstrip() + "x" * max(0, shortest - len(text[:longest].rstrip()))


def _instant(draw: Draw, earliest: str | None, latest: str | None) -> str:
    """A whole day, so that a person can read it; a bound itself where no whole day is inside."""
    day = _EPOCH + timedelta(days=draw.integer(0, _DAYS))
    low = datetime.strptime(earliest, DATETIME_FORMAT) if earliest else None
    high = datetime.strptime(latest, DATETIME_FORMAT) if latest else None
    if low and high:
        day = low + timedelta(seconds=draw.integer(0, int((high - low).total_seconds())))
    elif low and day < low:
        day = low + timedelta(days=draw.integer(0, 900))
    elif high and day > high:
        day = high - timedelta(days=draw.integer(0, 900))
    return _format(day)


def _format(instant: datetime) -> str:
    return instant.strftime(DATETIME_FORMAT)
