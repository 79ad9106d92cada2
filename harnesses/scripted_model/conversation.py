"""A request to a model, whatever its protocol: who said what, and which tools there are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import attrs


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@attrs.frozen
class Turn:
    """One thing said.

    Attributes:
        texts: its blocks of text; what a tool gave, for a tool.
        calls: names of the tools that the assistant called.
        size: characters that it takes in the request, all of it.
    """

    role: Role
    texts: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    size: int = 0

    @property
    def text(self) -> str:
        """All blocks."""
        return "\n".join(self.texts)


@attrs.frozen
class Tool:
    """A tool that may be called; ``schema`` is the JSON Schema of its arguments."""

    name: str
    schema: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Conversation:
    """A request.

    Attributes:
        turns: in order, instructions first.
        tools: those that may be called; none when the request forbids calls.
        chunks: the parts of the request in the order in which a provider's cache sees them (tools, instructions, turns), as text.
        stream: whether events are asked for.
        wants_usage: whether a stream is to say what it used (OpenAI chat says so only to those who ask).
        answer_schema: what the answer's text must satisfy as JSON, None for free text.
        caches: whether the request marks what to cache (Anthropic).
        model: as the request names it.
    """

    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    chunks: tuple[str, ...] = ()
    stream: bool = False
    wants_usage: bool = True
    answer_schema: Mapping[str, Any] | None = None
    caches: bool = False
    model: str = ""

    def newest(self, role: Role) -> Iterator[Turn]:
        """The turns of a role, the latest first."""
        return (turn for turn in reversed(self.turns) if turn.role is role)

    @property
    def pending(self) -> tuple[Turn, ...]:
        """What came after the assistant spoke last."""
        at = next((at for at in range(len(self.turns) - 1, -1, -1) if self.turns[at].role is Role.ASSISTANT), -1)
        return tuple(turn for turn in self.turns[at + 1 :] if turn.role is not Role.SYSTEM)

    @property
    def results(self) -> str:
        """What tools gave since the assistant spoke last."""
        return "\n".join(turn.text for turn in self.pending if turn.role is Role.TOOL)


class BadConversation(ValueError):
    """The request is not what its protocol says; one sentence for the client."""


def table(value: Any, what: str) -> Mapping[str, Any]:
    """A JSON object. Raises :class:`BadConversation`."""
    if not isinstance(value, Mapping):
        raise BadConversation(f"{what} must be an object")
    return value


def listed(value: Any, what: str) -> list[Any]:
    """A JSON array; a missing one is empty. Raises :class:`BadConversation`."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadConversation(f"{what} must be an array")
    return value


def compact(value: Any) -> str:
    """JSON without spaces: what sizes and hashes are made of."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def texts_in(content: Any, *kinds: str) -> tuple[str, ...]:
    """The texts of a message's content: a string, or blocks of these types with a ``text``."""
    if isinstance(content, str):
        return (content,) if content else ()
    blocks = content if isinstance(content, list) else []
    return tuple(block["text"] for block in blocks if isinstance(block, Mapping) and block.get("type", "text") in kinds and isinstance(block.get("text"), str))
