"""Writes the conformance table into docs/harnesses.md, from what `make test-harnesses` kept in runs/harnesses (`FINDINGS=DIR` elsewhere).

python scripts/harness_table.py DIR
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stamina.cli.conformance import Behaviour, Finding, table

PAGE = Path(__file__).parents[1] / "docs" / "harnesses.md"
BEGIN, END = "<!-- table: scripts/harness_table.py -->\n", "<!-- end of table -->\n"


def main(folder: Path) -> None:
    """Replace what stands between the marks on the page."""
    rows = {path.stem: [_finding(each) for each in json.loads(path.read_text())] for path in sorted(folder.glob("*.json"))}
    if not rows:
        sys.exit(f"{folder} has no findings: make test-harnesses FINDINGS={folder}")
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(rows)}\n{_others(folder)}{END}{after}")
    print(f"{PAGE}: {len(rows)} harnesses")


def _others(folder: Path) -> str:
    """The short plays in protocols that are not a harness's first, and what was wrong in them."""
    lines = []
    for path in sorted((folder / "protocols").glob("*.json")):
        harness, _, protocol = path.stem.partition(".")
        found = [_finding(each) for each in json.loads(path.read_text())]
        wrong = "; ".join(f"{finding.behaviour}: {finding.detail}" for finding in found if not finding.right)
        lines.append(f"* `{harness}` in {protocol}: {wrong or next(each.detail for each in found if each.behaviour is Behaviour.PLAYS)}\n")
    return f"The six turns were played in each harness's first protocol; two turns in the others:\n\n{''.join(lines)}\n" if lines else ""


def _finding(each: dict[str, object]) -> Finding:
    return Finding(Behaviour(str(each["behaviour"])), bool(each["right"]), str(each["detail"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
