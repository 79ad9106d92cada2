"""One agent call: the adapter says what to start, the sandbox runs it, the adapter reads what became of it, and that is an event."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import structlog

from actors.permits import Compute
from actors.sandbox import CallLimits, Health, Sandbox
from harnesses.failures import Failure
from harnesses.harness import IDLE, CallContext, CallEnd, CallReport, Harness
from harnesses.trajectory import lines
from scenario_store.atomic import host_faults
from stamina.outcome import Cause
from stamina.turns import CallCompleted, CallExpired, CallFailed

log = structlog.get_logger()

CROWDED: Final = 5.0
"""Processes that want each processor, from which on a CLI that takes more than a minute to start is the machine's failure: it gets a fifth of what it needs."""

SLOW_START: Final = 60.0
"""Seconds. What is wrong with a CLI or its configuration shows sooner."""

CallEvent: TypeAlias = CallCompleted | CallExpired | CallFailed


@attrs.frozen
class Files:
    """Where a call's text and output go, in the attempt's folder."""

    folder: Path

    @property
    def prompt(self) -> Path:
        """What the agent was told."""
        return self.folder / "prompt.md"

    @property
    def stdout(self) -> Path:
        """The CLI's output as it came."""
        return self.folder / "agent.jsonl"

    @property
    def trajectory(self) -> Path:
        """What the agent did, in the form that all CLIs share."""
        return self.folder / "trajectory.jsonl"

    @property
    def stderr(self) -> Path:
        """The CLI's complaints."""
        return self.folder / "agent.stderr"


@attrs.frozen
class ModelSeen:
    """What the gateway saw of a call.

    Attributes:
        served: requests that the model answered.
        trouble: why the last request failed for the provider's reasons, None when it did not.
        silent: the last thing between agent and model was the model's silence.
    """

    served: int
    trouble: str | None = None
    silent: bool = False


Watch: TypeAlias = Callable[[], ModelSeen | None]
"""Asks the gateway what it saw of the call that just ended; None for an agent without model."""


def unwatched() -> ModelSeen | None:
    """Of an agent without model."""
    return None


async def call_agent(
    harness: Harness, sandbox: Sandbox, context: CallContext, *, limits: CallLimits, files: Files, compute: Compute, watch: Watch = unwatched
) -> CallEvent:
    """Call the agent once. What it does, and what its CLI does, is in the event; raises InfraError for the sandbox and the host only."""
    with host_faults("write", files.prompt):
        files.prompt.write_text(context.prompt, encoding="utf-8")
    end = await sandbox.call(harness.command(context), limits=limits, stdout=files.stdout, stderr=files.stderr)
    seen = watch()
    health = await sandbox.probe()
    report = await compute(lambda: _read(harness, context, end, files))
    _tell_unknown(harness.name, context.version, report)
    return judge(context, end, report, health, seen)


def _read(harness: Harness, context: CallContext, end: CallEnd, files: Files) -> CallReport:
    """The adapter's report; what the agent did is kept beside the raw output."""
    report = harness.read(context, end)
    if report.steps:
        head = {"turn": context.turn, "attempt": context.attempt, "call": context.call, "harness": harness.name, "version": context.version}
        model = None if context.model is None else context.model.model
        tail = {"completed": report.completed, "failure": report.failure, "detail": report.detail, "unknown": report.unknown, "flaws": report.flaws}
        text = lines({**head, "model": model, "session": context.session}, report.steps, {**tail, "session": report.session, "seconds": round(end.seconds, 3)})
        with host_faults("write", files.trajectory):
            files.trajectory.write_bytes(text)
    return report


def _tell_unknown(harness: str, version: str | None, report: CallReport) -> None:
    for kind in report.unknown:
        _tell_once(harness, version, kind)


@cache
def _tell_once(harness: str, version: str | None, kind: str) -> None:
    log.warning("the agent's CLI says something that its adapter does not know", harness=harness, version=version, kind=kind)


def judge(context: CallContext, end: CallEnd, report: CallReport, health: Health, seen: ModelSeen | None = None) -> CallEvent:
    """What a call's end means (contract T4). The order matters: what the agent broke is its own doing, whatever the CLI made of it; a call that was cut off
    by the wall clock did not fail, while one that did nothing any more did; and only then does a failure's cause count. What the gateway saw goes before what
    the CLI made of it: a call that completed without one answer of its model is none. A CLI that was not up in time on a crowded machine is the host's."""
    at = (context.turn, context.attempt, context.call, end.seconds)
    blamed = report.cause
    if blamed is Cause.PROVIDER and seen is not None and seen.served:
        blamed = Cause.HARNESS  # all traffic goes through the gateway, which knows better: nobody is excused by what a CLI, or who plays one, prints
    if health.broken is not None:
        return CallFailed(*at, Cause.SANDBOX, health.broken, report.session, by_agent=True)
    if report.completed and (seen is None or seen.served):
        return CallCompleted(*at, report.session, report.detail)
    if end.expired is not None and end.expired not in IDLE:
        cause = Cause.PROVIDER if blamed is Cause.PROVIDER or (seen is not None and seen.silent) else Cause.AGENT
        return CallExpired(*at, cause, report.session, f"ended after {end.seconds:.0f} s ({end.expired})")
    if health.full is not None:
        return CallFailed(*at, Cause.HOST, f"{health.full}: {report.detail}", report.session)
    if seen is not None and seen.trouble is not None:
        return CallFailed(*at, Cause.PROVIDER, seen.trouble, report.session)
    if report.failure is Failure.START and end.seconds >= SLOW_START and health.load >= CROWDED and (seen is None or not seen.served):
        return CallFailed(*at, Cause.HOST, f"the machine is too busy ({health.load:.0f} processes want each processor): {report.detail}", report.session)
    if report.completed:
        return CallFailed(*at, Cause.HARNESS, "it ended as if it were done, without one answer of its model", report.session)
    memory = f" ({end.oom_kills} processes were killed for memory)" if end.oom_kills else ""
    return CallFailed(*at, blamed or Cause.HARNESS, report.detail + memory, report.session)
