"""Worlds really do to the ground truth what they promise, through HTTP requests (B4, B5)."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stamina.errors import InvalidState
from stamina.exchange import Request, Response
from stamina.rest import witness
from stamina.rest.expressions import (
    Arithmetic,
    ArithmeticOperator,
    Assignment,
    Comparator,
    Comparison,
    Compute,
    Condition,
    Count,
    Effect,
    FieldRef,
    IncrementBy,
    Literal,
    NullCheck,
    OnEach,
    OnReference,
    OnThis,
    Operand,
    Quantified,
    Quantifier,
    SetTo,
    Subject,
    Sum,
)
from stamina.rest.schema import (
    Action,
    BooleanType,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
    StringType,
)
from stamina.rest.semantics import holds
from stamina.rest.truth import Truth
from stamina.rest.witness import (
    World,
    boundary,
    empty_list,
    exercisable,
    failing_only,
    null_operand,
    null_reference,
    own_reference,
    succeeding,
    wrong_state,
)

ITEM = Entity(
    "Item",
    fields=(
        Field("price", FloatType(minimum=0.25, maximum=60.0)),
        Field("stock", IntegerType(minimum=0, maximum=50), required=False),
        Field("title", StringType(min_length=3, max_length=8)),
        Field("made", DatetimeType(earliest="2020-01-01 00:00:00"), required=False, nullable=True),
        Field("shelf", EnumType("Shelf", ("top", "low"))),
        Field("maker", ReferenceType("Cart"), required=False, nullable=True),
    ),
)
CART = Entity(
    "Cart",
    fields=(
        Field("stage", EnumType("Stage", ("open", "paid", "sent", "lost"))),
        Field("total", FloatType(minimum=0.0, maximum=1000.0), required=False, nullable=True),
        Field("pieces", IntegerType(minimum=0, maximum=100)),
        Field("limit", IntegerType(minimum=-20, maximum=40), required=False),
        Field("score", IntegerType(), nullable=True),
        Field("note", StringType(max_length=6), required=False),
        Field("code", StringType(min_length=2), required=False, default="none"),
        Field("gift", BooleanType()),
        Field("begun", DatetimeType(), required=False),
        Field("ended", DatetimeType(earliest="2021-01-01 00:00:00", latest="2021-12-31 23:59:59"), nullable=True),
        Field("first", ReferenceType("Item"), nullable=True),
        Field("before", ReferenceType("Cart"), required=False, nullable=True),
        Field("items", ReferenceListType("Item"), required=False),
        Field("carts", ReferenceListType("Cart"), required=False),
    ),
)
STATE = State((ITEM, CART))
INTS, FLOATS = ("pieces", "limit", "score"), ("total",)


def act(conditions: tuple[Condition, ...] = (), effects: tuple[Effect, ...] = (), to: str = "paid") -> Action:
    return Action("settle", "stage", ("open", "sent"), to, conditions, effects)


def ref(name: str) -> FieldRef:
    """``total`` is the acting object's, ``.total`` the other's."""
    return FieldRef(name[1:], Subject.OTHER) if name.startswith(".") else FieldRef(name)


def operand(text: str) -> Operand:
    left, *rest = text.split()
    return Arithmetic(ref(left), ArithmeticOperator(rest[0]), ref(rest[1])) if rest else ref(left)


def is_(left: str | Operand, comparator: str, right: str | int | float | bool | FieldRef) -> Comparison:
    return Comparison(operand(left) if isinstance(left, str) else left, Comparator(comparator), right if isinstance(right, FieldRef) else Literal(right))


def some(list_field: str, condition: Comparison | NullCheck) -> Quantified:
    return Quantified(Quantifier.ANY, list_field, condition)


def every(list_field: str, condition: Comparison | NullCheck) -> Quantified:
    return Quantified(Quantifier.ALL, list_field, condition)


def put(target: str, text: str, scope: OnThis | OnReference | OnEach = OnThis()) -> Effect:  # noqa: B008  # a frozen value
    computed = operand(text)
    assert isinstance(computed, Arithmetic)
    return Effect(target, Compute(computed), scope)


class Game:
    """A world set up in the ground truth; free fields get ordinary values that the world knows nothing of."""

    def __init__(self, world: World, action: Action) -> None:
        self.world = world
        self.entity = Entity(CART.name, CART.fields, actions=(action,))
        self.truth = Truth(State((ITEM, self.entity)))
        for each in world.objects:
            free = {name: value for name, value in ORDINARY[each.entity].items() if name not in each.omitted}
            self.send("POST", f"/{each.entity.lower()}", free | each.body(), 201)
        for link in world.links:
            self.send("PATCH", f"/{link.entity.lower()}/{link.id}", link.body(), 200)

    def send(self, method: str, path: str, body: Any, status: int) -> Response:
        response = self.truth.handle(Request(method, path, body))
        assert response.status == status, response.body
        return response

    def act(self) -> int:
        return self.truth.handle(Request("POST", f"/cart/{self.world.acting[1]}/settle")).status

    def store(self) -> dict[str, dict[str, dict[str, Any]]]:
        every = {entity: self.truth.handle(Request("GET", f"/{entity.lower()}")).json for entity in ("Item", "Cart")}
        return {entity: {each["id"]: each for each in objects} for entity, objects in every.items()}

    def conditions(self) -> list[bool]:
        store = self.store()
        this = store["Cart"][self.world.acting[1]]
        return [holds(each, this, store, self.entity) for each in self.entity.actions[0].conditions]


ORDINARY: dict[str, dict[str, Any]] = {
    "Item": {"price": 1.5, "stock": 4, "title": "thing", "made": None, "shelf": "top"},
    "Cart": {
        "stage": "lost",
        "total": 1.0,
        "pieces": 1,
        "limit": 1,
        "score": 1,
        "note": "n",
        "gift": True,
        "begun": "2000-01-01 00:00:00",
        "ended": None,
        "first": None,
    },
}


def check_success(world: World | None, action: Action) -> tuple[Game, dict[str, Any]]:
    """The action succeeds, and every result is one that a PATCH would take; returns the acting object afterwards."""
    assert world is not None
    game = Game(world, action)
    assert all(game.conditions())
    assert game.act() == 200
    for entity, objects in game.store().items():
        for key, stored in objects.items():
            fresh = {name: value for name, value in stored.items() if value is not None}
            game.send("PATCH", f"/{entity.lower()}/{key}", fresh, 200)
    return game, game.store()["Cart"][world.acting[1]]


def check_lone_failure(world: World | None, action: Action, index: int) -> None:
    """Only this condition is unmet, the answer is 409, and nothing changes."""
    assert world is not None
    game = Game(world, action)
    assert [number for number, met in enumerate(game.conditions()) if not met] == [index]
    before = copy.deepcopy(game.store())
    assert game.act() == 409
    assert game.store() == before


WEIGHTY = [
    act((is_("pieces", "==", 37),)),
    act((is_("pieces", "!=", 37),)),
    act((is_("total", ">=", 12.5),)),
    act((is_("pieces + limit", "==", 131),)),
    act((is_("pieces * limit", "==", 3900),)),
    act((is_("pieces * limit", ">", 3900),)),
    act((is_("pieces * score", "==", 1_000_003),)),
    act((is_("pieces - limit", "<", ref("score")), is_("score", "<=", -30))),
    act((is_("pieces - limit", "==", ref("score")), is_("score", "==", -39))),
    act((is_("total", "<", ref("pieces")), is_("pieces", "<=", 1))),
    act((is_("note", "==", "amber"),)),
    act((is_("note", "==", ref("code")),)),
    act((is_("note", "!=", ref("code")), is_("code", "!=", "none"))),
    act((is_("gift", "==", True), is_("gift", "!=", False))[:1]),
    act((is_("begun", "<", ref("ended")), is_("ended", "<=", "2021-01-01 00:00:00"))),
    act((is_("begun", "==", ref("ended")),)),
    act((NullCheck(ref("note"), is_null=True), NullCheck(ref("score"), is_null=False))),
    act((NullCheck(ref("first"), is_null=True),)),
    act((NullCheck(ref("first"), is_null=False),)),
    act((is_(Count("items"), "==", 5),)),
    act((is_(Count("items"), ">=", 1), is_(Count("carts"), "<", 1))),
    act((is_(Sum("items", "price"), ">", 100),)),
    act((is_(Sum("items", "price"), "==", 400.5),)),
    act((is_(Sum("items", "stock"), "<=", 0),)),
    act((some("items", is_(".price", ">", 59.5)),)),
    act((every("items", is_(".price", ">", 59.5)),)),
    act((some("items", is_(".price", ">", 50)), every("items", is_(".price", ">", 10)), is_(Sum("items", "price"), "<", 70))),
    act((some("items", NullCheck(ref(".maker"), is_null=False)), every("items", is_(".price * .stock", ">=", 20)))),
    act((some("items", is_(".shelf", "==", "top")), some("items", is_(".shelf", "==", "low")))),
    act((every("items", is_(".made", ">=", "2024-05-05 05:05:05")),)),
    act((is_("stage", "==", "sent"),)),
    act((), (Effect("pieces", IncrementBy(97)),)),
    act((), (Effect("pieces", IncrementBy(-90)), Effect("pieces", IncrementBy(-5)))),
    act((), (put("pieces", "pieces * limit"),)),
    act((), (put("score", "score * score"), put("score", "score * score"), put("score", "score * pieces"))),
    act((), (put("limit", "pieces - score"), put("limit", "limit + limit"))),
    act((is_("pieces", ">", 90),), (put("limit", "pieces - score"),)),
    act((), (Effect("note", SetTo("gone")), Effect("score", SetTo(None)), Effect("items", SetTo(())), Effect("first", SetTo(None)))),
    act((), (put("stock", ".stock - pieces", OnReference("first")), Effect("price", SetTo(2.5), OnEach("items")))),
    act((is_("pieces", ">=", 45),), (put("stock", ".stock - pieces", OnEach("items")),)),
    act((), (put("pieces", ".pieces + limit", OnReference("before")), put("limit", "limit + pieces"))),
    act((), (Effect("items", SetTo(())), Effect("price", IncrementBy(1.5), OnEach("items")))),
    act((), (Effect("maker", SetTo(None), OnReference("first")), Effect("items", SetTo(()), OnEach("carts")))),
    act((is_("score", "==", 5),), (Effect("score", SetTo(5)), Effect("pieces", IncrementBy(2)))),
]


@pytest.mark.parametrize("action", WEIGHTY)
def test_what_can_be_exercised_is_found(action: Action) -> None:
    """Tight equalities, sums, products, chains of effects and lists: each succeeds, and each condition fails alone."""
    assert exercisable(STATE, CART, action) is None
    _, after = check_success(succeeding(STATE, CART, action), action)
    assert after["stage"] == "paid"
    for index in range(len(action.conditions)):
        check_lone_failure(failing_only(STATE, CART, action, index), action, index)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (act((is_("pieces", ">", 100),)), "let it succeed"),
        (act((is_("pieces", ">", 5), is_("pieces", "<", 6))), "let it succeed"),
        (act((is_(Count("items"), "<", 0),)), "let it succeed"),
        (act((is_("stage", "==", "lost"),)), "let it succeed"),
        (act((some("items", is_(".price", ">", 60)),)), "let it succeed"),
        (act((is_("pieces", ">=", 99),), (Effect("pieces", IncrementBy(2)),)), "let it succeed"),
        (act((), (Effect("pieces", SetTo(101)),)), "let it succeed"),
        (act((), (Effect("pieces", IncrementBy(60)), Effect("pieces", IncrementBy(60)), Effect("pieces", IncrementBy(-110)))), "let it succeed"),
        (act((is_("pieces", ">=", 0),)), "condition 1 fail alone"),
        (act((is_("pieces", ">", 5), is_("pieces", ">", 4))), "condition 2 fail alone"),
    ],
)
def test_what_cannot_be_exercised_is_told(action: Action, reason: str) -> None:
    """The fault names rule B5, the action, and what is missing; intermediate results count."""
    fault = exercisable(STATE, CART, action)
    assert isinstance(fault, InvalidState)
    assert fault.rule == "B5"
    assert reason in fault.reason
    assert fault.reason.startswith("Cart.settle: ")


def test_every_effect_shows() -> None:
    """References lead somewhere, lists have two items with different values, and nothing stays as it was."""
    effects = (
        Effect("note", SetTo("gone")),
        put("score", "pieces - limit"),
        put("stock", ".stock - pieces", OnReference("first")),
        put("price", ".price * .price", OnEach("items")),
        Effect("total", IncrementBy(0.5)),
    )
    action = act((is_("pieces", ">", 3),), effects)
    world = succeeding(STATE, CART, action)
    assert world is not None
    game = Game(world, action)
    before = game.store()
    assert game.act() == 200
    after = game.store()
    cart_before, cart_after = (store["Cart"]["main"] for store in (before, after))
    assert all(cart_before[name] is not None and cart_before[name] != cart_after[name] for name in ("stage", "note", "score", "total"))
    assert len(cart_before["items"]) == len({before["Item"][key]["price"] for key in cart_before["items"]}) == 2
    assert all(before["Item"][key]["price"] != after["Item"][key]["price"] for key in cart_before["items"])
    assert before["Item"][cart_before["first"]]["stock"] != after["Item"][cart_before["first"]]["stock"]
    assert cart_before["first"] not in cart_before["items"]


def test_any_and_all_are_told_apart() -> None:
    """Any succeeds with one item that does not meet the sub-condition; all fails with one that does."""
    positive = is_(".stock", ">", 10)
    lone = succeeding(STATE, CART, act((some("items", positive),)))
    mixed = failing_only(STATE, CART, act((every("items", positive),)), 0)
    for world in (lone, mixed):
        assert world is not None
        stocks = [dict(each.fields)["stock"] for each in world.objects if each.entity == "Item"]
        assert sorted(stock > 10 for stock in stocks) == [False, True]


def test_a_wrong_state_with_all_conditions_met() -> None:
    """The enum field alone stands in the way; null where the field can be null."""
    action = act((is_("pieces", ">", 3),))
    world = wrong_state(STATE, CART, action)
    assert world is not None
    game = Game(world, action)
    assert game.conditions() == [True]
    assert game.act() == 400
    assert wrong_state(STATE, CART, action, null=True) is None


@pytest.mark.parametrize(
    ("condition", "succeeds"),
    [
        (is_("pieces", ">=", 30), [False, True, True]),
        (is_("total", "<", 30.5), [True, False, False]),
        (is_("pieces + limit", "==", ref("score")), [False, True, False]),
        (is_("begun", "<=", ref("ended")), [True, True, False]),
        (is_(Count("items"), "!=", 2), [True, False, True]),
        (is_(Sum("items", "price"), ">", 20), [False, False, True]),
    ],
)
def test_boundaries_are_one_step_wide(condition: Comparison, succeeds: list[bool]) -> None:
    """Below, on and above the edge, in this order."""
    action = act((is_("gift", "==", True), condition))
    trials = boundary(STATE, CART, action, 1)
    assert [trial.succeeds for trial in trials] == succeeds
    assert [Game(trial.world, action).act() == 200 for trial in trials] == succeeds


def test_boundaries_need_an_edge() -> None:
    """Equality of strings and null checks have none; an edge outside the field's range is left out."""
    assert boundary(STATE, CART, act((is_("note", "==", "amber"),)), 0) == ()
    assert boundary(STATE, CART, act((NullCheck(ref("note"), is_null=True),)), 0) == ()
    assert [trial.succeeds for trial in boundary(STATE, CART, act((is_("pieces", "<", 100),)), 0)] == [True, False]


