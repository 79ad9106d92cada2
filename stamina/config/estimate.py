"""What a plan costs at most, before anything is started. Figures that nobody knows are None, never 0."""

from __future__ import annotations

from typing import Final

import attrs

from stamina.config.model import Budget, Cell, ModelConfig, Plan, Provider
from stamina.pricing import price_of
from stamina.words import counted

INPUT_TOKENS: Final = 4.5e9 / 20
OUTPUT_TOKENS: Final = 7.5e6 / 20
PAPERS_TURNS: Final = 101
"""What the paper reports for a scenario of GLM-5 under OpenCode: one harness and one model, so an order of magnitude and no more."""

GROWING_TURNS: Final = 20
"""A conversation is sent again with each request. It grows for about so many turns, by some 10,000 tokens each; then it is compacted again and again, and
a turn costs the same as the one before. An assumption: the paper has sums over all turns alone."""

USE_BASIS: Final = (
    f"that is what the paper's GLM-5 took under OpenCode (4.5 billion input and 7.5 million output tokens for 20 scenarios of {PAPERS_TURNS} turns), "
    f"if a conversation grows for {GROWING_TURNS} turns, without cache discounts: an order of magnitude, no more"
)


@attrs.frozen
class CellEstimate:
    """One cell.

    Attributes:
        turns, retries: N and R.
        agent_calls: at most, without repetitions of calls that failed for reasons of machinery.
        requests: of the tests, at most: when every turn is reached and needs every retry.
        usd: at list prices, without cache discounts; None when the price is unknown.
    """

    cell: str
    scenarios: int
    turns: int
    retries: int
    agent_calls: int
    requests: int
    usd: float | None


@attrs.frozen
class Estimate:
    """A whole plan. ``usd`` is what the cells with known prices cost together, ``unpriced`` are the others that run a model."""

    cells: tuple[CellEstimate, ...]
    usd: float
    unpriced: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def scenarios(self) -> int:
        """How many scenarios are played."""
        return sum(cell.scenarios for cell in self.cells)

    @property
    def agent_calls(self) -> int:
        """At most."""
        return sum(cell.agent_calls for cell in self.cells)

    @property
    def requests(self) -> int:
        """At most."""
        return sum(cell.requests for cell in self.cells)


def estimate(plan: Plan) -> Estimate:
    """The bounds of a plan."""
    each = len(plan.sweep.seeds) * plan.sweep.repeats
    cells = tuple(_cell(cell, each) for cell in plan.cells)
    unpriced = tuple(cell.cell for cell in cells if cell.usd is None)
    return Estimate(cells, sum(cell.usd or 0.0 for cell in cells), unpriced, tuple(_notes(plan)))


def dollars(value: float) -> str:
    """Whole dollars, and cents where they matter; two digits of less than one."""
    return f"${value:,.0f}" if value >= 10 else f"${value:.2f}" if value >= 1 else f"${value:.2g}"


def describe(plan: Plan) -> str:
    """The plan for a person, as ``run --dry-run`` prints it."""
    bounds = estimate(plan)
    sweep = plan.sweep
    width = max(len(cell.cell) for cell in bounds.cells)
    factors = " × ".join((counted(len(plan.cells), "cell"), counted(len(sweep.seeds), "seed"), counted(sweep.repeats, "repeat")))
    head = f"{sweep.name}: {factors} = {counted(bounds.scenarios, 'scenario')}"
    rows = [f"  {cell.cell:<{width}}  {_row(cell)}" for cell in bounds.cells]
    total = f"together at most {counted(bounds.agent_calls, 'agent call')} and about {bounds.requests:,} test requests; {sweep.concurrency} at a time"
    return "\n".join([head, *rows, total, *_cost_lines(bounds, sweep.budget), *(f"note: {note}" for note in bounds.notes)])


def requests_of_suites(turns: int, changes_per_turn: int) -> int:
    """About how many requests the suites of turns 0 to ``turns`` make, once each; a suite grows with the state."""
    return sum(FIRST_REQUESTS + REQUESTS_PER_CHANGE * changes_per_turn * turn for turn in range(turns + 1))


FIRST_REQUESTS: Final = 400
REQUESTS_PER_CHANGE: Final = 14
"""Measured over four seeds of 101 turns: 370 requests at turn 0, 7,100 at turn 100."""


def _cell(cell: Cell, scenarios: int) -> CellEstimate:
    settings = cell.settings
    turns, attempts = settings.turns + 1, settings.retries + 1
    return CellEstimate(
        cell=cell.slug,
        scenarios=scenarios,
        turns=settings.turns,
        retries=settings.retries,
        agent_calls=scenarios * turns * attempts,
        requests=scenarios * attempts * requests_of_suites(settings.turns, settings.changes_per_turn),
        usd=0.0 if _free(cell.model) else _usd(cell.model, scenarios, turns),
    )


def _free(model: ModelConfig | None) -> bool:
    return model is None or model.provider is Provider.SCRIPTED


def _usd(model: ModelConfig | None, scenarios: int, turns: int) -> float | None:
    price = None if model is None else price_of(model)
    if price is None:
        return None
    tokens = INPUT_TOKENS * _shares(turns) / _shares(PAPERS_TURNS) * price.input + OUTPUT_TOKENS * turns / PAPERS_TURNS * price.output
    return scenarios * tokens / 1e6


def _shares(turns: int) -> float:
    """The input of so many turns, in turns of a conversation that has its full length."""
    return sum(min(1.0, (turn + 1) / GROWING_TURNS) for turn in range(turns))


def _row(cell: CellEstimate) -> str:
    cost = "cost unknown" if cell.usd is None else f"about {dollars(cell.usd)}" if cell.usd else "no cost"
    return f"{counted(cell.scenarios, 'scenario')} of {counted(cell.turns + 1, 'turn')}, at most {counted(cell.agent_calls, 'agent call')}, {cost}"


def _cost_lines(bounds: Estimate, budget: Budget) -> list[str]:
    lines = []
    if bounds.usd:
        lines += [f"cost: about {dollars(bounds.usd)} at list prices if every turn is reached", f"  {USE_BASIS}"]
    if bounds.unpriced:
        lines.append(f"cost unknown, because [model.NAME] price is not given: {', '.join(bounds.unpriced)}")
    limits = [f"{dollars(value)} for {what}" for what, value in (("a scenario", budget.scenario_usd), ("the sweep", budget.sweep_usd)) if value is not None]
    return lines + ([f"budget: {' and '.join(limits)}"] if limits else [])


def _notes(plan: Plan) -> list[str]:
    models = {cell.model.name: cell.model for cell in plan.cells if cell.model is not None and not _free(cell.model)}
    listed = [name for name, model in models.items() if model.price is None and price_of(model) is not None]
    notes = [f"no price is given for {', '.join(listed)}: the paper's own prices are used"] if listed else []
    if not any("retries" in grid for grid in plan.sweep.vary):
        return notes
    highest = max(cell.settings.retries for cell in plan.cells)
    return [
        *notes,
        "retries is varied: each value is an independent repetition at full price. "
        f"One run with retries = {highest} already gives the result @r for every r up to {highest}.",
    ]
