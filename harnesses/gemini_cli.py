"""Gemini CLI. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, new_session, registration
from harnesses.failures import Failure, failure_in
from harnesses.harness import CallContext, CallEnd, Command, ModelAccess, Program
from harnesses.jsonlines import last_line
from harnesses.prompts import plain
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Message, Note, Role, Step, ToolCall, ToolResult
from stamina.protocols import Protocol

SETTINGS: Final = PurePosixPath(".gemini/settings.json")

ASSUMED_WINDOW: Final = 1_048_576
"""Tokens that it believes every model to have; there is no setting for it."""

COMPACT_AT: Final = 0.5
"""Its own share of the window at which it compacts."""

IDLE_LOAD: Final = 0.05
"""Several times what was measured of it while it waits: that is near what counts as work, and a slower machine needs more (docs/harnesses.md)."""

_BAD_SESSION: Final = 42
_BAD_SETTINGS: Final = (41, 52, 55)
_LIMIT: Final = 53


@attrs.define
class GeminiReading(Reading):
    """Its ``stream-json``. Answers come in pieces; exit codes are HTTP statuses, cut to eight bits. It tells of no compaction and no retry."""

    _said: list[str] = attrs.field(factory=list)
    _stuck: bool = False

    def event(self, event: Mapping[str, Any]) -> Steps:
        """See :class:`Reading`. Pieces of one answer are one message."""
        if event.get("type") == "message" and event.get("role") == "assistant" and isinstance(event.get("content"), str):
            self._said.append(event["content"])
            return ()
        found = Reading.event(self, event)
        return None if found is None else [*self._spoken(), *found]

    def on_init(self, event: Mapping[str, Any]) -> Steps:
        """The first event."""
        self.session = event["session_id"]
        return ()

    def on_message(self, event: Mapping[str, Any]) -> Steps:
        """The prompt, which is told already."""
        return () if event["role"] == "user" else None

    def on_tool_use(self, event: Mapping[str, Any]) -> Steps:
        """A tool call."""
        return [ToolCall(event["tool_id"], event["tool_name"], event.get("parameters"))]

    def on_tool_result(self, event: Mapping[str, Any]) -> Steps:
        """Its result."""
        failed = event.get("status") != "success"
        said = (event.get("error") or {}).get("message") if failed else None
        return [ToolResult(event["tool_id"], said or event.get("output"), failed)]

    def on_error(self, event: Mapping[str, Any]) -> Steps:
        """A warning, or that it ends the run because its model repeats itself; then the result says ``success``."""
        said = str(event.get("message"))
        self._stuck = self._stuck or failure_in(said) is Failure.STUCK
        return self.fail(Failure.STUCK, said) if self._stuck else [Note(said)]

    def on_result(self, event: Mapping[str, Any]) -> Steps:
        """The end of the run."""
        if event["status"] == "success":
            if not self._stuck:
                self.succeed()
            return ()
        return self.fail_of(str((event.get("error") or {}).get("message") or "the run failed"))

    def ended(self, end: CallEnd, complaints: str) -> Steps:
        """See :class:`Reading`."""
        if self.failure is None and end.exit_code == _BAD_SESSION:
            return self.fail(Failure.SESSION, _first_error(complaints))
        if self.failure is None and end.exit_code in _BAD_SETTINGS:
            return self.fail(Failure.START, _first_error(complaints))
        if end.exit_code == _LIMIT:
            return self.fail(Failure.LIMIT, "it reached its limit of turns in a session")
        return self._spoken()

    def _spoken(self) -> list[Step]:
        text = "".join(self._said)
        self._said.clear()
        return [Message(text, Role.AGENT)] if text else []


def _first_error(complaints: str) -> str:
    """The line that says what is wrong; advice follows it."""
    return next((line.strip() for line in complaints.splitlines() if line.startswith("Error")), last_line(complaints))


@attrs.frozen
class GeminiCli(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("gemini-cli", "0.61.0", ("gemini", "--version"), (".gemini",))
    PROTOCOLS: ClassVar = (Protocol.GEMINI,)

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        session = ("--resume", context.session) if context.session else ("--session-id", new_session(context, model))
        named = ("-m", model.model, "--approval-mode", "yolo", "--skip-trust", "-o", "stream-json")
        env = {"GEMINI_API_KEY": model.token, "GOOGLE_GEMINI_BASE_URL": model.base_url, "GEMINI_CLI_NO_RELAUNCH": "true"}
        settings = {SETTINGS: json.dumps(_settings(model), indent=1).encode()}
        return Command(("gemini", *named, *session, *self.agent.args), plain(context.prompt).encode(), env, settings, IDLE_LOAD)

    def reading(self, context: CallContext) -> GeminiReading:
        """See :class:`CliHarness`."""
        return GeminiReading(context.session)


def _settings(model: ModelAccess) -> dict[str, Any]:
    return {
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "model": {"compressionThreshold": COMPACT_AT * model.context_window / ASSUMED_WINDOW},
        "modelConfigs": {"customAliases": {"chat-compression-default": {"modelConfig": {"model": model.model}}}},
    }


REGISTRATION: Final = registration(GeminiCli)
