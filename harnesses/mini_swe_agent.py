"""mini-swe-agent, through :mod:`harnesses.mini_swe_runner`. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, registration
from harnesses.failures import Failure
from harnesses.harness import CallContext, Command, ModelAccess, Program
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Compaction, Message, Note, Retry, Role, Step, ToolCall, ToolResult
from stamina.protocols import Protocol

STATE: Final = PurePosixPath(".mini-swe-agent")
SESSION: Final = "main"
"""There is one conversation in a scenario."""

COMPACT_AT: Final = 0.8
"""Share of the window at which the conversation is summarised."""

_FAILURES: Final = {
    "format_error": Failure.TOOL_CALL,
    "limits_exceeded": Failure.LIMIT,
    "context_overflow": Failure.CONTEXT,
    "no_session": Failure.SESSION,
    "runner_error": Failure.CRASH,
}
_REFUSED: Final = range(400, 500)
_AGAIN: Final = (408, 429)


@attrs.define
class MiniSweReading(Reading):
    """The runner's events."""

    def on_session(self, event: Mapping[str, Any]) -> Steps:
        """The first event."""
        self.session = event["session"]
        return ()

    def on_message(self, event: Mapping[str, Any]) -> Steps:
        """What is added to the conversation; the prompt is told already, and the system message is always the same."""
        message = event["message"]
        match message["role"]:
            case "assistant":
                calls = [ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
                return [*([Message(message["content"])] if message.get("content") else []), *calls]
            case "tool":
                code = event.get("returncode")
                return [ToolResult(message["tool_call_id"], message["content"], code not in (0, None), code)]
            case "user" if event.get("kind") != "prompt":
                return [Message(message["content"], Role.USER)]
        return ()

    def on_retry(self, event: Mapping[str, Any]) -> Steps:
        """A request to the model is repeated."""
        return [Retry(event["reason"])]

    def on_resume(self, event: Mapping[str, Any]) -> Steps:
        """The call before did not end by itself."""
        prompt = "the same prompt is not sent again" if event["prompt"] == "kept" else "its prompt stays in the conversation, before this one"
        return [Note(f"the turn before was interrupted: {prompt}")]

    def on_compaction(self, event: Mapping[str, Any]) -> Steps:
        """The old part of the conversation was summarised, or dropped when there was no summary to be had."""
        made = "a summary" if event["summary"] else "nothing, since the model gave no summary"
        return [Compaction(f"{event['messages']} messages replaced by {made}: about {event['before']} tokens before, {event['after']} after")]

    def on_error(self, event: Mapping[str, Any]) -> Steps:
        """Something that the run survives."""
        return [Note(event["error"])]

    def on_result(self, event: Mapping[str, Any]) -> Steps:
        """The end of the run."""
        status, error = event["status"], event.get("error") or event["status"]
        if status == "submitted":
            self.succeed()
            return [Message(event["final"])] if event.get("final") else ()
        if status == "model_error":
            return self._model_failed(error, event.get("http_status"))
        return self.fail(_FAILURES.get(status, Failure.CRASH), error)

    def _model_failed(self, error: str, status: int | None) -> list[Step]:
        refused = status in _REFUSED and status not in _AGAIN
        return self.fail_of(error) if refused else self.fail(Failure.PROVIDER, error)


@attrs.frozen
class MiniSweAgent(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("mini-swe-agent", "2.4.6", ("mini-swe-runner", "--version"), (str(STATE),))
    PROTOCOLS: ClassVar = (Protocol.CHAT,)
    KEEPS_PROMPT: ClassVar = False

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        session = ("--state", str(context.home / STATE), "--session", context.session or SESSION, *(("--resume",) if context.session else ()))
        reach = ("--model", f"openai/{model.model}", "--base-url", f"{model.base_url}/v1", "--compact-at", str(round(COMPACT_AT * model.context_window)))
        return Command(("mini-swe-runner", *session, *reach, *self.agent.args), context.prompt.encode(), {"OPENAI_API_KEY": model.token})

    def reading(self, context: CallContext) -> MiniSweReading:
        """See :class:`CliHarness`."""
        return MiniSweReading(context.session)


REGISTRATION: Final = registration(MiniSweAgent)
