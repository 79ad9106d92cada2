"""Our side of :mod:`actors.keeper`: start a command under a keeper, hear what becomes of it, and have everything ended when the block ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

import attrs
import structlog
import trio

from actors import keeper
from stamina.errors import HostFault, SandboxFault

MARKER: Final = "STAMINA_SANDBOX"
"""An environment variable that everything in a sandbox inherits; only looked at when a keeper was killed by what it kept."""

SLACK = 5.0
"""Seconds that a keeper may take beyond its own deadlines before it counts as lost."""

_TICKS: Final = os.sysconf("SC_CLK_TCK")

log = structlog.get_logger()


@attrs.frozen
class Task:
    """What a keeper is to run.

    Attributes:
        argv, cwd, env: the command.
        stdout, stderr: host files, appended to; may be the same one.
        limit: bytes of each that are kept.
        grace: seconds; see :class:`actors.sandbox.CallLimits`.
        outlive: go on when the command's own process has ended (a server that puts itself into the background).
        stdin: a file to read from, None for an empty one.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    stdout: Path
    stderr: Path
    limit: int
    grace: float
    outlive: bool = False
    stdin: IO[bytes] | None = None

    def spec(self) -> bytes:
        """As the keeper reads it. Raises HostFault for a NUL in a path or an argument, which no process can be given."""
        numbers = (self.grace, self.limit, int(self.outlive))
        fields = [os.fsencode(str(field)) for field in (self.cwd, *numbers, self.stdout, self.stderr, *self.argv)]
        if any(b"\0" in field for field in fields):
            raise HostFault("a command cannot hold a NUL character")
        body = b"\0".join(fields)
        return len(body).to_bytes(keeper.LENGTH, "big") + body


@attrs.frozen
class Done:
    """How a task ended. ``exit_code`` is negative for a signal, None when the command had not ended by itself and we could not see how."""

    exit_code: int | None
    seconds: float
    truncated: bool


@attrs.define
class Kept:
    """A task under way.

    Attributes:
        pid: the keeper's; everything of the task is below it.
        patience: seconds in which it ends everything once it was told to.
        started: the pid of the command's own process, None before.
        exited: the exit code of the command's own process (negative: a signal), None while it runs.
        empty: nothing of the task is alive any more.
        done: how it ended, None before.
        settled: the keeper has had its last word.
    """

    pid: int
    patience: float
    _stream: trio.SocketStream
    started: int | None = None
    exited: int | None = None
    empty: bool = False
    done: Done | None = None
    settled: bool = False
    _buffer: bytes = b""

    async def finish(self) -> Done:
        """Wait for the end. Raises SandboxFault when the keeper was lost or could not end everything."""
        while await self.hear():
            pass
        if self.done is None:
            raise SandboxFault("the keeper of a process was killed by what it kept")
        return self.done

    async def hear(self) -> bool:
        """Take in one message; False when there will be none. Raises SandboxFault when nothing was started, or something could not be ended."""
        line = await self._line()
        if line is None:
            return False
        kind, *values = line.split()
        self.settled = self.settled or kind in {"unstarted", "failed", "done"}
        match kind:
            case "started":
                self.started = int(values[0])
            case "exited":
                self.exited = int(values[0])
            case "empty":
                self.empty = True
            case "unstarted":
                raise NotStarted(int(values[0]))
            case "failed":
                raise SandboxFault(f"a process could not be kept: {os.strerror(int(values[0]))}")
            case "done":
                self.done = self._done(values)
        return True

    async def _line(self) -> str | None:
        """The next whole line, None when there is none. Can be cancelled and called again: nothing is lost."""
        while b"\n" not in self._buffer:
            data = b""
            with contextlib.suppress(trio.BrokenResourceError):
                data = await self._stream.receive_some()
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode()

    def _done(self, values: list[str]) -> Done:
        if values[2] != "0":
            raise SandboxFault("processes of the agent could not be killed")
        return Done(self.exited, float(values[0]), values[1] == "1")

    async def end(self) -> None:
        """Have everything ended, and wait for it. Raises SandboxFault as :meth:`finish`, and when the keeper does not answer."""
        with contextlib.suppress(trio.BrokenResourceError):
            await self._stream.send_all(b"end\n")
        with trio.move_on_after(self.patience) as scope:
            await self.finish()
        if scope.cancelled_caught:
            raise SandboxFault(f"the keeper of a process has not ended it within {self.patience:g} s")


