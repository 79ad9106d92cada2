"""Operators on how an action runs: on which objects, with nulls, when it is refused, and what it answers (B1, B3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Final

import attrs

from stamina.exchange import Response
from stamina.rest.expressions import (
    ArithmeticOperator,
    Compute,
    Effect,
    FieldRef,
    IncrementBy,
    OnEach,
    OnReference,
    OnThis,
    SetTo,
    Subject,
)
from stamina.rest.mutants.acting import Acting, action_fault, each_action
from stamina.rest.mutants.effects import Where, each_effect, idle, read_field, target_field
from stamina.rest.mutants.exhaustion import nothing_tells
from stamina.rest.mutants.flawed import flawed
from stamina.rest.mutants.mutant import Fault, Faults, Ground, operator
from stamina.rest.mutants.nulls import as_words, never_null, set_places
from stamina.rest.mutants.proofs import (
    NEVER_NULL,
    OVERRULED,
    at_most_one,
    done_anyway,
    effect_of_null,
    effect_without_trace,
    effects_cancel,
    finds_nothing,
    never_empty,
    never_leads_back,
    never_refused,
    only_refused_at_target,
)
from stamina.rest.resources import Resource
from stamina.rest.schema import Action, Field, State
from stamina.rest.semantics import Object, Refusal, View, assign, run_effect, run_effects, value_of, written
from stamina.rest.truth import error, ok
from stamina.rest.values import may_be_null

Runner = Callable[[Effect, View], None]


class _Running(Acting):
    """Runs one effect of one action in another way."""

    def __init__(self, state: State, entity: str, member: str, index: int, run: Runner) -> None:
        super().__init__(state, entity, member)
        self._index = index
        self._run = run

    def _perform(self, action: Action, seen: View) -> None:
        if not self._mine:
            super()._perform(action, seen)
            return
        _run_but(action.effects[self._index], self._run, action.effects, seen)
        seen.this[action.enum_field] = action.to_value


def _run_but(chosen: Effect, run: Runner, effects: Sequence[Effect], seen: View) -> None:
    """Run effects in order, one of them in another way. No two of an action are equal (D6)."""
    for effect in effects:
        (run if effect == chosen else run_effect)(effect, seen)


def _running(ground: Ground, where: Where, detail: str, run: Runner, why: str = "", on_one: Runner | None = None, *, crashes: bool = False) -> Fault:
    """The fault of a server that runs one effect in another way.

    ``on_one`` is how the effect fares on an object on which the fault shows, where ``run`` needs several to show anything. What ``crashes`` shows whatever
    becomes of the value that the effect writes.
    """
    entity, action, index, effect = where
    why = why or ("" if crashes else effect_without_trace(action, index))
    prove = partial(nothing_tells, ground.state, entity, action, action, (effect,), partial(_run_but, effect, on_one or run))
    build = flawed(_Running, ground.state, entity.name, action.name, index, run)
    return action_fault(entity, action, f"effect {index + 1} {detail}", build, why, prove)


def _left_out(_: Effect, __: View) -> None:
    """The effect does not take place."""


@operator("for-each-first-only", "B3")
def for_each_first_only(ground: Ground) -> Faults:
    """A for-each writes the first object alone."""

    def run(effect: Effect, seen: View) -> None:
        for subject in list(written(effect.scope, seen))[:1]:
            assign(subject, effect.target, effect.assignment, seen)

    for where in each_effect(ground):
        if isinstance(where[3].scope, OnEach):
            why = at_most_one(where[1], where[3].scope.field) or idle(ground, where)
            yield _running(ground, where, "writes the first object alone", run, why, _left_out)


@operator("for-each-last-missed", "B3")
def for_each_last_missed(ground: Ground) -> Faults:
    """A for-each leaves the last object out."""

    def run(effect: Effect, seen: View) -> None:
        for subject in list(written(effect.scope, seen))[:-1]:
            assign(subject, effect.target, effect.assignment, seen)

    for where in each_effect(ground):
        if isinstance(where[3].scope, OnEach):
            yield _running(ground, where, "leaves the last object out", run, idle(ground, where))


@operator("effect-on-all", "B3")
def effect_on_all(ground: Ground) -> Faults:
    """An effect writes every object of the entity."""
    for where in each_effect(ground):
        owner, _ = target_field(ground, where[0], where[3])

        def run(effect: Effect, seen: View, name: str = owner.name) -> None:
            for subject in list(seen.store[name].values()):
                assign(subject, effect.target, effect.assignment, seen)

        if isinstance(where[3].assignment, Compute) and isinstance(where[3].scope, OnThis):
            continue  # Arithmetic on the acting object's own fields is another fault for other objects.
        entity, action, index, _ = where
        build = flawed(_Running, ground.state, entity.name, action.name, index, run)
        yield action_fault(entity, action, f"effect {index + 1} writes every {owner.name}", build, effect_of_null(action, index))


@operator("effect-on-nobody-else", "B3")
def effect_on_copy(ground: Ground) -> Faults:
    """An effect on a referenced object writes a copy that is not stored."""

    def run(effect: Effect, seen: View) -> None:
        copy = View(seen.this, deepcopy(seen.store), seen.targets)
        for subject in list(written(effect.scope, copy)):
            assign(subject, effect.target, effect.assignment, seen)

    for where in each_effect(ground):
        if not isinstance(where[3].scope, OnThis):
            yield _running(ground, where, "writes copies", run, idle(ground, where))


@operator("effect-on-the-acting-object", "B3")
def effect_on_the_acting_object(ground: Ground) -> Faults:
    """What an effect should write on a referenced object is written on the acting one, which has a field of that name."""

    def run(effect: Effect, seen: View) -> None:
        for subject in list(written(effect.scope, seen)):
            copy = dict(subject)
            assign(copy, effect.target, effect.assignment, seen)
            if copy[effect.target] != subject[effect.target] or isinstance(effect.assignment, SetTo):
                seen.this[effect.target] = copy[effect.target]

    for where in each_effect(ground):
        entity, action, index, effect = where
        own = entity.find_field(effect.target)
        if not isinstance(effect.scope, OnThis) and own is not None and type(own.type) is type(target_field(ground, entity, effect)[1].type):
            why = finds_nothing(action, index) if isinstance(effect.assignment, SetTo) else idle(ground, where)
            build, play = flawed(_Running, ground.state, entity.name, action.name, index, run), partial(_run_but, effect, run)
            prove = partial(nothing_tells, ground.state, entity, action, action, (effect,), play)
            yield action_fault(entity, action, f"effect {index + 1} writes the acting object", build, why, prove)


@operator("self-reference-is-a-copy", "B3")
def self_reference_is_a_copy(ground: Ground) -> Faults:
    """An object that refers to itself is written in a copy: what the answer holds is lost or stale."""

    def run(effect: Effect, seen: View) -> None:
        for subject in list(written(effect.scope, seen)):
            if subject is not seen.this:
                assign(subject, effect.target, effect.assignment, seen)

    for where in each_effect(ground):
        entity, action, index, effect = where
        if not isinstance(effect.scope, OnThis) and target_field(ground, entity, effect)[0] is entity:
            back = never_leads_back(action, effect.scope.field) if isinstance(effect.scope, OnEach) else ""
            why = OVERRULED if effect.target == action.enum_field else idle(ground, where) or done_anyway(action, index) or back
            yield _running(ground, where, "is lost when it leads back", run, why)


@operator("null-operand-crashes-effect", "B3")
def null_operand_crashes_effect(ground: Ground) -> Faults:
    """An effect with a null operand is answered with 500."""

    def run(effect: Effect, seen: View) -> None:
        for subject in list(written(effect.scope, seen)):
            if _is_null(effect, subject, seen):
                raise TypeError("an operand is null")
            assign(subject, effect.target, effect.assignment, seen)

    yield from (fault for fault, _ in _null_faults(ground, "crashes on null", run, crashes=True))


@operator("null-operand-is-zero", "B3")
def null_operand_is_zero(ground: Ground) -> Faults:
    """An effect reads a null operand as 0."""

    def run(effect: Effect, seen: View) -> None:
        for subject in list(written(effect.scope, seen)):
            zero = View(_zeroed(seen.this), seen.store, seen.targets)
            copy = zero.this if subject is seen.this else _zeroed(subject)
            assign(copy, effect.target, effect.assignment, zero)
            subject[effect.target] = copy[effect.target]

    for fault, where in _null_faults(ground, "reads null as 0", run):
        why = "" if fault.equivalent else _adds_nothing(ground, where)
        yield attrs.evolve(fault, equivalent=why) if why else fault


def _adds_nothing(ground: Ground, where: Where) -> str:
    """Why 0 in the place of null leaves the target as it is: it is added to the target, or taken from it."""
    entity, action, index, effect = where
    if not isinstance(effect.assignment, Compute):
        return ""
    value = effect.assignment.value
    own = FieldRef(effect.target, Subject.THIS if isinstance(effect.scope, OnThis) else Subject.OTHER)
    other = value.right if value.left == own else value.left
    added = value.operator is ArithmeticOperator.ADD and own in (value.left, value.right)
    taken = value.operator is ArithmeticOperator.SUBTRACT and value.left == own
    is_there = not may_be_null(read_field(ground, entity, effect, own)) or (own.subject is Subject.THIS and own.field in never_null(action, index))
    alone = own != other and is_there
    return "B3: 0 added to the target, or taken from it, leaves it as it is, which null does too" if alone and (added or taken) else ""


@operator("null-operand-makes-null", "B3")
def null_operand_makes_null(ground: Ground) -> Faults:
    """An effect with a null operand stores null."""

    def run(effect: Effect, seen: View) -> None:
        for subject in list(written(effect.scope, seen)):
            if _is_null(effect, subject, seen):
                subject[effect.target] = None
            else:
                assign(subject, effect.target, effect.assignment, seen)

    for fault, (entity, action, index, effect) in _null_faults(ground, "stores null for null", run):
        if isinstance(effect.assignment, Compute):
            nullable = [ref for ref in (effect.assignment.value.left, effect.assignment.value.right) if may_be_null(read_field(ground, entity, effect, ref))]
            nullable = [ref for ref in nullable if ref.subject is Subject.OTHER or ref.field not in never_null(action, index)]
            own = Subject.THIS if isinstance(effect.scope, OnThis) else Subject.OTHER
            same = all(ref.field == effect.target and ref.subject is own for ref in nullable)
            yield attrs.evolve(fault, equivalent="B3: what is left as it is when an operand is null is that null operand") if same else fault


def _null_faults(ground: Ground, detail: str, run: Runner, *, crashes: bool = False) -> Iterator[tuple[Fault, Where]]:
    for where in each_effect(ground):
        entity, action, index, effect = where
        field = target_field(ground, entity, effect)[1]
        operands: list[tuple[bool, Field]] = []
        if isinstance(effect.assignment, IncrementBy):
            operands = [(isinstance(effect.scope, OnThis), field)]
        if isinstance(effect.assignment, Compute):
            refs = (effect.assignment.value.left, effect.assignment.value.right)
            operands = [(ref.subject is Subject.THIS, read_field(ground, entity, effect, ref)) for ref in refs]
        nullable = [(is_own, each) for is_own, each in operands if may_be_null(each)]
        if nullable:
            places = [(OnThis() if is_own else effect.scope, each.name) for is_own, each in nullable]
            why = NEVER_NULL.format(as_words(places[0])) if set_places(action, index).issuperset(places) else ""
            yield _running(ground, where, detail, run, why, crashes=crashes), where


def _is_null(effect: Effect, subject: Object, seen: View) -> bool:
    if isinstance(effect.assignment, IncrementBy):
        return subject[effect.target] is None
    return isinstance(effect.assignment, Compute) and value_of(effect.assignment.value, seen, subject) is None


def _zeroed(each: Object) -> Object:
    return {name: 0 if value is None else value for name, value in each.items()}


@operator("null-reference-refused", "B3")
def null_reference_refused(ground: Ground) -> Faults:
    """An action whose effect finds no object to write is refused."""
    for where in each_effect(ground):
        if not isinstance(where[3].scope, OnThis):
            entity, action, index, effect = where
            build = flawed(_NeedsSubject, ground.state, entity.name, action.name, effect, 409)
            yield action_fault(entity, action, f"refused when effect {index + 1} has nothing to write", build, _always_a_subject(action, effect))


@operator("null-reference-crashes", "B3")
def null_reference_crashes(ground: Ground) -> Faults:
    """An action whose effect finds no object to write is answered with 500."""
    for where in each_effect(ground):
        if isinstance(where[3].scope, OnReference):
            entity, action, index, effect = where
            build = flawed(_NeedsSubject, ground.state, entity.name, action.name, effect, 500)
            yield action_fault(entity, action, f"500 when effect {index + 1} has nothing to write", build, _always_a_subject(action, effect))


def _always_a_subject(action: Action, effect: Effect) -> str:
    """Why the reference or list through which an effect writes is never empty when the action is taken."""
    assert not isinstance(effect.scope, OnThis)
    name = effect.scope.field
    return never_empty(action, name) or (NEVER_NULL.format(f"this.{name}") if name in never_null(action, 0) else "")


class _NeedsSubject(Acting):
    """Refuses an action when one effect has no object to write."""

    def __init__(self, state: State, entity: str, member: str, effect: Effect, status: int) -> None:
        super().__init__(state, entity, member)
        self._effect = effect
        self._status = status
        self._missing = False

    def _refusal(self, action: Action, seen: View) -> Refusal | None:
        reason = super()._refusal(action, seen)
        self._missing = self._mine and reason is None and not list(written(self._effect.scope, seen))
        return Refusal.UNMET_CONDITION if self._missing else reason

    def _refused(self, reason: Refusal) -> Response:
        return error(self._status, "there is no object to write") if self._missing else super()._refused(reason)


@operator("effects-on-refusal", "B1")
def effects_on_refusal(ground: Ground) -> Faults:
    """A refused action's effects take place."""
    yield from _refused_acts(ground, _EffectsOnRefusal, "effects of a refused action take place", lambda action: bool(action.effects))


