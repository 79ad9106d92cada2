"""Engines that are restarted, stopped and broken in the middle of a sweep: what was under way is played on, nothing is lost, and nobody waits for ever."""

import signal
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import attrs
import pytest
import trio

from actors.docker import Engine, connect
from actors.network import network
from stamina.config.model import Egress
from stamina.config.model import Engine as EngineName
from stamina.errors import InputError, SandboxFault
from stamina.turns import MachineryFailed
from tests.docker.container_lab import ENGINE, Lab, leftovers, names
from tests.docker.sweep_lab import Private, events, interrupt, playing, private_engine, suites
from tests.waiting import SECONDS, until

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def second_engine(host: str) -> Iterator[Private]:
    """One for all tests here, as copying an image to it takes a while."""
    with private_engine(host) as engine:
        yield engine


def test_a_sweep_waits_for_an_engine_that_stands_still(second_engine: Private, tmp_path: Path) -> None:
    """As on a host that swaps: nothing fails, no attempt is lost."""
    out = tmp_path / "run"
    with playing(out, second_engine.host, "sweep.turns=4", "sweep.seeds=0") as process:
        until(lambda: suites(out) >= 2)
        second_engine.signal(signal.SIGSTOP)
        time.sleep(10)
        second_engine.signal(signal.SIGCONT)
        _, complaints = process.communicate(timeout=600)
        assert process.returncode == 0, complaints.decode()
    assert [event for event in events(out) if isinstance(event, MachineryFailed)] == []


def test_two_interrupts_end_although_the_engine_stands_still(second_engine: Private, tmp_path: Path) -> None:
    """Within the bounds of giving back; what could not be removed is, by the reaper, as soon as the engine goes on."""
    out = tmp_path / "run"
    with playing(out, second_engine.host, "sweep.turns=9", "sweep.seeds=0") as process:
        until(lambda: suites(out) >= 2)
        second_engine.signal(signal.SIGSTOP)
        try:
            interrupt(process, out)
            assert process.wait(SECONDS) == 130
        finally:
            second_engine.signal(signal.SIGCONT)
        until(lambda: trio.run(leftovers, second_engine.host, process.pid) == ([], []))


async def test_an_image_that_is_removed_in_mid_sweep(lab: Lab) -> None:
    """Says so instead of trying for an hour; nothing of the container is left."""
    async with lab.containers() as made:
        dressed = made.prepared.images["reference"]
        gone = attrs.evolve(dressed, image=attrs.evolve(dressed.image, id=f"sha256:{'0' * 64}"))
        made = attrs.evolve(made, prepared=attrs.evolve(made.prepared, images={"reference": gone}))
        with pytest.raises(InputError, match=r"does not have image sha256:0+ any more.* 'stamina resume --other-images'"):
            async with lab.open(made):
                pass
        assert (await names(made.engine))[0] == []


async def test_a_folder_is_not_used_again_before_its_container_is_gone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that did not remove it may have left an agent at work in there."""
    async with lab.containers() as made:
        folder = lab.folder()
        with monkeypatch.context() as patched:
            patched.setattr(type(made.engine), "remove", fails)
            async with made.open("reference", {}, folder) as before:
                pass
            with pytest.raises(SandboxFault, match="not now"):
                async with made.open("reference", {}, folder):
                    pass
        async with made.open("reference", {}, folder) as after:
            assert (await names(made.engine))[0] == [after.body.name]
        assert before.body.name != after.body.name


async def fails(engine: Engine, name: str) -> None:
    """An engine that does not remove what it is told to."""
    raise SandboxFault("not now")


if ENGINE is EngineName.DOCKER:  # Podman has 255 networks by default, and no option for fewer

    async def test_an_engine_without_addresses_says_what_to_do(host: str) -> None:
        """Networks take addresses from a pool; with many left behind it is empty."""
        with (
            private_engine(host, "--default-address-pool base=10.213.0.0/28,size=29", image=False) as engine,
            pytest.raises(SandboxFault, match=r"no address left for one more network: remove some \('stamina gc', 'docker network ls'\)"),
        ):
            await make_networks(engine.host, 3)

    async def make_networks(host: str, count: int) -> None:
        """And remove them."""
        async with connect(host) as engine, AsyncExitStack() as stack:
            for number in range(count):
                await stack.enter_async_context(network(engine, f"test{number}", Egress.NONE, direct=True))


def test_a_sweep_outlives_a_restart_of_its_engine(second_engine: Private, tmp_path: Path) -> None:
    """Scenarios that were under way fail as sandboxes do, are played on in new containers, and all end well; nothing of the old ones is left."""
    out = tmp_path / "run"
    with playing(out, second_engine.host, "sweep.turns=6", "sweep.seeds=0") as process:
        until(lambda: suites(out) >= 2)
        second_engine.signal(signal.SIGKILL)
        second_engine.do("start")
        _, complaints = process.communicate(timeout=600)
        assert process.returncode == 0, complaints.decode()
        assert trio.run(leftovers, second_engine.host, process.pid) == ([], [])
    failures = [event for event in events(out) if isinstance(event, MachineryFailed)]
    assert failures
    assert {event.cause.value for event in failures} == {"sandbox"}
