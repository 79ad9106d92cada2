"""Operators on what a field allows: null, bounds, enum values, required, default (V3, V4, S3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from stamina.exchange import Json, Response
from stamina.rest import testdata
from stamina.rest.mutants.flawed import POST, Flawed, converting, flawed, rewriting, slot_fault
from stamina.rest.mutants.mutant import Fault, Faults, Ground, each_field, field_target, operator, place, serving, with_field
from stamina.rest.resources import Resource
from stamina.rest.schema import BooleanType, DatetimeType, Entity, EnumType, Field, FloatType, IntegerType, ReferenceType, State, StringType
from stamina.rest.semantics import Object
from stamina.rest.testdata import UNIT, is_list, is_plain, needed, step_datetime
from stamina.rest.truth import ok

_BOUNDS: Final = {StringType: ("min_length", "max_length"), IntegerType: ("minimum", "maximum"), FloatType: ("minimum", "maximum")}
_LOWER: Final = frozenset({"min_length", "minimum", "earliest"})


def _changed(ground: Ground, entity: Entity, field: Field, detail: str, equivalent: str = "", **news: Any) -> Fault:
    """The fault of a server that takes a field for another one."""
    new = attrs.evolve(field, **news)
    return Fault(field_target(entity, field), f"{place(entity, field)}: {detail}", serving(with_field(ground.state, entity, field, new)), equivalent)


@operator("null-accepted", "V3")
def null_accepted(ground: Ground) -> Faults:
    """Null is accepted for a field that is not nullable."""
    for entity, field in each_field(ground):
        if is_plain(field) and not field.nullable:
            yield _changed(ground, entity, field, "null is accepted", nullable=True)


@operator("null-refused", "V3")
def null_refused(ground: Ground) -> Faults:
    """Null is refused for a nullable field."""
    for entity, field in each_field(ground):
        if isinstance(field.type, ReferenceType):
            fault = slot_fault(ground.state, entity, field, lambda slot: attrs.evolve(slot, check=_not_null(slot.check)))
            yield Fault(field_target(entity, field), f"{place(entity, field)}: null is refused", fault)
        elif is_plain(field) and field.nullable:
            yield _changed(ground, entity, field, "null is refused", nullable=False)


def _not_null(check: Any) -> Any:
    return lambda value, ids_of: "must not be null" if value is None else check(value, ids_of)


@operator("null-list-accepted", "S3")
def null_list_accepted(ground: Ground) -> Faults:
    """Null is accepted for a list and stored as an empty one."""
    for entity, field in each_field(ground):
        if is_list(field):
            build = converting(ground.state, entity, field, lambda value: [] if value is None else value)
            yield Fault(field_target(entity, field), f"{place(entity, field)}: null becomes []", build)


@operator("bound-dropped", "V4")
def bound_dropped(ground: Ground) -> Faults:
    """A bound is not checked."""
    for entity, field, name, bound in _bounds(ground):
        yield _changed(ground, entity, field, f"no {name}", _vacuous(name, bound), type=_bounded(field, name, None))


@operator("bound-wider", "V4")
def bound_wider(ground: Ground) -> Faults:
    """A bound is off by one step, outwards."""
    yield from _moved_bounds(ground, outwards=True)


@operator("bound-narrower", "V4")
def bound_narrower(ground: Ground) -> Faults:
    """A bound is off by one step, inwards (the bound itself is refused)."""
    yield from _moved_bounds(ground, outwards=False)


def _moved_bounds(ground: Ground, *, outwards: bool) -> Iterator[Fault]:
    for entity, field, name, bound in _bounds(ground):
        moved = _step(bound, -1 if (name in _LOWER) is outwards else 1)
        if moved is not None:
            equivalent = _vacuous(name, bound) if outwards else ""
            yield _changed(ground, entity, field, f"{name} {moved} instead of {bound}", equivalent, type=_bounded(field, name, moved))


def _bounds(ground: Ground) -> Iterator[tuple[Entity, Field, str, Any]]:
    for entity, field in each_field(ground):
        names = ("earliest", "latest") if isinstance(field.type, DatetimeType) else _BOUNDS.get(type(field.type), ())
        for name in names:
            bound = getattr(field.type, name)
            if bound is not None:
                yield entity, field, name, bound


def _bounded(field: Field, name: str, bound: Any) -> Any:
    """The field's type with another bound."""
    kind: Any = field.type
    return attrs.evolve(kind, **{name: bound})


