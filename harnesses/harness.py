"""What an adapter for a coding agent's CLI owes: a command for each call, and a reading of what came out.

An adapter is pure: it makes :class:`Command` values and reads files that a sandbox wrote. It starts nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

import attrs

from harnesses.failures import Failure
from harnesses.trajectory import Step
from stamina.outcome import Cause
from stamina.protocols import Protocol as ModelProtocol

WALL: Final = "wall"
"""Its time was over."""
MODEL_IDLE: Final = "model_idle"
"""It asked its model nothing for long, and did nothing else."""
PROGRESS_IDLE: Final = "progress_idle"
"""It showed no sign of progress for long."""
IDLE: Final = {MODEL_IDLE: "it neither asked its model anything nor worked", PROGRESS_IDLE: "it showed no sign of progress"}
"""The clocks that end a call which does nothing: the CLI hangs, which is not the agent's work; with the words for it."""


@attrs.frozen
class Program:
    """The CLI behind a harness.

    Attributes:
        harness: the harness's name.
        version: the exact one that the adapter was written for and its image has; a sweep may name another. None takes any, but no change.
        ask: prints the version; whatever else it prints, the first thing that looks like a version number counts.
        state: what must be kept for the session to go on, relative to HOME; the paths must stay the same when it is put back.
    """

    harness: str
    version: str | None
    ask: tuple[str, ...]
    state: tuple[str, ...]


@attrs.frozen
class ModelAccess:
    """How a call reaches its model: through the gateway, with a token that names the scenario and nothing else.

    Attributes:
        base_url: without a version (``/v1``) at its end.
        model: the only name that the gateway knows: whatever a CLI asks another model for must be told this one.
        context_window: tokens.
        protocols: what the model's provider speaks.
    """

    base_url: str
    token: str = attrs.field(repr=False)
    model: str
    context_window: int
    protocols: tuple[ModelProtocol, ...] = tuple(ModelProtocol)


@attrs.frozen
class CallContext:
    """One agent call.

    Attributes:
        turn, attempt, call: call counts infra repetitions of the same attempt, from 0.
        prompt: the text for the agent.
        session: the CLI's own session id from an earlier call, None for the first.
        workspace, home: absolute paths as the agent sees them.
        model: None for a harness that needs none.
        version: of the CLI in the sandbox, None where nobody asked.
    """

    turn: int
    attempt: int
    call: int
    prompt: str
    session: str | None
    workspace: PurePosixPath
    home: PurePosixPath
    model: ModelAccess | None = None
    version: str | None = None


@attrs.frozen
class Command:
    """A process to start in the sandbox, with the workspace as its directory.

    Attributes:
        argv: the program and its arguments; the prompt is not among them where the CLI takes it otherwise.
        stdin: written at once, then closed.
        env: added to the sandbox's small base environment (PATH, HOME, LANG).
        files: path relative to HOME ► content, written before the start.
        idle_load: share of one processor that the process itself (not what it starts) uses while it waits, as measured: that much of it is no work. Where
            nothing is known, 0.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = attrs.field(factory=dict)
    files: Mapping[PurePosixPath, bytes] = attrs.field(factory=dict)
    idle_load: float = 0.0


@attrs.frozen
class CallEnd:
    """How the process of a call ended.

    Attributes:
        exit_code: None when a signal ended it.
        signal: the signal's number, None when it exited.
        seconds: wall time.
        expired: the clock that ran out and made us end it (:data:`WALL`, :data:`MODEL_IDLE`, :data:`PROGRESS_IDLE`), or ``disk``; None when it ended by itself.
        stdout, stderr: files on the host with all that it wrote, up to the limit.
        truncated: output went over the limit and was dropped from there on.
        oom_kills: processes of the sandbox that the kernel killed for memory during the call, as far as it tells.
    """

    exit_code: int | None
    signal: int | None
    seconds: float
    expired: str | None
    stdout: Path
    stderr: Path
    truncated: bool = False
    oom_kills: int = 0


@attrs.frozen
class CallReport:
    """What the adapter read from a call.

    Attributes:
        completed: there is positive evidence that the agent finished its work (T4); exit code 0 alone is none.
        cause: who is to blame when it did not; None when completed.
        detail: one sentence, such as ``exit code 3: context overflow``.
        session: the CLI's session id to continue with, None to start afresh.
        failure: what went wrong, None when nothing did or the adapter does not tell.
        steps: what the agent did, in order; empty for an adapter that does not tell.
        unknown: events that the adapter does not know, counted by kind: the CLI has changed.
        flaws: lines of the output that are no events, counted by :class:`harnesses.jsonlines.Flaw`.
    """

    completed: bool
    cause: Cause | None
    detail: str
    session: str | None
    failure: Failure | None = None
    steps: tuple[Step, ...] = attrs.field(default=(), repr=False)
    unknown: Mapping[str, int] = attrs.field(factory=dict)
    flaws: Mapping[str, int] = attrs.field(factory=dict)


class Harness(Protocol):
    """An adapter for one CLI."""

    @property
    def name(self) -> str:
        """As in the sweep file, such as ``opencode``."""
        ...

    @property
    def uses_model(self) -> bool:
        """Whether it runs a model, so that its shell must be sandboxed."""
        ...

    @property
    def program(self) -> Program | None:
        """The CLI that must be in the sandbox; None when there is none to look for."""
        ...

    def command(self, context: CallContext) -> Command:
        """The process for this call."""
        ...

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        """What became of it. Never raises on strange output: that is a report with a cause."""
        ...
