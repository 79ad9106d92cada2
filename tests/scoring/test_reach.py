"""How far a scenario came at each level of retries, and who stopped it."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.config.model import OnExhausted
from stamina.outcome import AttemptOutcome, Cause, Ending, ScenarioOutcome, TurnOutcome
from stamina.scoring.reach import BUDGET, Reach, ended_by_itself, passed_all, reach, readme_score, stopped_by
from stamina.turns import CallAgent, CallCompleted, CallStarted, Ended, Progress, Rules, RunSuite, SuiteRan, advance, begin, next_step, outcome


def turn(number: int, *attempts: bool | Cause, tests: int = 4) -> TurnOutcome:
    """A turn of these attempts: True passes, False fails by the agent, a cause fails by it."""
    graded = []
    for index, ended in enumerate(attempts):
        passed = ended is True
        cause = None if passed else ended if isinstance(ended, Cause) else Cause.AGENT
        graded.append(AttemptOutcome(index, passed, tests if passed else tests - 1, tests, cause))
    return TurnOutcome(number, tuple(graded))


def scenario(*turns: tuple[bool | Cause, ...], ending: Ending, n: int = 4, r: int = 2, cause: Cause | None = None) -> ScenarioOutcome:
    return ScenarioOutcome("cell", 0, 0, n, r, tuple(turn(number, *attempts) for number, attempts in enumerate(turns)), ending, cause)


OK, ONE, TWO, LOST = (True,), (False, True), (False, False, True), (False, False, False)


def test_a_scenario_that_needed_retries_counts_less_with_fewer() -> None:
    """By hand: turn 1 needs one retry, turn 3 needs two, turn 4 is lost. So 1, 3, 4."""
    played = scenario(OK, ONE, OK, TWO, LOST, ending=Ending.EXHAUSTED, cause=Cause.AGENT)
    assert [reach(played, r) for r in range(3)] == [Reach(1, open=False), Reach(3, open=False), Reach(4, open=False)]
    assert stopped_by(played) == "agent"
    assert ended_by_itself(played)


def test_what_follows_a_lost_turn_does_not_count() -> None:
    """Under ``continue`` turns 2..4 were passed after turn 1 was lost: the prefix is 1 all the same (T5)."""
    played = scenario(OK, LOST, OK, OK, OK, ending=Ending.COMPLETED)
    assert [reach(played, r).turns for r in range(3)] == [1, 1, 1]
    assert not passed_all(played, 2)
    assert stopped_by(played) == "agent"


def test_everything_passed_is_n_plus_one_turns() -> None:
    """Turn 0 counts; nobody stopped it."""
    played = scenario(OK, OK, OK, OK, ONE, ending=Ending.COMPLETED)
    assert [passed_all(played, r) for r in range(3)] == [False, True, True]
    assert reach(played, 2) == Reach(5, open=False)
    assert stopped_by(played) is None
    assert ended_by_itself(played)


def test_nothing_can_be_cut_off_behind_the_last_turn() -> None:
    """A fault after every turn was passed takes nothing away, and leaves nothing open."""
    played = scenario(OK, OK, OK, OK, OK, ending=Ending.CRASHED, cause=Cause.BENCHMARK)
    assert reach(played, 0) == Reach(5, open=False)
    assert stopped_by(played) is None


def test_a_censored_scenario_is_open_only_where_the_agent_had_not_failed_yet() -> None:
    """Cut off in turn 3 after its first attempt failed: with no retries that turn was lost, with more it might have passed."""
    played = scenario(OK, ONE, OK, (False,), ending=Ending.CENSORED, cause=Cause.PROVIDER)
    assert [reach(played, r) for r in range(3)] == [Reach(1, open=False), Reach(3, open=True), Reach(3, open=True)]
    assert stopped_by(played) == "provider"
    assert not ended_by_itself(played)


@pytest.mark.parametrize(
    ("ending", "cause", "stopped"),
    [
        (Ending.CENSORED, Cause.SANDBOX, "sandbox"),
        (Ending.CENSORED, None, BUDGET),
        (Ending.CRASHED, None, "benchmark"),
        (Ending.CRASHED, Cause.HOST, "host"),
        (Ending.RUNNING, None, None),
    ],
)
def test_who_stopped_a_scenario_that_no_agent_ended(ending: Ending, cause: Cause | None, stopped: str | None) -> None:
    """Machinery by its name, money as the budget, a contradiction as the benchmark; a running one was stopped by nobody."""
    played = scenario(OK, OK, ending=ending, cause=cause)
    assert reach(played, 0) == Reach(2, open=True)
    assert stopped_by(played) == stopped


@pytest.mark.parametrize(("cause", "own"), [(Cause.AGENT, True), (Cause.SANDBOX, True), (Cause.HARNESS, False), (Cause.PROVIDER, False)])
def test_a_failed_turn_is_the_agents_own_unless_the_harness_or_a_silent_model_failed_it(cause: Cause, *, own: bool) -> None:
    """A sandbox is only graded when the agent itself broke it (T4)."""
    played = scenario(OK, (False, False, cause), ending=Ending.EXHAUSTED, cause=cause)
    assert ended_by_itself(played) is own
    assert stopped_by(played) == cause.value


def test_tests_of_unreached_turns_count_as_none_passed() -> None:
    """T6 by hand: three tests of four in the last attempt of turn 1, nothing after; a suite without tests passed none."""
    played = scenario(OK, LOST, ending=Ending.EXHAUSTED)
    assert readme_score(played) == (1.0 + 0.75) / 5
    assert readme_score(attrs.evolve(played, turns=(TurnOutcome(0, (AttemptOutcome(0, False, 0, 0, Cause.AGENT),)),))) == 0.0


def test_more_retries_than_were_played_cannot_be_asked_for() -> None:
    """A run with R = 2 says nothing about 3."""
    with pytest.raises(ValueError, match="played with 2 retries says nothing about 3"):
        reach(scenario(OK, ending=Ending.RUNNING), 3)


needs = st.lists(st.integers(0, 5), min_size=1, max_size=8)
"""Failed attempts before each turn would pass: the truth about a scripted agent."""


def play(failures: list[int], retries: int, on_exhausted: OnExhausted, calls: int = 1000) -> ScenarioOutcome:
    """Play the turn machine with an agent that fails each turn so often; cut off by us after so many attempts."""
    progress: Progress = begin(Rules(len(failures) - 1, retries, on_exhausted))
    for _ in range(calls):
        match next_step(progress):
            case Ended():
                break
            case CallAgent(number, attempt, call):
                progress = advance(advance(progress, CallStarted(number, attempt, call)), CallCompleted(number, attempt, call, 1.0))
            case RunSuite(number, attempt):
                progress = advance(progress, SuiteRan(number, attempt, 2 if attempt >= failures[number] else 1, 2))
    return outcome(progress, cell="cell", seed=0, repeat=0)


def would_have_reached(failures: list[int], retries: int) -> int:
    return next((number for number, needed in enumerate(failures) if needed > retries), len(failures))


@given(needs, st.integers(0, 4), st.sampled_from(OnExhausted))
def test_one_run_tells_what_every_smaller_r_would_have_given(failures: list[int], retries: int, on_exhausted: OnExhausted) -> None:
    """For each r, what is read off a run with R retries is what a run with r retries gives, under ``stop`` and ``continue`` alike."""
    played = play(failures, retries, on_exhausted)
    for r in range(retries + 1):
        assert reach(played, r) == Reach(would_have_reached(failures, r), open=False)
        assert reach(play(failures, r, OnExhausted.STOP), r) == reach(played, r)


@given(needs, st.integers(0, 4), st.sampled_from(OnExhausted), st.integers(0, 30), st.sampled_from([Ending.CENSORED, Ending.CRASHED]))
def test_a_cut_scenario_bounds_what_it_would_have_become(failures: list[int], retries: int, on_exhausted: OnExhausted, calls: int, ending: Ending) -> None:
    """Whenever it is cut off, the count so far is at most the whole one; where it is closed it is the whole one; more retries never count less."""
    played = play(failures, retries, on_exhausted, calls)
    if played.ending is Ending.RUNNING:
        played = attrs.evolve(played, ending=ending)
    reaches = [reach(played, r) for r in range(retries + 1)]
    for r, found in enumerate(reaches):
        whole = would_have_reached(failures, r)
        assert found.turns <= whole
        assert found.open or found.turns == whole
    assert [found.turns for found in reaches] == sorted(found.turns for found in reaches)
    assert [found.open for found in reaches] == sorted(found.open for found in reaches)
