"""The prompts: the opening of turn 0 and the change request of every later turn."""

from __future__ import annotations

from collections.abc import Sequence

from stamina.domain import ScenarioOptions
from stamina.rest.apply import transformed
from stamina.rest.changes import Change
from stamina.rest.prose.changes import describe_change
from stamina.rest.schema import State
from stamina.words import counted

_CLOSING = "All else stays as it is. README.md still applies, and `bash run_server.sh PORT` must still start the server."


def opening(options: ScenarioOptions) -> str:
    """The prompt of turn 0."""
    return (
        "Write the HTTP server that `initial_specification.md` describes, in the way that `README.md` lays down; read both files in full first. "
        f"`bash run_server.sh PORT` must start it and have it answer within {options.start_seconds} seconds.\n"
    )


def change_request(state: State, changes: Sequence[Change]) -> str:
    """The prompt of a later turn. ``state`` is the one before the first change; each change is described against what the earlier ones left."""
    if not changes:
        return f"The API stays as it is this time. Check that the server still does all that has been asked for.\n\n{_CLOSING}\n"
    blocks = []
    for number, change in enumerate(changes, 1):
        blocks.append(_numbered(number, describe_change(state, change)))
        state = transformed(state, change)
    heading = f"The API changes. Please make {counted(len(changes), 'change', 'changes')}, in this order:"
    return "\n\n".join([heading, "\n".join(blocks), _CLOSING]) + "\n"


def _numbered(number: int, text: str) -> str:
    mark = f"{number}. "
    return mark + text.replace("\n", "\n" + " " * len(mark))
