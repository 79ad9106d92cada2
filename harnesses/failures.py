"""How a call of an agent's CLI can fail, and who is to blame for each."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from stamina.outcome import Cause


class Failure(StrEnum):
    """What went wrong with a call."""

    PROVIDER = "provider"
    """The CLI says that its model failed. Only the gateway's word counts for that: see :func:`actors.agent.judge`."""
    CONTEXT = "context overflow"
    """The conversation does not fit into the model's window, and the CLI could not make it fit."""
    COMPACTION = "compaction error"
    """Making the conversation shorter failed."""
    TOOL_CALL = "invalid tool call"
    """The CLI gave up on a tool call that it could not read."""
    STUCK = "stuck loop"
    """The CLI ended a run in which its model did the same thing again and again."""
    LIMIT = "step limit"
    """The CLI ended a run that took more steps than it allows."""
    SELF_KILL = "self-kill"
    """A signal that we did not send ended the CLI; agents do that to themselves (``pkill``), and so does a kernel without memory."""
    WEDGE = "wedge"
    """It did not end by itself."""
    SESSION = "session lost"
    """The CLI does not know the session that it was to continue."""
    START = "not started"
    """The CLI is not there, or refuses its configuration."""
    CRASH = "crash"
    """It ended in another way, without a sign that it had finished."""

    @property
    def cause(self) -> Cause:
        """Whom it is held against (contract T4). What the model did of its own will is the agent's work, and graded as it stands."""
        return _CAUSES.get(self, Cause.HARNESS)


_CAUSES: Final = {Failure.PROVIDER: Cause.PROVIDER, Failure.STUCK: Cause.AGENT, Failure.LIMIT: Cause.AGENT}

_SIGNS: Final = tuple(
    (failure, re.compile(pattern, re.IGNORECASE))
    for failure, pattern in (
        (Failure.COMPACTION, r"compact\w*[ ._-](?:failed|error)|failed to (?:compact|compress|summari[sz]e)|compress\w* failed|condens\w* (?:failed|error)"),
        (
            Failure.CONTEXT,
            r"context[ _-]?(?:length|window|limit|overflow)|ContextOverflow|prompt is too long|context is too large|ran out of room|maximum context",
        ),
        (Failure.STUCK, r"identical[ _]tool[ _]calls|loop[ _]detected|stuck in a loop|potential loop"),
        (Failure.SESSION, r"no saved session|session (?:.{0,60} )?not found|no rollout found|no conversation found|no previous sessions?|unknown session"),
        (Failure.TOOL_CALL, r"invalid[ _](?:tool|function)[ _-]?call|malformed (?:tool|function)"),
        (
            Failure.PROVIDER,
            r"rate.?limit|overloaded|too many requests|service unavailable|internal server error|bad gateway|gateway time-?out|\b(?:429|50[0-4]|529)\b"
            r"|connection (?:error|refused|reset)|ECONN\w+|stream (?:error|disconnected)|timed? ?out|api error",
        ),
    )
)


def failure_in(text: str) -> Failure | None:
    """What a CLI's own words say that it failed of; None when they say nothing that is known."""
    return next((failure for failure, sign in _SIGNS if sign.search(text)), None)
