"""Trajectories as ATIF v1.8, the interchange format of agent trajectories: one document for a scenario's whole conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

VERSION: Final = "ATIF-v1.8"
_AROUND: Final = ("compaction", "retry", "trouble", "note")

Line = Mapping[str, Any]
"""A line of ``trajectory.jsonl``."""


@attrs.frozen
class Totals:
    """What all requests of a scenario used, in tokens."""

    input: int = 0
    output: int = 0
    cached: int = 0


def document(name: str, calls: Iterable[Sequence[Line]], totals: Totals, extra: Mapping[str, Any]) -> dict[str, Any] | None:
    """One scenario.

    Args:
        name: of the scenario, unique in its run.
        calls: the lines of each agent call, in order.
        totals: of all calls.
        extra: what else is known of the scenario.

    Returns: None when there is no step in it.
    """
    made = _Document()
    for lines in calls:
        made.add(lines)
    if not made.steps:
        return None
    return {
        "schema_version": VERSION,
        "session_id": name,
        "agent": made.agent,
        "steps": made.steps,
        "final_metrics": {
            "total_prompt_tokens": totals.input,
            "total_completion_tokens": totals.output,
            "total_cached_tokens": totals.cached,
            "total_steps": len(made.steps),
        },
        "extra": dict(extra),
    }


@attrs.define
class _Document:
    """A document under way."""

    steps: list[dict[str, Any]] = attrs.field(factory=list)
    agent: dict[str, Any] = attrs.field(factory=lambda: {"name": "unknown", "version": "unknown"})
    _place: dict[str, Any] = attrs.field(factory=dict)
    _thinking: list[str] = attrs.field(factory=list)
    _open: dict[str, dict[str, Any]] = attrs.field(factory=dict)

    def add(self, lines: Sequence[Line]) -> None:
        """One agent call."""
        self._open.clear()
        self._thinking.clear()
        for line in lines:
            match line.get("step"):
                case "begin":
                    self._begin(line)
                case "message":
                    self._message(line)
                case "tool_call":
                    self._call(line)
                case "tool_result":
                    self._result(line)
                case kind if kind in _AROUND:
                    self._step("system", f"{kind}: {line.get('detail') or line.get('kind') or ''}".rstrip(": "))

    def _begin(self, line: Line) -> None:
        self._place = {name: line[name] for name in ("turn", "attempt", "call")}
        self.agent = {"name": line["harness"], "version": line.get("version") or "unknown"}
        if line.get("model"):
            self.agent["model_name"] = line["model"]

    def _step(self, source: str, message: str) -> dict[str, Any]:
        step: dict[str, Any] = {"step_id": len(self.steps) + 1, "source": source, "message": message, "extra": dict(self._place)}
        if source == "agent" and self._thinking:
            step["reasoning_content"] = "\n".join(self._thinking)
            self._thinking.clear()
        self.steps.append(step)
        return step

    def _message(self, line: Line) -> None:
        if line.get("thinking"):
            self._thinking.append(line["text"])
        else:
            self._step("user" if line.get("role") == "user" else "agent", line["text"])

    def _call(self, line: Line) -> None:
        """Calls go with what was said before them, unless something else came in between."""
        last = self.steps[-1] if self.steps else None
        step = last if last is not None and last["source"] == "agent" and "observation" not in last else self._step("agent", "")
        calls = step.setdefault("tool_calls", [])
        identity = line.get("id") or f"call-{step['step_id']}-{len(calls) + 1}"
        calls.append({"tool_call_id": identity, "function_name": line["name"], "arguments": _object(line.get("arguments"))})
        self._open[identity] = step

    def _result(self, line: Line) -> None:
        """A result belongs to its call; where the CLI does not say which one that is, to the last."""
        identity = line.get("id") or next(reversed(self._open), None)
        step = self._open.pop(identity, None) if identity is not None else None
        found: dict[str, Any] = {"content": line["text"]}
        if step is None:
            step = self._step("system", "a tool's result")
        else:
            found["source_call_id"] = identity
        more = {name: line[name] for name in ("failed", "exit_code") if line.get(name) not in (None, False)}
        if more:
            found["extra"] = more
        step.setdefault("observation", {"results": []})["results"].append(found)


def _object(arguments: Any) -> dict[str, Any]:
    """The format knows objects only."""
    if arguments is None:
        return {}
    if isinstance(arguments, Mapping):
        return dict(arguments)
    return {"text": arguments if isinstance(arguments, str) else json.dumps(arguments)}
