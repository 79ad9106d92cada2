"""docs/formats.md says what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from scenario_store import journal, run
from scenario_store.events import members
from scenario_store.journal import Journal
from stamina.report import machine
from stamina.turns import Event, SuiteRan

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text()


def test_every_event_is_on_the_page_and_no_other() -> None:
    """The table of events is the union of the turn machine."""
    table = PAGE.split("### Events")[1].split("##")[0]
    assert set(re.findall(r"`([A-Z]\w+)`", table)) == {cls.__name__ for cls in members(Event)}


def test_the_recipe_for_checking_a_journal_works(tmp_path: Path) -> None:
    """The lines of Python on the page accept a journal as it was written, and stop at a changed one."""
    recipe = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert recipe is not None
    path = tmp_path / "journal.jsonl"
    with Journal[Event].open(path, Event, clock=lambda: 0.5) as opened:
        for turn in range(3):
            opened.append(SuiteRan(turn, 0, 1, 1, detail='a "," and a {'))
    program = [sys.executable, "-W", "ignore", "-c", recipe[1]]
    assert subprocess.run(program, cwd=tmp_path, check=False).returncode == 0
    path.write_bytes(path.read_bytes().replace(b'"turn":1', b'"turn":2'))
    assert subprocess.run(program, cwd=tmp_path, check=False, stderr=subprocess.DEVNULL).returncode == 1


def test_the_versions_on_the_page_are_the_versions_written() -> None:
    """A new format is a change of the page."""
    assert (run.FORMAT, journal.FORMAT, machine.FORMAT) == (1, 1, 1)
    assert PAGE.count('"format": 1') == 2
