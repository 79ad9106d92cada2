"""The verbs that need no agent: scenarios, check, serve, schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from scenario_store.scenarios import read_scenario
from stamina.cli.app import cli, main
from stamina.cli.check import address_of, verdict_json
from stamina.domain import ScenarioOptions
from stamina.errors import InputError
from stamina.exchange import Response
from stamina.playing import play
from stamina.rest.canonical import digest, from_json
from stamina.rest.domain import RestDomain
from stamina.rest.mutants import OPERATORS
from stamina.suite import Suite

SCENARIO = RestDomain().scenario(ScenarioOptions(seed=5))


def stamina(*arguments: object) -> Result:
    """One command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False, standalone_mode=False)


def shown(what: str, turn: int = 2) -> Any:
    """What ``scenarios show --json`` prints."""
    return json.loads(stamina("scenarios", "show", "--seed", 5, "--turn", turn, "--what", what, "--json").stdout)


def test_shows_what_the_agent_is_told() -> None:
    """The very text of the scenario."""
    assert stamina("scenarios", "show", "--seed", 5, "--turn", 2).stdout == SCENARIO.turn(2).prompt.rstrip("\n") + "\n"
    assert shown("instructions") == SCENARIO.files["README.md"]
    assert shown("spec", turn=0) == SCENARIO.files["initial_specification.md"]


def test_shows_the_state_as_canonical_json() -> None:
    """It reads back as the state."""
    assert digest(from_json(shown("state"))) == SCENARIO.turn(2).digest


def test_shows_the_suite_and_the_answers_of_the_ground_truth() -> None:
    """Every case and every request, as JSON and as lines."""
    suite = SCENARIO.suite(2)

    assert [case["case"] for case in shown("suite")] == [case.name for case in suite.cases]
    assert len(shown("truth")) == suite.requests
    text = stamina("scenarios", "show", "--seed", 5, "--turn", 2, "--what", "suite").stdout
    assert text.count("►") == suite.requests
    assert "POST /reset  ► 200 or 204, preparation" in text
    assert len(shown("changes")) == len(SCENARIO.changes(2))


def test_exports_the_texts_that_an_agent_reads(tmp_path: Path) -> None:
    """Instructions, specification, a file a request; a folder with something in it is left alone."""
    command = ("scenarios", "export", "--seed", 5, "--turn", 2, "--format", "texts", "--out", tmp_path / "texts")
    stamina(*command)

    written = {path.name: path.read_text() for path in (tmp_path / "texts").iterdir()}
    assert written == {**SCENARIO.files, "turn-01.md": SCENARIO.turn(1).prompt + "\n", "turn-02.md": SCENARIO.turn(2).prompt + "\n"}
    with pytest.raises(InputError, match="is not empty"):
        stamina(*command)


def test_other_options_make_other_scenarios() -> None:
    """As a sweep file's settings do."""
    plain = stamina("scenarios", "show", "--what", "state").stdout

    assert plain != stamina("scenarios", "show", "--what", "state", "--salt", "secret").stdout
    assert "Rust" in stamina("scenarios", "show", "--what", "instructions", "--language", "rust").stdout


def test_stores_scenarios_that_read_back(tmp_path: Path) -> None:
    """Each turn's state and prompt."""
    result = stamina("scenarios", "generate", "--seeds", "5-6", "--turns", 2, "--out", tmp_path, "--json")
    read = read_scenario(tmp_path / "seed-5")

    assert [made["seed"] for made in json.loads(result.stdout)] == [5, 6]
    assert digest(from_json(json.loads(read.turns[2].state))) == SCENARIO.turn(2).digest
    assert read.turns[1].prompt == SCENARIO.turn(1).prompt
    assert stamina("scenarios", "list", tmp_path).stdout.splitlines()[1].split()[:3] == ["5", "3", "1"]


def test_verifies_suites_against_the_ground_truth() -> None:
    """Every case passes, and the numbers are there for programs."""
    result = stamina("scenarios", "verify", "--seeds", "5", "--turns", 1, "--sample", 0, "--json")
    found = json.loads(result.stdout)

    assert result.return_value == 0
    assert found["cases"] == {"passed": (whole := sum(len(SCENARIO.suite(turn).cases) for turn in (0, 1))), "total": whole}
    assert (found["killed"], found["total"], found["survivors"]) == (0, 0, [])
    assert "2 turns" in stamina("scenarios", "verify", "--seeds", "5", "--turns", 1, "--sample", 0).stdout


