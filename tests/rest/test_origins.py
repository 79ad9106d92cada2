"""Since when things are what they are."""

import pytest

from stamina.rest.apply import apply
from stamina.rest.changes import AddField, Change, ChangeConstraints, DeleteEntity, DeleteField, RemoveAction, RenameEntity, RenameField
from stamina.rest.origins import Origins
from stamina.rest.schema import Field, State, StringType
from stamina.suite import Target
from tests.rest.library import LIBRARY
from tests.rest.walks import SEEDS, walk


def folded(*turns: Change) -> Origins:
    """The origins after one change a turn, from turn 1 on."""
    state, origins = LIBRARY, Origins.of(LIBRARY)
    for turn, change in enumerate(turns, start=1):
        after = apply(state, change)
        origins, state = origins.after(state, change, after, turn), after
    return origins


@pytest.mark.parametrize(
    ("changes", "target", "since"),
    [
        ((), ("server",), 0),
        ((), ("entity", "Book"), 0),
        ((), ("retired-segment", "shelf"), 0),
        ((AddField("Book", Field("isbn", StringType())),), ("field", "Book", "isbn"), 1),
        ((AddField("Book", Field("isbn", StringType())),), ("field", "Book", "title"), 0),
        ((AddField("Book", Field("isbn", StringType())),), ("entity", "Book"), 0),
        ((ChangeConstraints("Book", "title", (("max_length", 50),)),), ("field", "Book", "title"), 1),
        ((RenameField("Book", "pages", "sheets"),), ("field", "Book", "sheets"), 1),
        ((RenameField("Book", "pages", "sheets"),), ("retired-field", "Book", "pages"), 1),
        ((RenameField("Book", "pages", "sheets"),), ("analytics", "Book", "sheets", "avg"), 1),
        ((RenameField("Book", "pages", "sheets"),), ("analytics", "Book", "", "count"), 0),
        ((RenameField("Book", "pages", "sheets"),), ("retired-analytics", "Book", "pages", "avg"), 1),
        ((RenameField("Book", "pages", "sheets"),), ("action", "Reader", "lend"), 1),
        ((RenameField("Book", "pages", "sheets"),), ("action", "Reader", "retire_early"), 0),
        ((RenameEntity("Reader", "Visitor"),), ("entity", "Visitor"), 1),
        ((RenameEntity("Reader", "Visitor"),), ("action", "Visitor", "lend"), 1),
        ((RenameEntity("Reader", "Visitor"),), ("field", "Visitor", "level"), 0),
        ((RenameEntity("Reader", "Visitor"),), ("retired-segment", "reader"), 1),
        ((RenameEntity("Book", "Volume"),), ("field", "Reader", "favorite"), 0),
        ((RenameEntity("Book", "Volume"),), ("retired-field", "Volume", "heading"), 0),
        ((ChangeConstraints("Book", "title", (("max_length", 50),)), RenameEntity("Book", "Volume")), ("field", "Volume", "title"), 1),
        ((RemoveAction("Reader", "retire_early"), DeleteField("Book", "title")), ("retired-action", "Reader", "retire_early"), 1),
        ((DeleteField("Book", "title"), DeleteEntity("Book")), ("retired-segment", "book"), 2),
        ((DeleteEntity("Book"),), ("action", "Reader", "lend"), 1),
        ((DeleteEntity("Book"),), ("retired-field", "Reader", "books"), 1),
        ((), ("field", "Book", "id"), 0),
    ],
)
def test_since(changes: tuple[Change, ...], target: Target, since: int) -> None:
    """A target has the turn that brought it in or last altered it, under the name that it has now."""
    assert folded(*changes).since(target) == since


@pytest.mark.parametrize("target", [("entity", "Book"), ("field", "Book", "title"), ("retired-segment", "nothing")])
def test_what_is_gone_has_no_origin(target: Target) -> None:
    """Asking for what is not there is a fault of the one who asks."""
    with pytest.raises(KeyError):
        folded(DeleteEntity("Book")).since(target)


@pytest.mark.parametrize("seed", SEEDS)
def test_everything_in_a_walk_has_an_origin(seed: int) -> None:
    """Folded along a walk, what a change adds has that change's turn and everything is known."""
    transitions = walk(seed)
    origins = Origins.of(transitions[0].states[0])
    for turn, transition in enumerate(transitions, start=1):
        for before, change, after in transition.steps():
            origins = origins.after(before, change, after, turn)
        for target in _targets(transition.after):
            assert 0 <= origins.since(target) <= turn
        added = [change for change in transition.changes if isinstance(change, AddField)]
        assert all(origins.since(("field", change.entity, change.field.name)) == turn for change in added)


def _targets(state: State) -> list[Target]:
    own: list[Target] = [("entity", entity.name) for entity in state.entities]
    own += [("field", entity.name, field.name) for entity in state.entities for field in entity.fields]
    own += [("retired-field", entity.name, name) for entity in state.entities for name in entity.retired.fields]
    return own + [("retired-segment", retired.segment) for retired in state.retired]
