"""A sandbox in a container: what runs in it reaches nothing but its workspace, its home and what the network allows, and all of it ends for certain.

The engine makes, starts and removes the container. All else goes through the warden (:mod:`actors.warden`), process 1 of the container: agent calls and server
runs cost the engine nothing, output goes straight from the warden to files of the run, and no byte of it passes through this process.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

import attrs
import structlog
import trio

from actors.beneath import write_beneath
from actors.container import AGENTS_TO_COUNT, HOME, ROOTS_TO_COUNT, SPOOL, WORKSPACE, Account
from actors.disk import DiskWatch, free_of
from actors.docker import Engine, State, local
from actors.idleness import Measured, clock_over, size
from actors.network import Network
from actors.readiness import answers_http
from actors.sandbox import CallLimits, Health, Sandbox, Server, ServerFailed, ServerLimits, machine_load
from actors.serving import FIRST_PAUSE, SCRIPT, longer, no_script, tail, too_early, too_late
from actors.spool import Spool
from actors.warden import END_SECONDS, Done, NotStarted, Order, Usage, Warden
from harnesses.harness import CallEnd, Command
from scenario_store.folder import LiveFolder
from stamina.errors import SandboxFault

NOT_STARTED: Final = 127
"""The exit code that a shell gives for a command that cannot be started."""

WATCH_SECONDS: Final = 2.0
"""How often the disks are looked at while anything runs."""

MEASURE_SECONDS: Final = 10.0
"""How long the engine may take to say how much was worked."""

MOST_INODES: Final = 1_000_000
"""Files and folders that one agent may make."""

TAKE_BACK_SECONDS: Final = 60.0
"""How long making an agent's files ours again may take."""

DISK: Final = "disk"
"""Why something was ended, as ``CallEnd.expired`` has it."""

log = structlog.get_logger()


@attrs.frozen
class Body:
    """A container that runs.

    Attributes:
        name: at the engine.
        state: when it started.
        ports: those that may be listened on; empty for any.
        env: of all processes in it.
        disks: folders on the disks that it writes to.
        disk: bytes that it may take.
        writable: its root file system is.
    """

    name: str
    engine: Engine
    warden: Warden
    network: Network
    account: Account
    state: State
    ports: tuple[int, ...]
    env: Mapping[str, str]
    disks: tuple[Path, ...]
    disk: int
    writable: bool


