"""Reads on the side what passes: the usage in an answer, and whether a stream has come to its proper end.

A piece of a stream is searched for the few words that matter, in C; only an event that has one is parsed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from actors.gateway.events import events, payload
from stamina.protocols import Protocol
from stamina.usage import Usage

MOST_TOKENS: Final = 10**9
"""More is no count of one request's tokens."""


def _known(raw: Mapping[str, Any], name: str) -> int | None:
    """A count of tokens; None when it is missing, or no count: negative, no number, a fraction, or beyond all reason."""
    value = raw.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_TOKENS or value != int(value):
        return None
    return int(value)


def _count(table: Any, *path: str) -> int:
    """A count of tokens at a path; 0 when it is missing or no count."""
    for name in path[:-1]:
        table = table.get(name) if isinstance(table, Mapping) else None
    return (_known(table, path[-1]) or 0) if isinstance(table, Mapping) else 0


def _usage_of(total: tuple[int | None, int | None], cached: int, writes: int, reasoning: int, raw: Mapping[str, Any]) -> Usage | None:
    """None when input or output is not known: what is missing is not nothing. Parts are never more than their whole."""
    input_, output = total
    if input_ is None or output is None:
        return None
    cached = min(cached, input_)
    return Usage(input_, output, cached, min(writes, input_ - cached), min(reasoning, output), finite(raw))


def _chat_usage(raw: Mapping[str, Any]) -> Usage | None:
    cached = _count(raw, "prompt_tokens_details", "cached_tokens") or _count(raw, "prompt_cache_hit_tokens")
    reasoning = _count(raw, "completion_tokens_details", "reasoning_tokens")
    total = _known(raw, "prompt_tokens"), _known(raw, "completion_tokens")
    return _usage_of(total, cached, _count(raw, "prompt_tokens_details", "cache_write_tokens"), reasoning, raw)


def _responses_usage(raw: Mapping[str, Any]) -> Usage | None:
    cached, writes = _count(raw, "input_tokens_details", "cached_tokens"), _count(raw, "input_tokens_details", "cache_write_tokens")
    total = _known(raw, "input_tokens"), _known(raw, "output_tokens")
    return _usage_of(total, cached, writes, _count(raw, "output_tokens_details", "reasoning_tokens"), raw)


def _messages_usage(raw: Mapping[str, Any]) -> Usage | None:
    """Anthropic counts cached tokens beside ``input_tokens``, not in them."""
    cached, writes = _count(raw, "cache_read_input_tokens"), _count(raw, "cache_creation_input_tokens")
    rest = _known(raw, "input_tokens")
    total = None if rest is None else rest + cached + writes, _known(raw, "output_tokens")
    return _usage_of(total, cached, writes, _count(raw, "output_tokens_details", "thinking_tokens"), raw)


def _gemini_usage(raw: Mapping[str, Any]) -> Usage | None:
    """Google counts thoughts beside the candidates, and what tools put into the prompt beside the prompt; a count of nothing may be missing."""
    thoughts = _count(raw, "thoughtsTokenCount")
    prompt = _known(raw, "promptTokenCount")
    said = _known(raw, "candidatesTokenCount") if "candidatesTokenCount" in raw else 0
    total = None if prompt is None else prompt + _count(raw, "toolUsePromptTokenCount"), None if said is None else said + thoughts
    return _usage_of(total, _count(raw, "cachedContentTokenCount"), 0, thoughts, raw)


def finite(value: Any) -> Any:
    """A value of JSON in which numbers that no JSON has (``NaN``, ``Infinity``) are text."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case Mapping():
            return {key: finite(item) for key, item in value.items()}
        case list():
            return [finite(item) for item in value]
        case _:
            return value


USAGE: Final[Mapping[Protocol, tuple[str, Callable[[Mapping[str, Any]], Usage | None]]]] = {
    Protocol.CHAT: ("usage", _chat_usage),
    Protocol.RESPONSES: ("usage", _responses_usage),
    Protocol.MESSAGES: ("usage", _messages_usage),
    Protocol.GEMINI: ("usageMetadata", _gemini_usage),
}


def usage_in(protocol: Protocol, body: bytes) -> Usage | None:
    """The usage in a whole answer, None when it has none."""
    answer = parsed(body)
    if protocol is Protocol.GEMINI and isinstance(answer, list):  # a stream that was not asked for as events
        answer = answer[-1] if answer else None
    return _usage(protocol, answer)


def _usage(protocol: Protocol, answer: Any) -> Usage | None:
    key, read = USAGE[protocol]
    raw = answer.get(key) if isinstance(answer, Mapping) else None
    try:
        return read(raw) if isinstance(raw, Mapping) and raw else None
    except RecursionError:
        return None


def parsed(body: bytes) -> Any:
    """JSON, None when it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


