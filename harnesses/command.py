"""``harness = "command"``: any agent of one's own, described in the sweep file. See docs/how-to/own-agent.md."""

# ruff: noqa: RUF009 - key() makes an attrs field, which is what belongs there

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any, ClassVar, Final

import attrs

from harnesses.cli import CliHarness, CliOptions, new_session, registration
from harnesses.harness import CallContext, CallEnd, Command, ModelAccess, Program
from harnesses.reading import Reading, Steps
from harnesses.trajectory import step_of
from stamina.config.file import EnvName, Word
from stamina.config.keys import key
from stamina.config.kinds import AnyTable, Choice, Flag, Number, Text, Unexpected
from stamina.protocols import Protocol

PROMPT_FILE: Final = PurePosixPath(".prompt.md")
"""In HOME; what ``{prompt_file}`` names."""

_WORDS: Final = ("model", "base_url", "token", "context_window", "session", "prompt", "prompt_file", "workspace", "home")
_PLACE: Final = re.compile("{(" + "|".join(_WORDS) + ")}")


class PromptBy(StrEnum):
    """How the agent gets its prompt."""

    STDIN = "stdin"
    FILE = "file"
    ARGUMENT = "argument"


@attrs.frozen
class Pattern:
    """A regular expression with at most one group."""

    def read(self, value: Any) -> str:
        """See :class:`stamina.config.kinds.Kind`."""
        try:
            groups = re.compile(value).groups if isinstance(value, str) else 2
        except re.error as error:
            raise Unexpected(f"expected a regular expression: {error}") from error
        if groups > 1:
            raise Unexpected("expected a regular expression with at most one group")
        return str(value)

    def schema(self) -> dict[str, Any]:
        """See :class:`stamina.config.kinds.Kind`."""
        return {"type": "string", "format": "regex"}


@attrs.frozen
class CommandOptions(CliOptions):
    """An agent of one's own. Words in braces are filled in: model, base_url (without /v1), token, context_window, session, prompt, prompt_file, workspace,
    home."""

    first: tuple[Annotated[str, Text()], ...] = key('Program and arguments of the first call, such as `["agent", "--model", "{model}"]`.', ())
    later: tuple[Annotated[str, Text()], ...] = key("The same for calls that continue a session; by default `first`.", ())
    prompt: Annotated[PromptBy, Choice(PromptBy)] = key(
        "How it gets the prompt: on stdin, as the file `{prompt_file}`, or as the argument `{prompt}`.", PromptBy.STDIN
    )
    variables: Mapping[EnvName, Annotated[str, Text()]] = key(
        "Environment of each call, with words in braces; `env` is for what is the same for all.", attrs.Factory(dict)
    )
    files: Mapping[Word, Annotated[str, Text()]] = key("Files written before each call: path in HOME = content, with words in braces.", attrs.Factory(dict))
    session_given: Annotated[bool, Flag()] = key("The first call is given a session id, as `{session}`.", default=False)
    session_line: Annotated[str, Pattern()] | None = key("A line of output that has the session's id: a regular expression with one group.", None)
    session_event: Word | None = key('Where in a JSON line of output the session\'s id is, such as "session_id" or "thread.id".', None)
    done_line: Annotated[str, Pattern()] | None = key("A line of output that says that the work is done: a regular expression.", None)
    done_event: Annotated[dict[str, Any], AnyTable()] = key('A JSON line of output that says so: `{ type = "result", ok = true }`.', attrs.Factory(dict))
    done_exit: Annotated[bool, Flag()] = key("Exit code 0 says so. Without one of the three no call counts as completed.", default=False)
    state: tuple[Word, ...] = key("What in HOME holds the session.", ())
    idle_load: Annotated[float, Number(0, 1)] = key(
        "Share of one processor that the agent's own process, the one of `first`, uses while it waits (not what it starts): so much of it is no sign of work.",
        0.0,
    )
    version_command: tuple[Annotated[str, Text()], ...] = key("Prints the agent's version, which is then checked and recorded.", ())

    def __attrs_post_init__(self) -> None:
        if not self.first:
            raise Unexpected('harness command needs first = ["program", "argument", …]')
        if not (self.done_line or self.done_event or self.done_exit):
            raise Unexpected("say how one sees that a call has done its work: done_event, done_line or, if nothing else tells, done_exit = true")


