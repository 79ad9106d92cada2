"""Removing what a dead process left behind: at the start of a sweep, by ``stamina gc``, and by a reaper process when this one is killed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import structlog
import trio

from actors import reaper
from actors.docker import Engine, Found, Unreachable, local
from actors.ownership import OWNER, SWEEP, is_left
from stamina.errors import HostFault, SandboxFault

GOODBYE_SECONDS: Final = 10.0

log = structlog.get_logger()


@attrs.frozen
class Left:
    """Containers and networks whose owner is dead."""

    containers: tuple[Found, ...]
    networks: tuple[Found, ...]

    def __bool__(self) -> bool:
        return bool(self.containers or self.networks)


async def find_left(engine: Engine) -> Left:
    """What dead processes left on an engine."""
    here = local(engine.host)
    containers = [found for found in await engine.containers(OWNER) if is_left(found.labels, local=here)]
    networks = [found for found in await engine.networks(OWNER) if is_left(found.labels, local=here)]
    return Left(tuple(containers), tuple(networks))


async def remove_left(engine: Engine, left: Left) -> dict[str, str]:
    """Remove it, and say what could not be removed, by name, and why. What another process removes at the same time is no error.

    Raises SandboxFault when the engine is gone.
    """
    kept = {}
    removals = [*((engine.remove, each) for each in left.containers), *((engine.remove_network, each) for each in left.networks)]
    for remove, each in removals:
        try:
            await remove(each.id)
        except Unreachable:
            raise
        except SandboxFault as fault:
            kept[each.name] = str(fault)
    return kept


async def reap(engine: Engine) -> None:
    """At a sweep's start: what earlier ones left is removed and logged. Failing to is no reason not to start."""
    try:
        left = await find_left(engine)
        if left:
            log.info("removing what a dead process left", containers=[each.name for each in left.containers], networks=[each.name for each in left.networks])
            for reason in (await remove_left(engine, left)).values():
                log.warning("cannot remove what a dead process left", reason=reason)
    except SandboxFault as fault:
        log.warning("cannot remove what a dead process left", reason=str(fault))


@asynccontextmanager
async def reaping(engine: Engine, sweep: str) -> AsyncIterator[None]:
    """A reaper process for the length of the block. Raises HostFault when it cannot be started.

    It is told goodbye only when nothing of the sweep is left; else it tries for as long as it takes.
    """
    process = await trio.to_thread.run_sync(_start, engine.host, sweep)
    try:
        yield
    finally:
        with trio.move_on_after(GOODBYE_SECONDS, shield=True):
            if await _clean(engine, sweep):
                await trio.to_thread.run_sync(_goodbye, process)
            else:
                _let_go(process)


def _start(host: str, sweep: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-I", "-S", str(Path(reaper.__file__)), host, sweep]
    try:
        return subprocess.Popen(  # noqa: S603 (our own program)
            argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd="/"
        )
    except OSError as error:
        raise HostFault(f"the reaper cannot be started: {error.strerror}") from error


async def _clean(engine: Engine, sweep: str) -> bool:
    """Remove what is left of the sweep, such as a container that could not be removed while its engine was down; whether nothing is."""
    label = f"{SWEEP}={sweep}"
    with contextlib.suppress(SandboxFault):
        await remove_left(engine, Left(tuple(await engine.containers(label)), tuple(await engine.networks(label))))
        return not await engine.containers(label) and not await engine.networks(label)
    return False


def _goodbye(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.write(b"goodbye\n")
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GOODBYE_SECONDS)


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """It goes on without us; its end is nobody's business here."""
    assert process.stdin is not None
    log.warning("some containers are left; the reaper goes on", pid=process.pid)
    with contextlib.suppress(OSError):
        process.stdin.close()
    process.returncode = 0  # so that nobody warns of a process that is not waited for
