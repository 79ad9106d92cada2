"""What a running sweep looks like, as a value: folded from the events of :mod:`actors.observer`, rendered by :mod:`stamina.cli.progress`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import attrs

from actors.observer import Draining, Event, Happened, Held, ModelDown, ModelUp, RoomAgain, ScenarioCrashed, ScenarioEnded, ScenarioStarted, Waiting
from stamina.config.model import Plan, Work
from stamina.outcome import Ending, TurnOutcome
from stamina.turns import Progress

Key: TypeAlias = tuple[str, int, int]
"""Cell, seed, repeat."""

MAX_TROUBLES = 5


@attrs.frozen
class Line:
    """One scenario that was begun. ``ending`` is RUNNING while it plays; ``trouble`` is what it waits for or fails at, empty when all is well."""

    turn: int
    attempt: int
    passed: int
    turns: int
    ending: Ending = Ending.RUNNING
    trouble: str = ""

    @property
    def share(self) -> float:
        """How much of its work is behind it, 0 to 1."""
        return 1.0 if self.ending is not Ending.RUNNING else min(1.0, self.turn / self.turns)


@attrs.frozen
class CellRow:
    """One cell's numbers: scenarios by state, and turns passed by all that were begun."""

    cell: str
    total: int
    running: int
    done: int
    censored: int
    crashed: int
    passed: int
    share: float


class Board:
    """Takes events in, gives numbers out.

    Args:
        plan: all that is to be played.
        now: seconds on any clock that runs forward.
    """

    def __init__(self, plan: Plan, now: float) -> None:
        self._totals = {cell.slug: 0 for cell in plan.cells}
        for work in plan.work:
            self._totals[work.cell.slug] += 1
        self._lines: dict[Key, Line] = {}
        self._begun = now
        self._share_before: float | None = None
        self.notice = ""

    def tell(self, event: Event) -> None:
        """Take one event in."""
        match event:
            case ScenarioStarted(work, progress) | Happened(work, _, progress):
                self._lines[key_of(work)] = _line(progress)
            case Waiting(work, seconds, reason):
                self._change(work, trouble=f"waits {seconds:.0f} s: {reason}")
            case ScenarioEnded(work, outcome):
                self._change(work, ending=outcome.ending, trouble=outcome.detail if outcome.ending in (Ending.CENSORED, Ending.CRASHED) else "")
            case ScenarioCrashed(work, error, _):
                self._change(work, ending=Ending.CRASHED, trouble=error)
            case Held(reason):
                self.notice = f"nothing new is started: {reason}"
            case ModelDown(model, reason):
                self.notice = f"model {model} is down, its requests wait: {reason}"
            case ModelUp() | RoomAgain():
                self.notice = ""
            case Draining(seconds):
                self.notice = f"stopping; what is in flight has {seconds:.0f} s. Ctrl-C again stops at once."

    def rows(self) -> Sequence[CellRow]:
        """One for each cell, in the order of the plan."""
        return [self._row(cell, total) for cell, total in self._totals.items()]

    def troubles(self) -> Sequence[tuple[Key, str]]:
        """What goes wrong now or ended a scenario for no fault of the agent, the latest last."""
        return [(key, line.trouble) for key, line in self._lines.items() if line.trouble][-MAX_TROUBLES:]

    @property
    def share(self) -> float:
        """How much of the work is behind us, 0 to 1."""
        whole = sum(self._totals.values())
        return sum(line.share for line in self._lines.values()) / whole if whole else 1.0

    def seconds_left(self, now: float) -> float | None:
        """At the pace so far; None while nobody can tell."""
        if self._share_before is None:
            self._share_before = self.share
        gained = self.share - self._share_before
        return (now - self._begun) * (1 - self.share) / gained if gained > 0.01 else None

    def elapsed(self, now: float) -> float:
        """Seconds since the display began."""
        return now - self._begun

    def _change(self, work: Work, *, ending: Ending = Ending.RUNNING, trouble: str) -> None:
        key = key_of(work)
        # To the end of the order, so that the latest trouble comes last.
        line = self._lines.pop(key, Line(0, 0, 0, work.cell.settings.turns + 1))
        self._lines[key] = attrs.evolve(line, ending=ending, trouble=trouble)

    def _row(self, cell: str, total: int) -> CellRow:
        lines = [line for (name, _, _), line in self._lines.items() if name == cell]
        ended = [line.ending for line in lines if line.ending is not Ending.RUNNING]
        share = sum(line.share for line in lines) / total if total else 1.0
        passed = sum(line.passed for line in lines)
        return CellRow(cell, total, len(lines) - len(ended), len(ended), ended.count(Ending.CENSORED), ended.count(Ending.CRASHED), passed, share)


def key_of(work: Work) -> Key:
    """Which scenario it is."""
    return (work.cell.slug, work.seed, work.repeat)


def name_of(key: Key) -> str:
    """As it is called in folders and in ``tail --scenario``."""
    return "/".join(map(str, key))


def passed_turns(graded: Sequence[TurnOutcome]) -> int:
    """The unbroken prefix of passed turns (contract T5)."""
    return next((number for number, turn in enumerate(graded) if not turn.passed), len(graded))


def _line(progress: Progress) -> Line:
    failures = progress.failures
    trouble = f"{failures.cause.value}: {failures.detail}" if failures.cause is not None else ""
    return Line(progress.turn, progress.attempt, passed_turns(progress.graded), progress.rules.turns + 1, trouble=trouble)
