"""Every rule of a state is told when it is broken (S2-S9, B2, B3, B5, D5)."""

from typing import Any

import attrs
import pytest

from stamina.errors import InvalidState
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
    Sum,
)
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    RetiredSegment,
    State,
    StringType,
)
from stamina.rest.validate import check, problems
from tests.rest.library import BOOK, LEND, LIBRARY, OTHER, READER, with_action, with_entity


def rules(state: State) -> list[str]:
    return [problem.rule for problem in problems(state)]


def with_condition(condition: Any) -> State:
    return with_action(conditions=(condition,))


def with_effect(effect: Effect) -> State:
    return with_action(effects=(effect,), conditions=())


def added(entity: Entity, field: Field) -> State:
    return with_entity(entity, fields=(*entity.fields, field))


def compared(field: str, comparator: Comparator, value: Any) -> Comparison:
    return Comparison(FieldRef(field), comparator, Literal(value))


def test_the_library_is_valid() -> None:
    """The state that the other tests break has nothing wrong with it."""
    assert problems(LIBRARY) == []
    check(LIBRARY)


def test_check_raises_the_first_problem() -> None:
    """``check`` says rule and reason of the first problem."""
    with pytest.raises(InvalidState, match="'class' is a reserved name") as caught:
        check(added(BOOK, Field("class", StringType())))
    assert caught.value.rule == "S5"


@pytest.mark.parametrize(
    "name",
    ["id", "this", "item", "constructor", "model_year", "lambda", "function", "impl", "chan", "Title", "two__parts", "_x", "9lives", "", "käse"],
)
def test_a_name_that_may_not_be(name: str) -> None:
    """Reserved words, keywords of four languages and what is not snake_case are refused for fields, actions and enum values alike (S5)."""
    assert "S5" in rules(added(BOOK, Field(name, StringType())))
    assert "S5" in rules(with_entity(READER, actions=(*READER.actions, Action(name, "status", ("busy",), "gone"))))
    assert "S5" in rules(added(BOOK, Field("mood", EnumType("Mood", ("calm", name)))))


@pytest.mark.parametrize("name", ["Analytics", "Health", "reader", "Two_Parts", "Self", "Shelf", "Book", "ReaderStatus", "SHELF"])
def test_an_entity_name_that_may_not_be(name: str) -> None:
    """Reserved and freed segments, names of entities and of enum types, and what is not PascalCase are refused for an entity (S5)."""
    assert "S5" in rules(attrs.evolve(LIBRARY, entities=(*LIBRARY.entities, Entity(name, ()))))


@pytest.mark.parametrize(
    "state",
    [
        added(BOOK, Field("title", StringType())),
        added(BOOK, Field("heading", StringType())),
        added(BOOK, Field("mood", EnumType("ReaderStatus", ("one", "two")))),
        added(BOOK, Field("mood", EnumType("Reader", ("one", "two")))),
        added(BOOK, Field("mood", EnumType("Mood", ("one", "two", "one")))),
        with_entity(BOOK, analytics=(*BOOK.analytics, BOOK.analytics[0])),
        with_entity(BOOK, analytics=(*BOOK.analytics, Analytics(AnalyticsOperation.SUM, "pages"))),
        with_entity(READER, actions=(LEND, LEND)),
        attrs.evolve(LIBRARY, retired=(*LIBRARY.retired, RetiredSegment("book"))),
    ],
)
def test_a_name_that_is_taken_or_freed(state: State) -> None:
    """Nothing has the name of another of its kind, nor one that was freed (S5)."""
    assert "S5" in rules(state)


def test_a_freed_action_name_stays_free_of_actions() -> None:
    """The name of a removed action is not used again by its owner."""
    book = with_entity(BOOK, fields=(*BOOK.fields, Field("mood", EnumType("Mood", ("one", "two")))), actions=(Action("shred", "mood", ("one",), "two"),))
    assert rules(book) == ["S5"]


@pytest.mark.parametrize(
    "kind",
    [
        StringType(min_length=-1),
        StringType(5, 4),
        StringType(max_length=0),
        IntegerType(1, 2),
        IntegerType(maximum=2**31),
        FloatType(0.0, 1 / 1024),
        FloatType(minimum=0.1),
        FloatType(minimum=float("nan")),
        FloatType(maximum=float("inf")),
        FloatType(maximum=2.0**30),
        DatetimeType("2020-02-30 00:00:00"),
        DatetimeType("2020-02-03T00:00:00"),
        DatetimeType("2020-01-01 00:00:00", "2020-01-01 00:00:01"),
        EnumType("Mood", ("calm",)),
        ReferenceType("Nobody"),
        ReferenceListType("Nobody"),
    ],
)
def test_a_type_that_makes_no_sense(kind: FieldType) -> None:
    """Bounds are well formed and leave at least three values; references lead somewhere (S3, D5, V2, V8)."""
    is_list = isinstance(kind, ReferenceListType)
    assert rules(added(BOOK, Field("extra", kind, required=False, nullable=not is_list))) == ["S3"]


