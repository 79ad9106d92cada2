"""Qwen Code. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import attrs

from harnesses.claude_code import ClaudeCodeReading
from harnesses.cli import CliHarness, new_session, registration
from harnesses.failures import Failure
from harnesses.harness import CallContext, CallEnd, Command, ModelAccess, Program
from harnesses.prompts import plain
from harnesses.reading import Steps
from harnesses.trajectory import Compaction, Note, Retry
from stamina.protocols import Protocol

SETTINGS: Final = PurePosixPath(".qwen/settings.json")

REQUEST_MILLISECONDS: Final = 3_600_000
"""How long it waits for an answer to begin: the gateway holds a request while its provider is away, and the sweep's own clocks end what hangs."""

_SPEAKS: Final = {
    Protocol.CHAT: ("openai", "OPENAI", "/v1"),
    Protocol.MESSAGES: ("anthropic", "ANTHROPIC", ""),
}
"""Its name of a protocol, the prefix of the protocol's variables, and what its address ends with."""

_BUDGETS: Final = (53, 55)
"""Exit codes of ``--max-session-turns``, ``--max-tool-calls`` and ``--max-wall-time``."""


@attrs.define
class QwenCodeReading(ClaudeCodeReading):
    """Its ``stream-json``, which is Claude Code's in most things. It tells of no compaction."""

    def on_system(self, event: Mapping[str, Any]) -> Steps:
        """What goes on around the conversation."""
        match event.get("subtype"):
            case "retry":
                return [Retry(event.get("data") or event.get("message"))]
            case "chat_compression" | "compact_boundary":
                return [Compaction()]
        return ()

    def on_result(self, event: Mapping[str, Any]) -> Steps:
        """The end of the run."""
        if event.get("is_error") or event.get("subtype") != "success":
            return self.fail_of(str((event.get("error") or {}).get("message") or event.get("result") or event.get("subtype")))
        self.succeed()
        return () if event.get("result") else [Note("it ended without a last word")]

    def ended(self, end: CallEnd, complaints: str) -> Steps:
        """See :class:`Reading`."""
        return self.fail(Failure.LIMIT, "it reached a limit of its own") if end.exit_code in _BUDGETS else ()


@attrs.frozen
class QwenCode(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("qwen-code", "0.24.4", ("qwen", "--version"), (".qwen",))
    PROTOCOLS: ClassVar = (Protocol.CHAT, Protocol.MESSAGES)

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        auth, prefix, version = _SPEAKS[self.protocol(model)]
        session = ("--resume", context.session) if context.session else ("--session-id", new_session(context, model))
        named = ("--auth-type", auth, "-m", model.model, "--yolo", "-o", "stream-json")
        env = {
            f"{prefix}_API_KEY": model.token,
            f"{prefix}_BASE_URL": f"{model.base_url}{version}",
            f"{prefix}_MODEL": model.model,
            "QWEN_CODE_NO_RELAUNCH": "1",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        }
        settings = {SETTINGS: json.dumps(_settings(auth, model), indent=1).encode()}
        return Command(("qwen", *named, *session, *self.agent.args), plain(context.prompt).encode(), env, settings)

    def reading(self, context: CallContext) -> QwenCodeReading:
        """See :class:`CliHarness`."""
        return QwenCodeReading(context.session)


def _settings(auth: str, model: ModelAccess) -> dict[str, Any]:
    return {
        "$version": 3,
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": auth}},
        "model": {"generationConfig": {"contextWindowSize": model.context_window, "timeout": REQUEST_MILLISECONDS}},
    }


REGISTRATION: Final = registration(QwenCode)
