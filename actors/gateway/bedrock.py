"""Amazon Bedrock as an upstream: boto3's credential chain in worker threads, SigV4 by botocore, keys refreshed on this host.

Two of its surfaces are used. Anthropic's models are invoked in their own protocol, whose events come in Amazon's framing and are unwrapped here; all other
models speak OpenAI's protocols. Its Converse surface is not used: no agent speaks it, and nothing is translated.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote

import boto3
import trio
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.eventstream import EventStreamBuffer, ParserError
from botocore.exceptions import BotoCoreError

from actors.gateway.bodies import Document
from actors.gateway.credentials import Environment, Learn, untold
from actors.gateway.events import event
from actors.gateway.http_client import HttpAnswer, HttpClient, Outgoing, split_url
from actors.gateway.interfaces import CredentialsFailed, Headers, Operation, UpstreamFailed, UpstreamRequest, UpstreamResponse
from stamina.config.model import ModelConfig
from stamina.protocols import Protocol

BEARER: Final = "AWS_BEARER_TOKEN_BEDROCK"
ANTHROPIC_VERSION: Final = "bedrock-2023-05-31"
MANTLE: Final = "bedrock-mantle"


class BedrockUpstream:
    """See the module. A model's ``base_url`` replaces the regional address; ``api_key_env`` names a variable with a Bedrock API key, used instead of SigV4."""

    def __init__(self, model: ModelConfig, client: HttpClient, environment: Environment, learn: Learn = untold) -> None:
        self._model = model
        self._client = client
        self._learn = learn
        self._environment = environment
        self._session: boto3.Session | None = None

    @asynccontextmanager
    async def open(self, request: UpstreamRequest) -> AsyncIterator[UpstreamResponse]:
        """See :class:`actors.gateway.interfaces.Upstream`."""
        base = self._model.base_url if self._model.base_url is not None else await trio.to_thread.run_sync(self._regional)
        url, headers, body = _surface(request, base)
        signed = await trio.to_thread.run_sync(self._signed, url, headers, body)
        origin, target = split_url(url)
        async with self._client.open(origin, Outgoing("POST", target, signed, body)) as answer:
            if answer.status in (401, 403):
                self._session = None
            yield _unwrapped(request, answer)

    def _regional(self) -> str:
        region = self._known().region_name or self._environment.get("AWS_REGION")
        if not region:
            raise CredentialsFailed(f"model {self._model.name}: no region; set AWS_REGION, or a region in the profile, and resume the run")
        return f"https://bedrock-runtime.{region}.amazonaws.com"

    def _known(self) -> boto3.Session:
        if self._session is None:
            self._session = boto3.Session()
        return self._session

    def _signed(self, url: str, headers: Headers, body: bytes) -> Headers:
        key = self._environment.get(self._model.api_key_env or BEARER)
        if key:
            return (*headers, ("authorization", f"Bearer {key}"))
        try:
            found = self._known().get_credentials()
            frozen = found.get_frozen_credentials() if found is not None else None
        except BotoCoreError as error:
            raise CredentialsFailed(f"model {self._model.name}: AWS credentials cannot be had ({type(error).__name__}); {_REMEDY}") from error
        if frozen is None:
            raise CredentialsFailed(f"model {self._model.name}: there are no AWS credentials; {_REMEDY}")
        self._learn(part for part in (frozen.access_key, frozen.secret_key, frozen.token) if part)
        request = AWSRequest(method="POST", url=url, data=body, headers={name: value for name, value in headers if name in SIGNED})
        SigV4Auth(frozen, MANTLE if MANTLE in url else "bedrock", _region(url, self._known())).add_auth(request)
        rest = tuple(pair for pair in headers if pair[0] not in SIGNED)
        return (*rest, *((name.lower(), value) for name, value in request.headers.items()))


SIGNED: Final = frozenset({"content-type"})
_REMEDY: Final = "sign in again (such as with aws sso login); the run goes on by itself"


