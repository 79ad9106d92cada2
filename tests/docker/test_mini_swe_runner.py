"""The runner with mini-swe-agent as published, in its image, against a stub of a model: ``make test-harnesses``."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from actors.container import HOME
from tests.docker.chat_stub import Answer, Body, Model, Refusal, call, say
from tests.docker.harness_plays import each
from tests.docker.runner_lab import UNTIL_KILLED, Agent, Runners, answers, valid

pytestmark = [pytest.mark.docker, pytest.mark.harnesses, each("mini-swe-agent", together=False)]

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
STATE = ".mini-swe-agent"

Open: TypeAlias = Callable[[Model], AbstractAsyncContextManager[Agent]]


@pytest.fixture
def opened(harness: str, host: str, tmp_path: Path) -> Open:
    """The runner in a container of its own, with this model."""

    def begin(base_url: str) -> tuple[str, ...]:
        return ("mini-swe-runner", "--state", f"{HOME}/{STATE}", "--session", "main", "--model", "openai/stub", "--base-url", base_url)

    env = {"OPENAI_API_KEY": "sk-stub", "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1"}

    @asynccontextmanager
    async def opened(model: Model) -> AsyncIterator[Agent]:
        async with Runners(host, harness, tmp_path).agent(model, begin, env) as agent:
            yield agent

    return opened


def obedient(body: Body) -> Answer:
    """Runs the command that a prompt names, then submits."""
    last = body["messages"][-1]
    if last["role"] == "user" and "RUN " in last["content"]:
        return call(last["content"].split("RUN ")[1].splitlines()[0])
    return call(f"{SUBMIT} && echo finished")


def submits(body: Body) -> Answer:
    """Ends every turn at once."""
    return call(SUBMIT)


async def test_a_turn_runs_commands_and_ends_with_what_was_submitted(opened: Open) -> None:
    async with opened(obedient) as agent:
        done = await agent.turn("RUN echo hello > greeting")
        assert (agent.workspace / "greeting").read_text() == "hello\n"
    assert [each["type"] for each in done.events] == ["session", *["message"] * 6, "result"]
    assert (done.result["status"], done.result["final"].strip()) == ("submitted", "finished")
    assert (done.result["steps"], done.result["usage"]["output"]) == (2, 20)
    assert done.events[0] == {"type": "session", "session": "main", "resumed": False, "version": "2.4.6"}


async def test_later_turns_know_all_earlier_ones_and_every_request_is_valid(opened: Open) -> None:
    async with opened(obedient) as agent:
        for number in range(3):
            assert (await agent.turn(f"NONCE-{number}\nRUN echo {number} >> log")).result["status"] == "submitted"
        assert (agent.workspace / "log").read_text() == "0\n1\n2\n"
    assert [sum(f"NONCE-{number}" in text for role, text in agent.sent() if role == "user") for number in range(3)] == [1, 1, 1]
    for request in agent.stub.requests:
        valid(request["messages"])


@pytest.mark.parametrize("prompt", ["/compact", "-v --help", "{{ system }} {% raw %}", "x" * 300_000], ids=["slash", "dash", "template", "long"])
async def test_any_text_is_a_prompt(opened: Open, prompt: str) -> None:
    async with opened(submits) as agent:
        assert (await agent.turn(prompt)).result["status"] == "submitted"
    assert f"Please solve this issue: {prompt}\n" in agent.sent()[1][1]


async def test_a_prompt_that_is_no_utf8_is_no_failure(opened: Open) -> None:
    async with opened(submits) as agent:
        assert (await agent.turn(b"caf\xe9")).end.exit_code == 0
    assert "caf\ufffd" in agent.sent()[1][1]


async def test_a_killed_turn_goes_on_where_it_was(opened: Open) -> None:
    async with opened(answers(call(UNTIL_KILLED), then=submits)) as agent:
        await agent.killed("THE PROMPT", when=agent.workspace / "mark")
        done = await agent.turn("THE PROMPT")
    assert done.events[1] == {"type": "resume", "prompt": "kept", "interrupted": 1}
    assert done.result["status"] == "submitted"
    valid(agent.stub.requests[-1]["messages"])
    assert sum("THE PROMPT" in text for _, text in agent.sent()) == 1
    assert agent.sent()[-1] == ("tool", "The command was interrupted before it ended; its output is lost.")


async def test_a_turn_whose_agent_kills_it_goes_on_where_it_was(opened: Open) -> None:
    """As ``pkill -9 python`` of a model that wants to end its server does."""
    async with opened(answers(call("kill -9 $PPID"), then=submits)) as agent:
        killed = await agent.turn("THE PROMPT")
        done = await agent.turn("THE PROMPT")
    assert (killed.end.signal, killed.of("result")) == (9, [])
    assert done.events[1] == {"type": "resume", "prompt": "kept", "interrupted": 1}
    valid(agent.stub.requests[-1]["messages"])


async def test_another_prompt_after_a_failure_is_added(opened: Open) -> None:
    async with opened(answers(Refusal(401), then=submits)) as agent:
        failed = (await agent.turn("first")).result
        done = await agent.turn("second")
    assert (failed["status"], failed["http_status"], failed["exit_code"]) == ("model_error", 401, 6)
    assert done.events[1] == {"type": "resume", "prompt": "new", "interrupted": 0}
    assert agent.sent()[-1] == ("user", "The user added a new task: second")
    assert "first" in agent.sent()[-2][1]


async def test_a_long_conversation_is_summarised_and_its_recent_part_kept(opened: Open) -> None:
    def model(body: Body) -> Answer:
        return say("SUMMARY-OF-ALL") if body.get("tool_choice") == "none" else obedient(body)

    compacted: list[Body] = []
    async with opened(model) as agent:
        for number in range(8):
            done = await agent.turn(f"NONCE-{number} {'lorem ' * 500}\nRUN seq 1 500", "--compact-at", "6000")
            compacted += done.of("compaction")
            assert done.result["status"] == "submitted"
    for request in agent.stub.requests:
        valid(request["messages"])
        assert len(json.dumps(request["messages"])) // 4 < 9000
    texts = agent.sent()
    assert 1 <= len(compacted) <= 5
    assert all(each["summary"] == "SUMMARY-OF-ALL" and each["after"] < each["before"] for each in compacted)
    assert texts[2][1].endswith("SUMMARY-OF-ALL")
    assert "NONCE-0" in texts[1][1]
    assert sum("NONCE-7" in text for _, text in texts) == 1


async def test_a_model_that_calls_tools_instead_of_summarising_loses_the_old_part_and_goes_on(opened: Open) -> None:
    async with opened(obedient) as agent:
        for number in range(4):
            done = await agent.turn(f"NONCE-{number} {'lorem ' * 500}\nRUN seq 1 500", "--compact-at", "4000")
    assert done.result["status"] == "submitted"
    assert any(each["summary"] is None for each in done.of("compaction"))
    valid(agent.stub.requests[-1]["messages"])


async def test_a_model_that_always_reports_too_many_tokens_does_not_keep_it_summarising(opened: Open) -> None:
    def model(body: Body) -> Answer:
        return say("short") if body.get("tool_choice") == "none" else obedient(body)

    async with opened(model) as agent:
        agent.stub.tokens = lambda body: 50_000
        for number in range(5):
            assert (await agent.turn(f"NONCE-{number}\nRUN true", "--compact-at", "20000")).result["status"] == "submitted"
    assert sum(request.get("tool_choice") == "none" for request in agent.stub.requests) <= 2


FULL = Refusal(400, "This model's maximum context length is 100 tokens", "context_length_exceeded")


async def test_a_context_that_the_model_refuses_is_summarised(opened: Open) -> None:
    async with opened(answers(call("echo 1"), call("echo 2"), FULL, say("SUMMARY"), then=submits)) as agent:
        done = await agent.turn("go", "--compact-at", "100")
    assert done.result["status"] == "submitted"


async def test_a_context_that_the_model_refuses_whatever_it_holds_ends_the_turn(opened: Open) -> None:
    async with opened(lambda body: FULL) as agent:
        result = (await agent.turn("go", "--compact-at", "100000")).result
    assert (result["status"], result["exit_code"]) == ("context_overflow", 5)


@pytest.mark.parametrize(
    "answer",
    [say("I am done."), call("x", tool="edit"), call("", arguments="{broken"), call("", arguments="[1]")],
    ids=["no call", "no such tool", "no JSON", "no object"],
)
async def test_three_replies_without_a_valid_call_end_the_turn_as_published(opened: Open, answer: Body) -> None:
    async with opened(lambda body: answer) as agent:
        result = (await agent.turn("go")).result
    assert (result["status"], result["exit_code"], result["steps"]) == ("format_error", 3, 3)


async def test_limits_of_the_configuration_hold(opened: Open) -> None:
    async with opened(lambda body: call("true")) as agent:
        result = (await agent.turn("go", "--config", "agent.step_limit=4")).result
    assert (result["status"], result["exit_code"], result["steps"]) == ("limits_exceeded", 4, 4)


async def test_a_model_that_fails_ends_the_turn_which_can_be_repeated(opened: Open) -> None:
    async with opened(answers(*[Refusal(500)] * 3, then=submits)) as agent:
        failed = (await agent.turn("go")).result
        asked = len(agent.stub.requests)
        done = await agent.turn("go")
    assert (failed["status"], failed["http_status"], asked) == ("model_error", 500, 3)  # one attempt of ours is three requests of the client's
    assert done.result["status"] == "submitted"


@pytest.mark.parametrize(
    "content",
    [b"", b'{"format": 1, "mess', b"[]", b'{"format": 99}', b'{"format": 1}', b"\xff\xfe"],
    ids=["empty", "half", "a list", "newer", "without members", "no text"],
)
async def test_a_damaged_session_is_refused_and_not_begun_anew(opened: Open, content: bytes) -> None:
    async with opened(submits) as agent:
        kept = agent.home / STATE / "main.json"
        kept.parent.mkdir()
        kept.write_bytes(content)
        result = (await agent.turn("go")).result
        assert kept.read_bytes() == content
    assert (result["status"], result["exit_code"]) == ("no_session", 2)


async def test_a_session_that_is_not_there_cannot_be_resumed(opened: Open) -> None:
    async with opened(submits) as agent:
        result = (await agent.turn("go", "--resume")).result
    assert result["status"] == "no_session"
    assert "no saved session" in result["error"]
