"""Feedback: each level says what it should and no more, and stays small and printable whatever the server sent."""

from __future__ import annotations

import attrs
import pytest

from stamina.domain import FeedbackLevel
from stamina.exchange import Answer, NoResponse, RawBody, Request, Response, Trouble
from stamina.rest.prose.feedback import LISTED, feedback, printable
from stamina.suite import Case, CaseResult, CaseStatus, Failure, Step, Verdict

DETAILED, MEDIUM, MINIMAL = FeedbackLevel.DETAILED, FeedbackLevel.MEDIUM, FeedbackLevel.MINIMAL


@attrs.frozen
class Anything:
    """An expectation that is never asked."""

    def judge(self, request: Request, answer: Answer) -> str | None:
        return None


def case(number: int) -> Case:
    steps = (Step(Request("POST", "/reset"), Anything()),)
    return Case(f"dog_age_rejects_null_{number}", f"Dog.age refuses null ({number})", "validation", ("V3",), ("field", "Dog", "age"), 0, steps)


def failed(number: int, answer: Answer, *, request: Request | None = None, message: str = "expected 400 or 422, got 201", setup: bool = False) -> CaseResult:
    failure = Failure(message, 1, request or Request("POST", "/dog", {"id": "d1", "age": None}), answer, setup)
    return CaseResult(case(number), CaseStatus.FAILED, failure)


def passed(number: int) -> CaseResult:
    return CaseResult(case(number), CaseStatus.PASSED)


def not_run(number: int, reason: str) -> CaseResult:
    return CaseResult(case(number), CaseStatus.NOT_RUN, reason=reason)


CREATED = Response(201, b'{"id":"d1","age":null}')


def test_detailed_shows_request_problem_and_answer() -> None:
    """A failure is told with all that is needed to see it happen."""
    text = feedback(Verdict((passed(0), failed(1, CREATED))), DETAILED)
    assert "1 of 2 tests failed." in text
    assert "1. Dog.age refuses null (1)" in text
    assert 'Request: POST /dog {"id":"d1","age":null}' in text
    assert "Problem: expected 400 or 422, got 201" in text
    assert 'Answer: 201, {"id":"d1","age":null}' in text


def test_a_failed_preparation_is_told_as_one() -> None:
    """The agent can see that the rule itself was not reached."""
    assert "Request, made to prepare the test: POST /dog" in feedback(Verdict((failed(1, CREATED, setup=True),)), DETAILED)


def test_no_answer_is_told_with_its_reason() -> None:
    """A request without a response says why there was none."""
    answer = NoResponse(Trouble.TIMEOUT, "nothing came within 10 s")
    assert "Answer: none (timeout): nothing came within 10 s" in feedback(Verdict((failed(1, answer),)), DETAILED)


def test_medium_shows_names_and_no_details() -> None:
    """Counts and names, and nothing that came over the wire."""
    text = feedback(Verdict((passed(0), failed(1, CREATED))), MEDIUM)
    assert "1 of 2 tests failed." in text
    assert "- dog_age_rejects_null_1" in text
    assert "dog_age_rejects_null_0" not in text
    assert "/dog" not in text
    assert "201" not in text


def test_minimal_shows_nothing_of_the_verdict() -> None:
    """Two different verdicts give the same text."""
    one, two = Verdict((failed(1, CREATED),)), Verdict((passed(1), failed(2, CREATED), not_run(3, "server gone")))
    assert feedback(one, MINIMAL) == feedback(two, MINIMAL)


@pytest.mark.parametrize("level", list(FeedbackLevel))
def test_the_note_closes_every_level_and_reminders_detailed_alone(level: FeedbackLevel) -> None:
    """F2: the note that the cause may be indirect is always there, reminders only where there is detail."""
    text = feedback(Verdict((failed(1, CREATED),)), level)
    assert "Note that the cause may lie elsewhere" in text
    assert ("Reminders:" in text) == (level is DETAILED)


@pytest.mark.parametrize("level", [DETAILED, MEDIUM])
def test_only_the_first_failures_are_listed(level: FeedbackLevel) -> None:
    """F1: twenty, and how many more there are."""
    text = feedback(Verdict(tuple(failed(number, CREATED) for number in range(LISTED + 7))), level)
    assert f"_{LISTED - 1}" in text or f"({LISTED - 1})" in text
    assert f"_{LISTED}\n" not in text
    assert f"({LISTED})" not in text
    assert "7 further tests failed" in text


def test_tests_that_were_not_run_are_summed_up() -> None:
    """One line says why, however many there are."""
    text = feedback(Verdict((failed(1, CREATED), *(not_run(number, "server gone") for number in range(2, 90)))), DETAILED)
    assert "89 of 89 tests failed. 88 of them could not be run." in text
    assert text.count("server gone") == 1


def test_a_server_that_did_not_start_shows_its_log() -> None:
    """The reason keeps its lines, its beginning and its end."""
    reason = "the server did not answer within 60 s; its output ends:\n" + "noise\n" * 5000 + "ModuleNotFoundError: flask"
    text = feedback(Verdict(tuple(not_run(number, reason) for number in range(3))), DETAILED)
    assert "Not run: the server did not answer within 60 s; its output ends:\n    noise" in text
    assert "ModuleNotFoundError: flask" in text
    assert len(text) < 5000


@pytest.mark.parametrize("chunk", [b"\x00\x1b[2J", b"\xff\xfe", "\u202e\U0001f4a3".encode(), b"\r\n\n# New instructions\n", b"`````"])
def test_hostile_bodies_stay_small_and_on_one_line(chunk: bytes) -> None:
    """10 MB of control characters, broken UTF-8 or line breaks become a short printable line."""
    body = chunk * (10_000_000 // len(chunk))
    request = Request("POST", "/dog", RawBody(body))
    text = feedback(Verdict(tuple(failed(number, Response(200, body), request=request, message=body.decode("latin-1")) for number in range(LISTED))), DETAILED)
    assert len(text) < 60_000
    assert all(line.isprintable() for line in text.splitlines())
    assert "\n# New" not in text


def test_a_cut_body_says_how_long_it_was() -> None:
    """The reader can tell a cut from the end."""
    assert printable(b"x" * 301, 300) == "x" * 300 + " [cut: 301 in all]"
    assert printable(b"x" * 300, 300) == "x" * 300


def test_escapes_do_not_make_a_short_body_long() -> None:
    """What is shown is bounded after escaping too."""
    assert printable("\U0001f4a3".encode() * 10 + b"\x00" * 200, 100).startswith("\U0001f4a3" * 10 + "\\x00")
    assert len(printable(b"\x00" * 300, 300)) < 330


def test_a_hostile_log_stays_small() -> None:
    """A reason full of control characters is bounded like any other."""
    text = feedback(Verdict((not_run(1, "\u202e" * 1_000_000),)), DETAILED)
    assert len(text) < 4000
    assert all(line.isprintable() for line in text.splitlines())
