"""What a run came to, as one value: everything that any output shows is in here."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from functools import partial

import attrs

from stamina.scoring.played import Played
from stamina.scoring.score import CellScore, score_cells
from stamina.scoring.spending import Spending
from stamina.words import counted


@attrs.frozen
class Report:
    """A run's numbers.

    Attributes:
        name: of the run.
        cells: the scores, ordered by cell.
        scenarios: what they are made of.
        planned: cell ► how many scenarios it has when all is played; empty when unknown.
    """

    name: str
    cells: tuple[CellScore, ...]
    scenarios: tuple[Played, ...] = ()
    planned: Mapping[str, int] = attrs.field(factory=dict)

    def spending(self, cell: CellScore) -> Spending | None:
        """What a cell's scenarios asked of its model, all together; None for a harness without one."""
        key = (cell.cell, cell.version, cell.turns - 1, cell.retries)
        mine = [one.spending for one in self.scenarios if (one.outcome.cell, one.version, one.outcome.turns_planned, one.outcome.retries) == key]
        known = [spent for spent in mine if spent is not None]
        return functools.reduce(Spending.plus, known) if known else None


def make_report(name: str, scenarios: Iterable[Played], planned: Mapping[str, int] | None = None) -> Report:
    """Score these scenarios."""
    played = tuple(scenarios)
    return Report(name, score_cells(played), played, planned or {})


def warnings(score: CellScore) -> tuple[str, ...]:
    """Why this cell's rates are not the last word, one sentence each; empty when they are."""
    tally, top = score.tally, score.levels[-1]
    found = []
    if tally.crashed:
        found.append(f"{_scenarios(tally.crashed)} crashed by a fault of the benchmark or this machine: do not publish these rates; result.json says why")
    if top.open:
        found.append(
            f"{_scenarios(top.open)} of {tally.scored} cut off by something other than the agent: ≥ marks a lower bound, the best case stands beside it"
        )
    if tally.running:
        found.append(
            f"{_scenarios(tally.running)} begun and not at an end (played now, or interrupted), so not counted: rates are provisional, and too low as a rule"
        )
    if score.mismatched:
        found.append(f"{_scenarios(score.mismatched)} answered the tests with a program in another language than the one asked for")
    return tuple(found)


_scenarios = partial(counted, noun="scenario")