@pytest.mark.parametrize(
    "kind",
    [StringType(0, 1), StringType(4, 4), IntegerType(1, 3), FloatType(0.0, 2 / 1024), DatetimeType("2020-01-01 00:00:00", "2020-01-01 00:00:02")],
)
def test_bounds_that_leave_three_values(kind: FieldType) -> None:
    """The narrowest bounds that are still right."""
    assert problems(added(BOOK, Field("extra", kind))) == []


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (StringType(3, 5), "ab"),
        (StringType(3, 5), "abcdef"),
        (StringType(), "käse"),
        (StringType(), 5),
        (IntegerType(3, 9), 2),
        (IntegerType(3, 9), 10),
        (IntegerType(), True),
        (IntegerType(), 1.0),
        (FloatType(), 1),
        (FloatType(), 0.1),
        (FloatType(1.0, 3.0), 3.5),
        (DatetimeType(latest="2020-01-01 00:00:00"), "2021-01-01 00:00:00"),
        (DatetimeType(), "2021-02-29 00:00:00"),
        (EnumType("Mood", ("calm", "wild")), "Calm"),
    ],
)
def test_a_default_outside_its_field(kind: FieldType, default: Any) -> None:
    """A default is a value of its field, inside all constraints (S3)."""
    assert rules(added(BOOK, Field("extra", kind, default=default))) == ["S3"]


@pytest.mark.parametrize(
    "field",
    [
        Field("extra", ReferenceType("Book"), nullable=False),
        Field("extra", ReferenceType("Book"), nullable=True, default="b1"),
        Field("extra", ReferenceListType("Book"), required=True),
        Field("extra", ReferenceListType("Book"), required=False, nullable=True),
        Field("extra", ReferenceListType("Book"), required=False, default="b1"),
    ],
)
def test_a_reference_with_what_it_cannot_have(field: Field) -> None:
    """Single references are nullable and have no default; lists are neither required nor nullable and have no other default than [] (S3)."""
    assert rules(added(BOOK, field)) == ["S3"]


@pytest.mark.parametrize(
    "analytics",
    [
        Analytics(AnalyticsOperation.AVG),
        Analytics(AnalyticsOperation.AVG, "title"),
        Analytics(AnalyticsOperation.AVG, "nothing"),
        Analytics(AnalyticsOperation.COUNT, "pages"),
    ],
)
def test_analytics_over_what_is_not_numeric(analytics: Analytics) -> None:
    """Analytics are over numeric fields, count over none (A1)."""
    assert rules(with_entity(BOOK, analytics=(analytics,))) == ["A1"]


@pytest.mark.parametrize(
    "changes",
    [
        {"enum_field": "level"},
        {"enum_field": "nothing"},
        {"from_values": ()},
        {"from_values": ("idle", "idle")},
        {"from_values": ("asleep",)},
        {"to_value": "asleep"},
    ],
)
def test_a_transition_that_is_none(changes: dict[str, Any]) -> None:
    """An action moves an enum field of its entity from some of its values to one of them (B1)."""
    assert "B1" in rules(with_action(**changes))


@pytest.mark.parametrize(
    "condition",
    [
        compared("nothing", Comparator.EQ, 1),
        compared("id", Comparator.EQ, "r1"),
        compared("note", Comparator.LT, "m"),
        compared("status", Comparator.GE, "idle"),
        compared("favorite", Comparator.EQ, "b1"),
        Comparison(FieldRef("level"), Comparator.EQ, FieldRef("level")),
        Comparison(FieldRef("level"), Comparator.EQ, FieldRef("note")),
        Comparison(FieldRef("level", OTHER), Comparator.EQ, Literal(5)),
        Comparison(Count("favorite"), Comparator.EQ, Literal(5)),
        Comparison(Count("books"), Comparator.EQ, FieldRef("level")),
        Comparison(Sum("books", "title"), Comparator.EQ, Literal(5)),
        Comparison(Sum("books", "pages"), Comparator.EQ, FieldRef("level")),
        Comparison(Arithmetic(FieldRef("level"), ArithmeticOperator.ADD, FieldRef("note")), Comparator.EQ, Literal(5)),
        NullCheck(FieldRef("level"), is_null=True),
        NullCheck(FieldRef("books"), is_null=True),
        Quantified(Quantifier.ANY, "favorite", NullCheck(FieldRef("pages", OTHER), is_null=True)),
        Quantified(Quantifier.ANY, "books", NullCheck(FieldRef("note"), is_null=True)),
        Quantified(Quantifier.ANY, "books", NullCheck(FieldRef("title", OTHER), is_null=True)),
        Quantified(Quantifier.ANY, "books", Comparison(Count("books"), Comparator.GT, Literal(1))),
    ],
)
def test_a_condition_that_is_not_well_typed(condition: Any) -> None:
    """Conditions compare what can be compared, and check for null what can be null (B2)."""
    assert rules(with_condition(condition)) == ["B2"]


