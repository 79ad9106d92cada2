"""``--set sweep.turns=5``: one key of a sweep file given on the command line."""

from __future__ import annotations

from typing import Any

import attrs
import tomli

from stamina.config.kinds import shown
from stamina.config.lines import KeyPath
from stamina.errors import InputError


@attrs.frozen
class Override:
    """A key and the value that replaces what the file has; ``text`` as the user wrote it."""

    text: str
    path: KeyPath
    value: Any


def parse_override(text: str) -> Override:
    """Reads ``table.key=value``; the value is TOML, or a plain word (``sweep.feedback=minimal``). ``agent.0.model`` is the first agent's."""
    name, equals, value = text.partition("=")
    path = _path(name.strip())
    if not equals or not path:
        raise InputError(f"--set {text}: expected table.key=value, such as sweep.turns=5 or agent.0.model=glm-5")
    return Override(text, path, _value(value.strip()))


def override(raw: dict[str, Any], flag: Override) -> Override:
    """Puts the value into ``raw``, the tables as tomli gave them; tables that are missing are made. The result has the path as it was found to be."""
    table: Any = raw
    path: list[str | int] = []
    for step in flag.path:
        path.append(_step(table, step, flag))
        if len(path) == len(flag.path):
            table[path[-1]] = flag.value
        else:
            table = table.setdefault(path[-1], {}) if isinstance(table, dict) else table[path[-1]]
    return attrs.evolve(flag, path=tuple(path))


def _step(table: Any, step: str | int, flag: Override) -> str | int:
    """``step`` as an index of this table or list; a number is a position only in a list."""
    if isinstance(table, dict):
        return str(step)
    if isinstance(table, list) and isinstance(step, int) and step < len(table):
        return step
    found = f"a list of {len(table)}, counted from 0" if isinstance(table, list) else f"{shown(table)}, which is no table"
    raise InputError(f"--set {flag.text}: nothing to set at {step}: there is {found}")


def _path(name: str) -> KeyPath:
    """The dotted key, with numbers as positions; empty when it is none."""
    try:
        nested: Any = tomli.loads(f"{name} = 0")
    except tomli.TOMLDecodeError:
        return ()
    path: list[str | int] = []
    while isinstance(nested, dict):
        [(step, nested)] = nested.items()
        path.append(int(step) if step.isdecimal() else step)
    return tuple(path)


def _value(text: str) -> Any:
    try:
        return tomli.loads(f"v = {text}")["v"]
    except tomli.TOMLDecodeError:
        return text
