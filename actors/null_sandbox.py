"""A sandbox without processes: the agent's call is a pause, its server is a ground truth in this process, asked over a real socket by the real tester.

For measuring ourselves: what is left when agents and their servers cost nothing is what stamina costs (``scripts/bench/scale.py``), and for trying a sweep
file's settings at no cost.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import Final

import attrs
import trio

from actors.sandbox import COUNTLESS, CallLimits, Health, Sandbox, Server, ServerFailed, ServerLimits
from harnesses.harness import CallContext, CallEnd, CallReport, Command
from scenario_store.folder import LiveFolder
from stamina.domain import Handler
from stamina.exchange import NO_BODY, RawBody, Request, Response

HOST: Final = "127.0.0.1"
_HEAD_LIMIT: Final = 64 * 1024
_REASONS: Final = {200: "OK", 201: "Created", 204: "No Content"}


@attrs.frozen
class NullHarness:
    """An agent that pauses, and then has done what ``done`` says.

    Args:
        done: (turn, attempt) ► the turn whose ground truth its server will be; None for no server.
        name: as in reports.
    """

    done: Callable[[int, int], int | None]
    name: str = "null"

    @property
    def uses_model(self) -> bool:
        """It runs nothing."""
        return False

    @property
    def program(self) -> None:
        """It needs none."""
        return

    def command(self, context: CallContext) -> Command:
        """The turn, for :class:`NullSandbox`."""
        done = self.done(context.turn, context.attempt)
        return Command(("null", "" if done is None else str(done)))

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        """It always completes."""
        return CallReport(completed=True, cause=None, detail="", session="null")


@attrs.define
class NullSandbox(Sandbox):
    """Pretends.

    Args:
        folder: a real working folder; the benchmark's files are laid in it as ever.
        truth: a turn's ground truth.
        seconds: that a call takes.
    """

    folder: LiveFolder
    truth: Callable[[int], Handler]
    seconds: float
    _turn: int | None = attrs.field(default=None, init=False)

    @property
    def workspace(self) -> Path:
        """The working folder's."""
        return self.folder.workspace

    @property
    def home(self) -> Path:
        """The working folder's."""
        return self.folder.home

    @property
    def inside(self) -> tuple[PurePosixPath, PurePosixPath]:
        """The same paths."""
        return PurePosixPath(self.workspace), PurePosixPath(self.home)

    async def call(self, command: Command, *, limits: CallLimits, stdout: Path, stderr: Path) -> CallEnd:
        """Pause, and note what the server will be."""
        expired = self.seconds > limits.wall
        await trio.sleep(min(self.seconds, limits.wall))
        self._turn = int(command.argv[1]) if command.argv[1] else None
        return CallEnd(None if expired else 0, 15 if expired else None, self.seconds, "wall" if expired else None, stdout, stderr)

    @asynccontextmanager
    async def serve(self, *, limits: ServerLimits, log: Path) -> AsyncIterator[Server | ServerFailed]:
        """Serve the ground truth in this process, for the length of the block."""
        if self._turn is None:
            yield ServerFailed("there is no run_server.sh in the workspace", "")
            return
        async with trio.open_nursery() as nursery:
            port = await nursery.start(_serve, self.truth(self._turn))
            yield Server(HOST, port, os.getpid(), "python")
            nursery.cancel_scope.cancel()

    async def probe(self) -> Health:
        """Nothing is ever broken."""
        disk = os.statvfs(self.folder.root)
        return Health(None, disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else COUNTLESS, 0)


async def _serve(handler: Handler, *, task_status: trio.TaskStatus[int]) -> None:
    listeners = await trio.open_tcp_listeners(0, host=HOST)
    port: int = listeners[0].socket.getsockname()[1]
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, _Connection(handler).talk, listeners)
        task_status.started(port)


@attrs.frozen
class _Connection:
    """Just enough HTTP/1.1 for our own tester: requests one at a time, bodies with a length."""

    handler: Handler

    async def talk(self, stream: trio.SocketStream) -> None:
        """Answer until the other side has enough."""
        buffer = bytearray()
        while (request := await _request(stream, buffer)) is not None:
            await stream.send_all(_bytes(self.handler(request)))


async def _request(stream: trio.SocketStream, buffer: bytearray) -> Request | None:
    """The next request, None when there is none; what follows it stays in the buffer."""
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        if len(buffer) > _HEAD_LIMIT or not await _more(stream, buffer):
            return None
    line, *headers = buffer[:end].decode("latin-1").split("\r\n")
    method, path, _ = line.split(" ", 2)
    length = next((int(header[15:]) for header in headers if header.lower().startswith("content-length:")), 0)
    while len(buffer) < end + 4 + length:
        if not await _more(stream, buffer):
            return None
    body = bytes(buffer[end + 4 : end + 4 + length])
    del buffer[: end + 4 + length]
    return Request(method, path, RawBody(body) if body else NO_BODY)


async def _more(stream: trio.SocketStream, buffer: bytearray) -> bool:
    try:
        data = await stream.receive_some()
    except trio.BrokenResourceError:
        return False
    buffer += data
    return bool(data)


def _bytes(response: Response) -> bytes:
    head = f"HTTP/1.1 {response.status} {_REASONS.get(response.status, 'Refused')}\r\n"
    if response.status == 204:
        return f"{head}\r\n".encode()
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(response.body)}\r\n\r\n".encode() + response.body
