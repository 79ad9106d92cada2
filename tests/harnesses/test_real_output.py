"""What the adapters make of output that the real CLIs wrote (tests/harnesses/output), whole and damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from harnesses.failures import Failure
from harnesses.harness import CallReport
from harnesses.trajectory import Compaction, Message, Note, ToolCall, ToolResult
from harnesses.vibe import UNTOLD
from tests.harnesses.cli_lab import command, jsonl, read

OUTPUT = Path(__file__).parent / "output"


@attrs.frozen
class Sample:
    """Attributes: said is the agent's last message; session is what the output says; told is False where it says none, and it is the one that was given."""

    harness: str
    said: str
    session: str | None
    shell: str
    command: str
    told: bool = True

    @property
    def output(self) -> bytes:
        return (OUTPUT / f"{self.harness}.jsonl").read_bytes()


LOOK = "sha256sum initial_specification.md .coder/notes.gz server.py api.json run_server.sh 2>/dev/null\necho '==loo''ked=='\n"
DONE = "The server does what was asked for; 4 change requests so far. [ref {}]"
SAMPLES = [
    Sample("claude-code", DONE.format("524a9841-33"), "d2131b65-ddca-5dee-bfe8-fb0247a67ef4", "Bash", LOOK),
    Sample("codex", DONE.format("036987ae-33"), "01a22c4f-43fe-7b52-989c-f5c546b4d951", "exec_command", f'/bin/bash -lc "{LOOK}"'),
    Sample("gemini-cli", 'DONE {"name": "run_shell_command", "response"', "21111111-2222-4333-8444-555555555555", "run_shell_command", "echo hi > g; cat g"),
    Sample("kimi", "DONE Wall time: 0.087 seconds 7 ", "session_df702627-617e-4e96-8fa8-297aa0668079", "Bash", "echo 7"),
    Sample("opencode", DONE.format("e40ce204-33"), "ses_dd3aee8cbffeiFbuS2R2f9xCTs", "bash", LOOK),
    Sample("kimi-cli", "DONE", "75dfe772-5584-5d73-8c81-5a15a7a4764e", "Shell", "echo hi; exit 3", told=False),
    Sample("openhands", "DONE [Previous command outputs are truncated.", "11111111-2222-4333-8444-555555555555", "terminal", "echo hi > g; cat g"),
    Sample("qwen-code", "DONE Command: echo three Directory: (root) Ou", "11111111-2222-4333-8444-555555555555", "run_shell_command", "echo three"),
    Sample(
        "vibe",
        'DONE {"command":"echo hi > g; cat g","returnc',
        "b09f795f-aa47-b756-7b37-3ec7cdbe76a4",
        "file_system.bash",
        "echo hi > g; cat g",
    ),
]
"""Runs with one command; where there were more, the others are left out."""

samples = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.harness)


def file(name: str) -> bytes:
    return (OUTPUT / name).read_bytes()


def parts(report: CallReport, kind: type[Any]) -> list[Any]:
    return [step for step in report.steps[1:] if isinstance(step, kind)]


@samples
def test_a_run(tmp_path: Path, sample: Sample) -> None:
    report = read(sample.harness, tmp_path, sample.output)
    assert (report.completed, report.detail, report.session, report.unknown, report.flaws) == (True, "", sample.session, {}, {})
    (call,), (result,) = parts(report, ToolCall), parts(report, ToolResult)
    assert (call.name, call.arguments["command"]) == (sample.shell, sample.command)
    assert call.id == result.id
    assert parts(report, Message)[-1].text == sample.said


@samples
def test_output_that_ends_anywhere_is_no_completed_run(tmp_path: Path, sample: Sample) -> None:
    """Exit code 0 or not: without its last event nothing says that it had finished."""
    last = sample.output.rstrip().rfind(b"\n")
    for length in range(0, last, 97):
        assert not read(sample.harness, tmp_path, sample.output[:length]).completed
    assert not read(sample.harness, tmp_path, sample.output[: last + 20]).completed


