"""Prints the harnesses that CI plays this time: as many as were asked for, chosen by a commit's hash among those that docs/harnesses.md has in its table.

python scripts/harness_choice.py COMMIT [COUNT]

The table is written from plays (scripts/harness_table.py), so what CI plays is what the page claims. Whatever else there is waits for `make test-harnesses`.
"""

from __future__ import annotations

import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "harnesses.md"
BEGIN = "<!-- table: scripts/harness_table.py -->"


def claimed(page: str) -> list[str]:
    """The harnesses in the table's first line."""
    header = next(line for line in page.partition(BEGIN)[2].splitlines() if line.startswith("|"))
    return [cell.strip() for cell in header.strip("|").split("|") if cell.strip()]


def choice(commit: str, names: list[str], count: int) -> list[str]:
    """So many in a row, beginning where the hash says."""
    first = int(commit[:8], 16) % len(names)
    return [names[(first + at) % len(names)] for at in range(min(count, len(names)))]


if __name__ == "__main__":
    print(*choice(sys.argv[1], claimed(PAGE.read_text(encoding="utf-8")), int(sys.argv[2]) if len(sys.argv) > 2 else 4))
