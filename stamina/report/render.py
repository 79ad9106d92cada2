"""The report for people: in a terminal through rich, elsewhere as plain text, and as Markdown."""

from __future__ import annotations

from itertools import chain

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from stamina.report.report import Report
from stamina.report.sheets import Sheet, notes, sheets


def print_report(report: Report, console: Console) -> None:
    """Tables in colour on a terminal, :func:`plain` when the output goes anywhere else."""
    if console.is_terminal:
        console.print(pretty(report))
    else:
        console.file.write(plain(report))


def pretty(report: Report) -> Group:
    """For a rich console."""
    parts: list[RenderableType] = [_table(sheet) for sheet in sheets(report)]
    return Group(*parts, *(Text(note, style="yellow") for note in notes(report)))


def plain(report: Report) -> str:
    """Aligned columns of text, whatever the width."""
    blocks = [f"{sheet.title}\n\n{_aligned(sheet)}" for sheet in sheets(report)]
    return "\n\n".join([*blocks, *(["\n".join(notes(report))] if notes(report) else [])]) + "\n"


def markdown(report: Report) -> str:
    """Tables and notes as Markdown, under a heading with the run's name."""
    blocks = [f"## {_escaped(report.name)}", *(f"### {sheet.title}\n\n{_piped(sheet)}" for sheet in sheets(report))]
    remarks = "\n".join(f"- {_escaped(note)}" for note in notes(report))
    return "\n\n".join([*blocks, *([remarks] if remarks else [])]) + "\n"


def _table(sheet: Sheet) -> Table:
    table = Table(title=sheet.title, title_justify="left", title_style="bold", header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, header in enumerate(sheet.headers):
        table.add_column(header, justify="right" if place >= sheet.numbers else "left", overflow="fold")
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    return table


def _aligned(sheet: Sheet) -> str:
    widths = [max(map(len, column)) for column in zip(sheet.headers, *sheet.rows, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) if place >= sheet.numbers else cell.ljust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in chain([sheet.headers], sheet.rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def _piped(sheet: Sheet) -> str:
    rule = tuple("---:" if place >= sheet.numbers else "---" for place in range(len(sheet.headers)))
    body = (tuple(map(_escaped, row)) for row in sheet.rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in chain([sheet.headers, rule], body))


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
