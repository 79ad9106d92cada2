"""A proof says that no client can tell a mutant from the truth: where it says so, running both readings shows no difference, and near misses are not proven."""

import itertools
from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Comparator,
    Comparison,
    Compute,
    Count,
    Effect,
    FieldRef,
    IncrementBy,
    Literal,
    NullCheck,
    OnEach,
    OnReference,
    Quantified,
    Quantifier,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.mutants import nulls, proofs
from stamina.rest.schema import Action, Entity, EnumType, Field, FloatType, IntegerType, ReferenceListType, ReferenceType
from stamina.rest.semantics import Store, View, arithmetic, is_met, perform, refusal, view

ACTION = Action("act", "state", ("on",), "off")
ENTITY = Entity(
    "Thing",
    (
        Field("state", EnumType("ThingState", ("on", "off")), nullable=True),
        Field("a", IntegerType(), nullable=True),
        Field("b", IntegerType(), nullable=True),
        Field("c", IntegerType(), nullable=True),
        Field("next", ReferenceType("Thing"), required=False, nullable=True),
        Field("all", ReferenceListType("Thing"), required=False),
    ),
)
A_IS_NULL, A_IS_SET = NullCheck(FieldRef("a"), is_null=True), NullCheck(FieldRef("a"), is_null=False)
ADD = ArithmeticOperator.ADD
SUM_OF_A_AND_B = Compute(Arithmetic(FieldRef("a"), ArithmeticOperator.ADD, FieldRef("b")))


def acting(*effects: Effect, conditions: tuple[object, ...] = ()) -> Action:
    return attrs.evolve(ACTION, effects=effects, conditions=conditions)


B_IS_SET = NullCheck(FieldRef("b"), is_null=False)
ITEM_A = FieldRef("a", Subject.OTHER)
ITEMS_LACK_A = Quantified(Quantifier.ALL, "all", NullCheck(ITEM_A, is_null=True))
ITEMS_HAVE_A = Quantified(Quantifier.ALL, "all", NullCheck(ITEM_A, is_null=False))
ITEM_A_TO_C = Effect("c", Compute(Arithmetic(FieldRef("b"), ArithmeticOperator.ADD, ITEM_A)), OnEach("all"))


def outcomes(action: Action) -> Iterator[object]:
    """What the action makes of every small store: two objects with a few values each, referring to each other, to themselves or to nothing."""
    for state, a, b, c, name, names in itertools.product(("on", "off", None), (None, 3), (None, 4), (None, 0, 5), (None, "x", "y"), ([], ["x"], ["y", "x"])):
        this = {"id": "x", "state": state, "a": a, "b": b, "c": c, "next": name, "all": names}
        store: Store = {"Thing": {"x": this, "y": {"id": "y", "state": "on", "a": 7, "b": c, "c": a, "next": "x", "all": ["x"]}}}
        seen = view(this, store, ENTITY)
        reason = refusal(action, seen)
        if reason is None:
            perform(action, seen)
        yield reason, store


def same(one: Action, other: Action) -> bool:
    return all(left == right for left, right in zip(outcomes(one), outcomes(other), strict=True))


NO_TRACE = {
    "a reference that must be null": acting(Effect("b", SetTo(1), OnReference("next")), conditions=(NullCheck(FieldRef("next"), is_null=True),)),
    "the enum field, which the transition overrules": acting(Effect("state", SetTo("on"))),
    "what the next effect overwrites": acting(Effect("b", SetTo(1)), Effect("b", SetTo(2))),
    "what a computation overwrites": acting(Effect("c", SetTo(1)), Effect("c", SUM_OF_A_AND_B), conditions=(A_IS_SET, NullCheck(FieldRef("b"), is_null=False))),
}


@pytest.mark.parametrize("action", NO_TRACE.values(), ids=NO_TRACE)
def test_an_effect_without_trace_may_as_well_be_left_out(action: Action) -> None:
    assert proofs.effect_without_trace(action, 0)
    assert same(action, attrs.evolve(action, effects=action.effects[1:]))


