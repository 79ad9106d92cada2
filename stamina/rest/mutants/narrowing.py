"""Narrows the values of numbers down to what conditions and the bounds of results leave (B2, B4, V8): intervals, passed forwards and backwards until
nothing moves, and then what all inequalities say together. What is cut away cannot be; what is left need not be possible.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

import attrs

from stamina.exchange import Json
from stamina.rest.candidates import FLOAT_LIMIT, INTEGER_LIMIT
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Comparator,
    Comparison,
    Compute,
    Condition,
    Effect,
    FieldRef,
    IncrementBy,
    Literal,
    NullCheck,
    OnThis,
    Operand,
    SetTo,
    Subject,
)
from stamina.rest.mentions import compared_fields
from stamina.rest.mutants.linear import Linear, contradictory, linear
from stamina.rest.schema import Field, FloatType, IntegerType

Place: TypeAlias = tuple[str, str]
"""The reference or list that leads to an object, empty for the acting one, and the name of a field."""

ROUNDS: Final = 40
_GRAINS: Final = 1024
"""Test floats are multiples of 1/1024 (V8)."""


@attrs.frozen(eq=False)
class Known:
    """One way in which a world may look: the ``numbers`` that have a value, and what is null; everything else has some value."""

    numbers: dict[Place, Field]
    nulls: frozenset[Place]


@attrs.define(eq=False)
class Interval:
    """The values of a number: from ``low`` to ``high``, multiples of 1 / ``scale`` (0: any)."""

    low: Fraction
    high: Fraction
    scale: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether no value is left."""
        return self.low > self.high

    @property
    def count(self) -> int:
        """How many values are left."""
        return max(0, math.floor(self.high * self.scale) - math.ceil(self.low * self.scale) + 1)

    def values(self) -> Iterator[Json]:
        """All of them: ints, or floats."""
        for unit in range(math.ceil(self.low * self.scale), math.floor(self.high * self.scale) + 1):
            yield unit if self.scale == 1 else unit / self.scale

    def meet(self, low: Fraction | None, high: Fraction | None) -> bool:
        """Cut away what lies outside; whether anything did."""
        before = self.low, self.high
        if low is not None and low > self.low:
            self.low = Fraction(math.ceil(low * self.scale), self.scale) if self.scale else low
        if high is not None and high < self.high:
            self.high = Fraction(math.floor(high * self.scale), self.scale) if self.scale else high
        return before != (self.low, self.high)


@attrs.frozen(eq=False)
class _Result:
    """A number that is computed from two others."""

    one: Interval
    symbol: ArithmeticOperator
    two: Interval
    value: Interval


class _Empty(Exception):
    """No values are left."""


def narrowed(known: Known, conditions: Sequence[tuple[Condition, bool]], effects: Sequence[Effect]) -> dict[Place, Interval] | None:
    """What is left of each number when the conditions are as wished and every result of the effects stays inside its bounds; None when nothing is."""
    net = _Net(known)
    try:
        for condition, wanted in conditions:
            net.ask(condition, wanted=wanted)
        for effect in effects:
            net.run(effect)
        net.settle()
    except _Empty:
        return None
    return net.numbers


