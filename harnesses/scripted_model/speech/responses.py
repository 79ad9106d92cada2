"""OpenAI responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harnesses.scripted_model.answer import Answer, Count, pieces
from harnesses.scripted_model.conversation import Conversation, Role, Tool, Turn, compact, listed, table, texts_in
from harnesses.scripted_model.speech.framing import event

_ROLES = {"system": Role.SYSTEM, "developer": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}


def read(body: Mapping[str, Any]) -> Conversation:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else [table(item, "an item of input") for item in listed(given, "input")]
    tools = [table(tool, "a tool") for tool in listed(body.get("tools"), "tools")]
    instructions = body.get("instructions")
    system = (Turn(Role.SYSTEM, (instructions,), size=len(instructions)),) if isinstance(instructions, str) and instructions else ()
    form = (body.get("text") or {}).get("format") if isinstance(body.get("text"), Mapping) else None
    return Conversation(
        turns=(*system, *(turn for item in items if (turn := _turn(item)) is not None)),
        tools=()
        if body.get("tool_choice") == "none"
        else tuple(Tool(str(tool.get("name")), tool.get("parameters") or {}) for tool in tools if tool.get("type") == "function"),
        chunks=(*((compact(body["tools"]),) if tools else ()), *(turn.text for turn in system), *map(compact, items)),
        stream=body.get("stream") is True,
        answer_schema=_schema(form) if isinstance(form, Mapping) else None,
        model=str(body.get("model", "")),
    )


def _turn(item: Mapping[str, Any]) -> Turn | None:
    size = len(compact(item))
    match item.get("type", "message"):
        case "message":
            return Turn(_ROLES.get(str(item.get("role")), Role.USER), texts_in(item.get("content"), "input_text", "output_text", "text"), (), size)
        case "function_call" | "custom_tool_call":
            return Turn(Role.ASSISTANT, (), (str(item.get("name")),), size)
        case "function_call_output" | "custom_tool_call_output":
            return Turn(Role.TOOL, texts_in(item.get("output"), "input_text", "output_text", "text"), (), size)
        case _:
            return None


def _schema(form: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return form.get("schema") or {} if form.get("type") in ("json_schema", "json_object") else None


def whole(answer: Answer) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    return _response(answer, "completed", [item for _, item in _items(answer)])


def events(answer: Answer, *, wants_usage: bool) -> Iterator[bytes]:
    """See :class:`harnesses.scripted_model.speech.Speech`. Every event is numbered, and deltas name their item: some clients insist."""
    for number, (kind, members) in enumerate(_events(answer)):
        yield event({"type": kind, "sequence_number": number, **members}, kind)


def _events(answer: Answer) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = _response(answer, "in_progress", [])
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for at, (empty, item) in enumerate(_items(answer)):
        yield "response.output_item.added", {"output_index": at, "item": empty}
        yield from _said(at, item) if item["type"] == "message" else _called(at, item)
        yield "response.output_item.done", {"output_index": at, "item": item}
    yield "response.completed", {"response": whole(answer)}


def _said(at: int, item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {"item_id": item["id"], "output_index": at, "content_index": 0}
    (part,) = item["content"]
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}


def _called(at: int, item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {"item_id": item["id"], "output_index": at}
    for piece in pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}
    yield "response.function_call_arguments.done", {**place, "name": item["name"], "arguments": item["arguments"]}


def _items(answer: Answer) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each item as it begins, and as it is in the end."""
    if answer.text or answer.call is None:
        message = {"id": f"msg_{answer.id}", "type": "message", "role": "assistant"}
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        yield {**message, "status": "in_progress", "content": []}, {**message, "status": "completed", "content": [part]}
    if answer.call is not None:
        call = {"id": f"fc_{answer.id}", "type": "function_call", "call_id": f"call_{answer.id}", "name": answer.call.name}
        yield {**call, "status": "in_progress", "arguments": ""}, {**call, "status": "completed", "arguments": answer.call.arguments}


def _response(answer: Answer, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": answer.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage(answer.count) if status == "completed" else None,
    }


def usage(count: Count) -> dict[str, Any]:
    """What was used, in OpenAI's words for responses."""
    return {
        "input_tokens": count.input,
        "input_tokens_details": {"cached_tokens": count.cached},
        "output_tokens": count.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": count.input + count.output,
    }
