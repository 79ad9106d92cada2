"""The turn machine: Algorithm 1, contract T1-T4, and resuming as a fold."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.config.model import OnExhausted
from stamina.draw import Draw
from stamina.errors import InputError
from stamina.outcome import Cause, Ending
from stamina.turns import (
    BenchmarkFailed,
    BudgetExhausted,
    CallAgent,
    CallCompleted,
    CallExpired,
    CallFailed,
    CallStarted,
    Ended,
    Event,
    FilesRestored,
    MachineryFailed,
    Progress,
    Reopened,
    Rules,
    RunSuite,
    SuiteRan,
    advance,
    begin,
    next_step,
    outcome,
    replay,
)

INFRA = [Cause.PROVIDER, Cause.SANDBOX, Cause.HOST]


def completed(turn: int, attempt: int, call: int = 0) -> CallCompleted:
    return CallCompleted(turn, attempt, call, 1.0, "s1")


def failed(turn: int, attempt: int, call: int, cause: Cause = Cause.HARNESS) -> CallFailed:
    return CallFailed(turn, attempt, call, 1.0, cause, "exit code 3")


def passing(turn: int, attempt: int = 0) -> list[Event]:
    return [CallStarted(turn, attempt, 0), completed(turn, attempt), SuiteRan(turn, attempt, 5, 5)]


def failing(turn: int, attempt: int = 0) -> list[Event]:
    return [CallStarted(turn, attempt, 0), completed(turn, attempt), SuiteRan(turn, attempt, 4, 5)]


class TestAlgorithm1:
    def test_a_turn_is_a_call_and_then_the_suite(self) -> None:
        """The agent is called, then graded; a pass leads to the next turn with its session."""
        progress = begin(Rules(turns=1, retries=0))
        assert next_step(progress) == CallAgent(0, 0, 0)
        progress = advance(advance(progress, CallStarted(0, 0, 0)), completed(0, 0))
        assert next_step(progress) == RunSuite(0, 0)
        progress = advance(progress, SuiteRan(0, 0, 5, 5))
        assert next_step(progress) == CallAgent(1, 0, 0)
        assert progress.session == "s1"

    def test_all_turns_passed_is_completed(self) -> None:
        """N + 1 passed turns end the scenario as COMPLETED."""
        assert next_step(replay(Rules(1, 0), passing(0) + passing(1))) == Ended(Ending.COMPLETED)

    def test_exhaustion_stops_by_default(self) -> None:
        """After attempt 0 and R retries the scenario is EXHAUSTED, by the agent."""
        progress = replay(Rules(5, 1), failing(0) + failing(0, 1))
        assert next_step(progress) == Ended(Ending.EXHAUSTED, Cause.AGENT, "turn 0 failed 2 times")

    def test_exhaustion_can_continue(self) -> None:
        """With ``continue`` the next turn follows a failed one, and a failed last turn completes the scenario."""
        rules = Rules(1, 0, OnExhausted.CONTINUE)
        assert next_step(replay(rules, failing(0))) == CallAgent(1, 0, 0)
        done = replay(rules, failing(0) + failing(1))
        assert next_step(done) == Ended(Ending.COMPLETED)
        assert [turn.passed for turn in done.graded] == [False, False]

    def test_a_suite_without_cases_is_no_pass(self) -> None:
        """Nothing tested is nothing passed."""
        assert not SuiteRan(0, 0, 0, 0).ok


class TestInfra:
    def test_an_interrupted_call_is_repeated(self) -> None:
        """A call that has no ending in the journal is made again under the next number."""
        assert next_step(replay(Rules(1, 0), [CallStarted(0, 0, 0)])) == CallAgent(0, 0, 1)

    def test_ten_harness_failures_grade_the_workspace_as_it_stands(self) -> None:
        """T4: then the suite runs, and a failure consumes one attempt with cause harness."""
        calls: list[Event] = []
        for call in range(10):
            assert next_step(replay(Rules(1, 1), calls)) == CallAgent(0, 0, call)
            calls += [CallStarted(0, 0, call), failed(0, 0, call)]
        assert next_step(replay(Rules(1, 1), calls)) == RunSuite(0, 0)
        after = replay(Rules(1, 1), [*calls, SuiteRan(0, 0, 1, 5)])
        assert after.graded[0].attempts[0].cause is Cause.HARNESS
        assert next_step(after) == CallAgent(0, 1, 0)

    def test_a_harness_that_recovers_leaves_the_blame_to_the_agent(self) -> None:
        """Failures before a completed call do not colour the verdict."""
        events = [CallStarted(0, 0, 0), failed(0, 0, 0), CallStarted(0, 0, 1), completed(0, 0, 1), SuiteRan(0, 0, 1, 5)]
        assert replay(Rules(1, 1), events).graded[0].attempts[0].cause is Cause.AGENT

    @pytest.mark.parametrize("cause", INFRA)
    def test_other_infra_ends_censored_and_never_fails_the_agent(self, cause: Cause) -> None:
        """Provider, sandbox and host censor after ten failures, with no graded attempt."""
        events = [event for call in range(10) for event in (CallStarted(0, 0, call), failed(0, 0, call, cause))]
        progress = replay(Rules(1, 1), events)
        assert next_step(progress) == Ended(Ending.CENSORED, cause, "exit code 3")
        assert progress.graded == ()

    def test_a_failed_suite_run_repeats_the_suite_only(self) -> None:
        """What the agent did is kept when the machinery around the suite fails."""
        events = [CallStarted(0, 0, 0), completed(0, 0), MachineryFailed(0, 0, Cause.HOST, "no free port")]
        assert next_step(replay(Rules(1, 1), events)) == RunSuite(0, 0)

    def test_lost_work_calls_the_agent_again(self) -> None:
        """Back at an earlier snapshot, the call is due again."""
        events = [CallStarted(0, 0, 0), completed(0, 0), MachineryFailed(0, 0, Cause.SANDBOX, "gone", work_lost=True)]
        assert next_step(replay(Rules(1, 1), events)) == CallAgent(0, 0, 1)

    @pytest.mark.parametrize("cause", [Cause.AGENT, Cause.PROVIDER])
    def test_running_out_of_wall_time_is_graded(self, cause: Cause) -> None:
        """T4: graded as it stands, with the cause that the clocks tell."""
        events = [CallStarted(0, 0, 0), CallExpired(0, 0, 0, 3600.0, cause)]
        assert next_step(replay(Rules(1, 1), events)) == RunSuite(0, 0)
        assert replay(Rules(1, 1), [*events, SuiteRan(0, 0, 0, 5)]).graded[0].attempts[0].cause is cause

    def test_a_sandbox_that_the_agent_broke_is_graded(self) -> None:
        """It is not infra: the attempt counts, with cause sandbox."""
        broken = CallFailed(0, 0, 0, 1.0, Cause.SANDBOX, "/bin is gone", by_agent=True)
        progress = replay(Rules(1, 1), [CallStarted(0, 0, 0), broken, SuiteRan(0, 0, 0, 5)])
        assert progress.graded[0].attempts[0].cause is Cause.SANDBOX


class TestStopping:
    def test_a_benchmark_fault_crashes_the_scenario(self) -> None:
        """Never the agent's: CRASHED, cause benchmark."""
        progress = replay(Rules(1, 1), [BenchmarkFailed(0, "case x fails against the truth")])
        assert next_step(progress) == Ended(Ending.CRASHED, Cause.BENCHMARK, "case x fails against the truth")

    def test_a_budget_censors_without_a_cause(self) -> None:
        """Nobody is to blame for an empty purse."""
        assert next_step(replay(Rules(1, 1), [BudgetExhausted(0, "scenario_usd")])) == Ended(Ending.CENSORED, None, "scenario_usd")

    def test_reopening_plays_on(self) -> None:
        """Failures are counted from 0 again, and the interrupted attempt goes on."""
        events = [event for call in range(10) for event in (CallStarted(0, 0, call), failed(0, 0, call, Cause.PROVIDER))]
        assert next_step(replay(Rules(1, 1), [*events, Reopened("resume")])) == CallAgent(0, 0, 10)


