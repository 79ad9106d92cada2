"""A sandbox of plain processes of this host: own folders, own sessions, deadlines, and proof that all of it ends. For trusted agents only.

It confines what *ends*, not what is *reached*: the agent runs as our user and can read what we can. The keeper (:mod:`actors.keeper`) sees to it that nothing
outlives a call, a server, or us.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final

import attrs
import trio

from actors.beneath import write_beneath
from actors.idleness import Measured, clock_over, size
from actors.keeper import descendants
from actors.keeping import Kept, NotStarted, Task, end_marked, keeping, processor_seconds
from actors.listeners import Listener, listener
from actors.ports import Ports, is_free
from actors.readiness import answers_http
from actors.sandbox import COUNTLESS, CallLimits, Health, Sandbox, Server, ServerFailed, ServerLimits, machine_load
from actors.serving import FIRST_PAUSE, SCRIPT, longer, no_script, tail, too_early, too_late
from harnesses.harness import CallEnd, Command
from stamina.errors import HostFault, SandboxFault

HOST: Final = "127.0.0.1"
NOT_STARTED: Final = 127
"""The exit code that a shell gives for a command that cannot be started."""

_PORT_SECONDS: Final = 5.0


def _absolute(path: Path) -> Path:
    return path.absolute()


@attrs.define
class ProcessSandbox(Sandbox):
    """One scenario's sandbox.

    Args:
        root: a folder whose path tells nothing about the scenario (L4); ``workspace``, ``home`` and ``tmp`` are made in it.
        ports: shared by all sandboxes of this process.
        env: added to the small environment that everything in it gets: PATH, HOME, LANG, TMPDIR.
    """

    root: Path = attrs.field(converter=_absolute)
    ports: Ports
    env: Mapping[str, str] = attrs.field(factory=dict)
    _busy: int | None = attrs.field(default=None, init=False)

    @property
    def workspace(self) -> Path:
        """The agent's code."""
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        """The agent's HOME."""
        return self.root / "home"

    @property
    def inside(self) -> tuple[PurePosixPath, PurePosixPath]:
        """The same paths: there is no other view."""
        return PurePosixPath(self.workspace), PurePosixPath(self.home)

    @property
    def _token(self) -> str:
        """The marker's word: the same after a resume, so that what an earlier process left alive is found by it."""
        return hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]

    async def fence(self) -> None:
        """End what a process of ours that was killed together with its keeper left alive here. Looks at all processes of the host, so once a sandbox."""
        await trio.to_thread.run_sync(end_marked, self._token)

    async def call(self, command: Command, *, limits: CallLimits, stdout: Path, stderr: Path) -> CallEnd:
        """See :meth:`actors.sandbox.Sandbox.call`. A command that cannot be started ends with exit code 127 and a line in ``stderr``, as in a shell."""
        self._make_folders()
        for path, content in command.files.items():
            write_beneath(self.home, path, content)
        with _stdin(command.stdin) as stdin:
            task = Task(command.argv, self.workspace, self._environment(command.env), stdout, stderr, limits.output_bytes, limits.grace, stdin=stdin)
            try:
                async with self._keeping(task) as kept:
                    return await _call_end(kept, limits, command.idle_load, stdout, stderr)
            except NotStarted as error:
                _append(stderr, f"{command.argv[0]}: {error}\n")
        return CallEnd(NOT_STARTED, None, 0.0, None, stdout, stderr)

    @asynccontextmanager
    async def serve(self, *, limits: ServerLimits, log: Path) -> AsyncIterator[Server | ServerFailed]:
        """See :meth:`actors.sandbox.Sandbox.serve`."""
        self._make_folders()
        if (reason := no_script(self.workspace)) is not None:
            yield ServerFailed(reason, "")
            return
        with self.ports.one() as port:
            env = self._environment({})
            task = Task(("bash", SCRIPT, str(port)), self.workspace, env, log, log, limits.output_bytes, limits.grace, outlive=True)
            try:
                async with self._keeping(task) as kept:
                    yield await _ready(kept, port, limits, log)
            except NotStarted as error:
                raise HostFault(f"bash cannot be started: {error}") from error
            await _verify_free(port)

    async def probe(self) -> Health:
        """See :meth:`actors.sandbox.Sandbox.probe`. Removing the workspace or the home is all that an agent can break here."""
        if not self.root.is_dir():
            raise SandboxFault(f"the sandbox's folder {self.root} is gone")
        disk = os.statvfs(self.root)
        processes = len(descendants(self._busy)) if self._busy is not None else 0
        return Health(self._broken(), disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else COUNTLESS, processes, machine_load())

    def _broken(self) -> str | None:
        for path in (self.workspace, self.home):
            try:
                mode = path.lstat().st_mode
            except OSError:
                return f"the {path.name} was removed"
            if not stat.S_ISDIR(mode):
                return f"the {path.name} is no folder any more"
        return None

    @asynccontextmanager
    async def _keeping(self, task: Task) -> AsyncIterator[Kept]:
        async with keeping(task, self._token) as kept:
            self._busy = kept.pid
            try:
                yield kept
            finally:
                self._busy = None

    def _make_folders(self) -> None:
        try:
            for path in (self.workspace, self.home, self.root / "tmp"):
                if path.is_symlink() or path.is_file():
                    path.unlink()
                path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxFault(f"the sandbox's folder {self.root} cannot be used: {error.strerror}") from error

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """Nothing of our own environment but PATH, so no secret either."""
        base = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.home), "LANG": "C.UTF-8", "TMPDIR": str(self.root / "tmp")}
        return {**base, **self.env, **more}