@attrs.define
class CommandReading(Reading):
    """Output of which is known what the sweep file says. Lines in the form of ``trajectory.jsonl`` are the trajectory."""

    options: CommandOptions = attrs.field(kw_only=True)
    given: str | None = attrs.field(default=None, kw_only=True)

    def event(self, event: Mapping[str, Any]) -> Steps:
        """See :class:`Reading`. An agent that says anything has taken the session that it was given."""
        options = self.options
        self.session = self.session or self.given
        if options.session_event is not None:
            self.session = _at(event, options.session_event) or self.session
        self._look_at(json.dumps(event, ensure_ascii=False))
        if options.done_event and all(_at(event, path) == value for path, value in options.done_event.items()):
            self.succeed()
        step = step_of(event)
        return () if step is None else [step]

    def text(self, line: str) -> Steps:
        """See :class:`Reading`."""
        self.session = self.session or self.given
        self._look_at(line)
        return ()

    def ended(self, end: CallEnd, complaints: str) -> Steps:
        """See :class:`Reading`."""
        if self.options.done_exit and end.exit_code == 0:
            self.session = self.session or self.given
            self.succeed()
        return ()

    def _look_at(self, line: str) -> None:
        options = self.options
        if options.session_line is not None and (found := re.search(options.session_line, line)):
            self.session = found[found.re.groups]
        if options.done_line is not None and re.search(options.done_line, line):
            self.succeed()


def _at(event: Any, path: str) -> Any:
    for name in path.split("."):
        event = event.get(name) if isinstance(event, Mapping) else None
    return event


@attrs.frozen
class CommandHarness(CliHarness):
    """See the module."""

    options: CommandOptions = attrs.field(factory=CommandOptions)

    PROGRAM: ClassVar = Program("command", None, (), ())
    PROTOCOLS: ClassVar = tuple(Protocol)

    @property
    def program(self) -> Program | None:  # type: ignore[override]
        """None where the sweep file does not say how to ask for the version."""
        asked = self.options.version_command
        return Program(self.agent.name or self.name, self.agent.version, asked, self.options.state) if asked else None

    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """See :class:`CliHarness`."""
        options = self.options
        session = context.session or (new_session(context, model) if options.session_given else "")
        words = {
            "model": model.model,
            "base_url": model.base_url,
            "token": model.token,
            "context_window": str(model.context_window),
            "session": session,
            "prompt": context.prompt,
            "prompt_file": str(context.home / PROMPT_FILE),
            "workspace": str(context.workspace),
            "home": str(context.home),
        }

        def filled(text: str) -> str:
            return _PLACE.sub(lambda place: words[place[1]], text)

        template = options.later if context.session and options.later else options.first
        files = {PurePosixPath(path): filled(content).encode() for path, content in options.files.items()}
        if options.prompt is PromptBy.FILE:
            files[PROMPT_FILE] = context.prompt.encode()
        stdin = context.prompt.encode() if options.prompt is PromptBy.STDIN else b""
        env = {name: filled(value) for name, value in options.variables.items()}
        return Command((*map(filled, template), *self.agent.args), stdin, env, files, options.idle_load)

    def reading(self, context: CallContext) -> CommandReading:
        """See :class:`CliHarness`."""
        given = new_session(context, context.model) if self.options.session_given and context.model is not None else None
        return CommandReading(context.session, options=self.options, given=given)


REGISTRATION: Final = registration(CommandHarness, CommandOptions)
