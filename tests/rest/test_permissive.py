"""A server that is right in another way passes every suite, in any order of the cases."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stamina.domain import ScenarioOptions
from stamina.draw import Draw
from stamina.exchange import Request
from stamina.playing import play
from stamina.rest.domain import RestDomain
from stamina.rest.permissive import Latitude, Permissive, written
from stamina.suite import CaseStatus, Suite
from tests.rest.library import LIBRARY

SCENARIO = RestDomain().scenario(ScenarioOptions(seed=11))
SUITES = {turn: SCENARIO.suite(turn) for turn in (0, 6, 12)}


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10**9), turn=st.sampled_from(sorted(SUITES)), shuffled=st.booleans())
def test_no_suite_fails_a_server_that_takes_its_liberties(seed: int, turn: int, shuffled: bool) -> None:
    """Statuses, nulls, order, extra keys, numbers, order of checks: whatever is open."""
    draw = Draw("latitude", seed)
    server = Permissive(SCENARIO.state(turn), draw)
    cases = draw.at("order").shuffled(SUITES[turn].cases) if shuffled else SUITES[turn].cases
    failed = [(result.case.name, result.failure) for result in play(Suite(tuple(cases)), server.handle).results if result.status is not CaseStatus.PASSED]

    assert failed == [], server.latitudes


def test_every_liberty_is_taken_by_some_server() -> None:
    """The lots fall on both sides of each choice."""
    drawn = [Latitude.drawn(Draw("latitude", seed)) for seed in range(40)]

    for name in (attribute.name for attribute in Latitude.__attrs_attrs__):  # type: ignore[attr-defined]
        assert len({getattr(latitude, name) for latitude in drawn}) > 1, name


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists))
def test_numbers_are_the_same_in_every_style(value: object) -> None:
    """5, 5.0 and 5e0 read back as equal numbers, and a boolean stays one."""
    for style in ("plain", "pointed", "exponent"):
        read = json.loads(written(value, style))
        assert read == value
    assert written(True, "pointed") == "true"


def test_a_permissive_server_is_still_a_server() -> None:
    """It refuses what must be refused."""
    server = Permissive(LIBRARY, Draw("latitude", 1))

    assert server.handle(Request("POST", f"/{LIBRARY.entities[0].segment}", {})).status in (400, 422)
    assert server.handle(Request("GET", "/nowhere")).status == 404


def test_some_servers_change_their_ways_and_have_more_than_was_asked_for() -> None:
    """Another liberty with each request; analytics that nobody asked for, but none of those that were removed."""
    book = LIBRARY.entities[0]
    servers = [Permissive(LIBRARY, Draw("latitude", seed)) for seed in range(20)]

    assert {len(server.latitudes) for server in servers} == {1, 5}
    assert {server.handle(Request("GET", f"/analytics/{book.segment}/price/min")).status for server in servers} == {200, 404}
    assert {server.handle(Request("GET", f"/analytics/{book.segment}/pages/sum")).status for server in servers} == {404}
    statuses = {server.handle(Request("POST", "/reset")).status for server in servers if len(server.latitudes) == 5 for _ in range(5)}
    assert statuses == {200, 204}
