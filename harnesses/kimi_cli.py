"""Kimi CLI, which the paper used; :mod:`harnesses.kimi` is its successor. See docs/harnesses.md for what each setting is for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, new_session, registration
from harnesses.failures import Failure, failure_in
from harnesses.harness import CallContext, CallEnd, Command, ModelAccess, Program
from harnesses.jsonlines import last_line
from harnesses.kimi import answer, text_of
from harnesses.prompts import plain
from harnesses.reading import Reading, Steps
from harnesses.trajectory import Note, ToolResult
from stamina.protocols import Protocol

CONFIG: Final = PurePosixPath(".kimi/config.toml")

_TYPES: Final = {Protocol.CHAT: "openai_legacy", Protocol.RESPONSES: "openai_responses"}

_RETRYABLE: Final = 75
"""Its exit code when the model failed in a way that may pass."""

_WIDTH: Final = 80
_MOST_SAID: Final = 2000

_FAILED: Final = re.compile(r"<system>ERROR: ")
_EXIT_CODE: Final = re.compile(r"exit code: (\d+)")


@attrs.define
class KimiCliReading(Reading):
    """Its ``stream-json``: messages of a chat, and no more. What went wrong is text on stdout, in lines of 80 characters; the exit code says of which kind."""

    _said: str = ""

    def kind(self, event: Mapping[str, Any]) -> str:
        """Messages have a role; what else there is shows by its keys."""
        if "role" in event:
            return str(event["role"])
        return "notification" if "category" in event else "plan" if "file_path" in event else str(event.get("type", ""))

    def on_assistant(self, event: Mapping[str, Any]) -> Steps:
        """The model's answer; the one that calls no tool ends the run."""
        steps = answer(event)
        if not event.get("tool_calls"):
            self.succeed()
        return steps

    def on_tool(self, event: Mapping[str, Any]) -> Steps:
        """What a tool gave back."""
        self.finished = False
        text = text_of(event.get("content"))
        code = _EXIT_CODE.search(text.partition("\n")[0])
        return [ToolResult(event["tool_call_id"], text, _FAILED.match(text) is not None, int(code[1]) if code else None)]

    def on_notification(self, event: Mapping[str, Any]) -> Steps:
        """Something in the background."""
        return [Note(f"{event['title']}: {event['body']}")]

    def on_plan(self, event: Mapping[str, Any]) -> Steps:
        """A plan that the agent wrote."""
        return [Note(f"plan: {event['content']}")]

    def text(self, line: str) -> Steps:
        """See :class:`Reading`."""
        self._said = (self._said + line + (" " if len(line) < _WIDTH else ""))[-_MOST_SAID:]
        return ()

    def ended(self, end: CallEnd, complaints: str) -> Steps:
        """See :class:`Reading`."""
        if end.exit_code in (0, None):
            return ()
        said = self._said.strip() or last_line(complaints) or f"exit code {end.exit_code}"
        if end.exit_code == _RETRYABLE:
            return self.fail(Failure.PROVIDER, said)
        if "Max number of steps reached" in said:
            return self.fail(Failure.LIMIT, said)
        return self.fail(failure_in(said) or (Failure.PROVIDER if "Error code: 4" in said else Failure.CRASH), said)


@attrs.frozen
class KimiCli(CliHarness):
    """See the module."""

    PROGRAM: ClassVar = Program("kimi-cli", "1.34.0", ("kimi", "--version"), (".kimi",))
    PROTOCOLS: ClassVar = (Protocol.CHAT, Protocol.RESPONSES)

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        argv = ("kimi", "--print", "--output-format", "stream-json", "--session", _session(context, model), *self.agent.args)
        return Command(argv, plain(context.prompt).encode(), {}, {CONFIG: self._config(model).encode()})

    def reading(self, context: CallContext) -> KimiCliReading:
        """See :class:`CliHarness`. It never says what its session is; it begins the one that it is told, where there is none."""
        return KimiCliReading(context.session or (_session(context, context.model) if context.model else None))

    def _config(self, model: ModelAccess) -> str:
        return f"""\
default_model = "main"

[models.main]
provider = "gateway"
model = {json.dumps(model.model)}
max_context_size = {model.context_window}

[providers.gateway]
type = "{_TYPES[self.protocol(model)]}"
base_url = {json.dumps(f"{model.base_url}/v1")}
api_key = {json.dumps(model.token)}
"""


def _session(context: CallContext, model: ModelAccess) -> str:
    return context.session or new_session(context, model)


REGISTRATION: Final = registration(KimiCli)
