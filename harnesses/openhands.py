"""OpenHands, through :mod:`harnesses.openhands_runner` on its SDK. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, new_session, registration
from harnesses.failures import Failure, failure_in
from harnesses.harness import CallContext, Command, ModelAccess, Program
from harnesses.kimi import text_of
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Compaction, Message, Note, Role, Step, ToolCall, ToolResult
from stamina.protocols import Protocol

STATE: Final = PurePosixPath(".openhands/conversations")

COMPACT_AT: Final = 0.8
"""Share of the window at which the old part of the conversation is summarised. The SDK counts messages only, not tools."""

_QUIET: Final = frozenset({"SystemPromptEvent", "ConversationStateUpdateEvent", "CondensationRequest", "PauseEvent", "TokenEvent", "StreamingDeltaEvent"})


@attrs.define
class OpenHandsReading(Reading):
    """The runner's events, most of which are the SDK's own."""

    def kind(self, event: Mapping[str, Any]) -> str:
        """The SDK's events have kinds of their own."""
        return str(event.get("kind") if event.get("type") == "event" else event.get("type", ""))

    def event(self, event: Mapping[str, Any]) -> Steps:
        """See :class:`Reading`."""
        if event.get("type") == "event" and event.get("kind") in _QUIET:
            return ()
        return Reading.event(self, event)

    def on_session(self, event: Mapping[str, Any]) -> Steps:
        """The first event."""
        self.session = event["session"]
        return ()

    def on_resume(self, event: Mapping[str, Any]) -> Steps:
        """The call before did not end by itself."""
        answered, lost = event["answered"], event["lost"]
        prompt = "the same prompt is not sent again" if event["prompt"] == "kept" else "its prompt stays in the conversation, before this one"
        calls = [f"tool calls that get a result that says so: {answered}"] * (answered > 0) + [f"tool calls that are not in the conversation: {lost}"] * (
            lost > 0
        )
        return [Note("; ".join(["the call before was interrupted", *calls, prompt]))]

    def on_messageevent(self, event: Mapping[str, Any]) -> Steps:
        """Something is said; the prompt is told already."""
        found = event["event"]
        message = found["llm_message"]
        if found["source"] == "user":
            return ()
        return [*_thought(message.get("reasoning_content")), Message(text_of(message["content"]), Role.AGENT if found["source"] == "agent" else Role.USER)]

    def on_actionevent(self, event: Mapping[str, Any]) -> Steps:
        """A tool call."""
        found = event["event"]
        said = text_of(found.get("thought"))
        call = found["tool_call"]
        return [*_thought(found.get("reasoning_content")), *([Message(said)] if said else []), ToolCall(found["tool_call_id"], call["name"], call["arguments"])]

    def on_observationevent(self, event: Mapping[str, Any]) -> Steps:
        """Its result."""
        found = event["event"]
        observation = found["observation"]
        code = observation.get("exit_code")
        failed = bool(observation.get("is_error"))
        return [ToolResult(found["tool_call_id"], text_of(observation.get("content")), failed, code if isinstance(code, int) else None)]

    def on_agenterrorevent(self, event: Mapping[str, Any]) -> Steps:
        """A call that could not be run; the model is told."""
        return [ToolResult(event["event"].get("tool_call_id"), event["event"]["error"], failed=True)]

    def on_condensation(self, event: Mapping[str, Any]) -> Steps:
        """The old part of the conversation was summarised."""
        return [Compaction(event["event"].get("summary"))]

    def on_condensationsummaryevent(self, event: Mapping[str, Any]) -> Steps:
        """What stands for the old part."""
        return ()

    def on_userrejectobservation(self, event: Mapping[str, Any]) -> Steps:
        """Nobody is there to reject anything."""
        return [Note(str(event["event"].get("rejection_reason")))]

    def on_conversationerrorevent(self, event: Mapping[str, Any]) -> Steps:
        """Why the run ends; the result follows."""
        found = event["event"]
        said = f"{found.get('code')}: {found.get('detail')}"
        return self.fail(Failure.LIMIT, said) if found.get("code") == "MaxIterationsReached" else self.fail_of(said)

    def on_result(self, event: Mapping[str, Any]) -> Steps:
        """The end of the run."""
        status, error = event["status"], event.get("error") or event["status"]
        match status:
            case "finished":
                self.succeed()
                return ()
            case "stuck":
                return self.fail(Failure.STUCK, "it did the same thing again and again")
            case "no_session":
                return self.fail(Failure.SESSION, error)
        if self.failure is not None and failure_in(error) is None:
            return ()
        return self.fail_of(error)


def _thought(text: Any) -> list[Step]:
    return [Message(text, thinking=True)] if text else []


@attrs.frozen
class OpenHands(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("openhands", "1.58.2", ("openhands-runner", "--version"), (".openhands",))
    PROTOCOLS: ClassVar = (Protocol.CHAT,)
    KEEPS_PROMPT: ClassVar = False

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        session = ("--session", context.session, "--resume") if context.session else ("--session", new_session(context, model))
        again = ("--again",) if context.session and context.call else ()
        window = model.context_window
        named = (
            "--model",
            f"openai/{model.model}",
            "--base-url",
            f"{model.base_url}/v1",
            "--window",
            str(window),
            "--compact-at",
            str(round(COMPACT_AT * window)),
        )
        argv = ("openhands-runner", "--state", str(context.home / STATE), *session, *again, *named, *self.agent.args)
        return Command(argv, context.prompt.encode(), {"LLM_API_KEY": model.token})

    def reading(self, context: CallContext) -> OpenHandsReading:
        """See :class:`CliHarness`."""
        return OpenHandsReading(context.session)


REGISTRATION: Final = registration(OpenHands)
