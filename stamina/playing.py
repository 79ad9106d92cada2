"""Playing a suite against a server that is not here: requests go out, answers come in, a verdict is the end.

The rules of a suite run live in this one place; who carries the requests (the tester over HTTP, or a ground truth in the same process) does not matter.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, TypeAlias

import attrs

from stamina.domain import Handler
from stamina.exchange import Answer, NoResponse, Request, Trouble
from stamina.suite import Case, CaseResult, CaseStatus, Failure, Suite, Verdict

GONE: Final = "not run: server gone"

MESSAGE_CHARACTERS: Final = 2000
"""What is kept of a failure's message; a hostile server has a say in how long it gets."""


@attrs.frozen
class Patience:
    """When a server counts as gone (contract L2): after so many cases in a row that ended in a timeout, or at a closed port."""

    timeouts: int = 3
    refusals: int = 2

    def ended_by(self, trouble: Trouble | None, streak: int) -> bool:
        """Whether ``streak`` cases in a row that ended in this trouble are enough."""
        if trouble is Trouble.TIMEOUT:
            return streak >= self.timeouts
        return trouble is Trouble.REFUSED and streak >= self.refusals


PATIENCE: Final = Patience()

Playing: TypeAlias = Generator[Request, Answer, Verdict]
"""Yields the next request, is sent its answer, returns the verdict."""


def playing(suite: Suite, patience: Patience = PATIENCE) -> Playing:
    """Play the cases in order; when the server is gone the rest is NOT_RUN (L2).

    A case stops at its first step that is not as expected, but goes on to its other probes after a failed probe.
    """
    results: list[CaseResult] = []
    last, streak = None, 0
    for case in suite.cases:
        result = yield from _play_case(case)
        results.append(result)
        trouble = _trouble(result)
        streak = streak + 1 if trouble is last else 1
        last = trouble
        if patience.ended_by(trouble, streak):
            break
    return Verdict((*results, *(not_run(case, GONE) for case in suite.cases[len(results) :])))


def play(suite: Suite, handler: Handler) -> Verdict:
    """Play a suite against a server that is a function."""
    game = playing(suite)
    try:
        request = next(game)
        while True:
            request = game.send(handler(request))
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict


def not_run(case: Case, reason: str) -> CaseResult:
    """The result of a case that was not played."""
    return CaseResult(case, CaseStatus.NOT_RUN, reason=reason)


def nothing_ran(suite: Suite, reason: str) -> Verdict:
    """The verdict on a server that never started: every case NOT_RUN with that reason."""
    return Verdict(tuple(not_run(case, reason) for case in suite.cases))


def _play_case(case: Case) -> Generator[Request, Answer, CaseResult]:
    failures: list[Failure] = []
    for number, step in enumerate(case.steps):
        if failures and not step.probe:
            continue
        answer = yield step.request
        message = step.expect.judge(step.request, answer)
        if message is None:
            continue
        failures.append(Failure(_printable(message), number, step.request, answer, step.setup))
        if not step.probe or isinstance(answer, NoResponse):
            break
    if failures:
        return CaseResult(case, CaseStatus.FAILED, failures[0], further=tuple(failures[1:]))
    return CaseResult(case, CaseStatus.PASSED)


def _trouble(result: CaseResult) -> Trouble | None:
    """What kept the server from answering the step that ended the case, None when it answered or nothing failed."""
    last = result.further[-1] if result.further else result.failure
    if last is not None and isinstance(last.answer, NoResponse):
        return last.answer.trouble
    return None


def _printable(message: str) -> str:
    """Cut to length, and without lone surrogates: JSON can carry them, UTF-8 files cannot."""
    return message[:MESSAGE_CHARACTERS].encode("utf-8", "backslashreplace").decode()
