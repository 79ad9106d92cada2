"""A sweep in virtual time: order, permits, confinement, stopping, and that every scenario is told of once."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.observer import Draining, Held, RoomAgain, ScenarioCrashed
from actors.permits import FLOOR, Admission, Room, look
from actors.sandbox import COUNTLESS
from actors.stopping import Stop
from actors.supervise import Intensity
from actors.sweep import Company, Report, SweepEnd, play_sweep
from scenario_store.journal import read_journal
from stamina.config.model import AgentConfig, Plan, Sweep, Work
from stamina.draw import Draw
from stamina.errors import HostFault, InputError
from stamina.outcome import Cause, Ending
from stamina.turns import Event
from tests.actors import fakes
from tests.actors.clock import run_jumping
from tests.actors.fakes import Script, Watcher, World, always, cast_of, folder_of, stage_of, works


def plan_of(work: tuple[Work, ...]) -> Plan:
    return Plan(
        Sweep("toy", tuple(dict.fromkeys(one.seed for one in work)), (AgentConfig("toy"),)), tuple({one.cell.slug: one.cell for one in work}.values()), work
    )


def company_of(root: Path, world: World, kept: list[Report] | None = None, **stage: Any) -> Company:
    return Company(lambda work: cast_of(work, root), stage_of(world, **stage), (kept if kept is not None else []).append)


class TestPlaying:
    async def test_every_scenario_is_told_of_once(self, tmp_path: Path, autojump_clock: object) -> None:
        """And kept, and nothing is left open."""
        kept: list[Report] = []
        world = World(always(fakes.PASS))
        end = await play_sweep(plan_of(works(range(20))), company_of(tmp_path, world, kept, scenarios=5))
        assert sorted(report.work.seed for report in kept) == list(range(20))
        assert (end.clean, end.reports) == (True, tuple(kept))
        assert (world.peak, world.open) == (5, 0)

    async def test_scenarios_start_in_the_plans_order(self, tmp_path: Path, autojump_clock: object) -> None:
        """Cells are interleaved as planned: none gets the slow hour alone."""
        kept: list[Report] = []
        work = works(range(4), cells=("a", "b"), turns=0)
        await play_sweep(plan_of(work), company_of(tmp_path, World(always(fakes.PASS)), kept, scenarios=1))
        assert [(report.work.seed, report.work.cell.slug) for report in kept] == [(seed, cell) for seed in range(4) for cell in "ab"]

    async def test_suites_have_their_own_permits(self, tmp_path: Path, autojump_clock: object) -> None:
        """However many scenarios are alive."""
        world = World(always(fakes.PASS))
        running = peak = 0

        async def test(*given: Any) -> Any:
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            try:
                return await world.test(*given)
            finally:
                running -= 1

        company = company_of(tmp_path, world, suites=2)
        await play_sweep(plan_of(works(range(8))), attrs.evolve(company, stage=attrs.evolve(company.stage, test=test)))
        assert peak == 2

    async def test_a_second_run_reads_and_plays_nothing(self, tmp_path: Path, autojump_clock: object) -> None:
        """The same command again is a resume."""
        plan = plan_of(works(range(3)))
        first = await play_sweep(plan, company_of(tmp_path, World(always(fakes.PASS))))
        world = World(always(fakes.PASS))
        second = await play_sweep(plan, company_of(tmp_path, world))
        assert world.opened == 0
        assert {r.outcome.seed: r.outcome for r in second.reports} == {r.outcome.seed: r.outcome for r in first.reports}


class TestConfinement:
    async def test_a_bug_ends_its_scenario_only(self, tmp_path: Path, autojump_clock: object) -> None:
        """The others go on; the journal says CRASHED, the traceback lies beside it."""
        seen = Watcher()
        worlds = {1: World(always(fakes.BUG)), 0: World(always(fakes.PASS)), 2: World(always(fakes.PASS))}
        company = company_of(tmp_path, worlds[0], seen=seen)
        stage = attrs.evolve(company.stage, sandbox=lambda work, live: worlds[work.seed].sandbox(work, live), test=_by_world(worlds))
        end = await play_sweep(plan_of(works(range(3))), attrs.evolve(company, stage=stage))
        endings = {report.work.seed: report.outcome.ending for report in end.reports}
        assert endings == {0: Ending.COMPLETED, 1: Ending.CRASHED, 2: Ending.COMPLETED}
        assert not end.clean
        folder = folder_of(works([1])[0], tmp_path)
        assert "RuntimeError: a bug of ours" in (folder.path / "crash.txt").read_text()
        (told,) = seen.of(ScenarioCrashed)
        assert told.error == "RuntimeError: a bug of ours"
        again = await play_sweep(plan_of(works([1])), company_of(tmp_path, World(always(fakes.PASS))))
        assert again.reports[0].outcome.ending is Ending.CRASHED

    async def test_a_damaged_journal_ends_its_scenario_and_is_left_alone(self, tmp_path: Path, autojump_clock: object) -> None:
        """Bad input is told in a sentence without a traceback; nothing is written over it."""
        await play_sweep(plan_of(works([1])), company_of(tmp_path, World(always(fakes.PASS))))
        folder = folder_of(works([1])[0], tmp_path)
        damaged = folder.journal.read_bytes().replace(b'"passed":2', b'"passed":1', 1)
        folder.journal.write_bytes(damaged)
        seen = Watcher()
        end = await play_sweep(plan_of(works(range(2))), company_of(tmp_path, World(always(fakes.PASS)), seen=seen))
        (told,) = seen.of(ScenarioCrashed)
        assert told.traceback == ""
        assert {report.work.seed: report.outcome.cause for report in end.reports} == {0: None, 1: Cause.HOST}
        assert folder.journal.read_bytes() == damaged

    async def test_a_scenario_whose_folder_fails_is_started_again(self, tmp_path: Path, autojump_clock: object) -> None:
        """From its journal, after a pause; abandoned when it fails each time, as censored."""
        failures = {0: 2, 1: 99}

        def cast(work: Work) -> Any:
            failures[work.seed] -= 1
            if failures[work.seed] >= 0:
                raise HostFault("disk full")
            return cast_of(work, tmp_path)

        company = attrs.evolve(company_of(tmp_path, World(always(fakes.PASS))), cast=cast)
        end = await play_sweep(plan_of(works(range(2))), company)
        assert {report.work.seed: report.outcome.ending for report in end.reports} == {0: Ending.COMPLETED, 1: Ending.CENSORED}

    async def test_a_storm_stops_the_sweep(self, tmp_path: Path, autojump_clock: object) -> None:
        """Everybody failing at once has one cause: stop, and say it; who still plays is stopped too."""
        world = World(always(fakes.PASS), seconds=1e6)

        def cast(work: Work) -> Any:
            if work.seed:
                raise HostFault("disk full")
            return cast_of(work, tmp_path)

        company = attrs.evolve(company_of(tmp_path, world), cast=cast, intensity=Intensity(most=3, seconds=10))
        end = await play_sweep(plan_of(works(range(10))), company)
        assert "disk full" in (end.storm or "")
        assert not end.clean
        assert (len(world.calls), world.open) == (1, 0)
        assert trio.current_time() < 1e6

    async def test_results_that_cannot_be_kept_end_everything(self, tmp_path: Path, autojump_clock: object) -> None:
        """Going on would be pointless."""

        def keep(report: Report) -> None:
            raise OSError("disk full")

        company = attrs.evolve(company_of(tmp_path, World(always(fakes.PASS))), keep=keep)
        with pytest.raises(ExceptionGroup) as caught:
            await play_sweep(plan_of(works(range(3))), company)
        assert caught.group_contains(OSError, match="disk full")

    async def test_what_the_user_gave_is_told(self, tmp_path: Path, autojump_clock: object) -> None:
        """An InputError of the casting is a sentence."""

        def cast(work: Work) -> Any:
            raise InputError("no such harness")

        company = attrs.evolve(company_of(tmp_path, World(always(fakes.PASS))), cast=cast)
        end = await play_sweep(plan_of(works()), company)
        assert end.reports[0].outcome.detail == "no such harness"


def _by_world(worlds: dict[int, World]) -> Callable[..., Any]:
    async def test(suite: Any, address: tuple[str, int], limits: Any) -> Any:
        world = next(world for world in worlds.values() if address[1] in world.answers)
        return await world.test(suite, address, limits)

    for number, world in worlds.items():
        world._ports = iter(range(number * 1000, number * 1000 + 999))
    return test


class TestStopping:
    async def asked(self, root: Path, at: list[float], world: World, grace: float = 30.0) -> tuple[SweepEnd, float, Watcher]:
        stop, seen, start = Stop(grace), Watcher(), trio.current_time()
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                for moment in at:
                    await trio.sleep_until(start + moment)
                    stop.ask()

            nursery.start_soon(ask)
            end = await play_sweep(plan_of(works(range(6))), company_of(root, world, scenarios=3, stop=stop, seen=seen))
        return end, trio.current_time() - start, seen

    async def test_the_first_request_lets_calls_in_flight_end(self, tmp_path: Path, autojump_clock: object) -> None:
        """They have the grace; nothing new is begun; all of it is told as running."""
        world = World(always(fakes.PASS), seconds=60)
        end, took, seen = await self.asked(tmp_path, [50], world)
        assert (took, end.interrupted, len(world.calls), world.open) == (60, True, 3, 0)
        assert {report.outcome.ending for report in end.reports} == {Ending.RUNNING}
        assert seen.of(Draining) == [Draining(30.0)]

    async def test_the_grace_is_bounded(self, tmp_path: Path, autojump_clock: object) -> None:
        """A call that does not end is ended."""
        world = World(always(fakes.PASS), seconds=1000)
        _, took, _ = await self.asked(tmp_path, [50], world)
        assert (took, world.open) == (80, 0)

    async def test_the_second_request_ends_at_once(self, tmp_path: Path, autojump_clock: object) -> None:
        """No grace left."""
        world = World(always(fakes.PASS), seconds=1000)
        _, took, _ = await self.asked(tmp_path, [50, 55], world)
        assert (took, world.open) == (55, 0)

    async def test_a_stopped_sweep_plays_on(self, tmp_path: Path, autojump_clock: object) -> None:
        """Stopped anywhere, run again: as if in one go."""
        script: Script = lambda turn, attempt, call: fakes.FAIL if attempt == 0 and turn == 2 else fakes.PASS  # noqa: E731
        await self.asked(tmp_path, [130], World(script))
        end = await play_sweep(plan_of(works(range(6))), company_of(tmp_path, World(script)))
        assert [len(turn.attempts) for report in end.reports for turn in report.outcome.turns] == [1, 1, 2, 1] * 6


class TestAdmission:
    async def test_nothing_starts_without_room(self, tmp_path: Path, autojump_clock: object) -> None:
        """It waits, says why, and goes on when there is room."""
        seen, stop = Watcher(), Stop()
        start = trio.current_time()

        def look() -> Room:
            return Room(1 << 40, 1 << 20, (1 << 40) if trio.current_time() - start >= 100 else 1 << 20)

        world = World(always(fakes.PASS))
        company = company_of(tmp_path, world, seen=seen, stop=stop)
        admission = Admission(look, lambda reason: seen(Held(reason)), stop, lambda seconds: seen(RoomAgain(seconds)))
        company.stage.permits.admit = admission.wait
        await play_sweep(plan_of(works(turns=0)), company)
        assert trio.current_time() - start == 161
        assert seen.of(Held) == [Held("1 MiB of memory are available, 256 MiB are needed")]
        assert seen.of(RoomAgain) == [RoomAgain(100)]

    async def test_a_long_wait_is_told_now_and_then(self, tmp_path: Path, autojump_clock: object) -> None:
        """Not every five seconds of a night, and not once for each scenario that waits."""
        seen, stop, start = Watcher(), Stop(), trio.current_time()
        lacking = lambda: Room(0 if trio.current_time() - start < 3600 else 1 << 40, 1 << 20, 1 << 40)  # noqa: E731
        admission = Admission(lacking, lambda reason: seen(Held(reason)), stop, lambda seconds: seen(RoomAgain(seconds)))
        async with trio.open_nursery() as nursery:
            for _ in range(300):
                nursery.start_soon(admission.wait)
        assert len(seen.of(Held)) == 6
        assert seen.of(RoomAgain) == [RoomAgain(3600)]

    def test_a_run_that_was_deleted_is_the_hosts_fault(self, tmp_path: Path) -> None:
        """Nobody's bug."""
        with pytest.raises(HostFault, match=r"cannot look at .*gone: No such file"):
            look(tmp_path / "gone")

    def test_the_fullest_disk_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The run's, or the engine's where it is on this machine; one that is out of inodes is as full as one that is out of bytes."""
        disks = {"run": (1 << 40, 1 << 20), "engine": (1 << 20, 1 << 20), "full": (1 << 39, 0)}

        def statvfs(path: Path) -> os.statvfs_result:
            if path.name not in disks:
                raise FileNotFoundError
            free, inodes = disks[path.name]
            return os.statvfs_result((1, 1, 0, 0, free, 1, 0, inodes, 0, 255))

        monkeypatch.setattr(os, "statvfs", statvfs)
        run, engine, full = (tmp_path / name for name in disks)
        assert look(run, tmp_path / "elsewhere").lacks(FLOOR) is None
        assert look(run, engine).lacks(FLOOR) == f"1 MiB of disk are free at {engine}, 1024 MiB are needed"
        assert look(run, full).lacks(FLOOR) == f"0 inodes are free at {full}, 10000 are needed"

    async def test_a_stop_ends_the_waiting(self, tmp_path: Path, autojump_clock: object) -> None:
        """A full host can be left."""
        stop = Stop()
        company = company_of(tmp_path, World(always(fakes.PASS)), stop=stop)
        company.stage.permits.admit = Admission(lambda: Room(0, 0, 0), lambda reason: stop.ask(), stop).wait
        end = await play_sweep(plan_of(works()), company)
        assert end.reports == ()

    @pytest.mark.parametrize(
        ("room", "lacks"),
        [
            (Room(0, 1 << 20, 1 << 40), "0 MiB of disk are free"),
            (Room(1 << 40, 5, 1 << 40), "5 inodes are free"),
            (Room(1 << 40, 1 << 20, 1 << 40, 3), "3 more processes"),
            (Room(1 << 40, 0, 1 << 40), "0 inodes are free"),
            (Room(1 << 40, COUNTLESS, 1 << 40), None),
            (Room(1 << 20, 1 << 20, 1 << 40, where="/data"), "1 MiB of disk are free at /data, 1024 MiB are needed"),
        ],
    )
    def test_what_is_missing_is_named(self, room: Room, lacks: str | None) -> None:
        """One clause; a file system that counts no inodes lacks none."""
        found = room.lacks(Room(1 << 30, 10_000, 1 << 28, 64))
        assert found is None if lacks is None else (found or "").startswith(lacks)


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 2**32))
def test_whatever_fails_nothing_leaks_and_all_is_told(tmp_path_factory: Any, seed: int) -> None:
    """Random failures over a sweep: each scenario told of once, never over the limit, nothing left open, attempts only from suites."""
    root = tmp_path_factory.mktemp("sweep")
    draw = Draw(seed)
    kinds = (fakes.PASS, fakes.PASS, fakes.FAIL, fakes.EXIT, fakes.FAULT, fakes.PROVIDER, fakes.HANG, fakes.SERVER_FAULT, fakes.NO_SERVER)
    world = World(lambda turn, attempt, call: draw.pick(kinds), open_faults=2)

    async def main() -> SweepEnd:
        return await play_sweep(plan_of(works(range(4), turns=2)), company_of(root, world, scenarios=2))

    end = run_jumping(main)
    assert sorted(report.work.seed for report in end.reports) == [0, 1, 2, 3]
    assert (world.open, world.peak <= 2) == (0, True)
    for report in end.reports:
        events = read_journal(folder_of(report.work, root).journal, Event).events
        suites = sum(type(event).__name__ == "SuiteRan" for event in events)
        assert suites == sum(len(turn.attempts) for turn in report.outcome.turns)
