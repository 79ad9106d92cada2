"""Change requests: every type of change in words, complete in itself, worded for the state just before it."""

from __future__ import annotations

import attrs
import pytest

from stamina.rest.apply import apply
from stamina.rest.changes import (
    AddAction,
    AddAnalytics,
    AddCondition,
    AddEffect,
    AddEntity,
    AddEnumValue,
    AddField,
    Change,
    ChangeConstraints,
    DeleteAnalytics,
    DeleteEntity,
    DeleteField,
    RemoveAction,
    RemoveCondition,
    RemoveEffect,
    RenameEntity,
    RenameField,
)
from stamina.rest.expressions import Comparator, Comparison, Count, Effect, FieldRef, IncrementBy, Literal, NullCheck, OnEach, OnReference, SetTo, Sum
from stamina.rest.prose import change_headline, change_request, describe_change
from stamina.rest.schema import Action, Analytics, AnalyticsOperation, Entity, EnumType, Field, FloatType, IntegerType, ReferenceListType, ReferenceType, State

PERSON = Entity("Person", (Field("balance", FloatType(), nullable=True),), (Analytics(AnalyticsOperation.COUNT),))
OWNED = NullCheck(FieldRef("owner"), is_null=False)
OLD = Comparison(FieldRef("age"), Comparator.GE, Literal(2))
PAID = Effect("balance", IncrementBy(-2.5), OnReference("owner"))
CLEARED = Effect("age", SetTo(None), OnEach("friends"))
PHASE = Field("phase", EnumType("DogPhase", ("fresh", "old")), default="fresh")
DOG = Entity(
    "Dog",
    (
        Field("age", IntegerType(0, 30), nullable=True),
        PHASE,
        Field("owner", ReferenceType("Person"), required=False, nullable=True),
        Field("friends", ReferenceListType("Dog"), required=False),
    ),
    (Analytics(AnalyticsOperation.MAX, "age"), Analytics(AnalyticsOperation.COUNT)),
    (Action("approve", "phase", ("fresh",), "old", (OWNED, OLD), (PAID, CLEARED)), Action("archive", "phase", ("fresh",), "old")),
)
STATE = State((PERSON, DOG))
APPROVE = 'action "approve" of entity "Dog" (POST /dog/{id}/approve)'

KEPT_ENTITY = '- Fields that refer to "Dog" keep their names and now refer to "Hound"; enum types, values and defaults stay as they are.'
KEPT_FIELD = "- Conditions, effects and transitions of any entity that mention it now use the new name; its type, constraints and default stay as they are."

