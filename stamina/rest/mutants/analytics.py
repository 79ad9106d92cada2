"""Operators on analytics endpoints (A1-A3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import attrs

from stamina.exchange import Json, Request, Response
from stamina.rest.mutants.flawed import Flawed, flawed, tampering
from stamina.rest.mutants.mutant import Fault, Faults, Ground, Operator, operator, serving, with_entity
from stamina.rest.resources import Resource
from stamina.rest.schema import Analytics, AnalyticsOperation, Entity, FloatType, IntegerType, State
from stamina.rest.semantics import Object
from stamina.rest.suite.removed import analytics_path
from stamina.rest.truth import error, ok
from stamina.rest.values import may_be_null

_SWAPS: Final = {
    AnalyticsOperation.AVG: AnalyticsOperation.SUM,
    AnalyticsOperation.SUM: AnalyticsOperation.AVG,
    AnalyticsOperation.MIN: AnalyticsOperation.MAX,
    AnalyticsOperation.MAX: AnalyticsOperation.MIN,
}

Compute = Callable[[AnalyticsOperation, list[Json], Json], Json]
"""From the operation, the values of the field in all objects, and the right result to the wrong one."""


def _endpoints(ground: Ground) -> Iterator[tuple[Entity, Analytics]]:
    return ((entity, endpoint) for entity in ground.state.entities for endpoint in entity.analytics)


def _fault(entity: Entity, endpoint: Analytics, detail: str, build: Callable[[], Callable[[Request], Response]], equivalent: str = "") -> Fault:
    target = ("analytics", entity.name, endpoint.field or "", endpoint.operation.value)
    return Fault(target, f"{analytics_path(entity.segment, endpoint)}: {detail}", build, equivalent)


class _AtEndpoint(Flawed):
    """Knows whether the request is for the endpoint with the fault."""

    def __init__(self, state: State, entity: Entity, endpoint: Analytics) -> None:
        super().__init__(state, entity.name)
        self._path = analytics_path(entity.segment, endpoint)
        self._mine = False

    def handle(self, request: Request) -> Response:
        self._mine = request.path == self._path
        return super().handle(request)


class _Computing(_AtEndpoint):
    """Computes one endpoint in another way."""

    def __init__(self, state: State, entity: Entity, endpoint: Analytics, compute: Compute) -> None:
        super().__init__(state, entity, endpoint)
        self._compute = compute

    def _computed(self, operation: AnalyticsOperation, field: str, objects: list[Object]) -> Json:
        right = super()._computed(operation, field, objects)
        return self._compute(operation, [each.get(field) for each in objects], right) if self._mine else right


def _computing(ground: Ground, detail: str, compute: Compute, applies: Callable[[Entity, Analytics], bool], why: str = "") -> Iterator[Fault]:
    for entity, endpoint in _endpoints(ground):
        if applies(entity, endpoint):
            yield _fault(entity, endpoint, detail, flawed(_Computing, ground.state, entity, endpoint, compute), why)


def _on(*operations: AnalyticsOperation) -> Callable[[Entity, Analytics], bool]:
    return lambda _, endpoint: endpoint.operation in operations


def _has_nulls(entity: Entity, endpoint: Analytics) -> bool:
    return endpoint.field is not None and endpoint.operation is not AnalyticsOperation.SUM and may_be_null(entity.field(endpoint.field))


def _has_fraction(entity: Entity, endpoint: Analytics) -> bool:
    if endpoint.field is None:
        return False
    return endpoint.operation is AnalyticsOperation.AVG or isinstance(entity.field(endpoint.field).type, FloatType)


@operator("analytics-missing", "A1")
def analytics_missing(ground: Ground) -> Faults:
    """An endpoint is not served."""
    for entity, endpoint in _endpoints(ground):
        rest = attrs.evolve(entity, analytics=tuple(each for each in entity.analytics if each is not endpoint))
        yield _fault(entity, endpoint, "not served", serving(with_entity(ground.state, entity, rest)))


@operator("analytics-swapped", "A1")
def analytics_swapped(ground: Ground) -> Faults:
    """An endpoint computes another operation."""

    def compute(operation: AnalyticsOperation, values: list[Json], _: Json) -> Json:
        numbers = [value for value in values if value is not None]
        match _SWAPS[operation]:
            case AnalyticsOperation.AVG:
                return sum(numbers) / len(numbers) if numbers else None
            case AnalyticsOperation.SUM:
                return sum(numbers)
            case AnalyticsOperation.MIN:
                return min(numbers, default=None)
            case _:
                return max(numbers, default=None)

    yield from _computing(ground, "another operation", compute, _on(*_SWAPS))


@operator("analytics-other-field", "A1")
def analytics_other_field(ground: Ground) -> Faults:
    """An endpoint computes over another numeric field."""
    for entity, endpoint in _endpoints(ground):
        others = [field.name for field in entity.fields if isinstance(field.type, IntegerType | FloatType) and field.name != endpoint.field]
        if endpoint.field is not None and others:
            yield _fault(entity, endpoint, f"computed over {others[0]}", flawed(_OtherField, ground.state, entity, endpoint, others[0]))


class _OtherField(_AtEndpoint):
    def __init__(self, state: State, entity: Entity, endpoint: Analytics, other: str) -> None:
        super().__init__(state, entity, endpoint)
        self._other = other

    def _computed(self, operation: AnalyticsOperation, field: str, objects: list[Object]) -> Json:
        return super()._computed(operation, self._other if self._mine else field, objects)


@operator("nulls-counted", "A2")
def nulls_counted(ground: Ground) -> Faults:
    """A null counts as 0."""

    def compute(operation: AnalyticsOperation, values: list[Json], right: Json) -> Json:
        numbers = [value or 0 for value in values]
        if operation is AnalyticsOperation.AVG:
            return sum(numbers) / len(numbers) if numbers else None
        return (min if operation is AnalyticsOperation.MIN else max)(numbers, default=None)

    yield from _computing(ground, "nulls count as 0", compute, _has_nulls)


@operator("nulls-divide", "A2")
def nulls_divide(ground: Ground) -> Faults:
    """An average is divided by the number of all objects."""

    def compute(_: AnalyticsOperation, values: list[Json], right: Json) -> Json:
        return None if right is None else sum(value or 0 for value in values) / len(values)

    yield from _computing(
        ground, "nulls divide too", compute, lambda entity, endpoint: _has_nulls(entity, endpoint) and _on(AnalyticsOperation.AVG)(entity, endpoint)
    )


@operator("nulls-crash", "A2")
def nulls_crash(ground: Ground) -> Faults:
    """A null in the field is answered with 500."""

    def compute(_: AnalyticsOperation, values: list[Json], right: Json) -> Json:
        if None in values:
            raise TypeError("a null among the numbers")
        return right

    def applies(entity: Entity, endpoint: Analytics) -> bool:
        return endpoint.field is not None and may_be_null(entity.field(endpoint.field))

    yield from _computing(ground, "a null crashes it", compute, applies)


@operator("empty-is-zero", "A2")
def empty_is_zero(ground: Ground) -> Faults:
    """Avg, min or max of nothing is 0."""
    operations = (AnalyticsOperation.AVG, AnalyticsOperation.MIN, AnalyticsOperation.MAX)
    yield from _computing(ground, "0 of nothing", lambda _, values, right: 0 if right is None else right, _on(*operations))


@operator("empty-is-null", "A2")
def empty_is_null(ground: Ground) -> Faults:
    """Sum or count of nothing is null."""

    def compute(_: AnalyticsOperation, values: list[Json], right: Json) -> Json:
        return right if any(value is not None for value in values) or (right and values) else None

    yield from _computing(ground, "null of nothing", compute, _on(AnalyticsOperation.SUM, AnalyticsOperation.COUNT))


@operator("empty-crashes", "A2")
def empty_crashes(ground: Ground) -> Faults:
    """An endpoint over nothing is answered with 500."""

    def compute(_: AnalyticsOperation, values: list[Json], right: Json) -> Json:
        if not values:
            raise ZeroDivisionError
        return right

    yield from _computing(ground, "no objects crash it", compute, lambda _, endpoint: True)


@operator("rounded", "A3")
def rounded(ground: Ground) -> Faults:
    """A result is rounded to two decimals."""
    yield from _computing(ground, "two decimals", lambda _, values, right: right if right is None else round(right, 2), _has_fraction)


@operator("integer-division", "A3")
def integer_division(ground: Ground) -> Faults:
    """An average is an integer."""
    yield from _computing(ground, "integer division", lambda _, values, right: right if right is None else int(right // 1), _on(AnalyticsOperation.AVG))


@operator("float-cut", "A3")
def float_cut(ground: Ground) -> Faults:
    """The fractions of the values are cut before computing."""

    def applies(entity: Entity, endpoint: Analytics) -> bool:
        return endpoint.field is not None and isinstance(entity.field(endpoint.field).type, FloatType)

    yield from _computing(ground, "cut to integers", lambda _, values, right: right if right is None else int(right), applies)


@operator("count-non-null", "A2")
def count_non_null(ground: Ground) -> Faults:
    """Count leaves out objects in which some field is null."""
    for entity, endpoint in _endpoints(ground):
        if endpoint.operation is AnalyticsOperation.COUNT:
            open_fields = [field for field in entity.fields if may_be_null(field)]
            why = "" if open_fields else "V3: no field of the entity can be null"
            yield _fault(entity, endpoint, "objects with a null do not count", flawed(_CountsFull, ground.state, entity, endpoint), why)


class _CountsFull(_AtEndpoint):
    def _computed(self, operation: AnalyticsOperation, field: str, objects: list[Object]) -> Json:
        return super()._computed(operation, field, [each for each in objects if None not in each.values()] if self._mine else objects)


@operator("deleted-still-counted", "A1")
def deleted_still_counted(ground: Ground) -> Faults:
    """Objects that were deleted stay in the result."""
    for entity, endpoint in _endpoints(ground):
        yield _fault(entity, endpoint, "deleted objects stay", flawed(_Stale, ground.state, entity, endpoint))


class _Stale(_AtEndpoint):
    """Computes over every object that was there since the reset."""

    def __init__(self, state: State, entity: Entity, endpoint: Analytics) -> None:
        super().__init__(state, entity, endpoint)
        self._dead: list[Object] = []

    def _reset(self) -> Response:
        self._dead.clear()
        return super()._reset()

    def _delete(self, resource: Resource, key: str) -> Response:
        if self._is_flawed(resource):
            self._dead.append(self._store[resource.name][key])
        return super()._delete(resource, key)

    def _computed(self, operation: AnalyticsOperation, field: str, objects: list[Object]) -> Json:
        return super()._computed(operation, field, [*objects, *self._dead] if self._mine else objects)


def _answered(name: str, rule: str, summary: str, answer: Callable[[Response], Response]) -> Operator:
    """An operator that wraps a right result wrongly."""

    def faults(ground: Ground) -> Faults:
        for entity, endpoint in _endpoints(ground):

            def tamper(request: Request, response: Response, path: str = analytics_path(entity.segment, endpoint)) -> Response:
                return answer(response) if request.path == path else response

            yield _fault(entity, endpoint, summary, tampering(ground.state, tamper))

    return Operator(name, rule, summary, faults)


OPERATORS: Final = (
    analytics_missing,
    analytics_swapped,
    analytics_other_field,
    nulls_counted,
    nulls_divide,
    nulls_crash,
    empty_is_zero,
    empty_is_null,
    empty_crashes,
    rounded,
    integer_division,
    float_cut,
    count_non_null,
    deleted_still_counted,
    _answered("result-bare", "A1", "the number comes without the object around it", lambda response: ok(response.json["result"])),
    _answered("result-misnamed", "A1", "the number comes under another key", lambda response: ok({"value": response.json["result"]})),
    _answered("result-as-text", "A1", "the number comes as a string", lambda response: ok({"result": str(response.json["result"])})),
    _answered(
        "empty-is-missing", "A2", "an endpoint with nothing to compute is answered with 404", lambda r: error(404, "none") if not r.json["result"] else r
    ),
)
