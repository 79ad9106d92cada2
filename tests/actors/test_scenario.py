"""One scenario, in virtual time: what is called, what is kept, who is blamed, and that stopping anywhere loses nothing."""

import contextlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pytest
import trio
import trio.testing

from actors.observer import Happened, Waiting
from actors.permits import Threads
from actors.scenario import play
from actors.stopping import Stop
from scenario_store.journal import read_journal
from stamina.config.model import OnExhausted
from stamina.errors import InputError
from stamina.outcome import Cause, Ending, ScenarioOutcome
from stamina.turns import BenchmarkFailed, CallStarted, Event, FilesRestored, MachineryFailed, SuiteRan, TurnBegan, WorkspaceMeasured
from stamina.verdicts import read_verdict
from tests.actors import fakes
from tests.actors.fakes import Script, ToyScenario, Watcher, World, always, cast_of, folder_of, stage_of, works

T = TypeVar("T")


async def played(root: Path, script: Script, *, scenario: ToyScenario | None = None, world: World | None = None, **settings: Any) -> ScenarioOutcome:
    work = works(**settings)[0]
    return await play(cast_of(work, root, scenario), stage_of(world or World(script)))


def journal(root: Path) -> tuple[Event, ...]:
    return read_journal(folder_of(works()[0], root).journal, Event).events


def shape(outcome: ScenarioOutcome) -> list[list[bool]]:
    return [[attempt.passed for attempt in turn.attempts] for turn in outcome.turns]


class TestPlaying:
    async def test_all_turns_pass(self, tmp_path: Path, autojump_clock: object) -> None:
        """Turn by turn, one call each, with the session carried on and the turn's request as the prompt."""
        world = World(always(fakes.PASS))
        outcome = await played(tmp_path, world.script, world=world)
        assert (outcome.ending, shape(outcome)) == (Ending.COMPLETED, [[True]] * 4)
        assert [(place, prompt, session) for place, prompt, session in world.calls] == [
            ((0, 0, 0), "say 0", "new"),
            ((1, 0, 0), "say 1", "s0"),
            ((2, 0, 0), "say 2", "s1"),
            ((3, 0, 0), "say 3", "s2"),
        ]
        assert (world.open, world.opened) == (0, 1)

    async def test_a_retry_is_told_what_failed(self, tmp_path: Path, autojump_clock: object) -> None:
        """The prompt of a retry is the feedback on the attempt before."""
        world = World(lambda turn, attempt, call: fakes.PASS if attempt or not turn else fakes.FAIL)
        outcome = await played(tmp_path, world.script, world=world, turns=1)
        assert shape(outcome) == [[True], [False, True]]
        assert world.calls[-1] == ((1, 1, 0), "2 failed (detailed)", "s1")

    async def test_exhaustion_stops(self, tmp_path: Path, autojump_clock: object) -> None:
        """After R retries of a turn there is no further call."""
        outcome = await played(tmp_path, lambda turn, attempt, call: fakes.FAIL if turn == 2 else fakes.PASS)
        assert (outcome.ending, outcome.cause, shape(outcome)) == (Ending.EXHAUSTED, Cause.AGENT, [[True], [True], [False] * 3])

    async def test_exhaustion_can_continue(self, tmp_path: Path, autojump_clock: object) -> None:
        """The next turn's request follows a turn that was given up."""
        script: Script = lambda turn, attempt, call: fakes.FAIL if turn == 1 else fakes.PASS  # noqa: E731
        outcome = await played(tmp_path, script, retries=0, on_exhausted=OnExhausted.CONTINUE)
        assert (outcome.ending, shape(outcome)) == (Ending.COMPLETED, [[True], [False], [True], [True]])

    async def test_a_server_that_does_not_start_fails_every_case(self, tmp_path: Path, autojump_clock: object) -> None:
        """The reason is the verdict's, the log is in the feedback's reach, not in tests.json."""
        outcome = await played(tmp_path, always(fakes.NO_SERVER), turns=0, retries=0)
        assert outcome.turns[0].attempts[0].tests_passed == 0
        (ran,) = [event for event in journal(tmp_path) if isinstance(event, SuiteRan)]
        assert ran.detail == "run_server.sh ended"
        kept = read_verdict(json.loads((folder_of(works()[0], tmp_path).latest(0, 0) / "tests.json").read_bytes()))
        assert {case.reason for case in kept.cases} == {"run_server.sh ended"}

    async def test_what_an_attempt_leaves(self, tmp_path: Path, autojump_clock: object) -> None:
        """Prompt, tests, timings, and feedback where it failed; code counted, program named."""
        await played(tmp_path, lambda turn, attempt, call: fakes.PASS if attempt else fakes.FAIL, turns=0)
        folder = folder_of(works()[0], tmp_path)
        assert sorted(path.name for path in folder.latest(0, 0).iterdir()) == ["feedback.md", "prompt.md", "tests.json", "timings.json"]
        assert not (folder.latest(0, 1) / "feedback.md").exists()
        measured = [event for event in journal(tmp_path) if isinstance(event, WorkspaceMeasured)]
        assert (measured[1].lines, measured[1].added, measured[1].program_language) == ({"python": 1}, 1, "python")

    async def test_turns_are_recorded_before_they_are_asked(self, tmp_path: Path, autojump_clock: object) -> None:
        """Each turn's state is named in the journal, once, and each call is announced."""
        await played(tmp_path, always(fakes.PASS), turns=1)
        kinds = [type(event) for event in journal(tmp_path)]
        assert [kind for kind in kinds if kind in (TurnBegan, CallStarted, SuiteRan)] == [TurnBegan, CallStarted, SuiteRan] * 2


