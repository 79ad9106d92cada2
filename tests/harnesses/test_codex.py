"""The adapter for Codex; tests/docker/test_harnesses.py drives the real one."""

from pathlib import Path, PurePosixPath

import tomli

from harnesses.failures import Failure
from tests.harnesses.cli_lab import command, jsonl, read, steps

BEGUN = {"type": "thread.started", "thread_id": "t1"}


def test_a_run() -> None:
    first = command("codex", {"args": ("-c", "x=1")})
    assert (first.argv[:2], first.argv[-3:], first.stdin) == (("codex", "exec"), ("-c", "x=1", "-"), b"Do it.")
    config = tomli.loads(first.files[PurePosixPath(".codex/config.toml")].decode())
    assert (config["model"], config["model_context_window"], config["model_auto_compact_token_limit"]) == ("vendor/model-x", 131_072, 117_965)
    assert config["model_providers"]["gateway"]["base_url"] == "http://10.0.0.1:8400/v1"
    assert "token-1" not in first.files[PurePosixPath(".codex/config.toml")].decode()
    again = command("codex", session="t1")
    assert (again.argv[:3], again.argv[-2:]) == (("codex", "exec", "resume"), ("t1", "-"))


def test_its_events(tmp_path: Path) -> None:
    run = {"id": "i1", "type": "command_execution", "command": "ls", "aggregated_output": "a", "exit_code": 1, "status": "failed"}
    out = jsonl(
        BEGUN,
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "i0", "type": "agent_message", "text": "I look."}},
        {"type": "item.started", "item": {**run, "aggregated_output": "", "exit_code": None}},
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"type": "item.completed", "item": run},
        {"type": "item.completed", "item": {"id": "i2", "type": "file_change", "changes": [{"path": "a"}], "status": "completed"}},
        {"type": "item.completed", "item": {"id": "i3", "type": "something_new"}},
        {"type": "turn.completed", "usage": {}},
    )
    report = read("codex", tmp_path, out)
    assert (report.completed, report.session, report.unknown) == (True, "t1", {"item.completed": 1})
    assert [step[0] for step in steps(report)] == ["Message", "ToolCall", "Retry", "ToolResult", "ToolCall", "ToolResult"]
    assert steps(report)[3] == ("ToolResult", "i1", "a", True, 1)


def test_its_failures(tmp_path: Path) -> None:
    full = {"type": "turn.failed", "error": {"message": "Codex ran out of room in the model's context window."}}
    assert read("codex", tmp_path, jsonl(BEGUN, full), end={"exit_code": 1}).failure is Failure.CONTEXT
    report = read("codex", tmp_path, err=b"Error: no rollout found for thread id t1\n", end={"exit_code": 1}, session="t1")
    assert (report.failure, report.session) == (Failure.SESSION, None)
