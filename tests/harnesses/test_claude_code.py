"""The adapter for Claude Code; tests/docker/test_harnesses.py drives the real one."""

import uuid
from pathlib import Path

from harnesses.failures import Failure
from tests.harnesses.cli_lab import command, jsonl, read, steps

INIT = {"type": "system", "subtype": "init", "session_id": "u1"}


def test_a_run() -> None:
    """The first call gives the session its id, another one each time; later ones continue it."""
    first, other = command("claude-code"), command("claude-code", call=1)
    assert first.argv[:2] == ("claude", "-p")
    ids = [uuid.UUID(each.argv[each.argv.index("--session-id") + 1]) for each in (first, other)]
    assert ids[0] != ids[1]
    assert first.stdin == b"Do it."
    assert (first.env["ANTHROPIC_BASE_URL"], first.env["ANTHROPIC_API_KEY"]) == ("http://10.0.0.1:8400", "token-1")
    assert first.env["ANTHROPIC_SMALL_FAST_MODEL"] == "vendor/model-x"
    again = command("claude-code", {"args": ("--max-turns", "9")}, session="u1", prompt="/compact")
    assert again.argv[-4:] == ("--resume", "u1", "--max-turns", "9")
    assert not again.stdin.startswith(b"/")


def test_its_events(tmp_path: Path) -> None:
    out = jsonl(
        INIT,
        {"type": "assistant", "message": {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}]}},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a"}], "is_error": False}]}},
        {"type": "system", "subtype": "api_retry", "error_status": 500, "attempt": 1, "error": "server_error"},
        {"type": "system", "subtype": "compact_boundary", "compact_metadata": {"trigger": "auto"}},
        {"type": "system", "subtype": "something_new"},
        {"type": "result", "subtype": "success", "is_error": False, "result": "Done."},
    )
    report = read("claude-code", tmp_path, out)
    assert (report.completed, report.session, report.unknown) == (True, "u1", {})
    assert [step[0] for step in steps(report)] == ["Message", "Message", "ToolCall", "ToolResult", "Retry", "Compaction"]
    assert steps(report)[2:5] == [("ToolCall", "c1", "Bash", {"command": "ls"}), ("ToolResult", "c1", "a"), ("Retry", "server_error", 500)]


def test_its_failures(tmp_path: Path) -> None:
    """Many failures say that they are a success; ``is_error`` tells."""
    failed = {"type": "result", "subtype": "success", "is_error": True, "terminal_reason": "api_error", "result": "API Error: 500"}
    assert read("claude-code", tmp_path, jsonl(INIT, failed), end={"exit_code": 1}).failure is Failure.PROVIDER
    long = {"type": "result", "subtype": "success", "is_error": True, "terminal_reason": "prompt_too_long", "result": "Prompt is too long"}
    assert read("claude-code", tmp_path, jsonl(INIT, long), end={"exit_code": 1}).failure is Failure.CONTEXT
    lost = {"type": "result", "subtype": "error_during_execution", "is_error": True, "errors": ["No conversation found with session ID: u1"]}
    report = read("claude-code", tmp_path, jsonl(lost), end={"exit_code": 1}, session="u1")
    assert (report.failure, report.session) == (Failure.SESSION, None)
    empty = {"type": "result", "subtype": "success", "is_error": False, "result": ""}
    assert read("claude-code", tmp_path, jsonl(INIT, empty)).completed
