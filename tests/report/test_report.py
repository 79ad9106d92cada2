"""The report: a documented machine form, and tables that say what the numbers are worth."""

from __future__ import annotations

import io
import json
from fractions import Fraction
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rich.console import Console

from stamina.outcome import AttemptOutcome, Cause, Ending, ScenarioOutcome, TurnOutcome
from stamina.report.machine import dumps, report_json, result_json
from stamina.report.render import markdown, plain, pretty, print_report
from stamina.report.report import Report, make_report
from stamina.scoring.played import Played
from stamina.scoring.spending import Spending

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "report.schema.json").read_text()))


def scenario(passed: int, ending: Ending, *, cell: str = "mock", seed: int = 0, retries: int = 2, cause: Cause | None = None) -> ScenarioOutcome:
    """Of 10 turns so many passed, turn 0 with one retry; EXHAUSTED lost the next one."""
    turns = [
        TurnOutcome(number, (*((AttemptOutcome(0, False, 1, 2, Cause.AGENT),) if not number else ()), AttemptOutcome(not number, True, 2, 2)))
        for number in range(passed)
    ]
    if ending is Ending.EXHAUSTED:
        turns.append(TurnOutcome(passed, tuple(AttemptOutcome(r, False, 1, 2, Cause.AGENT) for r in range(retries + 1))))
    return ScenarioOutcome(cell, seed, 0, 9, retries, tuple(turns), ending, cause)


MIXED = make_report(
    "sweep | one",
    [
        Played("1", scenario(4, Ending.EXHAUSTED), lines=1200),
        Played("1", scenario(10, Ending.COMPLETED, seed=1), lines=800, mismatches=(3,)),
        Played("1", scenario(6, Ending.CENSORED, seed=2, cause=Cause.PROVIDER)),
        Played("1", scenario(1, Ending.CRASHED, seed=3)),
        Played("1", scenario(2, Ending.RUNNING, seed=4)),
        Played("1", scenario(10, Ending.COMPLETED, cell="reference [odd]")),
    ],
    {"mock": 6, "reference [odd]": 1, "later": 2},
)


def test_the_machine_form_is_the_documented_interface() -> None:
    """The keys that scripts rely on, with values worked out by hand."""
    mock, reference = report_json(MIXED)["cells"]
    assert mock["cell"] == "mock"
    assert (mock["scenarios"], mock["planned"], mock["turns"], mock["retries"]) == (5, 6, 10, 2)
    assert mock["average_turns_passed"] == {"0": 0.0, "1": 5.25, "2": 5.25}
    assert mock["pass_rate"] == {"0": 0.0, "1": 0.25, "2": 0.25}
    assert mock["causes"] == {"agent": 1, "provider": 1, "benchmark": 1}
    assert mock["bounds"]["average_turns_passed"] == {"0": [0.0, 0.0], "1": [5.25, 8.5], "2": [5.25, 8.5]}
    assert mock["infra_excluded"]["average_turns_passed"] == {"0": 0.0, "1": 7.0, "2": 7.0}
    assert (mock["lines_of_code"], mock["language_mismatches"]) == (1000.0, 1)
    assert reference["average_turns_passed"]["1"] == 10.0
    assert reference["se"] == {"0": None, "1": None, "2": None}
    assert reference["readme_score"] == 1.0
    assert reference["warnings"] == []


def test_result_rows_say_how_each_scenario_went() -> None:
    """One row a scenario, in the order given."""
    rows = result_json(MIXED)["scenarios"]
    assert [(row["seed"], row["ending"], row["stopped_by"], row["turns_passed"]["2"]) for row in rows[:5]] == [
        (0, "exhausted", "agent", 4),
        (1, "completed", None, 10),
        (2, "censored", "provider", 6),
        (3, "crashed", "benchmark", 1),
        (4, "running", None, 2),
    ]


outcomes = st.builds(scenario, st.integers(0, 10), st.sampled_from([Ending.CENSORED, Ending.CRASHED, Ending.RUNNING]), retries=st.integers(0, 2)) | st.builds(
    scenario, st.integers(0, 9), st.just(Ending.EXHAUSTED), retries=st.integers(0, 2)
)


@given(st.lists(st.builds(Played, st.sampled_from("12"), outcomes, st.none() | st.integers(0, 9999)), max_size=6))
def test_any_run_fits_the_schema_and_prints_no_nan(scenarios: list[Played]) -> None:
    """An empty run, one scenario, all censored, several versions: valid JSON by the published schema, and readable tables."""
    report = make_report("any", scenarios)
    text = dumps(result_json(report))
    SCHEMA.validate(json.loads(text))
    SCHEMA.validate(report_json(report))
    for shown in (text, plain(report), markdown(report)):
        assert "nan" not in shown.lower()