async def _call_end(kept: Kept, limits: CallLimits, idle_load: float, stdout: Path, stderr: Path) -> CallEnd:
    """Wait for a call's end, or end it when one of its clocks is over."""

    async def measure() -> Measured:
        return Measured(size(stdout, stderr), *await trio.to_thread.run_sync(processor_seconds, kept.pid, kept.started))

    clock = await clock_over(kept.finish, limits, measure, idle_load)
    expired = clock if kept.exited is None else None  # else it had ended by itself, and only what it left behind was left
    if clock is not None:
        await kept.end()
    done = await kept.finish()
    code = done.exit_code
    return CallEnd(
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        seconds=done.seconds,
        expired=expired,
        stdout=stdout,
        stderr=stderr,
        truncated=done.truncated,
    )


async def _ready(kept: Kept, port: int, limits: ServerLimits, log: Path) -> Server | ServerFailed:
    """Wait until the server answers HTTP and is known to be ours, or cannot come up any more. Raises HostFault when a stranger holds the port."""
    reason = too_late(limits.start)
    pause = FIRST_PAUSE
    with trio.move_on_after(limits.start):
        while not kept.empty:
            if await answers_http(HOST, port) and (owner := await _owner(kept, port)):
                return Server(HOST, port, owner.pid, owner.program)
            await _hear(kept, pause)
            pause = longer(pause)
        reason = too_early(kept.exited)
    await _owner(kept, port)
    return ServerFailed(reason, tail(log))


async def _hear(kept: Kept, seconds: float) -> None:
    """Wait for news of the server's processes, at most so long."""
    with trio.move_on_after(seconds):
        if not await kept.hear():
            raise SandboxFault("the keeper of the server was killed by what it kept")


async def _owner(kept: Kept, port: int) -> Listener | None:
    """Who of the server's processes listens on the port, None when nobody does. Raises HostFault when only others do."""
    owner = await trio.to_thread.run_sync(lambda: listener(port, descendants(kept.pid)))
    if owner is None and not is_free(port):
        raise HostFault(f"port {port} is held by a process that is not the agent's server")
    return owner


async def _verify_free(port: int) -> None:
    """Sockets of killed processes close within moments. Raises SandboxFault when the port stays held."""
    with trio.move_on_after(_PORT_SECONDS):
        while not is_free(port):  # noqa: ASYNC110 (nobody tells when a socket closes)
            await trio.sleep(FIRST_PAUSE)
        return
    raise SandboxFault(f"port {port} is still held after the server was ended")


@contextlib.contextmanager
def _stdin(data: bytes) -> Iterator[IO[bytes] | None]:
    """The bytes as an unnamed file: never a pipe that blocks us, and closed at its end."""
    if not data:
        yield None
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
