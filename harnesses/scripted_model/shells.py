"""Which tool of a CLI is its shell, and what its arguments are called: the one place that knows.

Names and arguments are those that the CLIs send in their requests; a tool of another name that takes a command is a shell too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from harnesses.scripted_model.answer import ToolCall
from harnesses.scripted_model.conversation import Conversation, Role, Tool

SUBMIT: Final = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
PURPOSE: Final = "Work on the server"
"""What a CLI that wants a description of each command is told."""


@attrs.frozen
class Shell:
    """How a tool is told a command.

    Attributes:
        command: the argument that takes it.
        extra: arguments that are given as well, where the tool has them.
        wrap: makes the argument's value out of the command.
    suicide: the command that kills the CLI. By default no more than the shell's parent: beyond that may be, where nothing is sandboxed, whoever runs the sweep.
    """

    command: str = "command"
    extra: Mapping[str, Any] = attrs.field(factory=dict)
    wrap: Callable[[str], Any] = str
    suicide: str = "kill -9 $PPID"


def _in_bash(command: str) -> list[str]:
    return ["bash", "-lc", command]


def _in_braces(command: str) -> str:
    return f"{{\n{command}\n}}"


def _in_list(command: str) -> list[str]:
    return [command]


SHELLS: Final[Mapping[str, Shell]] = {
    "bash": Shell(extra={"description": PURPOSE}),  # OpenCode, mini-swe-agent, mistral-vibe
    "Bash": Shell(extra={"description": PURPOSE}),  # Claude Code, Kimi Code
    "run_shell_command": Shell(extra={"description": PURPOSE, "is_background": False}),  # Qwen Code, Gemini CLI
    "exec_command": Shell("cmd", {"yield_time_ms": 30_000, "max_output_tokens": 10_000}),  # Codex CLI
    "shell": Shell(wrap=_in_bash),  # Codex CLI of old
    "Shell": Shell(extra={"description": PURPOSE}),  # kimi-cli
    "terminal": Shell(extra={"security_risk": "LOW", "summary": PURPOSE}, wrap=_in_braces, suicide="pkill -9 -f openhands_runner"),
    # OpenHands refuses several commands on lines of their own; its shells are children of tmux.
    "execute_bash": Shell(extra={"security_risk": "LOW"}),  # OpenHands of old
    "run_commands": Shell("commands", wrap=_in_list),  # Cline
    "execute_command": Shell(extra={"requires_approval": False}),  # Cline of old
}
"""By the tool's name."""

_COMMANDS: Final = ("command", "cmd", "commands", "script")


def shell_of(tools: Sequence[Tool]) -> Tool | None:
    """The shell among the tools, None when there is none: known names first, then whatever must be given a command."""
    known = [tool for tool in tools if tool.name in SHELLS and SHELLS[tool.name].command in _properties(tool)]
    likely = [tool for tool in tools if any(name in _required(tool) and name in _properties(tool) for name in _COMMANDS)]
    return next(iter(known or likely), None)


def suicide(tool: Tool) -> ToolCall:
    """The call of this shell that kills the CLI."""
    return call(tool, (SHELLS.get(tool.name) or Shell()).suicide)


def call(tool: Tool, command: str) -> ToolCall:
    """The call of this shell that runs a command; what else the tool demands gets a value that its schema allows."""
    properties = _properties(tool)
    shell = SHELLS.get(tool.name) or Shell(next(name for name in _COMMANDS if name in properties))
    arguments: dict[str, Any] = {shell.command: _fitting(properties[shell.command], command, shell)}
    arguments |= {name: value for name, value in shell.extra.items() if name in properties}
    arguments |= {name: filled(properties.get(name, {})) for name in _required(tool) if name not in arguments}
    return ToolCall(tool.name, json.dumps(arguments))


def closing(conversation: Conversation) -> ToolCall | None:
    """The call that ends the work, for CLIs that are told so by a command (mini-swe-agent says which); None where the last word does."""
    shell = shell_of(conversation.tools)
    told = shell is not None and any(SUBMIT in turn.text for turn in conversation.turns if turn.role is Role.USER)
    return call(shell, SUBMIT) if shell is not None and told else None


def _fitting(schema: Mapping[str, Any], command: str, shell: Shell) -> Any:
    """A tool of a known name may take a string where an older one took a list, or the other way round."""
    kind = str(schema.get("type", "")).lower()
    wrapped = shell.wrap(command)
    if kind == "array":
        return wrapped if isinstance(wrapped, list) else _in_list(command)
    return command if kind == "string" and not isinstance(wrapped, str) else wrapped


def filled(schema: Mapping[str, Any], text: str = PURPOSE) -> Any:
    """A value that a simple schema allows."""
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list) and branches and isinstance(branches[0], Mapping):
        return filled(branches[0], text)
    kind = schema.get("type")
    kind = str(kind[0] if isinstance(kind, list) and kind else kind).lower()
    match kind:
        case "object":
            properties = schema.get("properties") or {}
            wanted = schema.get("required") or list(properties)
            return {name: filled(properties.get(name) or {}, text) for name in wanted}
        case "array":
            return []
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return text


def _properties(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    found = tool.schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(tool: Tool) -> list[str]:
    found = tool.schema.get("required")
    return [str(name) for name in found] if isinstance(found, list) else []
