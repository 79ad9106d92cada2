"""Whether any values tell an action from a faulty one, decided by going through all that a fair test may use (B2, B3, B4, V8).

Only what the fault concerns is gone through: the numbers, booleans and enums that it reads or writes, those that other effects connect with them, and the
conditions over them. Everything else is taken for granted, so that a difference may be found where there is none, but none is missed. The bounds of fields,
the conditions, and the bounds inside which every result must stay narrow the values down first (:mod:`stamina.rest.mutants.narrowing`); what is left must
be few. Of a list one object stands for all: effects on each never read what they write, so one object is as good as another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

import attrs

from stamina.exchange import Json
from stamina.rest.candidates import fits
from stamina.rest.expressions import (
    Arithmetic,
    Comparison,
    Compute,
    Condition,
    Effect,
    FieldRef,
    IncrementBy,
    NullCheck,
    OnEach,
    OnReference,
    OnThis,
    SetTo,
    Subject,
)
from stamina.rest.mentions import compared_fields
from stamina.rest.mutants.narrowing import Known, Place, narrowed
from stamina.rest.schema import Action, BooleanType, Entity, EnumType, Field, FloatType, IntegerType, ReferenceListType, ReferenceType, State
from stamina.rest.semantics import Object, Store, View, is_met, run_effects
from stamina.rest.values import may_be_null

Play: TypeAlias = Callable[[Sequence[Effect], View], None]
"""How a server runs effects."""

MANY: Final = 60_000
"""Combinations of values that are gone through at most, for one way in which fields are null and references lead nowhere."""

PATTERNS: Final = 256
"""Such ways at most."""

NO_VALUES: Final = "B2-B4: no values for which the conditions hold and every result stays inside its bounds tell them apart"

_SOMETHING_ELSE: Final = "something else"
"""Stands for every string, instant and id that is not mentioned; nothing is computed from them."""


def nothing_tells(
    state: State, entity: Entity, right: Action, wrong: Action, touched: Sequence[Effect] = (), play: Play = run_effects, *, in_order: bool = True
) -> str:
    """Why a server that takes one action for another, or runs the effects that are ``touched`` by ``play``, cannot be told from a right one.

    Empty when it can be, or when that is not known. The actions may differ in their conditions or in their effects. A ``play`` that is not ``in_order`` may
    let effects read what was there before others wrote it.
    """
    if attrs.evolve(wrong, conditions=right.conditions, effects=right.effects) != right:
        return ""
    effects = _differing(right.effects, wrong.effects) + tuple(touched)
    conditions = [each for each in (*right.conditions, *wrong.conditions) if (each in right.conditions) is not (each in wrong.conditions)]
    if bool(effects) is bool(conditions):
        return ""
    slices = _Slicing(state, entity, right, wrong)
    for part in (slices.around(effects, conditions), slices.around(effects, conditions, widely=True)):
        if part is None or not all(part.conditions(each) for each in conditions):
            return ""
        if not (_by_effects(part, right, wrong, play, touched, in_order=in_order) if effects else _by_conditions(part, right, wrong)):
            return NO_VALUES
    return ""


def _differing(right: tuple[Effect, ...], wrong: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """The effects between the first and the last place in which two sequences differ."""
    start = next((number for number, pair in enumerate(zip(right, wrong, strict=False)) if pair[0] != pair[1]), min(len(right), len(wrong)))
    end = 0
    while end < min(len(right), len(wrong)) - start and right[-1 - end] == wrong[-1 - end]:
        end += 1
    return (*right[start : len(right) - end], *wrong[start : len(wrong) - end])


# --- what a fault concerns


@attrs.frozen(eq=False)
class _Part:
    """The part of an action that a fault concerns.

    Attributes:
        entity: of the acting object.
        fields: that are gone through, by place.
        scopes: from each reference or list through which an effect of the part writes, to the entity that it leads to.
        lists: which of them are lists.
        effects: whether an effect belongs to the part.
        conditions: whether a condition is over nothing else.
    """

    entity: Entity
    fields: dict[Place, Field]
    scopes: dict[str, str]
    lists: frozenset[str]
    effects: Callable[[Effect], bool]
    conditions: Callable[[Condition], bool]


class _Slicing:
    def __init__(self, state: State, entity: Entity, right: Action, wrong: Action) -> None:
        self._state, self._entity = state, entity
        self._action = right
        self._effects = tuple(dict.fromkeys((*right.effects, *wrong.effects)))

    def around(self, effects: Sequence[Effect], conditions: Sequence[Condition], *, widely: bool = False) -> _Part | None:
        """What these effects and conditions concern; None where that cannot be gone through.

        Looked at ``widely``, other conditions are part of it that connect their numbers with more: more values, of which fewer are possible.
        """
        if not all(_is_plain(each) for each in conditions):
            return None
        names = {(self._entity.name, name) for each in conditions for name in compared_fields(each)}
        names |= {place for effect in effects for place in self._touched(effect)}
        while True:
            more = names | {place for effect in self._effects for place in self._touched(effect) if not names.isdisjoint(self._touched(effect))}
            if widely:
                more |= {place for places in map(self._numbers, self._action.conditions) for place in places if not names.isdisjoint(places)}
            if more == names:
                break
            names = more
        return self._part(names)

    def _numbers(self, condition: Condition) -> set[tuple[str, str]]:
        """The fields of a condition that is about numbers alone, by entity."""
        names = list(compared_fields(condition)) if _is_plain(condition) else []
        numeric = all(isinstance(self._entity.field(name).type, IntegerType | FloatType) for name in names)
        return {(self._entity.name, name) for name in names} if numeric else set()

    def _touched(self, effect: Effect) -> set[tuple[str, str]]:
        """The fields that an effect reads or writes, by entity, and its reference or list."""
        own, there = self._entity.name, self._leads_to(effect)
        names = {(there, effect.target)}
        if not isinstance(effect.scope, OnThis):
            names.add((own, effect.scope.field))
        if isinstance(effect.assignment, Compute):
            refs = (effect.assignment.value.left, effect.assignment.value.right)
            names |= {(own if ref.subject is Subject.THIS else there, ref.field) for ref in refs}
        return names

    def _leads_to(self, effect: Effect) -> str:
        if isinstance(effect.scope, OnThis):
            return self._entity.name
        kind = self._entity.field(effect.scope.field).type
        assert isinstance(kind, ReferenceType | ReferenceListType)
        return kind.target

    def _part(self, names: set[tuple[str, str]]) -> _Part | None:
        scopes = {
            effect.scope.field: self._leads_to(effect)
            for effect in self._effects
            if isinstance(effect.scope, OnReference | OnEach) and not names.isdisjoint(self._touched(effect))
        }
        # Two ways to one entity may lead to one object.
        if len({self._entity.name, *scopes.values()}) <= len(scopes):
            return None
        places = {self._entity.name: "", **{target: name for name, target in scopes.items()}}
        fields: dict[Place, Field] = {}
        for owner, name in sorted(names):
            field = self._state.entity(owner).field(name) if owner != self._entity.name else self._entity.field(name)
            if owner == self._entity.name and name in scopes:
                continue
            if name == self._action.enum_field and owner == self._entity.name:
                return None
            fields[places[owner], name] = field
        known = frozenset(name for place, name in fields if place == "") | set(scopes)
        compared = frozenset(
            name for (place, name), field in fields.items() if not place and isinstance(field.type, IntegerType | FloatType | BooleanType | EnumType)
        )

        def decided(condition: Condition) -> bool:
            allowed = known & compared if isinstance(condition, Comparison) else known
            return _is_plain(condition) and allowed.issuperset(compared_fields(condition))

        return _Part(
            self._entity,
            fields,
            scopes,
            frozenset(name for name in scopes if isinstance(self._entity.field(name).type, ReferenceListType)),
            lambda effect: not names.isdisjoint(self._touched(effect)),
            decided,
        )


def _is_plain(condition: Condition) -> bool:
    """Whether it is about fields of the acting object alone."""
    match condition:
        case Comparison(FieldRef() | Arithmetic(), _, _) | NullCheck():
            return True
        case _:
            return False


# --- going through the values


@attrs.frozen(eq=False)
class _Pattern:
    """Which references and lists lead somewhere, and what is null."""

    present: frozenset[str]
    nulls: frozenset[Place]


_Needs: TypeAlias = Callable[[_Pattern], frozenset[Place]]


def _patterns(part: _Part) -> list[_Pattern] | None:
    nullable = [place for place, field in part.fields.items() if may_be_null(field)]
    if 2 ** (len(part.scopes) + len(nullable)) > PATTERNS:
        return None
    found = []
    for present in _subsets(part.scopes):
        here = [place for place in nullable if place[0] in present or place[0] == ""]
        found += [_Pattern(frozenset(present), frozenset(nulls)) for nulls in _subsets(here)]
    return found


def _subsets(items: Iterable[Json]) -> Iterator[tuple[Json, ...]]:
    items = list(items)
    return itertools.chain.from_iterable(itertools.combinations(items, size) for size in range(len(items) + 1))


def _by_effects(part: _Part, right: Action, wrong: Action, play: Play, touched: Sequence[Effect], *, in_order: bool) -> bool:
    """Whether some values tell, or may do, when the conditions hold and the effects run."""
    conditions = [(each, True) for each in right.conditions if part.conditions(each)]
    rights, wrongs = ([each for each in action.effects if part.effects(each)] for action in (right, wrong))

    def tells(seen: View) -> bool:
        other = _copied(seen, part.entity.name)
        run_effects(rights, seen)
        if not _stays_inside(part, rights, seen.store):
            return False
        try:
            play(wrongs, other)
        except TypeError:
            return True  # The faulty server crashes, as it is meant to.
        return seen.store != other.store

    def needs(pattern: _Pattern) -> frozenset[Place]:
        actives = [list(_active(effects, pattern)) for effects in (rights, wrongs)]
        places = {place for effect in (*actives[0], *actives[1], *touched) for place in _places(effect)}
        # What both servers write before anything reads it may have been anything.
        return frozenset(places - (_set_first(actives[0], touched) & _set_first(actives[1], touched) if in_order else frozenset()))

    return _is_found(part, conditions, rights, tells, needs)


def _places(effect: Effect) -> Iterator[Place]:
    """The fields that an effect reads or writes."""
    where = "" if isinstance(effect.scope, OnThis) else effect.scope.field
    yield where, effect.target
    if isinstance(effect.assignment, Compute):
        yield from ((("" if ref.subject is Subject.THIS else where), ref.field) for ref in (effect.assignment.value.left, effect.assignment.value.right))


def _set_first(effects: Iterable[Effect], touched: Sequence[Effect]) -> frozenset[Place]:
    """The fields that an effect, run as it should be, writes before anything reads or writes them; none of its operands is null."""
    before, found = set[Place](), set[Place]()
    for effect in effects:
        place, *read = _places(effect)
        if not isinstance(effect.assignment, IncrementBy) and place not in (*before, *read) and effect not in touched:
            found.add(place)
        before |= {place, *read}
    return frozenset(found)


def _active(effects: Iterable[Effect], pattern: _Pattern) -> Iterator[Effect]:
    """The effects that find something to write, and no null among their operands."""
    nulls = set(pattern.nulls)
    for effect in effects:
        where, _ = place = next(_places(effect))
        if where and (where not in pattern.present or ("", where) in nulls):
            continue
        if isinstance(effect.assignment, SetTo):
            (nulls.add if effect.assignment.value in (None, ()) else nulls.discard)(place)
        elif (isinstance(effect.assignment, IncrementBy) and place in nulls) or not nulls.isdisjoint(list(_places(effect))[1:]):
            continue
        else:
            nulls.discard(place)
        yield effect


def _copied(seen: View, own: str) -> View:
    store = {name: {key: dict(each) for key, each in objects.items()} for name, objects in seen.store.items()}
    return View(store[own][seen.this["id"]], store, seen.targets)


def _by_conditions(part: _Part, right: Action, wrong: Action) -> bool:
    """Whether some values tell, or may do, for which one action is taken and the other is refused."""
    rights, wrongs = ([each for each in action.conditions if part.conditions(each)] for action in (right, wrong))
    effects = [each for each in right.effects if part.effects(each)]

    def taken(seen: View) -> bool:
        run_effects(effects, seen)
        return _stays_inside(part, effects, seen.store)

    held = [(each, True) for each in rights]
    common = [(each, True) for each in rights if each in wrongs]
    for each in wrongs:
        if each not in rights and _is_found(part, [*held, (each, False)], effects, taken):
            return True
    added = [(each, True) for each in wrongs if each not in rights]
    return any(_is_found(part, [*common, *added, (each, False)], [], lambda _: True) for each in rights if each not in wrongs)


def _is_found(
    part: _Part, conditions: Sequence[tuple[Condition, bool]], effects: Sequence[Effect], tells: Callable[[View], bool], needs: _Needs | None = None
) -> bool:
    """Whether values may exist for which the conditions are as wished, the effects stay inside all bounds, and something tells.

    ``needs`` says which numbers what tells depends on; all where it is left out.
    """
    patterns = _patterns(part)
    return patterns is None or any(_is_found_in(part, pattern, conditions, effects, tells, needs or (lambda _: frozenset(part.fields))) for pattern in patterns)


def _is_found_in(
    part: _Part, pattern: _Pattern, conditions: Sequence[tuple[Condition, bool]], effects: Sequence[Effect], tells: Callable[[View], bool], needs: _Needs
) -> bool:
    here = {place: field for place, field in part.fields.items() if place[0] in pattern.present or place[0] == ""}
    numbers = {place: field for place, field in here.items() if place not in pattern.nulls and isinstance(field.type, IntegerType | FloatType)}
    running = [each for each in effects if isinstance(each.scope, OnThis) or each.scope.field in pattern.present]
    nulls = pattern.nulls | {("", name) for name in part.scopes if name not in pattern.present}
    box = narrowed(Known(numbers, nulls), conditions, running)
    if box is None:
        return False
    needed = needs(pattern)
    choices: dict[Place, Sequence[Json]] = {}
    for place, field in here.items():
        if place in box:
            left = box[place]
            if place in needed and left.count > MANY:
                return True
            choices[place] = list(left.values()) if place in needed else [next(left.values())]
        else:
            choices[place] = [None] if place in pattern.nulls else _others(field)
    if math.prod(len(each) for each in choices.values()) > MANY:
        return True
    asked = [(each, wanted) for each, wanted in conditions if all(("", name) in needed or ("", name) not in box for name in compared_fields(each))]
    for values in itertools.product(*choices.values()):
        seen = _world(part, pattern, dict(zip(choices, values, strict=True)))
        if all(is_met(condition, seen) is wanted for condition, wanted in asked) and tells(seen):
            return True
    return False


def _others(field: Field) -> Sequence[Json]:
    """The values of a field that is no number, as far as they differ in anything: no condition looks at strings, instants and lists here."""
    match field.type:
        case BooleanType():
            return (True, False)
        case EnumType(_, values):
            return values
        case ReferenceListType():
            return ([], [_SOMETHING_ELSE])
        case _:
            return (_SOMETHING_ELSE,)


def _world(part: _Part, pattern: _Pattern, values: dict[Place, Json]) -> View:
    """The acting object, and one behind each reference and list that leads somewhere."""
    this: Object = {"id": "this"}
    store: Store = {part.entity.name: {"this": this}, **{target: {} for target in part.scopes.values()}}
    for name, target in part.scopes.items():
        there = name in pattern.present
        if there:
            store[target][name] = {"id": name}
        this[name] = ([name] if there else []) if name in part.lists else (name if there else None)
    for (place, name), value in values.items():
        (store[part.scopes[place]][place] if place else this)[name] = value
    return View(this, store, dict(part.scopes))


def _stays_inside(part: _Part, effects: Sequence[Effect], store: Store) -> bool:
    """Whether every number that an effect has written is one that its field takes (B4)."""
    for effect in effects:
        place = "" if isinstance(effect.scope, OnThis) else effect.scope.field
        field = part.fields.get((place, effect.target))
        if field is not None and isinstance(field.type, IntegerType | FloatType):
            objects = store[part.scopes[place] if place else part.entity.name].values()
            if not all(each[effect.target] is None or fits(field, each[effect.target]) for each in objects):
                return False
    return True
