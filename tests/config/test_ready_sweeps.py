"""The sweep files and the reference that ship with stamina."""

from pathlib import Path

import jsonschema
import pytest
import tomli

from stamina.config.load import load
from stamina.config.model import HarnessInfo
from stamina.config.plan import plan
from stamina.config.reference import tables
from stamina.config.schema import schema

ROOT = Path(__file__).resolve().parents[2]
PAPER = sorted((ROOT / "sweeps/paper").glob("*.toml"))
PAPER_HARNESSES = {name: HarnessInfo(name, uses_model=True) for name in ("opencode", "mini-swe-agent", "openhands", "vibe", "kimi", "qwen-code")}
CELLS = {"main-table": 26, "feedback": 21, "language": 21, "retries": 7, "variance": 1}


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_each_experiment_of_the_paper_is_ready(path: Path) -> None:
    """It loads where its harnesses are known, and has the paper's cells, scenarios and turns."""
    made = plan(load(path, harnesses=PAPER_HARNESSES))

    assert len(made.cells) == CELLS[path.stem]
    assert made.sweep.seeds == tuple(range(20))
    assert {cell.settings.turns for cell in made.cells} == {100}


def test_all_experiments_are_there() -> None:
    """One file each."""
    assert {path.stem for path in PAPER} == set(CELLS)


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_the_schema_accepts_them(path: Path) -> None:
    """Also while their harnesses are not registered."""
    jsonschema.Draft202012Validator(schema({})).validate(tomli.loads(path.read_text()))


def test_the_reference_shows_every_key_as_it_is() -> None:
    """The tables of the page are those that the program prints."""
    assert tables() in (ROOT / "docs/sweep-reference.md").read_text()