@samples
def test_noise_between_the_lines_is_counted_and_harms_nothing(tmp_path: Path, sample: Sample) -> None:
    noise = [b"\xff\xfe no UTF-8", b"plain text", b'{"half', b"[1]", b'{"type": "brand_new", "role": "brand_new", "x": 1}', b'{"type": 7}', b"{}"]
    lines = sample.output.splitlines()
    out = b"\n".join(piece for line in lines for piece in (*noise, line)) + b"\n"
    report = read(sample.harness, tmp_path, out)
    assert (report.completed, report.session) == (True, sample.session)
    assert report.flaws["text"] == 4 * len(lines)
    assert sum(report.unknown.values()) == 3 * len(lines)


@samples
def test_known_events_of_another_shape_are_unknown_ones(tmp_path: Path, sample: Sample) -> None:
    """Each value of each event in turn is of another type."""
    events = [json.loads(line) for line in sample.output.splitlines()]
    for index, event in enumerate(events):
        for key in event:
            changed = [*events[:index], {**event, key: [None, {"x": 1}]}, *events[index + 1 :]]
            read(sample.harness, tmp_path, b"".join(json.dumps(each).encode() + b"\n" for each in changed))


@samples
def test_a_line_of_fifty_megabytes_is_read(tmp_path: Path, sample: Sample) -> None:
    wanted = json.dumps(parts(read(sample.harness, tmp_path, sample.output), Message)[-1].text)[1:-1].encode()
    report = read(sample.harness, tmp_path, sample.output.replace(wanted, b"x" * (50 << 20)))
    assert report.completed
    assert parts(report, Message)[-1].text.endswith(f"({50 << 20} characters)")


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.told], ids=lambda sample: sample.harness)
def test_a_session_that_changes_is_followed(tmp_path: Path, sample: Sample) -> None:
    report = read(sample.harness, tmp_path, sample.output, session="another")
    assert report.session == sample.session
    assert any("asked to continue session another" in step.detail for step in parts(report, Note))


@pytest.mark.parametrize(
    ("harness", "out", "err", "exit_code", "failure"),
    [
        ("gemini-cli", "gemini-cli-401.jsonl", None, 145, Failure.PROVIDER),
        ("gemini-cli", None, "gemini-cli-lost.stderr", 42, Failure.SESSION),
        ("claude-code", "claude-code-lost.jsonl", "claude-code-lost.stderr", 1, Failure.SESSION),
        ("codex", None, "codex-lost.stderr", 1, Failure.SESSION),
        ("kimi", None, "kimi-401.stderr", 1, Failure.PROVIDER),
        ("kimi", None, "kimi-lost.stderr", 1, Failure.SESSION),
        ("kimi", None, "kimi-compaction.stderr", 1, Failure.COMPACTION),
        ("opencode", None, "opencode-lost.stderr", 1, Failure.SESSION),
        ("kimi-cli", "kimi-cli-500.stdout", None, 75, Failure.PROVIDER),
        ("kimi-cli", "kimi-cli-401.stdout", None, 1, Failure.PROVIDER),
        ("kimi-cli", "kimi-cli-window.stdout", None, 1, Failure.CONTEXT),
        ("qwen-code", "qwen-code-401.jsonl", None, 1, Failure.PROVIDER),
        ("qwen-code", None, "qwen-code-lost.stderr", 1, Failure.SESSION),
        ("vibe", None, "vibe-401.stderr", 1, Failure.PROVIDER),
        ("vibe", None, "vibe-start.stderr", 2, Failure.START),
        ("vibe", "vibe-killed.jsonl", "vibe-killed.stderr", 2, Failure.SELF_KILL),
        ("vibe", None, "vibe-terminated.stderr", 3, Failure.SELF_KILL),
    ],
)
def test_a_failure(tmp_path: Path, harness: str, out: str | None, err: str | None, exit_code: int, failure: Failure) -> None:
    report = read(harness, tmp_path, file(out) if out else b"", file(err) if err else b"", {"exit_code": exit_code}, session="s")
    assert (report.completed, report.failure, report.session is None) == (False, failure, failure is Failure.SESSION)
    assert report.detail.count("\n") == 0