@operator("transition-on-refusal", "B1")
def transition_on_refusal(ground: Ground) -> Faults:
    """A refused action's transition takes place."""
    yield from _refused_acts(ground, _TransitionOnRefusal, "the transition of a refused action takes place", lambda _: True)


def _refused_acts(ground: Ground, kind: type[Acting], detail: str, applies: Callable[[Action], bool]) -> Iterator[Fault]:
    for entity, action in each_action(ground):
        if applies(action):
            why = only_refused_at_target(entity, action) if kind is _TransitionOnRefusal else never_refused(entity, action) or effects_cancel(action)
            yield action_fault(entity, action, detail, flawed(kind, ground.state, entity.name, action.name), why)


class _EffectsOnRefusal(Acting):
    def _refusal(self, action: Action, seen: View) -> Refusal | None:
        reason = super()._refusal(action, seen)
        if self._mine and reason is not None:
            run_effects(action.effects, seen)
        return reason


class _TransitionOnRefusal(Acting):
    def _refusal(self, action: Action, seen: View) -> Refusal | None:
        reason = super()._refusal(action, seen)
        if self._mine and reason is not None:
            seen.this[action.enum_field] = action.to_value
        return reason


@operator("action-answers-before", "B1")
def action_answers_before(ground: Ground) -> Faults:
    """An action answers with the object as it was."""
    for entity, action in each_action(ground):
        yield action_fault(entity, action, "answers with the object as it was", flawed(_AnswersBefore, ground.state, entity.name, action.name))


