"""The adapter for OpenCode; tests/docker/test_harnesses.py drives the real one."""

import json
from pathlib import Path

import pytest

from harnesses.failures import Failure
from tests.harnesses.cli_lab import command, jsonl, read, steps

SID = {"sessionID": "ses_1"}
TOOL = {
    "type": "tool_use",
    **SID,
    "part": {"tool": "bash", "callID": "c1", "state": {"status": "completed", "input": {"command": "ls"}, "output": "a\n", "metadata": {"exit": 0}}},
}


def test_a_run() -> None:
    first = command("opencode")
    assert first.argv[:4] == ("opencode", "run", "--format", "json")
    assert (first.stdin, "-s" in first.argv) == (b"Do it.", False)
    config = json.loads(first.env["OPENCODE_CONFIG_CONTENT"])
    provider = config["provider"]["gateway"]
    assert (config["model"], config["small_model"]) == ("gateway/vendor/model-x", "gateway/vendor/model-x")
    assert provider["options"]["baseURL"] == "http://10.0.0.1:8400/v1"
    assert provider["models"]["vendor/model-x"]["limit"] == {"context": 131_072, "output": 32_000}
    assert "token-1" not in first.env["OPENCODE_CONFIG_CONTENT"]
    again = command("opencode", {"args": ("--agent", "plan"), "env": {"X": "1"}}, session="ses_1")
    assert again.argv[-4:] == ("-s", "ses_1", "--agent", "plan")
    assert again.env["X"] == "1"


@pytest.mark.parametrize(("protocol", "package"), [("chat", "@ai-sdk/openai-compatible"), ("messages", "@ai-sdk/anthropic"), ("responses", "@ai-sdk/openai")])
def test_it_speaks_what_the_sweep_says(protocol: str, package: str) -> None:
    config = json.loads(command("opencode", {"options": {"protocol": protocol}}).env["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"]["gateway"]["npm"] == package


def test_its_events(tmp_path: Path) -> None:
    out = jsonl(
        {"type": "step_start", **SID, "part": {}},
        {"type": "text", **SID, "part": {"text": "I look."}},
        TOOL,
        {"type": "step_finish", **SID, "part": {"reason": "tool-calls"}},
        {"type": "step_start", **SID, "part": {}},
        {"type": "text", **SID, "part": {"text": "Done."}},
        {"type": "step_finish", **SID, "part": {"reason": "stop"}},
    )
    report = read("opencode", tmp_path, out)
    assert (report.completed, report.session, report.unknown) == (True, "ses_1", {})
    assert steps(report) == [("Message", "I look."), ("ToolCall", "c1", "bash", {"command": "ls"}), ("ToolResult", "c1", "a\n", 0), ("Message", "Done.")]


def test_its_failures(tmp_path: Path) -> None:
    """A run that stops after a tool, an error, an id that is known although the run was killed."""
    cut = read("opencode", tmp_path, jsonl({"type": "step_start", **SID, "part": {}}, TOOL), end={"exit_code": None, "signal": 9})
    assert (cut.failure, cut.session) == (Failure.SELF_KILL, "ses_1")
    error = {"type": "error", **SID, "error": {"name": "ContextOverflowError", "data": {"message": "too many tokens"}}}
    assert read("opencode", tmp_path, jsonl(error), end={"exit_code": 1}).failure is Failure.CONTEXT
    lost = read("opencode", tmp_path, err=b"Error: Session not found\n", end={"exit_code": 1}, session="ses_1")
    assert (lost.failure, lost.session) == (Failure.SESSION, None)
