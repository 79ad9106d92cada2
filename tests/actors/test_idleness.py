"""The clocks of a call: which one ends it, and what counts as a sign of life."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog
import trio
from trio.testing import MockClock

from actors.agent import ModelSeen, judge
from actors.gateway.interfaces import Caller
from actors.gateway.seats import Seat
from actors.idleness import Measured, clock_over, size
from actors.keeping import processor_seconds
from actors.ports import Ports
from actors.process_sandbox import ProcessSandbox
from actors.sandbox import CallLimits, Health, IdleLimits
from harnesses.failures import Failure
from harnesses.harness import CallEnd, Command
from stamina.config.model import ModelConfig, Provider
from stamina.outcome import Cause
from stamina.turns import CallFailed
from tests.actors.test_process_sandbox import end_of_line, gone
from tests.harnesses.cli_lab import context
from tests.harnesses.test_reading import judged
from tests.waiting import SECONDS

HOUR, MINUTE = 3600.0, 60.0


class Life:
    """An agent whose signs of life are functions of the seconds since its call began."""

    def __init__(
        self,
        *,
        output: Callable[[float], int] = lambda at: 0,
        work: Callable[[float], float | None] = lambda at: 0.0,
        own: Callable[[float], float | None] = lambda at: None,
        ends: float = float("inf"),
    ) -> None:
        self.output, self.work, self.own, self.ends = output, work, own, ends
        self.began = trio.current_time()

    @property
    def at(self) -> float:
        return trio.current_time() - self.began

    async def ended(self) -> None:
        await trio.sleep(self.ends - self.at)

    async def measure(self) -> Measured:
        return Measured(self.output(self.at), self.work(self.at), self.own(self.at))

    async def clock(self, *, quiet: Callable[[float], float] | None = None, wall: float = HOUR, idle_load: float = 0.0) -> tuple[str | None, float]:
        """Which clock ended it, and after how long."""
        idle = IdleLimits(20 * MINUTE, 30 * MINUTE, None if quiet is None else lambda: quiet(self.at))
        return await clock_over(self.ended, CallLimits(wall, idle=idle), self.measure, idle_load), self.at


async def test_an_agent_that_neither_asks_nor_works_is_ended(autojump_clock: MockClock) -> None:
    """Though it goes on telling that it waits; it has some looks' time more when a look just missed it."""
    clock, at = await Life(output=lambda at: int(at)).clock(quiet=lambda at: at)
    assert clock == "model_idle"
    assert 20 * MINUTE <= at <= 26 * MINUTE


async def test_an_agent_whose_build_takes_an_hour_is_not(autojump_clock: MockClock) -> None:
    """It uses processor time: that it asks nothing is told, once."""
    with structlog.testing.capture_logs() as logs:
        assert await Life(work=lambda at: 0.05 * at).clock(quiet=lambda at: at, wall=2 * HOUR) == ("wall", 2 * HOUR)
    assert len(logs) == 1
    assert "at work" in logs[0]["event"]


async def test_an_agent_that_asks_its_model_is_never_idle(autojump_clock: MockClock) -> None:
    """A request every ten minutes; one that has been under way all the time, which only the gateway ends."""
    assert await Life().clock(quiet=lambda at: at % (10 * MINUTE)) == ("wall", HOUR)
    assert await Life().clock(quiet=lambda at: 0.0) == ("wall", HOUR)


async def test_nothing_is_measured_while_agent_and_model_talk(autojump_clock: MockClock) -> None:
    """An engine takes a second to tell; it is asked when there was no request since the last look."""
    asked: list[float] = []

    def work(at: float) -> float:
        asked.append(at)
        return at

    await Life(work=work).clock(quiet=lambda at: at % (10 * MINUTE) if at < 30 * MINUTE else at % MINUTE)
    assert len(asked) == 12
    assert max(asked) < 30 * MINUTE


async def test_what_is_not_known_counts_as_work(autojump_clock: MockClock) -> None:
    """An engine that does not count processor time must cost nobody a call."""
    assert await Life(work=lambda at: None).clock(quiet=lambda at: at) == ("wall", HOUR)


async def test_what_a_cli_uses_while_it_waits_is_no_work(autojump_clock: MockClock) -> None:
    """Its timers take a twentieth of a processor. Where nobody knows of that, it is work."""
    waiting = Life(work=lambda at: 0.057 * at, own=lambda at: 0.057 * at)
    clock, at = await waiting.clock(quiet=lambda at: at, idle_load=0.12)
    assert clock == "model_idle"
    assert 20 * MINUTE <= at <= 26 * MINUTE
    for own, load in ((0.057, 0.0), (None, 0.12)):
        life = Life(work=lambda at: 0.057 * at, own=lambda at, own=own: None if own is None else own * at)
        assert await life.clock(quiet=lambda at: at, idle_load=load) == ("wall", HOUR)


@pytest.mark.parametrize("own", [0.0, 0.02, 0.057, 0.12, 0.5])
async def test_a_build_on_a_crowded_host_is_work_whatever_the_cli_itself_uses(autojump_clock: MockClock, own: float) -> None:
    """Two hundredths of a processor, in processes below the CLI: none of it is ever taken for the CLI's waiting."""
    life = Life(work=lambda at: (own + 0.02) * at, own=lambda at: own * at)
    assert await life.clock(quiet=lambda at: at, idle_load=0.12) == ("wall", HOUR)


async def test_a_cli_that_uses_more_than_when_it_waits_is_at_work(autojump_clock: MockClock) -> None:
    life = Life(work=lambda at: 0.14 * at, own=lambda at: 0.14 * at)
    assert await life.clock(quiet=lambda at: at, idle_load=0.12) == ("wall", HOUR)


