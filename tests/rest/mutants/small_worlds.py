"""A small entity whose every world can be tried: numbers with narrow bounds, a reference and a list that lead to objects of two other entities."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import attrs

from stamina.rest.candidates import fits
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Comparison,
    Condition,
    Effect,
    FieldRef,
    Literal,
    NullCheck,
    OnEach,
    OnReference,
    Subject,
)
from stamina.rest.schema import Action, Entity, EnumType, Field, IntegerType, ReferenceListType, ReferenceType, State
from stamina.rest.semantics import Refusal, Store, View, perform, reference_targets, refusal

LOW, HIGH = -1, 2
NUMBER = IntegerType(LOW, HIGH)
THERE = Entity("There", (Field("x", NUMBER), Field("y", IntegerType(0, 1), nullable=True)))
ITEM = Entity("Item", (Field("x", NUMBER, nullable=True),))
THING = Entity(
    "Thing",
    (
        Field("state", EnumType("ThingState", ("on", "off"))),
        Field("a", NUMBER, nullable=True),
        Field("b", NUMBER),
        Field("c", IntegerType(0, 3)),
        Field("next", ReferenceType("There"), required=False, nullable=True),
        Field("all", ReferenceListType("Item"), required=False),
    ),
)
STATE = State((THING, THERE, ITEM))
NEXT, ALL = OnReference("next"), OnEach("all")
A, B, C = (FieldRef(name) for name in "abc")
OTHER_X, OTHER_Y = FieldRef("x", Subject.OTHER), FieldRef("y", Subject.OTHER)

Play = Callable[[Sequence[Effect], View], None]


def acting(*effects: Effect, conditions: Sequence[Condition] = ()) -> Action:
    """An action of the thing."""
    return Action("act", "state", ("on",), "off", tuple(conditions), effects)


def compare(left: FieldRef | Arithmetic, comparator: str, right: FieldRef | float) -> Comparison:
    """A comparison of fields, arithmetic and numbers."""
    from stamina.rest.expressions import Comparator

    return Comparison(left, Comparator(comparator), right if isinstance(right, FieldRef) else Literal(right))


def arithmetic(left: FieldRef, symbol: str, right: FieldRef) -> Arithmetic:
    """Two fields and what is between them."""
    return Arithmetic(left, ArithmeticOperator(symbol), right)


def is_null(name: str, *, null: bool = True) -> NullCheck:
    """A null check."""
    return NullCheck(FieldRef(name), is_null=null)


def worlds() -> Iterator[Store]:
    """Every world with an object behind the reference or none, and one or none in the list."""
    numbers = list(range(LOW, HIGH + 1))
    theres = [None, *itertools.product(numbers, (None, 0, 1))]
    items: list[tuple[object, ...]] = [(), *((x,) for x in (None, *numbers))]
    for a, b, c, there, item in itertools.product((None, *numbers), numbers, range(4), theres, items):
        this = {"id": "t", "state": "on", "a": a, "b": b, "c": c, "next": None if there is None else "n", "all": ["i"] if item else []}
        others = {} if there is None else {"n": {"id": "n", "x": there[0], "y": there[1]}}
        yield {"Thing": {"t": this}, "There": others, "Item": {"i": {"id": "i", "x": item[0]}} if item else {}}


def view_of(store: Store) -> View:
    """The world as the thing sees it."""
    return View(store["Thing"]["t"], store, reference_targets(THING))


def copied(store: Store) -> Store:
    """The same world again."""
    return {name: {key: dict(each) for key, each in objects.items()} for name, objects in store.items()}


def is_fair(store: Store) -> bool:
    """Whether every number lies inside its bounds."""
    entities = {each.name: each for each in (THING, THERE, ITEM)}
    return all(
        each[field.name] is None or fits(field, each[field.name])
        for name, objects in store.items()
        for each in objects.values()
        for field in entities[name].fields
        if isinstance(field.type, IntegerType)
    )


def can_be_told(right: Action, wrong: Action, play: Play | None = None) -> bool:
    """Whether some world shows a difference in which a fair test may try the action (B4)."""
    for store in worlds():
        seen, other = view_of(store), view_of(copied(store))
        reason, wrongly = refusal(right, seen), refusal(wrong, other)
        if reason is None:
            perform(right, seen)
            if not is_fair(seen.store):
                continue
        if wrongly is None:
            _play(wrong, other, play)
        if reason is not wrongly or seen.store != other.store:
            return True
    return False


def _play(action: Action, seen: View, play: Play | None) -> None:
    if play is None:
        perform(action, seen)
    else:
        play(action.effects, seen)
        seen.this[action.enum_field] = action.to_value


def refused(action: Action, store: Store) -> Refusal | None:
    """Why the action is refused in a world."""
    return refusal(action, view_of(store))


def without(action: Action, index: int) -> Action:
    """The action without one effect."""
    return attrs.evolve(action, effects=(*action.effects[:index], *action.effects[index + 1 :]))
