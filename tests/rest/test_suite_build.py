"""The suite of a state: sound against the ground truth, deterministic, bounded, and resting on rules that the text states."""

import re

import pytest

from stamina.domain import ScenarioOptions
from stamina.draw import Draw
from stamina.exchange import RawBody, Request
from stamina.playing import play
from stamina.rest import suite as suites
from stamina.rest.domain import RestDomain
from stamina.rest.origins import Origins
from stamina.rest.prose.instructions import covered, instructions
from stamina.rest.sampling import initial, sample_transition
from stamina.rest.schema import Entity, EnumType, Field, State, StringType
from stamina.rest.suite import build
from stamina.rest.truth import Truth
from stamina.suite import Suite
from tests.rest.library import LIBRARY
from tests.rest.walks import SEEDS, TURNS, walk

BARE = State((Entity("Nothing", ()), Entity("Lonely", (Field("word", StringType(), required=False),))))
"""An entity without fields, and one with nothing but an optional one."""


def suite_of(state: State, seed: int = 7) -> Suite:
    return build(state, Origins.of(state), Draw(seed, "suite"))


PLACES = [(seed, turn) for seed in SEEDS for turn in (0, 5, TURNS)]


@pytest.fixture(params=["library", "bare", *PLACES], ids=str)
def state(request: pytest.FixtureRequest) -> State:
    """Two hand-written states, and some of sampled trajectories."""
    match request.param:
        case "library":
            return LIBRARY
        case "bare":
            return BARE
        case (seed, turn):
            return walk(seed)[turn - 1].after if turn else initial(ScenarioOptions(seed=seed))
    raise AssertionError(request.param)


def test_every_case_passes_against_the_ground_truth(state: State) -> None:
    """A failure here is the benchmark's own fault."""
    verdict = play(suite_of(state), Truth(state).handle)
    assert [(result.case.name, result.failure) for result in verdict.results if result.failure] == []


def test_conditions_over_lists_of_an_entity_without_objects_are_played() -> None:
    """The turn at which an action first looked through a list whose entity no scene had objects of."""
    scenario = RestDomain().scenario(ScenarioOptions(seed=2))
    assert play(scenario.suite(33), scenario.truth(33)).ok


def test_cases_have_unique_names_a_reset_first_and_a_place_in_the_state(state: State) -> None:
    cases = suite_of(state).cases
    assert len({case.name for case in cases}) == len(cases)
    assert all(re.fullmatch(r"[a-z0-9_]+", case.name) for case in cases)
    assert all(case.steps[0].request == Request("POST", "/reset") for case in cases)
    assert all(any(not step.setup for step in case.steps) for case in cases)
    assert all(case.name.startswith((case.target[1].lower(), "server")) for case in cases if len(case.target) > 1)


def test_every_rule_that_a_case_rests_on_is_in_the_instructions(state: State) -> None:
    """A test may only expect what the text says."""
    text = instructions(ScenarioOptions(seed=0))
    rules = {rule for case in suite_of(state).cases for rule in case.rules}
    assert [rule for rule in sorted(rules) if not covered(text, rule)] == []


def test_requests_keep_to_the_contract(state: State) -> None:
    """Ids match S8, texts are ASCII (V6), lists have no duplicates and a body does not name the id that it creates (S7), freed keys are never sent (H6)."""
    freed = {entity.segment: entity.retired.fields for entity in state.entities}
    for case in suite_of(state).cases:
        for step in case.steps:
            body, segment = step.request.body, step.request.path.split("/")[1]
            if not isinstance(body, dict):
                continue
            assert repr(body).isascii()
            assert not set(body) & set(freed.get(segment, ()))
            assert "id" not in body or not isinstance(body["id"], str) or re.fullmatch(r"[a-z0-9_-]{1,32}", body["id"])
            lists = [value for value in body.values() if isinstance(value, list)]
            assert all(len(value) == len(list(map(repr, value))) == len({repr(item) for item in value}) for value in lists)
            if step.request.method == "POST":
                assert not any(body.get("id", "") in value for value in lists if value)


def test_the_same_seed_makes_the_same_suite_and_another_seed_other_values() -> None:
    first = suite_of(LIBRARY)
    for remembered in (suites._alone, suites._referring, suites._acting):
        remembered.cache_clear()
    assert suite_of(LIBRARY) == first
    assert suite_of(LIBRARY, 8) != first
    assert [case.name for case in suite_of(LIBRARY, 8).cases] == [case.name for case in first.cases]


def test_an_entity_that_did_not_change_keeps_its_cases() -> None:
    """The values of one entity do not depend on the others."""
    larger = State((*LIBRARY.entities, Entity("Newcomer", ())), LIBRARY.retired)
    before = {case.name: case for case in suite_of(LIBRARY).cases if not case.name.startswith("server")}
    after = {case.name: case for case in suite_of(larger).cases}
    assert {name: after[name] for name in before} == before


def test_a_case_tells_since_when_its_target_is_there() -> None:
    origins = Origins.of(LIBRARY, 12)
    cases = build(LIBRARY, origins, Draw(1)).cases
    assert {case.since for case in cases if case.family != "server"} == {12}
    assert {case.since for case in cases if case.family == "server"} == {0}


def test_names_that_would_be_equal_are_told_apart() -> None:
    """A field called ``a_default`` beside a default of ``a``."""
    fields = (
        Field("a", EnumType("Kind", ("x", "y", "z")), default="x"),
        Field("a_default", StringType()),
        Field("a_default_validation", StringType(), default="d"),
    )
    state = State((Entity("Odd", fields),))
    names = [case.name for case in suite_of(state).cases]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("seed", range(40))
def test_a_first_suite_has_twenty_to_thirty_cases(seed: int) -> None:
    """Finer ones for a small state, so that the first score is one of as many tests."""
    assert 20 <= len(suite_of(initial(ScenarioOptions(seed=seed))).cases) <= 30


def test_later_suites_have_more_than_a_hundred_cases() -> None:
    options = ScenarioOptions(seed=0)
    later = initial(options)
    for turn in range(1, 26):
        later = sample_transition(later, options, turn).after
    assert len(suite_of(later).cases) >= 100


def test_there_are_cases_of_every_family() -> None:
    """Defaults have cases of their own in small states only."""
    families = {case.family for state in (LIBRARY, initial(ScenarioOptions(seed=2))) for case in suite_of(state).cases}
    assert families == {"server", "crud", "many", "validation", "defaults", "analytics", "references", "removed", "actions"}


def test_malformed_bodies_are_sent_as_bytes_that_are_not_json() -> None:
    bodies = [step.request.body for case in suite_of(LIBRARY).cases for step in case.steps]
    assert any(isinstance(body, RawBody) for body in bodies)
