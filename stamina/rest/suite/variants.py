"""Scenes around the edge of a condition: one step below, at and above it, and with nulls, lists of other lengths and mixed items (contract B2).

Nothing here knows which of them the action takes; the caller predicts that. Values that a field does not take are weeded out by the caller too, so the
functions may be generous.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Final, TypeAlias

import attrs

from stamina.exchange import Json
from stamina.rest import testdata
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Comparison,
    Condition,
    Count,
    FieldRef,
    Literal,
    NullCheck,
    Quantified,
    Sum,
)
from stamina.rest.schema import BooleanType, DatetimeType, EnumType, Field, FloatType, IntegerType, ReferenceType
from stamina.rest.suite.stage import Actors, Scene
from stamina.rest.values import may_be_null

Place: TypeAlias = tuple[str, str]
"""Entity and id of one object."""

MAX_ITEMS: Final = 17
"""The longest list that a scene holds."""

_MORE_ITEMS: Final = 3
"""More than a condition on the length of a list allows that allows no more than some."""

_STEPS: Final = (-1, 0, 1)


def around(actors: Actors, condition: Condition, scene: Scene) -> Iterator[Scene]:
    """Scenes that differ from this one in what the condition reads."""
    here = (actors.kit.entity.name, scene.acting)
    match condition:
        case Comparison(Count(list_field), _, Literal(value)):
            for size in dict.fromkeys((0, int(value) - 1, int(value), int(value) + 1)):
                if 0 <= size <= MAX_ITEMS:
                    yield with_items(actors, scene, list_field, size)
        case Comparison(Sum(list_field, field), _, Literal(float() | int() as value)):
            yield from _around_sum(actors, scene, list_field, field, value)
        case Comparison():
            yield from _around_comparison(actors, scene, condition, here)
        case NullCheck():
            yield from _around_null_check(actors, scene, condition, here)
        case Quantified():
            yield from _around_items(actors, scene, condition)


def with_items(actors: Actors, scene: Scene, list_field: str, size: int) -> Scene:
    """The scene with a list of that length: its own items first, then copies of the first one."""
    entity = actors.kit.entity.name
    target = actors.kits.target(actors.kit.entity.field(list_field))
    name = target.entity.name
    keys = list(scene.read(entity, scene.acting, list_field))[:size]
    model = scene.store[name][keys[0]] if keys else target.stored(target.full("item"))
    while len(keys) < size:
        key = f"{list_field[:20]}-{len(keys) + 1}"
        scene = scene.changed(name, key, {**model, "id": key})
        keys.append(key)
    return scene.changed(entity, scene.acting, {list_field: keys}, f"{list_field} holds {size}")


def with_null(actors: Actors, scene: Scene, place: Place, name: str) -> Scene | None:
    """The scene with null in one field; None where it cannot be null (V3)."""
    field = actors.kits.by_name[place[0]].entity.field(name)
    return scene.changed(*place, {name: None}, f"{name} of {place[1]} is null") if may_be_null(field) else None


def _set(scene: Scene, place: Place, name: str, value: Json) -> Scene:
    return scene.changed(*place, {name: value}, f"{name} of {place[1]} is {testdata.as_text(value)}")


def _around_null_check(actors: Actors, scene: Scene, check: NullCheck, place: Place) -> Iterator[Scene]:
    name = check.operand.field
    kit = actors.kits.by_name[place[0]]
    field = kit.entity.field(name)
    empty = with_null(actors, scene, place, name)
    if empty is not None:
        yield empty
    if testdata.is_plain(field):
        yield _set(scene, place, name, kit.value(field, 6))
    elif isinstance(field.type, ReferenceType):
        yield with_reference(actors, scene, place, field)


def with_reference(actors: Actors, scene: Scene, place: Place, field: Field) -> Scene:
    """The scene with a reference that names a new object."""
    target, key = actors.kits.target(field), f"{field.name[:24]}-ref"
    scene = scene.changed(target.entity.name, key, target.stored(target.full(key, 2)))
    return _set(scene, place, field.name, key)


def _around_comparison(actors: Actors, scene: Scene, comparison: Comparison, place: Place) -> Iterator[Scene]:
    """Move each operand so that the two sides are a step apart or equal; then make each operand null."""
    left, right = comparison.left, comparison.right
    values = scene.store[place[0]][place[1]]
    goal = right.value if isinstance(right, Literal) else values[right.field]
    operands = [left] if isinstance(left, FieldRef) else [left.left, left.right] if isinstance(left, Arithmetic) else []
    if goal is not None:
        for name, value in _moves(actors, values, place[0], left, goal):
            yield _set(scene, place, name, value)
    if isinstance(right, FieldRef):
        operands.append(right)
        if isinstance(left, FieldRef) and values[left.field] is not None:
            for value in near(actors.kits.by_name[place[0]].entity.field(right.field), values[left.field]):
                yield _set(scene, place, right.field, value)
    for operand in operands:
        empty = with_null(actors, scene, place, operand.field)
        if empty is not None:
            yield empty


def _moves(actors: Actors, values: dict[str, Json], entity: str, left: object, goal: Json) -> Iterator[tuple[str, Json]]:
    """Fields and values with which the left side comes to lie at, just below and just above the goal."""
    kit = actors.kits.by_name[entity]
    if isinstance(left, FieldRef):
        yield from ((left.field, value) for value in near(kit.entity.field(left.field), goal))
    elif isinstance(left, Arithmetic):
        one, two = values[left.left.field], values[left.right.field]
        if one is None or two is None:
            return
        step = _step(kit.entity.field(left.left.field), kit.entity.field(left.right.field))
        for wanted in (goal + number * step for number in _STEPS):
            yield from ((left.left.field, value) for value in _solve_left(left.operator, two, wanted))
            yield from ((left.right.field, value) for value in _solve_right(left.operator, one, wanted))


def _step(*fields: Field) -> float:
    return testdata.UNIT if any(isinstance(field.type, FloatType) for field in fields) else 1


def near(field: Field, value: Json) -> tuple[Json, ...]:
    """The value and its neighbours: one step on either side where the type has an order, else another value."""
    match field.type:
        case IntegerType():
            return tuple(math.floor(value) + step for step in (*_STEPS, 2 if value != math.floor(value) else 0))[:4]
        case FloatType():
            return tuple(value + step * testdata.UNIT for step in _STEPS)
        case DatetimeType():
            return tuple(text for text in (testdata.step_datetime(value, step) for step in _STEPS) if text is not None)
        case BooleanType():
            return False, True
        case EnumType(_, values):
            return value, next((other for other in values if other != value), value)
        case _:
            return value, testdata.different(field, 3, value)


def _solve_left(operator: ArithmeticOperator, right: float, wanted: float) -> tuple[float, ...]:
    match operator:
        case ArithmeticOperator.ADD:
            return (wanted - right,)
        case ArithmeticOperator.SUBTRACT:
            return (wanted + right,)
        case ArithmeticOperator.MULTIPLY:
            return _quotients(wanted, right)


def _solve_right(operator: ArithmeticOperator, left: float, wanted: float) -> tuple[float, ...]:
    match operator:
        case ArithmeticOperator.ADD:
            return (wanted - left,)
        case ArithmeticOperator.SUBTRACT:
            return (left - wanted,)
        case ArithmeticOperator.MULTIPLY:
            return _quotients(wanted, left)


def _quotients(wanted: float, factor: float) -> tuple[float, ...]:
    """Factors that come to the wanted product, or to the nearest ones on either side of it."""
    if factor == 0:
        return ()
    if isinstance(wanted, int) and isinstance(factor, int):
        whole, rest = divmod(wanted, factor)
        return (whole,) if rest == 0 else (whole, whole + 1)
    units = math.floor(wanted / factor * 1024)
    return units / 1024, (units + 1) / 1024


def pairs(actors: Actors, condition: Condition, steps: int) -> Iterator[tuple[tuple[str, float], ...]]:
    """Values of the two operands with which arithmetic comes to exactly so many steps above the literal that it is compared with.

    Few pairs of factors have an exact product, and few integers beside a float that other conditions hold fast: moving one operand alone finds none.
    """
    match condition:
        case Comparison(Arithmetic(left, operator, right), _, Literal(float() | int() as value)) if left != right:
            entity = actors.kit.entity
            fields = entity.field(left.field), entity.field(right.field)
            wanted = value + steps * _step(*fields)
            found = _factors(*fields, wanted) if operator is ArithmeticOperator.MULTIPLY else _terms(*fields, operator, wanted)
            for one, two in islice(found, _PAIRS):
                yield (left.field, one), (right.field, two)


def _terms(one: Field, two: Field, operator: ArithmeticOperator, wanted: float) -> Iterator[tuple[float, float]]:
    """Pairs of values of two fields with an exact sum or difference, spread over all that there are."""
    scales = [1024 if isinstance(field.type, FloatType) else 1 for field in (one, two)]
    (low, high), (least, most) = _units(one, scales[0]), _units(two, scales[1])
    others = [Fraction(wanted) - Fraction(end, scales[1]) * (1 if operator is ArithmeticOperator.ADD else -1) for end in (least, most)]
    low, high = max(low, math.ceil(min(others) * scales[0])), min(high, math.floor(max(others) * scales[0]))
    for unit in dict.fromkeys(low + (high - low) * part // _PAIRS for part in range(_PAIRS + 1) if low <= high):
        rest = Fraction(wanted) - Fraction(unit, scales[0])
        other = (rest if operator is ArithmeticOperator.ADD else -rest) * scales[1]
        if other.denominator == 1:
            yield (unit if scales[0] == 1 else unit / 1024), (other.numerator if scales[1] == 1 else other.numerator / 1024)


_PAIRS: Final = 24
_TRIED: Final = 60_000
"""Factors that are looked for at most: of every pair, one is no larger than the root of the product."""


def _factors(one: Field, two: Field, wanted: float) -> Iterator[tuple[float, float]]:
    """Pairs of values of two fields whose product is exact, the smallest values of the first field first."""
    scales = [1024 if isinstance(field.type, FloatType) else 1 for field in (one, two)]
    total = Fraction(wanted) * scales[0] * scales[1]
    if total.denominator != 1 or not total:
        return
    (low, high), (least, most) = _units(one, scales[0]), _units(two, scales[1])
    root = min(math.isqrt(abs(total.numerator)), _TRIED)
    small = [unit for unit in range(1, root + 1) if total.numerator % unit == 0]
    for size in dict.fromkeys((*small, *(abs(total.numerator) // unit for unit in reversed(small)))):
        for unit in (-size, size):
            other = total.numerator // unit
            if low <= unit <= high and least <= other <= most:
                yield (unit if scales[0] == 1 else unit / 1024), (other if scales[1] == 1 else other / 1024)


def _units(field: Field, scale: int) -> tuple[int, int]:
    assert isinstance(field.type, IntegerType | FloatType)
    low, high = field.type.minimum, field.type.maximum
    return -_FAR * scale if low is None else math.ceil(low * scale), _FAR * scale if high is None else math.floor(high * scale)


_FAR: Final = 1_000_000


def _around_sum(actors: Actors, scene: Scene, list_field: str, name: str, goal: float) -> Iterator[Scene]:
    entity = actors.kit.entity.name
    yield with_items(actors, scene, list_field, 0)
    size = len(scene.read(entity, scene.acting, list_field))
    scene = with_items(actors, scene, list_field, max(size, 2))
    keys = scene.read(entity, scene.acting, list_field)
    target = actors.kits.target(actors.kit.entity.field(list_field)).entity
    values = [scene.read(target.name, key, name) for key in keys]
    place = (target.name, keys[-1])
    rest = sum(value for value in values[:-1] if value is not None)
    for value in near(target.field(name), goal - rest):
        yield _set(scene, place, name, value)
    empty = with_null(actors, scene, place, name)
    if empty is not None:
        yield empty


def _around_items(actors: Actors, scene: Scene, condition: Quantified) -> Iterator[Scene]:
    entity, list_field, inner = actors.kit.entity, condition.list_field, condition.condition
    yield with_items(actors, scene, list_field, 0)
    scene = with_items(actors, scene, list_field, max(2, len(scene.read(entity.name, scene.acting, list_field))))
    keys = scene.read(entity.name, scene.acting, list_field)
    target = actors.kits.target(entity.field(list_field)).entity.name
    for key in (keys[0], keys[-1]):
        place = (target, key)
        yield from _around_null_check(actors, scene, inner, place) if isinstance(inner, NullCheck) else _around_comparison(actors, scene, inner, place)


def extremes(actors: Actors, scene: Scene, accepts: Callable[[Scene], bool]) -> Iterator[Scene]:
    """Accepted scenes in which as many fields of the acting object as possible hold nulls, and the lowest and the highest value by turns; lists hold many.

    The open fields move together; those that the action's world pinned follow one by one, as far as the action still succeeds.
    """
    entity = actors.kit.entity.name
    ends = {field.name: testdata.ends(field) for field in actors.kit.plain if field.name != actors.action.enum_field}
    nulls = {field.name: testdata.no_value(field) for field in actors.kit.entity.fields if testdata.takes_null(field) or testdata.is_list(field)}
    nulls.pop(actors.action.enum_field, None)
    lists = [field for field in actors.kit.entity.fields if testdata.is_list(field)]
    kinds = (
        ("nothing", nulls),
        ("low and high values by turns", {name: pair[number % 2] for number, (name, pair) in enumerate(ends.items())}),
        ("high and low values by turns", {name: pair[1 - number % 2] for number, (name, pair) in enumerate(ends.items())}),
    )
    for label, values in kinds:
        moved = attrs.evolve(scene, label=f"the fields that do not count hold {label}")
        free = {name: value for name, value in values.items() if (entity, scene.acting, name) not in scene.pinned}
        for news in (free, *({name: value} for name, value in values.items() if name not in free)):
            candidate = moved.changed(entity, scene.acting, news)
            if news and accepts(candidate):
                moved = candidate
        for field in lists if values is kinds[-1][1] else ():
            longer = attrs.evolve(with_items(actors, moved, field.name, _MORE_ITEMS), label=moved.label)
            if len(moved.read(entity, scene.acting, field.name)) < _MORE_ITEMS and accepts(longer):
                moved = longer
        if moved.store is not scene.store:
            yield moved
