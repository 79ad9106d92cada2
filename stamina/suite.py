"""Suites, cases and verdicts as data: any domain that is tested over HTTP makes these, the tester plays them, scoring and feedback read them."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, TypeAlias

import attrs

from stamina.exchange import Answer, Request

Target: TypeAlias = tuple[str, ...]
"""What in the state something is about: ``("field", "Dog", "age")``, ``("entity", "Dog")``, ``("action", "Dog", "approve")``,
``("analytics", "Dog", "age", "avg")``, ``("retired-segment", "dog")``, ``("retired-field", "Dog", "age")``, ``("retired", "Dog")`` (all that it lost),
``("server",)`` …"""


class Expectation(Protocol):
    """What a step expects. One method, pure."""

    def judge(self, request: Request, answer: Answer) -> str | None:
        """None when the answer is as expected, else one line that says what was expected and what came."""
        ...


@attrs.frozen
class Step:
    """One request and what must come back.

    Attributes:
        setup: it only prepares; when it fails the case ends there, and the message says so.
        probe: it stands for itself: no later step relies on how it went. When it fails the case goes on, so that one run tells all that is wrong with the
            target, not the first thing alone; later steps that are no probes are skipped, since they may rest on what the failed probe left behind.
    """

    request: Request
    expect: Expectation
    setup: bool = False
    probe: bool = False


@attrs.frozen
class Case:
    """One rule on one target.

    Attributes:
        name: unique in its suite, snake_case with entity, field or action, and kind; all that medium feedback shows (F1).
        title: one sentence for a person; heads the entry in detailed feedback.
        family: ``crud``, ``many``, ``validation``, ``defaults``, ``analytics``, ``references``, ``removed``, ``actions``, ``server``.
        rules: the contract rules that it rests on, such as ``("V3",)``; each has its sentence in the scenario's text.
        target: what in the state it covers.
        since: the turn that brought that in or last altered it.
        steps: played in order on one connection; the first is always ``POST /reset`` (H5).
    """

    name: str
    title: str
    family: str
    rules: tuple[str, ...]
    target: Target
    since: int
    steps: tuple[Step, ...]


@attrs.frozen
class Suite:
    """All cases of one state, in the order in which they are played."""

    cases: tuple[Case, ...]

    @property
    def requests(self) -> int:
        """How many requests the whole suite makes."""
        return sum(len(case.steps) for case in self.cases)


class CaseStatus(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not run"
    """The server was gone (L2); counts as failed."""


@attrs.frozen
class Failure:
    """A step of a case that was not as expected. ``message`` is :meth:`Expectation.judge`'s line."""

    message: str
    step: int
    request: Request
    answer: Answer
    setup: bool = False


@attrs.frozen
class CaseResult:
    """One case's result.

    Attributes:
        failure: the first step that failed, when it FAILED.
        reason: why it was NOT_RUN.
        further: probes that failed after the first failure, in order.
    """

    case: Case
    status: CaseStatus
    failure: Failure | None = None
    reason: str = ""
    further: tuple[Failure, ...] = ()


@attrs.frozen
class Verdict:
    """The result of one suite run. A server that never started has every case NOT_RUN with that reason."""

    results: tuple[CaseResult, ...]

    @property
    def total(self) -> int:
        """How many cases there are."""
        return len(self.results)

    @property
    def passed(self) -> int:
        """How many cases passed."""
        return sum(result.status is CaseStatus.PASSED for result in self.results)

    @property
    def ok(self) -> bool:
        """Whether the turn is passed: every case is, and there is at least one."""
        return bool(self.results) and self.passed == self.total
