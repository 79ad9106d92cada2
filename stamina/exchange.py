"""HTTP messages as plain values: what the tests send, what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, TypeAlias

import attrs

Json: TypeAlias = Any
"""A JSON value. Deliberately loose: bodies are data, and checks look at their types themselves."""


class NoBody:
    """The type of :data:`NO_BODY`."""

    def __repr__(self) -> str:
        return "NO_BODY"


NO_BODY: Final = NoBody()
"""A request without a body (``Content-Length: 0`` where the method allows one); a body that is JSON null is None."""


@attrs.frozen
class RawBody:
    """Bytes sent as they are, with content type application/json: for bodies that are not JSON (H9)."""

    data: bytes


@attrs.frozen
class Request:
    """One request of a test. ``body`` is a JSON value, :class:`RawBody` or :data:`NO_BODY`; it must not be mutated."""

    method: str
    path: str
    body: Json | RawBody | NoBody = NO_BODY

    def payload(self) -> bytes | None:
        """The bytes of the body, None when there is none."""
        if isinstance(self.body, NoBody):
            return None
        if isinstance(self.body, RawBody):
            return self.body.data
        return _ENCODER.encode(self.body).encode()


NOT_JSON: Final = object()
"""What :attr:`Response.json` is when the body is not JSON."""

MAX_DEPTH: Final = 64
"""How deep a body may be nested. Far beyond any right answer, and far below where comparing or printing a value exhausts the stack of some Python."""


@attrs.define(slots=False, frozen=True)
class Response:
    """One response: status and the raw body, cut at the client's size limit."""

    status: int
    body: bytes = b""

    @cached_property
    def json(self) -> Json:
        """The body as JSON, :data:`NOT_JSON` when it is none. NaN and Infinity are not JSON; what is nested more than :data:`MAX_DEPTH` deep counts as none."""
        try:
            value = _decode(self.body.decode(_encoding(self.body), "surrogatepass"))
        except (ValueError, RecursionError):
            return NOT_JSON
        return NOT_JSON if self._may_be_deep() and isinstance(value, (dict, list)) and _is_deep(value) else value

    def _may_be_deep(self) -> bool:
        """A cheap bound on the depth, which is enough for almost every body."""
        return self.body.count(b"[") + self.body.count(b"{") > MAX_DEPTH


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


# Made once: json.dumps and json.loads make new ones at each call that names an option, and a suite has hundreds of bodies.
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_OPENING: Final = (b"{", b"[")


def _encoding(body: bytes) -> str:
    """As :func:`json.detect_encoding` has it. An opening bracket and no NUL behind it leave only one."""
    return "utf-8" if body[:1] in _OPENING and body[1:2] != b"\0" else json.detect_encoding(body)


def _decode(text: str) -> Json:
    """The value; raises ValueError. The decoder's own way looks for white space around it with regular expressions, and for most bodies there is none."""
    if text[:1] in "[{":
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    return _DECODER.decode(text)


def _is_deep(value: Json) -> bool:
    """Whether an object or array is nested more than :data:`MAX_DEPTH` deep; looks at one level after the other, without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent) if isinstance(child, (dict, list))]
        if not level:
            return False
    return True


def _children(value: Json) -> Iterable[Json]:
    return value.values() if isinstance(value, dict) else value


class Trouble(StrEnum):
    """Why a request got no usable response."""

    REFUSED = "refused"
    """Nothing listens on the port."""
    CLOSED = "closed"
    """The connection ended before the response did."""
    TIMEOUT = "timeout"
    """No complete response within the limit."""
    GARBAGE = "garbage"
    """Not HTTP."""
    TOO_LARGE = "too large"
    """Headers or body beyond the size limit."""


@attrs.frozen
class NoResponse:
    """A request that got no usable response; ``detail`` is one sentence for a person."""

    trouble: Trouble
    detail: str


Answer: TypeAlias = Response | NoResponse
