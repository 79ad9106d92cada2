"""The canonical JSON of states and changes: sorted keys, no spaces, the same bytes on every platform (contract S1).

A member of a union carries its ``kind``; what equals its default is left out; 5 and 5.0 stay different. Reading is strict, because people write states
by hand: nothing is converted, and an error names the path of what is wrong. Reading checks form only; :func:`stamina.rest.validate.check` checks the rules.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, TypeAlias, get_args, get_origin

import attrs
import cattrs
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError
from cattrs.gen import make_dict_structure_fn, make_hetero_tuple_structure_fn
from cattrs.v import transform_error

from stamina.errors import InputError
from stamina.exchange import Json
from stamina.rest.changes import Change
from stamina.rest.expressions import (
    ArithmeticOperator,
    Assignment,
    Comparator,
    Comparison,
    Condition,
    FieldRef,
    Literal,
    LiteralValue,
    NullCheck,
    Operand,
    Quantifier,
    Scalar,
    Scope,
    Subject,
)
from stamina.rest.schema import AnalyticsOperation, FieldType, State

Primitive: TypeAlias = type[str] | type[int] | type[float] | type[bool] | type[None]

KIND: Final = "kind"
"""The key that tells the members of a union apart."""

_UNIONS: Final[tuple[Any, ...]] = (FieldType, Condition, Comparison | NullCheck, Operand, FieldRef | Literal, Assignment, Scope, Change)
_ENUMS: Final[tuple[type[Enum], ...]] = (Subject, ArithmeticOperator, Comparator, Quantifier, AnalyticsOperation)
_JSON_NAMES: Final = {str: "a string", int: "an integer", float: "a number", bool: "true or false", type(None): "null", dict: "an object", list: "an array"}


def to_json(state: State) -> dict[str, Json]:
    """The state as plain JSON values."""
    data: dict[str, Json] = _CONVERTER.unstructure(state)
    return data


def from_json(data: Json) -> State:
    """The state that the JSON values describe. Raises InputError that names the path of everything that is wrong in form."""
    state: State = _read(data, State, "state")
    return state


def dumps(state: State) -> bytes:
    """The canonical bytes of a state."""
    return _bytes(to_json(state))


def digest(state: State) -> str:
    """The sha256 (hex) of :func:`dumps`."""
    return hashlib.sha256(dumps(state)).hexdigest()


def change_to_json(change: Change) -> dict[str, Json]:
    """The change as plain JSON values."""
    data: dict[str, Json] = _CONVERTER.unstructure(change, Change)
    return data


def change_from_json(data: Json) -> Change:
    """The change that the JSON values describe. Raises InputError as :func:`from_json` does."""
    change: Change = _read(data, Change, "change")
    return change


def dumps_change(change: Change) -> bytes:
    """The canonical bytes of a change."""
    return _bytes(change_to_json(change))


def _bytes(data: Json) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _read(data: Json, into: Any, what: str) -> Any:
    try:
        return _CONVERTER.structure(data, into)
    except (ClassValidationError, IterableValidationError, ValueError, TypeError) as error:
        lines = transform_error(error, path=what, format_exception=_sentence)
        raise InputError(f"this is not a {what} in canonical JSON:\n" + "\n".join(f"  {line.replace(' @ ', ', at ')}" for line in lines)) from error


def _sentence(error: BaseException, _type: Any) -> str:
    if isinstance(error, ForbiddenExtraKeysError):
        return f"unknown key {', '.join(sorted(repr(key) for key in error.extra_fields))}"
    if isinstance(error, KeyError):
        return f"the key {error.args[0]!r} is missing"
    return str(error)


def _strict(accepted: tuple[Primitive, ...]) -> Callable[[Json, Any], Any]:
    """A structure hook that takes values of exactly these JSON types; an integer will do where only a float is wanted."""
    expected = " or ".join(_JSON_NAMES[kind] for kind in accepted if not (kind is int and float in accepted))

    def structure(value: Json, _type: Any) -> Any:
        if type(value) in accepted:
            return value
        if float in accepted and int not in accepted and type(value) is int:
            return float(value)
        raise TypeError(f"expected {expected}, found {_JSON_NAMES.get(type(value), 'something else')}")

    return structure


def _literal_value(value: Json, _type: Any) -> LiteralValue:
    if value == [] and isinstance(value, list | tuple):
        return ()
    if value is None or type(value) in (str, int, float, bool):
        literal: LiteralValue = value
        return literal
    raise TypeError("expected a string, a number, true, false, null or []")


def _tag(member: type) -> str:
    """The kind of a union's member: ``reference_list`` for ReferenceListType, ``set_to`` for SetTo, ``field`` for FieldRef."""
    name = member.__name__.removesuffix("Type").removesuffix("Ref")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _register_union(converter: cattrs.Converter, union: Any) -> None:
    by_tag = {_tag(member): member for member in get_args(union)}

    def structure(value: Json, _type: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"expected an object with a {KIND!r}, found {_JSON_NAMES.get(type(value), 'something else')}")
        member = by_tag.get(value[KIND]) if isinstance(value.get(KIND), str) else None
        if member is None:
            raise ValueError(f"{KIND!r} must be one of {', '.join(by_tag)}; found {value.get(KIND)!r}")
        return converter.structure({key: item for key, item in value.items() if key != KIND}, member)

    def unstructure(value: Any) -> dict[str, Json]:
        return {KIND: _tag(type(value)), **converter.unstructure(value, type(value))}

    converter.register_structure_hook(union, structure)
    converter.register_unstructure_hook(union, unstructure)


def _structure_object(cls: Any, converter: cattrs.Converter) -> Callable[[Json, Any], Any]:
    read = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True)

    def structure(value: Json, kind: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"expected an object, found {_JSON_NAMES.get(type(value), 'something else')}")
        return read(value, kind)

    return structure


def _structure_enum(value: Json, cls: type[Enum]) -> Enum:
    names = [member.value for member in cls]
    if value not in names:
        raise ValueError(f"expected one of {', '.join(names)}; found {value!r}")
    return cls(value)


def _is_tuple(cls: Any) -> bool:
    return get_origin(cls) is tuple


def _structure_tuple(cls: Any, converter: cattrs.Converter) -> Callable[[Json, Any], Any]:
    factory = homogenous_tuple_structure_factory if get_args(cls)[-1] is Ellipsis else make_hetero_tuple_structure_fn
    read: Callable[[Json, Any], Any] = factory(cls, converter)

    def structure(value: Json, kind: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise TypeError(f"expected an array, found {_JSON_NAMES.get(type(value), 'something else')}")
        return read(value, kind)

    return structure


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter(omit_if_default=True, forbid_extra_keys=True)
    converter.register_structure_hook_factory(attrs.has, _structure_object)
    converter.register_structure_hook_factory(_is_tuple, _structure_tuple)
    for kind in (str, int, float, bool):
        converter.register_structure_hook(kind, _strict((kind,)))
    for enum in _ENUMS:
        # One by one: an enum of strings would else be read as the string that it is as well.
        converter.register_structure_hook(enum, _structure_enum)
    for union in (Scalar, Scalar | None, int | None, float | None, str | None, int | float, int | float | str):
        converter.register_structure_hook(union, _strict(get_args(union)))
    converter.register_structure_hook(LiteralValue, _literal_value)
    for union in _UNIONS:
        _register_union(converter, union)
    return converter


_CONVERTER: Final = _make_converter()
