"""Trajectories in the interchange format; scripts/atif_check.py asks the models of the format's own package."""

from typing import Any

from harnesses.atif import Totals, document

BEGIN = {"step": "begin", "turn": 1, "attempt": 0, "call": 0, "harness": "toy", "version": "1.0", "model": "m"}


def made(*lines: dict[str, Any]) -> dict[str, Any]:
    found = document("toy/1/0", [[BEGIN, *lines, {"step": "end"}]], Totals(10, 5, 2), {"seed": 1})
    assert found is not None
    return found


def test_a_conversation() -> None:
    """Thinking goes with what follows it, calls with what was said before them, results with their calls."""
    found = made(
        {"step": "message", "role": "user", "text": "Do it."},
        {"step": "message", "role": "agent", "text": "hm", "thinking": True},
        {"step": "message", "role": "agent", "text": "I look."},
        {"step": "tool_call", "id": "a", "name": "bash", "arguments": {"command": "ls"}},
        {"step": "tool_call", "id": "b", "name": "bash", "arguments": "{broken"},
        {"step": "tool_result", "id": "b", "text": "no", "failed": True, "exit_code": 2},
        {"step": "tool_result", "id": "a", "text": "x"},
        {"step": "compaction", "detail": ""},
        {"step": "message", "role": "agent", "text": "Done."},
    )
    assert (found["schema_version"], found["agent"]) == ("ATIF-v1.8", {"name": "toy", "version": "1.0", "model_name": "m"})
    assert [(step["step_id"], step["source"], step["message"]) for step in found["steps"]] == [
        (1, "user", "Do it."),
        (2, "agent", "I look."),
        (3, "system", "compaction"),
        (4, "agent", "Done."),
    ]
    look = found["steps"][1]
    assert look["reasoning_content"] == "hm"
    assert [call["arguments"] for call in look["tool_calls"]] == [{"command": "ls"}, {"text": "{broken"}]
    assert look["observation"]["results"] == [
        {"content": "no", "source_call_id": "b", "extra": {"failed": True, "exit_code": 2}},
        {"content": "x", "source_call_id": "a"},
    ]
    assert found["final_metrics"] == {"total_prompt_tokens": 10, "total_completion_tokens": 5, "total_cached_tokens": 2, "total_steps": 4}


def test_results_without_a_call_and_calls_without_an_id() -> None:
    """Every reference in the document is one to its own step."""
    found = made(
        {"step": "tool_call", "id": "", "name": "bash", "arguments": None},
        {"step": "tool_result", "id": "", "text": "x"},
        {"step": "tool_result", "id": "lost", "text": "y"},
    )
    first, second = found["steps"]
    assert first["observation"]["results"][0]["source_call_id"] == first["tool_calls"][0]["tool_call_id"]
    assert (second["source"], second["observation"]) == ("system", {"results": [{"content": "y"}]})
    assert document("toy/1/0", [], Totals(), {}) is None