class _Net:
    def __init__(self, known: Known) -> None:
        self._known = known
        self.numbers = {place: _span(field) for place, field in known.numbers.items()}
        self._now: dict[Place, Interval | None] = dict(self.numbers)
        self._results: list[_Result] = []
        self._cleared: set[str] = set()
        self._orders: list[tuple[Interval, Comparator, Interval]] = []

    def ask(self, condition: Condition, *, wanted: bool) -> None:
        """The condition holds, or does not."""
        if isinstance(condition, NullCheck):
            self._must(((("", condition.operand.field) in self._known.nulls) is condition.is_null) is wanted)
            return
        assert isinstance(condition, Comparison)
        names = list(compared_fields(condition))
        if any(("", name) in self._known.nulls for name in names):
            self._must(not wanted)
            return
        sides = [self._operand(side, "") for side in (condition.left, condition.right)]
        if None in sides:
            return  # No numbers: where they decide, the values are asked one by one.
        one, two = sides
        assert one is not None
        assert two is not None
        self._orders.append((one, condition.comparator if wanted else condition.comparator.opposite, two))

    def _must(self, holds: bool) -> None:  # noqa: FBT001  # what has been found to hold or not
        if not holds:
            raise _Empty

    def run(self, effect: Effect) -> None:
        """The effect takes place; what it leaves is seen by those behind it."""
        where = "" if isinstance(effect.scope, OnThis) else effect.scope.field
        if where in self._cleared:
            return
        place = (where, effect.target)
        match effect.assignment:
            case SetTo(value):
                self._now[place] = _constant(value)
                if not where and value in (None, ()):
                    self._cleared.add(effect.target)  # Perhaps a reference or list through which later effects would write.
                return
            case IncrementBy(amount):
                result = self._compute(self._now.get(place), ArithmeticOperator.ADD, _constant(amount))
            case Compute(value):
                result = self._compute(self._read(value.left, where), value.operator, self._read(value.right, where))
        if result is not None:
            self._now[place] = result

    def settle(self) -> None:
        """Narrow until nothing moves, or long enough."""
        self._keep_inside()
        for _ in range(ROUNDS):
            moved = [_pass(each) for each in self._results] + [_order(*each) for each in self._orders]
            every = [*self.numbers.values(), *(each.value for each in self._results)]
            if any(each.is_empty for each in every):
                raise _Empty
            if not any(moved):
                break
        if contradictory(self._relations()):
            raise _Empty

    def _relations(self) -> Iterator[Linear]:
        """What is linear of all this: bounds, sums and differences, and the orders."""
        every = [*self.numbers.values(), *(each for result in self._results for each in (result.one, result.two, result.value))]
        every += [each for one, _, two in self._orders for each in (one, two)]
        number = {id(each): place for place, each in enumerate({id(each): each for each in every}.values())}
        for each in {id(each): each for each in every}.values():
            yield linear({number[id(each)]: 1}, -each.high)
            yield linear({number[id(each)]: -1}, each.low)
        for result in self._results:
            if result.symbol is not ArithmeticOperator.MULTIPLY:
                sign = 1 if result.symbol is ArithmeticOperator.ADD else -1
                yield from _equal([(number[id(result.one)], 1), (number[id(result.two)], sign), (number[id(result.value)], -1)])
        for one, comparator, two in self._orders:
            yield from _ordered(number[id(one)], comparator, number[id(two)], step=1 if one.scale == two.scale == 1 else 0)

    def _keep_inside(self) -> None:
        """Every number that was computed last lies inside the bounds of its field (B4)."""
        for place, value in self._now.items():
            field = self._known.numbers.get(place)
            if value is not None and field is not None and any(value is each.value for each in self._results):
                bounds = _span(field)
                value.meet(bounds.low, bounds.high)

    def _read(self, ref: FieldRef, where: str) -> Interval | None:
        return self._now.get(("" if ref.subject is Subject.THIS else where, ref.field))

    def _operand(self, operand: Operand | Literal, where: str) -> Interval | None:
        match operand:
            case Literal(value):
                return _constant(value)
            case FieldRef():
                return self._read(operand, where)
            case Arithmetic(left, symbol, right):
                return self._compute(self._read(left, where), symbol, self._read(right, where))
            case _:
                return None

    def _compute(self, one: Interval | None, symbol: ArithmeticOperator, two: Interval | None) -> Interval | None:
        if one is None or two is None:
            return None
        value = Interval(*_combined(symbol, one, two), 1 if one.scale == two.scale == 1 else 0)
        self._results.append(_Result(one, symbol, two, value))
        return value


