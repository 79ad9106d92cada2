"""What a sandbox is to the rest: a workspace, a home, processes that end, a server that is ours, and a probe.

Two implementations: :mod:`actors.process_sandbox` and :mod:`actors.container_sandbox`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePosixPath
from typing import Final, Protocol, TypeAlias

import attrs

from harnesses.harness import CallEnd, Command


@attrs.frozen
class IdleLimits:
    """When an agent call is ended for doing nothing.

    Attributes:
        model: seconds without a request to the model and without work. Output does not count: a CLI may go on telling that it waits.
        progress: seconds without a request to the model, without output and without work.
        quiet: seconds since agent and model last had to do with each other, 0 while a request is under way; None for an agent without model.
    """

    model: float
    progress: float
    quiet: Callable[[], float] | None = None

    @property
    def pause(self) -> float:
        """Seconds from one look to the next: a tenth of the shorter time."""
        return min(self.progress, self.model if self.quiet is not None else self.progress) / 10


@attrs.frozen
class CallLimits:
    """Limits of one agent call: seconds of wall time, bytes of stdout and of stderr kept, grace between TERM and KILL in seconds.

    ``held`` tells the seconds so far in which the model's gateway kept the agent waiting; they do not count as the agent's. None for an agent without model.
    ``idle``: when it is ended for doing nothing, None for never.
    """

    wall: float
    output_bytes: int = 256 * 1024 * 1024
    grace: float = 5.0
    held: Callable[[], float] | None = None
    idle: IdleLimits | None = None

    def left(self, passed: float) -> float:
        """Seconds that a call has left after so many have passed. To be asked again when they are over: some may have been held since."""
        return self.wall + (self.held() if self.held is not None else 0.0) - passed


@attrs.frozen
class ServerLimits:
    """Limits of the agent's server: seconds until it answers, grace in seconds when it is ended, bytes of its output kept."""

    start: float
    grace: float = 2.0
    output_bytes: int = 1024 * 1024


@attrs.frozen
class Server:
    """A running server of the agent: where the tester reaches it, and the pid (in the sandbox) and program that own the listening socket."""

    host: str
    port: int
    pid: int | None
    program: str


@attrs.frozen
class ServerFailed:
    """The agent's server did not come up: the agent's doing, so a value. ``reason`` is one sentence, ``log`` the end of its output."""

    reason: str
    log: str


LEAST_BYTES: Final = 64 << 20
LEAST_INODES: Final = 100
"""With less than this left, what fails is the host's failure: programs die of a full disk in many ways."""

COUNTLESS: Final = 1 << 62
"""Inodes of a file system that does not count them."""


@attrs.frozen
class Health:
    """A look at the sandbox from outside. ``broken`` says what the agent broke, None when it is fine; ``load`` is how many processes of its machine want each
    processor (the mean of the last minute), 0 where nobody knows."""

    broken: str | None
    free_bytes: int
    free_inodes: int
    processes: int
    load: float = 0.0

    @property
    def full(self) -> str | None:
        """What the disk lacks, None while there is enough for anybody."""
        if self.free_bytes < LEAST_BYTES:
            return f"disk full ({self.free_bytes >> 20} MiB free)"
        return f"disk full ({self.free_inodes} inodes free)" if self.free_inodes < LEAST_INODES else None


def machine_load() -> float:
    """How many processes of this machine want each of its processors, in the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


Serving: TypeAlias = AbstractAsyncContextManager[Server | ServerFailed]


class Sandbox(Protocol):
    """One scenario's sandbox. Every method raises :class:`stamina.errors.SandboxFault` (or HostFault) when the machinery fails."""

    @property
    def workspace(self) -> Path:
        """The workspace on the host."""
        ...

    @property
    def home(self) -> Path:
        """The agent's HOME on the host; the CLI's session lives in it."""
        ...

    @property
    def inside(self) -> tuple[PurePosixPath, PurePosixPath]:
        """Workspace and home as the agent sees them."""
        ...

    async def call(self, command: Command, *, limits: CallLimits, stdout: Path, stderr: Path) -> CallEnd:
        """Run one agent call to its end. When it returns, nothing that the call started is alive (L1)."""
        ...

    def serve(self, *, limits: ServerLimits, log: Path) -> Serving:
        """Start ``bash run_server.sh PORT`` on a fresh port for the length of the block.

        The port is free before; the listening socket's owner is what we started; on leaving, everything is ended and the port verified free (L1).
        """
        ...

    async def probe(self) -> Health:
        """Look at it out of band."""
        ...
