"""A suite says the same each time: in any order of its cases, again and again on one server, and each case on a server of its own (contract H5)."""

from collections.abc import Callable

import pytest

from stamina.domain import Handler, Sampler, ScenarioOptions
from stamina.draw import Draw
from stamina.playing import play
from stamina.rest.domain import RestDomain
from stamina.rest.permissive import Permissive
from stamina.rest.schema import State
from stamina.rest.truth import Truth
from stamina.suite import Case, Suite

ROUNDS = 3

QUICK = [(Sampler.UNIFORM, 21, 0), (Sampler.UNIFORM, 22, 9), (Sampler.DIFFICULTY, 23, 5)]
SLOW = [(sampler, seed, turn) for sampler in Sampler for seed in (30, 31) for turn in (0, 7, 20, 45, 70, 100)]
SUITES = [*(pytest.param(*each, id="-".join(map(str, each))) for each in QUICK)]
SUITES += [pytest.param(*each, id="-".join(map(str, each)), marks=pytest.mark.slow) for each in SLOW]


def servers(state: State, draw: Draw) -> dict[str, Callable[[], Handler]]:
    """Ways to start a right server: the truth, and permissive ones of which each start takes the same liberties."""
    permissive = {f"permissive {number}": (lambda number=number: Permissive(state, draw.at("latitude", number)).handle) for number in range(ROUNDS)}
    return {"truth": lambda: Truth(state).handle, **permissive}


def outcomes(cases: tuple[Case, ...], server: Handler) -> dict[str, tuple[object, ...]]:
    """How each case ended, by its name: the status, and what failed."""
    verdict = play(Suite(cases), server)
    return {result.case.name: (result.status, result.reason, result.failure) for result in verdict.results}


@pytest.mark.parametrize(("sampler", "seed", "turn"), SUITES)
def test_every_order_on_any_right_server_says_the_same(sampler: Sampler, seed: int, turn: int) -> None:
    """In its own order twice, shuffled, and backwards, all on one server that is never started anew; then every case on a fresh one."""
    scenario = RestDomain().scenario(ScenarioOptions(seed=seed, sampler=sampler))
    cases, draw = scenario.suite(turn).cases, Draw("repeat", seed, turn)
    expected = {case.name: ("passed", "", None) for case in cases}
    orders = [cases, cases, *(tuple(draw.at("order", number).shuffled(cases)) for number in range(ROUNDS)), cases[::-1]]
    for start in servers(scenario.state(turn), draw).values():
        server = start()
        for order in orders:
            assert outcomes(order, server) == expected
    fresh = servers(scenario.state(turn), draw)["permissive 0"]
    for case in cases:
        assert outcomes((case,), fresh()) == {case.name: expected[case.name]}


@pytest.mark.parametrize(("sampler", "seed", "turn"), QUICK)
def test_a_wrong_server_fails_the_same_cases_each_time(sampler: Sampler, seed: int, turn: int) -> None:
    """Here one that is two turns behind: not only passing is repeatable."""
    scenario = RestDomain().scenario(ScenarioOptions(seed=seed, sampler=sampler))
    cases, draw = scenario.suite(turn + 2).cases, Draw("repeat", seed, turn)
    server = Truth(scenario.state(turn)).handle
    first = outcomes(cases, server)

    assert any(status == "failed" for status, *_ in first.values())
    for number in range(ROUNDS):
        assert outcomes(tuple(draw.at("order", number).shuffled(cases)), server) == first
