"""The reference agent as a process: what it says, what it leaves behind, and that being cut off does no harm."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.harnesses.agent_lab import FEEDBACK, NOTHING, OPENING, Agent, Client, request

INCREMENT = 'Add to action "rest" of entity "Dog" (POST /dog/{id}/rest), after its other effects, the effect `increment this.age by 1`'


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent.at(tmp_path)


def events(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


def effects_of_rest(agent: Agent) -> int:
    entities = json.loads(agent.files()["api.json"])["entities"]
    dog = next(entity for entity in entities if entity["name"] == "Dog")
    return len(next(action for action in dog["actions"] if action["name"] == "rest")["effects"])


def test_writes_a_server_that_its_script_starts(agent: Agent) -> None:
    """The opening prompt leads to files from which `bash run_server.sh PORT` makes a server."""
    done = agent.call(OPENING)
    assert done.returncode == 0, done.stderr
    assert [event["type"] for event in events(done.stdout)] == ["session", "message", "message", "done"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(["bash", "run_server.sh", str(port)], cwd=agent.workspace)
    try:
        client = Client(port)
        while True:
            try:
                assert client("POST", "/reset") == (200, {})
                break
            except ConnectionRefusedError:
                assert server.poll() is None
        assert client.dog()["nickname"] == 'say "hi"'
    finally:
        server.kill()
        server.wait()


def test_a_repeated_request_is_applied_once(agent: Agent) -> None:
    """A call cut off by SIGKILL half-way through writing is repeated, and then once more: the change is there once."""
    agent.call(OPENING)
    before = agent.files()
    killed = agent.call(request(INCREMENT), failure="kill")
    assert killed.returncode == -signal.SIGKILL
    assert "done" not in killed.stdout
    assert agent.files()["api.json"] == before["api.json"]
    for _ in range(2):
        assert agent.call(request(INCREMENT)).returncode == 0
        assert effects_of_rest(agent) == 1


def test_the_same_request_counts_again_after_another_prompt(agent: Agent) -> None:
    """Equal texts that do not follow each other are two requests."""
    for prompt in (OPENING, request(INCREMENT), NOTHING, request(INCREMENT)):
        assert agent.call(prompt).returncode == 0
    assert effects_of_rest(agent) == 2


def test_feedback_brings_the_server_back(agent: Agent) -> None:
    """After a report the agent writes its whole server again, and knows nothing new."""
    session = events(agent.call(OPENING).stdout)[0]["session"]
    before = agent.files()
    (agent.workspace / "server.py").write_text("broken")
    told = agent.call(FEEDBACK, "--session", str(session))
    assert told.returncode == 0
    assert "3 of 24 tests failed." in told.stdout
    assert agent.files() == before


def test_a_repeated_opening_starts_over(agent: Agent) -> None:
    """The opening prompt is answered from the specification, whatever an earlier call left."""
    for _ in range(2):
        assert agent.call(OPENING).returncode == 0


@pytest.mark.parametrize(
    ("prompt", "place"),
    [
        (request(INCREMENT.replace("increment this.age", "inflate this.age")), "change request 1:3: expected 'set '"),
        (request('Paint entity "Dog" green'), "change request 1:3: expected a change"),
        (request('Delete field "wings" of entity "Dog"'), 'there is no field "wings" of entity "Dog"'),
        ("How are you?", "prompt:1: expected a change request"),
    ],
)
def test_text_that_cannot_be_read_is_named(agent: Agent, prompt: str, place: str) -> None:
    """The agent stops with exit code 1, names the line, and remembers nothing of it."""
    agent.call(OPENING)
    agent.call(NOTHING)
    remembered = (agent.home / ".reference-agent/session.json").read_text()
    failed = agent.call(prompt)
    assert failed.returncode == 1
    assert place.replace("request 1", "request 2") in failed.stderr
    assert "Traceback" not in failed.stderr
    assert (agent.home / ".reference-agent/session.json").read_text() == remembered


def test_a_session_must_be_there(agent: Agent) -> None:
    """Without a session, with another one, or with a damaged one, a change request is refused with a reason."""
    assert "there is no session yet" in agent.call(NOTHING).stderr
    agent.call(OPENING)
    assert "there is no session abc, only" in agent.call(NOTHING, "--session", "abc").stderr
    (agent.home / ".reference-agent/session.json").write_text("{")
    damaged = agent.call(NOTHING)
    assert (damaged.returncode, "is damaged" in damaged.stderr) == (1, True)


def test_a_missing_specification_is_no_traceback(agent: Agent) -> None:
    """What the workspace lacks is said."""
    os.unlink(agent.workspace / "initial_specification.md")
    failed = agent.call(OPENING)
    assert failed.returncode == 1
    assert "initial_specification.md" in failed.stderr
    assert "Traceback" not in failed.stderr
