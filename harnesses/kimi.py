"""Kimi Code, the successor of the paper's Kimi CLI. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, registration
from harnesses.failures import Failure, failure_in
from harnesses.harness import CallContext, CallEnd, Command, ModelAccess, Program
from harnesses.jsonlines import last_line
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Message, Retry, Role, Step, ToolCall, ToolResult
from stamina.protocols import Protocol

IDLE_LOAD: Final = 0.12
"""Twice the most that was measured of it while it waits (docs/harnesses.md)."""

_TYPES: Final = {Protocol.CHAT: ("openai", "/v1"), Protocol.MESSAGES: ("anthropic", "")}


@attrs.define
class KimiReading(Reading):
    """Its ``stream-json``: messages of a chat, and ``meta`` lines. The session's id comes last, and only when all went well; failures are told on stderr."""

    def kind(self, event: Mapping[str, Any]) -> str:
        """Messages have a role instead of a type."""
        return str(event.get("type") if event.get("role") == "meta" else event.get("role", ""))

    def on_assistant(self, event: Mapping[str, Any]) -> Steps:
        """The model's answer."""
        return answer(event)

    def on_tool(self, event: Mapping[str, Any]) -> Steps:
        """What a tool gave back."""
        return [ToolResult(event["tool_call_id"], text_of(event.get("content")))]

    def on_user(self, event: Mapping[str, Any]) -> Steps:
        """What the CLI says in the user's place."""
        return [Message(text_of(event.get("content")), Role.USER)]

    def on_system_version(self, event: Mapping[str, Any]) -> Steps:
        """The first line."""
        return ()

    def on_turn_step_retrying(self, event: Mapping[str, Any]) -> Steps:
        """It asks the model again."""
        status = event.get("status_code")
        return [Retry(event.get("error") or f"attempt {event.get('attempt')}", status if isinstance(status, int) else None)]

    def on_session_resume_hint(self, event: Mapping[str, Any]) -> Steps:
        """The last line of a run that went well."""
        self.session = event["session_id"]
        self.succeed()
        return ()

    def ended(self, end: CallEnd, complaints: str) -> Steps:
        """See :class:`Reading`. ``error: failed to run prompt: KIND: TEXT`` is followed by where the log is."""
        said = next((line for line in reversed(complaints.splitlines()) if line.startswith("error: ")), "")
        if end.exit_code in (0, None) or not said:
            return ()
        provider = "provider." in said and failure_in(said) in (None, Failure.PROVIDER)
        return self.fail(Failure.PROVIDER, last_line(said)) if provider else self.fail_of(last_line(said))


def answer(message: Mapping[str, Any]) -> list[Step]:
    """The steps of an assistant message of a chat."""
    thought = message.get("reasoning_content")
    text = text_of(message.get("content"))
    calls = [ToolCall(call.get("id"), call["function"]["name"], call["function"].get("arguments")) for call in message.get("tool_calls") or ()]
    return [*([Message(thought, thinking=True)] if thought else []), *([Message(text)] if text else []), *calls]


def text_of(content: Any) -> str:
    """The text of a message's content, whichever form it has."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


@attrs.frozen
class Kimi(CliHarness):
    """See the module. It continues the last session of its workspace, or begins one where there is none, so no id is needed."""

    PROGRAM: ClassVar = Program("kimi", "2.1.0", ("kimi-stdin", "--version"), (".kimi-code",))
    PROTOCOLS: ClassVar = (Protocol.CHAT, Protocol.MESSAGES)

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        kind, version = _TYPES[self.protocol(model)]
        env = {
            "KIMI_MODEL_NAME": model.model,
            "KIMI_MODEL_API_KEY": model.token,
            "KIMI_MODEL_BASE_URL": f"{model.base_url}{version}",
            "KIMI_MODEL_PROVIDER_TYPE": kind,
            "KIMI_MODEL_MAX_CONTEXT_SIZE": str(model.context_window),
            "KIMI_DISABLE_TELEMETRY": "1",
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
        }
        argv = ("kimi-stdin", "--output-format", "stream-json", "--continue", *self.agent.args)
        return Command(argv, context.prompt.encode(), env, idle_load=IDLE_LOAD)

    def reading(self, context: CallContext) -> KimiReading:
        """See :class:`CliHarness`."""
        return KimiReading(context.session)


REGISTRATION: Final = registration(Kimi)
