"""What is kept of a verdict."""

from __future__ import annotations

import json

import attrs
import pytest

from stamina.errors import InputError
from stamina.exchange import NO_BODY, NOT_JSON, Answer, Json, NoResponse, RawBody, Request, Response, Trouble
from stamina.suite import Case, CaseResult, CaseStatus, Failure, Step, Verdict
from stamina.verdicts import KEPT_BYTES, read_verdict, summarise, verdict_json


@attrs.frozen
class Never:
    """Expects something else, whatever comes."""

    def judge(self, request: Request, answer: Answer) -> str | None:
        return "expected something else"


def failed(answer: Answer, request: Request) -> CaseResult:
    case = Case("dog_create", "A dog is created", "crud", ("H1", "H5"), ("entity", "Dog"), 3, (Step(request, Never()),))
    return CaseResult(case, CaseStatus.FAILED, Failure("expected something else", 0, request, answer))


VERDICT = Verdict(
    (
        failed(Response(500, b"\xff\x00 boom"), Request("POST", "/dog", {"id": "a"})),
        failed(NoResponse(Trouble.TIMEOUT, "nothing came"), Request("GET", "/dog")),
        failed(Response(200, b"x" * 10_000), Request("POST", "/dog", RawBody(b"\xfe not json"))),
        CaseResult(failed(Response(200), Request("GET", "/")).case, CaseStatus.NOT_RUN, reason="not run: server gone"),
        CaseResult(failed(Response(200), Request("GET", "/")).case, CaseStatus.PASSED),
    )
)


def through_a_file(verdict: Verdict) -> Json:
    return json.loads(json.dumps(verdict_json(verdict)).encode())


def test_a_kept_verdict_reads_back_as_its_summary() -> None:
    """Writing to a file and reading it gives the summary again, whatever bytes the server sent."""
    assert summarise(VERDICT) == read_verdict(through_a_file(VERDICT))


def test_a_summary_counts_as_the_verdict_does() -> None:
    """Passed and total carry over; a verdict with a failure is not ok, one of passes alone is, an empty one is not."""
    summary = summarise(VERDICT)

    assert (VERDICT.passed, VERDICT.total, VERDICT.ok) == (summary.passed, summary.total, summary.ok)
    assert [summarise(verdict).ok for verdict in (Verdict(VERDICT.results[4:]), Verdict(()))] == [True, False]


def test_bodies_are_cut_but_their_size_is_kept() -> None:
    """A large body costs two kilobytes and says how large it was."""
    failure = summarise(VERDICT).cases[2].failure

    assert failure is not None
    assert failure.got is not None
    assert (failure.got.start, failure.got.size) == ("x" * KEPT_BYTES, 10_000)


def test_a_missing_request_body_is_not_an_empty_one() -> None:
    """No body and the empty body differ in the file."""
    requests = (Request("POST", "/reset", NO_BODY), Request("POST", "/dog", RawBody(b"")))
    failures = [summarise(Verdict((failed(Response(500), request),))).cases[0].failure for request in requests]

    assert [failure is not None and failure.sent is None for failure in failures] == [True, False]


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ({"passed": "3"}, "passed"),
        ({"extra": 1}, "extra"),
        ({"cases": [{"name": "x"}]}, "cases"),
        ({"cases": 5}, "cases"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(damage: dict[str, Json], named: str) -> None:
    """Wrong types, unknown and missing keys are told by path, not converted."""
    with pytest.raises(InputError, match=named):
        read_verdict(through_a_file(VERDICT) | damage)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize(("depth", "is_json"), [(64, True), (65, False), (100_000, False)])
def test_json_that_is_too_deep_is_not_json(opening: bytes, depth: int, *, is_json: bool) -> None:
    """The limit is the same on every Python, well before any stack runs out."""
    closing = b"]" if opening == b"[" else b"}"
    body = opening * depth + (b"" if opening == b"[" else b"1") + closing * depth

    assert is_json == (Response(200, body).json is not NOT_JSON)


def test_brackets_in_strings_and_long_lists_are_not_depth() -> None:
    """Only nesting counts."""
    assert Response(200, json.dumps("[" * 500).encode()).json == "[" * 500
    assert Response(200, json.dumps([{"a": []}] * 200).encode()).json == [{"a": []}] * 200
