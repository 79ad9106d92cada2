"""``stamina gateway --config``: every provider's protocol by hand, a line for each request, and plain words for what is wrong."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import httpx
import pytest

from stamina.cli.app import main
from tests.cli.model_lab import Asked, Reply, provider
from tests.cli.test_processes import line_from, running
from tests.waiting import SECONDS

CONFIG = """\
[sweep]
name = "by-hand"
seeds = 0

[[agent]]
harness = "reference"

[model.o]
provider = "openai"
id = "vendor/o"
context_window = 10000
base_url = "http://127.0.0.1:PORT/v1"
api_key_env = "HAND_KEY"

[model.a]
provider = "anthropic"
id = "claude"
context_window = 10000
base_url = "http://127.0.0.1:PORT"
api_key_env = "HAND_KEY"

[model.g]
provider = "gemini"
id = "gemini-x"
context_window = 10000
base_url = "http://127.0.0.1:PORT"
api_key_env = "HAND_KEY"

[model.b]
provider = "bedrock"
id = "us.anthropic.claude-x-v1:0"
context_window = 10000
base_url = "http://127.0.0.1:PORT"
api_key_env = "HAND_KEY"

[model.s]
provider = "scripted"
id = "scripted-1"
context_window = 100000
"""

ASKS = [
    ("o", "/v1/chat/completions", {"authorization": "Bearer TOKEN"}, {"model": "o", "messages": []}),
    ("o", "/v1/responses", {"authorization": "Bearer TOKEN"}, {"model": "vendor/o", "input": []}),
    ("a", "/v1/messages", {"x-api-key": "TOKEN"}, {"model": "a", "max_tokens": 5, "messages": []}),
    ("g", "/v1beta/models/g:generateContent", {"x-goog-api-key": "TOKEN"}, {"contents": []}),
    ("b", "/v1/messages", {"x-api-key": "TOKEN"}, {"model": "b", "max_tokens": 5, "messages": []}),
    ("s", "/v1/messages", {"x-api-key": "TOKEN"}, {"model": "s", "max_tokens": 50, "messages": [{"role": "user", "content": "hello"}]}),
]


def answer(asked: Asked) -> Reply:
    """The same for every protocol."""
    return Reply([json.dumps({"usage": {"prompt_tokens": 7, "completion_tokens": 3}}).encode()], kind="application/json")


def test_every_protocol_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a person would, with the addresses and tokens that it prints."""
    monkeypatch.setenv("HAND_KEY", "hand-key-0123456789")
    with provider(answer) as (port, asked):
        (tmp_path / "hand.toml").write_text(CONFIG.replace("PORT", str(port)))
        with running("gateway", "--config", "hand.toml", cwd=tmp_path) as process:
            url = line_from(process.stdout)
            tokens = {}
            for _ in range(5):
                name, _, rest = line_from(process.stdout).partition(": ")
                tokens[name] = rest.rpartition(" ")[2]
            for name, path, headers, body in ASKS:
                sent = {key: value.replace("TOKEN", tokens[name]) for key, value in headers.items()}
                response = httpx.post(url + path, json=body, headers=sent, timeout=SECONDS)
                assert response.status_code == 200, response.text
                line = line_from(process.stdout)
                assert line.startswith(f"{name} #"), line
                assert " answered 200 " in line
            stranger = httpx.post(url + "/v1/messages", json={"model": "a"}, headers={"x-api-key": tokens["o"][:-1]}, timeout=SECONDS)
            assert (stranger.status_code, stranger.json()["error"]["type"]) == (401, "authentication_error")
            assert line_from(process.stdout) == "POST /v1/messages refused 401: this token names no scenario that is being played"
            lost = httpx.post(url + "/v2/nothing?key=" + tokens["o"], headers={"x-api-key": tokens["o"]}, timeout=SECONDS)
            assert lost.status_code == 404
            assert line_from(process.stdout) == "POST /v2/nothing refused 404: the gateway has nothing at POST /v2/nothing"
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) == 130
    assert [request.path for request in asked] == [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1beta/models/gemini-x:generateContent",
        "/model/us.anthropic.claude-x-v1%3A0/invoke",
    ]
    assert all("hand-key-0123456789" in str(request.headers) for request in asked)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("", "[model.o] api_key_env: the variable HAND_KEY is not set"),
        ("nothing", "there is no such file"),
        ("[budget]\nsweep_usd = 1\n", "there is a [budget], but no price is known for [model.o]"),
    ],
)
def test_what_is_wrong_is_said(change: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, and nothing is served."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HAND_KEY", raising=False)
    assert "HAND_KEY" not in os.environ
    if change != "nothing":
        Path("hand.toml").write_text(change + CONFIG)
    assert main(["gateway", "--config", "hand.toml"]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
