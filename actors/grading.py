"""Grading an attempt: the suite of its turn, checked against the ground truth first, is played against the agent's server, started afresh."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import attrs
import trio

from actors.permits import Compute
from actors.sandbox import Sandbox, Server, ServerFailed, ServerLimits
from actors.tester import TesterLimits, run_suite
from actors.workspace import churn, dump_files, load_files, program_language, scan
from scenario_store.atomic import write_atomic
from stamina.domain import FeedbackLevel, Scenario
from stamina.errors import BenchmarkFault, HostFault
from stamina.playing import nothing_ran, play
from stamina.suite import CaseStatus, Suite, Verdict
from stamina.turns import SuiteRan, WorkspaceMeasured
from stamina.verdicts import verdict_json

Test: TypeAlias = Callable[[Suite, tuple[str, int], TesterLimits], Awaitable[Verdict]]
"""Plays a suite against a server: :func:`actors.tester.run_suite`."""

FEEDBACK: Final = "feedback.md"


@attrs.frozen
class Timings:
    """Seconds that the parts of a grading took, and how many requests the suite has. ``start`` is the agent's server's."""

    generate: float = 0.0
    start: float = 0.0
    test: float = 0.0
    requests: int = 0


@attrs.frozen
class Graded:
    """A verdict and what belongs to it. ``server`` is what was tested, or why there was nothing to test."""

    verdict: Verdict
    server: Server | ServerFailed
    timings: Timings

    @property
    def detail(self) -> str:
        """Why nothing ran, else the reason that the rest was not run, else nothing."""
        if isinstance(self.server, ServerFailed):
            return self.server.reason
        return next((result.reason for result in self.verdict.results if result.status is CaseStatus.NOT_RUN), "")


@attrs.frozen
class Grader:
    """Grades the attempts of one scenario.

    Args:
        scenario: gives suites, ground truths and feedback.
        level: of the feedback.
        server, tester: limits.
        compute: where suites are made.
        test: plays them.
    """

    scenario: Scenario
    level: FeedbackLevel
    server: ServerLimits
    tester: TesterLimits
    compute: Compute
    test: Test = run_suite

    async def grade(self, sandbox: Sandbox, turn: int, folder: Path) -> Graded:
        """Test the workspace as it stands. Raises BenchmarkFault when the suite contradicts the ground truth, InfraError for sandbox and host,
        which is to blame for what fails on a full disk."""
        begun = trio.current_time()
        suite = await self.compute(lambda: checked_suite(self.scenario, turn))
        generated = trio.current_time()
        async with sandbox.serve(limits=self.server, log=folder / "server.log") as server:
            started = trio.current_time()
            verdict = await self._verdict(suite, server)
            tested = trio.current_time()
        if not verdict.ok and (full := (await sandbox.probe()).full) is not None:
            raise HostFault(f"{full}: what the suite found does not count")
        return Graded(verdict, server, Timings(generated - begun, started - generated, tested - started, suite.requests))

    async def _verdict(self, suite: Suite, server: Server | ServerFailed) -> Verdict:
        if isinstance(server, ServerFailed):
            return nothing_ran(suite, f"{server.reason}\n{server.log}".strip())
        return await self.test(suite, (server.host, server.port), self.tester)

    async def keep(self, graded: Graded, folder: Path) -> None:
        """Write ``tests.json``, ``timings.json`` and, for a failed attempt, ``feedback.md``, durably: the next prompt is read from there."""
        await self.compute(lambda: _write(folder, graded, self._feedback(graded.verdict)))

    def _feedback(self, verdict: Verdict) -> str | None:
        return None if verdict.ok else self.scenario.feedback(verdict, self.level)


def checked_suite(scenario: Scenario, turn: int) -> Suite:
    """The suite of a turn; the ground truth passes it. Raises BenchmarkFault when it does not: then nobody may be judged by it."""
    suite = scenario.suite(turn)
    verdict = play(suite, scenario.truth(turn))
    for result in verdict.results:
        if result.status is not CaseStatus.PASSED:
            message = result.failure.message if result.failure else result.reason
            raise BenchmarkFault(f"case {result.case.name} of turn {turn} fails against the ground truth: {message}")
    if not verdict.ok:
        raise BenchmarkFault(f"turn {turn} has no cases")
    return suite


def ran(graded: Graded, turn: int, attempt: int) -> SuiteRan:
    """The event of a grading."""
    timings = graded.timings
    seconds = timings.generate + timings.start + timings.test
    return SuiteRan(turn, attempt, graded.verdict.passed, graded.verdict.total, round(seconds, 3), graded.detail)


async def measure(sandbox: Sandbox, server: Server | ServerFailed, turn: int, attempt: int, *, known: Path, compute: Compute) -> WorkspaceMeasured:
    """Count the workspace's code; ``known`` is the file that remembers the lines of the time before."""
    code = await compute(lambda: _count(known, sandbox.workspace))
    program = server.program if isinstance(server, Server) else None
    language = None if program is None else program_language(program, code.lines)
    return WorkspaceMeasured(turn, attempt, code.lines, code.added, code.removed, code.partial, program, language)


@attrs.frozen
class _Code:
    """What :class:`WorkspaceMeasured` says of it."""

    lines: Mapping[str, int]
    added: int
    removed: int
    partial: bool


def _count(known: Path, workspace: Path) -> _Code:
    before, found = load_files(known), scan(workspace)
    write_atomic(known, dump_files(found.files))
    return _Code(found.lines(), *churn(before, found.files), found.partial)


def _write(folder: Path, graded: Graded, feedback: str | None) -> None:
    write_atomic(folder / "tests.json", json.dumps(verdict_json(_brief(graded.verdict)), ensure_ascii=False).encode())
    write_atomic(folder / "timings.json", json.dumps(attrs.asdict(graded.timings)).encode())
    if feedback is not None:
        write_atomic(folder / FEEDBACK, feedback.encode())


def _brief(verdict: Verdict) -> Verdict:
    """Without the server's log behind each reason: it is in ``server.log``, once."""
    return Verdict(tuple(attrs.evolve(result, reason=result.reason.partition("\n")[0]) for result in verdict.results))
