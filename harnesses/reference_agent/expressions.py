"""Conditions and effects as trees: which fields they mention, what they become when a field is renamed, and their form as data for the server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Scope:
    """Which entity's fields the names of an expression are.

    Attributes:
        this: the entity of the action.
        target: the entity that a reference or a list leads to, by entity and field.
        name: the name that a field gets, by entity and field.
        item: the entity of ``item``, where there is one.
    """

    this: str
    target: Callable[[str, str], str]
    name: Callable[[str, str], str]
    item: str = ""

    def within(self, items: Ref) -> Scope:
        """The scope of what is said of each item in a list."""
        return replace(self, item=self.target(self.this, items.names[0]))


@dataclass(frozen=True)
class Ref:
    """``this.x``, ``this.ref.x``, ``this.list`` or ``item.x``; ``root`` is the first word."""

    root: str
    names: tuple[str, ...]

    def mapped(self, scope: Scope) -> Ref:
        """With the names that the scope gives to the fields."""
        owner = scope.this if self.root == "this" else scope.item
        names = []
        for at, name in enumerate(self.names):
            names.append(scope.name(owner, name))
            owner = scope.target(owner, name) if at + 1 < len(self.names) else owner
        return Ref(self.root, tuple(names))

    def data(self) -> list[Any]:
        """As data."""
        return ["field", self.root, *self.names]


@dataclass(frozen=True)
class Literal:
    """A value, kept as JSON text so that 1, 1.0 and true are three different ones."""

    text: str

    @classmethod
    def of(cls, value: Any) -> Literal:
        """The literal with this value."""
        return cls(json.dumps(value))

    def mapped(self, scope: Scope) -> Literal:
        """The same: a literal mentions nothing."""
        return self

    def data(self) -> list[Any]:
        """As data."""
        return ["literal", json.loads(self.text)]


@dataclass(frozen=True)
class Arithmetic:
    """Two fields joined by an operator."""

    left: Ref
    operator: str
    right: Ref

    def mapped(self, scope: Scope) -> Arithmetic:
        """With the names that the scope gives to the fields."""
        return Arithmetic(self.left.mapped(scope), self.operator, self.right.mapped(scope))

    def data(self) -> list[Any]:
        """As data."""
        return ["arithmetic", self.left.data(), self.operator, self.right.data()]


@dataclass(frozen=True)
class Fold:
    """``count(this.list)`` or ``sum(this.list.x)``; ``kind`` is the word."""

    kind: str
    over: Ref

    def mapped(self, scope: Scope) -> Fold:
        """With the names that the scope gives to the fields."""
        return Fold(self.kind, self.over.mapped(scope))

    def data(self) -> list[Any]:
        """As data."""
        return [self.kind, *self.over.names]


Operand = Ref | Literal | Arithmetic | Fold


@dataclass(frozen=True)
class Comparison:
    """Two operands and what is between them."""

    left: Operand
    comparator: str
    right: Operand

    def mapped(self, scope: Scope) -> Comparison:
        """With the names that the scope gives to the fields."""
        return Comparison(self.left.mapped(scope), self.comparator, self.right.mapped(scope))

    def data(self) -> list[Any]:
        """As data."""
        return ["compare", self.left.data(), self.comparator, self.right.data()]


@dataclass(frozen=True)
class NullTest:
    """``… is null``, or ``… is not null`` when ``null`` is False."""

    field: Ref
    null: bool

    def mapped(self, scope: Scope) -> NullTest:
        """With the names that the scope gives to the fields."""
        return NullTest(self.field.mapped(scope), self.null)

    def data(self) -> list[Any]:
        """As data."""
        return ["is null" if self.null else "is not null", self.field.data()]


@dataclass(frozen=True)
class Quantified:
    """``any`` or ``every`` item of a list satisfies a test."""

    kind: str
    items: Ref
    test: Comparison | NullTest

    def mapped(self, scope: Scope) -> Quantified:
        """With the names that the scope gives to the fields."""
        return Quantified(self.kind, self.items.mapped(scope), self.test.mapped(scope.within(self.items)))

    def data(self) -> list[Any]:
        """As data."""
        return [self.kind, self.items.names[0], self.test.data()]


@dataclass(frozen=True)
class Setting:
    """``set … to …``."""

    target: Ref
    value: Literal | Arithmetic

    def mapped(self, scope: Scope) -> Setting:
        """With the names that the scope gives to the fields."""
        return Setting(self.target.mapped(scope), self.value.mapped(scope))

    def data(self) -> list[Any]:
        """As data."""
        return ["set", self.target.data(), self.value.data()]


@dataclass(frozen=True)
class Increment:
    """``increment … by …``."""

    target: Ref
    by: Literal

    def mapped(self, scope: Scope) -> Increment:
        """With the names that the scope gives to the fields."""
        return Increment(self.target.mapped(scope), self.by)

    def data(self) -> list[Any]:
        """As data."""
        return ["increment", self.target.data(), self.by.data()]


@dataclass(frozen=True)
class ForEach:
    """An effect on every object of a list."""

    items: Ref
    effect: Setting | Increment

    def mapped(self, scope: Scope) -> ForEach:
        """With the names that the scope gives to the fields."""
        return ForEach(self.items.mapped(scope), self.effect.mapped(scope.within(self.items)))

    def data(self) -> list[Any]:
        """As data."""
        return ["for each", self.items.names[0], self.effect.data()]


Condition = Comparison | NullTest | Quantified
Effect = Setting | Increment | ForEach