@attrs.define
class ContainerSandbox(Sandbox):
    """One scenario's container; made by :mod:`actors.containers`."""

    folder: LiveFolder
    body: Body
    _spool: Spool
    _disk: DiskWatch = attrs.field(init=False)
    _image: Usage | None = attrs.field(default=None, init=False)
    _oom_kills: int = attrs.field(default=0, init=False)
    _served: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._disk = DiskWatch(Usage(self.body.disk, MOST_INODES))

    @property
    def workspace(self) -> Path:
        """The agent's code."""
        return self.folder.workspace

    @property
    def home(self) -> Path:
        """The agent's HOME."""
        return self.folder.home

    @property
    def inside(self) -> tuple[PurePosixPath, PurePosixPath]:
        """The same in every container."""
        return WORKSPACE, HOME

    async def call(self, command: Command, *, limits: CallLimits, stdout: Path, stderr: Path) -> CallEnd:
        """See :meth:`actors.sandbox.Sandbox.call`. A command that cannot be started ends with exit code 127 and a line in ``stderr``, as in a shell."""
        await self._tidy(partial(self._hand_over, command))
        begun = trio.current_time()
        with self._spool.giving(command.stdin) as given, self._spool.taking(stdout) as out, self._spool.taking(stderr) as err:
            order = self._order(command.argv, command.env, given, out, err, limits.output_bytes)
            try:
                async with self._explained(), self._running(order, limits.grace) as running:
                    await self._until_end(running, limits, command.idle_load, (self._spool.path / out, self._spool.path / err))
            except NotStarted as error:
                _append(stderr, f"{command.argv[0]}: {os.strerror(error.number)}\n")
                return CallEnd(NOT_STARTED, None, trio.current_time() - begun, None, stdout, stderr)
        return running.call_end(trio.current_time() - begun, stdout, stderr)

    @asynccontextmanager
    async def serve(self, *, limits: ServerLimits, log: Path) -> AsyncIterator[Server | ServerFailed]:
        """See :meth:`actors.sandbox.Sandbox.serve`. The port is free, as nothing runs in the container; for the same reason whoever listens is the server."""
        if (reason := no_script(self.workspace)) is not None:
            yield ServerFailed(reason, "")
            return
        await self._tidy()
        port = self._port()
        with self._spool.taking(log) as out:
            order = self._order(("bash", SCRIPT, str(port)), {}, "", out, out, limits.output_bytes)
            try:
                async with self._explained(), self._running(order, limits.grace) as running:
                    yield await self._ready(port, running, limits, log)
            except NotStarted as error:
                yield ServerFailed(f"bash cannot be started: {os.strerror(error.number)}", "")
                return
        if running.oom_kills:
            _append(log, f"[stamina] the kernel killed {running.oom_kills} processes: out of memory\n")
        if running.expired == DISK:
            _append(log, f"[stamina] ended: {self._too_much}\n")

    async def probe(self) -> Health:
        """See :meth:`actors.sandbox.Sandbox.probe`."""
        async with self._explained():
            look = await self.body.warden.look(str(WORKSPACE), str(HOME), writable=self.body.writable)
        load = machine_load() if local(self.body.engine.host) else 0.0
        return Health(look.broken or None, look.free_bytes, look.free_inodes, look.processes, load)

    async def _tidy(self, more: Callable[[], None] = lambda: None) -> None:
        """Nothing runs in the container now. In a thread: an agent may have left a million files. Raises SandboxFault."""

        def tidy() -> None:
            self._spool.clear()
            more()

        await self._take_back()
        await trio.to_thread.run_sync(tidy)

    async def _take_back(self) -> None:
        """Where agents are root and we are not, what they made theirs is made ours again, or we could lay nothing into their folders. Raises SandboxFault."""
        ours, folders = os.getuid(), (self.workspace, self.home)
        if not ours or not self.body.account.root or all(_is_of(folder, ours) for folder in folders):
            return
        with self._spool.taking(self.folder.tmp / "owner.log") as out:
            order = self._order(("chown", "-R", f"{ours}:{os.getgid()}", str(WORKSPACE), str(HOME)), {}, "", out, out, 1 << 16)
            with contextlib.suppress(NotStarted):
                async with self._explained(), self._running(order, 0.5):
                    with trio.move_on_after(TAKE_BACK_SECONDS):
                        await self.body.warden.wait_exited()
        if not all(_is_of(folder, ours) for folder in folders):
            raise SandboxFault("the agent made its folders root's, and spoiled chown")

    def _hand_over(self, command: Command) -> None:
        """The command's files, and what we have laid into the workspace, become the agent's. Nothing runs in the container now."""
        account = self.body.account
        owner = (account.uid, account.gid) if os.getuid() == 0 else None
        for path, content in command.files.items():
            write_beneath(self.home, path, content, owner=owner)
        if owner is not None:
            hand_over((self.workspace,), account)

    def _order(self, argv: tuple[str, ...], env: Mapping[str, str], given: str, out: str, err: str, limit: int) -> Order:
        account = self.body.account
        stdin = str(SPOOL / given) if given else ""
        return Order(argv, {**self.body.env, **env}, str(WORKSPACE), stdin, str(SPOOL / out), str(SPOOL / err), limit, account.uid, account.gid)

    def _port(self) -> int:
        """Another one each time."""
        self._served += 1
        ports = self.body.ports
        return ports[self._served % len(ports)] if ports else self.body.network.port()

    @asynccontextmanager
    async def _running(self, order: Order, grace: float) -> AsyncIterator[_Running]:
        """A command, ended with all that it started when the block is left, whatever the reason, or before when it takes too much disk. Raises NotStarted,
        SandboxFault."""
        warden = self.body.warden
        running = _Running(warden)
        await self._begin_watch()
        await warden.run(order)
        failure: Exception | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._watch, running, grace)
                try:
                    yield running
                except Exception as error:
                    failure = error  # raised again below, where no nursery wraps it in a group
                nursery.cancel_scope.cancel()
        except BaseException:
            await self._end_anyway(running, grace)
            raise
        if failure is not None:
            await self._end_anyway(running, grace)
            raise failure
        with trio.CancelScope(shield=True):
            self._ended(running, await warden.end(grace))

    async def _end_anyway(self, running: _Running, grace: float) -> None:
        """When a reason is on its way that matters more than a failure here; a container that is lost is gone anyway."""
        with trio.move_on_after(grace + END_SECONDS, shield=True), contextlib.suppress(SandboxFault):
            self._ended(running, await self.body.warden.end(grace))

    def _ended(self, running: _Running, done: Done) -> None:
        running.truncated |= done.truncated
        running.oom_kills += max(0, done.oom_kills - self._oom_kills)
        self._oom_kills = max(self._oom_kills, done.oom_kills)

    async def _until_end(self, running: _Running, limits: CallLimits, idle_load: float, output: tuple[Path, Path]) -> None:
        """Wait for the command's end, or until one of its clocks is over."""

        async def measure() -> Measured:
            return Measured(size(*output), await self._processor_seconds(), await self.body.warden.worked() if idle_load else None)

        clock = await clock_over(self.body.warden.wait_exited, limits, measure, idle_load)
        if clock is not None and self.body.warden.exited is None:
            running.expired = running.expired or clock

    async def _processor_seconds(self) -> float | None:
        """Of all that ran in the container; None when the engine does not say, or not soon: meanwhile nobody hears of the command's end."""
        with trio.move_on_after(MEASURE_SECONDS), contextlib.suppress(SandboxFault):
            return await self.body.engine.processor_seconds(self.body.name)
        return None

    async def _begin_watch(self) -> None:
        """Nothing runs yet. Once in a container's life, and when it may be over its limit, what is there is counted."""
        self._disk.see(free_of(self.body.disks))
        if self._disk.due:
            self._disk.begin(await self._taken())

    async def _watch(self, running: _Running, grace: float) -> None:
        """End what runs once it has taken too much disk."""
        try:
            while running.expired != DISK:
                await trio.sleep(WATCH_SECONDS)
                self._disk.see(free_of(self.body.disks))
                if self._disk.due and self._disk.count(await self._taken()):
                    running.expired = DISK
            with trio.CancelScope(shield=True):
                self._ended(running, await self.body.warden.end(grace))
        except SandboxFault:
            return  # whoever waits for the command hears of it too

    async def _taken(self) -> Usage:
        """Root may write everywhere, so what the image holds is counted with it, and is not held against it."""
        account = self.body.account
        if not account.root or not self.body.writable:
            return await self.body.warden.usage(account.uid, account.gid, (str(WORKSPACE), str(HOME), *AGENTS_TO_COUNT))
        if self._image is None:
            self._image = await self.body.warden.usage(account.uid, account.gid, ("/",))
        taken = await self.body.warden.usage(account.uid, account.gid, (str(WORKSPACE), str(HOME), *ROOTS_TO_COUNT))
        return Usage(max(0, taken.bytes - self._image.bytes), max(0, taken.inodes - self._image.inodes))

    @property
    def _too_much(self) -> str:
        return f"it took more disk than it may ({self.body.disk >> 20} MiB, {MOST_INODES} files)"

    async def _ready(self, port: int, running: _Running, limits: ServerLimits, log: Path) -> Server | ServerFailed:
        """Wait until the server answers HTTP, or cannot come up any more."""
        warden, account = self.body.warden, self.body.account
        host, reached = self.body.network.address(self.body.state, port)
        reason, pause = too_late(limits.start), FIRST_PAUSE
        with trio.move_on_after(limits.start):
            while not warden.empty:
                if await answers_http(host, reached) and (found := await warden.listener(port, account.uid, account.gid)):
                    return Server(host, reached, found.pid, found.program)
                with trio.move_on_after(pause):
                    await warden.wait_news()
                pause = longer(pause)
            reason = f"the server was ended: {self._too_much}" if running.expired == DISK else too_early(warden.exited)
        return ServerFailed(reason + await self._out_of_memory(), tail(log))

    async def _out_of_memory(self) -> str:
        look = await self.body.warden.look(str(WORKSPACE), str(HOME), writable=False)
        return ", out of memory" if look.oom_kills > self._oom_kills else ""

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        """When the container is lost, say why."""
        try:
            yield
        except SandboxFault as fault:
            if self.body.warden.lost is None:
                raise
            raise SandboxFault(await why_lost(self.body.engine, self.body.name, str(fault))) from fault