TRACE = {
    "a reference that may be null": acting(Effect("b", SetTo(1), OnReference("next"))),
    "what an effect in between reads": acting(Effect("b", SetTo(1)), Effect("a", IncrementBy(1)), Effect("c", SUM_OF_A_AND_B), Effect("b", SetTo(2))),
    "what a computation may leave as it is": acting(Effect("c", SetTo(1)), Effect("c", SUM_OF_A_AND_B)),
    "what is written on other objects": acting(Effect("b", SetTo(1)), Effect("b", SetTo(2), OnReference("next"))),
    "what an increment builds on": acting(Effect("b", SetTo(1)), Effect("b", IncrementBy(2))),
    "the reference through which the next one writes": acting(Effect("next", SetTo(None)), Effect("b", SetTo(2), OnReference("next"))),
}


@pytest.mark.parametrize("action", TRACE.values(), ids=TRACE)
def test_an_effect_that_shows_is_not_proven_traceless(action: Action) -> None:
    assert proofs.effect_without_trace(action, 0) == ""
    assert not same(action, attrs.evolve(action, effects=action.effects[1:]))


NO_FORCE = {
    "an increment of null": acting(Effect("a", IncrementBy(1)), conditions=(A_IS_NULL,)),
    "arithmetic with null": acting(Effect("c", SUM_OF_A_AND_B), conditions=(A_IS_NULL,)),
    "the value that the conditions ask for": acting(Effect("b", SetTo(4)), conditions=(Comparison(FieldRef("b"), Comparator.EQ, Literal(4)),)),
    "null where the conditions ask for null": acting(Effect("a", SetTo(None)), conditions=(A_IS_NULL,)),
    "an increment of what is null in every object of a list": acting(Effect("a", IncrementBy(1), OnEach("all")), conditions=(ITEMS_LACK_A,)),
    "arithmetic with what is null in every object of a list": acting(ITEM_A_TO_C, conditions=(ITEMS_LACK_A,)),
    "null in objects that the conditions ask to hold null": acting(Effect("a", SetTo(None), OnEach("all")), conditions=(ITEMS_LACK_A,)),
}


@pytest.mark.parametrize("action", NO_FORCE.values(), ids=NO_FORCE)
def test_an_effect_without_force_changes_nothing(action: Action) -> None:
    assert proofs.effect_without_force(action, 0)
    assert same(action, attrs.evolve(action, effects=()))


FORCE_BEHIND_ANOTHER = {
    "what was cleared in the same objects": (Effect("a", SetTo(None), OnEach("all")), ITEM_A_TO_C, True),
    "what was cleared in another object": (Effect("a", SetTo(None), OnReference("next")), ITEM_A_TO_C, False),
    "what was cleared in the acting object": (Effect("a", SetTo(None)), ITEM_A_TO_C, False),
    "another field of the same objects": (Effect("c", SetTo(None), OnEach("all")), ITEM_A_TO_C, False),
}


@pytest.mark.parametrize(("before", "effect", "idle"), FORCE_BEHIND_ANOTHER.values(), ids=FORCE_BEHIND_ANOTHER)
def test_an_effect_has_no_force_on_objects_that_an_earlier_one_has_cleared(before: Effect, effect: Effect, *, idle: bool) -> None:
    action = acting(before, effect)
    assert bool(proofs.effect_without_force(action, 1)) is idle
    assert same(action, acting(before)) is idle


def test_what_was_null_in_a_list_is_not_known_once_anything_of_that_name_is_written() -> None:
    """The list may hold the acting object."""
    for writes in (Effect("a", SetTo(5)), Effect("a", SetTo(5), OnReference("next")), Effect("a", Compute(Arithmetic(FieldRef("b"), ADD, FieldRef("c"))))):
        action = acting(writes, ITEM_A_TO_C, conditions=(ITEMS_LACK_A,))
        assert proofs.effect_without_force(action, 1) == ""
        assert not same(action, acting(writes, conditions=action.conditions))
    nothing = Effect("a", SUM_OF_A_AND_B)
    assert proofs.effect_without_force(acting(nothing, Effect("a", IncrementBy(1)), conditions=(A_IS_NULL,)), 1), "with a null operand it writes nothing"