class TestInfra:
    @pytest.mark.parametrize("what", [fakes.EXIT, fakes.KILLED])
    async def test_harness_failures_consume_no_retry(self, tmp_path: Path, autojump_clock: object, what: str) -> None:
        """T4: repeated in place after pauses, then judged as if nothing had been."""
        world = World(lambda turn, attempt, call: what if call < 4 else fakes.PASS)
        outcome = await played(tmp_path, world.script, world=world, turns=0)
        assert shape(outcome) == [[True]]
        assert [place for place, _, _ in world.calls] == [(0, 0, call) for call in range(5)]

    async def test_pauses_grow_and_are_told(self, tmp_path: Path, autojump_clock: object) -> None:
        """Base times two to the n, capped."""
        seen = Watcher()
        world = World(lambda turn, attempt, call: fakes.PROVIDER if call < 5 else fakes.PASS)
        await play(cast_of(works(turns=0)[0], tmp_path), stage_of(world, seen=seen))
        assert [event.seconds for event in seen.of(Waiting)] == [1, 2, 4, 8, 8]
        assert {event.reason for event in seen.of(Waiting)} == {"exit code 4"}

    async def test_a_harness_that_never_works_is_graded(self, tmp_path: Path, autojump_clock: object) -> None:
        """After ten failures the workspace is tested as it stands; cause harness."""
        world = World(always(fakes.EXIT))
        outcome = await played(tmp_path, world.script, world=world, turns=0, retries=0)
        assert len(world.calls) == 10
        assert (outcome.ending, outcome.cause) == (Ending.EXHAUSTED, Cause.HARNESS)

    async def test_a_provider_that_is_down_censors(self, tmp_path: Path, autojump_clock: object) -> None:
        """Never a failed attempt."""
        outcome = await played(tmp_path, lambda turn, attempt, call: fakes.PROVIDER if turn else fakes.PASS)
        assert (outcome.ending, outcome.cause, shape(outcome)) == (Ending.CENSORED, Cause.PROVIDER, [[True]])

    async def test_a_lost_sandbox_is_made_again(self, tmp_path: Path, autojump_clock: object) -> None:
        """The call is repeated in a new one; the old one is given back."""
        world = World(lambda turn, attempt, call: fakes.FAULT if (turn, call) == (1, 0) else fakes.PASS)
        outcome = await played(tmp_path, world.script, world=world, turns=1)
        assert shape(outcome) == [[True], [True]]
        assert (world.opened, world.open) == (2, 0)
        assert [event.cause for event in journal(tmp_path) if isinstance(event, MachineryFailed)] == [Cause.SANDBOX]

    async def test_a_fault_around_the_suite_repeats_the_suite_alone(self, tmp_path: Path, autojump_clock: object) -> None:
        """What was paid for is not paid again."""
        world = World(always(fakes.SERVER_FAULT))
        outcome = await played(tmp_path, world.script, world=world, turns=0, retries=0)
        assert len(world.calls) == 1
        assert len(outcome.turns) == 1

    async def test_what_fails_on_a_full_disk_fails_nobody(self, tmp_path: Path, autojump_clock: object) -> None:
        """Neighbours may have filled it: the suite is played again when there is room."""
        world = World(always(fakes.FULL))
        outcome = await played(tmp_path, world.script, world=world, turns=0, retries=0)
        assert shape(outcome) == [[True]]
        assert len(world.calls) == 1
        [failed] = [event for event in journal(tmp_path) if isinstance(event, MachineryFailed)]
        assert (failed.cause, failed.detail) == (Cause.HOST, "disk full (0 MiB free): what the suite found does not count")

    async def test_a_sandbox_that_never_opens_censors(self, tmp_path: Path, autojump_clock: object) -> None:
        """Ten times, with a growing pause before each next one, then the end."""
        world = World(always(fakes.PASS), open_faults=100)
        outcome = await played(tmp_path, world.script, world=world)
        assert (outcome.ending, outcome.cause) == (Ending.CENSORED, Cause.SANDBOX)
        assert world.open_faults == 90
        assert trio.current_time() >= 1 + 2 + 4 + 6 * 8

    async def test_out_of_wall_time_is_graded_as_it_stands(self, tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
        """One call, its whole budget, cause agent."""
        outcome = await played(tmp_path, always(fakes.HANG), turns=0, retries=0, call_seconds=500.0)
        assert (outcome.ending, outcome.cause) == (Ending.EXHAUSTED, Cause.AGENT)
        assert trio.current_time() == 501

    async def test_an_agent_that_gives_up_is_graded(self, tmp_path: Path, autojump_clock: object) -> None:
        """It consumes its attempt."""
        world = World(always(fakes.GIVE_UP))
        outcome = await played(tmp_path, world.script, world=world, turns=0, retries=1)
        assert len(world.calls) == 2
        assert outcome.cause is Cause.AGENT

    async def test_a_sandbox_that_the_agent_broke_is_its_own_doing(self, tmp_path: Path, autojump_clock: object) -> None:
        """Graded, with cause sandbox."""
        outcome = await played(tmp_path, always(fakes.BREAK), turns=0, retries=0)
        assert (outcome.ending, outcome.cause) == (Ending.EXHAUSTED, Cause.SANDBOX)

    async def test_after_the_agent_broke_its_sandbox_the_next_call_gets_another(self, tmp_path: Path, autojump_clock: object) -> None:
        """What is there is graded first, in the broken one."""
        world = World(lambda turn, attempt, call: fakes.BREAK if attempt == 0 else fakes.PASS)
        outcome = await played(tmp_path, world.script, world=world, turns=0)
        assert (shape(outcome), world.opened) == ([[False, True]], 2)


class TestTheBenchmarkItself:
    async def test_a_suite_that_contradicts_its_truth_blames_nobody(self, tmp_path: Path, autojump_clock: object) -> None:
        """CRASHED, cause benchmark, with the case named; the attempt is not graded."""
        outcome = await played(tmp_path, always(fakes.PASS), scenario=ToyScenario(broken=2))
        assert (outcome.ending, outcome.cause, shape(outcome)) == (Ending.CRASHED, Cause.BENCHMARK, [[True], [True]])
        (failed,) = [event for event in journal(tmp_path) if isinstance(event, BenchmarkFailed)]
        assert "case number of turn 2 fails against the ground truth" in failed.detail

    async def test_a_bug_passes_through(self, tmp_path: Path, autojump_clock: object) -> None:
        """It is for the supervisor; nothing is recorded as the agent's."""
        with pytest.raises(RuntimeError, match="a bug of ours"):
            await played(tmp_path, always(fakes.BUG))

    async def test_another_scenarios_journal_is_refused(self, tmp_path: Path, autojump_clock: object) -> None:
        """A state with another digest is another experiment."""
        await played(tmp_path, always(fakes.FAIL), turns=0, retries=0)
        with pytest.raises(InputError, match="another version of stamina"):
            await played(tmp_path, always(fakes.PASS), scenario=ToyScenario(salt="x"), turns=0, retries=2)


class TestFiles:
    async def test_the_benchmarks_files_are_laid_and_restored(self, tmp_path: Path, autojump_clock: object) -> None:
        """L3: what the agent changed is put back before the next call, and recorded; the first laying is not."""
        world = World(always(fakes.PASS))

        def script(turn: int, attempt: int, call: int) -> str:
            workspace = folder_of(works()[0], tmp_path).live().workspace
            assert (workspace / "README.md").read_text() == "Say the number.\n"
            if turn == 0:
                (workspace / "README.md").write_text("Say nothing.\n")
            return fakes.PASS

        world.script = script
        await played(tmp_path, script, world=world, turns=2)
        restored = [event for event in journal(tmp_path) if isinstance(event, FilesRestored)]
        assert restored == [FilesRestored(1, 0, ("README.md",))]


class TestSlowDisk:
    async def test_a_disk_that_hangs_holds_up_its_scenario_alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The journal's wait for the disk is not the event loop's: it ends because the loop runs on."""
        loop_ran, reached = threading.Event(), trio.Event()
        token, real = trio.lowlevel.current_trio_token(), os.fsync

        def hang(descriptor: int) -> None:
            if not reached.is_set():
                trio.from_thread.run_sync(reached.set, trio_token=token)
                assert loop_ran.wait(30), "the event loop waited for the disk"
            real(descriptor)

        stage = attrs.evolve(stage_of(World(always(fakes.PASS), seconds=0.0)), disk=Threads())
        await play(cast_of(works(turns=0)[0], tmp_path), stage)  # what is made once, on opening, is there
        async with trio.open_nursery() as nursery:

            async def let_go() -> None:
                await reached.wait()
                loop_ran.set()

            monkeypatch.setattr("scenario_store.journal.os.fsync", hang)
            nursery.start_soon(let_go)
            outcome = await play(cast_of(works(turns=1)[0], tmp_path), stage)
        assert outcome.ending is Ending.COMPLETED

    async def test_what_ended_is_recorded_although_we_are_cancelled_meanwhile(self, tmp_path: Path, autojump_clock: object) -> None:
        """A paid call whose end waits for the disk when everything is cancelled is not called again."""
        world = World(always(fakes.PASS))
        with trio.CancelScope() as scope:

            async def disk(write: Callable[[], T]) -> T:
                if world.calls:
                    scope.cancel()
                    await trio.sleep(1.0)
                return write()

            await play(cast_of(works()[0], tmp_path), attrs.evolve(stage_of(world), disk=disk))
        assert scope.cancelled_caught
        assert (await played(tmp_path, world.script, world=world)).ending is Ending.COMPLETED
        assert [place for place, _, _ in world.calls] == [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)]


class TestResuming:
    @pytest.mark.parametrize("after", range(40))
    async def test_a_stop_after_any_event_loses_nothing(self, tmp_path: Path, autojump_clock: object, after: int) -> None:
        """Killed after the n-th event, played on from the journal: the same turns and attempts as in one go."""
        script: Script = lambda turn, attempt, call: fakes.FAIL if attempt == 0 and turn % 2 else fakes.PASS  # noqa: E731
        work = works(turns=3)[0]

        class Killed(BaseException):
            pass

        count = 0

        def kill(event: object) -> None:
            nonlocal count
            count += isinstance(event, Happened)
            if count > after:
                raise Killed

        stage = stage_of(World(script))
        with contextlib.suppress(Killed):
            await play(cast_of(work, tmp_path), attrs.evolve(stage, observe=kill))
        outcome = await play(cast_of(work, tmp_path), stage)
        assert (outcome.ending, shape(outcome)) == (Ending.COMPLETED, [[True], [False, True], [True], [False, True]])

    async def test_a_finished_scenario_opens_no_sandbox(self, tmp_path: Path, autojump_clock: object) -> None:
        """Played again it is only read."""
        await played(tmp_path, always(fakes.PASS))
        world = World(always(fakes.PASS))
        assert (await played(tmp_path, world.script, world=world)).ending is Ending.COMPLETED
        assert world.opened == 0

    async def test_a_longer_sweep_plays_on(self, tmp_path: Path, autojump_clock: object) -> None:
        """More turns continue a completed scenario, more retries an exhausted one."""
        script: Script = lambda turn, attempt, call: fakes.FAIL if turn == 2 and attempt < 2 else fakes.PASS  # noqa: E731
        assert (await played(tmp_path, script, turns=1, retries=0)).ending is Ending.COMPLETED
        assert (await played(tmp_path, script, turns=4, retries=0)).ending is Ending.EXHAUSTED
        outcome = await played(tmp_path, script, turns=4, retries=3)
        assert (outcome.ending, shape(outcome)) == (Ending.COMPLETED, [[True], [True], [False, False, True], [True], [True]])

    async def test_being_asked_to_stop_ends_after_the_call_in_flight(self, tmp_path: Path, autojump_clock: object) -> None:
        """The call's end is in the journal, its suite is left for later, nothing new begins."""
        stop = Stop()
        world = World(always(fakes.PASS))
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                await trio.sleep(90)
                stop.ask()

            nursery.start_soon(ask)
            outcome = await play(cast_of(works()[0], tmp_path), stage_of(world, stop=stop))
        assert (outcome.ending, shape(outcome)) == (Ending.RUNNING, [[True]])
        assert len(world.calls) == 2
        assert (await played(tmp_path, world.script, world=world)).ending is Ending.COMPLETED
        assert len(world.calls) == 4