def _step(bound: Any, direction: int) -> Any:
    if isinstance(bound, str):
        return step_datetime(bound, direction)
    return bound + direction * (UNIT if isinstance(bound, float) else 1)


def _vacuous(name: str, bound: Any) -> str:
    return "V4: no string is shorter than 0 characters" if name == "min_length" and bound == 0 else ""


@operator("enum-value-missing", "V4")
def enum_value_missing(ground: Ground) -> Faults:
    """One of an enum's values is refused."""
    for entity, field in each_field(ground):
        if isinstance(field.type, EnumType):
            for value in field.type.values:
                rest = attrs.evolve(field.type, values=tuple(each for each in field.type.values if each != value))
                yield _changed(ground, entity, field, f"{value} is refused", type=rest)


@operator("enum-of-another-field", "V4")
def enum_of_another_field(ground: Ground) -> Faults:
    """An enum takes the values of the other enums of its entity too."""
    for entity, field in each_field(ground):
        if isinstance(field.type, EnumType):
            more = testdata.choices_elsewhere(entity.fields, field)
            if more:
                yield _changed(ground, entity, field, f"{more[0]} is taken", type=attrs.evolve(field.type, values=(*field.type.values, *more)))


@operator("enum-unchecked", "V4")
def enum_unchecked(ground: Ground) -> Faults:
    """An enum takes any string."""
    for entity, field in each_field(ground):
        if isinstance(field.type, EnumType):
            yield _changed(ground, entity, field, "any string is taken", type=StringType())


@operator("enum-case-folded", "V4")
def enum_case_folded(ground: Ground) -> Faults:
    """An enum's value is taken in any case."""
    for entity, field in each_field(ground):
        if isinstance(field.type, EnumType):
            names = {value.lower(): value for value in field.type.values}
            build = converting(ground.state, entity, field, lambda value, names=names: names.get(value.lower(), value) if isinstance(value, str) else value)  # type: ignore[misc]
            yield Fault(field_target(entity, field), f"{place(entity, field)}: values in any case", build)


@operator("enum-by-number", "V4")
def enum_by_number(ground: Ground) -> Faults:
    """An enum takes the position of a value for the value."""
    for entity, field in each_field(ground):
        if isinstance(field.type, EnumType):
            values = field.type.values
            build = converting(ground.state, entity, field, lambda value, values=values: values[value] if type(value) is int else value)  # type: ignore[misc]
            yield Fault(field_target(entity, field), f"{place(entity, field)}: positions are taken", build)


@operator("required-not-enforced", "V3")
def required_not_enforced(ground: Ground) -> Faults:
    """A POST without a required field is accepted."""
    for entity, field in each_field(ground):
        if is_plain(field) and needed(field):
            yield _changed(ground, entity, field, "may be left out", required=False)
        elif needed(field):
            build = slot_fault(ground.state, entity, field, lambda slot: attrs.evolve(slot, absent=lambda: None), (POST,))
            yield Fault(field_target(entity, field), f"{place(entity, field)}: may be left out", build)


@operator("optional-enforced", "V3")
def optional_enforced(ground: Ground) -> Faults:
    """A POST without an optional field is refused."""
    for entity, field in each_field(ground):
        if not needed(field):
            build = slot_fault(ground.state, entity, field, lambda slot: attrs.evolve(slot, absent=None), (POST,))
            yield Fault(field_target(entity, field), f"{place(entity, field)}: must not be left out", build)


@operator("default-not-applied", "V3")
def default_not_applied(ground: Ground) -> Faults:
    """A field with a default that is left out is stored as null."""
    for entity, field in _with_default(ground):
        yield _changed(ground, entity, field, "no default", default=None, required=False)


