"""Conditions and effects in Python, for objects with attributes and for dicts alike."""

from __future__ import annotations

from collections.abc import Callable

from tests.servers.expressions import Dialect, Place
from tests.servers.states import Api, Field


def indented(lines: list[str], by: int = 4) -> list[str]:
    """The lines, further in."""
    return [" " * by + line for line in lines]


class Python(Dialect):
    """``access`` writes a field of a variable; ``table`` the dict of an entity's objects by id."""

    AND = "and"

    def __init__(self, api: Api, access: Callable[[str, str], str], table: Callable[[str], str]) -> None:
        super().__init__(api)
        self.access = access
        self.table = table

    def is_null(self, place: Place, field: Field, *, null: bool) -> str:
        return f"{self.value(place, field)} is {'' if null else 'not '}None"

    def value(self, place: Place, field: Field) -> str:
        return self.access(place.variable, field.name)

    def literal(self, value: object, field: Field | None) -> str:
        return repr(value)

    def comparison(self, left: str, comparator: str, right: str) -> str:
        return f"{left} {comparator} {right}"

    def count(self, place: Place, field: Field) -> str:
        return f"len({self.value(place, field)})"

    def sum(self, place: Place, field: Field, item: Place, summed: Field) -> str:
        value = self.value(item, summed)
        return f"sum({value} for {item.variable} in {self.listed(place, field)} if {value} is not None)"

    def quantified(self, quantifier: str, place: Place, field: Field, item: Place, condition: str) -> str:
        return f"{quantifier}({condition} for {item.variable} in {self.listed(place, field)})"

    def listed(self, place: Place, field: Field) -> str:
        """The objects of a list."""
        return f"({self.table(field.target)}[key] for key in {self.value(place, field)})"

    def store(self, place: Place, field: Field, text: str) -> str:
        return f"{self.value(place, field)} = {text}"

    def when(self, guards: tuple[str, ...], lines: list[str]) -> list[str]:
        return [f"if {' and '.join(guards)}:", *indented(lines)]

    def with_other(self, place: Place, field: Field, other: Place, lines: list[str]) -> list[str]:
        fetched = f"{other.variable} = {self.table(field.target)}[{self.value(place, field)}]"
        return self.when((self.is_null(place, field, null=False),), [fetched, *lines])

    def with_each(self, place: Place, field: Field, item: Place, lines: list[str]) -> list[str]:
        return [f"for {item.variable} in {self.listed(place, field)}:", *indented(lines)]
