"""The specification: one golden text, and no two states that read the same."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from stamina.rest.expressions import Comparator, Comparison, Effect, FieldRef, IncrementBy, Literal, NullCheck, OnEach, OnReference, SetTo
from stamina.rest.prose import specification
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
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

USER = Entity(
    "UserProfile",
    (Field("email", StringType(5, 100)), Field("balance", FloatType(None, 1000.0), required=False, nullable=True)),
    (Analytics(AnalyticsOperation.COUNT), Analytics(AnalyticsOperation.AVG, "balance")),
)
APPROVE = Action(
    "approve",
    "phase",
    ("fresh", "old"),
    "done",
    (Comparison(FieldRef("age"), Comparator.GE, Literal(2)), NullCheck(FieldRef("owner"), is_null=False)),
    (Effect("balance", IncrementBy(-2.5), OnReference("owner")), Effect("age", SetTo(None), OnEach("friends"))),
)
DOG = Entity(
    "Dog",
    (
        Field("age", IntegerType(0, 30), nullable=True, default=3),
        Field("born", DatetimeType("2000-01-01 00:00:00", None), required=False),
        Field("phase", EnumType("DogPhase", ("fresh", "old", "done")), default="fresh"),
        Field("owner", ReferenceType("UserProfile"), required=False, nullable=True),
        Field("friends", ReferenceListType("Dog"), required=False),
    ),
    (Analytics(AnalyticsOperation.MAX, "age"),),
    (APPROVE, Action("archive", "phase", ("done",), "old")),
)
STATE = State((USER, DOG))

GOLDEN = """\
# Specification of the API

The API has 2 entities, 1 enum type, 2 relationships, 3 analytics endpoints and 2 actions.

README.md says how all of this behaves: statuses, validation, defaults, references, analytics and actions.

# Enum types

Values are case-sensitive. Each enum type belongs to the one field named behind it.

- "DogPhase": "fresh", "old", "done" (field "phase" of entity "Dog")

# Entities

Each entity has create, list, read, update and delete under its path, as README.md describes. All bounds are inclusive.

## UserProfile

Path: /userprofile

- "id": string, required, non-nullable, unique, given by the client
- "email": string, required, non-nullable, minimum length 5, maximum length 100
- "balance": float, optional, nullable, maximum 1000.0

## Dog

Path: /dog

- "id": string, required, non-nullable, unique, given by the client
- "age": integer, required, nullable, minimum 0, maximum 30, default 3
- "born": datetime, optional, non-nullable, earliest "2000-01-01 00:00:00"
- "phase": enum "DogPhase" ("fresh", "old", "done"), required, non-nullable, default "fresh"
- "owner": reference to "UserProfile", optional, nullable
- "friends": list of references to "Dog", optional, non-nullable, default []

# Analytics endpoints

Each answers 200 with a JSON object that has the key "result".

- GET /analytics/userprofile/count: the number of "UserProfile" objects
- GET /analytics/userprofile/balance/avg: the average of "balance" over all "UserProfile" objects
- GET /analytics/dog/age/max: the largest "age" over all "Dog" objects

# Actions

An action is called by POST without a body on an object. It moves an enum field of that object from one of the values listed to another value.

## Dog.approve

Path: POST /dog/{id}/approve

- Transition: "phase" from "fresh", "old" to "done"
- Conditions:
  1. `this.age >= 2`
  2. `this.owner is not null`
- Effects:
  1. `increment this.owner.balance by -2.5`
  2. `for each item in this.friends: set item.age to null`

## Dog.archive

Path: POST /dog/{id}/archive

- Transition: "phase" from "done" to "old"
- Conditions: none
- Effects: none
"""


def variants() -> Iterator[State]:
    """States that differ from STATE in one point each."""
    for action in action_variants():
        yield State((USER, attrs.evolve(DOG, actions=(action, *DOG.actions[1:]))))
    for field in field_variants():
        yield State((USER, attrs.evolve(DOG, fields=(field, *DOG.fields[1:]))))
    for analytics in ((), (*DOG.analytics, Analytics(AnalyticsOperation.MIN, "age")), (Analytics(AnalyticsOperation.SUM, "age"),)):
        yield State((USER, attrs.evolve(DOG, analytics=analytics)))
    yield State((DOG, USER))
    yield State((USER, attrs.evolve(DOG, fields=DOG.fields[::-1])))
    yield State((USER, attrs.evolve(DOG, actions=DOG.actions[::-1])))
    yield State((attrs.evolve(USER, analytics=USER.analytics[::-1]), DOG))
    yield State((attrs.evolve(USER, name="Userprofile"), DOG))


def action_variants() -> Iterator[Action]:
    yield attrs.evolve(APPROVE, name="accept")
    yield attrs.evolve(APPROVE, from_values=("old", "fresh"))
    yield attrs.evolve(APPROVE, from_values=("fresh",))
    yield attrs.evolve(APPROVE, to_value="old")
    yield attrs.evolve(APPROVE, conditions=APPROVE.conditions[::-1])
    yield attrs.evolve(APPROVE, conditions=APPROVE.conditions[:1])
    yield attrs.evolve(APPROVE, effects=APPROVE.effects[::-1])
    yield attrs.evolve(APPROVE, effects=())


def field_variants() -> Iterator[Field]:
    age = DOG.fields[0]
    yield attrs.evolve(age, name="years")
    yield attrs.evolve(age, required=False)
    yield attrs.evolve(age, nullable=False)
    yield attrs.evolve(age, default=None)
    yield attrs.evolve(age, default=0)
    yield attrs.evolve(age, type=FloatType(0.0, 30.0), default=3.0)
    yield attrs.evolve(age, type=IntegerType(None, 30))
    yield attrs.evolve(age, type=IntegerType(0, None))


def test_the_specification_of_a_state_written_by_hand() -> None:
    """The wording of docs/language.md, byte for byte."""
    assert specification(STATE) == GOLDEN


def test_parts_without_content_say_so() -> None:
    """A state without enums, analytics and actions still has all its headings."""
    text = specification(State((Entity("Dog", (Field("name", StringType()),)),)))
    assert "The API has 1 entity, 0 enum types, 0 relationships, 0 analytics endpoints and 0 actions." in text
    assert text.count("\nNone.\n") == 3


def test_states_that_differ_read_differently() -> None:
    """Order, flags, bounds, defaults: nothing that a state holds is lost in its text."""
    states = [STATE, *variants()]
    texts = {specification(state) for state in states}
    assert len(texts) == len(states)