@operator("default-wrong", "V3")
def default_wrong(ground: Ground) -> Faults:
    """Another value than the default is stored."""
    for entity, field in _with_default(ground):
        other = not field.default if isinstance(field.default, bool) else testdata.different(attrs.evolve(field, default=None), 3, field.default)
        yield _changed(ground, entity, field, f"default {other!r} instead of {field.default!r}", default=other)


@operator("default-for-null", "V3")
def default_for_null(ground: Ground) -> Faults:
    """An explicit null is replaced by the default."""
    for entity, field in _with_default(ground):
        if field.nullable:
            build = converting(ground.state, entity, field, lambda value, default=field.default: default if value is None else value, (POST,))  # type: ignore[misc]
            yield Fault(field_target(entity, field), f"{place(entity, field)}: null becomes the default", build)


@operator("default-for-falsy", "V3")
def default_for_falsy(ground: Ground) -> Faults:
    """An empty string, 0 or false is replaced by the default."""
    for entity, field in _with_default(ground):
        if field.default and _falsy_allowed(field):
            build = converting(ground.state, entity, field, lambda value, default=field.default: value or default if value is not None else value, (POST,))  # type: ignore[misc]
            yield Fault(field_target(entity, field), f"{place(entity, field)}: a falsy value becomes the default", build)


@operator("default-always", "V3")
def default_always(ground: Ground) -> Faults:
    """A value that is given is overridden by the default."""
    for entity, field in _with_default(ground):
        build = converting(ground.state, entity, field, lambda value, default=field.default: default if value is not None else value, (POST,))  # type: ignore[misc]
        yield Fault(field_target(entity, field), f"{place(entity, field)}: always the default", build)


@operator("falsy-is-missing", "V3")
def falsy_is_missing(ground: Ground) -> Faults:
    """An empty string, 0 or false counts as left out."""
    for entity, field in each_field(ground):
        if is_plain(field) and field.default is None and _falsy_allowed(field):

            def body_after(body: Object, name: str = field.name) -> Object:
                return {key: value for key, value in body.items() if key != name or value or value is None}

            yield Fault(field_target(entity, field), f"{place(entity, field)}: falsy counts as missing", rewriting(ground.state, entity, body_after, (POST,)))


@operator("field-missing", "H1")
def field_missing(ground: Ground) -> Faults:
    """A field is not stored."""
    for entity, field in each_field(ground):
        build = flawed(_Forgetful, ground.state, entity.name, field.name, testdata.no_value(field))
        yield Fault(field_target(entity, field), f"{place(entity, field)}: always empty", build)


class _Forgetful(Flawed):
    """Judges a field as it should, and then forgets its value."""

    def __init__(self, state: State, entity: str, member: str, nothing: Json) -> None:
        super().__init__(state, entity, member)
        self._nothing = nothing

    def _create(self, resource: Resource, body: Object | None) -> Response:
        response = super()._create(resource, body)
        if self._is_flawed(resource) and response.status == 201 and body is not None:
            return self._forgotten(self._store[resource.name][body["id"]], 201)
        return response

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        response = super()._update(resource, stored, body)
        return self._forgotten(stored, 200) if self._is_flawed(resource) and response.status == 200 else response

    def _forgotten(self, stored: Object, status: int) -> Response:
        stored[self._member] = self._nothing
        return ok(stored, status)


def _with_default(ground: Ground) -> Iterator[tuple[Entity, Field]]:
    return ((entity, field) for entity, field in each_field(ground) if is_plain(field) and field.default is not None)


def _falsy_allowed(field: Field) -> bool:
    match field.type:
        case StringType(low, _):
            return not low
        case IntegerType(low, high) | FloatType(low, high):
            return (low is None or low <= 0) and (high is None or high >= 0)
        case BooleanType():
            return True
        case _:
            return False


OPERATORS: Final = (
    null_accepted,
    null_refused,
    null_list_accepted,
    bound_dropped,
    bound_wider,
    bound_narrower,
    enum_value_missing,
    enum_of_another_field,
    enum_unchecked,
    enum_case_folded,
    enum_by_number,
    required_not_enforced,
    optional_enforced,
    default_not_applied,
    default_wrong,
    default_for_null,
    default_for_falsy,
    default_always,
    falsy_is_missing,
    field_missing,
)
