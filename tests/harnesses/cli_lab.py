"""A bench for adapters of CLIs: one call's output as text, read by the adapter, without a CLI."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import attrs

from harnesses.harness import CallContext, CallEnd, CallReport, Command, ModelAccess
from harnesses.registry import make_harness
from stamina.config.model import AgentConfig

MODEL = ModelAccess("http://10.0.0.1:8400", "token-1", "vendor/model-x", 131_072)
WORKSPACE, HOME = PurePosixPath("/workspace"), PurePosixPath("/home/agent")


def context(**members: Any) -> CallContext:
    return CallContext(
        **{"turn": 1, "attempt": 0, "call": 0, "prompt": "Do it.", "session": None, "workspace": WORKSPACE, "home": HOME, "model": MODEL, **members}
    )


def command(harness: str, agent: dict[str, Any] | None = None, **members: Any) -> Command:
    return make_harness(AgentConfig(harness, **(agent or {}))).command(context(**members))


def jsonl(*events: dict[str, Any] | str) -> bytes:
    return b"".join((event if isinstance(event, str) else json.dumps(event)).encode() + b"\n" for event in events)


def read(harness: str, folder: Path, out: bytes = b"", err: bytes = b"", end: dict[str, Any] | None = None, **members: Any) -> CallReport:
    (folder / "out").write_bytes(out)
    (folder / "err").write_bytes(err)
    ended = {"exit_code": 0, "signal": None, "seconds": 2.0, "expired": None, "stdout": folder / "out", "stderr": folder / "err", **(end or {})}
    return make_harness(AgentConfig(harness)).read(context(**members), CallEnd(**ended))


def steps(report: CallReport) -> list[tuple[Any, ...]]:
    """The steps as (kind, values…), the prompt left out; what has its default value is left out too."""
    return [_shown(step) for step in report.steps[1:]]


def _shown(step: Any) -> tuple[Any, ...]:
    values = [getattr(step, field.name) for field in attrs.fields(type(step)) if getattr(step, field.name) != field.default]
    return (type(step).__name__, *values)
