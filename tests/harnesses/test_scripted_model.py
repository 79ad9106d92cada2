"""The scripted model, spoken to directly: it writes servers that pass, in every protocol, whatever becomes of the conversation, and fails as it is told to."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import pytest

from harnesses.reference_agent.mistakes import Mistake
from harnesses.scripted_model.coder import Place
from harnesses.scripted_model.commands import COMMAND_BYTES, NOTES
from harnesses.scripted_model.conversation import Tool
from harnesses.scripted_model.failing import OF_ANSWERS
from harnesses.scripted_model.model import Ending
from harnesses.scripted_model.shells import SHELLS, call, shell_of
from stamina.config.script import CodingMistake, FailureConfig, ModelFailure, ScriptConfig
from tests.harnesses.mini_cli import DIALECTS, Failed, execute
from tests.harnesses.scripted_lab import Lab, model_of

PROTOCOLS = sorted(DIALECTS)


def test_the_mistakes_are_those_of_the_mock_agent() -> None:
    """The sweep file's words are the agent's."""
    assert [kind.value for kind in CodingMistake] == [kind.value for kind in Mistake]


# ---------------------------------------------------------------- the coder


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_it_writes_a_server_and_keeps_it_in_step(tmp_path: Path, protocol: str, stream: bool) -> None:
    """Four turns in one session, and every suite passes; no command is long."""
    lab = Lab(tmp_path / "w", protocol, stream)
    for turn in range(4):
        assert "does what was asked for" in await lab.turn(turn)
    assert (await lab.judge(3)).ok
    assert all(len(command) < COMMAND_BYTES + 500 for command in lab.cli.commands)
    assert all(served.kept.whole and served.whole for served in lab.ledger)


async def test_it_survives_compaction_a_lost_session_and_another_process(tmp_path: Path) -> None:
    """What it knows is in the workspace."""
    lab = Lab(tmp_path / "w")
    await lab.turn(0)
    assert NOTES in await lab.cli.compact()
    await lab.turn(1)
    assert (await lab.judge(1)).ok
    lab.cli.history.clear()
    await lab.turn(2)
    assert (await lab.judge(2)).ok
    assert [served.kept.broken for served in lab.ledger if served.turn == 2][:1] == [True]
    other = Lab(tmp_path / "w")
    await other.turn(3)
    assert (await other.judge(3)).ok
    assert any("head -c" in command for command in other.cli.commands)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_it_survives_compaction_in_the_middle_of_a_turn(tmp_path: Path, protocol: str) -> None:
    """The summary carries the task, and the workspace shows what is done."""
    lab = Lab(tmp_path / "w", protocol)
    await lab.turn(0)
    prompt = lab.scenario.turn(1).prompt
    lab.place = Place(0, 1)
    lab.cli.history.append(lab.cli.dialect.user(prompt))
    for _ in range(2):
        heard = await lab.cli.ask()
        lab.cli.history += [*heard.kept, *lab.cli.dialect.results([(one, lab.cli.carry_out(one)) for one in heard.calls])]
    assert "The API changes." in await lab.cli.compact()
    await lab.cli.call("Go on.")
    assert (await lab.judge(1)).ok
    assert all(served.kept.whole for served in lab.ledger)


async def test_a_repeated_call_makes_the_same_of_the_workspace(tmp_path: Path) -> None:
    """Whether it was cut off early, late, or had ended."""
    lab = Lab(tmp_path / "w")
    await lab.turn(0)
    before = {path.name: path.read_bytes() for path in lab.workspace.iterdir() if path.is_file()}
    for repetition in range(1, 3):
        lab.place = Place(0, 1, 0, repetition)
        with pytest.raises(AssertionError, match="come to an end"):
            await lab.cli.call(lab.scenario.turn(1).prompt, most=repetition)
    await lab.turn(1)
    after = {path.name: path.read_bytes() for path in lab.workspace.iterdir() if path.is_file()}
    lab.place = Place(0, 1, 0, 9)
    await lab.cli.call(lab.scenario.turn(1).prompt)
    assert before != after == {path.name: path.read_bytes() for path in lab.workspace.iterdir() if path.is_file()}
    assert (await lab.judge(1)).ok


async def test_its_mistakes_show_and_feedback_repairs_them(tmp_path: Path) -> None:
    """Every first attempt fails; the second passes."""
    lab = Lab(tmp_path / "w", config=model_of(ScriptConfig(mistake_chance=1, fix_chance=1, mistakes=(CodingMistake.NULL_ACCEPTED,))))
    for turn in range(2):
        await lab.turn(turn)
        verdict = await lab.judge(turn)
        assert not verdict.ok
        await lab.feed_back(verdict, 1)
        assert (await lab.judge(turn)).ok


async def test_choices_can_be_repeated_and_differ_between_scenarios(tmp_path: Path) -> None:
    """The same seed makes the same mistakes."""
    script = ScriptConfig(mistake_chance=0.5)

    async def made(name: str, seed: int) -> list[str]:
        lab, found = Lab(tmp_path / name, config=model_of(script), seed=seed), []
        for turn in range(3):
            await lab.turn(turn)
            found.append((lab.workspace / "server.py").read_text() + (lab.workspace / "api.json").read_text())
        return found

    assert await made("a", 1) == await made("b", 1)


async def test_it_gives_up_when_the_shell_does_nothing(tmp_path: Path) -> None:
    """It does not ask for ever."""
    lab = Lab(tmp_path / "w")
    lab.cli.execute = lambda command, workspace: "Error: permission denied"
    assert "the shell does not do what it is told" in await lab.turn(0)
    assert lab.ledger[-1].trouble
    assert len(lab.ledger) < 15


async def test_a_cli_that_refuses_backticks_and_substitution_is_obeyed(tmp_path: Path) -> None:
    """As Gemini CLI does, whatever the quotes around them."""

    def strict(command: str, workspace: Path) -> str:
        return "Blocked: command substitution detected" if any(mark in command for mark in ("`", "$(", "<(", ">(")) else execute(command, workspace)

    lab = Lab(tmp_path / "w")
    lab.cli.execute = strict
    for turn in range(2):
        await lab.turn(turn)
    assert (await lab.judge(1)).ok


async def test_it_quits_when_the_script_says_so(tmp_path: Path) -> None:
    """And says so."""
    lab = Lab(tmp_path / "w", config=model_of(ScriptConfig(quit_turn=1)))
    await lab.turn(0)
    assert "does nothing any more" in await lab.turn(1)


# ---------------------------------------------------------------- side requests


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_it_answers_side_requests(tmp_path: Path, protocol: str) -> None:
    """Titles, summaries, questions; none disturbs the work."""
    lab = Lab(tmp_path / "w", protocol)
    prompt = lab.scenario.turn(0).prompt

    async def aside(text: str) -> str:
        return (await lab.cli.ask(tools=False, history=[lab.cli.dialect.user(text)])).text

    assert await aside(f"Generate a title for this conversation:\n\n{prompt}") == "REST server and its changes"
    assert "Yes" in await aside("Is this a new topic?")
    await lab.turn(0)
    assert "<state_snapshot>" in await aside("Summarize the conversation. Answer with a <state_snapshot>.")
    assert [served.purpose for served in lab.ledger if served.purpose != "work"] == ["title", "other", "summary"]
    assert (await lab.judge(0)).ok


async def test_a_summary_may_be_asked_for_with_the_tools_in_hand(tmp_path: Path) -> None:
    """As Claude Code does."""
    lab = Lab(tmp_path / "w", "messages")
    await lab.turn(0)
    wanted = "Your task is to create a detailed summary of the conversation so far. Wrap it in <summary> tags."
    heard = await lab.cli.ask(history=[*lab.cli.history, lab.cli.dialect.user(wanted)])
    assert not heard.calls
    assert heard.text.startswith("<summary>")


def test_an_answer_follows_the_schema_that_is_asked_for(tmp_path: Path) -> None:
    """In each protocol's words."""
    schema = {"type": "object", "properties": {"title": {"type": "string"}, "isNew": {"type": "boolean"}}, "required": ["title", "isNew"]}
    ways: dict[str, dict[str, Any]] = {
        "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}},
        "responses": {"text": {"format": {"type": "json_schema", "name": "x", "schema": schema}}},
        "messages": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        "gemini": {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}},
    }
    for protocol, way in ways.items():
        lab = Lab(tmp_path / protocol, protocol)
        body = lab.cli.dialect.body([lab.cli.dialect.user("Generate a title.")], stream=False, tools=False) | way
        heard = lab.cli.dialect.heard(lab.hand_on(lab.respond(body))[1], stream=False)
        assert json.loads(heard.text) == {"title": "REST server and its changes", "isNew": False}


