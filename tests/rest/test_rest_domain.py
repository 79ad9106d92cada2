"""The REST domain as the turn loop sees it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from stamina.domain import Domain, Scenario, ScenarioOptions
from stamina.exchange import Request
from stamina.rest.canonical import digest
from stamina.rest.domain import MILESTONE, RECENT, RestDomain, RestScenario, Trajectory
from stamina.rest.sampling import initial
from stamina.rest.validate import problems

OPTIONS = ScenarioOptions(seed=3)


@pytest.fixture
def scenario() -> RestScenario:
    return RestDomain().scenario(OPTIONS)


def test_it_is_a_domain_with_scenarios(scenario: RestScenario) -> None:
    """Both protocols are kept, which mypy checks, and the names are there."""
    domain: Domain = RestDomain()
    played: Scenario = scenario
    assert (domain.name, domain.version) == ("rest", "1")
    assert played.options == OPTIONS


def test_turn_0_asks_for_the_specification(scenario: RestScenario) -> None:
    """The opening prompt points to the files, which are the instructions and the specification."""
    plan = scenario.turn(0)
    assert (plan.turn, plan.changes, plan.short) == (0, (), False)
    assert plan.digest == digest(initial(OPTIONS))
    assert set(scenario.files) == {"README.md", "initial_specification.md"}
    assert all(name in plan.prompt for name in scenario.files)


def test_a_turn_has_a_line_for_each_change(scenario: RestScenario) -> None:
    """k changes are k lines, and the digest is that of the state after them."""
    plan = scenario.turn(2)
    assert len(plan.changes) == len(scenario.changes(2)) == 5
    assert all(line and "\n" not in line for line in plan.changes)
    assert plan.digest == digest(scenario.state(2))


def test_turns_may_be_asked_in_any_order(scenario: RestScenario) -> None:
    """What a turn asks does not depend on what was asked before."""
    late_first = [scenario.turn(number) for number in (6, 2, 0, 5)]
    in_order = RestDomain().scenario(OPTIONS)
    assert late_first == [in_order.turn(number) for number in (6, 2, 0, 5)]


def test_threads_get_the_same_turns(scenario: RestScenario) -> None:
    """Methods are called from worker threads, several at once."""
    with ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(scenario.turn, [4, 1, 4, 3, 0, 4, 2, 1]))
    assert [plan.turn for plan in plans] == [4, 1, 4, 3, 0, 4, 2, 1]
    assert len({plan.digest for plan in plans}) == 5


def test_a_trajectory_remembers_little() -> None:
    """However many turns are asked for, only milestones and the last few are kept."""
    trajectory = Trajectory(ScenarioOptions(seed=0, changes_per_turn=1))
    for turn in (*range(2 * MILESTONE), 3, 4, 5, 6):
        assert trajectory.at(turn).turn == turn
        assert len(trajectory.remembered) <= RECENT + 1 + turn // MILESTONE + 1
    assert {0, MILESTONE} <= set(trajectory.remembered)


def test_there_is_no_turn_before_the_first(scenario: RestScenario) -> None:
    """A negative turn is a fault of the caller."""
    with pytest.raises(ValueError, match="no turn -1"):
        scenario.turn(-1)


def test_suite_and_truth_belong_to_the_turn(scenario: RestScenario) -> None:
    """The suite of a turn passes against the truth of that turn, and some of it fails against an earlier one."""
    suite = scenario.suite(3)
    assert problems(scenario.state(3)) == []

    def failures(turn: int) -> int:
        handle = scenario.truth(turn)
        return sum(any(step.expect.judge(step.request, handle(step.request)) for step in case.steps) for case in suite.cases)

    assert failures(3) == 0
    assert failures(0) > 0
    assert {case.since for case in suite.cases} <= {0, 1, 2, 3}


def test_each_truth_is_a_fresh_server(scenario: RestScenario) -> None:
    """Two servers of a turn share no objects."""
    segment = scenario.state(0).entities[0].segment
    first, second = scenario.truth(0), scenario.truth(0)
    for step in next(case for case in scenario.suite(0).cases if case.family == "crud").steps:
        first(step.request)
    assert second(Request("GET", f"/{segment}")).json == []
