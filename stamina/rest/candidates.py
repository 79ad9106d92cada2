"""Values worth trying for a field: ordinary ones first, then those around literals and bounds (contract V6, V8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

import attrs

from stamina.exchange import Json
from stamina.rest.schema import BooleanType, DatetimeType, EnumType, Field, FieldType, FloatType, IntegerType, ScalarType, StringType
from stamina.rest.values import checker, is_instant

INTEGER_LIMIT: Final = 2**31 - 1
"""No test has an integer of larger magnitude, intermediate results included (V8)."""

FLOAT_LIMIT: Final = float(2**30)
"""Test floats are below this magnitude (V8)."""

GRAIN: Final = 1 / 1024
"""Test floats are multiples of this (V8)."""

_SECOND: Final = timedelta(seconds=1)

# Small, mostly prime and all different, so that a swapped or forgotten operand shows; neither 0 nor 1, which hide a product.
_NUMBERS: Final = (7, 12, 5, 18, 3, 23, 9, 31, 14, 2)
_FRACTIONS: Final = (0.5, 0.25, 0.75, 0.5, 0.25, 0.75, 0.5, 0.25, 0.75, 0.5)
_WORDS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "hazel")
_EPOCH: Final = datetime(2024, 1, 15, 8, 30, 0)
_STRIDES: Final = (0, 40, 9, 75, 23, 120, 3, 200)


def tame(value: Json) -> bool:
    """Whether a number is one that a test may meet (V8). Everything that is not a number is tame."""
    if type(value) is int:
        return -INTEGER_LIMIT <= value <= INTEGER_LIMIT
    return type(value) is not float or (-FLOAT_LIMIT < value < FLOAT_LIMIT and (value / GRAIN).is_integer())


def fits(field: Field, value: Json) -> bool:
    """Whether a scalar field takes the value, and it is tame. Null is not asked here."""
    return fitting(field)(value)


def fitting(field: Field) -> Callable[[Json], bool]:
    """:func:`fits`, prepared for many values."""
    check = checker(field)
    return lambda value: check(value, _no_ids) is None and tame(value)


@attrs.frozen
class Domain:
    """Distinct values that a scalar field takes: ordinary ones, and those next to the literals and bounds that matter."""

    ordinary: tuple[Json, ...]
    telling: tuple[Json, ...]

    def turned(self, rank: int) -> tuple[Json, ...]:
        """All of them, best first; places with different ranks start with different values where they can."""
        turn = rank % max(1, len(self.ordinary))
        return self.ordinary[turn:] + self.ordinary[:turn] + self.telling


def domain(field: Field, near: Iterable[Json]) -> Domain:
    """The domain of a field that is neither a reference nor a list. ``near`` are values that matter; those of other types are passed over."""
    kind: ScalarType = field.type  # type: ignore[assignment]  # the caller's duty
    check = checker(field)
    # Keyed by text, for True and 1 are the same key but not the same value.
    ordinary = {str(value): value for value in _ordinary(kind)}
    telling = {str(value): value for value in around_all(kind, [*near, *bounds(kind)]) if str(value) not in ordinary}
    good = [tuple(value for value in values.values() if tame(value) and check(value, _no_ids) is None) for values in (ordinary, telling)]
    return Domain(*good)


def around_all(kind: ScalarType, wishes: Iterable[Json]) -> Iterator[Json]:
    """:func:`around` for each wish in turn."""
    for wish in wishes:
        yield from around(kind, wish)


def around(kind: ScalarType, wish: Json) -> Sequence[Json]:
    """Values of the type at and next to a wish, empty when the wish is of another type. Integers are ints and floats are floats, whatever the wish is."""
    match kind:
        case IntegerType() if _is_number(wish):
            whole = math.floor(wish)
            return (whole, whole + 1, whole - 1, whole + 2)
        case FloatType() if _is_number(wish):
            grain = math.floor(wish / GRAIN) * GRAIN
            return (grain, grain + GRAIN, grain - GRAIN, grain + 0.25, grain - 0.25)
        case StringType() if isinstance(wish, str):
            return (wish,)
        case DatetimeType() if isinstance(wish, str) and is_instant(wish):
            return (wish, *_moments(wish, (_SECOND, -_SECOND)))
        case EnumType() if isinstance(wish, str):
            return (wish,)
        case BooleanType() if isinstance(wish, bool):
            return (wish, not wish)
    return ()


def bounds(kind: FieldType) -> tuple[Json, Json]:
    """The lower and the upper bound of a number or a datetime, None where there is none."""
    match kind:
        case IntegerType(low, high) | FloatType(low, high):
            return low, high
        case DatetimeType(earliest, latest):
            return earliest, latest
    return None, None


def distance(left: Json, right: Json) -> float | None:
    """How far apart two numbers or two datetimes (in seconds) are; None for anything else."""
    if _is_number(left) and _is_number(right):
        return float(left - right)
    if isinstance(left, str) and isinstance(right, str) and is_instant(left) and is_instant(right):
        return (datetime.fromisoformat(left) - datetime.fromisoformat(right)).total_seconds()
    return None


def _no_ids(_: str) -> tuple[str, ...]:
    return ()


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _ordinary(kind: ScalarType) -> Sequence[Json]:
    match kind:
        case IntegerType(low, high):
            return [math.floor(value) for value in _numbers(_NUMBERS, low, high)]
        case FloatType(low, high):
            values = _numbers([number + part for number, part in zip(_NUMBERS, _FRACTIONS, strict=True)], low, high)
            return [math.floor(value / GRAIN) * GRAIN for value in values]
        case StringType(shortest, longest):
            return [_fitted(word, shortest or 0, longest) for word in _WORDS]
        case DatetimeType(earliest, latest):
            return _instants(earliest, latest)
        case EnumType(values=values):
            return values
        case BooleanType():
            return (True, False)


def _numbers(small: Sequence[float], low: float | None, high: float | None) -> list[float]:
    """Small numbers where the range has some, and numbers spread over the range or beside its one bound."""
    if low is not None and high is not None:
        spread = [low + (high - low) * part / 8 for part in (3, 5, 2, 6, 4, 7, 1)]
    elif low is not None:
        spread = [low + number for number in small]
    elif high is not None:
        spread = [high - number for number in small]
    else:
        spread = [-number for number in small]
    inside = [number for number in small if (low is None or number >= low) and (high is None or number <= high)]
    return [*inside, *spread]


def _fitted(word: str, shortest: int, longest: int | None) -> str:
    """The word, repeated or cut to the allowed lengths."""
    text = word * (shortest // len(word) + 1) if len(word) < shortest else word
    return text[: max(shortest, len(word))][:longest]


def _instants(earliest: str | None, latest: str | None) -> list[str]:
    if earliest is not None and latest is not None:
        span = datetime.fromisoformat(latest) - datetime.fromisoformat(earliest)
        whole = int(span.total_seconds())
        return _moments(earliest, [timedelta(seconds=whole * part // 8) for part in (3, 5, 2, 6, 4, 7, 1)])
    days = [timedelta(days=day, seconds=day * 3671) for day in _STRIDES]
    beside = _moments(earliest, days) if earliest is not None else _moments(latest, [-day for day in days]) if latest is not None else []
    return [*_moments(_EPOCH.isoformat(" "), days), *beside]


def _moments(start: str, steps: Iterable[timedelta]) -> list[str]:
    """The instants that lie the steps away from the start, without those outside the calendar."""
    origin = datetime.fromisoformat(start)
    return [(origin + step).isoformat(" ") for step in steps if datetime.min - origin <= step <= datetime.max.replace(microsecond=0) - origin]
