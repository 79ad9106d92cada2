"""Bedrock's surfaces: what is sent, signed, and how Amazon's framing is undone."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import struct
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
import trio
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from actors.gateway.bedrock import BedrockUpstream
from actors.gateway.http_client import HttpClient
from actors.gateway.interfaces import Caller, CredentialsFailed, Operation, UpstreamFailed, UpstreamRequest
from actors.gateway.redact import SHOWN, Redactor
from actors.gateway.requests import HttpRequest
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
    client, out = HttpClient({}), b""
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


def judged(sent: HttpRequest, host: str, keys: Credentials, service: str = "bedrock") -> None:
    """Amazon's own signer, given what came over the wire, comes to the signature that came with it."""
    named = dict(sent.headers)
    scheme, credential, signed, signature = re.fullmatch(r"(\S+) Credential=(\S+), SignedHeaders=(\S+), Signature=(\S+)", named["authorization"]).groups()  # type: ignore[union-attr]
    received = AWSRequest(sent.method, f"http://{host}{sent.target}", {name: named[name] for name in signed.split(";") if name != "host"}, sent.body)
    received.context["timestamp"] = named["x-amz-date"]
    judge = SigV4Auth(keys, service, "eu-west-3")
    assert (scheme, credential) == ("AWS4-HMAC-SHA256", judge.scope(received))
    assert {"host", "x-amz-date"} <= set(signed.split(";"))
    assert ("x-amz-security-token" in signed.split(";")) == (keys.token is not None)
    assert signature == judge.signature(judge.string_to_sign(received, judge.canonical_request(received)), received)


@pytest.mark.parametrize("token", [None, "a-session-token-planted"])
@pytest.mark.parametrize(
    ("protocol", "model", "operation", "stream"),
    [
        (Protocol.MESSAGES, CLAUDE, Operation.GENERATE, True),
        (Protocol.MESSAGES, "arn:aws:bedrock:eu-west-3:123456789012:inference-profile/eu.anthropic.claude-x-v1:0", Operation.GENERATE, False),
        (Protocol.MESSAGES, CLAUDE, Operation.COUNT_TOKENS, False),
        (Protocol.CHAT, "zai.glm-5", Operation.GENERATE, False),
    ],
)
async def test_amazons_own_signer_agrees(
    protocol: Protocol, model: str, operation: Operation, stream: bool, token: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every surface, with lasting and with passing keys."""
    keys = Credentials("AKIAPLANTED", "planted-secret-key", token)
    given = {"AWS_ACCESS_KEY_ID": keys.access_key, "AWS_SECRET_ACCESS_KEY": keys.secret_key, "AWS_DEFAULT_REGION": "eu-west-3"}
    for name, value in {**given, **({"AWS_SESSION_TOKEN": token} if token else {})}.items():
        monkeypatch.setenv(name, value)
    async with bench(lambda asked, n: whole({"inputTokens": 1} if operation is Operation.COUNT_TOKENS else {})) as gate:
        with contextlib.suppress(UpstreamFailed):  # the stream is none
            await ask(request(gate, protocol, model, operation, stream=stream), {})
    [sent] = gate.stub.asked
    judged(sent, f"127.0.0.1:{gate.stub.port}", keys)


async def test_the_addresses_are_those_of_amazons_own_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Encoded as it encodes them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAPLANTED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret-key")
    answers = {"invoke": b"{}", "count-tokens": b'{"inputTokens": 1}'}
    async with bench(lambda asked, n: whole(next(body for end, body in answers.items() if asked.target.endswith(end)))) as gate:
        await ask(request(gate, Protocol.MESSAGES, CLAUDE), {})
        await ask(request(gate, Protocol.MESSAGES, CLAUDE, Operation.COUNT_TOKENS), {})

        def theirs() -> None:
            client = boto3.client("bedrock-runtime", region_name="eu-west-3", endpoint_url=f"http://127.0.0.1:{gate.stub.port}")
            client.invoke_model(modelId=CLAUDE, body=b"{}")
            client.count_tokens(modelId=CLAUDE, input={"invokeModel": {"body": b"{}"}})

        await trio.to_thread.run_sync(theirs)
    ours, other = gate.stub.asked[:2], gate.stub.asked[2:]
    assert [sent.target for sent in ours] == [sent.target for sent in other]
    assert json.loads(other[1].body)["input"].keys() == json.loads(ours[1].body)["input"].keys()


ISSUER = """\
import datetime, json, pathlib
count = pathlib.Path(COUNT)
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=SECONDS)
print(json.dumps({"Version": 1, "AccessKeyId": f"AKIA{number}", "SecretAccessKey": f"secret-of-{number}-planted", "SessionToken": f"token-{number}-planted",
                  "Expiration": until.isoformat()}))
"""


@pytest.mark.parametrize(("seconds", "used"), [(7200, ["AKIA1", "AKIA1"]), (60, ["AKIA2", "AKIA3"])])
async def test_keys_that_pass_are_refreshed_on_this_host(seconds: int, used: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the chain itself, when they are about to end (already the first of those that last a minute); and whoever writes learns them."""
    (tmp_path / "issuer.py").write_text(ISSUER.replace("COUNT", repr(str(tmp_path / "count"))).replace("SECONDS", str(seconds)))
    (tmp_path / "config").write_text(f"[default]\nregion = eu-west-3\ncredential_process = {sys.executable} -I {tmp_path / 'issuer.py'}\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    redactor = Redactor()
    async with bench(lambda asked, n: whole({})) as gate:
        asked = request(gate, Protocol.CHAT, "zai.glm-5")
        with contextlib.closing(HttpClient({})) as client:
            upstream = BedrockUpstream(asked.model, client, {}, redactor.learn)
            for _ in range(2):
                async with upstream.open(asked) as answer:
                    await answer.receive()
    numbers = [name.removeprefix("AKIA") for name in used]
    assert [dict(sent.headers)["authorization"].partition("Credential=")[2].partition("/")[0] for sent in gate.stub.asked] == used
    for sent, number in zip(gate.stub.asked, numbers, strict=True):
        judged(sent, f"127.0.0.1:{gate.stub.port}", Credentials(f"AKIA{number}", f"secret-of-{number}-planted", f"token-{number}-planted"))
        assert redactor.text(f"x secret-of-{number}-planted, token-{number}-planted") == f"x {SHOWN}, {SHOWN}"
