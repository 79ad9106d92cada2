"""``[model.NAME.script]``: how a scripted model behaves. The table is the value: nothing is left to be worked out."""

# ruff: noqa: RUF009 - key() makes an attrs field, which is what belongs there

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import attrs

from stamina.config.keys import key
from stamina.config.kinds import Choice, Flag, Number, Whole

Chance = Annotated[float, Number(low=0, high=1)]
Seconds = Annotated[float, Number(low=0, high=604_800)]
TurnNumber = Annotated[int, Whole(0, 10_000)]
Count = Annotated[int, Whole(1, 1_000_000)]


class CodingMistake(StrEnum):
    """What a scripted model may get wrong in the server; the same words as those of the mock harness."""

    NULL_ACCEPTED = "null-accepted"
    BOUND_OFF_BY_ONE = "bound-off-by-one"
    DEFAULT_IGNORED = "default-ignored"
    REQUIRED_IGNORED = "required-ignored"
    ENUM_VALUE_MISSING = "enum-value-missing"
    CONDITION_DROPPED = "condition-dropped"
    EFFECT_DROPPED = "effect-dropped"
    ANALYTICS_MISSING = "analytics-missing"
    OLD_PATH_KEPT = "old-path-kept"
    OLD_FIELD_KEPT = "old-field-kept"
    CHANGE_FORGOTTEN = "change-forgotten"
    CASCADE_MISSED = "cascade-missed"
    ANALYTICS_ROUNDED = "analytics-rounded"
    BOOLEANS_ARE_NUMBERS = "booleans-are-numbers"
    CALENDAR_IGNORED = "calendar-ignored"
    PATCH_HALF_DONE = "patch-half-done"
    PATCH_FILLS_DEFAULTS = "patch-fills-defaults"
    CONFLICT_IS_BAD_INPUT = "conflict-is-bad-input"
    SERVER_CRASHES = "server-crashes"
    SERVER_DOES_NOT_START = "server-does-not-start"


class ModelFailure(StrEnum):
    """How a request to a scripted model goes wrong."""

    SERVER_ERROR = "server-error"
    """Status 500."""
    OVERLOADED = "overloaded"
    """Status 503 (529 to those who speak messages)."""
    TOO_MANY = "too-many-requests"
    """Status 429, with Retry-After."""
    UNAUTHORIZED = "unauthorized"
    """Status 401."""
    CONTEXT_LENGTH = "context-length"
    """Status 400: the request is too long."""
    NO_CONNECTION = "no-connection"
    """As if nobody listened."""
    HANG = "hang"
    """No answer at all, for as long as the request is kept up."""
    STALL = "stall"
    """An answer that begins and stops in the middle."""
    CUT = "cut"
    """An answer that is cut off in the middle."""
    MALFORMED_CALL = "malformed-call"
    """A call of a tool whose arguments are no JSON (where the protocol allows that; else of the wrong shape)."""
    WRONG_TOOL = "wrong-tool"
    """A call of a tool that there is not."""
    SLOW_COMMAND = "slow-command"
    """A command that runs for long: the agent is busy, and the model is not asked."""
    KILL = "kill"
    """A command that kills what runs it, the agent's CLI, as agents do with ``pkill``."""
    FULL = "full"
    """A call as it should be, but its usage says that the request has nearly filled the window: most CLIs then make the conversation shorter."""
    EMPTY = "empty"
    """An answer without a word."""


@attrs.frozen
class FailureConfig:
    """Requests that fail. Without any place and chance, all do."""

    kind: Annotated[ModelFailure, Choice(ModelFailure)] = key("How they fail.")
    turn: TurnNumber | None = key("Only in this turn.", None)
    attempt: TurnNumber | None = key("Only in this attempt of a turn.", None)
    call: TurnNumber | None = key("Only in this call of an attempt, counted from 0: later ones are repetitions.", None)
    request: TurnNumber = key("Only from this request of a call on, counted from 0.", 0)
    times: Count | None = key("How many requests of a scenario fail, each try counted; for ever when missing.", None)
    chance: Chance = key("That such a request fails.", 1.0)
    after_seconds: Seconds = key("Only so long after the model's first request.", 0.0)
    for_seconds: Seconds | None = key("And only for so long; for ever when missing.", None)
    retry_after: Seconds = key("What too-many-requests tells to wait, in seconds.", 2.0)
    command_seconds: Seconds = key("How long the command of slow-command runs.", 3600.0)
    work_only: Annotated[bool, Flag()] = key("Spare the CLI's side requests (titles, summaries, counting).", default=False)


@attrs.frozen
class ScriptConfig:
    """A scripted model's behaviour; all chances are independent of each other."""

    seed: int = key("Of all its choices; has nothing to do with the seeds of scenarios.", 0)
    mistake_chance: Chance = key("That a turn's first attempt puts a mistake into the server.", 0.0)
    mistake_turns: tuple[TurnNumber, ...] = key("Turns whose first attempt puts a mistake into the server for certain.", ())
    mistakes: tuple[Annotated[CodingMistake, Choice(CodingMistake)], ...] = key("The kinds of mistake that it makes.", tuple(CodingMistake))
    fix_chance: Chance = key("That an attempt with feedback repairs all mistakes.", 0.75)
    quit_turn: TurnNumber | None = key("From this turn on it does nothing and says so.", None)
    answer_seconds: Seconds = key("How long it takes to begin an answer.", 0.0)
    event_seconds: Seconds = key("How long it takes for each event of a stream.", 0.0)
    failures: tuple[FailureConfig, ...] = key("Requests that fail; the first that fits strikes.", ())