def test_what_every_object_of_a_list_is_asked_to_hold_is_not_null_there() -> None:
    place, more = (OnEach("all"), "a"), Comparison(ITEM_A, Comparator.LT, FieldRef("b", Subject.OTHER))
    for condition in (ITEMS_HAVE_A, Quantified(Quantifier.ALL, "all", more)):
        assert place in nulls.set_places(acting(conditions=(condition,)), 0)
        assert place not in nulls.set_places(acting(Effect("a", SetTo(None)), conditions=(condition,)), 1)
    assert place not in nulls.set_places(acting(conditions=(Quantified(Quantifier.ANY, "all", more),)), 0)
    assert nulls.set_places(acting(conditions=(ITEMS_LACK_A,)), 0) == frozenset()
    assert nulls.as_words(place) == "a of this.all"


def test_actions_are_the_same_when_what_changes_nothing_is_left_out_of_both() -> None:
    clears, adds = Effect("a", SetTo(None)), Effect("a", IncrementBy(2))
    one, other = acting(adds, clears), acting(clears, adds)
    assert proofs.same_when_reduced(one, other)
    assert same(one, other)
    assert proofs.same_when_reduced(one, acting(clears))
    for wrong in (acting(adds), acting(clears, Effect("a", SetTo(3))), attrs.evolve(other, to_value="on"), attrs.evolve(other, conditions=(A_IS_NULL,))):
        assert proofs.same_when_reduced(one, wrong) == ""
        assert not same(one, wrong)
    assert proofs.same_when_reduced(one, one), "and nothing else"


def test_any_and_all_of_exactly_one_object_are_the_same() -> None:
    one, some = Comparison(Count("all"), Comparator.EQ, Literal(1)), Quantified(Quantifier.ANY, "all", NullCheck(ITEM_A, is_null=True))
    action = acting(conditions=(one, ITEMS_HAVE_A))
    assert proofs.exactly_one(action, 1)
    assert same(action, attrs.evolve(action, conditions=(one, attrs.evolve(ITEMS_HAVE_A, quantifier=Quantifier.ANY))))
    for count in (Comparison(Count("all"), Comparator.LE, Literal(1)), Comparison(Count("all"), Comparator.GE, Literal(1))):
        assert proofs.exactly_one(acting(conditions=(count, ITEMS_HAVE_A)), 1) == ""
    assert proofs.exactly_one(acting(conditions=(some, Comparison(Count("all"), Comparator.LE, Literal(1)))), 0) == "", "it asks for the object itself"


NOT_SEVEN = Quantified(Quantifier.ALL, "all", Comparison(ITEM_A, Comparator.NE, Literal(7)))


@pytest.mark.parametrize(
    ("others", "meets"),
    [
        ((NOT_SEVEN,), True),
        ((ITEMS_HAVE_A,), True),
        ((attrs.evolve(NOT_SEVEN, quantifier=Quantifier.ANY),), False),
        ((Quantified(Quantifier.ALL, "all", Comparison(FieldRef("c", Subject.OTHER), Comparator.NE, Literal(7))),), False),
        ((), False),
    ],
)
def test_where_others_ask_it_of_every_object_it_does_not_matter_which_is_looked_at(others: tuple[Quantified, ...], *, meets: bool) -> None:
    any_has_a = attrs.evolve(ITEMS_HAVE_A, quantifier=Quantifier.ANY)
    action = acting(conditions=(any_has_a, *others))
    assert bool(proofs.each_meets(action, 0)) is meets
    agree = True
    for _, store in outcomes(acting()):
        seen = view(store["Thing"]["x"], store, ENTITY)  # type: ignore[index]
        first = View({**seen.this, "all": seen.this["all"][:1]}, seen.store, seen.targets)
        if all(is_met(each, seen) for each in others):
            agree &= is_met(any_has_a, seen) is is_met(any_has_a, first)
    assert agree or not meets
    assert proofs.any_is_all(action, 0) == "", "of an empty list"
    there = attrs.evolve(action, conditions=(*action.conditions, Comparison(Count("all"), Comparator.GE, Literal(1))))
    assert bool(proofs.any_is_all(there, 0)) is meets
    assert same(there, attrs.evolve(there, conditions=(ITEMS_HAVE_A, *there.conditions[1:]))) or not meets


STATE_OF_ITEM = FieldRef("state", Subject.OTHER)


