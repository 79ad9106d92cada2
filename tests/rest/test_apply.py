"""What each change does to a state, what goes with it, and what is refused (contract section 4)."""

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stamina.draw import Draw
from stamina.errors import InvalidChange
from stamina.rest.apply import apply, consequences, transformed
from stamina.rest.canonical import dumps
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
from stamina.rest.consequences import ActionGone, AnalyticsGone, ConditionGone, EffectGone, FieldGone
from stamina.rest.expressions import Comparator, Comparison, Effect, FieldRef, IncrementBy, Literal, NullCheck, SetTo
from stamina.rest.mentions import mentioned_by_action
from stamina.rest.proposing import PROPOSERS
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    Entity,
    EnumType,
    Field,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    Retired,
    RetiredSegment,
    State,
    StringType,
)
from stamina.rest.validate import problems, problems_after
from tests.rest.library import BOOK, LEND, LIBRARY, READER
from tests.rest.walks import states

COUNT = Analytics(AnalyticsOperation.COUNT)
AVERAGE = Analytics(AnalyticsOperation.AVG, "pages")


def book(change: Change) -> Entity:
    return apply(LIBRARY, change).entity("Book")


def lend(change: Change) -> Action:
    action = apply(LIBRARY, change).entity("Reader").find_action("lend")
    assert action is not None
    return action


def test_add_entity() -> None:
    """A new entity comes last."""
    shop = Entity("Shop", (Field("city", StringType()), Field("stock", ReferenceListType("Book"), required=False)))
    assert apply(LIBRARY, AddEntity(shop)).entities == (*LIBRARY.entities, shop)


def test_rename_entity() -> None:
    """The path is freed with its analytics, references lead to the new name, and all else stays (D3)."""
    after = apply(LIBRARY, RenameEntity("Book", "Volume"))
    assert after.entities[0] == attrs.evolve(BOOK, name="Volume", fields=(*BOOK.fields[:-1], attrs.evolve(BOOK.fields[-1], type=ReferenceType("Volume"))))
    assert [after.entity("Reader").field(name).type for name in ("favorite", "books")] == [ReferenceType("Volume"), ReferenceListType("Volume")]
    assert after.entity("Reader").actions is READER.actions
    assert after.retired[-1] == RetiredSegment("book", BOOK.analytics)


def test_delete_entity() -> None:
    """What refers to it goes, and what mentions that; its path is freed with its analytics (D2)."""
    after = apply(LIBRARY, DeleteEntity("Book"))
    (reader,) = after.entities
    assert [field.name for field in reader.fields] == ["status", "level", "limit", "note"]
    assert reader.actions[0].conditions == (LEND.conditions[0], LEND.conditions[1], LEND.conditions[3])
    assert reader.actions[0].effects == LEND.effects[:3]
    assert reader.retired == Retired(fields=("books", "favorite"))
    assert after.retired[-1] == RetiredSegment("book", BOOK.analytics)


def test_the_last_entity_stays() -> None:
    """A state always has an entity (S1)."""
    with pytest.raises(InvalidChange, match="last entity"):
        apply(apply(LIBRARY, DeleteEntity("Reader")), DeleteEntity("Book"))


def test_add_field() -> None:
    """A new field comes last."""
    isbn = Field("isbn", StringType(10, 13))
    assert book(AddField("Book", isbn)).fields == (*BOOK.fields, isbn)


def test_rename_field() -> None:
    """Analytics move and are freed, conditions and effects of any entity follow, the old name is freed (D3)."""
    after = apply(LIBRARY, RenameField("Book", "pages", "sheets"))
    renamed = after.entity("Book")
    assert renamed.analytics == (COUNT, Analytics(AnalyticsOperation.AVG, "sheets"), BOOK.analytics[2])
    assert renamed.retired == attrs.evolve(BOOK.retired, fields=("heading", "pages"), analytics=(*BOOK.retired.analytics, AVERAGE))
    text = dumps(after).decode()
    assert text.count('"sheets"') == dumps(LIBRARY).decode().count('"pages"') - 1, "the freed analytics kept the old name"


def test_rename_of_an_enum_field() -> None:
    """An action keeps its enum field under the new name, and the enum type keeps its own."""
    after = apply(LIBRARY, RenameField("Reader", "status", "state_now")).entity("Reader")
    assert {action.enum_field for action in after.actions} == {"state_now"}
    assert after.field("state_now").type == READER.field("status").type