class NotStarted(Exception):
    """The command itself could not be started; ``errno`` says why. For the caller to turn into a value."""

    def __init__(self, errno: int) -> None:
        super().__init__(os.strerror(errno))
        self.errno = errno


@asynccontextmanager
async def keeping(task: Task, token: str) -> AsyncIterator[Kept]:
    """Run a task for the length of the block; on leaving, in whatever way, everything that it started is ended.

    Args:
        task: what to run.
        token: the sandbox's own word, for :data:`MARKER`.

    Raises:
        HostFault: no process could be made.
        SandboxFault: something could not be ended.
    """
    ours, theirs = socket.socketpair()
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(ours))
    with stream.socket, theirs:
        process = await _start(task, theirs, token)
        theirs.close()
        kept = Kept(process.pid, task.grace + keeper.KILL_SECONDS + SLACK, stream)
        try:
            await _hand_over(task, stream)
            yield kept
        finally:
            with trio.CancelScope(shield=True):
                await _finish(kept, process, token)


async def _hand_over(task: Task, stream: trio.SocketStream) -> None:
    spec = task.spec()
    try:
        await stream.send_all(spec)
    except trio.BrokenResourceError as error:
        raise SandboxFault("the keeper of a process was killed before it could begin") from error


async def _start(task: Task, control: socket.socket, token: str) -> trio.Process:
    argv = [sys.executable, "-I", "-S", keeper.__file__, str(control.fileno())]
    try:
        return await trio.lowlevel.open_process(
            argv,
            stdin=task.stdin or subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**task.env, MARKER: token},
            pass_fds=(control.fileno(),),
            start_new_session=True,
        )
    except OSError as error:
        raise HostFault(f"no process can be started: {error.strerror}") from error


async def _finish(kept: Kept, process: trio.Process, token: str) -> None:
    """End the task and its keeper within their deadlines; then, should the keeper have been lost, whatever carries the marker."""
    fault: SandboxFault | None = None
    with trio.move_on_after(kept.patience) as scope:
        try:
            await _end(kept)
        except SandboxFault as error:
            fault = error
        await process.wait()
    if scope.cancelled_caught or process.returncode != 0:
        process.kill()
        await process.wait()
        await trio.to_thread.run_sync(end_marked, token)
        log.warning("keeper lost", exit_code=process.returncode)
    elif fault is not None:
        raise fault


async def _end(kept: Kept) -> None:
    if not kept.settled:
        with contextlib.suppress(NotStarted):
            await kept.end()


def end_marked(token: str) -> None:
    """Kill every process whose environment carries this sandbox's marker. Looks at all processes of the host: only for when a keeper was lost."""
    needle = f"{MARKER}={token}".encode()
    for _ in range(100):
        marked = [pid for pid in _pids() if needle in _environ(pid).split(b"\0")]
        for pid in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not marked:
            return


def processor_seconds(pid: int, one: int | None = None) -> tuple[float, float]:
    """Processor time of a process and all below it, with those of theirs that have ended; and how much of it is that of ``one`` of them alone."""
    all_ticks = one_ticks = 0
    for each in (pid, *keeper.descendants(pid)):
        alone, ended_children = _ticks(each)
        all_ticks += alone + ended_children
        one_ticks += alone if each == one else 0
    return all_ticks / _TICKS, one_ticks / _TICKS


def _ticks(pid: int) -> tuple[int, int]:
    """Of a process, and of its children that have ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            user, system, user_of_children, system_of_children = map(int, file.read().rpartition(b")")[2].split()[11:15])
    except (OSError, ValueError):
        return 0, 0
    return user + system, user_of_children + system_of_children


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _environ(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""