@pytest.mark.parametrize("harness", [sample.harness for sample in SAMPLES])
def test_a_call_that_was_killed(tmp_path: Path, harness: str) -> None:
    """In the middle of a command; whoever tells the session at the start can go on with it."""
    report = read(harness, tmp_path, file(f"{harness}-killed.jsonl"), end={"exit_code": None, "signal": 9})
    assert (report.completed, report.failure) == (False, Failure.SELF_KILL)
    assert (report.session is None) == (harness == "kimi")
    results = [step.id for step in parts(report, ToolResult)]
    assert len(results) == (0 if harness in ("gemini-cli", "kimi", "qwen-code") else 1)
    assert set(results) <= {step.id for step in parts(report, ToolCall)}


def test_vibe_says_what_failed_and_what_was_made_shorter(tmp_path: Path) -> None:
    """A command's exit code is not told, but whether it went well is."""
    report = read("vibe", tmp_path, file("vibe-compaction.jsonl"))
    (compaction,) = parts(report, Compaction)
    assert "Context compacted" in compaction.detail
    assert [result.failed for result in parts(report, ToolResult)] == [True]


def test_a_call_of_vibe_that_repeats_says_what_its_output_lacks(tmp_path: Path) -> None:
    report = read("vibe", tmp_path, file("vibe.jsonl"), session="b09f795f-aa47-b756-7b37-3ec7cdbe76a4", call=1)
    assert any(UNTOLD in note.detail for note in parts(report, Note))


def test_kimi_cli_tells_exit_codes(tmp_path: Path) -> None:
    (result,) = parts(read("kimi-cli", tmp_path, file("kimi-cli.jsonl")), ToolResult)
    assert (result.failed, result.exit_code) == (True, 3)


def test_kimi_clis_errors_are_put_together_from_its_lines_of_eighty_characters(tmp_path: Path) -> None:
    report = read("kimi-cli", tmp_path, file("kimi-cli-500.stdout"), end={"exit_code": 75})
    assert "{'error': {'message': 'upstream failed', 'type': 'server_error'}}" in report.detail


def test_openhands_says_what_became_of_an_interrupted_call(tmp_path: Path) -> None:
    resumed = {"type": "resume", "answered": 1, "lost": 2, "prompt": "kept"}
    (note,) = parts(read("openhands", tmp_path, jsonl(resumed) + file("openhands.jsonl"), session="11111111-2222-4333-8444-555555555555", call=1), Note)
    for part in ("get a result that says so: 1", "not in the conversation: 2", "the same prompt is not sent again"):
        assert part in note.detail


def test_openhands_is_told_when_a_call_repeats_one_that_failed() -> None:
    assert "--again" in command("openhands", session="s", call=1).argv
    assert "--again" not in command("openhands", session="s").argv
    assert "--again" not in command("openhands", call=1).argv


@pytest.mark.parametrize("status", ["stuck", "error", "no_session", "runner_error"])
def test_openhands_ends_without_having_finished(tmp_path: Path, status: str) -> None:
    """Its own loop detector and step limit end the agent's work; anything else is the harness's. The limit is told by an event before the end."""
    limit = {"code": "MaxIterationsReached", "detail": "Agent reached maximum iterations limit (500)."}
    before = [{"type": "event", "kind": "ConversationErrorEvent", "event": limit}] * (status == "error")
    told = {"error": "it ended as error", "no_session": "no saved session s"}.get(status, "")
    ended = {"type": "result", "status": status, "error": told, "exit_code": 3}
    report = read("openhands", tmp_path, jsonl(*before, ended), end={"exit_code": 3}, session="s")
    expected = {"stuck": Failure.STUCK, "error": Failure.LIMIT, "no_session": Failure.SESSION, "runner_error": Failure.CRASH}
    assert (report.completed, report.failure) == (False, expected[status])
