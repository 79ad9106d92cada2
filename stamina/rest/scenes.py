"""Stages on which an action is tried while its world is looked for: which objects there are, who refers to whom, and which places are still open.

A *shape* fixes the acting object's references and the lengths of its lists. A *scene* is the objects of one shape with a variable for each scalar field
that matters to the question (:mod:`stamina.rest.questions`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from typing import Final, TypeAlias

import attrs

from stamina.exchange import Json
from stamina.rest.backtracking import Variable
from stamina.rest.candidates import Domain, around, bounds, domain, fitting
from stamina.rest.expressions import (
    Assignment,
    Comparison,
    Condition,
    Count,
    FieldRef,
    IncrementBy,
    Literal,
    NullCheck,
    Quantified,
    SetTo,
    Sum,
)
from stamina.rest.questions import Question, Stage, target_of
from stamina.rest.schema import Action, Field, FieldType, ReferenceListType, ReferenceType
from stamina.rest.semantics import Object, Store, View, compare
from stamina.rest.values import may_be_null
from stamina.rest.worlds import FieldsOf, Link, World, WorldObject

MAIN: Final = "main"
"""The id of the acting object."""

MAX_ITEMS: Final = 16
"""The longest list that a world may need."""

_OBJECT_STRIDE: Final = 7
"""How far apart the starting values of two objects are. Odd, so that the booleans of neighbours differ."""


class Single(Enum):
    """What a single reference of the acting object names."""

    ANOTHER = "another object"
    NOTHING = "nothing"
    ITSELF = "itself"


Shape: TypeAlias = dict[str, Single | int | None]
"""For each reference and list of the acting object that matters: what it names, or how many items it has (None: itself alone)."""


def shapes(question: Question) -> Iterator[Shape]:
    """The shapes worth trying, the most telling first: references that lead somewhere, lists of two."""
    own = question.fields_of()[question.owner]
    references = [own[name] for name in question.mentions.this if isinstance(own[name].type, ReferenceType | ReferenceListType)]
    options = [[form for form in _options(field, question) if _is_allowed(field.name, form, question)] for field in references]
    for choice in itertools.product(*options):
        yield dict(zip((field.name for field in references), choice, strict=True))


def _options(field: Field, question: Question) -> tuple[Single | int | None, ...]:
    wish = question.wish
    if isinstance(field.type, ReferenceListType):
        return (None,) if field.name in wish.own else (0,) if field.name in wish.empty else _sizes(field.name, question.action.conditions)
    if field.name in wish.own:
        return (Single.ITSELF,)
    return (Single.NOTHING,) if field.name in wish.nulls else (Single.ANOTHER, Single.NOTHING)


def _is_allowed(name: str, form: Single | int | None, question: Question) -> bool:
    """Whether the conditions that look at nothing but this reference or the length of this list are as wished."""
    for index, condition in enumerate(question.action.conditions):
        wanted = index != question.wish.unmet
        match condition:
            case NullCheck(FieldRef(field), is_null) if field == name:
                met = (form is Single.NOTHING) is is_null
            case Comparison(Count(field), comparator, Literal(value)) if field == name and (question.wish.edge is None or question.wish.edge[0] != index):
                met = compare(1 if form is None else form, comparator, value)
            case _:
                continue
        if met is not wanted:
            return False
    return True


def _sizes(list_field: str, conditions: tuple[Condition, ...]) -> tuple[int, ...]:
    """Two items tell any from all and a first from a last; other lengths only where a condition may ask for them."""
    sizes = [2, 1, 0]
    for condition in conditions:
        match condition:
            case Comparison(Count(name), _, Literal(int(value))) if name == list_field:
                sizes += [3, value, value + 1, value - 1]
            case Comparison(Sum(name)) if name == list_field:
                sizes += [3, 4, 6, 9, MAX_ITEMS]
    return tuple(size for size in dict.fromkeys(sizes) if 0 <= size <= MAX_ITEMS)


@attrs.frozen(eq=False)
class Placed:
    """An object of a scene, with the fields of it that matter."""

    entity: str
    object: Object
    names: tuple[str, ...]


class Domains:
    """The candidates of each field for one question, worked out once for all of its scenes."""

    def __init__(self, question: Question) -> None:
        self._near = (*_literals(question.action), *_bounds(question.fields_of()))
        self._known: dict[tuple[str, str], Domain] = {}

    def of(self, entity: str, field: Field) -> Domain:
        """The candidates of a scalar field of an entity."""
        known = self._known.get((entity, field.name))
        if known is None:
            known = self._known[entity, field.name] = domain(field, self._near)
        return known


class Scene:
    """The objects of one shape. Variables are its scalar fields that matter; their values are in the objects.

    Attributes:
        seen: the store as the acting object sees it.
        variables: all variables, by object and field.
        behind: the objects that each reference or list of the acting object leads to.
    """

    def __init__(self, question: Question, shape: Shape, domains: Domains) -> None:
        self._question = question
        self._domains = domains
        self._fields = question.fields_of()
        self._placed: list[Placed] = []
        self._links: dict[str, str | tuple[str, ...]] = {}
        main: Object = {"id": MAIN}
        store: Store = {entity: {} for entity in self._fields}
        store[question.owner][MAIN] = main
        targets = {name: target_of(self._fields[question.owner][name]) for name in shape}
        self.seen = View(main, store, targets)
        self.variables: dict[tuple[int, str], Variable] = {}
        self.behind: dict[str, list[Object]] = {}
        self._populate(shape)

    @property
    def main(self) -> Object:
        """The acting object."""
        return self.seen.this

    def over(self, place: Object, field: str) -> tuple[Variable, ...]:
        """The variable at a place, nothing where the shape has fixed it."""
        variable = self.variables.get((id(place), field))
        return () if variable is None else (variable,)

    def field(self, place: Object, name: str) -> Field:
        """The field of an object of the scene."""
        owner = next(placed.entity for placed in self._placed if placed.object is place)
        return self._fields[owner][name]

    def world(self) -> World:
        """The world as it stands now. All variables must have values."""
        objects = tuple(self._world_object(placed) for placed in self._placed)
        owner = self._question.owner
        return World(objects, tuple(Link(owner, MAIN, name, value) for name, value in self._links.items()), (owner, MAIN))

    def _populate(self, shape: Shape) -> None:
        through = dict(self._question.mentions.through)
        main_names = dict.fromkeys(self._question.mentions.this)
        for number, (name, form) in enumerate(shape.items()):
            wanted = through.get(name, ())
            if form is None or form is Single.ITSELF:
                main_names.update(dict.fromkeys(wanted))
                self.behind[name] = [self.main]
                self._links[name] = MAIN if form is Single.ITSELF else (MAIN,)
            else:
                count = form if isinstance(form, int) else int(form is Single.ANOTHER)
                target = self.seen.targets[name]
                self.behind[name] = [self._place(target, {"id": f"other-{number + 1}-{part + 1}"}, wanted) for part in range(count)]
            self.main[name] = self._reference(name)
        self._place(self._question.owner, self.main, tuple(main_names))

    def _reference(self, name: str) -> Json:
        ids = [each["id"] for each in self.behind[name]]
        is_list = isinstance(self._fields[self._question.owner][name].type, ReferenceListType)
        return ids if is_list else (ids[0] if ids else None)

    def _place(self, entity: str, place: Object, names: tuple[str, ...]) -> Object:
        self.seen.store[entity][place["id"]] = place
        rank = len(self._placed) * _OBJECT_STRIDE
        for number, name in enumerate(names):
            if name not in place:
                self.variables[id(place), name] = self._variable(entity, place, self._fields[entity][name], rank + number)
        self._placed.append(Placed(entity, place, names))
        return place

    def _variable(self, entity: str, place: Object, field: Field, rank: int) -> Variable:
        if isinstance(field.type, ReferenceType | ReferenceListType):
            spare = self._spare(field.type.target)
            choice: tuple[Json, ...] = (spare, None) if isinstance(field.type, ReferenceType) else ([spare], [])
            return Variable(place, field.name, choice, _nothing)
        wish = self._question.wish
        is_given = place is self.main and field.name in dict(wish.given)
        near = _nothing if is_given else partial(_near, field.type, fitting(field))
        return Variable(place, field.name, self._domain(entity, place, field, rank), near)

    def _domain(self, entity: str, place: Object, field: Field, rank: int) -> tuple[Json, ...]:
        question = self._question
        values = self._domains.of(entity, field).turned(rank)
        nothing: tuple[Json, ...] = (None,) if may_be_null(field) else ()
        if place is self.main and field.name == question.action.enum_field:
            return nothing if question.wish.stage is Stage.NULL else _staged(values, question)
        if place is self.main and field.name in question.wish.nulls:
            return nothing
        if place is self.main and field.name in dict(question.wish.given):
            return (dict(question.wish.given)[field.name],)
        return values + nothing

    def _spare(self, entity: str) -> str:
        """The id of an object that nothing is known about, made when it is first needed."""
        key = f"spare-{entity.lower()[:20]}"
        if key not in self.seen.store[entity]:
            self._place(entity, {"id": key}, ())
        return key

    def _world_object(self, placed: Placed) -> WorldObject:
        fields, omitted = [], []
        for name in placed.names:
            value = self._posted(placed, name)
            if value is None and _left_out(self._fields[placed.entity][name]):
                omitted.append(name)
            else:
                fields.append((name, tuple(value) if isinstance(value, list) else value))
        return WorldObject(placed.entity, placed.object["id"], tuple(fields), tuple(omitted))

    def _posted(self, placed: Placed, name: str) -> Json:
        """The value in the POST: a reference back to the acting object comes later, by a link."""
        if placed.object is self.main and name in self._links:
            return None if isinstance(self._links[name], str) else []
        return placed.object[name]


def _left_out(field: Field) -> bool:
    """Whether null comes about by leaving the field out, because an explicit null is refused (V3)."""
    return not field.nullable and not isinstance(field.type, ReferenceType)


def _staged(values: tuple[Json, ...], question: Question) -> tuple[Json, ...]:
    """The values of the enum field at the wished stage; those from which the move shows go first."""
    action = question.action
    wanted = [value for value in values if (value in action.from_values) is (question.wish.stage is Stage.INSIDE)]
    return tuple(sorted(wanted, key=lambda value: value == action.to_value))


def _near(kind: FieldType, fits: Callable[[Json], bool], wish: Json) -> list[Json]:
    return [value for value in around(kind, wish) if fits(value)]  # type: ignore[arg-type]  # made for scalar fields only


def _nothing(_: Json) -> tuple[Json, ...]:
    return ()


def _literals(action: Action) -> Iterator[Json]:
    """Every constant in an action, for the values around them are the telling ones."""
    for condition in action.conditions:
        inner = condition.condition if isinstance(condition, Quantified) else condition
        if isinstance(inner, Comparison) and isinstance(inner.right, Literal):
            yield inner.right.value
    for effect in action.effects:
        yield from _constants(effect.assignment)


def _bounds(fields: FieldsOf) -> Iterator[Json]:
    """The bounds of all fields, for two fields that are compared may have little in common."""
    kinds = dict.fromkeys(field.type for own in fields.values() for field in own.values())
    return (bound for kind in kinds for bound in bounds(kind) if bound is not None)


def _constants(assignment: Assignment) -> tuple[Json, ...]:
    match assignment:
        case SetTo(value) if value is not None and value != ():
            return (value,)
        case IncrementBy(amount):
            return (amount,)
    return ()
