"""Anthropic messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harnesses.scripted_model.answer import Answer, Count, pieces
from harnesses.scripted_model.conversation import Conversation, Role, Tool, Turn, compact, listed, table, texts_in
from harnesses.scripted_model.speech.framing import event


def read(body: Mapping[str, Any]) -> Conversation:
    """See :class:`harnesses.scripted_model.speech.Speech`. Newer clients put instructions among the messages, as role ``system``."""
    system = texts_in(body.get("system"), "text")
    said = [table(message, "a message") for message in listed(body.get("messages"), "messages")]
    tools = [table(tool, "a tool") for tool in listed(body.get("tools"), "tools")]
    choice = body.get("tool_choice")
    form = (body.get("output_config") or {}).get("format") if isinstance(body.get("output_config"), Mapping) else body.get("output_format")
    callable_tools = () if isinstance(choice, Mapping) and choice.get("type") == "none" else tools
    opening = (Turn(Role.SYSTEM, system, size=sum(map(len, system))),) if system else ()
    return Conversation(
        turns=(*opening, *(turn for message in said for turn in _turns(message))),
        tools=tuple(Tool(str(tool.get("name")), tool.get("input_schema") or {}) for tool in callable_tools),
        chunks=(*((compact(body["tools"]),) if tools else ()), *system, *(compact(_plain(message)) for message in said)),
        stream=body.get("stream") is True,
        answer_schema=form.get("schema") if isinstance(form, Mapping) and form.get("type") == "json_schema" else None,
        caches="cache_control" in compact(body.get("system")) or any("cache_control" in compact(message) for message in said[-3:]),
        model=str(body.get("model", "")),
    )


def _plain(value: Any) -> Any:
    """Without the marks of what to cache: they move from request to request, and a cache does not look at them."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items() if name != "cache_control"}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _turns(message: Mapping[str, Any]) -> Iterator[Turn]:
    """A user's message holds results of tools and text, in this order."""
    content, size = message.get("content"), len(compact(message))
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    results = [text for block in blocks if block.get("type") == "tool_result" for text in texts_in(block.get("content"), "text")]
    texts = texts_in(content, "text")
    if message.get("role") == "assistant":
        yield Turn(Role.ASSISTANT, texts, tuple(str(block.get("name")) for block in blocks if block.get("type") == "tool_use"), size)
        return
    if any(block.get("type") == "tool_result" for block in blocks):
        yield Turn(Role.TOOL, tuple(results), (), size)
    if texts:
        yield Turn(Role.SYSTEM if message.get("role") == "system" else Role.USER, texts, (), 0 if results else size)


def whole(answer: Answer) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.call is not None:
        content.append({**_call(answer), "input": _input(answer.call.arguments)})
    return {**_head(answer), "content": content, "stop_reason": _reason(answer), "usage": usage(answer.count)}


def _input(arguments: str) -> Any:
    """A whole answer carries an object, so malformed arguments can only be of the wrong shape."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {"malformed": arguments[:200]}


def events(answer: Answer, *, wants_usage: bool) -> Iterator[bytes]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    yield _event("message_start", message={**_head(answer), "content": [], "stop_reason": None, "usage": {**usage(answer.count), "output_tokens": 1}})
    yield _event("ping")
    at = 0
    if answer.text:
        yield _event("content_block_start", index=at, content_block={"type": "text", "text": ""})
        for piece in pieces(answer.text):
            yield _event("content_block_delta", index=at, delta={"type": "text_delta", "text": piece})
        yield _event("content_block_stop", index=at)
        at += 1
    if answer.call is not None:
        yield _event("content_block_start", index=at, content_block={**_call(answer), "input": {}})
        for piece in pieces(answer.call.arguments):
            yield _event("content_block_delta", index=at, delta={"type": "input_json_delta", "partial_json": piece})
        yield _event("content_block_stop", index=at)
    yield _event("message_delta", delta={"stop_reason": _reason(answer), "stop_sequence": None}, usage={"output_tokens": answer.count.output})
    yield _event("message_stop")


def _event(kind: str, **members: Any) -> bytes:
    return event({"type": kind, **members}, kind)


def _head(answer: Answer) -> dict[str, Any]:
    return {"id": f"msg_{answer.id}", "type": "message", "role": "assistant", "model": answer.model, "stop_sequence": None}


def _call(answer: Answer) -> dict[str, Any]:
    assert answer.call is not None
    return {"type": "tool_use", "id": f"toolu_{answer.id}", "name": answer.call.name}


def _reason(answer: Answer) -> str:
    return "end_turn" if answer.call is None else "tool_use"


def usage(count: Count) -> dict[str, Any]:
    """What was used, in Anthropic's words: the cached parts are beside ``input_tokens``."""
    return {
        "input_tokens": count.input - count.cached - count.written,
        "cache_read_input_tokens": count.cached,
        "cache_creation_input_tokens": count.written,
        "output_tokens": count.output,
    }


def counted(count: Count) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    return {"input_tokens": count.input}


def too_long(tokens: int, window: int) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": f"prompt is too long: {tokens} tokens > {window} maximum"}}
