"""Containers always go: after use, after a kill of ours, when somebody removes them, when the engine is started anew."""

import contextlib
import os
import signal
from pathlib import Path

import attrs
import psutil
import pytest
import trio

from actors.docker import connect
from actors.ownership import OWNER, SWEEP, me
from actors.reaping import find_left, reap
from scenario_store.run import Run
from stamina.cli.app import main
from stamina.cli.ending import DONE, NEGATIVE
from stamina.errors import SandboxFault
from stamina.turns import MachineryFailed
from tests.docker.container_lab import ENGINE, Lab, leftovers, names
from tests.docker.sweep_lab import SWEEP_FILE, events, interrupt, playing, suites
from tests.waiting import SECONDS, until

pytestmark = pytest.mark.docker

CYCLES = 40


async def test_forty_containers_leave_nothing(lab: Lab) -> None:
    """No container, network, volume, process, open file, or file of the engine's; eight at a time."""
    ours = psutil.Process()
    files, children = ours.num_fds(), len(ours.children(recursive=True))
    ids: list[str] = []

    async def cycles(count: int) -> None:
        for _ in range(count):
            async with lab.open(made) as sandbox:
                ids.append((await lab.bash(sandbox, "echo x >y; setsid sleep 100 & cat /etc/hostname")).out.strip())

    async with lab.containers() as made:
        before = await made.engine.volumes()
        root = made.prepared.about.root
        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(cycles, CYCLES // 8)
        assert (await names(made.engine))[0] == []
        assert set(await made.engine.volumes()) <= set(before)
    assert await leftovers(lab.host) == ([], [])
    assert len(set(ids)) == CYCLES
    assert traces(root, ids) == []
    assert ours.num_fds() <= files
    assert len(ours.children(recursive=True)) == children
    assert not list(lab.root.glob("live*/spool/*"))


def traces(root: Path, ids: list[str]) -> list[str]:
    """What on this machine still has one of these containers' ids: processes that served it, folders that held it."""
    found = [name for folder in root.glob("*containers") for name in os.listdir(folder)]
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            found += process.cmdline()
    return [text for text in found if any(each in text for each in ids)]


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
    assert main(["gc", "--dry-run"]) == 0
    assert "would remove network stamina-test-left" in capsys.readouterr().out
    assert main(["gc"]) in (DONE, NEGATIVE)  # others may have left something that cannot be removed
    assert "removed network stamina-test-left" in capsys.readouterr().out
    assert trio.run(left_networks) == []


def reaper_of(pid: int) -> psutil.Process:
    """The process that cleans up after another one."""
    return next(child for child in psutil.Process(pid).children() if any(part.endswith("reaper.py") for part in child.cmdline()))


def processes_in(out: Path) -> list[int]:
    """Everything on this machine that has a file or folder of a run open, or runs in it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if str(out) in os.readlink(f"/proc/{process.pid}/cwd") or any(str(out) in each.path for each in process.open_files()):
                found.append(process.pid)
    return found


def go_on(out: Path, *settings: str) -> int:
    """The same command again."""
    flags = [part for setting in (f"sandbox.engine={ENGINE}", *settings) for part in ("--set", setting)]
    return main(["run", str(SWEEP_FILE), "--out", str(out), *flags])


def test_sigkill_in_mid_sweep_leaves_nothing_and_loses_nothing(lab: Lab) -> None:
    """Several containers end with us and the reaper removes them and the network; the same command plays on."""
    out = lab.root / "run"
    with playing(out, lab.host, "sweep.turns=3") as process:
        until(lambda: suites(out) >= 2 and len(trio.run(leftovers, lab.host, process.pid)[0]) >= 2)
        networks = trio.run(leftovers, lab.host, process.pid)[1]
        reaper = reaper_of(process.pid)
        assert len(networks) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: trio.run(leftovers, lab.host, process.pid) == ([], []))
        until(lambda: not reaper.is_running())
        assert processes_in(out) == []
    assert go_on(out, "sweep.turns=3") == 0


def test_sigkill_of_the_reaper_too(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """The wardens end their containers all the same; ``gc`` shows what is left of them, and the next start removes it."""
    out = lab.root / "run"
    with playing(out, lab.host, "sweep.turns=3") as process:
        until(lambda: suites(out) >= 2 and len(trio.run(leftovers, lab.host, process.pid)[0]) >= 2)
        reaper_of(process.pid).kill()
        process.send_signal(signal.SIGKILL)
        process.wait()
        containers, networks = trio.run(leftovers, lab.host, process.pid)
        until(lambda: trio.run(running, lab.host, process.pid) == [])
        assert processes_in(out) == []
    assert containers
    assert networks
    assert main(["gc", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert [name for name in (*containers, *networks) if name not in said] == []
    assert go_on(out, "sweep.turns=3") == 0
    assert trio.run(leftovers, lab.host, process.pid) == ([], [])


async def running(host: str, pid: int) -> list[str]:
    """Containers of a process that run."""
    async with connect(host) as engine:
        mine, _ = await names(engine, pid)
        return [each.name for each in await engine.containers(OWNER) if each.name in mine and each.state == "running"]


def test_two_interrupts_end_at_once(lab: Lab) -> None:
    """Exit 130, and nothing is left."""
    out = lab.root / "run"
    with playing(out, lab.host, "sweep.turns=3") as process:
        until(lambda: suites(out) >= 1)
        interrupt(process, out)
        assert process.wait(SECONDS) == 130
    assert trio.run(leftovers, lab.host, process.pid) == ([], [])


def test_the_quickstart_plays_in_containers(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """The reference agent passes everything; nothing is censored."""
    assert main(["run", str(SWEEP_FILE), "--out", str(lab.root / "run"), "--set", f"sandbox.engine={ENGINE}", "--json"]) == 0

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
