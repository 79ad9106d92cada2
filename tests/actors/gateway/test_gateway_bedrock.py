"""Bedrock's surfaces: what is sent, signed, and how Amazon's framing is undone."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import struct
from typing import Any

import pytest

from actors.gateway.bedrock import BedrockUpstream
from actors.gateway.http_client import HttpClient
from actors.gateway.interfaces import Caller, CredentialsFailed, Operation, UpstreamFailed, UpstreamRequest
from stamina.config.model import ModelConfig, Provider
from stamina.protocols import Protocol, compatible
from tests.actors.gateway.stub import ENVIRONMENT, Bench, bench, whole

CLAUDE = "us.anthropic.claude-x-v1:0"


def frame(headers: dict[str, str], body: bytes) -> bytes:
    """One message of Amazon's event stream."""
    packed = b"".join(bytes([len(name)]) + name.encode() + b"\7" + struct.pack(">H", len(value)) + value.encode() for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(packed) + len(body), len(packed))
    message = prelude + struct.pack(">I", binascii.crc32(prelude)) + packed + body
    return message + struct.pack(">I", binascii.crc32(message))


def chunk(event: dict[str, Any]) -> bytes:
    data = base64.b64encode(json.dumps(event).encode()).decode()
    return frame({":message-type": "event", ":event-type": "chunk"}, json.dumps({"bytes": data}).encode())


def request(gate: Bench, protocol: Protocol, model_id: str, operation: Operation = Operation.GENERATE, *, stream: bool = False) -> UpstreamRequest:
    model = ModelConfig("m", Provider.BEDROCK, model_id, 9000, f"http://127.0.0.1:{gate.stub.port}")
    body = json.dumps({"model": model_id, "stream": stream, "max_tokens": 5, "messages": []}).encode()
    path = "/v1/messages" if protocol is Protocol.MESSAGES else "/v1/chat/completions"
    headers = (("content-type", "application/json"), ("anthropic-version", "2023-06-01"), ("anthropic-beta", "a-1, b-2"))
    return UpstreamRequest(Caller("c", 1, 0), 0, model, protocol, operation, path, headers, body, stream)


async def ask(asked: UpstreamRequest, environment: dict[str, str]) -> bytes:
    client, out = HttpClient(), b""
    with contextlib.closing(client):
        async with BedrockUpstream(asked.model, client, environment).open(asked) as answer:
            while piece := await answer.receive():
                out += piece
    return out


KEY = {"AWS_BEARER_TOKEN_BEDROCK": "bedrock-api-key-planted"}


async def test_anthropics_models_are_invoked_and_their_events_unwrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Model and stream go into the address, versions and betas into the body; SigV4 covers it."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAPLANTED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret-key")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    framed = chunk({"type": "message_start"}) + chunk({"type": "message_stop"})
    async with bench(lambda asked, n: whole(framed, content_type="application/vnd.amazon.eventstream")) as gate:
        out = await ask(request(gate, Protocol.MESSAGES, CLAUDE, stream=True), dict(ENVIRONMENT))
    (sent,) = gate.stub.asked
    assert out == b'event: message_start\ndata: {"type": "message_start"}\n\nevent: message_stop\ndata: {"type": "message_stop"}\n\n'
    assert sent.target == "/model/us.anthropic.claude-x-v1%3A0/invoke-with-response-stream"
    assert json.loads(sent.body) == {"max_tokens": 5, "messages": [], "anthropic_version": "bedrock-2023-05-31", "anthropic_beta": ["a-1", "b-2"]}
    signature = sent.header("authorization")
    assert signature is not None
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKIAPLANTED/")
    assert "/eu-west-3/bedrock/aws4_request" in signature
    assert b"planted-secret-key" not in str(sent.headers).encode() + sent.body


async def test_an_exception_in_the_stream_is_a_failure() -> None:
    """Such as throttling in the middle."""
    broken = chunk({"type": "message_start"}) + frame({":message-type": "exception", ":exception-type": "throttlingException"}, b"{}")
    async with bench(lambda asked, n: whole(broken, content_type="application/vnd.amazon.eventstream")) as gate:
        with pytest.raises(UpstreamFailed, match="throttlingException"):
            await ask(request(gate, Protocol.MESSAGES, CLAUDE, stream=True), KEY)


async def test_tokens_are_counted_in_anthropics_words() -> None:
    """Bedrock has words of its own."""
    async with bench(lambda asked, n: whole({"inputTokens": 42})) as gate:
        out = await ask(request(gate, Protocol.MESSAGES, CLAUDE, Operation.COUNT_TOKENS), KEY)
    (sent,) = gate.stub.asked
    assert json.loads(out) == {"input_tokens": 42}
    assert sent.target.endswith("/count-tokens")
    inner = json.loads(base64.b64decode(json.loads(sent.body)["input"]["invokeModel"]["body"]))
    assert inner["anthropic_version"] == "bedrock-2023-05-31"


async def test_other_models_speak_openais_protocols() -> None:
    """With an API key where there is one."""
    async with bench(lambda asked, n: whole({"id": "x"})) as gate:
        assert await ask(request(gate, Protocol.CHAT, "zai.glm-5"), KEY) == b'{"id": "x"}'
    (sent,) = gate.stub.asked
    assert sent.target == "/openai/v1/chat/completions"
    assert sent.header("authorization") == "Bearer bedrock-api-key-planted"


async def test_without_credentials_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    async with bench(lambda asked, n: whole({})) as gate:
        with pytest.raises(CredentialsFailed, match="sign in again"):
            await ask(request(gate, Protocol.CHAT, "zai.glm-5"), {})
    assert gate.stub.asked == []


def test_pairs_that_cannot_be_are_told() -> None:
    """Before anything is started."""
    claude, glm = (ModelConfig("m", Provider.BEDROCK, name, 9000) for name in (CLAUDE, "zai.glm-5"))
    assert compatible(Protocol.MESSAGES, claude) is None
    assert compatible(Protocol.CHAT, glm) is None
    assert compatible(Protocol.CHAT, claude) == f"on Bedrock {CLAUDE} speaks messages only"
    assert "not messages" in (compatible(Protocol.MESSAGES, glm) or "")
    assert 'provider = "bedrock" speaks' in (compatible(Protocol.GEMINI, glm) or "")
