"""The tables of docs/sweep-reference.md, made from the same classes as loader and schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stamina.config.file import SweepFile
from stamina.config.schema import schema

_TITLES = {"agent": "[[agent]]", "model": "[model.NAME]", "vary": "[[vary]]"}
_WORDS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "`true` or `false`", "object": "table"}


def tables() -> str:
    """One section of Markdown for each table of a sweep file: key, what it may hold, default, meaning."""
    properties = schema({})["properties"]
    return "\n".join(line for name in SweepFile.__annotations__ for line in _section(_TITLES.get(name, f"[{name}]"), properties[name]))


def _section(title: str, found: dict[str, Any]) -> Iterator[str]:
    table = found.get("items") or (found["additionalProperties"] if isinstance(found.get("additionalProperties"), dict) else found)
    yield from (f"## `{title}`", "", table["description"], "")
    if title == _TITLES["vary"]:
        yield from (f"Each key holds a list of values: {', '.join(f'`{key}`' for key in table['properties'])}.", "")
        return
    yield from ("| key | value | default | meaning |", "|---|---|---|---|")
    for key, value in table["properties"].items():
        yield _row(table, key, value)
    yield ""
    for key, value in table["properties"].items():
        yield from _inner(title, key, value)


def _inner(title: str, key: str, value: dict[str, Any]) -> Iterator[str]:
    """The section of a table in a table."""
    name = f"{title.strip('[]')}.{key}"
    if "properties" in value:
        yield from _section(f"[{name}]", value)
    elif "properties" in value.get("items", {}):
        yield from _section(f"[[{name}]]", value)


def _row(table: dict[str, Any], key: str, value: dict[str, Any]) -> str:
    default = "required" if key in table.get("required", ()) else f"`{_toml(value['default'])}`" if "default" in value else ""
    return f"| `{key}` | {_values(value)} | {default} | {value.get('description', '')} |"


def _values(value: dict[str, Any]) -> str:
    """What a key may hold, in words."""
    if "enum" in value:
        return ", ".join(f'`"{word}"`' for word in value["enum"])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(_values(one).split(",")[0] for one in value["anyOf"]))
    if value["type"] == "array":
        return f"list of {_values(value['items'])}"
    word = _WORDS[value["type"]]
    return word + _bounds(value)


def _bounds(value: dict[str, Any]) -> str:
    low, high, above = value.get("minimum"), value.get("maximum"), value.get("exclusiveMinimum")
    if low is not None and high is not None:
        return f", {low:g} to {high:.16g}"
    parts = [
        f"above {above:g}" if above is not None else "",
        f"at least {low:g}" if low is not None else "",
        f"at most {high:.16g}" if high is not None else "",
    ]
    return "".join(f", {part}" for part in parts if part)


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int | float) else f'"{value}"'
