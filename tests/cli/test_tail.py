"""``tail``: whole lines, filters, following."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from stamina.cli.tail import Filter, LogReader, record_of, tail, text_of
from stamina.errors import InputError
from tests.cli.cli_samples import sample_run

RECORDS = [
    {"event": "SuiteRan", "level": "info", "timestamp": "2026-01-01T00:00:00Z", "cell": "mock", "seed": 0, "repeat": 0, "passed": 3},
    {"event": "waiting", "level": "warning", "timestamp": "2026-01-01T00:00:01Z", "cell": "mock", "seed": 10, "repeat": 0},
    {"event": "held", "level": "warning", "timestamp": "2026-01-01T00:00:02Z", "reason": "disk\x1b[31m"},
]


def shown(tmp_path: Path, *arguments: str) -> list[str]:
    """The lines that ``tail`` prints."""
    run = sample_run(tmp_path / "run")
    run.log_file.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return CliRunner().invoke(tail, [str(run.path), *arguments], catch_exceptions=False).stdout.splitlines()


def test_prints_a_line_a_record(tmp_path: Path) -> None:
    """Time, level, scenario, event, the rest; nothing that a terminal would obey."""
    assert shown(tmp_path) == [
        "2026-01-01T00:00:00Z info    mock/0/0 SuiteRan passed=3",
        "2026-01-01T00:00:01Z warning mock/10/0 waiting",
        '2026-01-01T00:00:02Z warning held reason="disk\\u001b[31m"',
    ]


def test_filters_by_level_and_scenario(tmp_path: Path) -> None:
    """Level and above; a scenario by cell, seed and repeat as far as given."""
    assert len(shown(tmp_path, "--level", "warning")) == 2
    assert len(shown(tmp_path / "b", "--scenario", "mock")) == 2
    assert len(shown(tmp_path / "c", "--scenario", "mock/1")) == 0
    assert len(shown(tmp_path / "e", "-n", "1")) == 1


def test_prints_records_as_they_are(tmp_path: Path) -> None:
    """For programs."""
    assert [json.loads(line) for line in shown(tmp_path, "--json")] == RECORDS


def test_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    """A line that is being written is shown once, whole."""
    path = tmp_path / "log.jsonl"
    reader = LogReader(path)
    assert list(reader.more()) == []

    path.write_bytes(b'{"event": "a"}\n{"eve')
    assert list(reader.more()) == ['{"event": "a"}']
    with path.open("ab") as file:
        file.write(b'nt": "b"}\n')
    assert list(reader.more()) == ['{"event": "b"}']
    assert list(reader.more()) == []


def test_a_scenario_that_the_run_lacks_is_refused(tmp_path: Path) -> None:
    """An empty answer would look like a quiet scenario."""
    with pytest.raises(InputError, match=r"no such scenario; its 4 scenarios .* begin with reference/0/0 and end with mock/1/0"):
        shown(tmp_path, "--scenario", "mock/10")


def test_following_ends_with_the_run(tmp_path: Path) -> None:
    """All that was written is shown first; nobody has to end it by hand."""
    assert len(shown(tmp_path, "--follow")) == 3


def test_hides_nothing_that_is_no_record() -> None:
    """A line that is no JSON is shown as a warning of its own."""
    record = record_of("Traceback: x")

    assert Filter("warning", None).passes(record)
    assert "Traceback: x" in text_of(record)
