"""Conditions that were removed are remembered in the names of today, as long as what they mention is there."""

from functools import reduce

import attrs

from stamina.domain import ScenarioOptions
from stamina.draw import Draw
from stamina.playing import play
from stamina.rest.apply import apply
from stamina.rest.changes import AddCondition, Change, DeleteField, RemoveAction, RemoveCondition, RenameEntity, RenameField
from stamina.rest.domain import RestDomain, Trajectory
from stamina.rest.expressions import Comparator, Comparison, Condition, FieldRef, Literal
from stamina.rest.memory import Removed, remembered, removed
from stamina.rest.origins import Origins
from stamina.rest.schema import State
from stamina.rest.suite import build
from stamina.rest.truth import Truth
from tests.rest.library import LEND, LIBRARY

HOLDER = next(entity for entity in LIBRARY.entities if LEND.name in [action.name for action in entity.actions])
NOT_SEVEN = Comparison(FieldRef("level"), Comparator.NE, Literal(7))


def removed_after(*changes: Change) -> tuple[State, Removed]:
    state = memory = LIBRARY
    for change in changes:
        state, memory = apply(state, change), remembered(memory, change)
    return state, removed(state, memory)


def taken_away(condition: Condition, entity: str = HOLDER.name) -> tuple[Change, Change]:
    return AddCondition(entity, LEND.name, condition), RemoveCondition(entity, LEND.name, condition)


def test_a_removed_condition_is_remembered() -> None:
    assert removed_after(*taken_away(NOT_SEVEN))[1] == {(HOLDER.name, "lend"): (NOT_SEVEN,)}
    assert removed_after(*taken_away(NOT_SEVEN)[:1])[1] == {}


def test_it_goes_by_the_names_of_today() -> None:
    found = removed_after(*taken_away(NOT_SEVEN), RenameField(HOLDER.name, "level", "height"), RenameEntity(HOLDER.name, "Keeper"))[1]
    assert found == {("Keeper", "lend"): (attrs.evolve(NOT_SEVEN, left=FieldRef("height")),)}


def test_it_is_forgotten_with_its_field_or_its_action_and_when_it_is_back() -> None:
    for change in (DeleteField(HOLDER.name, "level"), RemoveAction(HOLDER.name, "lend"), taken_away(NOT_SEVEN)[0]):
        assert removed_after(*taken_away(NOT_SEVEN), change)[1] == {}


def test_a_server_that_still_asks_for_it_is_found() -> None:
    """No other test has any reason to try the 7."""
    state, gone = removed_after(*taken_away(NOT_SEVEN))
    still = apply(state, taken_away(NOT_SEVEN)[0])
    suite = build(state, Origins.of(state), Draw("memory"), gone)
    assert play(suite, Truth(state).handle).ok
    assert [result.case.target for result in play(suite, Truth(still).handle).results if result.failure] == [("action", HOLDER.name, "lend")]
    assert play(build(state, Origins.of(state), Draw("memory")), Truth(still).handle).ok


def test_a_trajectory_remembers_what_it_has_removed() -> None:
    options = ScenarioOptions(seed=1)
    trajectory, scenario = Trajectory(options), RestDomain().scenario(options)
    changes = [change for turn in range(31) for change in scenario.changes(turn)]
    memory = reduce(remembered, changes, scenario.state(0))
    assert trajectory.at(30).memory == memory
    assert len(removed(scenario.state(30), memory)) > 0