def test_the_schema_refuses_what_is_not_a_report() -> None:
    """The schema can fail: a missing key, an unknown one, a rate above one."""
    for edit in ({"cells": None}, {"colour": 1}):
        assert list(SCHEMA.iter_errors(report_json(MIXED) | edit))
    wrong = report_json(MIXED)
    wrong["cells"][0]["pass_rate"]["0"] = 1.5
    assert list(SCHEMA.iter_errors(wrong))


def test_tables_show_what_a_model_was_asked_and_what_is_unknown_of_it() -> None:
    """Only for cells with a model; a cost of which a part is unknown is no number."""
    spent = Spending(requests=1200, measured=900, priced=900, input=2_000_000, cached=500_000, output=30_000, reasoning=7, usd=Fraction(5, 4))
    known = attrs.evolve(spent, measured=1200, priced=1200)
    one, other = (Played("1", scenario(1, Ending.COMPLETED, cell=cell), spending=each) for cell, each in (("one", spent), ("other", known)))
    rows = [line.split() for line in plain(make_report("r", [one, other, Played("1", scenario(1, Ending.COMPLETED))])).splitlines()[-2:]]
    assert rows == [
        ["one", "1,200", "75.0%", "2,000,000", "25.0%", "30,000", "7", "–"],
        ["other", "1,200", "100.0%", "2,000,000", "25.0%", "30,000", "7", "1.25"],
    ]
    assert "Requests to the model" not in plain(MIXED)


def test_plain_text_shows_numbers_marks_and_reasons() -> None:
    """Off a terminal: aligned lines, crashed and cut-off rates marked, and every mark explained."""
    text = plain(MIXED)
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith("mock ")]
    assert lines[1] == ["@1", "!~≥", "5.2", "±", "1.9", "10", "8.5", "7.0", "±", "3.0", "!~≥", "25.0%", "75.0%", "4"]
    assert "crashed by a fault of the benchmark" in text
    assert "1 scenario begun and not at an end" in text
    assert "2 scenarios of 4 cut off" in text
    assert "another language" in text
    assert "later: not begun." in text
    assert "agent 1, provider 1, benchmark 1" in text
    assert "\x1b" not in text


def test_an_empty_run_says_so() -> None:
    """No table of nothing."""
    assert plain(make_report("empty", [])) == "Nothing has been played yet.\n"
    assert markdown(make_report("empty", [])) == "## empty\n\n- Nothing has been played yet.\n"


def test_what_is_the_same_everywhere_is_left_out() -> None:
    """A finished, clean run shows no column of bounds, running or missing scenarios, and no note; the counts of endings always stay."""
    text = plain(make_report("clean", [Played("1", scenario(10, Ending.COMPLETED, retries=1))], {"mock": 1}))
    heads = [line.split() for line in text.splitlines() if line.startswith("cell")]
    assert heads == [
        ["cell", "@r", "turns", "passed", "of", "pass", "rate", "scenarios"],
        ["cell", "README", "score", "finished", "censored", "crashed"],
    ]
    assert text.rstrip().splitlines()[-1].split() == ["mock", "100.0%", "1", "0", "0"]


def test_versions_side_by_side_are_told_apart() -> None:
    """Two versions of one cell are two rows that name them, with a warning."""
    text = plain(make_report("two", [Played(version, scenario(3, Ending.EXHAUSTED)) for version in ("1", "2")]))
    assert "mock (1, 10 turns, 2 retries)" in text
    assert "mock (2, 10 turns, 2 retries)" in text
    assert "cannot be compared" in text


def test_a_terminal_gets_tables_and_a_file_gets_lines() -> None:
    """The same report, by where it goes; names with brackets are shown as they are."""
    screen = io.StringIO()
    print_report(MIXED, Console(file=screen, force_terminal=True, width=200))
    assert "\x1b[" in screen.getvalue()
    assert "reference [odd]" in screen.getvalue()
    file = io.StringIO()
    print_report(MIXED, Console(file=file, width=20))
    assert file.getvalue() == plain(MIXED)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_tables_fit_any_terminal(width: int) -> None:
    """Narrow terminals fold words, they do not lose them."""
    screen = io.StringIO()
    Console(file=screen, width=width).print(pretty(MIXED))
    assert max(map(len, screen.getvalue().splitlines())) <= width


def test_markdown_tables_are_square() -> None:
    """Each row has as many cells as the header; a bar in a name does not make another."""
    text = markdown(Report("a|b", make_report("", [Played("1", scenario(3, Ending.EXHAUSTED, cell="x|y"))]).cells))
    assert text.startswith("## a\\|b\n")
    for block in text.split("\n\n"):
        rows = [line.replace("\\|", "") for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1
