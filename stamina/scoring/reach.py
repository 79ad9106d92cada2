"""How far a scenario came, and whether that was its end: the observation that every number is made of.

A scenario played with R retries also tells what fewer would have given (contract T5): up to its first turn that needed more than r retries it is, attempt for
attempt, the scenario that r retries would have been.
"""

from __future__ import annotations

import math
from typing import Final

import attrs

from stamina.outcome import Cause, Ending, ScenarioOutcome

CUT: Final = frozenset({Ending.CENSORED, Ending.CRASHED})
"""Endings that say nothing about the agent beyond the turns it passed."""

BUDGET: Final = "budget"
"""What :func:`stopped_by` says when the money was spent: nobody is to blame."""

_OWN: Final = frozenset({Cause.AGENT, Cause.SANDBOX})
"""Causes of a graded attempt that are the agent's doing: a sandbox that failed by itself is never graded (T4)."""


@attrs.frozen
class Reach:
    """A scenario at a level of retries.

    Attributes:
        turns: the unbroken prefix of passed turns, 0..N+1.
        open: it might have gone on: something other than a failed turn stopped it, or it is still running. In terms of survival analysis: censored.
    """

    turns: int
    open: bool


def reach(outcome: ScenarioOutcome, retries: int) -> Reach:
    """How far the scenario came with ``retries`` retries a turn. Raises ValueError when it was played with fewer."""
    if not 0 <= retries <= outcome.retries:
        raise ValueError(f"a scenario played with {outcome.retries} retries says nothing about {retries}")
    turns = _prefix(outcome, retries)
    unfinished = outcome.ending in CUT or outcome.ending is Ending.RUNNING
    return Reach(turns, unfinished and turns <= outcome.turns_planned and not _spent(outcome, turns, retries))


def passed_all(outcome: ScenarioOutcome, retries: int) -> bool:
    """Whether all N + 1 turns were passed with at most ``retries`` retries each."""
    return reach(outcome, retries).turns == outcome.turns_planned + 1


def stopped_by(outcome: ScenarioOutcome) -> str | None:
    """Who ended the unbroken prefix: a :class:`Cause`'s value or :data:`BUDGET`. None when every turn was passed, or the scenario is still on its way."""
    end = reach(outcome, outcome.retries)
    if passed_all(outcome, outcome.retries) or (end.open and outcome.ending is Ending.RUNNING):
        return None
    if not end.open:
        return _failed_by(outcome, end.turns).value
    if outcome.ending is Ending.CRASHED:
        return (outcome.cause or Cause.BENCHMARK).value
    return outcome.cause.value if outcome.cause else BUDGET


def ended_by_itself(outcome: ScenarioOutcome) -> bool:
    """Whether its score is the agent's own work alone: it passed everything, or failed a turn by itself."""
    end = reach(outcome, outcome.retries)
    if end.open:
        return False
    return passed_all(outcome, outcome.retries) or _failed_by(outcome, end.turns) in _OWN


def readme_score(outcome: ScenarioOutcome) -> float:
    """Passed tests / tests of each turn's last attempt, averaged over turns 0..N; turns never reached count as 0 (T6)."""
    last = [turn.attempts[-1] for turn in outcome.turns]
    return math.fsum(attempt.tests_passed / attempt.tests_total for attempt in last if attempt.tests_total) / (outcome.turns_planned + 1)


def _prefix(outcome: ScenarioOutcome, retries: int) -> int:
    failed = (number for number, turn in enumerate(outcome.turns) if turn.retries_used is None or turn.retries_used > retries)
    return next(failed, len(outcome.turns))


def _failed_by(outcome: ScenarioOutcome, turn: int) -> Cause:
    """Who is to blame for the turn that was failed."""
    cause = outcome.turns[turn].attempts[-1].cause if turn < len(outcome.turns) else outcome.cause
    return cause or Cause.AGENT


def _spent(outcome: ScenarioOutcome, turn: int, retries: int) -> bool:
    """Whether the turn that ended the prefix was graded as often as ``retries`` allows."""
    return turn < len(outcome.turns) and len(outcome.turns[turn].attempts) > retries