WORDED: list[tuple[Change, list[str]]] = [
    (
        AddEntity(Entity("GoodToy", (Field("price", FloatType(0.0, None)),))),
        [
            'Add entity "GoodToy" with the path /goodtoy and these fields:',
            '- "id": string, required, non-nullable, unique, given by the client',
            '- "price": float, required, non-nullable, minimum 0.0',
        ],
    ),
    (
        DeleteEntity("Person"),
        [
            'Delete entity "Person" (path /person). These go with it:',
            "- analytics endpoint GET /analytics/person/count",
            '- field "owner" of entity "Dog"',
            f"- condition `this.owner is not null` of {APPROVE}",
            f"- effect `increment this.owner.balance by -2.5` of {APPROVE}",
        ],
    ),
    (
        RenameEntity("Dog", "Hound"),
        [
            'Rename entity "Dog" to "Hound":',
            "- /dog becomes /hound",
            "- POST /dog/{id}/approve becomes POST /hound/{id}/approve",
            "- POST /dog/{id}/archive becomes POST /hound/{id}/archive",
            "- GET /analytics/dog/age/max becomes GET /analytics/hound/age/max",
            "- GET /analytics/dog/count becomes GET /analytics/hound/count",
            KEPT_ENTITY,
        ],
    ),
    (
        AddField("Dog", Field("mood", EnumType("DogMood", ("glad", "sad")), required=False, nullable=True, default="sad")),
        ['Add to entity "Dog" the field "mood": enum "DogMood" ("glad", "sad"), optional, nullable, default "sad"'],
    ),
    (
        DeleteField("Dog", "age"),
        [
            'Delete field "age" of entity "Dog". These go with it:',
            "- analytics endpoint GET /analytics/dog/age/max",
            f"- condition `this.age >= 2` of {APPROVE}",
            f"- effect `for each item in this.friends: set item.age to null` of {APPROVE}",
        ],
    ),
    (
        DeleteField("Person", "balance"),
        ['Delete field "balance" of entity "Person". These go with it:', f"- effect `increment this.owner.balance by -2.5` of {APPROVE}"],
    ),
    (
        RenameField("Dog", "age", "years"),
        ['Rename field "age" of entity "Dog" to "years":', "- GET /analytics/dog/age/max becomes GET /analytics/dog/years/max", KEPT_FIELD],
    ),
    (ChangeConstraints("Dog", "age", (("minimum", 1), ("maximum", 25))), ['Change the constraints of field "age" of entity "Dog": minimum 1, maximum 25']),
    (ChangeConstraints("Person", "balance", (("maximum", 9.0),)), ['Change the constraints of field "balance" of entity "Person": maximum 9.0']),
    (
        AddAnalytics("Dog", Analytics(AnalyticsOperation.SUM, "age")),
        ['Add to entity "Dog" the analytics endpoint GET /analytics/dog/age/sum: the sum of "age" over all "Dog" objects'],
    ),
    (DeleteAnalytics("Dog", Analytics(AnalyticsOperation.COUNT)), ['Delete from entity "Dog" the analytics endpoint GET /analytics/dog/count']),
    (
        AddAction("Dog", Action("retire", "phase", ("fresh",), "old", (OLD,), (PAID,))),
        [
            'Add action "retire" of entity "Dog" (POST /dog/{id}/retire):',
            '- Transition: "phase" from "fresh" to "old"',
            "- Conditions:",
            "  1. `this.age >= 2`",
            "- Effects:",
            "  1. `increment this.owner.balance by -2.5`",
        ],
    ),
    (RemoveAction("Dog", "approve"), [f"Remove {APPROVE}"]),
    (
        AddCondition("Dog", "approve", Comparison(Count("friends"), Comparator.LT, Literal(3))),
        [f"Add to {APPROVE}, after its other conditions, the condition `count(this.friends) < 3`"],
    ),
    (RemoveCondition("Dog", "approve", OWNED), [f"Remove from {APPROVE} the condition `this.owner is not null`"]),
    (AddEffect("Dog", "approve", Effect("age", IncrementBy(1))), [f"Add to {APPROVE}, after its other effects, the effect `increment this.age by 1`"]),
    (RemoveEffect("Dog", "approve", CLEARED), [f"Remove from {APPROVE} the effect `for each item in this.friends: set item.age to null`"]),
    (
        AddEnumValue("Dog", "phase", "lost"),
        ['Add the value "lost" to enum "DogPhase" of field "phase" of entity "Dog", after its other values'],
    ),
]


@pytest.mark.parametrize(("change", "lines"), WORDED, ids=lambda value: type(value).__name__)
def test_a_change_in_words(change: Change, lines: list[str]) -> None:
    """The wording of docs/language.md, line by line."""
    assert describe_change(STATE, change).splitlines() == lines


def test_every_type_of_change_is_worded_above() -> None:
    """A new type of change needs its text."""
    assert {type(change) for change, _ in WORDED} == set(Change.__args__)  # type: ignore[attr-defined]


def test_no_two_changes_read_the_same() -> None:
    """A reader can tell which change is meant, also among similar ones."""
    similar: list[Change] = [
        RemoveCondition("Dog", "approve", OLD),
        RemoveEffect("Dog", "approve", PAID),
        AddCondition("Dog", "archive", OWNED),
        AddCondition("Dog", "approve", Comparison(Sum("friends", "age"), Comparator.LT, Literal(3))),
        ChangeConstraints("Dog", "age", (("minimum", 1),)),
        ChangeConstraints("Dog", "age", (("maximum", 25), ("minimum", 1))),
        RenameField("Dog", "age", "days"),
        RenameEntity("Person", "Hound"),
        DeleteField("Dog", "phase"),
        DeleteEntity("Dog"),
    ]
    texts = [describe_change(STATE, change) for change in [*similar, *(change for change, _ in WORDED)]]
    assert len(set(texts)) == len(texts)


def test_a_deletion_without_consequences_lists_none() -> None:
    """Nothing is announced that does not follow."""
    state = State((PERSON, Entity("Toy", (Field("price", FloatType()), Field("size", IntegerType())))))
    assert describe_change(state, DeleteEntity("Toy")) == 'Delete entity "Toy" (path /toy)'
    assert describe_change(state, DeleteField("Toy", "size")) == 'Delete field "size" of entity "Toy"'


