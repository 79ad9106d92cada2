"""Operators on the order of effects and transition (B1, B3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from stamina.exchange import Json
from stamina.rest.expressions import (
    Compute,
    Effect,
    IncrementBy,
    OnEach,
    OnReference,
    OnThis,
    SetTo,
    Subject,
)
from stamina.rest.mutants.acting import Acting, action_fault, altered, each_action
from stamina.rest.mutants.effects import unwritable_effect
from stamina.rest.mutants.exhaustion import nothing_tells
from stamina.rest.mutants.flawed import flawed
from stamina.rest.mutants.mutant import Faults, Ground, operator
from stamina.rest.mutants.nulls import places_read
from stamina.rest.mutants.proofs import effect_without_trace
from stamina.rest.schema import Action, Entity
from stamina.rest.semantics import View, assign, run_effects, written


@operator("effects-from-snapshot", "B3")
def effects_from_snapshot(ground: Ground) -> Faults:
    """Every effect reads the values from before the first."""
    for entity, action in each_action(ground):
        if _reads_what_was_written(action):
            build = flawed(_Snapshot, ground.state, entity.name, action.name)
            prove = partial(nothing_tells, ground.state, entity, action, action, _reading(action), _from_snapshot, in_order=False)
            yield action_fault(entity, action, "effects read what was before", build, _nothing_read(ground, entity, action), prove)


def _nothing_read(ground: Ground, entity: Entity, action: Action) -> str:
    """Why it never shows when effects read what was there before the first: those that read anything leave no trace, or never write anything either way."""
    reasons, before = list[str](), set[str]()
    for index, effect in enumerate(action.effects):
        if effect in _reading(action):
            why = effect_without_trace(action, index)
            if not why and before.isdisjoint((effect.target, *(name for _, name in places_read(effect)))):
                why = unwritable_effect(ground, (entity, action, index, effect))
                if why:
                    reasons.append(why)
                    continue
            reasons.append(why)
        before.add(effect.target)
    return reasons[0] if reasons and all(reasons) else ""


class _Snapshot(Acting):
    """Effects read the acting object as it was before the first of them."""

    def _perform(self, action: Action, seen: View) -> None:
        if not self._mine:
            super()._perform(action, seen)
            return
        _from_snapshot(action.effects, seen)
        seen.this[action.enum_field] = action.to_value


def _from_snapshot(effects: Sequence[Effect], seen: View) -> None:
    before = dict(seen.this)
    news: dict[str, Json] = {}
    for effect in effects:
        if isinstance(effect.scope, OnThis):
            copy = dict(before)
            assign(copy, effect.target, effect.assignment, View(copy, seen.store, seen.targets))
            news[effect.target] = copy[effect.target]
        else:
            for subject in list(written(effect.scope, View(before, seen.store, seen.targets))):
                assign(subject, effect.target, effect.assignment, View(before, seen.store, seen.targets))
    seen.this.update(news)


def _reading(action: Action) -> tuple[Effect, ...]:
    """The effects that read something, or find through the acting object what they write."""
    return tuple(each for each in action.effects if not (isinstance(each.assignment, SetTo) and isinstance(each.scope, OnThis)))


def _reads_what_was_written(action: Action) -> bool:
    fields: set[str] = set()
    for effect in action.effects:
        if fields & set(_read_of_this(effect)):
            return True
        if isinstance(effect.scope, OnThis):
            fields.add(effect.target)
    return False


def _read_of_this(effect: Effect) -> Iterator[str]:
    if isinstance(effect.scope, OnReference | OnEach):
        yield effect.scope.field
    if isinstance(effect.assignment, IncrementBy) and isinstance(effect.scope, OnThis):
        yield effect.target
    if isinstance(effect.assignment, Compute):
        yield from (ref.field for ref in (effect.assignment.value.left, effect.assignment.value.right) if ref.subject is Subject.THIS)


@operator("effects-reversed", "B3")
def effects_reversed(ground: Ground) -> Faults:
    """Two effects that depend on each other change places."""
    for entity, action in each_action(ground):
        for index in range(len(action.effects) - 1):
            one, two = action.effects[index : index + 2]
            if isinstance(one.scope, OnThis) and isinstance(two.scope, OnThis) and one.target in (*_read_of_this(two), two.target):
                effects = (*action.effects[:index], two, one, *action.effects[index + 2 :])
                yield altered(ground, entity, action, f"effects {index + 1} and {index + 2} change places", _commuting(one, two), effects=effects)


def _commuting(one: Effect, two: Effect) -> str:
    both = isinstance(one.assignment, IncrementBy) and isinstance(two.assignment, IncrementBy)
    return "B3: increments of one field commute" if both else ""


@operator("transition-first", "B3")
def transition_first(ground: Ground) -> Faults:
    """The transition comes before the effects, which overrule it."""
    for entity, action in each_action(ground):
        if any(effect.target == action.enum_field and isinstance(effect.scope, OnThis) for effect in action.effects):
            yield action_fault(entity, action, "the transition comes first", flawed(_TransitionFirst, ground.state, entity.name, action.name))


class _TransitionFirst(Acting):
    def _perform(self, action: Action, seen: View) -> None:
        super()._perform(action, seen)
        if self._mine:
            run_effects([effect for effect in action.effects if isinstance(effect.scope, OnThis) and effect.target == action.enum_field], seen)


OPERATORS: Final = (
    effects_from_snapshot,
    effects_reversed,
    transition_first,
)
