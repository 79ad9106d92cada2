"""Claude Code. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, new_session, registration
from harnesses.failures import Failure
from harnesses.harness import CallContext, Command, ModelAccess, Program
from harnesses.prompts import plain
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Compaction, Message, Note, Retry, Role, Step, ToolCall, ToolResult
from stamina.protocols import Protocol

IDLE_LOAD: Final = 0.05
"""Several times what was measured of it while it waits: that is near what counts as work, and a slower machine needs more (docs/harnesses.md)."""

_MODELS: Final = (
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
)
"""Whatever it asks a model for, and whichever of its names a sub-agent is given."""


@attrs.define
class ClaudeCodeReading(Reading):
    """Its ``stream-json``."""

    QUIET: ClassVar = frozenset({"rate_limit_event", "stream_event", "tool_progress", "tool_use_summary", "prompt_suggestion"})

    def event(self, event: Mapping[str, Any]) -> Steps:
        """See :class:`Reading`."""
        if event.get("type") == "system" and event.get("subtype") == "init":
            self.session = event.get("session_id") or self.session
        return Reading.event(self, event)

    def on_system(self, event: Mapping[str, Any]) -> Steps:
        """What goes on around the conversation."""
        match event.get("subtype"):
            case "api_retry":
                status = event.get("error_status")
                return [Retry(str(event.get("error") or f"attempt {event.get('attempt')}"), status if isinstance(status, int) else None)]
            case "compact_boundary":
                return [Compaction(event.get("compact_metadata"))]
            case "init" | "status" | "hook_started" | "hook_response" | "hook_progress" | "task_started" | "task_progress" | "task_notification":
                return ()
            case _:
                return ()

    def on_assistant(self, event: Mapping[str, Any]) -> Steps:
        """The model's answer."""
        return list(_blocks(event["message"]["content"], Role.AGENT))

    def on_user(self, event: Mapping[str, Any]) -> Steps:
        """What tools gave back, and what the CLI says in the user's place."""
        return list(_blocks(event["message"]["content"], Role.USER))

    def on_result(self, event: Mapping[str, Any]) -> Steps:
        """The end of the run. ``subtype`` is ``success`` for many failures too: ``is_error`` tells."""
        said = event.get("result") or "; ".join(map(str, event.get("errors") or ()))
        if event.get("subtype") == "error_max_turns":
            return self.fail(Failure.LIMIT, said or "it took more turns than --max-turns allows")
        if event.get("is_error") or event.get("subtype") != "success":
            reason = event.get("terminal_reason") or event.get("subtype")
            return self.fail_of(f"{reason}: {said}")
        self.succeed()
        return () if said else [Note("it ended without a last word")]


def _blocks(content: Any, role: Role) -> Iterator[Step]:
    """The parts of a message."""
    if isinstance(content, str):
        yield Message(content, role)
        return
    for block in content:
        match block.get("type"):
            case "text":
                yield Message(block["text"], role)
            case "thinking":
                yield Message(block["thinking"], role, thinking=True)
            case "tool_use" | "server_tool_use":
                yield ToolCall(block.get("id"), block["name"], block.get("input"))
            case "tool_result":
                yield ToolResult(block.get("tool_use_id"), _plain(block.get("content")), bool(block.get("is_error")))


def _plain(content: Any) -> Any:
    """The text of a tool's result, whose parts may be images and references too."""
    if not isinstance(content, list):
        return content
    return "\n".join(part["text"] if part.get("type") == "text" else f"({part.get('type')})" for part in content)


@attrs.frozen
class ClaudeCode(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("claude-code", "2.1.332", ("claude", "--version"), (".claude", ".claude.json"))
    PROTOCOLS: ClassVar = (Protocol.MESSAGES,)

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        session = ("--resume", context.session) if context.session else ("--session-id", new_session(context, model))
        named = ("--model", model.model, "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose")
        env = {
            "ANTHROPIC_BASE_URL": model.base_url,
            "ANTHROPIC_API_KEY": model.token,
            **dict.fromkeys(_MODELS, model.model),
            "CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(model.context_window),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        return Command(("claude", "-p", *named, *session, *self.agent.args), plain(context.prompt).encode(), env, idle_load=IDLE_LOAD)

    def reading(self, context: CallContext) -> ClaudeCodeReading:
        """See :class:`CliHarness`."""
        return ClaudeCodeReading(context.session)


REGISTRATION: Final = registration(ClaudeCode)
