"""What the agent is told about a failed attempt (contract F1, F2). Bounded, and safe to print whatever the server sent."""

from __future__ import annotations

from typing import assert_never

from stamina.domain import FeedbackLevel
from stamina.exchange import NoResponse, Request, Response
from stamina.suite import CaseResult, CaseStatus, Failure, Verdict
from stamina.words import counted

LISTED = 20
"""How many failures are listed."""
BODY_BYTES = 300
"""How much of a body is shown: bytes of it, and characters of what they look like when escaped."""
MESSAGE_CHARACTERS = 500
"""How much of a failure's message is shown."""
FURTHER = 3
"""How many further problems of one test are shown behind its first."""
REASON_CHARACTERS = 2000
"""How much is shown of why the server was gone: the beginning of it and the end, where a log says what went wrong."""

_HEADING = "The automatic tests found that the server does not yet do what was asked."
_UNSPECIFIED = "At least one test failed. There is no further information: compare the server with all that was asked for and check it thoroughly."
_NOTE = "Note that the cause may lie elsewhere than where a test failed: a mistake in one part of the server can show in another."
_REMINDERS = (
    "Reminders:\n- Validate all input as README.md describes.\n- `run_server.sh` must take care of everything that the server depends on, in a fresh shell."
)


def feedback(verdict: Verdict, level: FeedbackLevel) -> str:
    """The report on ``verdict`` in the detail of ``level``: the same for every harness, and at most some 150,000 characters long."""
    match level:
        case FeedbackLevel.DETAILED:
            parts = [_HEADING, _counts(verdict), *_detailed(verdict), _NOTE, _REMINDERS]
        case FeedbackLevel.MEDIUM:
            parts = [_HEADING, _counts(verdict), *_names(verdict), _NOTE]
        case FeedbackLevel.MINIMAL:
            parts = [_HEADING, _UNSPECIFIED, _NOTE]
        case _:
            assert_never(level)
    return "\n\n".join(parts) + "\n"


def printable(data: bytes | str, limit: int) -> str:
    """``data`` in at most ``limit`` characters, with everything that is not printable escaped, so that it stays on one line; says when it was cut."""
    cut = data[:limit]
    shown = _escaped(cut.decode("utf-8", "backslashreplace") if isinstance(cut, bytes) else cut)
    return shown if len(data) <= limit and len(shown) <= limit else f"{shown[:limit]} [cut: {len(data)} in all]"


def _escaped(text: str) -> str:
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _counts(verdict: Verdict) -> str:
    failed = verdict.total - verdict.passed
    gone = len(_with_status(verdict, CaseStatus.NOT_RUN))
    text = f"{failed} of {counted(verdict.total, 'test', 'tests')} failed."
    return f"{text} {gone} of them could not be run." if gone else text


def _detailed(verdict: Verdict) -> list[str]:
    failed = _with_status(verdict, CaseStatus.FAILED)
    entries = [_entry(number, result) for number, result in enumerate(failed[:LISTED], 1)]
    return [*_reasons(verdict), *entries, *_more(len(failed))]


def _names(verdict: Verdict) -> list[str]:
    failed = _with_status(verdict, CaseStatus.FAILED) + _with_status(verdict, CaseStatus.NOT_RUN)
    names = "\n".join(f"- {printable(result.case.name, MESSAGE_CHARACTERS)}" for result in failed[:LISTED])
    return [f"Failed tests:\n{names}", *_more(len(failed))] if failed else []


def _more(failed: int) -> list[str]:
    return [f"{counted(failed - LISTED, 'further test', 'further tests')} failed; not listed here."] if failed > LISTED else []


def _with_status(verdict: Verdict, status: CaseStatus) -> list[CaseResult]:
    return [result for result in verdict.results if result.status is status]


def _reasons(verdict: Verdict) -> list[str]:
    """Why tests were not run; all share one reason when the server was gone, so distinct ones are few, and no more than three are shown."""
    reasons = dict.fromkeys(result.reason for result in _with_status(verdict, CaseStatus.NOT_RUN))
    return [f"Not run: {_reason(reason)}" for reason in list(reasons)[:3]]


def _reason(reason: str) -> str:
    # Cut twice: what is escaped is bounded, and so is what comes of it.
    lines = _without_middle(reason).splitlines()
    return _without_middle("\n    ".join(_escaped(line) for line in lines))


def _without_middle(text: str) -> str:
    half = REASON_CHARACTERS // 2
    return text if len(text) <= REASON_CHARACTERS else f"{text[:half]}\n    [...]\n    {text[-half:]}"


def _entry(number: int, result: CaseResult) -> str:
    lines = [f"{number}. {printable(result.case.title, MESSAGE_CHARACTERS)}"]
    if result.failure is not None:
        lines += _failure_lines(result.failure)
    for failure in result.further[:FURTHER]:
        lines += _failure_lines(failure)
    if len(result.further) > FURTHER:
        lines.append(f"   {counted(len(result.further) - FURTHER, 'further problem', 'further problems')} of this test; not listed here.")
    return "\n".join(lines)


def _failure_lines(failure: Failure) -> list[str]:
    when = "Request, made to prepare the test" if failure.setup else "Request"
    return [
        f"   {when}: {_request(failure.request)}",
        f"   Problem: {printable(failure.message, MESSAGE_CHARACTERS)}",
        f"   Answer: {_answer(failure.answer)}",
    ]


def _request(request: Request) -> str:
    line = f"{request.method} {printable(request.path, MESSAGE_CHARACTERS)}"
    payload = request.payload()
    return line if payload is None else f"{line} {printable(payload, BODY_BYTES)}"


def _answer(answer: Response | NoResponse) -> str:
    if isinstance(answer, NoResponse):
        return f"none ({answer.trouble}): {printable(answer.detail, MESSAGE_CHARACTERS)}"
    body = printable(answer.body, BODY_BYTES) if answer.body else "empty body"
    return f"{answer.status}, {body}"