def test_an_action_whose_enum_field_goes_is_listed_as_a_whole() -> None:
    """D2: one line for the action, none for its conditions and effects."""
    assert describe_change(STATE, DeleteField("Dog", "phase")).splitlines()[1:] == [
        f"- {APPROVE}",
        '- action "archive" of entity "Dog" (POST /dog/{id}/archive)',
    ]


@pytest.mark.parametrize("change", [DeleteEntity("Person"), DeleteField("Dog", "age"), DeleteField("Dog", "phase"), DeleteField("Dog", "owner")])
def test_the_consequences_are_all_that_goes(change: DeleteEntity | DeleteField) -> None:
    """The text lists as many bullets as the new state has fewer parts, the deleted thing itself aside."""
    before, after = _parts(STATE), _parts(apply(STATE, change))
    if isinstance(change, DeleteEntity):
        before -= {part for part in before if part[:2] == ("field", change.entity)}
    else:
        before -= {("field", change.entity, change.field)}
    actions = {part[1:3] for part in before - after if part[0] == "action"}
    gone = {part for part in before - after if part[0] == "action" or part[1:3] not in actions}
    assert len(describe_change(STATE, change).splitlines()) - 1 == len(gone)


def _parts(state: State) -> set[tuple[object, ...]]:
    parts: set[tuple[object, ...]] = set()
    for entity in state.entities:
        parts |= {("field", entity.name, field.name) for field in entity.fields}
        parts |= {("analytics", entity.name, analytics) for analytics in entity.analytics}
        for action in entity.actions:
            parts.add(("action", entity.name, action.name))
            parts |= {("part", entity.name, action.name, part) for part in (*action.conditions, *action.effects)}
    return parts


def test_a_request_numbers_its_changes_and_words_each_for_what_the_earlier_ones_left() -> None:
    """The second change reaches what the first one added."""
    toy = Entity("Toy", (Field("price", FloatType()),))
    changes = (AddEntity(toy), AddAnalytics("Toy", Analytics(AnalyticsOperation.AVG, "price")))
    assert change_request(STATE, changes) == (
        "The API changes. Please make 2 changes, in this order:\n"
        "\n"
        '1. Add entity "Toy" with the path /toy and these fields:\n'
        '   - "id": string, required, non-nullable, unique, given by the client\n'
        '   - "price": float, required, non-nullable\n'
        '2. Add to entity "Toy" the analytics endpoint GET /analytics/toy/price/avg: the average of "price" over all "Toy" objects\n'
        "\n"
        "All else stays as it is. README.md still applies, and `bash run_server.sh PORT` must still start the server.\n"
    )


def test_bullets_are_indented_by_the_width_of_the_number() -> None:
    """Markdown keeps them with their change, also from the tenth on."""
    renames = tuple(AddField("Person", Field(f"note_{number}", IntegerType())) for number in range(9))
    text = change_request(STATE, (*renames, RenameField("Dog", "age", "years")))
    assert '\n10. Rename field "age" of entity "Dog" to "years":\n    - GET' in text


def test_a_turn_without_changes_is_still_a_prompt() -> None:
    """When no valid change exists the agent is told so (S6)."""
    assert change_request(STATE, ()).startswith("The API stays as it is this time.")


@pytest.mark.parametrize("change", [change for change, _ in WORDED], ids=lambda value: type(value).__name__)
def test_a_headline_is_one_line_without_its_colon(change: Change) -> None:
    """Lists of changes show one line each."""
    headline = change_headline(STATE, change)
    assert "\n" not in headline
    assert not headline.endswith((":", "These go with it"))
    assert describe_change(STATE, change).startswith(headline)


def test_strings_are_escaped() -> None:
    """Quotes, backslashes and line breaks in a literal cannot end it."""
    field = attrs.evolve(PHASE, name="odd", type=EnumType("Odd", ('a"b', "c\\d", "e\nf")), default='a"b')
    text = describe_change(STATE, AddField("Dog", field))
    assert text == r'Add to entity "Dog" the field "odd": enum "Odd" ("a\"b", "c\\d", "e\nf"), required, non-nullable, default "a\"b"'