class _AnswersBefore(Acting):
    def _act(self, resource: Resource, key: str, name: str) -> Response:
        this = self._store[resource.name].get(key)
        before = None if this is None else ok(this)
        response = super()._act(resource, key, name)
        return before if self._mine and before is not None and response.status == 200 else response


@operator("action-not-stored", "B1")
def action_not_stored(ground: Ground) -> Faults:
    """An action answers well and stores nothing."""
    for entity, action in each_action(ground):
        yield action_fault(entity, action, "stores nothing", flawed(_NotStored, ground.state, entity.name, action.name))


class _NotStored(Acting):
    def _act(self, resource: Resource, key: str, name: str) -> Response:
        before = deepcopy(self._store)
        response = super()._act(resource, key, name)
        if self._mine:
            for entity, objects in before.items():
                self._store[entity].clear()
                self._store[entity].update(objects)
        return response


OPERATORS: Final = (
    for_each_first_only,
    for_each_last_missed,
    effect_on_all,
    effect_on_copy,
    effect_on_the_acting_object,
    self_reference_is_a_copy,
    null_operand_crashes_effect,
    null_operand_is_zero,
    null_operand_makes_null,
    null_reference_refused,
    null_reference_crashes,
    effects_on_refusal,
    transition_on_refusal,
    action_answers_before,
    action_not_stored,
)