# ---------------------------------------------------------------- usage


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_usage_follows_the_text(tmp_path: Path, protocol: str) -> None:
    """Each request takes in what the one before did, and that part is cached; counting beforehand gives the same number."""
    lab = Lab(tmp_path / "w", protocol)
    await lab.turn(0)
    counts = [served.count for served in lab.ledger if served.count]
    for before, after in pairwise(counts):
        assert before.input * 0.9 < after.cached <= before.input < after.input
    body = lab.cli.dialect.body(lab.cli.history, stream=False)
    (counted,) = lab.respond(body, counts=True).pieces
    used = lab.respond(body, number=2).served.count
    assert used is not None
    assert next(iter(json.loads(counted).values())) == used.input > counts[-1].input


async def test_a_request_beyond_the_window_is_too_long(tmp_path: Path) -> None:
    """As real models say."""
    lab = Lab(tmp_path / "w", "messages", config=model_of(context_window=3000))
    with pytest.raises(Failed, match=r"prompt is too long: \d+ tokens > 3000 maximum"):
        await lab.turn(0)


# ---------------------------------------------------------------- failures


def failing(kind: ModelFailure, **members: Any) -> Any:
    return model_of(ScriptConfig(failures=(FailureConfig(kind, **members),)))


@pytest.mark.parametrize(
    ("kind", "protocol"),
    [
        (kind, protocol)
        for kind in ModelFailure
        for protocol in (PROTOCOLS if kind in OF_ANSWERS else PROTOCOLS[:1])  # errors are no matter of the protocol, but for their words
        if kind not in (ModelFailure.KILL, ModelFailure.FULL)
    ],
)
async def test_every_failure_strikes_as_often_as_it_is_told_and_a_patient_cli_gets_over_it(tmp_path: Path, protocol: str, kind: ModelFailure) -> None:
    """Three requests in a row, from the second one of turn 1 on."""
    lab = Lab(tmp_path / "w", protocol, kind.value < "o", failing(kind, turn=1, request=1, times=3, command_seconds=0))
    lab.cli.patience = 3
    for turn in range(3):
        said = await lab.turn(turn)
        if kind is ModelFailure.EMPTY and turn == 1:
            assert said == ""
            lab.place = attrs.evolve(lab.place, call=1)
            while not said:
                said = await lab.cli.call("Go on: " + lab.scenario.turn(1).prompt)
    assert (await lab.judge(2)).ok
    struck = [served for served in lab.ledger if served.failure]
    assert {served.failure for served in struck} == {kind}
    assert len(struck) == 3
    assert all(served.turn == 1 for served in struck)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_kill_is_a_command_and_full_is_only_said(tmp_path: Path, protocol: str) -> None:
    """The small CLI here would end the tests with the one, and has nothing to make shorter for the other."""
    requests: list[dict[str, Any]] = []
    lab = Lab(tmp_path / "w", protocol)
    send = lab.send

    async def keep(body: dict[str, Any], stream: bool) -> tuple[int, bytes]:
        requests.append(body)
        return await send(body, stream)

    lab.cli.send = keep
    await lab.turn(0)
    killing = Lab(tmp_path / "v", protocol, config=failing(ModelFailure.KILL)).respond(requests[0])
    assert b"kill -9 $PPID" in b"".join(killing.pieces)
    full = Lab(tmp_path / "u", protocol, config=failing(ModelFailure.FULL)).respond(requests[0]).served.count
    assert full is not None
    assert full.input == 0.96 * 200_000


