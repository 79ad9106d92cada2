"""Server-sent events and JSON, as all protocols frame them."""

from __future__ import annotations

import json
from typing import Any, Final

from stamina.protocols import Protocol


def event(value: Any, name: str | None = None) -> bytes:
    """One event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, separators=(',', ':'))}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def error(protocol: Protocol, status: int, message: str) -> dict[str, Any]:
    """An error's body, as this protocol's providers send it."""
    match protocol:
        case Protocol.CHAT | Protocol.RESPONSES:
            return {"error": {"message": message, "type": _OPENAI.get(status, "server_error"), "param": None, "code": None}}
        case Protocol.MESSAGES:
            return {"type": "error", "error": {"type": _ANTHROPIC.get(status, "api_error"), "message": message}}
        case Protocol.GEMINI:
            return {"error": {"code": status, "message": message, "status": _GOOGLE.get(status, "INTERNAL")}}


_OPENAI: Final = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
_ANTHROPIC: Final = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
_GOOGLE: Final = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
