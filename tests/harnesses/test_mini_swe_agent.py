"""The adapter for mini-swe-agent, on what its runner really wrote; the runner is tried in test_mini_swe_runner.py, both in tests/docker/test_harnesses.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harnesses.failures import Failure
from harnesses.harness import CallReport
from harnesses.trajectory import Compaction, Message, Note, Retry, ToolCall, ToolResult
from stamina.outcome import Cause
from tests.harnesses.cli_lab import command, jsonl, read, steps

OUTPUT = Path(__file__).parent / "output"
RUN, KILLED = ((OUTPUT / name).read_bytes() for name in ("mini-swe-agent.jsonl", "mini-swe-agent-killed.jsonl"))
"""A call that was killed, and the one that repeats it; of the latter's commands two are left out."""

SESSION = {"type": "session", "session": "main", "resumed": False, "version": "2.4.6"}


def parts(report: CallReport, kind: type[Any]) -> list[Any]:
    return [step for step in report.steps[1:] if isinstance(step, kind)]


def result(status: str, **more: Any) -> dict[str, Any]:
    return {"type": "result", "status": status, "final": "", "error": "", "http_status": None, **more}


def test_a_call() -> None:
    first, later = command("mini-swe-agent"), command("mini-swe-agent", {"args": ("--config", "agent.step_limit=9")}, session="main")
    assert first.argv[:5] == ("mini-swe-runner", "--state", "/home/agent/.mini-swe-agent", "--session", "main")
    assert ("--resume" in first.argv, "--resume" in later.argv) == (False, True)
    assert later.argv[-2:] == ("--config", "agent.step_limit=9")
    assert first.stdin == b"Do it."
    assert first.argv[first.argv.index("--compact-at") + 1] == str(round(0.8 * 131_072))
    assert (first.env["OPENAI_API_KEY"], "token-1" in " ".join(first.argv)) == ("token-1", False)


def test_a_call_that_goes_on_where_one_was_killed(tmp_path: Path) -> None:
    """The interrupted command gets a result, the prompt is not told twice, and the last word is a call."""
    report = read("mini-swe-agent", tmp_path, RUN, session="main", call=1)
    assert (report.completed, report.session, report.unknown, report.flaws) == (True, "main", {}, {})
    assert [step.detail for step in parts(report, Note)] == ["the turn before was interrupted: the same prompt is not sent again"]
    assert [step.arguments["command"].split()[0] for step in parts(report, ToolCall)] == ["sha256sum", "echo"]
    assert "interrupted before it ended" in parts(report, ToolResult)[0].text
    assert parts(report, Message)[-1].text == "The server does what was asked for; 4 change requests so far. [ref 517f77a2-33]"


def test_a_call_that_was_killed(tmp_path: Path) -> None:
    report = read("mini-swe-agent", tmp_path, KILLED, end={"exit_code": None, "signal": 9})
    assert (report.failure, report.session) == (Failure.SELF_KILL, "main")
    assert len(parts(report, ToolCall)) == 2
    assert len(parts(report, ToolResult)) == 1


def test_output_that_ends_anywhere_is_no_completed_run(tmp_path: Path) -> None:
    last = RUN.rstrip().rfind(b"\n")
    for length in range(0, last, 97):
        assert not read("mini-swe-agent", tmp_path, RUN[:length]).completed


def test_noise_is_counted_and_harms_nothing(tmp_path: Path) -> None:
    noise = b'\xff\xfe no UTF-8\nProvider List: none\n{"half\n{"type": "brand_new"}\n'
    report = read("mini-swe-agent", tmp_path, RUN.replace(b"\n", b"\n" + noise))
    assert (report.completed, report.unknown) == (True, {"brand_new": RUN.count(b"\n")})
    assert report.flaws == {"text": 3 * RUN.count(b"\n")}


def test_what_it_tells_around_the_conversation(tmp_path: Path) -> None:
    compaction = {"type": "compaction", "before": 9000, "after": 2000, "messages": 12, "summary": None}
    events = ({"type": "retry", "reason": "Retrying in 4 seconds"}, compaction, {"type": "error", "error": "no summary"}, result("submitted", final="Done."))
    report = read("mini-swe-agent", tmp_path, jsonl(SESSION, *events))
    assert report.completed
    assert [type(step) for step in report.steps[1:]] == [Retry, Compaction, Note, Message]
    assert "nothing, since the model gave no summary" in steps(report)[1][1]


@pytest.mark.parametrize(
    ("ended", "exit_code", "failure", "cause"),
    [
        (result("format_error", error="3 replies in a row without a valid tool call"), 3, Failure.TOOL_CALL, Cause.HARNESS),
        (result("limits_exceeded", error="limits exceeded"), 4, Failure.LIMIT, Cause.AGENT),
        (result("context_overflow", error="ContextWindowExceededError: too long"), 5, Failure.CONTEXT, Cause.HARNESS),
        (result("no_session", error="no saved session: main.json does not exist"), 2, Failure.SESSION, Cause.HARNESS),
        (result("model_error", error="InternalServerError", http_status=500), 6, Failure.PROVIDER, Cause.PROVIDER),
        (result("model_error", error="NotFoundError: model", http_status=404), 6, Failure.CRASH, Cause.HARNESS),
        (result("runner_error", error="KeyError: x"), 1, Failure.CRASH, Cause.HARNESS),
        (result("something new"), 1, Failure.CRASH, Cause.HARNESS),
    ],
    ids=lambda value: value["status"] if isinstance(value, dict) else "",
)
def test_its_failures(tmp_path: Path, ended: dict[str, Any], exit_code: int, failure: Failure, cause: Cause) -> None:
    report = read("mini-swe-agent", tmp_path, jsonl(SESSION, ended), end={"exit_code": exit_code}, session="main")
    assert (report.completed, report.failure, report.cause) == (False, failure, cause)
    assert (report.session is None) == (failure is Failure.SESSION)