@pytest.mark.parametrize(
    ("conditions", "never"),
    [
        ((Quantified(Quantifier.ALL, "all", Comparison(STATE_OF_ITEM, Comparator.EQ, Literal("off"))),), True),
        ((Quantified(Quantifier.ALL, "all", Comparison(STATE_OF_ITEM, Comparator.NE, Literal("off"))),), False),
        ((Quantified(Quantifier.ANY, "all", Comparison(STATE_OF_ITEM, Comparator.EQ, Literal("on"))),), False),
        ((ITEMS_HAVE_A, A_IS_NULL), True),
        ((ITEMS_HAVE_A, A_IS_SET), False),
        ((Comparison(FieldRef("a"), Comparator.EQ, Literal(3)), Quantified(Quantifier.ALL, "all", Comparison(ITEM_A, Comparator.GT, Literal(3)))), True),
        ((Comparison(FieldRef("a"), Comparator.EQ, Literal(3)), Quantified(Quantifier.ALL, "all", Comparison(ITEM_A, Comparator.GE, Literal(3)))), False),
    ],
)
def test_a_list_never_leads_back_where_the_acting_object_cannot_be_what_it_asks_for(conditions: tuple[object, ...], *, never: bool) -> None:
    action = acting(conditions=conditions)
    assert bool(proofs.never_leads_back(action, "all")) is never
    taken = [store["Thing"]["x"] for reason, store in outcomes(action) if reason is None]  # type: ignore[index]
    assert any("x" in this["all"] for this in taken) is not never
    assert proofs.never_leads_back(action, "others") == ""


def test_an_effect_keeps_its_force_when_an_earlier_one_fills_what_was_null() -> None:
    action = acting(Effect("a", SetTo(2)), Effect("a", IncrementBy(1)), conditions=(A_IS_NULL,))
    assert proofs.effect_without_force(action, 1) == ""
    assert not same(action, attrs.evolve(action, effects=action.effects[:1]))


def test_an_effect_keeps_its_force_when_a_reference_may_lead_back() -> None:
    """Setting ``a`` on the referenced object may set it on the acting one."""
    action = acting(Effect("a", SetTo(2), OnReference("next")), Effect("a", IncrementBy(1)), conditions=(A_IS_NULL,))
    assert proofs.effect_without_force(action, 1) == ""


ONE, TWO = Effect("b", SetTo(1)), Effect("c", IncrementBy(2))
READS_B = Effect("c", SUM_OF_A_AND_B)
COMMUTING = {
    "fields that have nothing to do with each other": (ONE, TWO),
    "increments of one field": (Effect("c", IncrementBy(1)), TWO),
    "increments of one field that meet on one object": (Effect("c", IncrementBy(1), OnEach("all")), TWO),
    "other fields of other objects": (Effect("b", SetTo(1), OnReference("next")), TWO),
}
CLASHING = {
    "what the other reads": (ONE, READS_B),
    "what the other writes": (ONE, Effect("b", SetTo(2))),
    "what the other writes, perhaps on one object": (ONE, Effect("b", SetTo(2), OnReference("next"))),
    "the list that the other goes through": (Effect("all", SetTo(())), Effect("c", IncrementBy(2), OnEach("all"))),
}


@pytest.mark.parametrize("effects", COMMUTING.values(), ids=COMMUTING)
def test_effects_that_commute_may_change_places(effects: tuple[Effect, Effect]) -> None:
    assert proofs.same_but_for_order(acting(*effects), acting(*reversed(effects))) == proofs.COMMUTING
    assert same(acting(*effects), acting(*reversed(effects)))


@pytest.mark.parametrize("effects", CLASHING.values(), ids=CLASHING)
def test_effects_that_clash_may_not(effects: tuple[Effect, Effect]) -> None:
    assert proofs.same_but_for_order(acting(*effects), acting(*reversed(effects))) == ""
    assert not same(acting(*effects), acting(*reversed(effects)))