class TestExtending:
    def test_more_turns_continue_a_completed_scenario(self) -> None:
        """Raising N on COMPLETED goes on at the next turn."""
        assert next_step(replay(Rules(3, 0), passing(0) + passing(1))) == CallAgent(2, 0, 0)

    def test_more_retries_continue_an_exhausted_scenario(self) -> None:
        """Raising R on EXHAUSTED goes on at the next attempt of that turn."""
        progress = replay(Rules(3, 0), failing(0))
        assert next_step(attrs.evolve(progress, rules=Rules(3, 2))) == CallAgent(0, 1, 0)

    def test_a_turn_that_was_left_behind_stays_behind(self) -> None:
        """Raising R under ``continue`` does not contradict a journal that moved on."""
        progress = replay(Rules(3, 2, OnExhausted.CONTINUE), failing(0) + passing(1))
        assert next_step(progress) == CallAgent(2, 0, 0)

    def test_events_out_of_order_are_refused(self) -> None:
        """A journal of another scenario is named as such, not played."""
        with pytest.raises(InputError, match="not in order"):
            replay(Rules(3, 2), passing(0) + passing(2))


def test_the_outcome_of_a_running_scenario_says_so() -> None:
    """Scoring can read a run at any time."""
    result = outcome(replay(Rules(3, 2), passing(0)), cell="c", seed=7, repeat=0)
    assert (result.ending, len(result.turns), result.turns_planned, result.retries) == (Ending.RUNNING, 1, 3, 2)


