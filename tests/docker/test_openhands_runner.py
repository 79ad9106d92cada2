"""The runner with OpenHands' SDK as published, in its image, against a stub of a model: ``make test-harnesses``."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

import pytest

from actors.container import HOME
from tests.docker.chat_stub import Answer, Body, Model, Refusal, call, say
from tests.docker.harness_plays import each
from tests.docker.runner_lab import UNTIL_KILLED, Agent, Called, Runners, answers, text_of, valid

pytestmark = [pytest.mark.docker, pytest.mark.harnesses, each("openhands", together=False)]

SESSION: Final = "11111111-2222-4333-8444-555555555555"
STATE: Final = ".openhands/conversations"

Open: TypeAlias = Callable[[Model], AbstractAsyncContextManager[Agent]]


@pytest.fixture
def opened(harness: str, host: str, tmp_path: Path) -> Open:
    """The runner in a container of its own, with this model."""

    def begin(base_url: str) -> tuple[str, ...]:
        reach = ("--model", "openai/stub", "--base-url", base_url, "--window", "100000", "--compact-at", "80000")
        return ("openhands-runner", "--state", f"{HOME}/{STATE}", "--session", SESSION, *reach)

    @asynccontextmanager
    async def opened(model: Model) -> AsyncIterator[Agent]:
        async with Runners(host, harness, tmp_path).agent(model, begin, {"LLM_API_KEY": "sk-stub"}) as agent:
            yield agent

    return opened


def terminal(command: str) -> Body:
    """Its tool for the shell."""
    return call("", tool="terminal", arguments=json.dumps({"command": command, "security_risk": "LOW", "summary": "work"}))


def says(body: Body) -> Answer:
    """Ends every turn at once: what is no tool call is the last word."""
    return say("finished")


def obedient(body: Body) -> Answer:
    """Runs the command that a prompt names, then ends the turn."""
    last = body["messages"][-1]
    if last["role"] == "user" and "RUN " in (text := text_of(last["content"])):
        return terminal(text.split("RUN ")[1].splitlines()[0])
    return says(body)


def kinds(done: Called) -> list[str]:
    """Of the SDK's events."""
    return [each["kind"] for each in done.of("event")]


def asked(agent: Agent) -> list[str]:
    """What the last request has of the user."""
    return [text for role, text in agent.sent() if role == "user"]


