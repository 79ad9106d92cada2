"""Writes the conformance table into docs/harnesses.md, from what `make test-harnesses` kept in runs/harnesses (`FINDINGS=DIR` elsewhere).

python scripts/harness_table.py [DIR]

What was seen is copied to docs/findings first, so that harnesses that were not played this time stay in the table; without DIR it is written anew from there.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from stamina.cli.conformance import Behaviour, Finding, table

DOCS = Path(__file__).parents[1] / "docs"
PAGE, FINDINGS = DOCS / "harnesses.md", DOCS / "findings"
OTHERS = "protocols"
BEGIN, END = "<!-- table: scripts/harness_table.py -->\n", "<!-- end of table -->\n"


def main(folder: Path | None) -> None:
    """Replace what stands between the marks on the page."""
    if folder is not None:
        _take(folder)
    rows = {path.stem: _findings(path) for path in sorted(FINDINGS.glob("*.json"))}
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(rows)}\n{''.join(_others())}{END}{after}")
    print(f"{PAGE}: {len(rows)} harnesses")


def _take(folder: Path) -> None:
    """Copy a play's findings."""
    found = [*folder.glob("*.json"), *folder.glob(f"{OTHERS}/*.json")]
    if not found:
        sys.exit(f"{folder} has no findings: make test-harnesses FINDINGS={folder}")
    for path in found:
        target = FINDINGS / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _others() -> Iterator[str]:
    """The short plays in protocols that are not a harness's first, and what was wrong in them."""
    paths = sorted((FINDINGS / OTHERS).glob("*.json"))
    if paths:
        yield "The six turns were played in each harness's first protocol; two turns in the others:\n\n"
        for path in paths:
            harness, _, protocol = path.stem.partition(".")
            found = _findings(path)
            wrong = "; ".join(f"{finding.behaviour}: {finding.detail}" for finding in found if not finding.right)
            yield f"* `{harness}` in {protocol}: {wrong or next(each.detail for each in found if each.behaviour is Behaviour.PLAYS)}\n"
        yield "\n"


def _findings(path: Path) -> list[Finding]:
    return [Finding(Behaviour(each["behaviour"]), bool(each["right"]), str(each["detail"])) for each in json.loads(path.read_text())]


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
