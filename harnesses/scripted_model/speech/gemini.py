"""Gemini generateContent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from harnesses.scripted_model.answer import Answer, Count, pieces
from harnesses.scripted_model.conversation import Conversation, Role, Tool, Turn, compact, listed, table
from harnesses.scripted_model.speech.framing import event


def read(body: Mapping[str, Any]) -> Conversation:
    """See :class:`harnesses.scripted_model.speech.Speech`. Streaming is in the address, so whoever knows the address sets it."""
    inner = body.get("generateContentRequest")
    body = inner if isinstance(inner, Mapping) else body
    said = [table(content, "a content") for content in listed(body.get("contents"), "contents")]
    system = body.get("systemInstruction") or body.get("system_instruction")
    groups = [table(group, "a tool") for group in listed(body.get("tools"), "tools")]
    declared = [table(one, "a function") for group in groups for one in listed(group.get("functionDeclarations"), "functionDeclarations")]
    mode = ((body.get("toolConfig") or {}).get("functionCallingConfig") or {}).get("mode")
    form = body.get("generationConfig") if isinstance(body.get("generationConfig"), Mapping) else {}
    assert isinstance(form, Mapping)
    opening = tuple(_turns({"role": "system", **system})) if isinstance(system, Mapping) else ()
    return Conversation(
        turns=(*opening, *(turn for content in said for turn in _turns(content))),
        tools=() if mode == "NONE" else tuple(Tool(str(one.get("name")), one.get("parametersJsonSchema") or one.get("parameters") or {}) for one in declared),
        chunks=(*((compact(body["tools"]),) if groups else ()), *((compact(system),) if system else ()), *map(compact, said)),
        answer_schema=(form.get("responseJsonSchema") or form.get("responseSchema") or {}) if form.get("responseMimeType") == "application/json" else None,
    )


def _turns(content: Mapping[str, Any]) -> Iterator[Turn]:
    parts = [part for part in listed(content.get("parts"), "parts") if isinstance(part, Mapping)]
    texts = tuple(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))
    size = len(compact(content))
    if content.get("role") in ("model", "system"):
        calls = tuple(str(part["functionCall"].get("name")) for part in parts if isinstance(part.get("functionCall"), Mapping))
        yield Turn(Role.ASSISTANT if content["role"] == "model" else Role.SYSTEM, texts, calls, size)
        return
    results = [part["functionResponse"].get("response") for part in parts if isinstance(part.get("functionResponse"), Mapping)]
    if results:
        yield Turn(Role.TOOL, tuple(text for result in results for text in _strings(result)), (), size)
    if texts:
        yield Turn(Role.USER, texts, (), 0 if results else size)


def _strings(value: Any) -> Iterator[str]:
    """All texts in what a tool gave: clients put it under different names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(inner)


def whole(answer: Answer) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    parts = [{"text": answer.text}] if answer.text else []
    return _response(answer, [*parts, *_calls(answer)], last=True)


def events(answer: Answer, *, wants_usage: bool) -> Iterator[bytes]:
    """See :class:`harnesses.scripted_model.speech.Speech`. Calls come whole in this protocol."""
    for piece in pieces(answer.text):
        yield event(_response(answer, [{"text": piece}], last=False))
    yield event(_response(answer, _calls(answer) or [{"text": ""}], last=True))


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [] if answer.call is None else [{"functionCall": {"name": answer.call.name, "args": _args(answer.call.arguments)}}]


def _args(arguments: str) -> Any:
    """Arguments are an object here, so malformed ones can only be of the wrong shape."""
    try:
        return json.loads(arguments)
    except ValueError:
        return {"malformed": arguments[:200]}


def _response(answer: Answer, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0} | ({"finishReason": "STOP"} if last else {})
    count = answer.count if last else Count(answer.count.input, 0, answer.count.cached)
    return {"candidates": [candidate], "modelVersion": answer.model, "responseId": answer.id, "usageMetadata": usage(count)}


def usage(count: Count) -> dict[str, Any]:
    """What was used, in Google's words."""
    return {
        "promptTokenCount": count.input,
        "cachedContentTokenCount": count.cached,
        "candidatesTokenCount": count.output,
        "totalTokenCount": count.input + count.output,
    }


def counted(count: Count) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    return {"totalTokens": count.input}


def too_long(tokens: int, window: int) -> Mapping[str, Any]:
    """See :class:`harnesses.scripted_model.speech.Speech`."""
    message = f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
    return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
