"""What all adapters share: output that may hold anything, and what an end means."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harnesses.failures import Failure, failure_in
from harnesses.harness import CallEnd, CallReport
from harnesses.jsonlines import LONGEST_LINE, Flaw, last_line, read_lines, tail
from harnesses.prompts import plain
from harnesses.reading import Reading, Steps, read_call
from harnesses.trajectory import TEXT_CHARACTERS, Message, Note, ToolCall, lines
from stamina.outcome import Cause
from tests.harnesses.cli_lab import context


class ToyReading(Reading):
    QUIET = frozenset({"quiet"})

    def on_say(self, event: Mapping[str, Any]) -> Steps:
        return [Message(event["text"])]

    def on_session_id(self, event: Mapping[str, Any]) -> Steps:
        self.session = event["id"]
        return ()

    def on_done(self, event: Mapping[str, Any]) -> Steps:
        self.succeed()
        return ()

    def on_failed(self, event: Mapping[str, Any]) -> Steps:
        return self.fail_of(event["why"])


def judged(folder: Path, out: bytes, err: bytes = b"", session: str | None = None, call: int = 0, **end: Any) -> CallReport:
    (folder / "out").write_bytes(out)
    (folder / "err").write_bytes(err)
    ended = {"exit_code": 0, "signal": None, "seconds": 3.0, "expired": None, "stdout": folder / "out", "stderr": folder / "err", **end}
    return read_call(ToyReading(session), context(session=session, call=call), CallEnd(**ended), keeps_prompt=True)


DONE = b'{"type":"done"}\n'


def test_any_bytes_are_read(tmp_path: Path) -> None:
    """Text between events, bytes that are no UTF-8, JSON that is no object, deep nesting, a last line without its end."""
    deep = b"[" * 100_000
    (tmp_path / "f").write_bytes(b'hello\n\n{"type":"say","text":"a\xff\xfe"}\n[1]\nnull\n' + deep + b'\n{"type":"done"}\n{"type":"sa')
    found = list(read_lines(tmp_path / "f"))
    assert [line.flaw for line in found] == [Flaw.TEXT, None, Flaw.TEXT, Flaw.TEXT, Flaw.TEXT, None, Flaw.TORN]
    assert found[1].event == {"type": "say", "text": "a��"}
    assert list(read_lines(tmp_path / "nothing")) == []


def test_a_line_of_fifty_megabytes_is_an_event_and_a_longer_one_costs_only_itself(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.write(b'{"type":"say","text":"' + b"x" * (50 << 20) + b'"}\n')
        file.write(b'{"type":"say","text":"' + b"y" * (LONGEST_LINE + 5) + b'"}\n' + DONE)
    big, oversized, done = read_lines(tmp_path / "f")
    assert big.event is not None
    assert len(big.event["text"]) == 50 << 20
    assert (oversized.flaw, done.event) == (Flaw.OVERSIZED, {"type": "done"})


def test_what_nobody_knows_is_counted_and_harms_nothing(tmp_path: Path) -> None:
    """An event of an unknown kind, one of a known kind in a new shape, one without a kind."""
    out = b'{"type":"new"}\n{"type":"new"}\n{"type":"say","message":1}\n{"other":2}\n{"type":"quiet"}\nplain text\n' + DONE
    report = judged(tmp_path, out)
    assert report.completed
    assert report.unknown == {"new": 2, "say": 1, "(no type)": 1}
    assert report.flaws == {"text": 1}


def test_no_output_can_make_the_count_of_unknown_events_long(tmp_path: Path) -> None:
    out = b"".join(b'{"type":"kind%d"}\n' % number for number in range(1000))
    assert len(judged(tmp_path, out).unknown) == 101


@pytest.mark.parametrize(
    ("out", "err", "end", "failure", "cause", "words"),
    [
        (DONE, b"", {}, None, None, ""),
        (b"", b"", {}, Failure.CRASH, Cause.HARNESS, "nothing says that it had finished"),
        (DONE, b"", {"exit_code": 1}, Failure.CRASH, Cause.HARNESS, "exit code 1: nothing on stderr"),
        (b"", b"x\nError: prompt is too long\n", {"exit_code": 1}, Failure.CONTEXT, Cause.HARNESS, "prompt is too long"),
        (b"", b"No saved session found\n", {"exit_code": 1}, Failure.SESSION, Cause.HARNESS, "No saved session"),
        (b"", b"oops\n", {"exit_code": 127}, Failure.START, Cause.HARNESS, "exit code 127: oops"),
        (b'{"type":"failed","why":"status 503"}\n', b"", {"exit_code": 1}, Failure.PROVIDER, Cause.PROVIDER, "status 503"),
        (b'{"type":"failed","why":"consecutive_identical_tool_calls"}\n', b"", {"exit_code": 1}, Failure.STUCK, Cause.AGENT, "identical"),
        (b'{"type":"failed","why":"auto-compaction failed"}\n', b"", {}, Failure.COMPACTION, Cause.HARNESS, "compaction"),
        (b'{"type":"failed","why":"status 500"}\n' + DONE, b"", {}, None, None, ""),
        (DONE, b"", {"exit_code": None, "signal": 9}, Failure.SELF_KILL, Cause.HARNESS, "SIGKILL"),
        (DONE, b"", {"exit_code": 143}, Failure.SELF_KILL, Cause.HARNESS, "143"),
        (b"", b"", {"exit_code": None, "signal": 15, "expired": "wall"}, Failure.WEDGE, Cause.HARNESS, "wall"),
        (DONE, b"", {"exit_code": None, "signal": 9, "expired": "wall"}, None, None, "it had finished"),
        (b"", b"", {"truncated": True}, None, None, "too long"),
    ],
)
def test_what_an_end_means(tmp_path: Path, out: bytes, err: bytes, end: dict[str, Any], failure: Failure | None, cause: Cause | None, words: str) -> None:
    report = judged(tmp_path, out, err, **end)
    assert (report.failure, report.cause, report.completed) == (failure, cause, failure is None)
    assert words in report.detail


def test_a_prompt_that_a_session_may_hold_twice_is_on_record(tmp_path: Path) -> None:
    """Only when the call before failed, and its session goes on."""
    assert any(isinstance(step, Note) for step in judged(tmp_path, DONE, session="s", call=1).steps)
    assert not any(isinstance(step, Note) for step in judged(tmp_path, DONE, session="s").steps)
    assert not any(isinstance(step, Note) for step in judged(tmp_path, DONE, call=1).steps)


def test_a_session_that_changes_is_followed_and_a_lost_one_begun_anew(tmp_path: Path) -> None:
    changed = judged(tmp_path, b'{"type":"session.id","id":"t"}\n' + DONE, session="s")
    assert (changed.session, any("continued as t" in getattr(step, "detail", "") for step in changed.steps)) == ("t", True)
    lost = judged(tmp_path, b"", b"session s not found\n", session="s", exit_code=1)
    assert (lost.failure, lost.session) == (Failure.SESSION, None)
    assert judged(tmp_path, b"", session="s", exit_code=1).session == "s"


def test_a_trajectory_is_json_whatever_is_in_it() -> None:
    """Long texts are cut, arguments in a string are unpacked, half a surrogate harms nothing."""
    call = ToolCall(None, "bash", '{"command": "ls"}')
    assert (call.id, call.arguments) == ("", {"command": "ls"})
    assert ToolCall(1, "bash", "{broken").arguments == "{broken"
    text = lines({"turn": 0}, [Message("x" * (TEXT_CHARACTERS + 1)), Message("\ud800"), call], {"completed": True})
    first, long, half, _, last = (json.loads(line) for line in text.splitlines())
    assert (first, last) == ({"step": "begin", "turn": 0}, {"step": "end", "completed": True})
    assert long["text"].endswith(f"… ({TEXT_CHARACTERS + 1} characters)")
    assert half["text"] == "?"


@pytest.mark.parametrize(("prompt", "same"), [("Do it.", True), ("/compact", False), ("  --help", False), ("!ls", False), ("", True)])
def test_prompts_arrive_as_text(prompt: str, same: bool) -> None:
    assert (plain(prompt) == prompt) is same
    assert plain(prompt).endswith(prompt)


def test_words_that_say_nothing_known_are_no_failure_of_a_known_kind(tmp_path: Path) -> None:
    assert failure_in("segmentation fault") is None
    (tmp_path / "f").write_bytes(b"a\n" * 100_000 + b"last \xff\n \n")
    assert last_line(tail(tmp_path / "f")) == "last �"