def test_counts_mutants_and_shows_survivors_with_what_tells_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of one case lets most of them live; exit 1."""
    short = Suite(SCENARIO.suite(0).cases[:1])
    monkeypatch.setattr("stamina.rest.domain.RestScenario.suite", lambda self, number: short)
    result = stamina("scenarios", "verify", "--seeds", "5", "--turns", 0, "--sample", 6, "--json")
    found = json.loads(result.stdout)

    assert result.return_value == 1
    assert found["killed"] + len(found["survivors"]) == found["total"] <= 6
    assert {"seed", "turn", "operator", "rule", "target", "detail", "requests"} == set(found["survivors"][0])
    assert any(each["requests"] for each in found["survivors"])


def test_prints_the_operators() -> None:
    """One row each, by rule."""
    assert stamina("scenarios", "verify", "--operators").stdout.count("\n| ") == len(OPERATORS)


def test_a_suite_that_contradicts_the_ground_truth_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With turn and case; exit 1."""
    monkeypatch.setattr("stamina.rest.domain.RestScenario.truth", lambda self, number: lambda request: Response(500))
    result = stamina("scenarios", "verify", "--seeds", "5", "--turns", 0)

    assert result.return_value == 1
    assert "turn 0: server_reset: expected status 200 or 204, got 500" in result.stdout


def test_reports_failed_cases_with_rule_and_request() -> None:
    """The documented shape of ``check --json``."""
    suite = SCENARIO.suite(0)
    found = verdict_json(play(suite, lambda request: Response(404)))

    assert (found["passed"], found["total"], len(found["failed"])) == (0, len(suite.cases), len(suite.cases))
    assert set(found["failed"][0]) == {"case", "family", "rule", "title", "message"}
    assert found["failed"][0]["message"].startswith("POST /reset: expected status 200 or 204, got 404")


@pytest.mark.parametrize(
    ("url", "address"),
    [("http://127.0.0.1:8000", ("127.0.0.1", 8000)), ("localhost:81/", ("localhost", 81)), ("http://x", ("x", 80)), ("http://[::1]:5", ("::1", 5))],
)
def test_understands_addresses(url: str, address: tuple[str, int]) -> None:
    """With and without scheme."""
    assert address_of(url) == address


@pytest.mark.parametrize("url", ["https://x", "http://x:99999", "http://", "http://x/api", "http://x:y"])
def test_refuses_addresses_that_no_test_can_use(url: str) -> None:
    """One message."""
    with pytest.raises(InputError, match="--url"):
        address_of(url)


BAD = {
    "neither": (["check", "--url", "x:1"], "give either --seed (with --turn) or --state"),
    "both": (["serve", "--seed", "1", "--state", "s.json"], "give either --seed (with --turn) or --state"),
    "no file": (["serve", "--state", "nowhere.json"], "nowhere.json: cannot be read: No such file or directory"),
    "no JSON": (["serve", "--state", "bad.json"], "bad.json: not JSON: Expecting property name"),
    "no state": (["serve", "--state", "list.json"], "list.json: this is not a state in canonical JSON"),
    "bad seeds": (["scenarios", "verify", "--seeds", "3-x"], 'expected seeds such as "0-19"'),
    "unknown host": (["check", "--seed", "1", "--url", "http://no-such-host.invalid:80"], "the name no-such-host.invalid does not resolve"),
    "too far": (["scenarios", "show", "--turn", "10001"], "10001 is not in the range 0<=x<=10000"),
    "unknown verb": (["plya"], "No such command 'plya'"),
    "no run": (["status", "nowhere"], "nowhere is not a run"),
    "no set": (["scenarios", "list", "."], ". holds no stored scenarios"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_message_and_exit_2(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a traceback."""
    arguments, message = BAD[case]
    monkeypatch.chdir(tmp_path)
    Path("bad.json").write_text("{x")
    Path("list.json").write_text("[]")

    assert main(arguments) == 2

    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said


def test_prints_a_schema_that_is_one() -> None:
    """And the tables of the reference."""
    jsonschema.Draft202012Validator.check_schema(json.loads(stamina("schema").stdout))
    assert "| `turns` |" in stamina("schema", "--markdown").stdout