rules = st.builds(Rules, st.integers(0, 4), st.integers(0, 3), st.sampled_from(OnExhausted), st.integers(0, 3))
chances = st.integers(0, 2**32).map(Draw)


def answer(step: CallAgent | RunSuite, kind: int, which: int) -> list[Event]:
    """What happens when a step is taken: any of the things that can."""
    if isinstance(step, RunSuite):
        if kind < 3:
            return [MachineryFailed(step.turn, step.attempt, INFRA[which], "down", work_lost=kind == 0)]
        return [SuiteRan(step.turn, step.attempt, 4 + (kind > 5), 5)]
    at = (step.turn, step.attempt)
    ends: list[Event] = [
        CallCompleted(*at, step.call, 1.0),
        CallExpired(*at, step.call, 1.0, Cause.AGENT),
        failed(*at, step.call, Cause.HARNESS),
        failed(*at, step.call, INFRA[which]),
        failed(*at, step.call, Cause.AGENT),
        MachineryFailed(*at, INFRA[which], "down"),
    ]
    return [FilesRestored(*at, ("README.md",)), CallStarted(*at, step.call), ends[kind] if kind < len(ends) else ends[0]]


def play(rules: Rules, script: Draw, progress: Progress | None = None) -> tuple[Progress, list[Event]]:
    """Play to the end; 1000 steps without one mean that the machine does not terminate."""
    progress = progress or begin(rules)
    events: list[Event] = []
    for _ in range(1000):
        step = next_step(progress)
        if isinstance(step, Ended):
            return progress, events
        for event in answer(step, script.integer(0, 9), script.integer(0, 2)):
            events.append(event)
            progress = advance(progress, event)
    raise AssertionError("no end")


class TestProperties:
    @given(rules, chances)
    def test_it_terminates_within_its_retries(self, rules: Rules, script: Draw) -> None:
        """Whatever happens there is an end, no turn has more than R retries, and turns have no gap."""
        progress, _ = play(rules, script)
        assert all(len(turn.attempts) <= rules.retries + 1 for turn in progress.graded)
        assert [turn.turn for turn in progress.graded] == list(range(len(progress.graded)))
        assert all([a.attempt for a in turn.attempts] == list(range(len(turn.attempts))) for turn in progress.graded)

    @given(rules, chances)
    def test_only_a_graded_suite_consumes_an_attempt(self, rules: Rules, script: Draw) -> None:
        """Infra failures leave no trace in the outcome: as many attempts as suites that ran."""
        progress, events = play(rules, script)
        assert sum(len(turn.attempts) for turn in progress.graded) == sum(isinstance(event, SuiteRan) for event in events)

    @given(rules, chances, st.integers(0, 300))
    def test_a_replayed_prefix_is_where_the_live_run_was(self, rules: Rules, script: Draw, cut: int) -> None:
        """A kill after any event loses nothing: the rest of the live run follows from the replay."""
        final, events = play(rules, script)
        resumed = replay(rules, events[:cut])
        for event in events[cut:]:
            resumed = advance(resumed, event)
        assert resumed == final

    @given(rules, chances, chances, st.integers(0, 3), st.integers(0, 3))
    def test_an_extended_scenario_keeps_what_it_was(self, rules: Rules, script: Draw, more: Draw, turns: int, retries: int) -> None:
        """Larger N and R keep every graded attempt, go on, and end."""
        before, _ = play(rules, script)
        wider = attrs.evolve(rules, turns=rules.turns + turns, retries=rules.retries + retries)
        after, _ = play(wider, more, attrs.evolve(before, rules=wider))
        assert after.graded[: len(before.graded) - 1] == before.graded[:-1]
        if before.graded:
            kept = before.graded[-1].attempts
            assert after.graded[len(before.graded) - 1].attempts[: len(kept)] == kept

    @given(rules, chances)
    def test_blame_is_only_ever_on_failed_attempts(self, rules: Rules, script: Draw) -> None:
        """A pass has no cause, a failure always has one, and never provider or host unless the call expired so."""
        progress, _ = play(rules, script)
        for attempt in (attempt for turn in progress.graded for attempt in turn.attempts):
            assert (attempt.cause is None) == attempt.passed
            assert attempt.cause in (None, Cause.AGENT, Cause.HARNESS)
