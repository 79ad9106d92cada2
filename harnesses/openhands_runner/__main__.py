"""One turn: the prompt comes on stdin, events go to stdout as JSON lines, the exit code says how it ended."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import traceback
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

EXIT: Final = {"finished": 0, "runner_error": 1, "no_session": 2, "stuck": 3, "error": 4}
"""Exit codes by status; any other status of the SDK's is 5, bad usage 2."""

OTHER: Final = 5
INTERRUPTED: Final = "it was interrupted before it ended; whether it took effect is not known"
"""The result of a tool call that was running when the process was killed."""


class Unreadable(Exception):
    """There is a saved conversation, which something has damaged: nothing will ever go on with it."""


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser("openhands_runner", description="One turn of a conversation with OpenHands.")
    parser.add_argument("--version", action="version", version=f"openhands-sdk {version('openhands-sdk')}")
    parser.add_argument("--state", type=Path, required=True, help="folder of the conversations")
    parser.add_argument("--session", type=uuid.UUID, required=True, help="the conversation's id, a UUID; begun when there is none")
    parser.add_argument("--resume", action="store_true", help="refuse to begin a new one")
    parser.add_argument("--again", action="store_true", help="the prompt is that of a call which failed: not sent again when the conversation ends with it")
    parser.add_argument("--model", required=True, help="as litellm names it, such as openai/NAME; its key is in LLM_API_KEY")
    parser.add_argument("--base-url", required=True, help="where the model is reached")
    parser.add_argument("--window", type=int, required=True, help="the model's context window in tokens")
    parser.add_argument("--compact-at", type=int, required=True, help="tokens from which the old part is summarised")
    parser.add_argument("--max-steps", type=int, default=500, help="steps of one turn at most; the SDK's own limit")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Play one turn; returns the exit code."""
    options = arguments().parse_args(argv)
    os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", OPENHANDS_SUPPRESS_BANNER="1")
    sys.stdout.flush()
    stream = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever else prints goes to stderr

    def tell(type: str, **fields: Any) -> None:
        stream.write(json.dumps({"type": type, **fields}).encode() + b"\n")

    begun = is_begun(options.state / options.session.hex / "base_state.json")
    if options.resume and not begun:
        tell("result", status="no_session", error=f"no saved session {options.session}", exit_code=EXIT["no_session"])
        return EXIT["no_session"]
    tell("session", session=str(options.session), resumed=begun, version=version("openhands-sdk"))
    prompt = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    status, error = "runner_error", ""
    try:
        agent = make_agent(options)
        try:
            conversation = open_conversation(options, agent, lambda event: tell("event", kind=type(event).__name__, event=event.model_dump(mode="json")))
            answered, lost = settle(conversation)
            kept = options.again and last_prompt(conversation) == prompt
        except (ValueError, LookupError, FileNotFoundError) as fault:
            if not begun:
                raise
            raise Unreadable(f"the saved session {options.session} cannot be read: {type(fault).__name__}: {fault}") from fault
        if answered or lost or kept:
            tell("resume", answered=answered, lost=lost, prompt="kept" if kept else "sent")
        if not kept:
            conversation.send_message(prompt)
        status, error = run(conversation)
    except Unreadable as fault:
        traceback.print_exc()
        status, error = "no_session", str(fault)
    except Exception as fault:
        traceback.print_exc()
        error = f"{type(fault).__name__}: {fault}"
    code = EXIT.get(status, OTHER)
    tell("result", status=status, error=error[:1000], exit_code=code)
    stream.flush()
    os._exit(code)  # the SDK's terminal would keep the process


def is_begun(base: Path) -> bool:
    """Whether there is a conversation. Where its state is empty or missing, the SDK would begin anew without a word."""
    try:
        return base.stat().st_size > 0
    except OSError:
        return False


def make_agent(options: argparse.Namespace) -> Any:
    """The SDK's own, in CLI mode."""
    from openhands.sdk import LLM, Agent, AgentContext
    from openhands.tools.preset.default import get_default_condenser, get_default_tools

    reach = {"model": options.model, "base_url": options.base_url, "api_key": os.environ["LLM_API_KEY"], "max_input_tokens": options.window}
    place = f"Your current working directory is: {os.getcwd()}\nUser operating system: {platform.system()} (kernel {platform.release()})"
    return Agent(
        llm=LLM(usage_id="agent", **reach),
        tools=get_default_tools(enable_browser=False),
        system_prompt_kwargs={"cli_mode": True},
        agent_context=AgentContext(skills=[], system_message_suffix=place, load_user_skills=False, load_public_skills=False),
        condenser=get_default_condenser(LLM(usage_id="condenser", **reach)).model_copy(update={"max_tokens": options.compact_at}),
    )


def open_conversation(options: argparse.Namespace, agent: Any, hear: Any) -> Any:
    """The conversation with this agent, from disk where there is one."""
    from openhands.sdk import Conversation
    from openhands.sdk.security.confirmation_policy import NeverConfirm

    conversation = Conversation(
        agent=agent,
        workspace=os.getcwd(),
        persistence_dir=str(options.state),
        conversation_id=options.session,
        callbacks=[hear],
        visualizer=None,
        max_iteration_per_run=options.max_steps,
    )
    conversation.set_confirmation_policy(NeverConfirm())
    return conversation


def settle(conversation: Any) -> tuple[int, int]:
    """Give tool calls that were running when the process died a result that says so; the SDK would run them once more. Returns their number, and that of the
    calls that the conversation has no part of any more, because the process died before it kept them."""
    from openhands.sdk.conversation.state import ConversationState
    from openhands.sdk.event import ActionEvent

    branch, events = conversation.state.active_branch(), list(conversation.state.events)
    pending = len(ConversationState.get_unmatched_actions(branch))
    if pending:
        conversation.reject_pending_actions(INTERRUPTED)
        conversation.state.rebuild_view()  # what is read from disk leaves calls without a result out: the model would be sent a result without a call
    kept = max((index for index, event in enumerate(events) if branch and event.id == branch[-1].id), default=len(events))
    return pending, sum(isinstance(event, ActionEvent) for event in events[kept + 1 :])


def last_prompt(conversation: Any) -> str | None:
    """The last thing that was asked, if what was asked has not been answered yet."""
    from openhands.sdk.event import MessageEvent

    if str(conversation.state.execution_status.value) == "finished":
        return None
    asked = [event for event in conversation.state.active_branch() if isinstance(event, MessageEvent) and event.source == "user"]
    return "\n".join(getattr(part, "text", "") for part in asked[-1].llm_message.content) if asked else None


def run(conversation: Any) -> tuple[str, str]:
    """Let it work; returns its status and what went wrong."""
    from openhands.sdk.conversation.exceptions import ConversationRunError

    try:
        conversation.run()
    except ConversationRunError as fault:
        return "error", str(fault)
    status = str(conversation.state.execution_status.value)
    return status, "" if status == "finished" else f"it ended as {status}"


if __name__ == "__main__":
    sys.exit(main())
