"""Mistral Vibe. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, registration
from harnesses.failures import Failure, failure_in
from harnesses.harness import CallContext, CallEnd, Command, ModelAccess, Program
from harnesses.jsonlines import last_line
from harnesses.kimi import text_of
from harnesses.prompts import plain
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Compaction, Message, Note, Role, Step, ToolCall, ToolResult
from stamina.protocols import Protocol

CONFIG: Final = PurePosixPath(".vibe/config.toml")
KEY: Final = "GATEWAY_TOKEN"

IDLE_LOAD: Final = 0.05
"""Several times what was measured of it while it waits: that is near what counts as work, and a slower machine needs more (docs/harnesses.md)."""

_STYLES: Final = {Protocol.CHAT: ("openai", "/v1"), Protocol.MESSAGES: ("anthropic", ""), Protocol.RESPONSES: ("openai-responses", "/v1")}

UNTOLD: Final = (
    "if it was killed before, it has first gone on with the interrupted turn by itself: the gateway's records have those requests, its output has nothing"
)

_UNFINISHED: Final = 3
"""It was stopped by one of its own limits, or by a signal."""


@attrs.define
class VibeReading(Reading):
    """Its ``streaming`` output: each entry of the session as one line, once it is complete. Exit codes say what became of the run: 0 finished, 1 refused, 2 the
    model or its own server failed, 3 stopped, 4 given up.

    Attributes:
        repeats: this call repeats one that failed.
    """

    repeats: bool = False

    def event(self, event: Mapping[str, Any]) -> Steps:
        """See :class:`Reading`. Every entry names the session."""
        self.session = event.get("sessionId") if isinstance(event.get("sessionId"), str) else self.session
        return Reading.event(self, event)

    def on_message(self, event: Mapping[str, Any]) -> Steps:
        """Something is said; the prompt is told already. The model's last message ends the run, if nothing comes after it."""
        self.finished = event["role"] == "assistant"
        text = text_of(event["content"])
        if event["role"] == "user":
            return () if event.get("source") == "turn_start" else [Message(text, Role.USER)]
        return [Message(text)] if text else ()

    def on_effect(self, event: Mapping[str, Any]) -> Steps:
        """A tool call with its result."""
        self.finished = False
        detail, state = event["detail"], event.get("state") or {}
        failed = state.get("status") != "completed" or (state.get("display") or {}).get("success") is False
        said = state.get("outputText") or state.get("output") or state.get("error")
        return [ToolCall(event["id"], detail["toolName"], detail.get("input")), ToolResult(event["id"], said, failed)]

    def on_checkpoint(self, event: Mapping[str, Any]) -> Steps:
        """The conversation was summarised, or something else was noted."""
        said = f"{event.get('message')} {json.dumps(event.get('details'))}"
        return [Compaction(said) if event["kind"] == "compaction" else Note(said)]

    def on_reasoning(self, event: Mapping[str, Any]) -> Steps:
        """The model's thinking."""
        return [Message(text_of(event["content"]), thinking=True)]

    def ended(self, end: CallEnd, complaints: str) -> Steps:
        """See :class:`Reading`. What the CLI does before it takes the prompt is in no output of its."""
        noted = [Note(UNTOLD)] if self.repeats else []
        return [*noted, *self._exit(end, complaints)]

    def _exit(self, end: CallEnd, complaints: str) -> list[Step]:
        if end.exit_code in (0, None):
            return []
        said = next((line for line in reversed(complaints.splitlines()) if line.startswith("Error")), last_line(complaints))
        if end.exit_code == _UNFINISHED:
            by_signal = Failure.SELF_KILL if "terminated" in said else Failure.LIMIT
            return self.fail(failure_in(said) or by_signal, said or "it stopped before it had finished")
        return self.fail(_kind(said), said or f"exit code {end.exit_code}")


def _kind(said: str) -> Failure:
    if "app-server did not start" in said:
        return Failure.START
    if "app-server closed" in said:  # the shell's parent: what an agent that kills too much kills
        return Failure.SELF_KILL
    if "Invalid API key" in said or "backend" in said.lower():
        return failure_in(said) or Failure.PROVIDER
    return failure_in(said) or Failure.CRASH


@attrs.frozen
class Vibe(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("vibe", "3.0.2", ("vibe", "--version"), (".vibe",))
    PROTOCOLS: ClassVar = (Protocol.CHAT, Protocol.MESSAGES, Protocol.RESPONSES)

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        session = ("--resume", context.session) if context.session else ()
        named = ("-p", "--auto-approve", "--trust", "--output", "streaming")
        env = {KEY: model.token, "VIBE_TEST_DISABLE_KEYRING": "1"}
        files = {CONFIG: self._config(model).encode()}
        return Command(("vibe", *named, *session, *self.agent.args), plain(context.prompt).encode(), env, files, IDLE_LOAD)

    def reading(self, context: CallContext) -> VibeReading:
        """See :class:`CliHarness`."""
        return VibeReading(context.session, repeats=context.session is not None and context.call > 0)

    def _config(self, model: ModelAccess) -> str:
        style, version = _STYLES[self.protocol(model)]
        return f"""\
active_model = "main"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
enable_notifications = false
enable_connectors = false
enable_otel = false

[experiments]
enable = false

[session_logging]
generate_titles = false

[[providers]]
name = "gateway"
api_base = {json.dumps(f"{model.base_url}{version}")}
api_key_env_var = "{KEY}"
api_style = "{style}"
backend = "generic"

[[models]]
name = {json.dumps(model.model)}
alias = "main"
provider = "gateway"
max_context_length = {model.context_window}
"""


REGISTRATION: Final = registration(Vibe)
