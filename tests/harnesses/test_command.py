"""Agents of one's own: what the sweep file says is what is run and read, and the example of the how-to plays."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import attrs
import pytest

from harnesses.command import CommandOptions
from harnesses.harness import CallEnd, CallReport
from harnesses.registry import HARNESSES, make_harness
from stamina.__main__ import main
from stamina.config.load import parse
from stamina.config.model import AgentConfig
from stamina.errors import InputError
from tests.harnesses.cli_lab import command, context, jsonl, steps

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "own-agent.md"
PLAIN = {"first": ["agent"], "done_exit": True}


def example() -> str:
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def read(folder: Path, options: dict[str, Any], out: bytes, *, session: str | None = None, code: int = 0) -> CallReport:
    (folder / "out").write_bytes(out)
    (folder / "err").write_bytes(b"")
    end = CallEnd(code, None, 1.0, None, folder / "out", folder / "err")
    return make_harness(AgentConfig("command", options={**PLAIN, **options})).read(context(session=session), end)


def test_words_in_braces_are_filled_in_and_other_braces_stay() -> None:
    options = {
        **PLAIN,
        "first": ["agent", "--model={model}", "{session}", "{unknown}"],
        "later": ["agent", "--resume", "{session}"],
        "variables": {"URL": "{base_url}/v1", "KEY": "{token}"},
        "files": {".agent/config.json": '{"window": {context_window}, "home": "{home}"}'},
    }
    first = command("command", {"options": options, "args": ("-v",)})
    assert first.argv == ("agent", "--model=vendor/model-x", "", "{unknown}", "-v")
    assert (first.stdin, dict(first.env)) == (b"Do it.", {"URL": "http://10.0.0.1:8400/v1", "KEY": "token-1"})
    assert json.loads(first.files[PurePosixPath(".agent/config.json")]) == {"window": 131_072, "home": "/home/agent"}
    assert command("command", {"options": options}, session="s1").argv == ("agent", "--resume", "s1")


def test_prompts_come_as_they_are_wanted() -> None:
    by_file = command("command", {"options": {"first": ["agent", "{prompt_file}"], "done_exit": True, "prompt": "file"}})
    assert (by_file.argv[1], by_file.files[PurePosixPath(".prompt.md")], by_file.stdin) == ("/home/agent/.prompt.md", b"Do it.", b"")
    by_argument = command("command", {"options": {"first": ["agent", "{prompt}"], "done_exit": True, "prompt": "argument"}}, prompt="{token}")
    assert (by_argument.argv[1], by_argument.stdin) == ("{token}", b"")


@pytest.mark.parametrize(
    ("options", "out", "session"),
    [
        ({"session_line": r"Session: (\S+)"}, b"Hello\nSession: abc\n", "abc"),
        ({"session_event": "thread.id"}, jsonl({"thread": {"id": "abc"}}, {"thread": 3}), "abc"),
        ({}, b"Hello\n", None),
    ],
)
def test_sessions_are_found(tmp_path: Path, options: dict[str, Any], out: bytes, session: str | None) -> None:
    assert read(tmp_path, options, out).session == session


def test_a_session_that_is_given_counts_once_the_agent_has_said_anything(tmp_path: Path) -> None:
    """Else the next call would continue what never began."""
    options = {"session_given": True, "first": ["agent", "{session}"]}
    given = command("command", {"options": {**PLAIN, **options}}).argv[1]
    assert read(tmp_path, options, b"Hello\n", code=1).session == given
    assert read(tmp_path, options, b"", code=1).session is None


@pytest.mark.parametrize(
    ("options", "out", "completed"),
    [
        ({"done_exit": False, "done_event": {"type": "result", "ok": True}}, jsonl({"type": "result", "ok": True}), True),
        ({"done_exit": False, "done_event": {"type": "result", "ok": True}}, jsonl({"type": "result", "ok": False}), False),
        ({"done_exit": False, "done_line": "^Finished"}, b"Finished.\n", True),
        ({"done_exit": False, "done_line": "^Finished"}, b"Not Finished.\n", False),
        ({}, b"", True),
    ],
)
def test_what_is_done_is_what_the_sweep_file_says(tmp_path: Path, options: dict[str, Any], out: bytes, *, completed: bool) -> None:
    assert read(tmp_path, options, out).completed is completed


def test_an_agent_can_tell_its_trajectory(tmp_path: Path) -> None:
    """In the form in which it is kept; lines that only look like it are passed over."""
    out = jsonl(
        {"step": "tool_call", "id": "1", "name": "bash", "arguments": '{"command": "ls"}'},
        {"step": "tool_call"},
        {"step": "nonsense"},
        {"step": "note", "detail": "x"},
    )
    assert steps(read(tmp_path, {}, out)) == [("ToolCall", "1", "bash", {"command": "ls"}), ("Note", "x")]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('first = ["agent"]', "say how one sees that a call has done its work"),
        ("done_exit = true", 'needs first = ["program"'),
        ('first = ["agent"]\ndone_line = "("', "expected a regular expression"),
        ('first = ["agent"]\ndone_exit = true\nsession_line = "(a)(b)"', "at most one group"),
        ('first = ["agent"]\ndone_exit = true\nlast = ["x"]', "unknown key for harness command"),
        ('first = ["agent"]\ndone_exit = true\nprotocol = "gemini"', "speaks chat and responses, not gemini"),
    ],
)
def test_a_wrong_description_is_told_before_anything_runs(keys: str, message: str) -> None:
    model = '[model.m]\nprovider = "openai"\nid = "x"\ncontext_window = 9000\n'
    text = f'[sweep]\nname = "x"\nseeds = "1"\n[[agent]]\nharness = "command"\nmodel = "m"\n{keys}\n{model}'
    with pytest.raises(InputError) as caught:
        parse(text, "x.toml", harnesses=HARNESSES)
    assert message in str(caught.value)


def test_every_key_is_on_the_page() -> None:
    """With its meaning, as the program has it."""
    page = PAGE.read_text()
    for field in attrs.fields(CommandOptions):
        assert f"| `{field.name}` | {field.metadata['doc']} |" in page


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_of_the_page_plays(in_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As plain processes here, with the scripted model; the agent's commands touch its workspace only."""
    (in_folder / "own-agent.toml").write_text(example())
    here = ["--set", 'sandbox.engine="process"', "--set", "sandbox.allow_unsandboxed=true"]
    monkeypatch.setattr(sys, "argv", ["stamina", "run", "own-agent.toml", *here])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0, capsys.readouterr().err
    (last,) = (in_folder / "runs" / "own-agent" / "scenarios" / "small" / "1" / "0" / "turns" / "002" / "0" / "0").glob("trajectory.jsonl")
    kinds = [json.loads(line)["step"] for line in last.read_text().splitlines()]
    assert kinds[:3] == ["begin", "message", "message"]
    assert kinds.count("tool_call") == kinds.count("tool_result") > 1
