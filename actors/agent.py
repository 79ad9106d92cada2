"""One agent call: the adapter says what to start, the sandbox runs it, the adapter reads what became of it, and that is an event."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

import attrs

from actors.permits import Compute
from actors.sandbox import CallLimits, Health, Sandbox
from harnesses.harness import CallContext, CallEnd, CallReport, Harness
from scenario_store.atomic import host_faults
from stamina.outcome import Cause
from stamina.turns import CallCompleted, CallExpired, CallFailed

CallEvent: TypeAlias = CallCompleted | CallExpired | CallFailed

DISK_FLOOR: Final = 64 << 20
"""With less than this left (bytes), a call that failed is the host's failure: CLIs die of a full disk in many ways."""


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
    def stderr(self) -> Path:
        """The CLI's complaints."""
        return self.folder / "agent.stderr"


async def call_agent(harness: Harness, sandbox: Sandbox, context: CallContext, *, limits: CallLimits, files: Files, compute: Compute) -> CallEvent:
    """Call the agent once. What it does, and what its CLI does, is in the event; raises InfraError for the sandbox and the host only."""
    with host_faults("write", files.prompt):
        files.prompt.write_text(context.prompt, encoding="utf-8")
    end = await sandbox.call(harness.command(context), limits=limits, stdout=files.stdout, stderr=files.stderr)
    health = await sandbox.probe()
    report = await compute(lambda: harness.read(context, end))
    return judge(context, end, report, health)


def judge(context: CallContext, end: CallEnd, report: CallReport, health: Health) -> CallEvent:
    """What a call's end means (contract T4). The order matters: what the agent broke is its own doing, whatever the CLI made of it; a call that was cut off
    by the clock did not fail; and only then does a failure's cause count."""
    at = (context.turn, context.attempt, context.call, end.seconds)
    if health.broken is not None:
        return CallFailed(*at, Cause.SANDBOX, health.broken, report.session, by_agent=True)
    if report.completed:
        return CallCompleted(*at, report.session, report.detail)
    if end.expired is not None:
        cause = Cause.PROVIDER if report.cause is Cause.PROVIDER else Cause.AGENT
        return CallExpired(*at, cause, report.session, f"ended after {end.seconds:.0f} s ({end.expired})")
    if health.free_bytes < DISK_FLOOR:
        return CallFailed(*at, Cause.HOST, f"disk full ({health.free_bytes >> 20} MiB free): {report.detail}", report.session)
    return CallFailed(*at, report.cause or Cause.HARNESS, report.detail, report.session)