@pytest.mark.parametrize(
    "condition",
    [
        compared("level", Comparator.GT, 101),
        compared("level", Comparator.GT, 5.0),
        compared("note", Comparator.EQ, "x" * 21),
        compared("status", Comparator.EQ, "asleep"),
        Comparison(Count("books"), Comparator.EQ, Literal(1.0)),
        Comparison(Sum("books", "price"), Comparator.GT, Literal(1)),
        Quantified(Quantifier.ANY, "books", Comparison(FieldRef("price", OTHER), Comparator.GT, Literal(900.5))),
    ],
)
def test_a_literal_outside_its_field(condition: Any) -> None:
    """A literal is of the type that it is compared with, and inside its field's constraints (D5)."""
    assert rules(with_condition(condition)) == ["D5"]


def product(*subjects_and_names: FieldRef) -> Compute:
    left, right = subjects_and_names
    return Compute(Arithmetic(left, ArithmeticOperator.MULTIPLY, right))


@pytest.mark.parametrize(
    ("effect", "rule"),
    [
        (Effect("status", SetTo("gone")), "B3"),
        (Effect("level", SetTo(None)), "B3"),
        (Effect("level", SetTo(())), "B3"),
        (Effect("books", SetTo(None)), "B3"),
        (Effect("books", SetTo("b1")), "B3"),
        (Effect("favorite", SetTo("b1")), "D5"),
        (Effect("level", SetTo(101)), "D5"),
        (Effect("level", SetTo(1.0)), "D5"),
        (Effect("note", SetTo("x" * 21)), "D5"),
        (Effect("level", IncrementBy(0)), "B3"),
        (Effect("level", IncrementBy(0.5)), "B3"),
        (Effect("price", IncrementBy(1), OnReference("favorite")), "B3"),
        (Effect("note", IncrementBy(1)), "B2"),
        (Effect("id", SetTo("r2")), "B2"),
        (Effect("pages", SetTo(5)), "B2"),
        (Effect("pages", SetTo(5), OnReference("books")), "B2"),
        (Effect("pages", SetTo(5), OnEach("favorite")), "B2"),
        (Effect("level", product(FieldRef("level"), FieldRef("pages", OTHER))), "B2"),
        (Effect("pages", product(FieldRef("price", OTHER), FieldRef("level")), OnReference("favorite")), "B3"),
        (Effect("pages", product(FieldRef("pages", OTHER), FieldRef("level")), OnEach("books")), "B3"),
    ],
)
def test_an_effect_that_is_not_right(effect: Effect, rule: str) -> None:
    """Effects set what may be set to what it may be, and never the field that the action itself moves (B3, D5)."""
    assert rules(with_effect(effect)) == [rule]


def test_a_for_each_over_its_own_entity_does_not_write_what_it_reads_of_this() -> None:
    """The acting object may be in its own list, so ``this.x`` counts as read there too (B3)."""
    friends = Field("friends", ReferenceListType("Reader"), required=False)
    effect = Effect("level", product(FieldRef("level"), FieldRef("limit", OTHER)), OnEach("friends"))
    action = attrs.evolve(LEND, conditions=(), effects=(effect,))
    assert rules(with_entity(READER, fields=(*READER.fields, friends), actions=(action,))) == ["B3"]


def test_an_effect_through_a_reference_to_its_own_entity_spares_the_enum_field() -> None:
    """The object behind a self reference may be the acting one, whose enum field the action itself moves (B3)."""
    friend = Field("friend", ReferenceType("Reader"), nullable=True)
    action = attrs.evolve(LEND, conditions=(), effects=(Effect("status", SetTo("gone"), OnReference("friend")),))
    assert rules(with_entity(READER, fields=(*READER.fields, friend), actions=(action,))) == ["B3"]


def test_equal_conditions_and_effects() -> None:
    """An action has no two equal conditions and no two equal effects (D6)."""
    assert rules(with_action(conditions=LEND.conditions[:1] * 2)) == ["D6"]
    assert rules(with_action(effects=LEND.effects[:1] * 2)) == ["D6"]


@pytest.mark.parametrize(
    "conditions",
    [
        (compared("level", Comparator.LT, 0),),
        (compared("level", Comparator.GE, 0),),
        (compared("level", Comparator.GT, 50), compared("level", Comparator.LT, 40)),
        (compared("level", Comparator.GT, 50), compared("level", Comparator.GT, 40)),
    ],
)
def test_conditions_that_cannot_be_exercised(conditions: Any) -> None:
    """A condition that never holds, that always holds, that excludes another or that follows from it is refused (B5)."""
    assert rules(with_action(conditions=conditions, effects=())) == ["B5"]


def test_an_effect_that_always_leaves_the_range() -> None:
    """An action whose result is never inside the constraints is refused (B5)."""
    assert rules(with_effect(Effect("level", IncrementBy(101)))) == ["B5"]


def test_a_state_without_entities() -> None:
    """There is always something to serve (S1)."""
    assert rules(State(())) == ["S1"]