def test_conditions_may_change_places_and_nothing_else_may_differ() -> None:
    one, other = acting(ONE, conditions=(A_IS_SET, NullCheck(FieldRef("b"), is_null=True))), acting(ONE, conditions=(A_IS_SET,))
    assert proofs.same_but_for_order(one, attrs.evolve(one, conditions=one.conditions[::-1])) == proofs.ANY_ORDER
    assert proofs.same_but_for_order(one, other) == ""
    assert proofs.same_but_for_order(one, attrs.evolve(one, to_value="on")) == ""


@pytest.mark.parametrize(
    ("conditions", "from_values", "nullable", "hidden"),
    [
        ((), ("on",), False, True),
        ((), ("on",), True, False),
        ((A_IS_SET,), ("on",), False, False),
        ((A_IS_SET,), ("off",), False, False),
        ((), (), False, False),
    ],
)
def test_a_transition_on_refusal_is_hidden_where_every_refusal_is_at_the_target(
    conditions: tuple[object, ...], from_values: tuple[str, ...], *, nullable: bool, hidden: bool
) -> None:
    entity = attrs.evolve(ENTITY, fields=(attrs.evolve(ENTITY.fields[0], nullable=nullable), *ENTITY.fields[1:]))
    action = attrs.evolve(ACTION, from_values=from_values, conditions=conditions)
    assert bool(proofs.only_refused_at_target(entity, action)) is hidden


def test_an_action_is_never_refused_where_it_starts_everywhere_and_asks_nothing() -> None:
    entity = attrs.evolve(ENTITY, fields=(attrs.evolve(ENTITY.fields[0], nullable=False), *ENTITY.fields[1:]))
    everywhere = attrs.evolve(ACTION, from_values=("on", "off"))
    assert proofs.never_refused(entity, everywhere)
    assert not proofs.never_refused(ENTITY, everywhere)
    assert not proofs.never_refused(entity, ACTION)
    assert not proofs.never_refused(entity, attrs.evolve(everywhere, conditions=(A_IS_SET,)))


@pytest.mark.parametrize(
    ("condition", "never"),
    [
        (Quantified(Quantifier.ANY, "all", A_IS_SET), True),
        (Quantified(Quantifier.ALL, "all", A_IS_SET), False),
        (Comparison(Count("all"), Comparator.GE, Literal(1)), True),
        (Comparison(Count("all"), Comparator.LT, Literal(1)), False),
        (Comparison(Sum("all", "a"), Comparator.GT, Literal(0)), True),
        (Comparison(Sum("all", "a"), Comparator.GE, Literal(0)), False),
        (Comparison(Count("others"), Comparator.GE, Literal(1)), False),
    ],
)
def test_a_list_is_never_empty_where_a_condition_would_not_hold(condition: object, *, never: bool) -> None:
    assert bool(proofs.never_empty(acting(conditions=(condition,)), "all")) is never


def test_what_is_compared_is_not_null_until_an_effect_clears_it() -> None:
    action = acting(Effect("a", SetTo(None)), Effect("b", SetTo(1)), conditions=(Comparison(FieldRef("a"), Comparator.NE, Literal(2)),))
    assert [sorted(nulls.never_null(action, index)) for index in (0, 1, 2)] == [["a"], [], ["b"]]
    assert sorted(nulls.always_null(action, 1)) == ["a"]


@pytest.mark.parametrize(
    ("kind", "amount", "never"),
    [
        (FloatType(9.75, 10.0), 1.5, True),
        (FloatType(9.75, 11.25), 1.5, False),
        (FloatType(9.75, 11.25), -1.5, False),
        (IntegerType(0, 3), -4, True),
        (IntegerType(0, None), 4, False),
        (IntegerType(None, 3), 4, False),
    ],
)
def test_an_increment_that_leaves_the_bounds_from_everywhere_writes_nothing(kind: IntegerType | FloatType, amount: float, *, never: bool) -> None:
    field = Field("b", kind, nullable=True)
    assert bool(proofs.unwritable(field, Effect("b", IncrementBy(amount)), ())) is never
    assert proofs.unwritable(field, Effect("b", SetTo(10.0)), ()) == ""


