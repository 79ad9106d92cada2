"""What a journal says about one scenario, folded to what is scored and shown."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from stamina.config.model import ModelConfig
from stamina.domain import Language
from stamina.outcome import ScenarioOutcome
from stamina.scoring.spending import Spending
from stamina.turns import Event, Rules, WorkspaceMeasured, outcome, replay


@attrs.frozen
class Played:
    """One scenario.

    Attributes:
        version: the benchmark's (contract T7).
        outcome: how it went.
        lines: lines of code, all languages, when the workspace was last measured; None when it never was.
        mismatches: turns in which a program in another language than the one asked for answered the tests.
        spending: what its model was asked; None for a harness without one.
    """

    version: str
    outcome: ScenarioOutcome
    lines: int | None = None
    mismatches: tuple[int, ...] = ()
    spending: Spending | None = None


@attrs.frozen
class Asked:
    """What a scenario was played under: the benchmark's version, the rules, the language that the agent was told to use, and its model."""

    version: str
    rules: Rules
    language: Language = Language.ANY
    model: ModelConfig | None = None


def played(asked: Asked, events: Iterable[Event], *, cell: str, seed: int, repeat: int) -> Played:
    """Fold one scenario's events. Raises InputError when they are not one scenario's, in order."""
    facts = tuple(events)
    progress = replay(asked.rules, facts)
    measured = [event for event in facts if isinstance(event, WorkspaceMeasured)]
    lines = sum(measured[-1].lines.values()) if measured else None
    mismatches = dict.fromkeys(event.turn for event in measured if _mismatch(asked.language, event.program_language))
    return Played(asked.version, outcome(progress, cell=cell, seed=seed, repeat=repeat), lines, tuple(mismatches))


def _mismatch(asked: Language, found: str | None) -> bool:
    """An unknown language is no evidence of a wrong one."""
    return asked is not Language.ANY and found is not None and found != asked.value