@pytest.mark.parametrize(
    ("kind", "protocol", "status", "words"),
    [
        (ModelFailure.SERVER_ERROR, "chat", 500, "server_error"),
        (ModelFailure.OVERLOADED, "messages", 529, "overloaded_error"),
        (ModelFailure.OVERLOADED, "gemini", 503, "UNAVAILABLE"),
        (ModelFailure.TOO_MANY, "gemini", 429, "INTERNAL|RESOURCE_EXHAUSTED"),
        (ModelFailure.UNAUTHORIZED, "messages", 401, "authentication_error"),
        (ModelFailure.CONTEXT_LENGTH, "chat", 400, "context_length_exceeded"),
        (ModelFailure.CONTEXT_LENGTH, "gemini", 400, "exceeds the maximum number of tokens"),
    ],
)
async def test_errors_have_the_providers_shape(tmp_path: Path, kind: ModelFailure, protocol: str, status: int, words: str) -> None:
    """Status and words are those that CLIs look for."""
    lab = Lab(tmp_path / "w", protocol, config=failing(kind))
    with pytest.raises(Failed, match=f"{status}: .*(?:{words})"):
        await lab.turn(0)


async def test_an_outage_is_a_matter_of_time(tmp_path: Path) -> None:
    """From the model's first request on."""
    lab = Lab(tmp_path / "w", config=failing(ModelFailure.SERVER_ERROR, after_seconds=10, for_seconds=5))
    body = lab.cli.dialect.body([lab.cli.dialect.user("x")], stream=False)
    statuses = [lab.respond(body, number=at, now=100.0 + at).status for at in range(20)]
    assert [at for at, status in enumerate(statuses) if status == 500] == [10, 11, 12, 13, 14]


