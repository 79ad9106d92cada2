"""Conditions and effects as source text; a dialect says how its language writes the pieces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar

import attrs

from tests.servers.states import Action, Api, Entity, Field, Node


@attrs.frozen
class Place:
    """An object in the emitted program: the variable that holds it, and its entity."""

    variable: str
    entity: Entity


@attrs.frozen
class Piece:
    """An expression and what must not be null for it to have a value."""

    text: str
    guards: tuple[str, ...] = ()


class Dialect(ABC):
    """How one language writes conditions and effects. ``this`` is called ``this``, the object of a list ``item``, that of a reference ``other``."""

    AND: ClassVar[str]
    THIS: ClassVar[str] = "this"
    ITEM: ClassVar[str] = "item"
    OTHER: ClassVar[str] = "other"

    def __init__(self, api: Api) -> None:
        self.api = api

    @abstractmethod
    def is_null(self, place: Place, field: Field, *, null: bool) -> str:
        """Whether a field has no value, or has one."""

    @abstractmethod
    def value(self, place: Place, field: Field) -> str:
        """The value of a field that is not null."""

    @abstractmethod
    def literal(self, value: object, field: Field | None) -> str:
        """A literal; ``field`` is the field that it is stored in, None inside a comparison."""

    @abstractmethod
    def comparison(self, left: str, comparator: str, right: str) -> str:
        """One comparison of two values."""

    @abstractmethod
    def count(self, place: Place, field: Field) -> str:
        """The length of a list."""

    @abstractmethod
    def sum(self, place: Place, field: Field, item: Place, summed: Field) -> str:
        """The sum of a field over a list, nulls skipped."""

    @abstractmethod
    def quantified(self, quantifier: str, place: Place, field: Field, item: Place, condition: str) -> str:
        """``any`` or ``all``."""

    @abstractmethod
    def store(self, place: Place, field: Field, text: str) -> str:
        """The statement that gives a field a value or null."""

    @abstractmethod
    def when(self, guards: tuple[str, ...], lines: list[str]) -> list[str]:
        """The lines, run only when all of the guards hold."""

    @abstractmethod
    def with_other(self, place: Place, field: Field, other: Place, lines: list[str]) -> list[str]:
        """The lines, run with the object of a reference, unless it is null."""

    @abstractmethod
    def with_each(self, place: Place, field: Field, item: Place, lines: list[str]) -> list[str]:
        """The lines, run with each object of a list."""

    # What is the same in all languages.

    def conditions(self, entity: Entity, action: Action) -> Iterator[str]:
        """Each condition as an expression."""
        this = Place(self.THIS, entity)
        for node in action.conditions:
            yield self.condition(node, this, None)

    def effects(self, entity: Entity, action: Action) -> list[str]:
        """All effects as lines."""
        this = Place(self.THIS, entity)
        return [line for node in action.effects for line in self.effect(node, this)]

    def condition(self, node: Node, this: Place, item: Place | None) -> str:
        """A condition; ``item`` is the object of the list inside ``any`` and ``all``."""
        match node["kind"]:
            case "null_check":
                place, field = self.place(node["operand"], this, item)
                return self.is_null(place, field, null=node["is_null"])
            case "quantified":
                field = this.entity.field(node["list_field"])
                inside = Place(self.ITEM, self.api.entity(field.target))
                return self.quantified(node["quantifier"], this, field, inside, self.condition(node["condition"], this, inside))
            case _:
                left, right = self.operand(node["left"], this, item), self.operand(node["right"], this, item)
                text = self.comparison(left.text, node["comparator"], right.text)
                return "(" + f" {self.AND} ".join((*dict.fromkeys(left.guards + right.guards), text)) + ")"

    def place(self, node: Node, this: Place, item: Place | None) -> tuple[Place, Field]:
        """The object and the field that an operand reads."""
        place = item if node.get("subject") == "other" else this
        assert place is not None
        return place, place.entity.field(node["field"])

    def read(self, node: Node, this: Place, item: Place | None) -> Piece:
        """A field as an operand."""
        place, field = self.place(node, this, item)
        return Piece(self.value(place, field), (self.is_null(place, field, null=False),))

    def operand(self, node: Node, this: Place, item: Place | None) -> Piece:
        """Either side of a comparison."""
        match node["kind"]:
            case "literal":
                return Piece(self.literal(node["value"], None))
            case "field":
                return self.read(node, this, item)
            case "arithmetic":
                return self.arithmetic(node, this, item)
            case "count":
                return Piece(self.count(this, this.entity.field(node["list_field"])))
            case _:
                field = this.entity.field(node["list_field"])
                inside = Place(self.ITEM, self.api.entity(field.target))
                return Piece(self.sum(this, field, inside, inside.entity.field(node["field"])))

    def arithmetic(self, node: Node, this: Place, item: Place | None) -> Piece:
        """Two fields joined by a sign."""
        left, right = self.read(node["left"], this, item), self.read(node["right"], this, item)
        return Piece(f"{left.text} {node['operator']} {right.text}", left.guards + right.guards)

    def effect(self, node: Node, this: Place) -> list[str]:
        """One effect, on whatever it is for."""
        scope = node.get("scope", {"kind": "on_this"})
        if scope["kind"] == "on_this":
            return self.assignment(node, this, this)
        field = this.entity.field(scope["field"])
        wrap: Callable[[Place, Field, Place, list[str]], list[str]]
        variable, wrap = (self.OTHER, self.with_other) if scope["kind"] == "on_reference" else (self.ITEM, self.with_each)
        subject = Place(variable, self.api.entity(field.target))
        return wrap(this, field, subject, self.assignment(node, this, subject))

    def assignment(self, node: Node, this: Place, subject: Place) -> list[str]:
        """One assignment to a field of ``subject``."""
        field, how = subject.entity.field(node["target"]), node["assignment"]
        match how["kind"]:
            case "set_to":
                return [self.store(subject, field, self.literal(how["value"], field))]
            case "increment_by":
                sign, amount = ("-", -how["amount"]) if how["amount"] < 0 else ("+", how["amount"])
                text = f"{self.value(subject, field)} {sign} {self.literal(amount, None)}"
                return self.when((self.is_null(subject, field, null=False),), [self.store(subject, field, text)])
            case _:
                piece = self.arithmetic(how["value"], this, subject)
                return self.when(tuple(dict.fromkeys(piece.guards)), [self.store(subject, field, piece.text)])
