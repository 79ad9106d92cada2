"""Which changes may stand in one request (D4)."""

import pytest

from stamina.rest.apply import compatible, footprint, transformed
from stamina.rest.changes import (
    AddAction,
    AddAnalytics,
    AddCondition,
    AddEntity,
    AddEnumValue,
    AddField,
    Change,
    ChangeConstraints,
    DeleteAnalytics,
    DeleteEntity,
    DeleteField,
    RemoveAction,
    RenameEntity,
    RenameField,
)
from stamina.rest.expressions import FieldRef, NullCheck
from stamina.rest.footprint import Footprint
from stamina.rest.schema import Action, Analytics, AnalyticsOperation, Entity, Field, IntegerType, ReferenceType, StringType
from tests.rest.library import BOOK, LEND, LIBRARY
from tests.rest.walks import SEEDS, walk

SHOP = AddEntity(Entity("Shop", (Field("city", StringType()), Field("rooms", IntegerType()))))
NEW_FIELD = AddField("Book", Field("isbn", StringType()))
TOTAL_PAGES = AddAnalytics("Book", Analytics(AnalyticsOperation.MAX, "pages"))
GREET = AddAction("Reader", Action("greet", "status", ("idle",), "ready"))


def together(*changes: Change) -> bool:
    """Whether the changes may stand in one request in this order."""
    state, taken = LIBRARY, Footprint()
    for change in changes:
        prints = footprint(state, change)
        if not compatible(taken, prints):
            return False
        taken, state = taken | prints, transformed(state, change)
    return True


@pytest.mark.parametrize(
    "changes",
    [
        (NEW_FIELD, AddField("Book", Field("binding", StringType()))),
        (NEW_FIELD, RenameField("Book", "title", "headline")),
        (TOTAL_PAGES, GREET),
        (SHOP, AddField("Shop", Field("street", StringType())), AddAnalytics("Shop", Analytics(AnalyticsOperation.AVG, "rooms"))),
        (SHOP, AddField("Reader", Field("shop", ReferenceType("Shop"), nullable=True)), AddField("Book", Field("shop", ReferenceType("Shop"), nullable=True))),
        (RemoveAction("Reader", "retire_early"), ChangeConstraints("Book", "title", (("max_length", 50),))),
        (RenameEntity("Reader", "Visitor"), NEW_FIELD),
    ],
)
def test_changes_that_go_together(changes: tuple[Change, ...]) -> None:
    """The same owner is no obstacle, nor is what an earlier change of the request added."""
    assert together(*changes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (TOTAL_PAGES, AddAnalytics("Book", Analytics(AnalyticsOperation.MIN, "pages"))),
        (TOTAL_PAGES, ChangeConstraints("Book", "pages", (("maximum", 9000),))),
        (RenameEntity("Book", "Volume"), NEW_FIELD),
        (RenameEntity("Book", "Volume"), RenameEntity("Volume", "Tome")),
        (RenameEntity("Book", "Volume"), AddField("Reader", Field("shop", ReferenceType("Volume"), nullable=True))),
        (SHOP, RenameEntity("Shop", "Store")),
        (SHOP, ChangeConstraints("Shop", "city", (("max_length", 9),))),
        (RenameField("Book", "pages", "sheets"), AddCondition("Reader", "lend", NullCheck(FieldRef("note"), is_null=True))),
        (RenameField("Book", "pages", "sheets"), DeleteAnalytics("Book", BOOK.analytics[1])),
        (DeleteField("Book", "price"), RemoveAction("Reader", "lend")),
        (DeleteEntity("Book"), AddCondition("Reader", "lend", NullCheck(FieldRef("note"), is_null=True))),
        (DeleteEntity("Book"), RenameField("Reader", "favorite", "best")),
        (GREET, AddEnumValue("Reader", "status", "lost")),
        (GREET, AddCondition("Reader", "greet", NullCheck(FieldRef("note"), is_null=True))),
        (GREET, AddAction("Reader", Action("wave", "status", ("idle",), "ready"))),
    ],
)
def test_changes_that_do_not_go_together(first: Change, second: Change) -> None:
    """Nothing is named twice unless it was added before, and nothing that is renamed, deleted or altered is named again at all."""
    assert not together(first, second)


def test_consequences_are_written() -> None:
    """What goes with a deletion is part of its footprint."""
    written = footprint(LIBRARY, DeleteEntity("Book")).written
    assert {("Book",), ("Reader", "field", "favorite"), ("Reader", "field", "books"), ("Reader", "action", LEND.name)} <= written


@pytest.mark.parametrize("seed", SEEDS)
def test_sampled_requests_are_compatible(seed: int) -> None:
    """Every two changes of a sampled turn share only what an earlier one added, and what is written is named nowhere else."""
    for transition in walk(seed):
        prints = [footprint(before, change) for before, change, _ in transition.steps()]
        for later in range(len(prints)):
            added = {name for each in prints[:later] for name in each.added}
            for earlier in prints[:later]:
                assert earlier.named & prints[later].named <= added
                for one, other in ((earlier, prints[later]), (prints[later], earlier)):
                    assert not any(name[: len(written)] == written for written in one.written for name in other.named)
