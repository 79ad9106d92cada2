"""The machine-readable report and result.json; documented in docs/formats.md, schema in docs/schemas/report.schema.json. Change both with this page.

Unknown is ``null``; there is never a NaN. Keys of objects over retries are ``"0"`` to ``"R"``; rates are fractions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from stamina.exchange import Json
from stamina.report.report import Report, warnings
from stamina.scoring.played import Played
from stamina.scoring.reach import reach, readme_score, stopped_by
from stamina.scoring.score import CellScore, Level
from stamina.scoring.spending import Spending

FORMAT: Final = 1
"""Version of both forms."""


def report_json(report: Report) -> dict[str, Json]:
    """What ``report --json`` prints."""
    cells: list[Json] = [_cell(cell, report.planned.get(cell.cell)) | {"usage": _usage(report.spending(cell))} for cell in report.cells]
    return {"format": FORMAT, "name": report.name, "cells": cells}


def result_json(report: Report) -> dict[str, Json]:
    """What result.json holds: the report and a row for each scenario."""
    return report_json(report) | {"scenarios": [_row(played) for played in report.scenarios]}


def dumps(value: dict[str, Json]) -> str:
    """As text, the same bytes for the same value."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _cell(score: CellScore, planned: int | None) -> dict[str, Json]:
    tally = score.tally
    return {
        "cell": score.cell,
        "version": score.version,
        "turns": score.turns,
        "retries": score.retries,
        "scenarios": tally.total,
        "planned": planned,
        "finished": tally.finished,
        "censored": tally.censored,
        "crashed": tally.crashed,
        "running": tally.running,
        "average_turns_passed": _by_retries(score, lambda level: level.average.mean),
        "se": _by_retries(score, lambda level: level.average.se),
        "pass_rate": _by_retries(score, lambda level: level.pass_rate),
        "readme_score": score.readme_score,
        "causes": dict(score.causes),
        "bounds": _bounds(score),
        "infra_excluded": _infra_excluded(score),
        "lines_of_code": score.lines.mean,
        "language_mismatches": score.mismatched,
        "warnings": list(warnings(score)),
    }


def _usage(total: Spending | None) -> Json:
    """A cell's requests to its model; None for a harness without one."""
    if total is None:
        return None
    return {
        "requests": total.requests,
        "coverage": total.coverage,
        "input_tokens": total.input,
        "cached_input_tokens": total.cached,
        "output_tokens": total.output,
        "reasoning_tokens": total.reasoning,
        "usd": total.cost,
        "cache_hits": {str(turn): cached / tokens if tokens else None for turn, (tokens, cached) in total.turns.items()},
    }


def _bounds(score: CellScore) -> dict[str, Json]:
    return {
        "average_turns_passed": _by_retries(score, lambda level: [level.average_bounds.low, level.average_bounds.high]),
        "pass_rate": _by_retries(score, lambda level: [level.pass_rate_bounds.low, level.pass_rate_bounds.high]),
    }


def _infra_excluded(score: CellScore) -> dict[str, Json]:
    return {
        "scenarios": score.levels[0].infra_excluded.count,
        "average_turns_passed": _by_retries(score, lambda level: level.infra_excluded.mean),
        "se": _by_retries(score, lambda level: level.infra_excluded.se),
        "pass_rate": _by_retries(score, lambda level: level.infra_excluded_pass_rate),
    }


def _by_retries(score: CellScore, number: Callable[[Level], Json]) -> dict[str, Json]:
    return {str(level.retries): number(level) for level in score.levels}


def _row(played: Played) -> dict[str, Json]:
    outcome = played.outcome
    return {
        "cell": outcome.cell,
        "seed": outcome.seed,
        "repeat": outcome.repeat,
        "version": played.version,
        "ending": outcome.ending.value,
        "stopped_by": stopped_by(outcome),
        "detail": outcome.detail,
        "turns": outcome.turns_planned + 1,
        "turns_reached": len(outcome.turns),
        "turns_passed": {str(r): reach(outcome, r).turns for r in range(outcome.retries + 1)},
        "readme_score": readme_score(outcome),
        "lines_of_code": played.lines,
        "language_mismatches": list(played.mismatches),
        "usage": _usage(played.spending),
    }