@given(*[st.tuples(st.integers(-4, 4), st.integers(0, 3))] * 3, st.sampled_from(sorted(ArithmeticOperator)))
def test_arithmetic_is_proven_idle_only_where_no_values_lead_inside(
    target: tuple[int, int], one: tuple[int, int], two: tuple[int, int], symbol: ArithmeticOperator
) -> None:
    ranges = [range(low, low + size + 1) for low, size in (target, one, two)]
    kinds = [Field(name, IntegerType(each[0], each[-1])) for name, each in zip("cab", ranges, strict=True)]
    effect = Effect("c", Compute(Arithmetic(FieldRef("a"), symbol, FieldRef("b"))))
    reached = any(arithmetic(left, symbol, right) in ranges[0] for left in ranges[1] for right in ranges[2])
    proven = bool(proofs.unwritable(kinds[0], effect, tuple(kinds[1:])))
    assert not (proven and reached)
    if symbol is not ArithmeticOperator.MULTIPLY:
        assert proven is not reached


def test_bounds_may_keep_two_numbers_apart() -> None:
    low, high, wide = Field("a", IntegerType(None, 0)), Field("b", IntegerType(1, 9)), Field("c", FloatType(0.5, 1.0))
    assert proofs.apart(low, high)
    assert proofs.apart(high, low)
    assert proofs.apart(wide, low)
    assert proofs.apart(wide, high) == ""


def test_other_conditions_may_keep_two_sides_apart_and_lists_short() -> None:
    a, b = FieldRef("a"), FieldRef("b")
    action = acting(conditions=(Comparison(a, Comparator.GE, b), Comparison(b, Comparator.NE, a), Comparison(Count("all"), Comparator.LT, Literal(2))))
    assert proofs.never_equal(action, 0)
    assert proofs.never_equal(action, 2) == ""
    assert proofs.never_equal(attrs.evolve(action, conditions=action.conditions[:1]), 0) == ""
    assert proofs.at_most_one(action, "all")
    assert proofs.at_most_one(action, "others") == ""
    assert proofs.at_most_one(acting(conditions=(Comparison(Count("all"), Comparator.NE, Literal(2)),)), "all") == ""


HALF = Effect("c", IncrementBy(2), OnReference("next"))
OVERWRITTEN_IN_STEPS = {
    "an increment in between": acting(Effect("b", SetTo(1)), Effect("b", IncrementBy(2)), Effect("b", SetTo(9))),
    "another field that is overwritten too": acting(
        Effect("b", SetTo(1)), Effect("c", SUM_OF_A_AND_B), Effect("c", SetTo(1)), Effect("b", SetTo(9)), conditions=(A_IS_SET,)
    ),
    "the same through a reference": acting(*(Effect("b", each, OnReference("next")) for each in (SetTo(1), IncrementBy(1), SetTo(2)))),
}
NOT_OVERWRITTEN = {
    "what a field keeps that is not overwritten": acting(Effect("b", SetTo(1)), Effect("c", SUM_OF_A_AND_B), Effect("b", SetTo(9)), conditions=(A_IS_SET,)),
    "what is read by what overwrites": acting(Effect("c", SetTo(1)), Effect("c", Compute(Arithmetic(FieldRef("a"), ArithmeticOperator.ADD, FieldRef("c"))))),
    "what another object may have read": acting(Effect("c", SetTo(1)), HALF, Effect("c", SetTo(5))),
}


@pytest.mark.parametrize("action", OVERWRITTEN_IN_STEPS.values(), ids=OVERWRITTEN_IN_STEPS)
def test_what_is_overwritten_in_steps_leaves_no_trace(action: Action) -> None:
    assert proofs.effect_without_trace(action, 0)
    assert same(action, attrs.evolve(action, effects=action.effects[1:]))


@pytest.mark.parametrize("action", NOT_OVERWRITTEN.values(), ids=NOT_OVERWRITTEN)
def test_what_is_read_on_the_way_leaves_one(action: Action) -> None:
    assert proofs.effect_without_trace(action, 0) == ""


@pytest.mark.parametrize("action", list(NOT_OVERWRITTEN.values())[:2], ids=list(NOT_OVERWRITTEN)[:2])
def test_the_trace_of_what_is_read_on_the_way_shows(action: Action) -> None:
    assert not same(action, attrs.evolve(action, effects=action.effects[1:]))


CLEARS = Effect("a", SetTo(None), OnReference("next"))


