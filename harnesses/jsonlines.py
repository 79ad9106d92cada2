"""Reads what a CLI wrote as JSON, one value a line. The file may hold anything: half a line, a line of gigabytes, bytes that are no UTF-8, text in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final

import attrs

LONGEST_LINE: Final = 64 << 20
"""Longer lines (bytes) are passed over, and counted."""

TAIL_BYTES: Final = 64 << 10


class Flaw(StrEnum):
    """Why a line is no event."""

    TEXT = "text"
    """It is no JSON object."""
    TORN = "torn"
    """The last one, without its end."""
    OVERSIZED = "oversized"
    """Longer than :data:`LONGEST_LINE`."""


@attrs.frozen
class Line:
    """One line: an event, or why it is none; ``text`` is what stands there, without the line's end."""

    text: str
    event: dict[str, Any] | None = None
    flaw: Flaw | None = None


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file, empty ones left out. A missing file has none."""
    try:
        with path.open("rb") as file:
            while raw := file.readline(LONGEST_LINE + 1):
                if len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
                    _skip_line(file)
                    yield Line(raw[:200].decode(errors="replace"), flaw=Flaw.OVERSIZED)
                elif raw.strip():
                    yield _line(raw)
    except OSError:
        return


def _skip_line(file: BinaryIO) -> None:
    while (piece := file.readline(1 << 20)) and not piece.endswith(b"\n"):
        pass


def _line(raw: bytes) -> Line:
    text = raw.decode("utf-8", errors="replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        torn = not raw.endswith(b"\n") and text.startswith("{")
        return Line(text, flaw=Flaw.TORN if torn else Flaw.TEXT)
    return Line(text, value) if isinstance(value, dict) else Line(text, flaw=Flaw.TEXT)


def tail(path: Path) -> str:
    """The end of a text file, at most :data:`TAIL_BYTES`; empty when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            return file.read(TAIL_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""


def last_line(text: str) -> str:
    """The last line with something on it, cut to a readable length."""
    return next((line.strip()[:500] for line in reversed(text.splitlines()) if line.strip()), "")
