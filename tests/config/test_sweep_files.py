"""Good sweep files: what comes out, overrides, and agreement of loader and JSON Schema."""

import json
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from stamina.config.dump import dumps, resolved
from stamina.config.file import SETTING_KEYS
from stamina.config.load import load, parse
from stamina.config.model import Egress, Engine, Price, Settings
from stamina.config.schema import schema
from stamina.domain import FeedbackLevel, Language, Sampler
from stamina.errors import InputError
from tests.config.config_samples import HARNESSES, LARGE, SMALL, sweep

SCHEMA = schema(HARNESSES)


def valid(text: str) -> bool:
    """Whether the schema accepts a TOML text."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    return validator.is_valid(json.loads(json.dumps(tomli.loads(text))))


def test_reads_every_table(tmp_path: Path) -> None:
    """The example with all tables, as frozen values."""
    path = tmp_path / "large.toml"
    path.write_text(LARGE)

    loaded = load(path, harnesses=HARNESSES)

    assert ("large", tuple(range(20)), 40) == (loaded.name, loaded.seeds, loaded.concurrency)
    assert [(agent.harness, agent.model, agent.version) for agent in loaded.agents] == [("opencode", "glm-5", "1.4.3"), ("mock", None, None)]
    assert loaded.agents[1].options == {"chance": 0.5, "kinds": ["validation"]}
    assert Price(0.60, 2.08) == loaded.models["glm-5"].price
    assert (loaded.sandbox.engine, loaded.sandbox.memory, loaded.sandbox.egress) == (Engine.DOCKER, 4 * 2**30, Egress.NONE)
    assert (loaded.budget.scenario_usd, loaded.budget.sweep_usd) == (50, 1500)
    expected = {"feedback": (FeedbackLevel.DETAILED, FeedbackLevel.MINIMAL), "language": (Language.PYTHON, Language.RUST)}
    assert (expected,) == loaded.vary
    assert Settings() == loaded.settings


def test_keeps_the_order_in_which_settings_vary() -> None:
    """The file's, not the program's."""
    text = SMALL + '[[vary]]\nlanguage = ["rust"]\nretries = [0]\nfeedback = ["minimal"]\n'

    assert list(sweep(text).vary[0]) == ["language", "retries", "feedback"]


@pytest.mark.parametrize(
    ("written", "seeds"),
    [('"0-3"', (0, 1, 2, 3)), ('"0, 3,7 - 9"', (0, 3, 7, 8, 9)), ("[4, 1]", (4, 1)), ("7", (7,)), ('"5"', (5,))],
)
def test_reads_seeds_in_every_form(written: str, seeds: tuple[int, ...]) -> None:
    """Ranges, lists and single numbers."""
    assert seeds == sweep(SMALL.replace('"0-1"', written)).seeds


def test_a_list_of_models_makes_an_agent_of_each() -> None:
    """One table for a harness with many models."""
    text = LARGE.replace('model = "glm-5"', 'model = ["glm-5", "kimi"]\nname = "oc"').replace(
        "[budget]", '[model.kimi]\nprovider="openai"\nid="k"\ncontext_window=9000\nprice={input=1,output=2}\n[budget]'
    )

    assert [(agent.name, agent.model) for agent in sweep(text).agents[:2]] == [("oc-glm-5", "glm-5"), ("oc-kimi", "kimi")]


def test_programmatic_is_the_papers_word_for_uniform() -> None:
    """Both are accepted."""
    assert Sampler.UNIFORM is sweep(SMALL + '[scenario]\nsampler = "programmatic"\n').settings.sampler


def test_flags_override_the_file() -> None:
    """TOML values, plain words, positions, and tables that the file does not have."""
    loaded = sweep(SMALL, "sweep.turns=5", "sweep.feedback=minimal", "sweep.seeds=4-6", "agent.0.name=first", "scenario.changes_per_turn=2")

    assert (loaded.settings.turns, loaded.settings.feedback, loaded.settings.changes_per_turn) == (5, FeedbackLevel.MINIMAL, 2)
    assert (loaded.seeds, loaded.agents[0].name) == ((4, 5, 6), "first")


def test_the_resolved_file_is_the_sweep_with_its_flags() -> None:
    """What a run keeps reads back as what was played."""
    flags = ("sweep.turns=5", "sandbox.memory=512MiB")

    assert sweep(LARGE, *flags) == sweep(resolved(LARGE, flags))
    assert resolved(LARGE, ()) == LARGE


def test_every_setting_can_be_written() -> None:
    """No field of Settings is out of a sweep file's reach."""
    assert {field.name for field in attrs.fields(Settings)} == set(SETTING_KEYS)
    assert set(SETTING_KEYS) <= {*SCHEMA["properties"]["sweep"]["properties"], *SCHEMA["properties"]["scenario"]["properties"]}


def test_the_schema_is_one_and_describes_every_key() -> None:
    """Valid by its own rules; a description everywhere an editor would show one."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for table in ("sweep", "scenario", "sandbox", "budget"):
        assert [name for name, found in SCHEMA["properties"][table]["properties"].items() if "description" not in found] == []


def test_the_schema_refuses_what_it_can_see() -> None:
    """Unknown keys, wrong types, another harness's keys."""
    assert valid(LARGE)
    assert not valid(LARGE.replace("turns = 100", "tuns = 100"))
    assert not valid(LARGE.replace("turns = 100", 'turns = "100"'))
    assert not valid(LARGE.replace("chance = 0.5", "chanc = 0.5"))
    assert not valid(SMALL + "chance = 0.5\n")


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-2, 200),
    st.booleans(),
    st.sampled_from(["", "rust", "minimal", "0-3", "4GiB", "process", "stop", "uniform", "x y"]),
    st.floats(-1, 9),
    st.just([]),
    st.just({}),
)
PLACES = [(table, key) for table in ("sweep", "scenario", "sandbox", "budget") for key in SCHEMA["properties"][table]["properties"]]


@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_what_the_loader_accepts_the_schema_accepts(edits: list[tuple[tuple[str, str], Any]]) -> None:
    """Any values at any keys: the schema is never narrower than the loader."""
    raw = tomli.loads(SMALL)
    for (table, key), value in edits:
        raw.setdefault(table, {})[key] = value
    text = dumps(raw)
    try:
        parse(text, "s.toml", harnesses=HARNESSES)
    except InputError:
        return

    assert valid(text)