def test_delete_field() -> None:
    """Analytics over it go and are freed; conditions and effects that mention it go, whichever entity's they are (D2)."""
    after = apply(LIBRARY, DeleteField("Book", "pages"))
    assert after.entity("Book").analytics == (COUNT, BOOK.analytics[2])
    assert after.entity("Book").retired == attrs.evolve(BOOK.retired, fields=("heading", "pages"), analytics=(*BOOK.retired.analytics, AVERAGE))
    action = after.entity("Reader").actions[0]
    assert action.conditions == LEND.conditions[:5] + LEND.conditions[6:]
    assert action.effects == LEND.effects[:4] + LEND.effects[5:]


def test_delete_of_an_enum_field() -> None:
    """Its actions go and their names are freed (D2)."""
    after = apply(LIBRARY, DeleteField("Reader", "status")).entity("Reader")
    assert after.actions == ()
    assert after.retired == Retired(fields=("status",), actions=("lend", "retire_early"))


def test_change_constraints() -> None:
    """Bounds that are named are set, the others stay (D5)."""
    assert book(ChangeConstraints("Book", "pages", (("maximum", 9000),))).field("pages").type == IntegerType(1, 9000)


def test_analytics_come_and_go() -> None:
    """A new endpoint comes last, one that goes is freed."""
    total = Analytics(AnalyticsOperation.SUM, "price")
    assert book(AddAnalytics("Book", total)).analytics == (*BOOK.analytics, total)
    assert book(DeleteAnalytics("Book", AVERAGE)).retired.analytics == (*BOOK.retired.analytics, AVERAGE)


def test_actions_come_and_go() -> None:
    """A new action comes last, the name of one that goes is freed."""
    action = Action("greet", "status", ("idle",), "ready")
    assert apply(LIBRARY, AddAction("Reader", action)).entity("Reader").actions == (*READER.actions, action)
    without = apply(LIBRARY, RemoveAction("Reader", "lend")).entity("Reader")
    assert without.actions == READER.actions[1:]
    assert without.retired.actions == ("lend",)


def test_conditions_and_effects_come_and_go() -> None:
    """What is added goes last; what is removed leaves the order of the rest (D6)."""
    condition, effect = NullCheck(FieldRef("note"), is_null=True), Effect("note", SetTo(None))
    assert lend(AddCondition("Reader", "lend", condition)).conditions == (*LEND.conditions, condition)
    assert lend(RemoveCondition("Reader", "lend", LEND.conditions[1])).conditions == LEND.conditions[:1] + LEND.conditions[2:]
    assert lend(AddEffect("Reader", "lend", effect)).effects == (*LEND.effects, effect)
    assert lend(RemoveEffect("Reader", "lend", LEND.effects[1])).effects == LEND.effects[:1] + LEND.effects[2:]


