"""Scenarios as files."""

import json
from pathlib import Path

import attrs
import pytest

from scenario_store.scenarios import StoredScenario, StoredTurn, read_scenario, stored_scenarios, write_scenario
from stamina.domain import ScenarioOptions
from stamina.errors import InputError

TURNS = tuple(StoredTurn(turn, f"do {turn} ü\n", b'{"turn":%d}' % turn, b"[]") for turn in range(3))
SCENARIO = StoredScenario("rest", "1", ScenarioOptions(seed=7), {"README.md": "rules\n", "initial_specification.md": "spec\n"}, TURNS)


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    """Texts, states, changes and options."""
    written = write_scenario(tmp_path, SCENARIO)

    assert read_scenario(tmp_path / "seed-7") == SCENARIO
    assert stored_scenarios(tmp_path) == (written,)


def test_the_same_scenario_has_the_same_bytes(tmp_path: Path) -> None:
    """Written twice, anywhere."""
    write_scenario(tmp_path / "a", SCENARIO)
    write_scenario(tmp_path / "b", SCENARIO)
    write_scenario(tmp_path / "a", SCENARIO)

    assert (tmp_path / "a/seed-7/scenario.json").read_bytes() == (tmp_path / "b/seed-7/scenario.json").read_bytes()


def test_another_scenario_of_the_seed_is_refused(tmp_path: Path) -> None:
    """One folder never mixes two."""
    write_scenario(tmp_path, SCENARIO)

    with pytest.raises(InputError, match="holds another scenario of this seed"):
        write_scenario(tmp_path, attrs.evolve(SCENARIO, benchmark="2"))


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    """Every file has its digest in the manifest."""
    write_scenario(tmp_path, SCENARIO)
    (tmp_path / "seed-7/turns/001/prompt.md").write_text("something else")

    with pytest.raises(InputError, match=r"prompt\.md was changed"):
        read_scenario(tmp_path / "seed-7")


@pytest.mark.parametrize(
    ("content", "message"), [("{", "is damaged"), ('{"format": 99}', "has format 99"), ('{"format": 1}', "is damaged"), ("[]", "is damaged")]
)
def test_a_bad_manifest_is_told(tmp_path: Path, content: str, message: str) -> None:
    """No traceback for a damaged or foreign one."""
    write_scenario(tmp_path, SCENARIO)
    (tmp_path / "seed-7/scenario.json").write_text(content)

    with pytest.raises(InputError, match=message):
        read_scenario(tmp_path / "seed-7")


def test_an_unfinished_folder_is_no_scenario(tmp_path: Path) -> None:
    """The manifest is written last."""
    write_scenario(tmp_path, SCENARIO)
    manifest = tmp_path / "seed-7/scenario.json"
    assert json.loads(manifest.read_text())["turns"] == 3
    manifest.unlink()

    with pytest.raises(InputError, match="cut short"):
        read_scenario(tmp_path / "seed-7")
    assert stored_scenarios(tmp_path) == ()
