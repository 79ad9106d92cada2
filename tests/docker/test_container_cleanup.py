"""Containers always go: after use, after a kill of ours, when somebody removes them, when the engine is started anew."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import psutil
import pytest
import trio

from actors.docker import connect
from actors.ownership import OWNER, SWEEP, me
from actors.reaping import find_left, reap
from harnesses.recipes import BASE, recipe
from scenario_store.journal import read_journal
from scenario_store.run import Run
from stamina.cli.app import main
from stamina.cli.ending import DONE, NEGATIVE
from stamina.errors import SandboxFault
from stamina.turns import Event, MachineryFailed, SuiteRan
from tests.docker.container_lab import ENGINE, Lab, leftovers, names

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
SWEEP_FILE = ROOT / "sweeps/quickstart-docker.toml"
CYCLES = 40


def until(condition: Callable[[], bool], seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to pass"
        time.sleep(0.1)


async def test_forty_containers_leave_nothing(lab: Lab) -> None:
    """No container, network, volume, process or open file; eight at a time."""
    ours = psutil.Process()
    files, children = ours.num_fds(), len(ours.children(recursive=True))

    async def cycle() -> None:
        async with lab.open(made) as sandbox:
            assert (await lab.bash(sandbox, "echo x >y; setsid sleep 100 & cat y")).out == "x\n"

    async def cycles(count: int) -> None:
        for _ in range(count):
            await cycle()

    async with lab.containers() as made:
        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(cycles, CYCLES // 8)
        assert (await names(made.engine))[0] == []
    assert await leftovers(lab.host) == ([], [])
    assert ours.num_fds() <= files
    assert len(ours.children(recursive=True)) == children
    assert not list(lab.root.glob("live*/spool/*"))


async def test_a_container_that_is_removed_says_so(lab: Lab) -> None:
    """The call ends as a failure of the sandbox, not of the agent."""
    async with lab.containers() as made, lab.open(made) as sandbox, trio.open_nursery() as nursery:
        nursery.start_soon(made.engine.remove, sandbox.body.name)
        with pytest.raises(SandboxFault) as raised:
            await lab.bash(sandbox, "sleep 100")
    assert str(raised.value) in ("the container was removed by somebody else", "the container ended: exit code 137")


async def test_what_a_dead_process_left_goes_at_the_next_start(lab: Lab) -> None:
    """What others own, or nobody of ours, stays."""
    owners = (attrs.evolve(me(), began=1).text(), me().text())
    async with connect(lab.host) as engine:
        made = [await engine.create_network({"Name": f"stamina-test-{n}", "Labels": {OWNER: owner, SWEEP: "x"}}) for n, owner in enumerate(owners)]
        try:
            left = await find_left(engine)
            await reap(engine)
            networks = [each.name for each in await engine.networks(OWNER)]
        finally:
            for name in made:
                await engine.remove_network(name)

    assert "stamina-test-0" in [each.name for each in left.networks]
    assert "stamina-test-0" not in networks
    assert "stamina-test-1" in networks


def test_gc_removes_what_is_left(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what first, where asked to."""

    async def leave() -> None:
        async with connect(lab.host) as engine:
            await engine.create_network({"Name": "stamina-test-left", "Labels": {OWNER: attrs.evolve(me(), began=1).text(), SWEEP: "x"}})

    async def left_networks() -> list[str]:
        async with connect(lab.host) as engine:
            return [each.name for each in await engine.networks(OWNER) if each.name == "stamina-test-left"]

    trio.run(leave)
    assert main(["gc", "--dry-run", "--keep-images"]) == 0
    assert "would remove network stamina-test-left" in capsys.readouterr().out
    assert main(["gc", "--keep-images"]) in (DONE, NEGATIVE)  # others may have left something that cannot be removed
    assert "removed network stamina-test-left" in capsys.readouterr().out
    assert trio.run(left_networks) == []


