"""The sweep files and the reference that ship with stamina."""

from pathlib import Path

import attrs
import jsonschema
import pytest
import tomli

from harnesses.recipes import names as images
from harnesses.registry import HARNESSES, make_harness
from stamina.config.load import load
from stamina.config.plan import plan
from stamina.config.reference import tables
from stamina.config.schema import schema
from stamina.domain import FeedbackLevel, Language

ROOT = Path(__file__).resolve().parents[2]
PAPER = sorted((ROOT / "sweeps/paper").glob("*.toml"))
SWEEPS = sorted((ROOT / "sweeps").rglob("*.toml"))
PAPER_HARNESSES = {"opencode", "mini-swe-agent", "openhands", "vibe", "kimi-cli", "qwen-code"}
CELLS = {"main-table": 26, "feedback": 21, "language": 21, "retries": 7, "variance": 1}


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_each_experiment_of_the_paper_is_ready(path: Path) -> None:
    """It has the paper's cells, scenarios and turns."""
    made = plan(load(path, harnesses=HARNESSES))

    assert len(made.cells) == CELLS[path.stem]
    assert made.sweep.seeds == tuple(range(20))
    assert {cell.settings.turns for cell in made.cells} == {100}


def test_all_experiments_are_there() -> None:
    """One file each."""
    assert {path.stem for path in PAPER} == set(CELLS)


def test_the_main_table_has_the_papers_six_harnesses_and_its_settings() -> None:
    """K = 20, N = 100, R = 2, five changes a turn, detailed feedback."""
    sweep = load(ROOT / "sweeps/paper/main-table.toml", harnesses=HARNESSES)
    assert {agent.harness for agent in sweep.agents} == PAPER_HARNESSES
    settings = sweep.settings
    assert (len(sweep.seeds), settings.turns, settings.retries, settings.changes_per_turn) == (20, 100, 2, 5)
    assert (settings.feedback, settings.language, settings.infra_retries) == (FeedbackLevel.DETAILED, Language.PYTHON, 10)


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_every_sweep_file_is_accepted_and_planned(path: Path) -> None:
    """With the harnesses there are, in the versions that they have images of."""
    made = plan(load(path, harnesses=HARNESSES))
    assert made.work
    for agent in {cell.agent.harness: cell.agent for cell in made.cells}.values():
        assert make_harness(agent).program == make_harness(attrs.evolve(agent, version=None)).program


def test_each_harness_of_the_paper_has_an_image() -> None:
    """Which ``stamina images build`` makes."""
    assert set(images()) >= PAPER_HARNESSES


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_the_schema_accepts_them(path: Path) -> None:
    """Also while their harnesses are not registered."""
    jsonschema.Draft202012Validator(schema({})).validate(tomli.loads(path.read_text()))


def test_the_reference_shows_every_key_as_it_is() -> None:
    """The tables of the page are those that the program prints."""
    assert tables() in (ROOT / "docs/sweep-reference.md").read_text()
