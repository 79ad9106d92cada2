"""Requests' bodies: what the gateway must know of them, and the few members that it changes; everything else stays byte for byte what the agent wrote."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final

import attrs
import zstandard

from actors.gateway.dialects import Route
from actors.gateway.interfaces import Operation
from stamina.config.model import ModelConfig
from stamina.protocols import Protocol

MOST_VALUES: Final = 2_000_000

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


@attrs.frozen
class Document:
    """A JSON object whose members can be replaced without writing the others anew.

    Attributes:
        text: the whole.
        members: their values.
        spans: where each value stands.
    """

    text: str
    members: Mapping[str, Any]
    spans: Mapping[str, tuple[int, int]]

    @classmethod
    def parse(cls, body: bytes) -> Document:
        """Raises ValueError when it is no JSON object, or has too many values: those take many times the memory that their text does."""
        if sum(map(body.count, (b",", b"[", b"{"))) > MOST_VALUES:
            raise ValueError(f"it has more than {MOST_VALUES:,} values")
        text = body.decode()
        at = _skip(text, 0)
        if text[at : at + 1] != "{":
            raise ValueError("the body is no JSON object")
        members: dict[str, Any] = {}
        spans: dict[str, tuple[int, int]] = {}
        at = _skip(text, at + 1)
        while text[at : at + 1] != "}":
            name, at = _name(text, at)
            value, end = _DECODER.raw_decode(text, at)
            members[name], spans[name] = value, (at, end)
            at = _skip(text, end)
            if text[at : at + 1] == ",":
                at = _skip(text, at + 1)
            elif text[at : at + 1] != "}":
                raise ValueError(f"expected a comma at character {at}")
        if _skip(text, at + 1) != len(text):
            raise ValueError("something follows the JSON object")
        return cls(text, members, spans)

    def edited(self, changes: Mapping[str, Any]) -> bytes:
        """The body with these members replaced or added."""
        pieces = sorted((*self.spans[name], json.dumps(value)) for name, value in changes.items() if name in self.spans)
        out: list[str] = []
        at = 0
        for start, end, new in pieces:
            out += (self.text[at:start], new)
            at = end
        close = self.text.rindex("}")
        added = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in changes.items() if name not in self.spans]
        out.append(self.text[at:close])
        out.append(("," if self.spans and added else "") + ",".join(added))
        out.append(self.text[close:])
        return "".join(out).encode()


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _name(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise ValueError(f"expected a name at character {at}")
    name, at = scanstring(text, at + 1, True)  # noqa: FBT003 (the standard library's signature)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise ValueError(f"expected a colon at character {at}")
    return name, _skip(text, at + 1)


class UnknownCoding(ValueError):
    """The body is in a content coding that is not undone."""


def plain(body: bytes, coding: str | None, most: int) -> bytes:
    """A body without its content coding, of at most so many bytes.

    Raises ValueError, in words for whoever wrote the request; UnknownCoding for codings that are not known.
    """
    match (coding or "identity").strip().lower():
        case "identity":
            return body
        case "gzip" | "x-gzip" | "deflate":
            whole = _inflated(body, most)
        case "zstd":
            whole = _unzstd(body, most)
        case other:
            raise UnknownCoding(f"content coding {other[:40]!r} is not supported; send the body as it is, or with gzip, deflate or zstd")
    if len(whole) > most:
        raise ValueError(f"it is larger than {most >> 20} MiB when it is unpacked")
    return whole


def _inflated(body: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        whole = unpacker.decompress(body, most + 1)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if len(whole) <= most and not unpacker.eof:
        raise ValueError("it was cut short")
    return whole


def _unzstd(body: bytes, most: int) -> bytes:
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as reader:
            return reader.read(most + 1)
    except zstandard.ZstdError as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error


@attrs.frozen
class Prepared:
    """A request that can go to an upstream.

    Attributes:
        body: with the model's own name and parameters in it.
        stream: whether events are asked for.
        strip: whether we asked for usage in the stream where the agent did not.
        output: tokens that the answer may have, None when the request does not say.
    """

    body: bytes
    stream: bool
    strip: bool
    output: int | None


class UnknownModel(ValueError):
    """The request names a model that the scenario does not have."""


def prepare(route: Route, body: bytes, model: ModelConfig, *, names: tuple[str, ...]) -> Prepared:
    """Make a request the model's. ``names`` are what the agent may call it.

    Raises ValueError, in words for whoever wrote the request, when the body cannot be used; UnknownModel when it names another model.
    """
    document = Document.parse(body)
    named = route.model if route.protocol is Protocol.GEMINI else document.members.get("model")
    if named not in names:
        raise UnknownModel(f"there is no model {str(named)[:200]!r} here; the model of this scenario is {names[0]!r}")
    changes: dict[str, Any] = {} if route.protocol is Protocol.GEMINI else {"model": model.id}
    if route.operation is Operation.GENERATE:
        changes |= _parameters(route.protocol, document, model.params)
    stream = route.stream if route.stream is not None else document.members.get("stream") is True
    strip = route.protocol is Protocol.CHAT and stream and not _wants_usage(document)
    if strip:
        options = document.members.get("stream_options")
        changes["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
    return Prepared(document.edited(changes), stream, strip, _output(route.protocol, {**document.members, **changes}))


def _wants_usage(document: Document) -> bool:
    options = document.members.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _parameters(protocol: Protocol, document: Document, params: Mapping[str, Any]) -> dict[str, Any]:
    """The sweep file's parameters; they win over the agent's, since they say what is measured."""
    if protocol is not Protocol.GEMINI or not params:
        return dict(params)
    own = document.members.get("generationConfig")
    return {"generationConfig": {**(own if isinstance(own, dict) else {}), **params}}


_LIMITS: Final[Mapping[Protocol, tuple[str, ...]]] = {
    Protocol.CHAT: ("max_completion_tokens", "max_tokens"),
    Protocol.RESPONSES: ("max_output_tokens",),
    Protocol.MESSAGES: ("max_tokens",),
    Protocol.GEMINI: ("maxOutputTokens",),
}


def _output(protocol: Protocol, members: Mapping[str, Any]) -> int | None:
    table = members.get("generationConfig") if protocol is Protocol.GEMINI else members
    values = [table.get(name) for name in _LIMITS[protocol]] if isinstance(table, Mapping) else []
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool) and value >= 0), None)
