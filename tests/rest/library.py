"""A small hand-written state with every field type, every condition form and every effect form, for tests that alter one thing at a time."""

from typing import Any

import attrs

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
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    BooleanType,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    Retired,
    RetiredSegment,
    State,
    StringType,
)

OTHER = Subject.OTHER

BOOK = Entity(
    "Book",
    (
        Field("title", StringType(1, 40)),
        Field("pages", IntegerType(1, 5000), nullable=True),
        Field("price", FloatType(0.0, 900.0), default=9.5),
        Field("spare", BooleanType(), required=False),
        Field("printed_at", DatetimeType("1990-01-01 00:00:00", None), required=False, nullable=True),
        Field("sequel", ReferenceType("Book"), required=False, nullable=True),
    ),
    analytics=(Analytics(AnalyticsOperation.COUNT), Analytics(AnalyticsOperation.AVG, "pages"), Analytics(AnalyticsOperation.MAX, "price")),
    retired=Retired(fields=("heading",), actions=("shred",), analytics=(Analytics(AnalyticsOperation.SUM, "pages"),)),
)

LEND = Action(
    "lend",
    "status",
    ("idle", "ready"),
    "busy",
    conditions=(
        Comparison(FieldRef("level"), Comparator.GT, Literal(2)),
        Comparison(FieldRef("level"), Comparator.LT, FieldRef("limit")),
        NullCheck(FieldRef("favorite"), is_null=False),
        Comparison(Arithmetic(FieldRef("level"), ArithmeticOperator.ADD, FieldRef("limit")), Comparator.LE, Literal(500)),
        Comparison(Count("books"), Comparator.GE, Literal(2)),
        Comparison(Sum("books", "pages"), Comparator.GT, Literal(10)),
        Quantified(Quantifier.ANY, "books", Comparison(FieldRef("price", OTHER), Comparator.GT, Literal(1.5))),
        Quantified(Quantifier.ALL, "books", NullCheck(FieldRef("printed_at", OTHER), is_null=True)),
    ),
    effects=(
        Effect("note", SetTo("lent")),
        Effect("level", IncrementBy(-1)),
        Effect("limit", Compute(Arithmetic(FieldRef("limit"), ArithmeticOperator.ADD, FieldRef("level")))),
        Effect("price", IncrementBy(0.5), OnReference("favorite")),
        Effect("pages", Compute(Arithmetic(FieldRef("pages", OTHER), ArithmeticOperator.ADD, FieldRef("level"))), OnReference("favorite")),
        Effect("printed_at", SetTo(None), OnEach("books")),
        Effect("books", SetTo(())),
    ),
)

READER = Entity(
    "Reader",
    (
        Field("status", EnumType("ReaderStatus", ("idle", "ready", "busy", "gone")), default="idle"),
        Field("level", IntegerType(0, 100)),
        Field("limit", IntegerType(0, 1000)),
        Field("note", StringType(max_length=20), required=False, nullable=True),
        Field("favorite", ReferenceType("Book"), nullable=True),
        Field("books", ReferenceListType("Book"), required=False),
    ),
    actions=(LEND, Action("retire_early", "status", ("busy",), "gone")),
)

LIBRARY = State((BOOK, READER), (RetiredSegment("shelf", (Analytics(AnalyticsOperation.COUNT),)),))
"""Valid."""


def with_field(entity: Entity, name: str, **changes: Any) -> State:
    """LIBRARY with one field of one of its entities altered."""
    fields = tuple(attrs.evolve(field, **changes) if field.name == name else field for field in entity.fields)
    return with_entity(entity, fields=fields)


def with_entity(entity: Entity, **changes: Any) -> State:
    """LIBRARY with one of its entities altered."""
    return attrs.evolve(LIBRARY, entities=tuple(attrs.evolve(each, **changes) if each is entity else each for each in LIBRARY.entities))


def with_action(**changes: Any) -> State:
    """LIBRARY with Reader's action ``lend`` altered."""
    return with_entity(READER, actions=(attrs.evolve(LEND, **changes), *READER.actions[1:]))