def _constant(value: Json) -> Interval | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Interval(Fraction(value), Fraction(value), 1 if isinstance(value, int) else 0)


def _span(field: Field) -> Interval:
    kind = field.type
    assert isinstance(kind, IntegerType | FloatType)
    scale, limit = (1, INTEGER_LIMIT) if isinstance(kind, IntegerType) else (_GRAINS, FLOAT_LIMIT)
    found = Interval(Fraction(-limit), Fraction(limit), scale)
    found.meet(None if kind.minimum is None else Fraction(kind.minimum), None if kind.maximum is None else Fraction(kind.maximum))
    return found


def _combined(symbol: ArithmeticOperator, one: Interval, two: Interval) -> tuple[Fraction, Fraction]:
    match symbol:
        case ArithmeticOperator.ADD:
            return one.low + two.low, one.high + two.high
        case ArithmeticOperator.SUBTRACT:
            return one.low - two.high, one.high - two.low
        case ArithmeticOperator.MULTIPLY:
            corners = [left * right for left in (one.low, one.high) for right in (two.low, two.high)]
            return min(corners), max(corners)


def _pass(result: _Result) -> bool:
    """From the operands to the result, and back."""
    one, two, value = result.one, result.two, result.value
    moved = value.meet(*_combined(result.symbol, one, two))
    match result.symbol:
        case ArithmeticOperator.ADD:
            moved |= one.meet(*_combined(ArithmeticOperator.SUBTRACT, value, two))
            moved |= two.meet(*_combined(ArithmeticOperator.SUBTRACT, value, one))
        case ArithmeticOperator.SUBTRACT:
            moved |= one.meet(*_combined(ArithmeticOperator.ADD, value, two))
            moved |= two.meet(*_combined(ArithmeticOperator.SUBTRACT, one, value))
        case ArithmeticOperator.MULTIPLY:
            moved |= one.meet(*_quotient(value, two))
            moved |= two.meet(*_quotient(value, one))
    return moved


def _equal(terms: Sequence[tuple[int, int]]) -> Iterator[Linear]:
    for sign in (1, -1):
        sums: Counter[int] = Counter()
        for variable, factor in terms:
            sums[variable] += sign * factor
        yield linear(sums, 0)


def _ordered(one: int, comparator: Comparator, two: int, *, step: int) -> Iterator[Linear]:
    if one == two:
        return
    match comparator:
        case Comparator.EQ:
            yield from _equal([(one, 1), (two, -1)])
        case Comparator.LE | Comparator.LT:
            yield linear({one: 1, two: -1}, step if comparator is Comparator.LT else 0, strict=comparator is Comparator.LT and not step)
        case Comparator.GE | Comparator.GT:
            yield linear({one: -1, two: 1}, step if comparator is Comparator.GT else 0, strict=comparator is Comparator.GT and not step)
        case Comparator.NE:
            return


def _quotient(value: Interval, factor: Interval) -> tuple[Fraction | None, Fraction | None]:
    if factor.is_empty or factor.low <= 0 <= factor.high:
        return None, None
    corners = [product / each for product in (value.low, value.high) for each in (factor.low, factor.high)]
    return min(corners), max(corners)


def _order(one: Interval, comparator: Comparator, two: Interval) -> bool:
    step = 1 if one.scale == two.scale == 1 else 0
    match comparator:
        case Comparator.EQ:
            moved = one.meet(two.low, two.high)
            return two.meet(one.low, one.high) or moved
        case Comparator.LE | Comparator.LT:
            apart = step if comparator is Comparator.LT else 0
            moved = one.meet(None, two.high - apart)
            return two.meet(one.low + apart, None) or moved
        case Comparator.GE | Comparator.GT:
            apart = step if comparator is Comparator.GT else 0
            moved = one.meet(two.low + apart, None)
            return two.meet(None, one.high - apart) or moved
        case Comparator.NE:
            return False