def test_null_operands_fail_alone() -> None:
    """One world for each operand that can be null, by an explicit null or by leaving it out."""
    action = act((is_("pieces", ">", 3), is_("limit", "!=", ref("score"))))
    worlds = null_operand(STATE, CART, action, 1)
    assert len(worlds) == 2
    for world in worlds:
        check_lone_failure(world, action, 1)
    assert null_operand(STATE, CART, action, 0) == ()


def test_empty_lists() -> None:
    """Any fails and all holds over nothing, effects over nothing do nothing."""
    positive = is_(".stock", ">", 10)
    for action, succeeds in (
        (act((some("items", positive),)), False),
        (act((every("items", positive),)), True),
        (act((), (Effect("price", SetTo(2.5), OnEach("items")),)), True),
    ):
        trial = empty_list(STATE, CART, action, "items")
        assert trial is not None
        assert trial.succeeds is succeeds
        assert Game(trial.world, action).act() == (200 if succeeds else 409)


def test_a_null_reference_skips_the_effect() -> None:
    """The action succeeds all the same."""
    action = act((), (put("stock", ".stock - pieces", OnReference("first")), Effect("pieces", IncrementBy(1))))
    _, after = check_success(null_reference(STATE, CART, action, "first"), action)
    assert after["first"] is None


