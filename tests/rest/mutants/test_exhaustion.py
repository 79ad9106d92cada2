"""A fault that is proven not to show by going through values shows in none of all small worlds, and near misses are not proven."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stamina.rest.candidates import fits
from stamina.rest.expressions import Comparator, Comparison, Compute, Condition, Count, Effect, FieldRef, IncrementBy, Literal, OnThis, SetTo, Subject
from stamina.rest.mutants.exhaustion import NO_VALUES, nothing_tells
from stamina.rest.mutants.narrowing import Known, narrowed
from stamina.rest.schema import Action, Entity, Field, FloatType, IntegerType, ReferenceType, State
from stamina.rest.semantics import View, assign, is_met, run_effects, written
from tests.rest.mutants.small_worlds import (
    ALL,
    NEXT,
    OTHER_X,
    OTHER_Y,
    STATE,
    THING,
    A,
    B,
    C,
    acting,
    arithmetic,
    can_be_told,
    compare,
    copied,
    is_null,
    view_of,
    without,
    worlds,
)

SUM = Compute(arithmetic(A, "+", B))


def proven(right: Action, wrong: Action) -> bool:
    return nothing_tells(STATE, THING, right, wrong) == NO_VALUES


def turned(action: Action, index: int, **news: Any) -> Action:
    effects = list(action.effects)
    effects[index] = attrs.evolve(effects[index], **news)
    return attrs.evolve(action, effects=tuple(effects))


ZERO = compare(arithmetic(A, "+", B), "<=", 0)
EFFECT_FAULTS = {
    "every result but 0 leaves the bounds": (
        acting(Effect("a", SUM), Effect("b", Compute(arithmetic(B, "-", A))), conditions=(compare(A, ">=", 0), compare(B, ">=", 0), ZERO)),
        lambda action: turned(action, 1, assignment=Compute(arithmetic(A, "-", B))),
    ),
    "the conditions leave one value, which is there already": (
        acting(Effect("c", SetTo(2)), conditions=(compare(C, ">", 1), compare(C, "<", 3))),
        lambda action: without(action, 0),
    ),
}


@pytest.mark.parametrize(("right", "spoil"), EFFECT_FAULTS.values(), ids=EFFECT_FAULTS)
def test_effects_that_cannot_show_are_proven_and_near_misses_are_not(right: Action, spoil: Callable[[Action], Action]) -> None:
    assert proven(right, spoil(right))
    assert not can_be_told(right, spoil(right))
    near = attrs.evolve(right, conditions=right.conditions[1:])
    assert not proven(near, spoil(near))
    assert can_be_told(near, spoil(near))


def test_an_item_that_leaves_its_bounds_from_everywhere_is_never_written() -> None:
    right = acting(Effect("x", IncrementBy(4), ALL))
    assert proven(right, acting())
    assert not can_be_told(right, acting())
    near = acting(Effect("x", IncrementBy(3), ALL))
    assert not proven(near, acting())
    assert can_be_told(near, acting())


def test_nothing_is_written_through_a_reference_that_would_lead_beyond_the_bounds() -> None:
    """``y`` is never null here and never takes the increment, so whatever is written before it through the same reference shows nowhere."""
    there = Entity("There", (Field("x", IntegerType(-1, 2)), Field("y", IntegerType(0, 1))))
    state = attrs.evolve(STATE, entities=(THING, there, STATE.entities[2]))
    right = acting(Effect("x", SetTo(2), NEXT), Effect("y", Compute(arithmetic(OTHER_Y, "-", OTHER_X)), NEXT), Effect("y", IncrementBy(-1), NEXT))
    assert nothing_tells(state, THING, right, without(right, 1)) == NO_VALUES
    assert nothing_tells(state, THING, right, turned(right, 0, assignment=SetTo(0))) == NO_VALUES
    assert nothing_tells(STATE, THING, right, turned(right, 0, assignment=SetTo(0))) == "", "a null y leaves the reference free"
    assert nothing_tells(state, THING, acting(*right.effects[:1]), acting()) == ""


CONDITION_FAULTS = {
    "the effects leave the bounds wherever the two differ": (
        acting(Effect("c", IncrementBy(2)), conditions=(compare(C, "<", 3),)),
        compare(C, "<", 2),
        acting(Effect("c", IncrementBy(1)), conditions=(compare(C, "<", 3),)),
    ),
    "no sum of these fields lies between the two": (
        acting(conditions=(compare(arithmetic(A, "+", B), "<", 5),)),
        compare(arithmetic(A, "+", B), "<", 6),
        acting(conditions=(compare(arithmetic(A, "+", B), "<", 4),)),
    ),
    "another condition stands in the way": (
        acting(conditions=(compare(A, ">", B), compare(A, ">=", B))),
        compare(A, "!=", B),
        acting(conditions=(compare(C, ">", B), compare(A, ">=", B))),
    ),
    "null never comes so far": (
        acting(conditions=(is_null("a", null=False), compare(A, ">", 1))),
        compare(A, "==", 2),
        acting(conditions=(is_null("a", null=False), compare(A, ">", 0))),
    ),
}


@pytest.mark.parametrize(("right", "wrong", "near"), CONDITION_FAULTS.values(), ids=CONDITION_FAULTS)
def test_conditions_that_cannot_show_are_proven_and_near_misses_are_not(right: Action, wrong: Condition, near: Action) -> None:
    index = 1 if isinstance(right.conditions[0], type(is_null("a"))) else 0

    def spoilt(action: Action) -> Action:
        return attrs.evolve(action, conditions=(*action.conditions[:index], wrong, *action.conditions[index + 1 :]))

    assert proven(right, spoilt(right))
    assert not can_be_told(right, spoilt(right))
    assert not proven(near, spoilt(near))
    assert can_be_told(near, spoilt(near))


def test_a_server_that_crashes_shows_it_wherever_it_is_reached() -> None:
    def crash(effects: Sequence[Effect], seen: View) -> None:
        for effect in effects:
            if any(each[effect.target] is None for each in written(effect.scope, seen)):
                raise TypeError("null")
            run_effects([effect], seen)

    action = acting(Effect("a", IncrementBy(0)))
    never = attrs.evolve(action, conditions=(is_null("a", null=False),))
    assert nothing_tells(STATE, THING, never, never, never.effects, crash) == NO_VALUES
    assert nothing_tells(STATE, THING, action, action, action.effects, crash) == ""


def test_effects_through_a_reference_that_was_cleared_before_show_nowhere() -> None:
    right = acting(Effect("next", SetTo(None)), Effect("x", SetTo(1), NEXT))
    assert proven(right, without(right, 1))
    assert not can_be_told(right, without(right, 1))
    other = acting(*reversed(right.effects))
    assert not proven(other, without(other, 0))
    assert can_be_told(other, without(other, 0))


def test_what_cannot_be_gone_through_is_not_proven() -> None:
    wide = Field("a", FloatType(), nullable=True)
    entity = attrs.evolve(THING, fields=(*(wide if each.name == "a" else each for each in THING.fields), Field("own", ReferenceType("Thing"), required=False)))
    state = attrs.evolve(STATE, entities=(entity, *STATE.entities[1:]))
    right = acting(Effect("a", IncrementBy(1.0)))
    assert nothing_tells(state, entity, right, acting()) == "", "too many values"
    own = acting(Effect("b", SetTo(1), attrs.evolve(NEXT, field="own")), conditions=(is_null("own"),))
    assert nothing_tells(state, entity, own, attrs.evolve(own, effects=())) == "", "two names for one object"
    both = acting(Effect("b", SetTo(1)), conditions=(compare(B, "==", 1),))
    assert nothing_tells(STATE, THING, both, acting()) == "", "conditions and effects at once"
    counted = acting(conditions=(Comparison(Count("all"), Comparator.GE, Literal(0)),))
    assert nothing_tells(STATE, THING, counted, acting()) == "", "lists are not gone through"
    assert nothing_tells(STATE, THING, acting(), attrs.evolve(acting(), to_value="on")) == ""


def test_what_both_servers_set_before_anything_reads_it_may_have_been_anything() -> None:
    """``x`` of the items has too many values to be gone through; what it is set to leads beyond the bounds of ``y``."""
    item = Entity("Item", (Field("x", IntegerType()), Field("y", IntegerType(-10, 10)), Field("z", IntegerType(1, None), nullable=True)))
    state = attrs.evolve(STATE, entities=(*STATE.entities[:2], item))
    reads = Effect("y", Compute(arithmetic(FieldRef("z", Subject.OTHER), "+", OTHER_X)), ALL)
    right = acting(Effect("x", SetTo(46), ALL), reads)
    assert nothing_tells(state, THING, right, without(right, 1)) == NO_VALUES
    assert nothing_tells(state, THING, right, without(right, 0)) == "", "set by one alone"
    assert nothing_tells(state, THING, acting(reads, Effect("x", SetTo(46), ALL)), acting(Effect("x", SetTo(46), ALL))) == "", "read before"
    assert nothing_tells(state, THING, right, right, (reads,), lambda effects, seen: run_effects(effects[:1], seen)) == NO_VALUES
    assert nothing_tells(state, THING, right, right, (reads,), lambda effects, seen: run_effects(effects[:1], seen), in_order=False) == ""


def test_what_both_servers_compute_anew_may_have_been_anything() -> None:
    """``f`` has too many values to be gone through. The conditions leave 0 for ``c``, which added or taken away makes no difference."""
    entity = attrs.evolve(THING, fields=(*THING.fields, Field("f", FloatType(None, 49.75))))
    state = attrs.evolve(STATE, entities=(entity, *STATE.entities[1:]))
    right = acting(Effect("f", Compute(arithmetic(B, "+", C))), conditions=(compare(C, "<", 1),))
    wrong = turned(right, 0, assignment=Compute(arithmetic(B, "-", C)))
    assert nothing_tells(state, entity, right, wrong) == NO_VALUES
    assert nothing_tells(state, entity, *(attrs.evolve(each, conditions=(compare(C, "<", 2),)) for each in (right, wrong))) == ""
    assert nothing_tells(state, entity, right, without(right, 0)) == "", "computed by one alone"
    nullable = acting(Effect("f", Compute(arithmetic(A, "+", C))), conditions=(compare(C, "<", 1),))
    assert nothing_tells(state, entity, nullable, turned(nullable, 0, assignment=Compute(arithmetic(A, "-", C)))) == NO_VALUES, "null leaves it alone in both"


REFS = st.sampled_from((A, B, C))
SYMBOLS = st.sampled_from(("+", "-", "*"))
OWN = st.builds(arithmetic, REFS, SYMBOLS, REFS)
CONDITIONS = st.lists(
    st.one_of(
        st.builds(compare, st.one_of(REFS, OWN), st.sampled_from(sorted(Comparator)), st.integers(-2, 4)),
        st.builds(compare, REFS, st.sampled_from(sorted(Comparator)), REFS),
        st.builds(lambda null: is_null("a", null=null), st.booleans()),
    ),
    max_size=3,
    unique=True,
)
ASSIGNMENTS = st.one_of(st.builds(SetTo, st.integers(-1, 1)), st.builds(IncrementBy, st.integers(-3, 3)))
OWN_EFFECTS = st.builds(Effect, st.sampled_from("abc"), st.one_of(ASSIGNMENTS, st.builds(Compute, OWN)))
THERE = st.builds(arithmetic, st.sampled_from((A, B, OTHER_X, OTHER_Y)), SYMBOLS, st.sampled_from((OTHER_X, B)))
EFFECTS = st.lists(
    st.one_of(
        OWN_EFFECTS,
        st.builds(Effect, st.sampled_from("xy"), st.one_of(ASSIGNMENTS, st.builds(Compute, THERE)), st.just(NEXT)),
        st.builds(Effect, st.just("x"), ASSIGNMENTS, st.just(ALL)),
    ),
    min_size=1,
    max_size=3,
    unique=True,
)


@settings(max_examples=25, deadline=None)
@given(CONDITIONS, EFFECTS, st.data())
def test_no_fault_of_an_effect_that_is_proven_can_be_told(conditions: list[Condition], effects: list[Effect], data: st.DataObject) -> None:
    right = acting(*effects, conditions=conditions)
    index = data.draw(st.integers(0, len(effects) - 1))
    other = data.draw(
        OWN_EFFECTS
        if isinstance(effects[index].scope, OnThis)
        else st.builds(Effect, st.just(effects[index].target), ASSIGNMENTS, st.just(effects[index].scope))
    )
    for wrong in (without(right, index), turned(right, index, target=other.target, assignment=other.assignment)):
        if proven(right, wrong):
            assert not can_be_told(right, wrong)


@settings(max_examples=25, deadline=None)
@given(CONDITIONS.filter(bool), EFFECTS, CONDITIONS.filter(bool))
def test_no_fault_of_a_condition_that_is_proven_can_be_told(conditions: list[Condition], effects: list[Effect], others: list[Condition]) -> None:
    right = acting(*effects, conditions=conditions)
    for wrong in (attrs.evolve(right, conditions=tuple(conditions[1:])), attrs.evolve(right, conditions=(others[0], *conditions[1:]))):
        if proven(right, wrong):
            assert not can_be_told(right, wrong)


@settings(max_examples=25, deadline=None)
@given(CONDITIONS, st.lists(OWN_EFFECTS, max_size=3))
def test_narrowing_cuts_away_nothing_that_can_be(conditions: list[Condition], effects: list[Effect]) -> None:
    """Where no number is null, every world in which the conditions hold and the results stay inside lies in what is left."""
    fields = {("", field.name): field for field in THING.fields if isinstance(field.type, IntegerType)}
    box = narrowed(Known(fields, frozenset()), [(each, True) for each in conditions], effects)
    for store in worlds():
        this = store["Thing"]["t"]
        if this["a"] is None or store["There"] or store["Item"]:
            continue
        seen = view_of(copied(store))
        if all(is_met(each, seen) for each in conditions):
            run_effects(effects, seen)
            if all(fits(field, seen.this[name]) for (_, name), field in fields.items()):
                assert box is not None
                assert all(this[name] in box[place].values() for place in box for name in place[1:])


def test_narrowing_follows_results_back_to_what_they_are_made_of() -> None:
    fields = {("", name): Field(name, IntegerType(0, 100)) for name in "ab"} | {("", "c"): Field("c", IntegerType())}
    effects = [Effect("c", Compute(arithmetic(A, "*", B))), Effect("b", Compute(arithmetic(B, "+", C)))]
    box = narrowed(Known(fields, frozenset()), [(compare(A, ">", 19), True), (compare(B, "<", 2), False)], effects)
    assert box is not None
    assert [(box["", name].low, box["", name].high) for name in "ab"] == [(20, 49), (2, 4)]
    assert narrowed(Known(fields, frozenset()), [(compare(A, ">", 50), True), (compare(B, "<", 2), False)], effects) is None
    assert narrowed(Known(fields, frozenset({("", "d")})), [(compare(FieldRef("d"), "!=", 2), True)], []) is None


def test_a_wrong_operand_of_a_for_each_is_told_on_one_object() -> None:
    right = acting(Effect("x", Compute(arithmetic(OTHER_X, "+", B)), ALL))
    wrong = turned(right, 0, assignment=Compute(arithmetic(OTHER_X, "-", B)))
    assert not proven(right, wrong)
    assert can_be_told(right, wrong)
    zero = attrs.evolve(right, conditions=(compare(B, "==", 0),))
    assert proven(zero, attrs.evolve(zero, effects=wrong.effects))


def test_the_worlds_that_are_tried_hold_what_they_should() -> None:
    every = list(worlds())
    assert len(every) == 5 * 4 * 4 * 13 * 6
    seen = view_of(every[-1])
    assign(seen.store["Item"]["i"], "x", IncrementBy(1), seen)
    assert seen.listed("all")[0]["x"] == 3
    assert isinstance(STATE, State)
