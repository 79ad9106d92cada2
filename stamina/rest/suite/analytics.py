"""Family ``analytics``: each endpoint over nothing, nulls only, one value, several values, and after a deletion (contract section 5).

The values are chosen so that faults show: the average of three is no integer, floats have ten decimals, the minimum is of positive numbers and the maximum of
negative ones where the bounds allow that (so that a null counted as 0 shows), and the five operations give five different results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from stamina.exchange import Json
from stamina.rest.schema import Analytics, AnalyticsOperation, Field, FloatType, IntegerType
from stamina.rest.suite.kit import Kit, Object, case, create, delete, result
from stamina.rest.suite.removed import analytics_label, analytics_path
from stamina.suite import Case, Step

_WIDTH: Final = 17
"""How far the lowest and the highest value lie apart at most, in whole numbers."""


def analytics(kit: Kit) -> Iterator[Case]:
    """One case for each endpoint."""
    for endpoint in kit.entity.analytics:
        if endpoint.field is None:
            yield _case(kit, endpoint, ("A1", "A2"), _count(kit, endpoint))
        else:
            yield _case(kit, endpoint, ("A1", "A2", "A3"), _numbers(kit, endpoint, kit.entity.field(endpoint.field)))


def _case(kit: Kit, endpoint: Analytics, rules: tuple[str, ...], steps: Iterator[Step]) -> Case:
    label, entity = analytics_label(endpoint), kit.entity
    about = "the number of objects" if endpoint.field is None else f"{endpoint.operation.value} of {endpoint.field} over the objects that have one"
    return case(
        "analytics",
        f"{entity.segment}_{label}_analytics",
        f"{analytics_path(entity.segment, endpoint)} is {about}.",
        rules,
        ("analytics", entity.name, endpoint.field or "", endpoint.operation.value),
        *steps,
    )


def _count(kit: Kit, endpoint: Analytics) -> Iterator[Step]:
    path = analytics_path(kit.entity.segment, endpoint)
    yield result(path, 0, "there are no objects")
    yield create(kit, _bare(kit, "a1"))
    yield create(kit, kit.full("a2"))
    yield result(path, 2, "there are two objects")
    yield delete(kit, "a2")
    yield result(path, 1, "one of two objects is left")


def _bare(kit: Kit, key: str) -> Object:
    """A body with as many nulls as possible: objects without values count too."""
    return {**kit.minimal(key), **{field.name: None for field in kit.plain if field.nullable}}


def _numbers(kit: Kit, endpoint: Analytics, field: Field) -> Iterator[Step]:
    path, operation = analytics_path(kit.entity.segment, endpoint), endpoint.operation
    first, second, third = _values(field, operation)
    yield result(path, _exact(operation, ()), "there are no objects")
    if field.nullable or not (field.required or field.default is not None):
        empty = {"id": "empty", **{name: value for name, value in kit.needed.items() if name != field.name}}
        yield create(kit, {**empty, field.name: None} if field.nullable else empty)
        yield result(path, _exact(operation, ()), f"{field.name} of the only object is null")
    for key, value in (("v1", first), ("v2", second), ("v3", third)):
        yield create(kit, {**kit.minimal(key), field.name: value})
    yield result(path, _exact(operation, (first, second, third)), f"the values are {first}, {second} and {third}")
    yield delete(kit, "v2")
    yield result(path, _exact(operation, (first, third)), f"{first} and {third} are left")


def _exact(operation: AnalyticsOperation, values: Sequence[Json]) -> Fraction | None:
    numbers = [Fraction(value) for value in values]
    match operation:
        case AnalyticsOperation.SUM:
            return sum(numbers, Fraction(0))
        case AnalyticsOperation.AVG:
            return sum(numbers, Fraction(0)) / len(numbers) if numbers else None
        case AnalyticsOperation.MIN:
            return min(numbers, default=None)
        case _:
            return max(numbers, default=None)


def _values(field: Field, operation: AnalyticsOperation) -> tuple[Json, Json, Json]:
    """Three values inside the bounds; the one that ``operation`` looks for, if it looks for one, is the second. A sum has no 0 there."""
    assert isinstance(field.type, IntegerType | FloatType)
    scale = 1024 if isinstance(field.type, FloatType) else 1
    low, high = (None if bound is None else round(bound * scale) for bound in (field.type.minimum, field.type.maximum))
    bottom, top = _window(low, high, scale, negative=operation is AnalyticsOperation.MAX)
    if scale > 1:
        # An odd number of units has ten decimals, so that rounding shows.
        bottom, top = (bottom | 1, (top - 1) | 1) if top - bottom > 3 else (bottom, top)
    middle = _middle(bottom, top)
    # The second is deleted, and a sum without it must be another one.
    lowest = operation is AnalyticsOperation.MIN or (operation is AnalyticsOperation.SUM and not top)
    ordered = (middle, bottom, top) if lowest else (middle, top, bottom)
    one, two, three = (number if scale == 1 else number / scale for number in ordered)
    return one, two, three


def _window(low: int | None, high: int | None, scale: int, *, negative: bool) -> tuple[int, int]:
    """A short range inside the bounds and, where they allow it, on one side of zero."""
    width = _WIDTH * scale
    if negative and (low is None or low <= -2):
        top = min(-1, high if high is not None else -1)
        return max(top - width, low if low is not None else top - width), top
    if high is None or high >= 2:
        bottom = max(1, low if low is not None else 1)
        return bottom, min(bottom + width, high if high is not None else bottom + width)
    top = high
    return max(top - width, low if low is not None else top - width), top


def _middle(bottom: int, top: int) -> int:
    """A third value with which the average is no integer, and not halfway; one of the two where there is no room."""
    between = (number for number in range(bottom + 1, min(top, bottom + 7)) if (bottom + top + number) % 3 and 2 * number != bottom + top)
    return next(between, bottom if (2 * bottom + top) % 3 else top)
