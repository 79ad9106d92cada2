"""Plain tables back into TOML: what a run keeps as its ``sweep.toml`` when flags changed the file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomli

from stamina.config.overrides import override, parse_override


def resolved(text: str, overrides: Sequence[str]) -> str:
    """The sweep file with its overrides in it: the text itself without any. Both must have passed :func:`stamina.config.load.parse`."""
    if not overrides:
        return text
    raw = tomli.loads(text)
    for flag in overrides:
        override(raw, parse_override(flag))
    return "# As resolved; the flags were: " + " ".join(f"--set {json.dumps(flag)}" for flag in overrides) + "\n\n" + dumps(raw)


def dumps(tables: Mapping[str, Any]) -> str:
    """TOML that reads back as ``tables``."""
    return "\n".join(_table(tables, ())).lstrip("\n") + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """A table's plain keys first, as TOML requires, then the tables inside it."""
    for name, value in table.items():
        if not _holds_tables(value):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in table.items():
        if not _holds_tables(value):
            continue
        inner = (*path, name)
        dotted = ".".join(map(_key, inner))
        for each in [value] if isinstance(value, Mapping) else value:
            yield f"\n[{dotted}]" if isinstance(value, Mapping) else f"\n[[{dotted}]]"
            yield from _table(each, inner)


def _holds_tables(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value))


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _string(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(name)} = {_value(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


def _string(text: str) -> str:
    """JSON's strings are TOML's, but for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