_MARKS: Final[Mapping[Protocol, re.Pattern[bytes]]] = {
    Protocol.CHAT: re.compile(rb'"usage"\s*:\s*\{|"finish_reason"\s*:\s*"|^data:\s*\[DONE\]|"error"\s*:', re.MULTILINE),
    Protocol.RESPONSES: re.compile(rb'"type"\s*:\s*"(?:response\.(?:completed|incomplete|failed)|error)"'),
    Protocol.MESSAGES: re.compile(rb'"type"\s*:\s*"(?:message_start|message_delta|message_stop|error)"'),
    Protocol.GEMINI: re.compile(rb'"usageMetadata"|"finishReason"|"error"\s*:'),
}
"""Quotes inside a text are escaped in JSON, so a text that an agent chose cannot look like one of these."""


@attrs.define
class StreamReader:
    """Reads one stream.

    Attributes:
        protocol: whose.
        strip: whether the event that carries only usage (chat) was asked for by us, and is not for the agent.
        usage: the latest, None while unknown.
        finished: whether the stream has said that it is at its end.
        error: the message of an error that the provider sent as an event, None when it sent none.
    """

    protocol: Protocol
    strip: bool = False
    usage: Usage | None = None
    finished: bool = False
    error: str | None = None
    _raw: dict[str, Any] = attrs.field(factory=dict)

    def feed(self, piece: bytes) -> bytes:
        """Take whole events; returns what is for the agent."""
        mark = _MARKS[self.protocol]
        if mark.search(piece) is None:
            return piece
        kept: list[bytes] = []
        for one in events(piece):
            own = self._take(payload(one)) if mark.search(one) else False
            if not own:
                kept.append(one)
        return b"".join(kept) if self.strip else piece

    def _take(self, data: bytes) -> bool:
        """Read one event; whether it is one that the agent did not ask for."""
        if data.strip() == b"[DONE]":
            self.finished = True
            return False
        value = parsed(data)
        if not isinstance(value, Mapping):
            return False
        self._note_error(value)
        match self.protocol:
            case Protocol.CHAT:
                return self._chat(value)
            case Protocol.RESPONSES:
                self._responses(value)
            case Protocol.MESSAGES:
                self._messages(value)
            case Protocol.GEMINI:
                self._gemini(value)
        return False

    def _chat(self, value: Mapping[str, Any]) -> bool:
        self.usage = _usage(Protocol.CHAT, value) or self.usage
        choices = value.get("choices")
        choices = choices if isinstance(choices, list) else []
        self.finished |= any(isinstance(choice, Mapping) and choice.get("finish_reason") for choice in choices)
        return self.strip and not choices and "usage" in value

    def _responses(self, value: Mapping[str, Any]) -> None:
        self.usage = _usage(Protocol.RESPONSES, value.get("response")) or self.usage
        self.finished = True

    def _messages(self, value: Mapping[str, Any]) -> None:
        """Counts come in two events, the later ones replacing the earlier."""
        start = value.get("message")
        raw = (start if isinstance(start, Mapping) else value).get("usage")
        if isinstance(raw, Mapping):
            self._raw.update({name: count for name, count in raw.items() if count is not None})
        if value.get("type") == "message_delta":
            self.usage = _messages_usage(self._raw)
        self.finished |= value.get("type") in ("message_stop", "error")

    def _gemini(self, value: Mapping[str, Any]) -> None:
        candidates = value.get("candidates")
        candidates = candidates if isinstance(candidates, list) else []
        feedback = value.get("promptFeedback")
        blocked = isinstance(feedback, Mapping) and feedback.get("blockReason")
        self.finished |= bool(blocked) or any(isinstance(candidate, Mapping) and candidate.get("finishReason") for candidate in candidates)
        usage = _usage(Protocol.GEMINI, value)
        # Every event carries counts so far; only with the last ones is it known what the whole cost.
        self._raw = dict(usage.raw) if usage else self._raw
        if self.finished and self._raw:
            self.usage = _gemini_usage(self._raw)

    def _note_error(self, value: Mapping[str, Any]) -> None:
        inner = value.get("response")
        error = value.get("error") or (inner.get("error") if isinstance(inner, Mapping) else None) if value.get("type") != "message_start" else None
        if error:
            self.error = message_of(error)
            self.finished = True


def message_of(error: Any) -> str:
    """The message in an error object of any protocol, cut to a line."""
    while isinstance(error, list) and error:
        error = error[0]
    inner = error.get("error", error) if isinstance(error, Mapping) else error
    text = inner.get("message", inner) if isinstance(inner, Mapping) else inner
    return " ".join(str(text).split())[:300]
