"""Supervision: only the machinery's failures start an actor again, and many at once stop everything."""

from collections.abc import Sequence

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from actors.owning import owning
from actors.supervise import Abandoned, Crashed, Exit, Finished, Intensity, Restart, RestartStorm, culprit, infra_fault, supervise
from stamina.errors import HostFault, InfraError, InputError, SandboxFault
from tests.actors.clock import run_jumping

RESTART = Restart(attempts=4, base=1.0, cap=4.0)
OK, INFRA, BUG = "ok", "infra", "bug"


def acting(script: Sequence[str]):  # noqa: ANN201
    async def start(attempt: int) -> int:
        await trio.sleep(1)
        match script[attempt - 1]:
            case "infra":
                raise SandboxFault("down")
            case "bug":
                raise KeyError("ours")
        return attempt

    return start


def model(script: Sequence[str]) -> tuple[type, int]:
    """What supervise promises, in five lines."""
    for attempt, what in enumerate(script[: RESTART.attempts], start=1):
        if what == OK:
            return Finished, attempt
        if what == BUG:
            return Crashed, attempt
    return Abandoned, RESTART.attempts


@given(st.lists(st.sampled_from([OK, INFRA, BUG]), min_size=4, max_size=4))
def test_any_script_ends_as_promised(script: list[str]) -> None:
    """Against a five-line model, pauses included."""

    async def main() -> tuple[Exit[int], float]:
        end = await supervise(acting(script), restart=RESTART, intensity=Intensity())
        return end, trio.current_time()

    start = run_jumping(clock_now)
    end, now = run_jumping(main)
    kind, attempts = model(script)
    assert (type(end), end.attempts) == (kind, attempts)
    assert now - start == attempts + sum(RESTART.delay(failure) for failure in range(1, attempts))


async def clock_now() -> float:
    return trio.current_time()


async def test_cancellation_passes_through(autojump_clock: object) -> None:
    """It is no failure: nothing is started again."""
    starts = []

    async def start(attempt: int) -> None:
        starts.append(attempt)
        await trio.sleep_forever()

    with trio.move_on_after(5) as scope:
        await supervise(start, restart=RESTART, intensity=Intensity())
    assert scope.cancelled_caught
    assert starts == [1]


async def test_many_failures_at_once_are_a_storm(autojump_clock: object) -> None:
    """They have one cause, which is told."""
    intensity = Intensity(most=5, seconds=10)

    async def everybody() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(lambda: supervise(acting([INFRA] * 4), restart=RESTART, intensity=intensity))

    with pytest.raises(ExceptionGroup) as caught:
        await everybody()
    assert caught.group_contains(RestartStorm, match="within 10 s, the last one: down")


async def test_the_same_failures_spread_out_are_none(autojump_clock: object) -> None:
    """Only what lies within the window counts."""
    intensity = Intensity(most=1, seconds=10)
    for _ in range(5):
        intensity.spend(SandboxFault("down"))
        await trio.sleep(10)


class TestBlame:
    def test_a_hang_up_beside_a_fault_is_an_echo(self) -> None:
        """The task at the other end of a channel hears of it first."""
        fault = SandboxFault("down")
        group = ExceptionGroup("", [trio.EndOfChannel(), ExceptionGroup("", [fault, trio.BrokenResourceError()])])
        assert infra_fault(group) is fault

    @pytest.mark.parametrize(
        "error",
        [KeyError("ours"), trio.EndOfChannel(), ExceptionGroup("", [SandboxFault("down"), KeyError("ours")])],
        ids=["bug", "lonely hang-up", "bug beside a fault"],
    )
    def test_a_bug_is_never_infra(self, error: Exception) -> None:
        """Not even in company."""
        assert infra_fault(error) is None

    def test_the_first_fault_is_named(self) -> None:
        """Of several."""
        assert isinstance(infra_fault(ExceptionGroup("", [HostFault("disk"), SandboxFault("down")])), HostFault)


class TestOwning:
    async def test_it_gives_back_when_cancelled(self, autojump_clock: object) -> None:
        """Shielded: what is given back may wait."""
        given_back: list[str] = []

        async def give_back(name: str) -> None:
            await trio.sleep(5)
            given_back.append(name)

        with trio.move_on_after(1):
            async with owning("box", give_back):
                await trio.sleep_forever()
        assert given_back == ["box"]

    async def test_giving_back_that_hangs_costs_the_grace(self, autojump_clock: object) -> None:
        """Bounded: not for ever."""
        start = trio.current_time()

        async def hang(name: str) -> None:
            await trio.sleep_forever()

        async with owning("box", hang, grace=7):
            pass
        assert trio.current_time() - start == 7

    async def test_a_failure_to_give_back_hides_nothing(self) -> None:
        """Why the block ended is what is raised."""

        async def fail(name: str) -> None:
            raise SandboxFault("engine gone")

        with pytest.raises(InfraError, match="the cause"):
            async with owning("box", fail):
                raise HostFault("the cause")


def test_what_went_through_nurseries_is_told_as_what_it_was() -> None:
    """Else input that cannot be used would be recorded as a bug, in words that say nothing."""
    wrong = InputError("the sandbox has toy 1.2.4")
    assert culprit(ExceptionGroup("a", [ExceptionGroup("b", [wrong]), ExceptionGroup("c", [trio.BrokenResourceError()])])) is wrong
    assert culprit(wrong) is wrong
    both = culprit(ExceptionGroup("a", [wrong, ValueError("x")]))
    assert isinstance(both, ExceptionGroup)
    closed = trio.BrokenResourceError()
    assert culprit(ExceptionGroup("a", [closed])) is closed
