"""The report's tables as rows of words; :mod:`stamina.report.render` writes them for a terminal, as plain text or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from stamina.report.report import Report, warnings
from stamina.scoring.score import CellScore, Level
from stamina.scoring.spending import Spending

NOTHING = "–"


@attrs.frozen
class Sheet:
    """A table: rows are as long as ``headers``; columns from ``numbers`` on are aligned to the right."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: int


def sheets(report: Report) -> tuple[Sheet, ...]:
    """The tables of a report; none when nothing was begun."""
    if not report.cells:
        return ()
    usage = _usage(report)
    return _turns_passed(report), _scenarios(report), *((usage,) if usage.rows else ())


def notes(report: Report) -> tuple[str, ...]:
    """What must be known beside the tables, one sentence each."""
    if not report.cells:
        return ("Nothing has been played yet.",)
    begun = {cell.cell for cell in report.cells}
    found = [f"{cell}: not begun." for cell in report.planned if cell not in begun]
    found += [f"{label}: {warning}." for label, cell in zip(_labels(report), report.cells, strict=True) for warning in warnings(cell)]
    if len({cell.version for cell in report.cells}) > 1:
        found.append("Several benchmark versions: their scores cannot be compared.")
    return tuple(found)


def _turns_passed(report: Report) -> Sheet:
    headers = ("cell", "@r", "turns passed", "of", "best case", "without infra", "pass rate", "best case", "scenarios")
    rows = tuple(row for label, cell in zip(_labels(report), report.cells, strict=True) for row in _level_rows(label, cell))
    return _dense(Sheet("Turns passed with r retries a turn (mean ± standard error)", headers, rows, numbers=1))


def _level_rows(label: str, cell: CellScore) -> Iterator[tuple[str, ...]]:
    for level in cell.levels:
        mark = _mark(cell, level)
        yield (
            label,
            f"@{level.retries}",
            mark + _spread(level.average.mean, level.average.se),
            str(cell.turns),
            _number(level.average_bounds.high) if level.open else "",
            _spread(level.infra_excluded.mean, level.infra_excluded.se) if level.infra_excluded.count < cell.tally.scored else "",
            mark + _percent(level.pass_rate),
            _percent(level.pass_rate_bounds.high) if level.open else "",
            str(cell.tally.scored),
        )


def _mark(cell: CellScore, level: Level) -> str:
    """``!`` when something crashed, ``~`` while something runs, ``≥`` when something was cut off."""
    if level.average.mean is None:
        return ""
    marks = ("!" if cell.tally.crashed else "") + ("~" if cell.tally.running else "") + ("≥" if level.open else "")
    return f"{marks} " if marks else ""


def _scenarios(report: Report) -> Sheet:
    headers = ("cell", "README score", "finished", "censored", "crashed", "unfinished", "to come", "stopped by", "lines of code", "other language")
    rows = tuple(_scenario_row(label, cell, report.planned.get(cell.cell)) for label, cell in zip(_labels(report), report.cells, strict=True))
    return _dense(Sheet("Scenarios", headers, rows, numbers=1))


def _scenario_row(label: str, cell: CellScore, planned: int | None) -> tuple[str, ...]:
    tally = cell.tally
    return (
        label,
        _mark(cell, cell.levels[-1]) + _percent(cell.readme_score),
        str(tally.finished),
        str(tally.censored),
        str(tally.crashed),
        _some(tally.running),
        _some(max(0, (planned or 0) - tally.total)),
        ", ".join(f"{cause} {count}" for cause, count in cell.causes.items()),
        "" if cell.lines.mean is None else f"{cell.lines.mean:,.0f}",
        _some(cell.mismatched),
    )


def _usage(report: Report) -> Sheet:
    """Cells without a model have no row."""
    headers = ("cell", "requests", "with known usage", "input tokens", "of them cached", "output tokens", "of them reasoning", "USD")
    spent = zip(_labels(report), map(report.spending, report.cells), strict=True)
    rows = tuple(_usage_row(label, spending) for label, spending in spent if spending is not None)
    return Sheet("Requests to the model", headers, rows, numbers=1)


def _usage_row(label: str, spent: Spending) -> tuple[str, ...]:
    """Tokens are the sums of what is known; a cost of which any part is unknown is unknown."""
    return (
        label,
        f"{spent.requests:,}",
        _percent(spent.coverage),
        f"{spent.input:,}",
        _percent(spent.cached / spent.input if spent.input else None),
        f"{spent.output:,}",
        f"{spent.reasoning:,}",
        NOTHING if spent.cost is None else f"{spent.cost:,.2f}",
    )


def _dense(sheet: Sheet) -> Sheet:
    """Without the columns that say nothing in any row."""
    kept = [place for place in range(len(sheet.headers)) if any(row[place] for row in sheet.rows)]
    return attrs.evolve(sheet, headers=tuple(sheet.headers[place] for place in kept), rows=tuple(tuple(row[place] for place in kept) for row in sheet.rows))


def _labels(report: Report) -> tuple[str, ...]:
    """A cell's name, with what tells it apart from an entry of the same name."""
    names = [cell.cell for cell in report.cells]
    return tuple(
        cell.cell if names.count(cell.cell) == 1 else f"{cell.cell} ({cell.version}, {cell.turns} turns, {cell.retries} retries)" for cell in report.cells
    )


def _spread(mean: float | None, se: float | None) -> str:
    return _number(mean) if se is None else f"{_number(mean)} ± {_number(se)}"


def _some(count: int) -> str:
    return str(count) if count else ""


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.1f}"


def _percent(fraction: float | None) -> str:
    return NOTHING if fraction is None else f"{fraction:.1%}"
