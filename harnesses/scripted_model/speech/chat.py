"""OpenAI chat completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harnesses.scripted_model.answer import Answer, Count, pieces
from harnesses.scripted_model.conversation import Conversation, Role, Tool, Turn, compact, listed, table, texts_in
from harnesses.scripted_model.speech.framing import DONE, event

_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "function": Role.TOOL}


def read(body: Mapping[str, Any]) -> Conversation:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    said = [table(message, "a message") for message in listed(body.get("messages"), "messages")]
    tools = [table(tool.get("function"), "a tool's function") for tool in listed(body.get("tools"), "tools") if tool.get("type") == "function"]
    form = body.get("response_format")
    options = body.get("stream_options")
    return Conversation(
        turns=tuple(map(_turn, said)),
        tools=() if body.get("tool_choice") == "none" else tuple(Tool(str(tool.get("name")), tool.get("parameters") or {}) for tool in tools),
        chunks=(*((compact(body["tools"]),) if tools else ()), *map(compact, said)),
        stream=body.get("stream") is True,
        wants_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
        answer_schema=_schema(form) if isinstance(form, Mapping) else None,
        model=str(body.get("model", "")),
    )


def _turn(message: Mapping[str, Any]) -> Turn:
    calls = tuple(str(table(call.get("function"), "a call").get("name")) for call in listed(message.get("tool_calls"), "tool_calls"))
    return Turn(_ROLES.get(str(message.get("role")), Role.USER), texts_in(message.get("content"), "text"), calls, len(compact(message)))


def _schema(form: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if form.get("type") == "json_schema":
        found = form.get("json_schema")
        return (found.get("schema") or {}) if isinstance(found, Mapping) else {}
    return {} if form.get("type") == "json_object" else None


def whole(answer: Answer) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    message = {"role": "assistant", "content": answer.text or None} | ({"tool_calls": [_call(answer)]} if answer.call else {})
    choice = {"index": 0, "message": message, "finish_reason": _reason(answer), "logprobs": None}
    return {**_head(answer, "chat.completion"), "choices": [choice], "usage": usage(answer.count)}


def events(answer: Answer, *, wants_usage: bool) -> Iterator[bytes]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    yield _chunk(answer, {"role": "assistant", "content": ""})
    for piece in pieces(answer.text):
        yield _chunk(answer, {"content": piece})
    if answer.call is not None:
        call = _call(answer)
        yield _chunk(answer, {"tool_calls": [{"index": 0, **call, "function": {**call["function"], "arguments": ""}}]})
        for piece in pieces(answer.call.arguments):
            yield _chunk(answer, {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    yield _chunk(answer, {}, _reason(answer))
    if wants_usage:
        yield event({**_head(answer, "chat.completion.chunk"), "choices": [], "usage": usage(answer.count)})
    yield DONE


def _chunk(answer: Answer, delta: Mapping[str, Any], reason: str | None = None) -> bytes:
    return event({**_head(answer, "chat.completion.chunk"), "choices": [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]})


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.id}", "object": kind, "created": 0, "model": answer.model}


def _call(answer: Answer) -> dict[str, Any]:
    assert answer.call is not None
    return {"id": f"call_{answer.id}", "type": "function", "function": {"name": answer.call.name, "arguments": answer.call.arguments}}


def _reason(answer: Answer) -> str:
    return "stop" if answer.call is None else "tool_calls"


def usage(count: Count) -> dict[str, Any]:
    """What was used, in OpenAI's words for chat."""
    return {
        "prompt_tokens": count.input,
        "completion_tokens": count.output,
        "total_tokens": count.input + count.output,
        "prompt_tokens_details": {"cached_tokens": count.cached},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def counted(count: Count) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`; OpenAI has no such request."""
    return {"input_tokens": count.input}


def too_long(tokens: int, window: int) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    message = f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. Please reduce the length."
    return {"error": {"message": message, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}