async def test_a_build_that_pauses_between_two_looks_is_work(autojump_clock: MockClock) -> None:
    """It works for two seconds in every ten minutes."""
    life = Life(work=lambda at: 0.057 * at + 2 * (at // (10 * MINUTE)), own=lambda at: 0.057 * at)
    assert await life.clock(quiet=lambda at: at, idle_load=0.12) == ("wall", HOUR)


async def test_work_that_stops_is_noticed(autojump_clock: MockClock) -> None:
    """Twenty minutes after the end of it."""
    clock, at = await Life(work=lambda at: min(at, 15 * MINUTE)).clock(quiet=lambda at: at)
    assert clock == "model_idle"
    assert 35 * MINUTE <= at <= 39 * MINUTE


async def test_an_agent_without_model_is_ended_when_there_is_no_sign_of_it_at_all(autojump_clock: MockClock) -> None:
    clock, at = await Life().clock()
    assert clock == "progress_idle"
    assert 30 * MINUTE <= at <= 39 * MINUTE
    assert await Life(output=lambda at: int(at / MINUTE)).clock() == ("wall", HOUR)


async def test_a_call_that_ends_by_itself_was_ended_by_no_clock(autojump_clock: MockClock) -> None:
    assert await Life(ends=19 * MINUTE).clock(quiet=lambda at: at) == (None, 19 * MINUTE)


async def test_a_seat_is_quiet_between_requests_only(autojump_clock: MockClock) -> None:
    """From the end of the last one, or from the beginning of the call; not while one is under way."""
    seat = Seat(Caller("c", 0, 0), ModelConfig("m", Provider.SCRIPTED, "m-1", 1000))
    await trio.sleep(100)
    seat.begin(1, 0, 0)
    await trio.sleep(7)
    assert seat.quiet_seconds == 7
    with seat.talking():
        await trio.sleep(50)
        assert seat.quiet_seconds == 0
        with seat.talking():
            pass
        assert seat.quiet_seconds == 0
    await trio.sleep(3)
    assert seat.quiet_seconds == 3


@pytest.mark.parametrize(
    ("seen", "cause"), [(ModelSeen(3), Cause.HARNESS), (None, Cause.HARNESS), (ModelSeen(3, "status 500"), Cause.PROVIDER)], ids=["asked", "modelless", "down"]
)
@pytest.mark.parametrize("clock", ["model_idle", "progress_idle"])
def test_a_call_that_hangs_is_repeated(tmp_path: Path, clock: str, seen: ModelSeen | None, cause: Cause) -> None:
    """It is the harness's failure, a wedge, and costs no attempt; the provider's, when that was the last thing that happened."""
    report = judged(tmp_path, b"", exit_code=None, signal=9, expired=clock)
    assert report.failure is Failure.WEDGE
    end = CallEnd(None, 9, 1300.0, clock, tmp_path, tmp_path)
    event = judge(context(), end, report, Health(None, 1 << 40, 1 << 20, 0), seen)
    assert isinstance(event, CallFailed)
    assert event.cause is cause
    assert cause is not Cause.HARNESS or f"{clock}: it" in event.detail


async def test_a_process_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    sandbox = ProcessSandbox(tmp_path / "box", Ports())
    command = Command(("bash", "-c", "sleep 300 & echo $!; sleep 301"))
    out = tmp_path / "out"

    def quiet() -> float:
        """Not before it has begun to hang."""
        return 1e9 if end_of_line(out) else 0.0

    limits = CallLimits(SECONDS, grace=0.2, idle=IdleLimits(0.5, SECONDS, quiet=quiet))
    end = await sandbox.call(command, limits=limits, stdout=out, stderr=tmp_path / "err")
    assert (end.expired, end.signal) == ("model_idle", 15)
    (child,) = out.read_text().split()
    assert gone(int(child))


def test_the_work_of_all_that_a_process_started_is_measured() -> None:
    """Also of a child of a child, in a session of its own, that has ended."""
    work = "import time\nwhile time.process_time() < 0.5: pass"
    script = f'setsid bash -c \'"$1" -I -S -c "$0"; echo done\' "{work}" "{sys.executable}"; read'
    with subprocess.Popen(["bash", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        everything, alone = processor_seconds(process.pid, process.pid)
        assert everything - alone >= 0.4  # the kernel counts in hundredths, some kernels only where a tick falls
        process.communicate("\n")


BURN = "import time\nwhile True:\n    end = time.process_time() + 0.05\n    while time.process_time() < end: pass\n    time.sleep(0.05)"
"""Up to half a processor for ever, where there is one."""


async def test_a_process_whose_own_load_is_known_hangs(tmp_path: Path) -> None:
    """As long as nothing that it has started works."""
    found = {}
    for name, script, wall in (("itself", 'exec python3 -I -S -c "$0"', 300), ("below", 'python3 -I -S -c "$0" & wait', 12)):
        command = Command(("bash", "-c", script, BURN), idle_load=1.0)
        ended = CallLimits(wall, grace=0.2, idle=IdleLimits(6.0, 600, quiet=lambda: 1e9))
        end = await ProcessSandbox(tmp_path / name, Ports()).call(command, limits=ended, stdout=tmp_path / "out", stderr=tmp_path / "err")
        found[name] = end.expired
    assert found == {"itself": "model_idle", "below": "wall"}


def test_measures_of_what_is_not_there_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"12345")
    assert size(tmp_path / "out", tmp_path / "out", tmp_path / "nothing") == 5
    assert processor_seconds(2**22 + 1, 2**22 + 1) == (0, 0)