def test_a_reference_to_itself() -> None:
    """Set by a PATCH after creation; both names mean one object (B3)."""
    action = act((), (put("pieces", ".pieces + limit", OnReference("before")), put("limit", "limit + pieces")))
    world = own_reference(STATE, CART, action, "before")
    assert world is not None
    assert [link.field for link in world.links] == ["before"]
    start = dict(world.objects[-1].fields)
    _, after = check_success(world, action)
    assert after["pieces"] == start["pieces"] + start["limit"]
    assert after["limit"] == start["limit"] + after["pieces"]
    assert own_reference(STATE, CART, act((), (Effect("stock", IncrementBy(1), OnReference("first")),)), "first") is None
    looped = act((), (Effect("pieces", IncrementBy(2), OnEach("carts")),))
    check_success(own_reference(STATE, CART, looped, "carts"), looped)


NUMBERS = st.sampled_from(["pieces", "limit", "score", "total"])
OPERANDS = st.one_of(NUMBERS, st.builds("{} {} {}".format, NUMBERS, st.sampled_from("+-*"), NUMBERS))
COMPARATORS = st.sampled_from([each.value for each in Comparator])
ITEM_CONDITIONS = st.one_of(
    st.builds(is_, st.sampled_from([".price", ".stock", ".price * .stock"]), COMPARATORS, st.integers(-5, 200)),
    st.builds(NullCheck, st.sampled_from([ref(".made"), ref(".stock"), ref(".maker")]), is_null=st.booleans()),
)
CONDITIONS: st.SearchStrategy[Condition] = st.one_of(
    st.builds(is_, OPERANDS, COMPARATORS, st.one_of(st.integers(-50, 3000), NUMBERS.map(ref))),
    st.builds(is_, st.sampled_from([Count("items"), Count("carts")]), COMPARATORS, st.integers(0, 5)),
    st.builds(is_, st.just(Sum("items", "price")), COMPARATORS, st.integers(0, 300)),
    st.builds(is_, st.sampled_from(["note", "code"]), st.sampled_from(["==", "!="]), st.sampled_from(["amber", "oak", ref("note")])),
    st.builds(NullCheck, st.sampled_from([ref("note"), ref("first"), ref("before"), ref("score")]), is_null=st.booleans()),
    st.builds(Quantified, st.sampled_from(Quantifier), st.just("items"), ITEM_CONDITIONS),
)
INTEGER_FORMULAS = st.builds("{} {} {}".format, st.sampled_from(INTS), st.sampled_from("+-*"), st.sampled_from(INTS))
ASSIGNMENTS: st.SearchStrategy[Assignment] = st.one_of(st.builds(IncrementBy, st.integers(-30, 30)), st.builds(SetTo, st.integers(0, 40)))
EFFECTS: st.SearchStrategy[Effect] = st.one_of(
    st.builds(Effect, st.sampled_from([*INTS, *FLOATS]), ASSIGNMENTS),
    st.builds(put, st.sampled_from([*INTS, *FLOATS]), INTEGER_FORMULAS),
    st.builds(put, st.just("stock"), st.sampled_from([".stock - pieces", "limit + .stock"]), st.sampled_from([OnReference("first"), OnEach("items")])),
    st.builds(put, st.just("pieces"), st.sampled_from([".pieces - limit", "score * .limit"]), st.just(OnReference("before"))),
    st.sampled_from([Effect("items", SetTo(())), Effect("first", SetTo(None)), Effect("note", SetTo("gone"))]),
)
ACTIONS = st.builds(
    act,
    st.lists(CONDITIONS, max_size=3, unique=True).map(tuple),
    st.lists(EFFECTS, max_size=3, unique=True).map(tuple),
    st.sampled_from(["open", "paid", "lost"]),
)


