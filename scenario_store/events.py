"""Events as JSON and back: the one place where a class has a name in a file.

A codec is made for a union of frozen attrs classes; the name in the file is the class's name. A union nested in a field is told apart by a ``_type`` key.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Mapping
from types import UnionType
from typing import Any, Generic, TypeVar

import attrs
from cattrs import transform_error
from cattrs.preconf.json import make_converter
from cattrs.strategies import configure_tagged_union

E = TypeVar("E")


class UnknownEvent(Exception):
    """This version does not know a record; the message is one clause that says what it does not know."""


class Codec(Generic[E]):
    """Turns the events of one union into names and JSON, and back.

    Args:
        union: ``A | B | …`` of attrs classes, or one class. Fields may hold anything that cattrs knows and further such unions.
    """

    def __init__(self, union: Any) -> None:
        self._converter = make_converter(forbid_extra_keys=True)
        self._classes: dict[str, type] = {cls.__name__: cls for cls in members(union)}
        for nested in sorted(_nested_unions(tuple(self._classes.values())), key=str):
            configure_tagged_union(nested, self._converter)

    def unstructure(self, event: E) -> tuple[str, dict[str, Any]]:
        """The event's name and its fields as JSON. Raises TypeError for an event that is not of the union."""
        cls = type(event)
        if self._classes.get(cls.__name__) is not cls:
            raise TypeError(f"{cls.__name__} is not one of {', '.join(self._classes)}")
        return cls.__name__, self._converter.unstructure(event)

    def structure(self, name: str, data: Mapping[str, Any]) -> E:
        """The event. Raises UnknownEvent when this version knows no such name, or the fields are not those of this version."""
        if name not in self._classes:
            raise UnknownEvent(f"a record of type {name!r}")
        try:
            return typing.cast(E, self._converter.structure(data, self._classes[name]))
        except Exception as error:
            raise UnknownEvent(f"the fields of {name} ({'; '.join(transform_error(error, path=name))})") from error


@functools.lru_cache(maxsize=32)
def codec(union: Any) -> Codec[Any]:
    """The codec of a union; making one costs milliseconds, and a sweep opens hundreds of journals."""
    return Codec(union)


def members(union: Any) -> tuple[type, ...]:
    """The attrs classes of a union, or the one class."""
    return typing.get_args(union) if _is_union(union) else (union,)


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, UnionType)


def _nested_unions(classes: tuple[type, ...]) -> set[Any]:
    """Unions of two or more attrs classes anywhere in the fields of these classes (None beside them is cattrs's own business)."""
    found: set[Any] = set()
    seen: set[Any] = set()
    waiting: list[Any] = list(classes)
    while waiting:
        hint = waiting.pop()
        if hint in seen:
            continue
        seen.add(hint)
        if isinstance(hint, type) and attrs.has(hint):
            waiting.extend(typing.get_type_hints(hint).values())
        else:
            waiting.extend(typing.get_args(hint))
        if _is_union(hint) and sum(isinstance(arg, type) and attrs.has(arg) for arg in typing.get_args(hint)) > 1:
            found.add(hint)
    return found
