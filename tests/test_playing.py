"""How a suite is played: order, the first failing step, and a server that is gone."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.exchange import Answer, NoResponse, Request, Response, Trouble
from stamina.playing import GONE, MESSAGE_CHARACTERS, Patience, nothing_ran, play, playing
from stamina.suite import Case, CaseStatus, Step, Suite, Verdict

TIMEOUT = NoResponse(Trouble.TIMEOUT, "")
REFUSED = NoResponse(Trouble.REFUSED, "")
CLOSED = NoResponse(Trouble.CLOSED, "")
GOOD = Response(200)
WRONG = Response(500)


@attrs.frozen
class Good:
    """Expects status 200."""

    message: str = "expected 200"

    def judge(self, request: Request, answer: Answer) -> str | None:
        return None if isinstance(answer, Response) and answer.status == 200 else self.message


def case(number: int, steps: int = 2, message: str = "expected 200") -> Case:
    return Case(f"case_{number}", "", "crud", (), (), 0, tuple(Step(Request("GET", f"/{number}/{step}"), Good(message)) for step in range(steps)))


def suite(cases: int, steps: int = 1) -> Suite:
    return Suite(tuple(case(number, steps) for number in range(cases)))


def played(suite: Suite, answers: list[Answer], patience: Patience | None = None) -> tuple[Verdict, list[str]]:
    """The verdict when these answers come, good ones after the last, and the paths that were asked."""
    game = playing(suite, patience or Patience())
    asked, left = [], list(answers)
    try:
        request = next(game)
        while True:
            asked.append(request.path)
            request = game.send(left.pop(0) if left else GOOD)
    except StopIteration as end:
        return end.value, asked


def statuses(verdict: Verdict) -> str:
    """P for passed, F for failed, - for not run."""
    return "".join({CaseStatus.PASSED: "P", CaseStatus.FAILED: "F", CaseStatus.NOT_RUN: "-"}[result.status] for result in verdict.results)


def test_a_case_stops_at_its_first_failing_step() -> None:
    """Later steps are not asked, later cases are; the failure says which step."""
    verdict, asked = played(suite(2, steps=3), [GOOD, WRONG])

    assert asked == ["/0/0", "/0/1", "/1/0", "/1/1", "/1/2"]
    assert statuses(verdict) == "FP"
    failure = verdict.results[0].failure
    assert failure is not None
    assert (failure.step, failure.answer, failure.message) == (1, WRONG, "expected 200")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([TIMEOUT] * 3, "FFF--"),
        ([TIMEOUT, TIMEOUT, GOOD, TIMEOUT, TIMEOUT], "FFPFF"),
        ([TIMEOUT, TIMEOUT, WRONG, TIMEOUT, TIMEOUT], "FFFFF"),
        ([REFUSED] * 2, "FF---"),
        ([REFUSED, GOOD, REFUSED, GOOD, REFUSED], "FPFPF"),
        ([TIMEOUT, REFUSED, TIMEOUT, REFUSED, REFUSED], "FFFFF"),
        ([GOOD, CLOSED, REFUSED, REFUSED], "PFFF-"),
        ([CLOSED] * 5, "FFFFF"),
    ],
)
def test_a_server_is_gone_after_timeouts_or_refusals_in_a_row(answers: list[Answer], expected: str) -> None:
    """Three timeouts or two refusals in a row of cases end the run; anything between starts the count again."""
    verdict, asked = played(suite(5), answers)

    assert statuses(verdict) == expected
    assert len(asked) == len(expected.rstrip("-"))
    assert {result.reason for result in verdict.results if result.status is CaseStatus.NOT_RUN} <= {GONE}


def test_a_hang_behind_a_good_reset_counts() -> None:
    """What a case ended in counts, not every request: a server that answers resets and hangs on the rest is gone too."""
    verdict, _ = played(suite(5, steps=2), [GOOD, TIMEOUT] * 3)

    assert statuses(verdict) == "FFF--"


def test_patience_is_a_setting() -> None:
    """Both numbers can be set."""
    verdicts = [played(suite(5), [trouble] * 5, Patience(timeouts=1, refusals=4))[0] for trouble in (TIMEOUT, REFUSED)]

    assert [statuses(verdict) for verdict in verdicts] == ["F----", "FFFF-"]


@given(st.lists(st.sampled_from([GOOD, WRONG, TIMEOUT, REFUSED, CLOSED])), st.integers(0, 6), st.integers(1, 3))
def test_every_case_has_one_result_in_order(answers: list[Answer], cases: int, steps: int) -> None:
    """Whatever comes back, the verdict has each case once, in the suite's order, and what did not run is a tail."""
    whole = suite(cases, steps)
    verdict, _ = played(whole, answers)

    assert tuple(result.case for result in verdict.results) == whole.cases
    assert "-" not in statuses(verdict).rstrip("-")
    assert all((result.failure is not None) == (result.status is CaseStatus.FAILED) for result in verdict.results)


def test_a_function_can_be_the_server() -> None:
    """The same rules hold without a network."""
    verdict = play(suite(3), lambda request: WRONG if request.path == "/1/0" else GOOD)

    assert statuses(verdict) == "PFP"


def test_a_server_that_never_started_has_nothing_run() -> None:
    """Every case is there, with the reason."""
    verdict = nothing_ran(suite(2), "the port stayed closed")

    assert [(result.status, result.reason) for result in verdict.results] == [(CaseStatus.NOT_RUN, "the port stayed closed")] * 2


def test_messages_can_be_written_to_files() -> None:
    """Lone surrogates from the server's JSON are escaped, and a message has a bound."""
    verdict = play(Suite((case(0, 1, "got \ud800" + "x" * 100_000),)), lambda request: WRONG)

    failure = verdict.results[0].failure
    assert failure is not None
    assert failure.message.startswith("got \\ud800x")
    assert len(failure.message.encode()) < MESSAGE_CHARACTERS + 10


def test_a_failed_probe_lets_other_probes_speak_but_nothing_that_may_rest_on_it() -> None:
    """Each probe stands for itself; a step that is none is skipped once one failed."""
    steps = tuple(Step(Request("GET", f"/{path}"), Good(), probe=path != "rests") for path in ("good", "bad", "rests", "worse", "fine"))
    case = Case("probes", "Probes.", "crud", ("H1",), ("server",), 0, steps)
    asked: list[str] = []

    def handler(request: Request) -> Response:
        asked.append(request.path)
        return Response(500 if request.path in ("/bad", "/worse") else 200)

    result = play(Suite((case,)), handler).results[0]

    assert result.failure is not None
    assert [result.failure.step, *(failure.step for failure in result.further)] == [1, 3]
    assert asked == ["/good", "/bad", "/worse", "/fine"]


def test_a_probe_without_an_answer_ends_its_case() -> None:
    """A server that hangs costs one time limit a case, not one a probe."""
    steps = tuple(Step(Request("GET", f"/{number}"), Good(), probe=True) for number in range(3))
    game = playing(Suite((Case("probes", "Probes.", "crud", ("H1",), ("server",), 0, steps),)))
    assert next(game).path == "/0"

    with pytest.raises(StopIteration) as end:
        game.send(NoResponse(Trouble.TIMEOUT, "no answer"))

    verdict: Verdict = end.value.value
    assert verdict.results[0].failure is not None
    assert verdict.results[0].further == ()
