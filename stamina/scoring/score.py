"""From scenarios to the numbers of a cell (contract T5, T6, T7).

Which scenarios count, and as what:

* Completed and exhausted ones count as they are, also when the harness was to blame (T4).
* Censored ones count with the turns that they passed. So the score as it is is also the worst case: the truth lies between it and the best case, in which
  each of them would have passed everything. Leaving them out would not do: what runs longest is cut off most often, so the mean of the rest is off, and nobody
  knows by how much. That number is given beside, as ``infra_excluded``; it leaves out all that the agent did not end by its own work, and so the harness's
  failures too.
* Crashed ones (a bug of ours) count like censored ones, and every rate of the cell carries a warning until they are played again.
* Running ones count nowhere; rates beside them are provisional, and too low as a rule, because failures end first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs

from stamina.outcome import Cause, Ending, ScenarioOutcome
from stamina.scoring.estimate import Estimate, estimate, share
from stamina.scoring.played import Played
from stamina.scoring.reach import BUDGET, ended_by_itself, passed_all, reach, readme_score, stopped_by


@attrs.frozen
class Tally:
    """How many scenarios ended how; stands beside every rate. ``finished``: completed or exhausted."""

    finished: int
    censored: int
    crashed: int
    running: int

    @property
    def scored(self) -> int:
        """How many the rates rest on."""
        return self.finished + self.censored + self.crashed

    @property
    def total(self) -> int:
        """All that were begun."""
        return self.scored + self.running


@attrs.frozen
class Bounds:
    """Worst and best case of a mean or rate over the scored scenarios; None without any."""

    low: float | None
    high: float | None


@attrs.frozen
class Level:
    """A cell's numbers with ``retries`` retries a turn. Turns are counts of turns, rates are fractions.

    Attributes:
        average: turns passed, as it is (T5).
        average_bounds: with the scenarios that were cut off at their worst and at their best.
        pass_rate: share of scenarios that passed all turns, as it is.
        pass_rate_bounds: likewise.
        infra_excluded: turns passed, over the scenarios that the agent ended by itself.
        infra_excluded_pass_rate: likewise.
        open: scenarios whose count at this level is only a lower bound.
    """

    retries: int
    average: Estimate
    average_bounds: Bounds
    pass_rate: float | None
    pass_rate_bounds: Bounds
    infra_excluded: Estimate
    infra_excluded_pass_rate: float | None
    open: int


@attrs.frozen
class CellScore:
    """One cell, one benchmark version.

    Attributes:
        turns: N + 1.
        retries: R.
        levels: for each r from 0 to R.
        readme_score: T6, a fraction; None without scored scenarios.
        causes: who ended the scored scenarios that did not pass everything ► how many; causes that did not occur are left out.
        lines: lines of code at the last measurement, over the scenarios that have one.
        mismatched: scenarios in which another language than the one asked for answered.
    """

    cell: str
    version: str
    turns: int
    retries: int
    tally: Tally
    levels: tuple[Level, ...]
    readme_score: float | None
    causes: Mapping[str, int]
    lines: Estimate
    mismatched: int


def score_cells(scenarios: Iterable[Played]) -> tuple[CellScore, ...]:
    """The scores, ordered by cell. Scenarios of other versions, lengths or retries are never pooled: each combination is an entry of its own (T7)."""
    groups: dict[tuple[str, str, int, int], list[Played]] = {}
    for played in scenarios:
        outcome = played.outcome
        groups.setdefault((outcome.cell, played.version, outcome.turns_planned, outcome.retries), []).append(played)
    return tuple(_score(*key, groups[key]) for key in sorted(groups))


def _score(cell: str, version: str, turns: int, retries: int, group: Sequence[Played]) -> CellScore:
    outcomes = [played.outcome for played in group]
    scored = [outcome for outcome in outcomes if outcome.ending is not Ending.RUNNING]
    return CellScore(
        cell=cell,
        version=version,
        turns=turns + 1,
        retries=retries,
        tally=tally(outcomes),
        levels=tuple(_level(scored, r) for r in range(retries + 1)),
        readme_score=estimate([readme_score(outcome) for outcome in scored]).mean,
        causes=causes(scored),
        lines=estimate([played.lines for played in group if played.lines is not None]),
        mismatched=sum(bool(played.mismatches) for played in group),
    )


def tally(outcomes: Iterable[ScenarioOutcome]) -> Tally:
    """Count the endings."""
    found = Counter(outcome.ending for outcome in outcomes)
    return Tally(found[Ending.COMPLETED] + found[Ending.EXHAUSTED], found[Ending.CENSORED], found[Ending.CRASHED], found[Ending.RUNNING])


def causes(outcomes: Iterable[ScenarioOutcome]) -> Mapping[str, int]:
    """Who ended scenarios before all was passed ► how many, in a fixed order."""
    found = Counter(filter(None, map(stopped_by, outcomes)))
    return {name: found[name] for name in (*(cause.value for cause in Cause), BUDGET) if found[name]}


def _level(scored: Sequence[ScenarioOutcome], retries: int) -> Level:
    reaches = [reach(outcome, retries) for outcome in scored]
    best = [outcome.turns_planned + 1 if end.open else end.turns for outcome, end in zip(scored, reaches, strict=True)]
    passed = [passed_all(outcome, retries) for outcome in scored]
    own = [outcome for outcome in scored if ended_by_itself(outcome)]
    average, rate = estimate([end.turns for end in reaches]), share(passed)
    return Level(
        retries=retries,
        average=average,
        average_bounds=Bounds(average.mean, estimate(best).mean),
        pass_rate=rate,
        pass_rate_bounds=Bounds(rate, share([done or end.open for done, end in zip(passed, reaches, strict=True)])),
        infra_excluded=estimate([reach(outcome, retries).turns for outcome in own]),
        infra_excluded_pass_rate=share([passed_all(outcome, retries) for outcome in own]),
        open=sum(end.open for end in reaches),
    )
