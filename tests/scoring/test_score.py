"""The numbers of a cell, against values worked out by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.domain import Language
from stamina.outcome import AttemptOutcome, Cause, Ending, ScenarioOutcome, TurnOutcome
from stamina.scoring.estimate import Estimate, estimate
from stamina.scoring.played import Asked, Played, played
from stamina.scoring.score import Bounds, CellScore, Tally, score_cells
from stamina.turns import BenchmarkFailed, CallCompleted, CallStarted, Rules, SuiteRan, WorkspaceMeasured


def scenario(passed: int, ending: Ending, *, n: int = 9, cause: Cause | None = None, seed: int = 0, cell: str = "a", retries: int = 0) -> ScenarioOutcome:
    """So many turns passed at once; EXHAUSTED fails the next one with every retry, 3 tests of 4."""
    turns = [TurnOutcome(number, (AttemptOutcome(0, True, 4, 4),)) for number in range(passed)]
    if ending is Ending.EXHAUSTED:
        turns.append(TurnOutcome(passed, tuple(AttemptOutcome(r, False, 3, 4, cause or Cause.AGENT) for r in range(retries + 1))))
    return ScenarioOutcome(cell, seed, 0, n, retries, tuple(turns), ending, cause)


def one(*outcomes: ScenarioOutcome) -> CellScore:
    (score,) = score_cells(Played("1", outcome) for outcome in outcomes)
    return score


def test_mean_error_and_rate_by_hand() -> None:
    """Turns 2, 4, 10 of 10: mean 16/3, sample deviation √(104/6), a third passed everything."""
    score = one(scenario(2, Ending.EXHAUSTED), scenario(4, Ending.EXHAUSTED), scenario(10, Ending.COMPLETED))
    (level,) = score.levels
    assert level.average.mean == pytest.approx(16 / 3)
    assert level.average.se == pytest.approx(math.sqrt(104 / 6) / math.sqrt(3))
    assert level.pass_rate == pytest.approx(1 / 3)
    assert score.readme_score == pytest.approx(((2 + 0.75) / 10 + (4 + 0.75) / 10 + 1) / 3)
    assert score.causes == {"agent": 2}
    assert score.turns == 10
    assert score.tally == Tally(3, 0, 0, 0)
    assert level.average_bounds == Bounds(level.average.mean, level.average.mean)


def test_a_censored_scenario_counts_its_turns_and_widens_the_bounds() -> None:
    """2 exhausted, 6 censored, of 10: as it is (2+6)/2, at best (2+10)/2, without it 2."""
    score = one(scenario(2, Ending.EXHAUSTED), scenario(6, Ending.CENSORED, cause=Cause.PROVIDER))
    (level,) = score.levels
    assert (level.average.mean, level.average_bounds) == (4.0, Bounds(4.0, 6.0))
    assert (level.pass_rate, level.pass_rate_bounds) == (0.0, Bounds(0.0, 0.5))
    assert level.infra_excluded == Estimate(2.0, None, 1)
    assert level.open == 1
    assert score.causes == {"agent": 1, "provider": 1}
    assert score.tally == Tally(1, 1, 0, 0)


def test_a_failure_of_the_harness_counts_as_it_is_and_is_left_out_of_infra_excluded() -> None:
    """T4: not passed in the score as it is; no bound opens, for the scenario did end."""
    score = one(scenario(2, Ending.EXHAUSTED, cause=Cause.HARNESS), scenario(6, Ending.EXHAUSTED))
    (level,) = score.levels
    assert (level.average.mean, level.average_bounds.high, level.infra_excluded.mean) == (4.0, 4.0, 6.0)
    assert score.causes == {"agent": 1, "harness": 1}


def test_running_scenarios_are_shown_and_not_counted() -> None:
    """A rate rests on what has ended."""
    score = one(scenario(2, Ending.EXHAUSTED), scenario(9, Ending.RUNNING))
    assert score.levels[0].average == Estimate(2.0, None, 1)
    assert (score.tally.scored, score.tally.total) == (1, 2)


def test_nothing_that_ended_is_unknown_and_never_nan() -> None:
    """Only running scenarios: every number is None, no division by zero."""
    score = one(scenario(3, Ending.RUNNING))
    (level,) = score.levels
    assert level.average == Estimate(None, None, 0)
    assert (level.pass_rate, score.readme_score, level.average_bounds, score.causes) == (None, None, Bounds(None, None), {})


def test_all_censored_leaves_bounds() -> None:
    """Nothing was ended by an agent: the score as it is is the lower bound, infra-excluded is unknown."""
    (level,) = one(scenario(1, Ending.CENSORED), scenario(3, Ending.CRASHED)).levels
    assert level.average_bounds == Bounds(2.0, 10.0)
    assert level.pass_rate_bounds == Bounds(0.0, 1.0)
    assert level.infra_excluded == Estimate(None, None, 0)
    assert level.infra_excluded_pass_rate is None


def test_a_single_scenario_has_no_standard_error() -> None:
    """K = 1: null, not 0 (T5)."""
    assert one(scenario(4, Ending.EXHAUSTED)).levels[0].average == Estimate(4.0, None, 1)


def test_versions_lengths_and_retries_are_never_pooled() -> None:
    """T7: each combination is an entry of its own, and entries are ordered."""
    short, long = scenario(2, Ending.EXHAUSTED), scenario(2, Ending.EXHAUSTED, n=19)
    more = scenario(2, Ending.EXHAUSTED, retries=1)
    scores = score_cells([Played("2", short), Played("1", short), Played("1", long), Played("1", more), Played("1", scenario(1, Ending.EXHAUSTED, cell="Z"))])
    assert [(score.cell, score.version, score.turns, score.retries) for score in scores] == [
        ("Z", "1", 10, 0),
        ("a", "1", 10, 0),
        ("a", "1", 10, 1),
        ("a", "1", 20, 0),
        ("a", "2", 10, 0),
    ]
    assert all(score.tally.total == 1 for score in scores)


def test_nothing_played_is_no_cells() -> None:
    """An empty run is an empty report."""
    assert score_cells([]) == ()


turns = st.lists(st.integers(0, 3), max_size=6).map(
    lambda needed: tuple(
        TurnOutcome(number, tuple(AttemptOutcome(r, r == failed, r == failed, 1, None if r == failed else Cause.AGENT) for r in range(min(failed, 2) + 1)))
        for number, failed in enumerate(needed)
    )
)
unfinished = st.builds(
    ScenarioOutcome,
    st.just("a"),
    st.integers(0, 9),
    st.just(0),
    st.just(5),
    st.just(2),
    turns,
    st.sampled_from([Ending.CENSORED, Ending.CRASHED, Ending.RUNNING]),
)
finished = st.integers(0, 5).map(lambda passed: scenario(passed, Ending.EXHAUSTED, n=5, retries=2)) | st.just(scenario(6, Ending.COMPLETED, n=5, retries=2))


@given(st.lists(unfinished | finished, min_size=1, max_size=8))
def test_more_retries_never_score_less_and_bounds_are_in_order(outcomes: list[ScenarioOutcome]) -> None:
    """For any mix of endings: every number grows with r, lies in its bounds, and rates are fractions."""
    score = one(*outcomes)
    averages = [level.average.mean for level in score.levels if level.average.mean is not None]
    rates = [level.pass_rate for level in score.levels if level.pass_rate is not None]
    assert averages == sorted(averages)
    assert rates == sorted(rates)
    for level in score.levels:
        assert (level.average.mean is None) == (score.tally.scored == 0)
        for low, value, high, top in (
            (level.average_bounds.low, level.average.mean, level.average_bounds.high, score.turns),
            (level.pass_rate_bounds.low, level.pass_rate, level.pass_rate_bounds.high, 1),
        ):
            if value is not None and low is not None and high is not None:
                assert 0 <= low <= value <= high <= top
    assert sum(score.causes.values()) <= score.tally.total


@given(st.lists(st.floats(0, 101), min_size=2, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_scenarios_changes_no_bit(values: list[float], shuffler: random.Random) -> None:
    """The same scenarios give the same bytes, in whatever order they were found."""
    shuffled: Sequence[float] = shuffler.sample(values, len(values))
    assert estimate(shuffled) == estimate(values)


def test_a_journal_folds_to_outcome_lines_and_mismatched_turns() -> None:
    """Lines are those of the last measurement; an unknown language is no mismatch; a turn is named once."""
    events = [
        CallStarted(0, 0, 0),
        CallCompleted(0, 0, 0, 1.0),
        WorkspaceMeasured(0, 0, {"python": 10}, 10, 0, program="python3", program_language="python"),
        SuiteRan(0, 0, 1, 1),
        WorkspaceMeasured(1, 0, {"python": 10, "go": 5}, 5, 0, program="server", program_language="go"),
        WorkspaceMeasured(1, 1, {"python": 10, "go": 7}, 2, 0, program="server", program_language="go"),
        WorkspaceMeasured(2, 0, {"go": 7}, 0, 10),
        BenchmarkFailed(2, "the suite contradicts the truth"),
    ]
    found = played(Asked("3", Rules(4, 2), Language.PYTHON), events, cell="a", seed=7, repeat=1)
    assert (found.version, found.lines, found.mismatches) == ("3", 7, (1,))
    assert (found.outcome.seed, found.outcome.repeat, found.outcome.ending, len(found.outcome.turns)) == (7, 1, Ending.CRASHED, 1)
    assert played(Asked("3", Rules(4, 2)), events, cell="a", seed=7, repeat=1).mismatches == ()
    assert played(Asked("3", Rules(4, 2), Language.PYTHON), [], cell="a", seed=7, repeat=1).lines is None
