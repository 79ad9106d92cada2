"""The OpenAPI document of a state, and what a judge that is not ours finds when it holds the ground truth against it."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest
import trio

from actors.truth import serving
from stamina.domain import ScenarioOptions
from stamina.rest.asgi import Application
from stamina.rest.domain import RestDomain
from stamina.rest.openapi import document
from tests.rest.library import LIBRARY
from tests.rest.walks import states

PLAYED = ((0, 0, 10), (0, 12, 10), (1, 6, 10), (2, 25, 5), (3, 50, 3))
"""Seed, turn, and random examples for each operation in each phase: fewer for the large ones."""

LATITUDE = (
    "positive_data_acceptance",  # JSON Schema cannot say that an id of a reference must exist, or that an instant is in its range.
    "unsupported_method",  # H7: other methods are left open ...
    "allow_header_conformance",  # ... and so are headers.
    "missing_required_header",  # H9: what a request without a content type means is left open.
    "ignored_auth",  # There is none.
)
"""Checks of schemathesis that ask for more than the contract promises."""


def test_every_schema_is_one() -> None:
    """And every reference in the document leads somewhere."""
    for state in (LIBRARY, *states()[::20]):
        made = document(state)
        for schema in made["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        text = json.dumps(made)
        assert all(f'"{name}": {{' in text for name in made["components"]["schemas"])
        assert text.count('"$ref"') >= len(state.entities) * 5


def test_every_entity_has_its_schema_and_its_paths() -> None:
    """With all of its fields."""
    made = document(LIBRARY)
    for name, schema in made["components"]["schemas"].items():
        if (entity := LIBRARY.find(name)) is not None:
            assert set(schema["properties"]) == {"id", *(field.name for field in entity.fields)}
            assert set(made["paths"]) >= {f"/{entity.segment}", f"/{entity.segment}/{{id}}"}


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "turn", "examples"), PLAYED)
async def test_schemathesis_finds_nothing(seed: int, turn: int, examples: int, tmp_path: Path) -> None:
    """Boundary values, random ones and sequences, good and bad; with what the contract leaves open taken out."""
    file = tmp_path / "openapi.json"
    scenario = RestDomain().scenario(ScenarioOptions(seed=seed))
    file.write_text(json.dumps(document(scenario.state(turn))))
    options = ["--phases", "coverage,fuzzing,stateful", "-n", str(examples), "--seed", "1", "--continue-on-failure"]
    options += ["--suppress-health-check", "filter_too_much"]
    async with serving(Application(scenario.truth(turn))) as bound:
        command = [str(Path(sys.executable).with_name("schemathesis")), "run", str(file), "--url", bound.url, "--no-color"]
        command += ["--checks", "all", "--exclude-checks", ",".join(LATITUDE), *options]
        with trio.fail_after(600):
            result = await trio.run_process(command, capture_stdout=True, check=False, cwd=tmp_path)
    assert result.returncode == 0, result.stdout.decode()[-4000:]