def _region(url: str, session: boto3.Session) -> str:
    parts = split_url(url)[0].host.split(".")
    regional = len(parts) > 3 and parts[0] in ("bedrock-runtime", MANTLE)
    return parts[1] if regional else session.region_name or "us-east-1"


def _surface(request: UpstreamRequest, base: str) -> tuple[str, Headers, bytes]:
    """Where a request goes, with which headers and body."""
    root = base.rstrip("/")
    if request.protocol is not Protocol.MESSAGES:
        return f"{root if root.endswith('/v1') else root + '/openai/v1'}{request.path.removeprefix('/v1')}", request.headers, request.body
    headers = tuple(pair for pair in request.headers if not pair[0].startswith("anthropic-"))
    model = f"{root}/model/{quote(request.model.id, safe='')}"
    body = _anthropic_body(request)
    if request.operation is Operation.COUNT_TOKENS:
        counted = {"input": {"invokeModel": {"body": base64.b64encode(body).decode()}}}
        return f"{model}/count-tokens", headers, json.dumps(counted).encode()
    return f"{model}/{'invoke-with-response-stream' if request.stream else 'invoke'}", headers, body


def _anthropic_body(request: UpstreamRequest) -> bytes:
    """Bedrock takes the model and the wish for a stream from the address, versions and betas from the body."""
    members = dict(Document.parse(request.body).members)
    members.pop("model", None)
    members.pop("stream", None)
    members["anthropic_version"] = ANTHROPIC_VERSION
    if request.operation is Operation.COUNT_TOKENS:
        members.setdefault("max_tokens", 1)
    betas = [beta.strip() for name, value in request.headers if name == "anthropic-beta" for beta in value.split(",") if beta.strip()]
    if betas:
        members["anthropic_beta"] = betas
    return json.dumps(members).encode()


def _unwrapped(request: UpstreamRequest, answer: HttpAnswer) -> UpstreamResponse:
    if request.protocol is not Protocol.MESSAGES or answer.status >= 400:
        return answer
    if request.operation is Operation.COUNT_TOKENS:
        return _Counted(answer)
    return _Unframed(answer) if request.stream else answer


class _Counted:
    """Bedrock's count of tokens, as Anthropic has it."""

    def __init__(self, answer: HttpAnswer) -> None:
        self._answer = answer
        self._told = False

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Headers:
        return (("content-type", "application/json"),)

    async def receive(self) -> bytes:
        body = b""
        while piece := await self._answer.receive():
            body += piece
        if self._told:
            return b""
        self._told = True
        try:
            return json.dumps({"input_tokens": json.loads(body)["inputTokens"]}).encode()
        except (ValueError, KeyError, TypeError) as error:
            raise UpstreamFailed("Bedrock's count of tokens cannot be read") from error


class _Unframed:
    """Anthropic's events out of Amazon's event stream."""

    def __init__(self, answer: HttpAnswer) -> None:
        self._answer = answer
        self._buffer = EventStreamBuffer()

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Headers:
        return (("content-type", "text/event-stream"),)

    async def receive(self) -> bytes:
        while data := await self._answer.receive():
            self._buffer.add_data(data)
            try:
                out = b"".join(_event(message.to_response_dict()) for message in self._buffer)
            except (ParserError, ValueError, KeyError) as error:
                raise UpstreamFailed("Bedrock's event stream cannot be read") from error
            if out:
                return out
        return b""


def _event(message: dict[str, Any]) -> bytes:
    headers = message["headers"]
    if headers.get(":message-type", "event") != "event":
        kind = headers.get(":exception-type") or headers.get(":error-code") or "error"
        raise UpstreamFailed(f"Bedrock ended the stream: {kind}")
    if headers.get(":event-type") != "chunk":
        return b""
    data = base64.b64decode(json.loads(message["body"])["bytes"])
    return event(data, json.loads(data).get("type"))