def test_add_enum_value() -> None:
    """A new value comes last and changes no action (S9)."""
    after = apply(LIBRARY, AddEnumValue("Reader", "status", "lost")).entity("Reader")
    assert after.field("status").type == EnumType("ReaderStatus", ("idle", "ready", "busy", "gone", "lost"))
    assert after.actions is READER.actions


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (AddEntity(Entity("Book", ())), "S5"),
        (AddEntity(Entity("Shelf", ())), "S5"),
        (AddEntity(Entity("Shop", (Field("owner", ReferenceType("Nobody"), nullable=True),))), "S3"),
        (AddEntity(Entity("Shop", (), analytics=(COUNT,))), "D6"),
        (DeleteEntity("Nobody"), "D4"),
        (RenameEntity("Book", "Reader"), "S5"),
        (RenameEntity("Book", "Shelf"), "S5"),
        (RenameEntity("Book", "BOOK"), "S5"),
        (AddField("Book", Field("heading", StringType())), "S5"),
        (AddField("Nobody", Field("name", StringType())), "D4"),
        (DeleteField("Book", "id"), "D4"),
        (RenameField("Book", "id", "key"), "D4"),
        (RenameField("Book", "title", "pages"), "S5"),
        (RenameField("Book", "title", "heading"), "S5"),
        (RenameField("Book", "title", "title"), "S5"),
        (ChangeConstraints("Book", "pages", ()), "D5"),
        (ChangeConstraints("Book", "pages", (("minimum", 1),)), "D5"),
        (ChangeConstraints("Book", "pages", (("min_length", 2),)), "D5"),
        (ChangeConstraints("Book", "pages", (("minimum", 2), ("minimum", 3))), "D5"),
        (ChangeConstraints("Book", "pages", (("minimum", 4999),)), "D5"),
        (ChangeConstraints("Book", "pages", (("minimum", "2"),)), "D5"),
        (ChangeConstraints("Book", "title", (("max_length", 2.5),)), "D5"),
        (ChangeConstraints("Book", "price", (("minimum", 10.0),)), "D5"),
        (ChangeConstraints("Book", "spare", (("minimum", 1),)), "D5"),
        (ChangeConstraints("Reader", "level", (("minimum", 3),)), "D5"),
        (ChangeConstraints("Reader", "note", (("max_length", 3),)), "D5"),
        (AddAnalytics("Book", AVERAGE), "S5"),
        (AddAnalytics("Book", Analytics(AnalyticsOperation.SUM, "pages")), "S5"),
        (AddAnalytics("Book", Analytics(AnalyticsOperation.SUM, "title")), "A1"),
        (DeleteAnalytics("Book", Analytics(AnalyticsOperation.SUM, "price")), "D6"),
        (AddAction("Reader", attrs.evolve(LEND, to_value="asleep", name="nap")), "B1"),
        (AddAction("Reader", LEND), "S5"),
        (RemoveAction("Reader", "nap"), "D4"),
        (AddCondition("Reader", "lend", LEND.conditions[0]), "D6"),
        (AddCondition("Reader", "lend", Comparison(FieldRef("level"), Comparator.GT, Literal(1))), "B5"),
        (RemoveCondition("Reader", "lend", NullCheck(FieldRef("note"), is_null=True)), "D6"),
        (AddEffect("Reader", "lend", LEND.effects[0]), "D6"),
        (AddEffect("Reader", "lend", Effect("level", IncrementBy(101))), "B5"),
        (RemoveEffect("Reader", "lend", Effect("note", SetTo(None))), "D6"),
        (AddEnumValue("Reader", "status", "idle"), "S5"),
        (AddEnumValue("Reader", "status", "for"), "S5"),
        (AddEnumValue("Reader", "level", "high"), "S9"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(change: Change, rule: str) -> None:
    """The refusal names the contract's rule that stands against the change."""
    with pytest.raises(InvalidChange) as caught:
        apply(LIBRARY, change)
    assert caught.value.rule == rule


def test_names_of_the_freed_are_kept_when_their_owner_is_renamed() -> None:
    """A field freed of Book is still freed of Volume."""
    volume = apply(LIBRARY, RenameEntity("Book", "Volume"))
    with pytest.raises(InvalidChange, match="freed earlier"):
        apply(volume, AddField("Volume", Field("heading", StringType())))


def test_a_freed_path_is_not_used_again() -> None:
    """The name that an entity had is gone for good (S5)."""
    volume = apply(LIBRARY, RenameEntity("Book", "Volume"))
    for change in (AddEntity(Entity("Book", ())), RenameEntity("Reader", "Book"), RenameEntity("Volume", "Book")):
        with pytest.raises(InvalidChange, match="freed earlier"):
            apply(volume, change)


def test_consequences_of_a_deleted_entity() -> None:
    """They are listed one by one, in the order of the state (D2)."""
    assert consequences(LIBRARY, DeleteEntity("Book")) == (
        *(AnalyticsGone("Book", analytics) for analytics in BOOK.analytics),
        FieldGone("Reader", "favorite"),
        FieldGone("Reader", "books"),
        ConditionGone("Reader", "lend", LEND.conditions[2]),
        *(ConditionGone("Reader", "lend", condition) for condition in LEND.conditions[4:]),
        *(EffectGone("Reader", "lend", effect) for effect in LEND.effects[3:]),
    )


def test_consequences_of_a_deleted_enum_field() -> None:
    """The actions on it go as a whole."""
    assert consequences(LIBRARY, DeleteField("Reader", "status")) == (ActionGone("Reader", "lend"), ActionGone("Reader", "retire_early"))


def test_nothing_else_has_consequences() -> None:
    """A renaming takes nothing away."""
    assert consequences(LIBRARY, RenameEntity("Book", "Volume")) == ()


# Properties over sampled states and candidates of every type.

KINDS = sorted(PROPOSERS, key=lambda kind: kind.__name__)


@st.composite
def attempts(draw: Callable[..., Any], kinds: list[type[Change]] = KINDS) -> tuple[State, Change]:
    """A state, and a candidate that may or may not be valid on it."""
    state = draw(st.sampled_from(states()))
    kind = draw(st.sampled_from(kinds))
    chance = Draw(draw(st.integers(0, 2**32)), kind.__name__)
    change = next(PROPOSERS[kind](chance, state), None)
    return state, change if change is not None else RenameEntity(state.entities[0].name, "Zeppelin")


@settings(max_examples=60, deadline=None)
@given(attempts())
def test_a_change_is_refused_or_leaves_a_valid_state(attempt: tuple[State, Change]) -> None:
    """What ``apply`` returns has no problem at all, and the quick look at a change agrees with the long one."""
    state, change = attempt
    try:
        after = apply(state, change)
    except InvalidChange:
        after = transformed(state, change)
        assert problems(after)
    else:
        assert problems(after) == []
    renaming = isinstance(change, RenameEntity | RenameField)
    assert [str(each) for each in problems_after(state, after, renaming=renaming)] == [str(each) for each in problems(after)]


@settings(max_examples=60, deadline=None)
@given(attempts())
def test_what_did_not_change_is_shared(attempt: tuple[State, Change]) -> None:
    """An entity that is equal before and after is the same object."""
    state, change = attempt
    before = {entity.name: entity for entity in state.entities}
    for entity in transformed(state, change).entities:
        if entity == before.get(entity.name):
            assert entity is before[entity.name]


@settings(max_examples=50, deadline=None)
@given(attempts([DeleteEntity, DeleteField]))
def test_consequences_are_complete(attempt: tuple[State, Change]) -> None:
    """What a deletion lists is what is gone afterwards, and nothing that is left mentions what went."""
    state, change = attempt
    if not isinstance(change, DeleteEntity | DeleteField) or len(state.entities) == 1:
        return
    after = transformed(state, change)
    listed = set(consequences(state, change))
    gone = (
        set(_parts(state))
        - set(_parts(after))
        - {FieldGone(entity.name, field.name) for entity in state.entities for field in entity.fields if _itself(change, entity, field)}
    )
    actions = {(each.entity, each.action) for each in listed if isinstance(each, ActionGone)}
    assert listed == {each for each in gone if not (isinstance(each, ConditionGone | EffectGone) and (each.entity, each.action) in actions)}
    existing = {(entity.name, field.name) for entity in after.entities for field in entity.fields}
    assert all(mentioned_by_action(entity, action) <= existing for entity in after.entities for action in entity.actions)


def _itself(change: DeleteEntity | DeleteField, entity: Entity, field: Field) -> bool:
    return entity.name == change.entity and (isinstance(change, DeleteEntity) or field.name == change.field)


def _parts(state: State) -> Iterator[FieldGone | AnalyticsGone | ActionGone | ConditionGone | EffectGone]:
    for entity in state.entities:
        yield from (FieldGone(entity.name, field.name) for field in entity.fields)
        yield from (AnalyticsGone(entity.name, analytics) for analytics in entity.analytics)
        for action in entity.actions:
            yield ActionGone(entity.name, action.name)
            yield from (ConditionGone(entity.name, action.name, condition) for condition in action.conditions)
            yield from (EffectGone(entity.name, action.name, effect) for effect in action.effects)


@settings(max_examples=60, deadline=None)
@given(attempts([DeleteEntity, RenameEntity, DeleteField, RenameField, DeleteAnalytics, RemoveAction]))
def test_what_is_freed_is_remembered(attempt: tuple[State, Change]) -> None:
    """Every name that was in use and no longer is, is among the freed ones."""
    state, change = attempt
    if len(state.entities) == 1 and isinstance(change, DeleteEntity):
        return
    after = transformed(state, change)
    assert {entity.segment for entity in state.entities} <= {entity.segment for entity in after.entities} | {retired.segment for retired in after.retired}
    for old in state.entities:
        new = after.find(change.new_name if isinstance(change, RenameEntity) and change.entity == old.name else old.name)
        if new is not None:
            assert {field.name for field in old.fields} <= {field.name for field in new.fields} | set(new.retired.fields)
            assert {action.name for action in old.actions} <= {action.name for action in new.actions} | set(new.retired.actions)
            assert set(old.analytics) <= {*new.analytics, *new.retired.analytics}