@settings(max_examples=150, deadline=None)
@given(ACTIONS)
def test_worlds_keep_their_promise(action: Action) -> None:
    """Whatever the action: a world that is found does what it was found for."""
    world = succeeding(STATE, CART, action)
    if world is not None:
        _, after = check_success(world, action)
        assert after["stage"] == action.to_value
    for index in range(len(action.conditions)):
        lone = failing_only(STATE, CART, action, index)
        if lone is not None:
            check_lone_failure(lone, action, index)


@pytest.mark.parametrize("operator", [ArithmeticOperator.ADD, ArithmeticOperator.MULTIPLY])
def test_a_float_beside_an_integer_is_solved_for_when_the_integer_has_a_value(operator: ArithmeticOperator) -> None:
    """No ordinary float comes to the literal with any integer, so the float has to follow the integer; a quick look in another order must not give up."""
    fields = (Field("volume", FloatType(None, 2.5)), Field("age", IntegerType(10, 990)), Field("state", EnumType("ThingState", ("on", "off"))))
    right = Comparison(Arithmetic(FieldRef("volume"), ArithmeticOperator.SUBTRACT, FieldRef("age")), Comparator.NE, Literal(7.125))
    wrong = Comparison(Arithmetic(FieldRef("volume"), operator, FieldRef("age")), Comparator.NE, Literal(7.125))
    opposite = Comparison(wrong.left, Comparator.EQ, wrong.right)
    entity = Entity("Thing", fields, actions=(Action("act", "state", ("on",), "off", (right,)),))
    world = witness.telling(State((entity,)), entity, entity.actions[0], 0, wrong, opposite)
    assert world is not None
    values = dict(world.objects[0].body())
    assert {ArithmeticOperator.ADD: values["volume"] + values["age"], ArithmeticOperator.MULTIPLY: values["volume"] * values["age"]}[operator] == 7.125