async def test_a_turn_runs_commands_and_ends_with_its_last_word(opened: Open) -> None:
    async with opened(obedient) as agent:
        done = await agent.turn("RUN echo hello > greeting; echo told")
        assert (agent.workspace / "greeting").read_text() == "hello\n"
    assert done.events[0] == {"type": "session", "session": SESSION, "resumed": False, "version": "1.58.2"}
    assert kinds(done) == ["SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "MessageEvent"]
    assert (done.result["status"], done.rest) == ("finished", b"")
    (result,) = [text for role, text in agent.sent() if role == "tool"]
    assert result.startswith("told\n")


async def test_later_turns_know_all_earlier_ones_and_every_request_is_valid(opened: Open) -> None:
    async with opened(obedient) as agent:
        for number in range(3):
            done = await agent.turn(f"NONCE-{number}\nRUN echo {number} >> log", *["--resume"] * (number > 0))
            assert (done.result["status"], done.of("resume")) == ("finished", [])
        assert (agent.workspace / "log").read_text() == "0\n1\n2\n"
    assert [text.splitlines()[0] for text in asked(agent)] == ["NONCE-0", "NONCE-1", "NONCE-2"]
    for request in agent.stub.requests:
        valid(request["messages"])


@pytest.mark.parametrize("prompt", ["/compact", "-v --help", "{{ system }} {% raw %}", "x" * 300_000], ids=["slash", "dash", "template", "long"])
async def test_any_text_is_a_prompt(opened: Open, prompt: str) -> None:
    async with opened(says) as agent:
        assert (await agent.turn(prompt)).result["status"] == "finished"
    assert asked(agent) == [prompt]


async def test_a_prompt_that_is_no_utf8_is_no_failure(opened: Open) -> None:
    async with opened(says) as agent:
        assert (await agent.turn(b"caf\xe9")).result["status"] == "finished"
    assert asked(agent) == ["caf\ufffd"]


COUNTED: Final = f"echo >> ran; {UNTIL_KILLED}"


async def test_a_command_that_was_killed_is_not_run_again_and_that_is_on_record(opened: Open) -> None:
    """What the SDK had not written down is gone; the prompt is there once."""
    async with opened(answers(terminal("echo first"), terminal(COUNTED), then=says)) as agent:
        await agent.killed("/THE PROMPT", when=agent.workspace / "mark")
        done = await agent.turn("/THE PROMPT", "--resume", "--again")
        assert (agent.workspace / "ran").read_text() == "\n"
    assert done.events[1] == {"type": "resume", "answered": 0, "lost": 1, "prompt": "kept"}
    assert (done.result["status"], kinds(done)) == ("finished", ["MessageEvent"])
    valid(agent.stub.requests[-1]["messages"])
    assert asked(agent) == ["/THE PROMPT"]
    assert [text.splitlines()[0] for role, text in agent.sent() if role == "tool"] == ["first"]


async def test_a_pending_command_gets_a_result_that_says_so(opened: Open) -> None:
    """One that is in the conversation, without a result: the SDK would run it once more. Such a state is what it leaves when it had time to write it down."""
    async with opened(answers(terminal(COUNTED), then=says)) as agent:
        await agent.killed("THE PROMPT", when=agent.workspace / "mark")
        base = agent.home / STATE / SESSION.replace("-", "") / "base_state.json"
        *_, action = sorted((base.parent / "events").glob("event-*.json"))
        base.write_text(json.dumps({**json.loads(base.read_text()), "leaf_event_id": json.loads(action.read_text())["id"]}))
        done = await agent.turn("THE PROMPT", "--resume", "--again")
        assert (agent.workspace / "ran").read_text() == "\n"
    assert done.of("resume") == [{"type": "resume", "answered": 1, "lost": 0, "prompt": "kept"}]
    assert done.result["status"] == "finished"
    valid(agent.stub.requests[-1]["messages"])
    role, text = agent.sent()[-1]
    assert role == "tool"
    assert "it was interrupted before it ended; whether it took effect is not known" in text


async def test_a_turn_that_was_killed_while_its_model_thought_goes_on(opened: Open, tmp_path: Path) -> None:
    thinks, enough = tmp_path / "thinks", threading.Event()

    def model(body: Body) -> Answer:
        if not thinks.exists():
            thinks.touch()
            enough.wait()
        return says(body)

    async with opened(model) as agent:
        try:
            await agent.killed("THE PROMPT", when=thinks)
        finally:
            enough.set()
        done = await agent.turn("THE PROMPT", "--resume", "--again")
    assert (done.result["status"], done.of("resume")) == ("finished", [{"type": "resume", "answered": 0, "lost": 0, "prompt": "kept"}])
    assert asked(agent) == ["THE PROMPT"]


async def test_a_turn_whose_agent_kills_it_goes_on(opened: Open) -> None:
    """As ``pkill -9 python`` of a model that wants to end its server does."""
    async with opened(answers(terminal("pkill -9 -f openhands_runner"), then=says)) as agent:
        killed = await agent.turn("THE PROMPT")
        done = await agent.turn("THE PROMPT", "--resume", "--again")
    assert (killed.end.signal, killed.of("result"), killed.rest) == (9, [], b"")
    assert (done.result["status"], asked(agent)) == ("finished", ["THE PROMPT"])


async def test_another_prompt_after_a_failure_is_added(opened: Open) -> None:
    async with opened(answers(Refusal(401), then=says)) as agent:
        failed = await agent.turn("first")
        done = await agent.turn("second", "--resume", "--again")
    assert (failed.result["status"], failed.end.exit_code, kinds(failed)[-1]) == ("error", 4, "ConversationErrorEvent")
    assert "refused" in failed.result["error"]
    assert done.result["status"] == "finished"
    assert asked(agent) == ["first\nsecond"]


async def test_a_model_that_repeats_itself_is_stuck(opened: Open) -> None:
    """The next turn goes on."""
    stuck = True
    async with opened(lambda body: terminal("true") if stuck else says(body)) as agent:
        ended = await agent.turn("go")
        stuck = False
        done = await agent.turn("go on", "--resume")
    assert (ended.result["status"], ended.end.exit_code) == ("stuck", 3)
    assert (done.result["status"], asked(agent)) == ("finished", ["go", "go on"])


async def test_the_limit_of_steps_holds(opened: Open) -> None:
    numbers = itertools.count()
    async with opened(lambda body: terminal(f"echo {next(numbers)}")) as agent:
        done = await agent.turn("go", "--max-steps", "3")
    assert (done.result["status"], done.end.exit_code, len(agent.stub.requests)) == ("error", 4, 3)
    *_, last = done.of("event")
    assert last["event"]["code"] == "MaxIterationsReached"


async def test_a_call_that_cannot_be_run_is_told_to_the_model(opened: Open) -> None:
    unknown, broken = call("", tool="nothing", arguments="{}"), call("", tool="terminal", arguments="{broken")
    async with opened(answers(unknown, broken, then=says)) as agent:
        done = await agent.turn("go")
    assert done.result["status"] == "finished"
    assert kinds(done).count("AgentErrorEvent") == 2
    valid(agent.stub.requests[-1]["messages"])


SUMMARY: Final = "SUMMARY-OF-ALL"


async def test_a_long_conversation_is_summarised_and_goes_on(opened: Open) -> None:
    """Its condenser asks for the summary without tools."""
    compacted = 0
    async with opened(lambda body: obedient(body) if body.get("tools") else say(SUMMARY)) as agent:
        for number in range(6):
            done = await agent.turn(f"NONCE-{number} {'lorem ' * 1000}\nRUN seq 1 500", "--compact-at", "15000", *["--resume"] * (number > 0))
            assert done.result["status"] == "finished"
            compacted += kinds(done).count("Condensation")
    assert 1 <= compacted <= 4
    for request in agent.stub.requests:
        valid(request["messages"])
    assert any(SUMMARY in text for _, text in agent.sent())
    assert sum("NONCE-5" in text for text in asked(agent)) == 1


@pytest.mark.parametrize("left", [0.0, 0.5], ids=["empty", "half"])
@pytest.mark.parametrize("name", ["base_state.json", "events/event-*.json"], ids=["state", "event"])
async def test_a_damaged_session_is_refused_and_not_begun_anew(opened: Open, name: str, left: float) -> None:
    """Nothing would ever go on with it, so its harness is told to begin another."""
    async with opened(says) as agent:
        await agent.turn("first")
        *_, damaged = sorted((agent.home / STATE / SESSION.replace("-", "")).glob(name))
        content = damaged.read_bytes()
        damaged.write_bytes(content[: int(len(content) * left)])
        done = await agent.turn("second", "--resume")
    assert (done.result["status"], done.end.exit_code) == ("no_session", 2)
    told = "no saved session" if name == "base_state.json" and not left else "the saved session"
    assert f"{told} {SESSION}" in done.result["error"]


async def test_a_session_that_is_not_there_cannot_be_resumed(opened: Open) -> None:
    async with opened(says) as agent:
        result = (await agent.turn("go", "--resume")).result
    assert (result["status"], result["exit_code"]) == ("no_session", 2)
    assert "no saved session" in result["error"]
