"""Which fields are null, or are not, whenever an effect is reached: of the acting object, and of those behind its references and lists (B2, B3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from stamina.rest.expressions import (
    Comparison,
    Compute,
    Condition,
    Effect,
    IncrementBy,
    Literal,
    NullCheck,
    OnEach,
    OnThis,
    Operand,
    Quantified,
    Quantifier,
    Scope,
    SetTo,
    Subject,
)
from stamina.rest.mentions import fields_in
from stamina.rest.schema import Action

Place: TypeAlias = tuple[Scope, str]
"""A field of the acting object, of the one behind a reference, or of every object in a list."""

_THIS = OnThis()


def null_places(action: Action, index: int) -> frozenset[Place]:
    """The places that hold null whenever effect ``index`` is reached."""
    places = {place for each in action.conditions for place in _checked(each, null=True)}
    for effect in action.effects[:index]:
        if isinstance(effect.assignment, SetTo) and effect.assignment.value is None:
            places.add((effect.scope, effect.target))
        elif places.isdisjoint(places_read(effect)):
            # It may write whatever has a field of that name: references lead to one object by many ways.
            places = {each for each in places if each[1] != effect.target}
    return frozenset(places)


def set_places(action: Action, index: int) -> frozenset[Place]:
    """The places that do not hold null whenever effect ``index`` is reached."""
    places = {place for each in action.conditions for place in (*_checked(each, null=False), *_compared(each))}
    for effect in action.effects[:index]:
        if isinstance(effect.assignment, SetTo):
            if effect.assignment.value is None:
                places = {each for each in places if each[1] != effect.target}
            else:
                places.add((effect.scope, effect.target))
    return frozenset(places)


def always_null(action: Action, index: int) -> frozenset[str]:
    """The acting object's fields that are null whenever effect ``index`` is reached."""
    return frozenset(name for scope, name in null_places(action, index) if scope == _THIS)


def never_null(action: Action, index: int) -> frozenset[str]:
    """The acting object's fields that are not null whenever effect ``index`` is reached."""
    return frozenset(name for scope, name in set_places(action, index) if scope == _THIS)


def places_read(effect: Effect) -> Iterator[Place]:
    """The places without which an effect does nothing: one null among them, and it leaves its target as it is."""
    if isinstance(effect.assignment, IncrementBy):
        yield effect.scope, effect.target
    if isinstance(effect.assignment, Compute):
        for ref in (effect.assignment.value.left, effect.assignment.value.right):
            yield (_THIS if ref.subject is Subject.THIS else effect.scope), ref.field


def as_words(place: Place) -> str:
    """``this.age``, or ``age of this.dogs``."""
    scope, name = place
    return f"this.{name}" if isinstance(scope, OnThis) else f"{name} of this.{scope.field}"


def own_fields(operand: Operand | Literal) -> Iterator[str]:
    """The acting object's fields that an operand reads itself."""
    return (ref.field for ref in fields_in(operand) if ref.subject is Subject.THIS)


def _checked(condition: Condition, *, null: bool) -> Iterator[Place]:
    """The places that a null check that holds says to be null, or not to be."""
    match condition:
        case NullCheck(operand, is_null) if is_null is null:
            yield _THIS, operand.field
        case Quantified(Quantifier.ALL, name, NullCheck(operand, is_null)) if is_null is null:
            yield OnEach(name), operand.field
        case _:
            return


def _compared(condition: Condition) -> Iterator[Place]:
    """The places that are compared, which are not null where the condition holds."""
    match condition:
        case Comparison(left, _, right):
            yield from ((_THIS, name) for side in (left, right) for name in own_fields(side))
        case Quantified(Quantifier.ALL, name, Comparison(left, _, right)):
            yield from ((OnEach(name), ref.field) for side in (left, right) for ref in fields_in(side) if ref.subject is Subject.OTHER)
        case _:
            return
