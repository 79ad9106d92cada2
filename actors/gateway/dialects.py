"""What each protocol looks like from outside: its addresses, its errors, and how a stream of it ends when it must end early."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

import attrs

from actors.gateway.events import event
from actors.gateway.interfaces import Operation
from stamina.protocols import Protocol


@attrs.frozen
class Route:
    """What a request is, by its address alone.

    Attributes:
        protocol: whose errors it understands.
        operation: None for what the gateway answers itself: a list of models.
        model: where the address names it (Gemini).
        stream: where the address says so (Gemini).
    """

    protocol: Protocol
    operation: Operation | None
    model: str | None = None
    stream: bool | None = None


_VERSION: Final = re.compile(r"^/(?:v\d+(?:alpha|beta)?\d*)(?=/|$)")
_PLAIN: Final[Mapping[str, Route]] = {
    "/chat/completions": Route(Protocol.CHAT, Operation.GENERATE),
    "/responses": Route(Protocol.RESPONSES, Operation.GENERATE),
    "/messages": Route(Protocol.MESSAGES, Operation.GENERATE),
    "/messages/count_tokens": Route(Protocol.MESSAGES, Operation.COUNT_TOKENS),
}
_GEMINI: Final = {
    "generateContent": (Operation.GENERATE, False),
    "streamGenerateContent": (Operation.GENERATE, True),
    "countTokens": (Operation.COUNT_TOKENS, False),
}


def route(method: str, target: str, headers: Mapping[str, str]) -> Route | None:
    """What is asked for, None when it is nothing that the gateway knows. Works with and without the version in front."""
    path = unquote(target.partition("?")[0])
    bare = _VERSION.sub("", path).rstrip("/")
    if method == "GET" and (bare == "/models" or bare.startswith("/models/")):
        return Route(_listing_protocol(path, headers), None, bare.removeprefix("/models").removeprefix("/") or None)
    if method != "POST":
        return None
    if bare.startswith("/models/"):
        name, _, verb = bare.removeprefix("/models/").rpartition(":")  # a model's name may have colons of its own
        operation, stream = _GEMINI.get(verb, (None, False))
        return Route(Protocol.GEMINI, operation, name, stream) if operation and name else None
    return _PLAIN.get(bare)


def _listing_protocol(path: str, headers: Mapping[str, str]) -> Protocol:
    if path.startswith("/v1beta"):
        return Protocol.GEMINI
    return Protocol.MESSAGES if "anthropic-version" in headers else Protocol.CHAT


def guess(target: str) -> Protocol:
    """Whose errors a request for an unknown address probably understands."""
    if ":" in target or target.startswith("/v1beta"):
        return Protocol.GEMINI
    return Protocol.MESSAGES if "/messages" in target else Protocol.CHAT


def error_body(protocol: Protocol, status: int, message: str) -> bytes:
    """An error as this protocol's clients expect it."""
    return _json(_error(protocol, status, message))


def error_end(protocol: Protocol, status: int, message: str) -> bytes:
    """The end of a stream that cannot go on: an event that says so, in a form that clients do not take for an answer."""
    match protocol:
        case Protocol.CHAT:
            return event(_json(_error(protocol, status, message))) + event(b"[DONE]")
        case Protocol.RESPONSES:
            failure = {"code": "server_error", "message": message}
            answer = {"id": "resp_failed", "object": "response", "status": "failed", "error": failure, "output": []}
            return event(_json({"type": "response.failed", "response": answer}), "response.failed")
        case Protocol.MESSAGES:
            return event(_json(_error(protocol, status, message)), "error")
        case Protocol.GEMINI:
            return event(_json(_error(protocol, status, message)))


_OPENAI: Final = {400: "invalid_request_error", 401: "authentication_error", 402: "insufficient_quota", 404: "not_found_error", 429: "rate_limit_error"}
_ANTHROPIC: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_GOOGLE: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _error(protocol: Protocol, status: int, message: str) -> dict[str, Any]:
    server = status >= 500
    match protocol:
        case Protocol.CHAT | Protocol.RESPONSES:
            kind = _OPENAI.get(status, "server_error" if server else "invalid_request_error")
            return {"error": {"message": message, "type": kind, "param": None, "code": kind}}
        case Protocol.MESSAGES:
            return {"type": "error", "error": {"type": _ANTHROPIC.get(status, "api_error" if server else "invalid_request_error"), "message": message}}
        case Protocol.GEMINI:
            return {"error": {"code": status, "message": message, "status": _GOOGLE.get(status, "INTERNAL" if server else "INVALID_ARGUMENT")}}


def model_list(protocol: Protocol, name: str, context_window: int) -> bytes:
    """The list of models that a scenario has: one."""
    match protocol:
        case Protocol.GEMINI:
            return _json({"models": [_model(protocol, name, context_window)]})
        case Protocol.MESSAGES:
            return _json({"data": [_model(protocol, name, context_window)], "has_more": False, "first_id": name, "last_id": name})
        case _:
            return _json({"object": "list", "data": [_model(protocol, name, context_window)]})


def model_card(protocol: Protocol, name: str, context_window: int) -> bytes:
    """The description of that one model."""
    return _json(_model(protocol, name, context_window))


def _model(protocol: Protocol, name: str, context_window: int) -> dict[str, Any]:
    match protocol:
        case Protocol.GEMINI:
            verbs = ["generateContent", "streamGenerateContent", "countTokens"]
            return {"name": f"models/{name}", "displayName": name, "inputTokenLimit": context_window, "supportedGenerationMethods": verbs}
        case Protocol.MESSAGES:
            return {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
        case _:
            return {"id": name, "object": "model", "created": 0, "owned_by": "stamina", "context_length": context_window}


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