async def test_failures_by_chance_can_be_repeated(tmp_path: Path) -> None:
    """About as many as the chance says, the same ones each time."""

    def struck(name: str, seed: int) -> list[int]:
        script = ScriptConfig(seed=seed, failures=(FailureConfig(ModelFailure.SERVER_ERROR, chance=0.3),))
        lab = Lab(tmp_path / name, config=model_of(script))
        body = lab.cli.dialect.body([lab.cli.dialect.user("x")], stream=False)
        return [at for at in range(200) if lab.respond(body, number=at).status == 500]

    assert 40 < len(struck("a", 0)) < 80
    assert struck("b", 0) == struck("c", 0) != struck("d", 1)


def test_a_cut_answer_has_no_end(tmp_path: Path) -> None:
    """Half of its events, or half of its body."""
    for protocol in PROTOCOLS:
        lab = Lab(tmp_path / protocol, protocol, config=failing(ModelFailure.CUT))
        body = lab.cli.dialect.body([lab.cli.dialect.user(lab.scenario.turn(0).prompt)], stream=True)
        said = lab.respond(body, stream=True)
        assert said.ending is Ending.CUT
        assert b'finish_reason":"' not in b"".join(said.pieces)
        assert b'stop_reason":"tool' not in b"".join(said.pieces)


# ---------------------------------------------------------------- shells


@pytest.mark.parametrize(
    ("name", "properties", "required", "expected"),
    [
        ("bash", {"command": {"type": "string"}, "timeout": {"type": "integer"}}, ["command"], {"command": "ls"}),
        ("Bash", {"command": {"type": "string"}, "description": {"type": "string"}}, ["command"], {"command": "ls", "description": "Work on the server"}),
        ("run_shell_command", {"command": {"type": "STRING"}, "is_background": {"type": "BOOLEAN"}}, ["command"], {"command": "ls", "is_background": False}),
        ("exec_command", {"cmd": {"type": "string"}, "yield_time_ms": {"type": "number"}}, ["cmd"], {"cmd": "ls", "yield_time_ms": 30_000}),
        ("shell", {"command": {"type": "array", "items": {"type": "string"}}}, ["command"], {"command": ["bash", "-lc", "ls"]}),
        ("run_commands", {"commands": {"type": "array", "items": {"type": "string"}}}, ["commands"], {"commands": ["ls"]}),
        (
            "terminal",
            {"command": {"type": "string"}, "security_risk": {"enum": ["UNKNOWN", "LOW"]}, "summary": {"type": "string"}},
            ["command", "security_risk"],
            {"command": "{\nls\n}", "security_risk": "LOW", "summary": "Work on the server"},
        ),
        ("execute", {"script": {"type": "string"}, "mode": {"enum": ["fast"]}}, ["script", "mode"], {"script": "ls", "mode": "fast"}),
    ],
)
def test_each_clis_shell_is_found_and_called(name: str, properties: dict[str, Any], required: list[str], expected: dict[str, Any]) -> None:
    """By name and schema, among other tools."""
    tools = [Tool("read", {"properties": {"path": {"type": "string"}}, "required": ["path"]}), Tool(name, {"properties": properties, "required": required})]
    found = shell_of(tools)
    assert found is not None
    made = call(found, "ls")
    assert (made.name, json.loads(made.arguments)) == (name, expected)


def test_without_a_shell_there_is_none() -> None:
    """A tool of a shell's name that takes no command is none."""
    assert shell_of([Tool("bash", {"properties": {"path": {}}}), Tool("edit", {})]) is None
    assert "bash" in SHELLS