@contextmanager
def playing(out: Path, host: str, *settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """The quickstart in containers, as a process of its own."""
    flags = [part for setting in settings for part in ("--set", setting)]
    argv = [sys.executable, "-m", "stamina", "run", str(SWEEP_FILE), "--out", str(out), "--set", f"sandbox.engine={ENGINE}", *flags]
    process = subprocess.Popen(argv, cwd=ROOT, env={**os.environ, "DOCKER_HOST": host}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def events(out: Path) -> list[Event]:
    """Of all scenarios."""
    if not (out / "lock.json").exists():
        return []
    return [event for folder in Run.open(out).scenarios() if folder.journal.exists() for event in read_journal(folder.journal, Event).events]


def suites(out: Path) -> int:
    return sum(isinstance(event, SuiteRan) for event in events(out))


def test_sigkill_in_mid_sweep_leaves_nothing_and_loses_nothing(lab: Lab) -> None:
    """Containers end with us and the reaper removes them; the same command plays on."""
    out = lab.root / "run"
    with playing(out, lab.host, "sweep.turns=3") as process:
        until(lambda: suites(out) >= 2)
        containers, networks = trio.run(leftovers, lab.host, process.pid)
        assert containers
        assert len(networks) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: trio.run(leftovers, lab.host, process.pid) == ([], []))
    assert main(["run", str(SWEEP_FILE), "--out", str(out), "--set", "sweep.turns=3"]) == 0


def test_two_interrupts_end_at_once(lab: Lab) -> None:
    """Exit 130, and nothing is left."""
    out = lab.root / "run"
    with playing(out, lab.host, "sweep.turns=3") as process:
        until(lambda: suites(out) >= 1)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        assert process.wait(timeout=30) == 130
    assert trio.run(leftovers, lab.host, process.pid) == ([], [])


def test_the_quickstart_plays_in_containers(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """The reference agent passes everything; nothing is censored."""
    assert main(["run", str(SWEEP_FILE), "--out", str(lab.root / "run"), "--json"]) == 0

    captured = capsys.readouterr().out
    assert '"reference"' in captured
    found = [event for event in events(lab.root / "run") if isinstance(event, MachineryFailed)]
    assert found == []
    assert trio.run(leftovers, lab.host) == ([], [])


def with_images(out: Path, image: str) -> None:
    """As if the run had been begun in another image."""
    run = Run.open(out)
    lock = run.lock()
    run.extend(run.sweep_file.read_bytes(), attrs.evolve(lock, images=dict.fromkeys(lock.images, image)))


def test_a_run_goes_on_in_the_image_that_it_was_begun_in(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """It is in the lock; when the engine does not have it any more, that is told and nothing is mixed, unless somebody says that it may be."""
    out, gone = lab.root / "run", f"sha256:{'0' * 64}"
    flags = ["--out", str(out), "--set", "sweep.turns=0", "--set", "sweep.seeds=0", "--set", f"sandbox.engine={ENGINE}"]
    assert main(["run", str(SWEEP_FILE), *flags]) == 0
    begun = Run.open(out).lock().images
    assert list(begun) == ["reference", "mock"]
    capsys.readouterr()

    with_images(out, gone)
    assert main(["resume", str(out)]) == 2
    assert f"the image of reference was {gone}, which this engine does not have any more, and is {begun['reference']}" in capsys.readouterr().err
    assert main(["resume", str(out), "--other-images"]) == 0
    assert Run.open(out).lock().images == begun


@pytest.fixture
def second_engine(host: str) -> Iterator[str]:
    """An engine of this test's own, with our image, that may be killed."""
    if os.getuid() != 0:
        pytest.skip("starting an engine needs root")
    folder = Path("/var/tmp") / f"stamina-test-{os.getpid()}"
    own = {**os.environ, "STAMINA_ENGINE_DIR": str(folder), "STAMINA_ENGINE_ARGS": "--iptables=false", "ENGINE": ENGINE}

    def engine(verb: str) -> None:
        subprocess.run([ROOT / "scripts/engine", verb], env=own, check=True, stdout=subprocess.DEVNULL, timeout=120)

    engine("start")
    try:
        there = f"unix://{folder}/{ENGINE}/engine.sock"
        trio.run(copy_image, host, there)
        yield there
    finally:
        engine("remove")
        folder.rmdir()


async def copy_image(source: str, target: str) -> None:
    """The base image, from one engine to another."""
    async with connect(source) as engine:
        image = next(image for image in await engine.images("stamina.image=base") if image.tags and image.labels["stamina.recipe"] == recipe(BASE).digest)
    sockets = [each.removeprefix("unix://") for each in (source, target)]
    script = (
        f"set -o pipefail; curl -sSf --unix-socket {sockets[0]} http://e/images/{image.tags[0]}/get | "
        f"curl -sSf --unix-socket {sockets[1]} -X POST -H 'Content-Type: application/x-tar' -T - http://e/images/load"
    )
    await trio.run_process(["bash", "-c", script], capture_stdout=True)


def restart(host: str) -> None:
    """Kill the engine and all its containers, and start it again."""
    folder = Path(host.removeprefix("unix://")).parents[1]
    own = {**os.environ, "STAMINA_ENGINE_DIR": str(folder), "STAMINA_ENGINE_ARGS": "--iptables=false", "ENGINE": ENGINE}
    for verb in ("stop", "start"):
        subprocess.run([ROOT / "scripts/engine", verb], env=own, check=True, stdout=subprocess.DEVNULL, timeout=120)


def test_a_sweep_outlives_a_restart_of_its_engine(second_engine: str, tmp_path: Path) -> None:
    """Scenarios that were under way fail as sandboxes do, are played on in new containers, and all end well."""
    out = tmp_path / "run"
    with playing(out, second_engine, "sweep.turns=6", "sweep.seeds=0") as process:
        until(lambda: suites(out) >= 2)
        restart(second_engine)
        _, complaints = process.communicate(timeout=120)
        assert process.returncode == 0, complaints.decode()
    failures = [event for event in events(out) if isinstance(event, MachineryFailed)]
    assert failures
    assert {event.cause.value for event in failures} == {"sandbox"}
