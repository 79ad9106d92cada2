"""Reads ``initial_specification.md``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from stamina.errors import InputError
from stamina.rest.reading.cursor import Cursor
from stamina.rest.reading.parts import read_action, read_analytics, read_fields
from stamina.rest.schema import Action, Analytics, Entity, State

_PARTS: Final = ("Specification of the API", "Enum types", "Entities", "Analytics endpoints", "Actions")


def read_specification(text: str) -> State:
    """The state that a specification describes. Raises InputError that shows the line that cannot be read.

    Enum types are read where their fields are; the list of them says nothing more.
    """
    parts = dict(_sections(text.splitlines(), "# "))
    if tuple(parts) != _PARTS:
        raise InputError(f"a specification has the parts {', '.join(_PARTS)}; this one has {', '.join(parts)}")
    entities = {name: _entity(name, lines) for name, lines in _sections(parts["Entities"], "## ")}
    for segment, analytics in map(_endpoint, _bullets(parts["Analytics endpoints"])):
        owner = next(entity for entity in entities.values() if entity.segment == segment)
        entities[owner.name] = attrs.evolve(owner, analytics=(*owner.analytics, analytics))
    for title, lines in _sections(parts["Actions"], "## "):
        name, _, action = title.partition(".")
        entities[name] = attrs.evolve(entities[name], actions=(*entities[name].actions, _action(action, lines)))
    return State(tuple(entities.values()))


def _sections(lines: Sequence[str], mark: str) -> Iterator[tuple[str, list[str]]]:
    """Each heading of one level with the lines below it."""
    starts = [number for number, line in enumerate(lines) if line.startswith(mark)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=False):
        yield lines[start].removeprefix(mark), list(lines[start + 1 : end])


def _bullets(lines: Sequence[str]) -> list[str]:
    return [line.removeprefix("- ") for line in lines if line.startswith("- ")]


def _entity(name: str, lines: Sequence[str]) -> Entity:
    return Entity(name, read_fields(_bullets(lines)))


def _endpoint(line: str) -> tuple[str, Analytics]:
    return read_analytics(Cursor(line))


def _action(name: str, lines: Sequence[str]) -> Action:
    return read_action(name, [line for line in lines if line.startswith(("- ", "  "))])
