"""Whether two requests ask the same, though ids, times and places differ from one run to the next; and where they first differ. Pure.

A run that is replayed is a new run: its CLI draws new session ids, its folders have other names, its commands take other times. None of that changes what is
asked, so it is masked in all text. Results of commands vary more: there all numbers are masked too, and the width of gaps. Everything else must be equal; the
order of members in an object says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

SHOWN: Final = 60
"""Characters shown around a difference."""

_MONTHS: Final = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DAYS: Final = "Mon|Tue|Wed|Thu|Fri|Sat|Sun"

_MASKS: Final = tuple(
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"(?:/[^\s\"'`:;,()<>|/]+){0,64}/live/[0-9a-f]{16}", "<work>"),
        (r"\btmp[A-Za-z0-9_]{8}\b|\btmp\.[A-Za-z0-9]{6,}\b", "<tmp>"),
        (r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9A-Za-z])", "<id>"),
        (r"\b0[0-9A-HJKMNP-TV-Z]{25}\b", "<id>"),
        (r"\b[a-z]{2,12}_(?=[a-z]*[0-9A-Z])[0-9A-Za-z]{12,}\b", "<id>"),
        (r"\b[0-9a-f]{12,}\b", "<id>"),
        (r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{24,}(?![\w-])", "<id>"),
        (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z\b|[+-]\d\d:?\d\d\b)?", "<time>"),
        (rf"\b(?:(?:{_DAYS})[a-z]*,?\s+)?(?:(?:{_MONTHS})[a-z]*\.?\s+\d\d?|\d\d?\s+(?:{_MONTHS})[a-z]*)(?:,?\s+\d{{4}}|\s+\d\d:\d\d)?\b", "<time>"),
        (r"\b\d\d?/\d\d?/\d{4}\b", "<time>"),
        (r"\b\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[AP]M)?\b", "<time>"),
        (r"((?:127\.0\.0\.1|0\.0\.0\.0|localhost|\[::1?\]):)\d+", r"\1<port>"),
    )
)

_RESULT_MASKS: Final = (
    *_MASKS,
    *(
        (re.compile(pattern), mask)
        for pattern, mask in (
            (r"((?i:\b(?:chunk|process|session|shell|task|job)[ _]id):? )\w+", r"\1<id>"),
            (r"\b(?=[a-f]*\d)[0-9a-f]{7,}\b|\b0x[0-9a-fA-F]+", "<id>"),
            (r"\d+(?:[.,]\d+)*", "#"),
            (r"[ \t]{2,}|\t", " "),
        )
    ),
)

_RESULT_TYPES: Final = frozenset({"tool_result", "function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output"})


def normal(value: Any) -> Any:
    """A value of JSON with all masked that legitimately varies."""
    return _normal(value, _masked)


def normal_bytes(part: bytes) -> bytes:
    """The same of a part of a body (:mod:`scenario_store.parts`), with or without a comma in front."""
    text = part.decode("utf-8", "replace")
    try:
        return canonical(normal(json.loads(text.lstrip(", \t\r\n"))))
    except (ValueError, RecursionError):  # a piece of something, or deeper than anything that is meant
        return _masked(text).encode("utf-8", "replace")


def canonical(value: Any) -> bytes:
    """One form of a value of JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def difference(recorded: bytes, now: bytes) -> str | None:
    """Where two bodies first differ, in words with a JSON path; None when they ask the same."""
    try:
        return next(_differences("$", normal(json.loads(recorded)), normal(json.loads(now))), None)
    except (ValueError, RecursionError):
        return None if recorded == now else "the body, which is no JSON, or too deep"


def _normal(value: Any, mask: Callable[[str], str]) -> Any:
    match value:
        case str():
            return mask(value)
        case list():
            return [_normal(item, mask) for item in value]
        case dict():
            below = _masked_result if _is_result(value) else mask
            return {key: _masked_result_value(item) if key == "functionResponse" else _normal(item, below) for key, item in value.items()}
        case _:
            return value


def _is_result(value: Mapping[str, Any]) -> bool:
    """Whether it is what a tool gave back: of chat, responses and messages by their marks; Gemini's is known by its member's name."""
    kind = value.get("type")  # of a schema's properties, one may be called so
    return value.get("role") == "tool" or (isinstance(kind, str) and kind in _RESULT_TYPES)


def _masked_result_value(value: Any) -> Any:
    return _normal(value, _masked_result)


def _masked(text: str) -> str:
    return _apply(text, _MASKS)


def _masked_result(text: str) -> str:
    return _apply(text, _RESULT_MASKS)


def _apply(text: str, masks: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, mask in masks:
        text = pattern.sub(mask, text)
    return text


def _differences(path: str, was: Any, now: Any) -> Iterator[str]:
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now}):
            below = f"{path}.{key}"
            if key not in now:
                yield f"{below} was {_short(was[key])}, is missing"
            elif key not in was:
                yield f"{below} is new: {_short(now[key])}"
            else:
                yield from _differences(below, was[key], now[key])
    elif isinstance(was, list) and isinstance(now, list):
        for at, (old, new) in enumerate(zip(was, now, strict=False)):
            yield from _differences(f"{path}[{at}]", old, new)
        if len(was) != len(now):
            at = min(len(was), len(now))
            rest = f"begins there with {_short((was if len(was) > at else now)[at])}"
            yield f"{path} had {len(was)} elements, has {len(now)}; {'what is missing' if len(was) > at else 'what is new'} {rest}"
    elif isinstance(was, str) and isinstance(now, str):
        if was != now:
            yield f"{path} was {_around(was, now)}, is {_around(now, was)}"
    elif type(was) is not type(now) or was != now:
        yield f"{path} was {_short(was)}, is {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 2 * SHOWN else text[: 2 * SHOWN] + "…"


def _around(text: str, other: str) -> str:
    """The text near its first difference from another."""
    at = next((at for at, (one, two) in enumerate(zip(text, other, strict=False)) if one != two), min(len(text), len(other)))
    start, end = max(0, at - SHOWN // 2), at + SHOWN
    return ("…" if start else "") + json.dumps(text[start:end])[:200] + ("…" if end < len(text) else "")
