"""What an adapter for a coding agent's CLI owes: a command for each call, and a reading of what came out.

An adapter is pure: it makes :class:`Command` values and reads files that a sandbox wrote. It starts nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Protocol

import attrs

from stamina.outcome import Cause


@attrs.frozen
class ModelAccess:
    """How a call reaches its model: through the gateway, with a token that names the scenario and nothing else."""

    base_url: str
    token: str = attrs.field(repr=False)
    model: str
    context_window: int


@attrs.frozen
class CallContext:
    """One agent call.

    Attributes:
        turn, attempt, call: call counts infra repetitions of the same attempt, from 0.
        prompt: the text for the agent.
        session: the CLI's own session id from an earlier call, None for the first.
        workspace, home: absolute paths as the agent sees them.
        model: None for a harness that needs none.
    """

    turn: int
    attempt: int
    call: int
    prompt: str
    session: str | None
    workspace: PurePosixPath
    home: PurePosixPath
    model: ModelAccess | None = None


@attrs.frozen
class Command:
    """A process to start in the sandbox, with the workspace as its directory.

    Attributes:
        argv: the program and its arguments; the prompt is not among them where the CLI takes it otherwise.
        stdin: written at once, then closed.
        env: added to the sandbox's small base environment (PATH, HOME, LANG).
        files: path relative to HOME ► content, written before the start.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = attrs.field(factory=dict)
    files: Mapping[PurePosixPath, bytes] = attrs.field(factory=dict)


@attrs.frozen
class CallEnd:
    """How the process of a call ended.

    Attributes:
        exit_code: None when a signal ended it.
        signal: the signal's number, None when it exited.
        seconds: wall time.
        expired: the clock that ran out and made us end it: ``wall``, ``model_idle``, ``progress_idle``; None when it ended by itself.
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
    """

    completed: bool
    cause: Cause | None
    detail: str
    session: str | None


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

    def command(self, context: CallContext) -> Command:
        """The process for this call."""
        ...

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        """What became of it. Never raises on strange output: that is a report with a cause."""
        ...
