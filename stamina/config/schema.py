"""The sweep file as JSON Schema (draft 2020-12), for editors and for those who generate sweeps. Made from the same classes as the loader."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from stamina.config.file import AgentTable, SweepFile
from stamina.config.model import HarnessInfo
from stamina.config.structure import kind_of


def schema(harnesses: Mapping[str, HarnessInfo]) -> dict[str, Any]:
    """The schema; keys that belong to one harness are allowed for that harness alone."""
    result = _table(SweepFile)
    agent = result["properties"]["agent"]
    agent["minItems"] = 1
    agent["items"] = _agent(harnesses)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "stamina sweep file", **result}


def _agent(harnesses: Mapping[str, HarnessInfo]) -> dict[str, Any]:
    table = _table(AgentTable)
    del table["additionalProperties"]
    table["properties"]["harness"]["examples"] = sorted(harnesses)
    own = [_when(info.name, _table(info.options)) for _, info in sorted(harnesses.items()) if info.options is not None]
    return table | ({"allOf": own} if own else {}) | {"unevaluatedProperties": False}


def _when(harness: str, options: Mapping[str, Any]) -> dict[str, Any]:
    condition = {"properties": {"harness": {"const": harness}}, "required": ["harness"]}
    return {"if": condition, "then": {key: value for key, value in options.items() if key != "additionalProperties"}}


def _table(cls: Any) -> dict[str, Any]:
    """An attrs class as an object with its keys and no others."""
    hints = get_type_hints(cls, include_extras=True)
    fields = [field for field in attrs.fields(cls) if not field.metadata.get("rest")]
    properties = {field.name: _of(hints[field.name]) | _described(field) for field in fields}
    required = [field.name for field in fields if field.default is attrs.NOTHING]
    own = {"type": "object", "description": (cls.__doc__ or "").split("\n\n")[0].strip(), "properties": properties, "additionalProperties": False}
    return own | ({"required": required} if required else {})


def _described(field: attrs.Attribute[Any]) -> dict[str, Any]:
    doc = field.metadata.get("doc")
    default = field.metadata.get("written") or field.default
    plain = isinstance(default, bool | int | float | str) and default != ""
    return ({"description": doc} if doc else {}) | ({"default": default} if plain else {})


def _of(annotation: Any) -> dict[str, Any]:
    kind = kind_of(annotation)
    if kind is not None:
        return kind.schema()
    if attrs.has(annotation):
        return _table(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _of(next(argument for argument in arguments if argument is not NoneType))
    if origin is tuple:
        return {"type": "array", "items": _of(arguments[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "propertyNames": _of(arguments[0]), "additionalProperties": _of(arguments[1])}
    return {}
