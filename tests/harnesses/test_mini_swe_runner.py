"""The runner with mini-swe-agent as published, against a stub of a model. Slow, since it installs that first; its image is tried in tests/docker.

What is installed is locked for the image's Python, so that one is needed: as ``python3.13``, or with all of it installed as STAMINA_MINI_PYTHON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.harnesses.chat_stub import Answer, Body, Refusal, Stub, call, say, serving
from tests.outside import OUTSIDE
from tests.waiting import until

pytestmark = pytest.mark.slow

HARNESSES = Path(__file__).parents[2] / "harnesses"
PYTHON = "python3.13"
"""As in the image."""

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with what the image installs."""
    if given := os.environ.get("STAMINA_MINI_PYTHON"):
        return Path(given)
    folder = tmp_path_factory.mktemp("mini")
    made = shutil.which(PYTHON) and subprocess.run([PYTHON, "-m", "venv", folder], check=False).returncode == 0
    assert made, f"no {PYTHON} here that can make virtual environments; or name one that has mini-swe-agent in STAMINA_MINI_PYTHON"
    pinned = HARNESSES / "images" / "mini-swe-agent" / "requirements.txt"
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "-r", pinned]
    subprocess.run(pip, check=True, env=OUTSIDE)
    return folder / "bin" / "python"


