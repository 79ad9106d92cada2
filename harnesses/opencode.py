"""OpenCode. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, registration
from harnesses.harness import CallContext, Command, ModelAccess, Program
from harnesses.prompts import plain
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Message, Step, ToolCall, ToolResult
from stamina.protocols import Protocol

KEY: Final = "GATEWAY_TOKEN"
MOST_OUTPUT: Final = 32_000
"""What OpenCode asks for at most where nothing is said; a window that is named needs an output that is named."""

IDLE_LOAD: Final = 0.12
"""Twice the most that was measured of it while it waits (docs/harnesses.md)."""

_PACKAGES: Final = {
    Protocol.CHAT: ("@ai-sdk/openai-compatible", "/v1"),
    Protocol.RESPONSES: ("@ai-sdk/openai", "/v1"),
    Protocol.MESSAGES: ("@ai-sdk/anthropic", "/v1"),
}
_ENV: Final = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}


@attrs.define
class OpenCodeReading(Reading):
    """Its JSON events. Nothing comes before the first answer of the model, so a call that ends earlier has no session yet."""

    def event(self, event: Mapping[str, Any]) -> Steps:
        """See :class:`Reading`. Every event names the session."""
        self.session = event.get("sessionID") or self.session
        return Reading.event(self, event)

    def on_step_start(self, event: Mapping[str, Any]) -> Steps:
        """A request to the model is answered."""
        self.finished = False
        return ()

    def on_step_finish(self, event: Mapping[str, Any]) -> Steps:
        """It goes on after ``tool-calls`` and ``unknown``; anything else ends the run."""
        if event["part"].get("reason") not in ("tool-calls", "unknown"):
            self.succeed()
        return ()

    def on_text(self, event: Mapping[str, Any]) -> Steps:
        """A message."""
        return [Message(event["part"]["text"])]

    def on_reasoning(self, event: Mapping[str, Any]) -> Steps:
        """The model's thinking."""
        return [Message(event["part"]["text"], thinking=True)]

    def on_tool_use(self, event: Mapping[str, Any]) -> Steps:
        """A tool call with its result."""
        part = event["part"]
        state, metadata = part["state"], part["state"].get("metadata") or {}
        failed = state.get("status") == "error"
        call = ToolCall(part.get("callID"), part["tool"], state.get("input"))
        return [call, ToolResult(part.get("callID"), state.get("error" if failed else "output"), failed, metadata.get("exit"))]

    def on_error(self, event: Mapping[str, Any]) -> list[Step]:
        """The run has failed."""
        error = event["error"]
        data = error.get("data") or {}
        return self.fail_of(f"{error.get('name', 'error')}: {data.get('message', '')}")


@attrs.frozen
class OpenCode(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("opencode", "1.18.33", ("opencode", "--version"), (".local/share/opencode", ".local/state/opencode", ".config/opencode"))
    PROTOCOLS: ClassVar = (Protocol.CHAT, Protocol.MESSAGES, Protocol.RESPONSES)

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        session = ("-s", context.session) if context.session else ()
        named = ("--format", "json", "--auto", "--title", "task", "-m", f"gateway/{model.model}")
        env = {**_ENV, KEY: model.token, "OPENCODE_CONFIG_CONTENT": json.dumps(self._config(model))}
        argv = ("opencode", "run", *named, *session, *self.agent.args)
        return Command(argv, plain(context.prompt).encode(), env, idle_load=IDLE_LOAD)

    def reading(self, context: CallContext) -> OpenCodeReading:
        """See :class:`CliHarness`."""
        return OpenCodeReading(context.session)

    def _config(self, model: ModelAccess) -> dict[str, Any]:
        package, version = _PACKAGES[self.protocol(model)]
        window = model.context_window
        return {
            "$schema": "https://opencode.ai/config.json",
            "autoupdate": False,
            "share": "disabled",
            "permission": "allow",
            "provider": {
                "gateway": {
                    "npm": package,
                    "name": "gateway",
                    "options": {"baseURL": f"{model.base_url}{version}", "apiKey": f"{{env:{KEY}}}"},
                    "models": {model.model: {"name": model.model, "limit": {"context": window, "output": min(MOST_OUTPUT, window // 2)}}},
                }
            },
            "model": f"gateway/{model.model}",
            "small_model": f"gateway/{model.model}",
        }


REGISTRATION: Final = registration(OpenCode)
