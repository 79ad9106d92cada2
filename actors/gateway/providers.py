"""The providers as upstreams: where each one is. Bytes pass as they are."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import attrs

from actors.gateway.credentials import AnthropicCredentials, Credentials, Environment, Learn, gemini_key, openai_key, untold
from actors.gateway.http_client import HttpClient, Outgoing, split_url
from actors.gateway.interfaces import Upstream, UpstreamRequest, UpstreamResponse
from actors.gateway.proxies import proxy_for
from stamina.config.model import ModelConfig, Provider

OPENAI_URL: Final = "https://api.openai.com/v1"
ANTHROPIC_URL: Final = "https://api.anthropic.com"
GEMINI_URL: Final = "https://generativelanguage.googleapis.com"

REFUSED: Final = frozenset({401, 403})
"""Statuses that say that the credentials are not taken."""


@attrs.frozen
class HttpUpstream:
    """A provider that speaks the agent's own protocol.

    Attributes:
        base: URL that paths are appended to; or who knows it, and may raise CredentialsFailed.
        strip: what is cut from the front of a path first: the base of OpenAI's clients has the version in it.
        version: a header to add where the agent sent none.
    """

    client: HttpClient
    base: str | Callable[[], Awaitable[str]]
    credentials: Credentials
    strip: str = ""
    version: tuple[str, str] | None = None

    @asynccontextmanager
    async def open(self, request: UpstreamRequest) -> AsyncIterator[UpstreamResponse]:
        """See :class:`actors.gateway.interfaces.Upstream`."""
        base = self.base if isinstance(self.base, str) else await self.base()
        origin, prefix = split_url(base)
        prefix = prefix.removesuffix("/v1") if self.version is not None else prefix
        headers = request.headers
        if self.version is not None and all(name != self.version[0] for name, _ in headers):
            headers = (*headers, self.version)
        outgoing = Outgoing("POST", prefix + request.path.removeprefix(self.strip), await self.credentials.added(headers), request.body)
        async with self.client.open(origin, outgoing) as answer:
            if answer.status in REFUSED:
                self.credentials.forget()
            yield answer


def provider(model: ModelConfig, client: HttpClient, environment: Environment = os.environ, learn: Learn = untold) -> Upstream:
    """The upstream of a model; ``learn`` is told credentials that are found elsewhere than in the environment.

    A scripted one has none here: it is not reached over HTTP.
    """
    match model.provider:
        case Provider.OPENAI:
            return HttpUpstream(client, _base(model, OPENAI_URL), openai_key(model, environment), strip="/v1")
        case Provider.GEMINI:
            return HttpUpstream(client, _base(model, GEMINI_URL), gemini_key(model, environment))
        case Provider.ANTHROPIC:
            credentials = AnthropicCredentials(model, environment, learn)
            base = model.base_url or environment.get("ANTHROPIC_BASE_URL") or credentials.base_url
            return HttpUpstream(client, base, credentials, version=("anthropic-version", "2023-06-01"))
        case Provider.BEDROCK:
            from actors.gateway.bedrock import BedrockUpstream  # boto3 is slow to start, and most sweeps do without

            return BedrockUpstream(model, client, environment, learn)
        case Provider.SCRIPTED:
            raise ValueError(f"model {model.name} is scripted")


def check_proxies(models: Iterable[ModelConfig], environment: Environment) -> None:
    """Raises InputError when a provider could only be reached through a proxy of a kind that is not spoken."""
    for model in models:
        usual = _USUAL.get(model.provider)
        if usual is not None:
            origin, _ = split_url(_base(model, usual))
            proxy_for(origin.tls, origin.host, origin.port, environment)


_USUAL: Final[Mapping[Provider, str]] = {
    Provider.OPENAI: OPENAI_URL,
    Provider.ANTHROPIC: ANTHROPIC_URL,
    Provider.GEMINI: GEMINI_URL,
    Provider.BEDROCK: "https://bedrock-runtime.amazonaws.com",
}


def _base(model: ModelConfig, usual: str) -> str:
    return (model.base_url or usual).rstrip("/")
