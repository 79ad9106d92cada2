"""What an agent did in one call, in one form for all CLIs: messages, tool calls and their results, and what went on around them.

An adapter turns its CLI's events into these; they are written to the attempt's folder as ``trajectory.jsonl``, one JSON object a line (docs/formats.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

import attrs

from harnesses.failures import Failure

TEXT_CHARACTERS: Final = 65_536
"""What is kept of one text; the CLI's output beside the trajectory has all of it."""


class Role(StrEnum):
    """Who says something."""

    USER = "user"
    AGENT = "agent"


def _cut(text: str) -> str:
    """To a bearable length, and free of lone surrogates, which no UTF-8 file can hold."""
    text = text if len(text) <= TEXT_CHARACTERS else f"{text[:TEXT_CHARACTERS]}… ({len(text)} characters)"
    return text.encode("utf-8", "replace").decode()


def _text(value: Any) -> str:
    return _cut(value if isinstance(value, str) else "" if value is None else json.dumps(value))


def _identity(value: Any) -> str:
    return _cut("" if value is None else str(value))[:200]


def _arguments(value: Any) -> Any:
    """As the CLI has them: an object where there is one, else the text; JSON in a string is unpacked."""
    if isinstance(value, str):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return _cut(value)
        return _arguments(found) if isinstance(found, dict) else _cut(value)
    text = json.dumps(value)
    return value if len(text) <= TEXT_CHARACTERS else _cut(text)


@attrs.frozen
class Message:
    """Somebody says something. ``thinking``: it is the model's reasoning."""

    text: str = attrs.field(converter=_text)
    role: Role = Role.AGENT
    thinking: bool = False


@attrs.frozen
class ToolCall:
    """The agent calls a tool. ``id`` connects it with its result; empty where the CLI tells none."""

    id: str = attrs.field(converter=_identity)
    name: str = attrs.field(converter=_identity)
    arguments: Any = attrs.field(default=None, converter=_arguments)


@attrs.frozen
class ToolResult:
    """What a tool gave back. ``exit_code`` where it ran a command and the CLI tells it."""

    id: str = attrs.field(converter=_identity)
    text: str = attrs.field(default="", converter=_text)
    failed: bool = False
    exit_code: int | None = None


@attrs.frozen
class Compaction:
    """The CLI replaced the conversation so far by a summary."""

    detail: str = attrs.field(default="", converter=_text)


@attrs.frozen
class Retry:
    """The CLI asks the model again. ``status``: the HTTP status it was refused with."""

    detail: str = attrs.field(default="", converter=_text)
    status: int | None = None


@attrs.frozen
class Trouble:
    """Something failed."""

    kind: Failure
    detail: str = attrs.field(default="", converter=_text)


@attrs.frozen
class Note:
    """What whoever reads this should know: a prompt that the session holds twice, a session that changed."""

    detail: str = attrs.field(converter=_text)


Step: TypeAlias = Message | ToolCall | ToolResult | Compaction | Retry | Trouble | Note

_NAMES: Final[Mapping[type[Any], str]] = {
    Message: "message",
    ToolCall: "tool_call",
    ToolResult: "tool_result",
    Compaction: "compaction",
    Retry: "retry",
    Trouble: "trouble",
    Note: "note",
}


_KINDS: Final[Mapping[str, type[Any]]] = {name: kind for kind, name in _NAMES.items()}


def step_of(event: Mapping[str, Any]) -> Step | None:
    """The step that a line of this form is, None when it is none: so a program of one's own can tell its trajectory in it."""
    kind = _KINDS.get(str(event.get("step", "")))
    if kind is None:
        return None
    members = {field.name: event[field.name] for field in attrs.fields(kind) if field.name in event}
    try:
        if "role" in members:
            members["role"] = Role(members["role"])
        if kind is Trouble:
            members["kind"] = Failure(members["kind"])
        found: Step = kind(**members)
    except (KeyError, TypeError, ValueError):
        return None
    return found


def line(step: Step) -> bytes:
    """A step as a line of ``trajectory.jsonl``: its kind under ``step``, and its fields."""
    return _json({"step": _NAMES[type(step)], **attrs.asdict(step, recurse=False)})


def lines(head: Mapping[str, Any], steps: Iterable[Step], tail: Mapping[str, Any]) -> bytes:
    """A whole trajectory: ``head`` says which call it is, ``tail`` how it ended."""
    return b"".join((_json({"step": "begin", **head}), *map(line, steps), _json({"step": "end", **tail})))


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
