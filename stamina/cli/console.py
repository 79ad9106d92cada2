"""What commands print: JSON for programs, plain lines for pipes, tables for terminals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """``--json``, as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def columns(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned columns of text; nothing is cut."""
    table = [list(headers), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)


def safe(text: str) -> str:
    """Text that others wrote, without what a terminal would obey."""
    return "".join(character if character.isprintable() else "·" for character in text)
