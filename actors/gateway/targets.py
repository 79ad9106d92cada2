"""What goes to a provider of a request's address and headers."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from actors.gateway.dialects import Route
from actors.gateway.interfaces import Headers, Operation
from stamina.config.model import ModelConfig
from stamina.protocols import Protocol

MEANINGFUL: Final = frozenset({"content-type", "accept", "anthropic-version", "anthropic-beta", "openai-beta", "user-agent"})
"""Headers that are passed on. Credentials never are: those of an agent are the gateway's own tokens."""

_PATHS: Final = {
    (Protocol.CHAT, Operation.GENERATE): "/v1/chat/completions",
    (Protocol.RESPONSES, Operation.GENERATE): "/v1/responses",
    (Protocol.MESSAGES, Operation.GENERATE): "/v1/messages",
    (Protocol.MESSAGES, Operation.COUNT_TOKENS): "/v1/messages/count_tokens",
}


def target(route: Route, given: str, model: ModelConfig) -> str:
    """The address in the provider's terms: the usual one, with what the agent asked in the query, but no key."""
    query = urlencode([(name, value) for name, value in parse_qsl(given.partition("?")[2], keep_blank_values=True) if name != "key"])
    return _path(route, model) + (f"?{query}" if query else "")


def _path(route: Route, model: ModelConfig) -> str:
    assert route.operation is not None, "lists of models have no address upstream"
    if route.protocol is not Protocol.GEMINI:
        return _PATHS[route.protocol, route.operation]
    verb = "countTokens" if route.operation is Operation.COUNT_TOKENS else "streamGenerateContent" if route.stream else "generateContent"
    return f"/v1beta/models/{quote(model.id, safe='/:@')}:{verb}"


def meaningful(headers: Headers) -> Headers:
    """The headers that are passed on, and a content type where there is none."""
    kept = tuple(pair for pair in headers if pair[0] in MEANINGFUL)
    return kept if any(name == "content-type" for name, _ in kept) else (*kept, ("content-type", "application/json"))


def token_of(given: str, headers: Headers) -> str | None:
    """The token of a request, in any of the places where clients put a key."""
    named = dict(headers)
    scheme, _, bearer = named.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and bearer.strip():
        return bearer.strip()
    query = dict(parse_qsl(given.partition("?")[2]))
    return named.get("x-api-key") or named.get("x-goog-api-key") or named.get("api-key") or query.get("key")
