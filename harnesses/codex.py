"""Codex CLI. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, registration
from harnesses.failures import Failure
from harnesses.harness import CallContext, Command, ModelAccess, Program
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Compaction, Message, Retry, Step, ToolCall, ToolResult, Trouble
from stamina.protocols import Protocol

KEY: Final = "GATEWAY_TOKEN"
CONFIG: Final = PurePosixPath(".codex/config.toml")

COMPACT_AT: Final = 0.9
"""Share of the window at which it compacts; what it does by itself for models that it knows."""


@attrs.define
class CodexReading(Reading):
    """Its JSON events. Tool calls that it could not read are told nowhere on stdout."""

    QUIET: ClassVar = frozenset({"turn.started", "item.updated"})
    _begun: set[str] = attrs.field(factory=set)

    def on_thread_started(self, event: Mapping[str, Any]) -> Steps:
        """The first event."""
        self.session = event["thread_id"]
        return ()

    def on_item_started(self, event: Mapping[str, Any]) -> Steps:
        """A tool is being run."""
        item = event["item"]
        call = _call(item)
        if call is None:
            return ()
        self._begun.add(str(item["id"]))
        return [call]

    def on_item_completed(self, event: Mapping[str, Any]) -> Steps:
        """A message, or a tool's result."""
        item = event["item"]
        match item["type"]:
            case "agent_message":
                return [Message(item["text"])]
            case "reasoning":
                return [Message(item["text"], thinking=True)]
            case "error":
                return [Trouble(Failure.CRASH, item.get("message"))] if not _warning(item) else ()
            case "context_compaction" | "compaction":
                return [Compaction()]
            case "todo_list":
                return ()
        call = _call(item)
        if call is None:
            return None
        result = ToolResult(item["id"], _result(item), item.get("status") in ("failed", "declined"), item.get("exit_code"))
        return [result] if str(item["id"]) in self._begun else [call, result]

    def on_error(self, event: Mapping[str, Any]) -> Steps:
        """It asks again, or gives up: then ``turn.failed`` follows."""
        return [Retry(event["message"])] if event["message"].startswith("Reconnecting") else ()

    def on_turn_completed(self, event: Mapping[str, Any]) -> Steps:
        """The end of a run that went well."""
        self.succeed()
        return ()

    def on_turn_failed(self, event: Mapping[str, Any]) -> list[Step]:
        """The end of one that did not."""
        return self.fail_of(str((event.get("error") or {}).get("message", "turn failed")))


def _warning(item: Mapping[str, Any]) -> bool:
    """Whether an error item is only that the model is none that it knows."""
    return str(item.get("message", "")).startswith("Model metadata for")


def _call(item: Mapping[str, Any]) -> ToolCall | None:
    """The call that an item is about; None for items that are no tools."""
    match item["type"]:
        case "command_execution":
            return ToolCall(item["id"], "exec_command", {"command": item.get("command")})
        case "file_change":
            return ToolCall(item["id"], "apply_patch", {"changes": item.get("changes")})
        case "mcp_tool_call" | "collab_tool_call":
            return ToolCall(item["id"], f"{item.get('server', item['type'])}.{item.get('tool')}", item.get("arguments"))
        case "web_search":
            return ToolCall(item["id"], "web_search", {"query": item.get("query")})
    return None


def _result(item: Mapping[str, Any]) -> Any:
    return item.get("aggregated_output", item.get("result", item.get("status")))


@attrs.frozen
class Codex(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("codex", "0.171.0", ("codex", "--version"), (".codex/sessions", ".codex/config.toml"))
    PROTOCOLS: ClassVar = (Protocol.RESPONSES,)

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        resume = ("resume",) if context.session else ()
        named = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *self.agent.args)
        session = (context.session,) if context.session else ()
        return Command(("codex", "exec", *resume, *named, *session, "-"), context.prompt.encode(), {KEY: model.token}, {CONFIG: _config(model).encode()})

    def reading(self, context: CallContext) -> CodexReading:
        """See :class:`CliHarness`."""
        return CodexReading(context.session)


def _config(model: ModelAccess) -> str:
    """In the file, not in options: what only an option says is forgotten when a session is continued."""
    return f"""\
model = {json.dumps(model.model)}
model_provider = "gateway"
model_context_window = {model.context_window}
model_auto_compact_token_limit = {round(COMPACT_AT * model.context_window)}
review_model = {json.dumps(model.model)}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"

[model_providers.gateway]
name = "gateway"
base_url = {json.dumps(f"{model.base_url}/v1")}
env_key = "{KEY}"
wire_api = "responses"

[analytics]
enabled = false

[otel]
exporter = "none"

[features]
plugins = false
"""


REGISTRATION: Final = registration(Codex)
