"""Who may do what at the same time: separate permits for scenarios, agent calls, suites and thinking; and a host that must have room."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol, TypeVar

import attrs
import psutil
import trio

from actors.sandbox import COUNTLESS
from actors.stopping import Stop
from scenario_store.atomic import host_faults
from stamina.config.model import Sweep

T = TypeVar("T")

_FILES: Final = 65_536

HELD_SECONDS: Final = 5.0
"""How often a host without room is looked at again."""
REMIND_SECONDS: Final = 600.0
"""How often it is said again that there is none."""


class Compute(Protocol):
    """Runs our own slow work (making and checking suites, scanning folders, waiting for the disk) where it holds up nobody."""

    async def __call__(self, work: Callable[[], T], /) -> T:
        """The work's result."""
        ...


@attrs.frozen
class Threads:
    """:class:`Compute` in worker threads. Few for what thinks: Python runs one at a time, and each one more makes the event loop wait longer for its turn.

    Attributes:
        limiter: how many at once; None: trio's own limit, for what only waits.
    """

    limiter: trio.CapacityLimiter | None = None

    async def __call__(self, work: Callable[[], T], /) -> T:
        """The work's result, from a thread."""
        return await trio.to_thread.run_sync(work, limiter=self.limiter)


@attrs.frozen
class Room:
    """What the host has left: bytes and inodes on the fullest of the disks that count, bytes of memory, processes that may still be made (None: no limit).

    ``where`` is a folder on that disk, where several count.
    """

    disk: int
    inodes: int
    memory: int
    processes: int | None = None
    where: str = ""

    def lacks(self, floor: Room) -> str | None:
        """One clause that says what there is too little of, None when there is enough."""
        where = f" at {self.where}" if self.where else ""
        if self.disk < floor.disk:
            return f"{self.disk >> 20} MiB of disk are free{where}, {floor.disk >> 20} MiB are needed"
        if self.inodes < floor.inodes:
            return f"{self.inodes} inodes are free{where}, {floor.inodes} are needed"
        if self.memory < floor.memory:
            return f"{self.memory >> 20} MiB of memory are available, {floor.memory >> 20} MiB are needed"
        if self.processes is not None and floor.processes is not None and self.processes < floor.processes:
            return f"{self.processes} more processes may be made, {floor.processes} are needed"
        return None


FLOOR: Final = Room(disk=1 << 30, inodes=10_000, memory=256 << 20, processes=64)
"""Below this nothing new is started."""


def look(path: Path, *more: Path) -> Room:
    """The room that this host has now; ``path`` is on the disk that counts, and others may count too where they are on this machine.

    Raises HostFault when the first is gone.
    """
    with host_faults("look at", path):
        disks = [_disk(path)]
    for other in more:
        with contextlib.suppress(OSError):
            disks.append(_disk(other))
    bytes_free, inodes, where = min(disks, key=lambda each: (each[0] >= FLOOR.disk and each[1] >= FLOOR.inodes, each[0]))
    return Room(bytes_free, inodes, psutil.virtual_memory().available, _processes_left(), str(where) if more else "")


def _disk(path: Path) -> tuple[int, int, Path]:
    """Bytes and inodes that are free; some file systems count no inodes. Raises OSError."""
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else COUNTLESS, path


def take_all_files() -> None:
    """Let this process have as many open files as its hard limit allows: each container and each request holds some, and the usual soft limit is 1,024."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if most == resource.RLIM_INFINITY else min(most, _FILES)
    with contextlib.suppress(OSError, ValueError):  # macOS names a limit that it does not grant
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _processes_left() -> int | None:
    """Under the limit of our user, and under the host's own, which counts threads."""
    most, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    lefts = [] if most == resource.RLIM_INFINITY else [most - len(psutil.pids())]
    with contextlib.suppress(OSError, ValueError, IndexError):
        running = int(Path("/proc/loadavg").read_text("ascii").split()[3].partition("/")[2])
        lefts += [int(Path(name).read_text("ascii")) - running for name in ("/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max")]
    return max(0, min(lefts)) if lefts else None


@attrs.define
class Admission:
    """Keeps new work waiting while the host has no room.

    Args:
        look: the room there is.
        held: told the reason when waiting begins, and again every :data:`REMIND_SECONDS`, however many wait.
        freed: told the seconds that it took when there is room again.
        stop: ends the waiting; whoever waited asks it before going on.
    """

    look: Callable[[], Room]
    held: Callable[[str], None]
    stop: Stop
    freed: Callable[[float], None] = lambda seconds: None
    floor: Room = FLOOR
    pause: float = HELD_SECONDS
    _since: float | None = None
    _told: float = 0.0

    async def wait(self) -> None:
        """Return once there is room, or we are asked to stop."""
        while not self.stop.asked and (reason := self.look().lacks(self.floor)) is not None:
            self._tell(reason)
            await self.stop.sleep(self.pause)
        if self._since is not None and not self.stop.asked:
            seconds, self._since = trio.current_time() - self._since, None
            self.freed(seconds)

    def _tell(self, reason: str) -> None:
        now = trio.current_time()
        if self._since is None or now - self._told >= REMIND_SECONDS:
            self._since = now if self._since is None else self._since
            self._told = now
            self.held(reason)


async def at_once() -> None:
    """An admission that keeps nobody waiting."""
    await trio.lowlevel.checkpoint()


@attrs.define
class Permits:
    """The permits of one sweep.

    Attributes:
        scenarios: alive at once.
        suites: running at once; they wait for servers, which need processors.
        admit: waits until the host has room for one more agent call.
    """

    scenarios: trio.CapacityLimiter
    suites: trio.CapacityLimiter
    admit: Callable[[], Awaitable[None]] = at_once
    _models: dict[str, trio.CapacityLimiter] = attrs.field(factory=dict)
    _local: trio.CapacityLimiter = attrs.field(factory=lambda: trio.CapacityLimiter(float("inf")))

    def calls(self, model: str | None) -> trio.CapacityLimiter:
        """The permits for agent calls in flight of one model; a harness without one is bounded by the scenarios alone."""
        return self._local if model is None else self._models[model]


def permits(sweep: Sweep, admit: Callable[[], Awaitable[None]]) -> Permits:
    """The permits that a sweep asks for."""
    suites = trio.CapacityLimiter(max(4, 2 * (os.cpu_count() or 1)))
    models = {name: trio.CapacityLimiter(model.max_in_flight) for name, model in sweep.models.items()}
    return Permits(trio.CapacityLimiter(sweep.concurrency), suites, admit, models)
