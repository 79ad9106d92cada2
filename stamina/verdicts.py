"""A verdict as it is kept on disk (``tests.json`` of an attempt): bounded, self-contained, and read back without the suite that it came from."""

from __future__ import annotations

from typing import Final

import attrs
import cattrs

from stamina.errors import InputError
from stamina.exchange import Json, NoResponse, Request, Response, Trouble
from stamina.suite import CaseResult, CaseStatus, Failure, Target, Verdict

KEPT_BYTES: Final = 2048
"""What is kept of a body, sent or received."""


@attrs.frozen
class Text:
    """The start of a body as text; what is not UTF-8 is escaped. ``size`` is the whole body's length in bytes."""

    start: str
    size: int


@attrs.frozen
class FailureSummary:
    """The step that failed.

    Attributes:
        message: what was expected and what came.
        step: its index in the case.
        setup: whether it only prepared.
        method, path, sent: the request; ``sent`` is None without a body.
        status, got: the response, both None when there was none.
        trouble, detail: why there was none.
    """

    message: str
    step: int
    setup: bool
    method: str
    path: str
    sent: Text | None
    status: int | None = None
    got: Text | None = None
    trouble: Trouble | None = None
    detail: str = ""


@attrs.frozen
class CaseSummary:
    """One case and how it ended; see :class:`stamina.suite.Case` and :class:`stamina.suite.CaseResult`."""

    name: str
    title: str
    family: str
    rules: tuple[str, ...]
    target: Target
    since: int
    status: CaseStatus
    reason: str = ""
    failure: FailureSummary | None = None
    further: tuple[FailureSummary, ...] = ()


@attrs.frozen
class VerdictSummary:
    """A verdict without its requests' and answers' full bytes."""

    passed: int
    total: int
    cases: tuple[CaseSummary, ...]

    @property
    def ok(self) -> bool:
        """Whether the turn is passed: every case is, and there is at least one."""
        return self.total > 0 and self.passed == self.total


def summarise(verdict: Verdict) -> VerdictSummary:
    """The part of a verdict that is kept."""
    return VerdictSummary(verdict.passed, verdict.total, tuple(_case(result) for result in verdict.results))


def verdict_json(verdict: Verdict) -> dict[str, Json]:
    """A verdict as JSON; :func:`read_verdict` is the way back."""
    data: dict[str, Json] = _CONVERTER.unstructure(summarise(verdict))
    return data


def read_verdict(data: Json) -> VerdictSummary:
    """What :func:`verdict_json` made.

    Raises:
        InputError: it is not such a thing; the message lists each wrong place with its path.
    """
    try:
        return _CONVERTER.structure(data, VerdictSummary)
    except cattrs.BaseValidationError as error:
        raise InputError("not a verdict: " + "; ".join(cattrs.transform_error(error))) from error


def _case(result: CaseResult) -> CaseSummary:
    case = result.case
    failure = None if result.failure is None else _failure(result.failure)
    further = tuple(_failure(one) for one in result.further)
    return CaseSummary(case.name, case.title, case.family, case.rules, case.target, case.since, result.status, result.reason, failure, further)


def _failure(failure: Failure) -> FailureSummary:
    request = failure.request
    summary = FailureSummary(failure.message, failure.step, failure.setup, request.method, request.path, _sent(request))
    match failure.answer:
        case Response(status=status, body=body):
            return attrs.evolve(summary, status=status, got=_text(body))
        case NoResponse(trouble=trouble, detail=detail):
            return attrs.evolve(summary, trouble=trouble, detail=detail)


def _sent(request: Request) -> Text | None:
    payload = request.payload()
    return None if payload is None else _text(payload)


def _text(body: bytes) -> Text:
    return Text(body[:KEPT_BYTES].decode("utf-8", "backslashreplace"), len(body))


def _make_converter() -> cattrs.Converter:
    """cattrs would turn 5 into "5" and "no" into True: a file that says the wrong type is not ours."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for exact in (str, int, bool):
        converter.register_structure_hook(exact, _exactly)
    for enum in (CaseStatus, Trouble):  # They are strings too, so they must be named to be told apart.
        converter.register_structure_hook(enum, lambda value, kind: kind(value))
    return converter


def _exactly(value: Json, kind: type[Json]) -> Json:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


_CONVERTER: Final = _make_converter()