@attrs.define
class _Running:
    """A command under way, and what is known of it once it has ended."""

    warden: Warden
    expired: str | None = None
    truncated: bool = False
    oom_kills: int = 0

    def call_end(self, seconds: float, stdout: Path, stderr: Path) -> CallEnd:
        """As the harness reads it."""
        code = self.warden.exited
        if code is None:
            code = -signal.SIGKILL
        return CallEnd(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            seconds=seconds,
            expired=self.expired,
            stdout=stdout,
            stderr=stderr,
            truncated=self.truncated,
            oom_kills=self.oom_kills,
        )


async def why_lost(engine: Engine, name: str, reason: str) -> str:
    """Why a container is gone, as far as the engine knows."""
    try:
        state = await engine.state(name)
    except SandboxFault as fault:
        return f"the container was lost ({reason}), and the engine cannot be asked why: {fault}"
    if state is None:
        return "the container was removed by somebody else"
    if state.running:
        return f"the connection to the container was lost: {reason}"
    how = "out of memory" if state.oom else state.error or f"exit code {state.exit_code}"
    return f"the container ended: {how}"


def hand_over(folders: Iterable[Path], account: Account) -> None:
    """Make these folders and what is directly in them belong to the agent. For root alone; links are not followed."""
    for folder in folders:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.stat(follow_symlinks=False).st_uid != account.uid:
                    os.chown(entry.path, account.uid, account.gid, follow_symlinks=False)


def _is_of(folder: Path, user: int) -> bool:
    return folder.lstat().st_uid == user


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