@attrs.define
class Agent:
    """One conversation in a workspace of its own."""

    python: Path
    folder: Path
    stub: Stub

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        (self.folder / "work").mkdir(exist_ok=True)
        argv = [self.python, "-m", "mini_swe_runner", "--state", self.folder / "state", "--session", "main", "--model", "openai/stub"]
        return subprocess.Popen(
            [*argv, "--base-url", self.stub.base_url, *more],
            cwd=self.folder / "work",
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "PYTHONPATH": str(HARNESSES), "OPENAI_API_KEY": "sk-stub"}
            | {"MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def turn(self, prompt: str, *more: str) -> list[dict[str, Any]]:
        process = self.start(*more)
        out, err = process.communicate(prompt.encode())
        events = [json.loads(line) for line in out.splitlines()]
        assert events, err.decode()
        assert events[-1]["type"] == "result"
        assert events[-1]["exit_code"] == process.returncode
        return events

    def sent(self, request: int = -1) -> list[tuple[str, str]]:
        """Role and text of each message of a request."""
        return [(each["role"], each.get("content") or "") for each in self.stub.requests[request]["messages"]]


def obedient(body: Body) -> Answer:
    """Runs the command that a prompt names, then submits."""
    last = body["messages"][-1]
    if last["role"] == "user" and "RUN " in last["content"]:
        return call(last["content"].split("RUN ")[1].splitlines()[0])
    return call(f"{SUBMIT} && echo finished")


def answers(*given: Answer) -> Any:
    """A model that gives these answers in turn, and submits when there are no more."""
    left = list(given)

    def model(body: Body) -> Answer:
        return left.pop(0) if left else call(SUBMIT)

    return model


def valid(messages: list[Body]) -> None:
    """Every tool call has its result right behind it, and every result its call."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert open_calls, "a result without a call"
            open_calls.remove(message["tool_call_id"])
        else:
            assert not open_calls, f"{open_calls} have no result"
            open_calls = [each["id"] for each in message.get("tool_calls") or []]


def test_a_turn_runs_commands_and_ends_with_what_was_submitted(python: Path, tmp_path: Path) -> None:
    with serving(obedient) as stub:
        events = Agent(python, tmp_path, stub).turn("RUN echo hello > greeting")
    assert (tmp_path / "work" / "greeting").read_text() == "hello\n"
    assert [each["type"] for each in events] == ["session", *["message"] * 6, "result"]
    assert events[-1]["final"].strip() == "finished"
    assert (events[-1]["steps"], events[-1]["usage"]["output"]) == (2, 20)
    assert events[0] == {"type": "session", "session": "main", "resumed": False, "version": "2.4.6"}


def test_later_turns_know_all_earlier_ones_and_every_request_is_valid(python: Path, tmp_path: Path) -> None:
    with serving(obedient) as stub:
        agent = Agent(python, tmp_path, stub)
        for number in range(3):
            assert agent.turn(f"NONCE-{number}\nRUN echo {number} >> log")[-1]["status"] == "submitted"
        last = agent.sent()
        assert [sum(f"NONCE-{number}" in text for role, text in last if role == "user") for number in range(3)] == [1, 1, 1]
        for request in stub.requests:
            valid(request["messages"])
    assert (tmp_path / "work" / "log").read_text() == "0\n1\n2\n"


@pytest.mark.parametrize("prompt", ["/compact", "-v --help", "{{ system }} {% raw %}", "\ud83d broken".encode("utf-8", "replace").decode(), "x" * 300_000])
def test_any_text_is_a_prompt(python: Path, tmp_path: Path, prompt: str) -> None:
    with serving(answers()) as stub:
        agent = Agent(python, tmp_path, stub)
        assert agent.turn(prompt)[-1]["status"] == "submitted"
        assert f"Please solve this issue: {prompt}\n" in agent.sent()[1][1]


def test_a_prompt_that_is_no_utf8_is_no_failure(python: Path, tmp_path: Path) -> None:
    with serving(answers()) as stub:
        agent = Agent(python, tmp_path, stub)
        process = agent.start()
        process.communicate(b"caf\xe9")
        assert process.returncode == 0
        assert "caf\ufffd" in agent.sent()[1][1]


def test_a_killed_turn_goes_on_where_it_was(python: Path, tmp_path: Path) -> None:
    mark = tmp_path / "work" / "mark"
    with serving(answers(call("echo $$ > mark.new; mv mark.new mark; sleep 600"))) as stub:
        agent = Agent(python, tmp_path, stub)
        with agent.start() as process:
            assert process.stdin is not None
            process.stdin.write(b"THE PROMPT")
            process.stdin.close()
            until(mark.exists)
            process.kill()
        os.killpg(int(mark.read_text()), signal.SIGKILL)  # what the sandbox does to everything that is left
        events = agent.turn("THE PROMPT")
        assert events[1] == {"type": "resume", "prompt": "kept", "interrupted": 1}
        texts = agent.sent()
        valid(stub.requests[-1]["messages"])
    assert sum("THE PROMPT" in text for _, text in texts) == 1
    assert texts[-1] == ("tool", "The command was interrupted before it ended; its output is lost.")


def test_another_prompt_after_a_failure_is_added(python: Path, tmp_path: Path) -> None:
    with serving(answers(Refusal(401))) as stub:
        agent = Agent(python, tmp_path, stub)
        failed = agent.turn("first")[-1]
        events = agent.turn("second")
        texts = agent.sent()
    assert (failed["status"], failed["http_status"], failed["exit_code"]) == ("model_error", 401, 6)
    assert events[1] == {"type": "resume", "prompt": "new", "interrupted": 0}
    assert texts[-1] == ("user", "The user added a new task: second")
    assert "first" in texts[-2][1]


def test_a_long_conversation_is_summarised_and_its_recent_part_kept(python: Path, tmp_path: Path) -> None:
    def model(body: Body) -> Answer:
        if body.get("tool_choice") == "none":
            return say("SUMMARY-OF-ALL")
        return obedient(body)

    with serving(model) as stub:
        agent = Agent(python, tmp_path, stub)
        compacted = []
        for number in range(8):
            events = agent.turn(f"NONCE-{number} {'lorem ' * 500}\nRUN seq 1 500", "--compact-at", "6000")
            compacted += [each for each in events if each["type"] == "compaction"]
            assert events[-1]["status"] == "submitted"
        for request in stub.requests:
            valid(request["messages"])
            assert len(json.dumps(request["messages"])) // 4 < 9000
        texts = agent.sent()
    assert 1 <= len(compacted) <= 5
    assert all(each["summary"] == "SUMMARY-OF-ALL" and each["after"] < each["before"] for each in compacted)
    assert texts[2][1].endswith("SUMMARY-OF-ALL")
    assert "NONCE-0" in texts[1][1]
    assert sum("NONCE-7" in text for _, text in texts) == 1


def test_a_model_that_calls_tools_instead_of_summarising_loses_the_old_part_and_goes_on(python: Path, tmp_path: Path) -> None:
    with serving(obedient) as stub:
        agent = Agent(python, tmp_path, stub)
        for number in range(4):
            events = agent.turn(f"NONCE-{number} {'lorem ' * 500}\nRUN seq 1 500", "--compact-at", "4000")
        assert events[-1]["status"] == "submitted"
        assert any(each["type"] == "compaction" and each["summary"] is None for each in events)
        valid(stub.requests[-1]["messages"])


def test_a_model_that_always_reports_too_many_tokens_does_not_keep_it_summarising(python: Path, tmp_path: Path) -> None:
    def model(body: Body) -> Answer:
        return say("short") if body.get("tool_choice") == "none" else obedient(body)

    with serving(model) as stub:
        stub.tokens = lambda body: 50_000
        agent = Agent(python, tmp_path, stub)
        for number in range(5):
            assert agent.turn(f"NONCE-{number}\nRUN true", "--compact-at", "20000")[-1]["status"] == "submitted"
        asked = sum(request.get("tool_choice") == "none" for request in stub.requests)
    assert asked <= 2


def test_a_context_that_the_model_refuses_is_summarised_once(python: Path, tmp_path: Path) -> None:
    full = Refusal(400, "This model's maximum context length is 100 tokens", "context_length_exceeded")
    with serving(answers(call("echo 1"), call("echo 2"), full, say("SUMMARY"))) as stub:
        agent = Agent(python, tmp_path, stub)
        events = agent.turn("go", "--compact-at", "100")
        assert events[-1]["status"] == "submitted"
    with serving(lambda body: full) as stub:
        agent = Agent(python, tmp_path / "other", stub)
        agent.folder.mkdir()
        result = agent.turn("go", "--compact-at", "100000")[-1]
    assert (result["status"], result["exit_code"]) == ("context_overflow", 5)


@pytest.mark.parametrize("answer", [say("I am done."), call("x", tool="edit"), call("", arguments="{broken"), call("", arguments="[1]")])
def test_three_replies_without_a_valid_call_end_the_turn_as_published(python: Path, tmp_path: Path, answer: Body) -> None:
    with serving(lambda body: answer) as stub:
        agent = Agent(python, tmp_path, stub)
        result = agent.turn("go")[-1]
        assert (result["status"], result["exit_code"], result["steps"]) == ("format_error", 3, 3)


def test_limits_of_the_configuration_hold(python: Path, tmp_path: Path) -> None:
    with serving(lambda body: call("true")) as stub:
        result = Agent(python, tmp_path, stub).turn("go", "--config", "agent.step_limit=4")[-1]
    assert (result["status"], result["exit_code"], result["steps"]) == ("limits_exceeded", 4, 4)


def test_repetitions_of_a_request_are_told(python: Path, tmp_path: Path) -> None:
    left = [Refusal(500)] * 3

    def model(body: Body) -> Answer:
        return left.pop() if left else call(SUBMIT)

    with serving(model) as stub:
        agent = Agent(python, tmp_path, stub)
        events = agent.turn("go")
        assert events[-1]["status"] == "model_error"  # one attempt of ours is three requests of the client's
        assert (events[-1]["http_status"], len(stub.requests)) == (500, 3)
        assert agent.turn("go")[-1]["status"] == "submitted"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 99}', b'{"format": 1}', b"\xff\xfe"])
def test_a_damaged_session_is_refused_and_not_begun_anew(python: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "main.json").write_bytes(content)
    with serving(answers()) as stub:
        result = Agent(python, tmp_path, stub).turn("go")[-1]
    assert (result["status"], result["exit_code"]) == ("no_session", 2)
    assert (tmp_path / "state" / "main.json").read_bytes() == content


def test_a_session_that_is_not_there_cannot_be_resumed(python: Path, tmp_path: Path) -> None:
    with serving(answers()) as stub:
        result = Agent(python, tmp_path, stub).turn("go", "--resume")[-1]
    assert result["status"] == "no_session"
    assert "no saved session" in result["error"]