@pytest.mark.parametrize(
    ("effects", "index", "done"),
    [
        ((Effect("a", SetTo(None)), CLEARS), 1, True),
        ((CLEARS, Effect("a", SetTo(5))), 0, True),
        ((CLEARS, Effect("b", SetTo(5))), 0, False),
        ((Effect("a", SetTo(5)), CLEARS), 1, False),
        ((Effect("a", SetTo(None)), Effect("a", SetTo(4), OnEach("all")), CLEARS), 2, False),
        ((CLEARS, Effect("c", SUM_OF_A_AND_B), Effect("a", SetTo(5))), 0, False),
    ],
)
def test_an_own_effect_makes_up_for_one_that_is_lost_where_a_reference_leads_back(effects: tuple[Effect, ...], index: int, *, done: bool) -> None:
    """In the small worlds, the mutant leaves an effect out exactly where ``next`` is the acting object."""
    action = acting(*effects)
    assert bool(proofs.done_anyway(action, index)) is done
    leads_back = [store for _, store in outcomes(action) if store["Thing"]["x"]["next"] == "x"]  # type: ignore[index]
    without = attrs.evolve(action, effects=(*effects[:index], *effects[index + 1 :]))
    others = [store for _, store in outcomes(without) if store["Thing"]["x"]["next"] == "x"]  # type: ignore[index]
    assert (leads_back == others) is done


@pytest.mark.parametrize(
    ("effects", "cancel"),
    [
        ((Effect("a", IncrementBy(-2)), Effect("a", IncrementBy(2))), True),
        ((Effect("a", IncrementBy(-2)), Effect("b", IncrementBy(2))), False),
        ((Effect("a", IncrementBy(-2)), Effect("a", IncrementBy(2)), Effect("a", IncrementBy(1))), False),
        ((Effect("a", IncrementBy(-2)), Effect("a", SetTo(3)), Effect("a", IncrementBy(2))), False),
        ((Effect("a", IncrementBy(-2)), Effect("a", IncrementBy(2), OnReference("next"))), False),
    ],
)
def test_increments_that_add_up_to_nothing_change_nothing(effects: tuple[Effect, ...], *, cancel: bool) -> None:
    assert bool(proofs.effects_cancel(acting(*effects))) is cancel
    assert same(acting(*effects), acting()) is cancel


def test_arithmetic_with_a_field_that_is_null_writes_nothing_on_any_object() -> None:
    on_others = Effect("c", SUM_OF_A_AND_B, OnReference("next"))
    action = acting(on_others, conditions=(A_IS_NULL,))
    assert proofs.effect_of_null(action, 0)
    assert proofs.effect_without_force(action, 0)
    assert same(action, attrs.evolve(action, effects=()))
    filled = acting(Effect("a", SetTo(1)), on_others, conditions=(A_IS_NULL,))
    assert proofs.effect_of_null(filled, 1) == ""
    assert not same(filled, attrs.evolve(filled, effects=filled.effects[:1]))
    assert proofs.effect_of_null(acting(on_others), 0) == ""
    assert proofs.effect_of_null(acting(Effect("a", IncrementBy(1), OnReference("next")), conditions=(A_IS_NULL,)), 0) == "", "the other object's field"


def test_a_condition_is_implied_where_another_leaves_one_value_that_meets_it() -> None:
    pinned = Comparison(FieldRef("a"), Comparator.EQ, Literal(3))
    action = acting(ONE, conditions=(pinned,))
    for more in (Comparison(FieldRef("a"), Comparator.NE, Literal(4)), Comparison(FieldRef("a"), Comparator.LT, Literal(9)), A_IS_SET):
        longer = attrs.evolve(action, conditions=(more, pinned))
        assert proofs.implied(action, longer)
        assert proofs.implied(longer, action)
        assert same(action, longer)
    for more in (Comparison(FieldRef("a"), Comparator.NE, Literal(3)), Comparison(FieldRef("b"), Comparator.NE, Literal(4)), A_IS_NULL):
        longer = attrs.evolve(action, conditions=(pinned, more))
        assert proofs.implied(action, longer) == ""
        assert not same(action, longer)
    assert proofs.implied(action, acting(TWO, conditions=(pinned,))) == ""
    assert proofs.implied(action, action) == ""
