"""A suite about one thing, which tells in one word how each of its cases ended."""

from __future__ import annotations

from typing import Final

import attrs

from stamina.exchange import NOT_JSON, Answer, NoResponse, Request
from stamina.suite import Case, CaseResult, Step, Suite

CASES: Final = 5


@attrs.frozen
class Thing:
    """Expects the honest answer; its message is one word for what came instead."""

    def judge(self, request: Request, answer: Answer) -> str | None:
        if isinstance(answer, NoResponse):
            return answer.trouble.value
        if answer.status != 200:
            return str(answer.status)
        if answer.json is NOT_JSON:
            return "not JSON"
        return None if answer.json == {"ok": True} else "wrong body"


def suite(cases: int = CASES) -> Suite:
    steps = (Step(Request("POST", "/reset"), Thing(), setup=True), Step(Request("GET", "/thing"), Thing()))
    return Suite(tuple(Case(f"case_{number}", "The thing is ok", "crud", ("H1",), ("entity", "Thing"), 0, steps) for number in range(cases)))


def outcome(result: CaseResult) -> str:
    return result.failure.message if result.failure is not None else result.status.value
