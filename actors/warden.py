"""Talks to the warden, process 1 of an agent's container (``harnesses/images/warden/warden.c`` has the protocol).

No engine call is made for an agent call or a server run: an order goes down the container's stdin, the warden does the rest, and what it says comes back here.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import attrs
import trio

from stamina.errors import SandboxFault

VERSION: Final = "3"
ANSWER_SECONDS: Final = 30.0
"""The warden answers in microseconds; a machine that is out of memory or processors makes everything slow."""

END_SECONDS: Final = 25.0
"""More than the 10 s in which it kills, beyond the grace."""

USAGE_SECONDS: Final = 120.0
"""The warden gives up counting after 60 s, and says how far it came."""

_LENGTH: Final = struct.Struct(">I")


class Wire(Protocol):
    """The container's stdin and stdout: :class:`actors.docker.Channel`."""

    async def send(self, data: bytes) -> None:
        """Raises SandboxFault."""
        ...

    async def receive(self) -> bytes:
        """What has come, ``b""`` at the end. Raises SandboxFault."""
        ...


@attrs.frozen
class Order:
    """A command for the agent's user.

    Attributes:
        argv: searched in the PATH of ``env``.
        folder: to start in.
        stdin, stdout, stderr: files as the container sees them; no stdin when empty. Output is appended.
        limit: bytes of each output that are kept.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: str
    stdin: str
    stdout: str
    stderr: str
    limit: int
    uid: int
    gid: int

    def fields(self) -> list[str]:
        """For the warden."""
        env = [f"{name}={value}" for name, value in self.env.items()]
        files = (self.folder, self.stdin, self.stdout, self.stderr)
        return ["run", str(self.uid), str(self.gid), *files, str(self.limit), str(len(env)), *env, *self.argv]


@attrs.frozen
class Done:
    """All is ended. ``left`` counts processes that nothing could end (0 is proven by the kernel)."""

    truncated: bool
    left: int
    oom_kills: int


@attrs.frozen
class Look:
    """What the warden sees. ``broken`` is empty when nothing is."""

    broken: str
    free_bytes: int
    free_inodes: int
    processes: int
    oom_kills: int


@attrs.frozen
class Usage:
    """Bytes and inodes that a container has taken."""

    bytes: int
    inodes: int


@attrs.frozen
class Listens:
    """Who listens on a port; ``pid`` None when it hides."""

    pid: int | None
    program: str


class NotStarted(Exception):
    """The command cannot be started, with the system's error number. Not a failure of the machinery."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Warden:
    """One container's warden. :meth:`listen` runs for as long as it is used; every question raises SandboxFault when the container is gone.

    Attributes:
        exited: exit code of the last command (negative: a signal), None while it runs.
        empty: the last process has ended.
        lost: why nothing more will come, None while all is well.
    """

    def __init__(self, wire: Wire) -> None:
        self.exited: int | None = None
        self.empty = True
        self.lost: str | None = None
        self._wire = wire
        self._answers: dict[str, list[str]] = {}
        self._news = trio.lowlevel.ParkingLot()

    async def listen(self) -> None:
        """Take in what the warden says, until nothing more comes."""
        buffer = bytearray()
        try:
            while data := await self._wire.receive():
                buffer += data
                self._take(buffer)
            self.lost = "the container ended"
        except SandboxFault as fault:
            self.lost = str(fault)
        finally:
            self.lost = self.lost or "nobody listens any more"
            self._news.unpark_all()

    async def hello(self) -> None:
        """Raises SandboxFault when it is not the warden that we know."""
        version = (await self._ask(["hello"], "hello"))[0]
        if version != VERSION:
            raise SandboxFault(f"the container's warden speaks version {version}, this is version {VERSION}: run 'stamina images build base'")

    async def run(self, order: Order) -> int:
        """Start a command; its pid in the container. Raises NotStarted."""
        self.exited, self.empty = None, False
        answer = await self._ask(order.fields(), "started", "unstarted")
        if len(answer) == 1:
            return int(answer[0])
        if answer[1] == "warden":
            raise SandboxFault(f"the container cannot start a command: error {answer[0]} with the files of its output")
        raise NotStarted(int(answer[0]))

    async def end(self, grace: float) -> Done:
        """End everything: TERM, so many seconds, KILL. Raises SandboxFault when something survives."""
        answer = await self._ask(["end", str(int(grace * 1000))], "done", seconds=grace + END_SECONDS)
        done = Done(answer[0] == "1", int(answer[1]), int(answer[2]))
        if done.left:
            raise SandboxFault(f"{done.left} processes of the container cannot be ended")
        return done

    async def look(self, workspace: str, home: str, *, writable: bool) -> Look:
        """Look at disk, folders and processes."""
        broken, *numbers = await self._ask(["look", workspace, home, str(int(writable))], "look")
        return Look(broken, *map(int, numbers))

    async def listener(self, port: int, uid: int, gid: int) -> Listens | None:
        """Who listens on a port, None when nobody does."""
        pid, program = await self._ask(["listener", str(port), str(uid), str(gid)], "listener")
        return None if pid == "-1" else Listens(int(pid) or None, program)

    async def usage(self, uid: int, gid: int, folders: Iterable[str]) -> Usage:
        """What lies below these folders, and in files that this user's processes hold open though they have no name any more."""
        for here in ("0", "1"):
            answer = await self._ask(["usage", str(uid), str(gid), here, *folders], "usage", seconds=USAGE_SECONDS)
            if answer[0] != "-1":
                break
        return Usage(int(answer[0]), int(answer[1]))

    async def worked(self) -> float | None:
        """Seconds of processor time that the command's own process has used, without what it has started; None when it has ended."""
        nanoseconds = int((await self._ask(["worked"], "worked"))[0])
        return None if nanoseconds < 0 else nanoseconds / 1e9

    async def fence(self, gateway: str, *, closed: bool) -> None:
        """Close the container's way to its neighbours, and out of its network when ``closed``, for good. Raises SandboxFault when it cannot be."""
        number = int((await self._ask(["fence", gateway, str(int(closed))], "fenced"))[0])
        if number:
            raise SandboxFault(f"the container cannot be kept apart from its neighbours: {os.strerror(number)}")

    async def wait_exited(self) -> int:
        """The last command's exit code, once it has one."""
        while self.exited is None:
            await self.wait_news()
        return self.exited

    async def wait_news(self) -> None:
        """Until the warden says anything. Raises SandboxFault when it never will."""
        self._check()
        await self._news.park()
        self._check()

    def _check(self) -> None:
        if self.lost is not None:
            raise SandboxFault(self.lost)

    async def _ask(self, fields: list[str], *words: str, seconds: float = ANSWER_SECONDS) -> list[str]:
        self._check()
        for word in words:
            self._answers.pop(word, None)
        with trio.move_on_after(seconds):
            await self._wire.send(encoded(fields))
            while not (found := [word for word in words if word in self._answers]):
                await self.wait_news()
            return self._answers.pop(found[0])
        raise SandboxFault(f"the container did not answer '{fields[0]}' within {seconds:.0f} s")

    def _take(self, buffer: bytearray) -> None:
        while len(buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(buffer)
            if len(buffer) < _LENGTH.size + length:
                return
            word, *fields = bytes(buffer[_LENGTH.size : _LENGTH.size + length]).decode(errors="replace").split("\n")
            del buffer[: _LENGTH.size + length]
            self._hear(word, fields)

    def _hear(self, word: str, fields: list[str]) -> None:
        if word == "exited":
            self.exited = int(fields[0])
        elif word == "empty":
            self.empty = True
        else:
            self._answers[word] = fields
        self._news.unpark_all()


def encoded(fields: Iterable[str]) -> bytes:
    """A request as the warden reads it."""
    body = b"".join(field.encode(errors="surrogateescape").replace(b"\0", b"") + b"\0" for field in fields)
    return _LENGTH.pack(len(body)) + body
