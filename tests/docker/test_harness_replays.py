"""The first four turns of a harness, played again from their recording with the real CLI: no model, the same verdicts; ``make test-harnesses``.

Not the turn in which a CLI is killed: whether it had written down the last thing that it heard is chance, and the next request tells.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actors.gateway.scripted import LEDGER
from scenario_store.folder import ScenarioFolder
from scenario_store.journal import read_journal
from scenario_store.run import Run
from scenario_store.usage import read_requests
from stamina.cli.app import main
from stamina.cli.conformance import OUTAGE
from stamina.turns import BenchmarkFailed, CallCompleted, CallFailed, Event, SuiteRan
from tests.docker.harness_plays import Plays, each, instead, on_another_day, recorded_otherwise

REPLAYED = ("claude-code", "codex", "kimi", "kimi-cli", "mini-swe-agent", "opencode", "qwen-code", "vibe")
"""CLIs that ask the same in two runs. Gemini CLI does not (it lists its skills in an order that changes from one start to the next), nor OpenHands (its
terminal is a screen, on which pieces of what was typed stay or not)."""

TELLS_THE_DAY = {"opencode", "claude-code"}

pytestmark = [pytest.mark.docker, pytest.mark.harnesses]


def replayed(recorded: Path, out: Path, *flags: str) -> tuple[int, ScenarioFolder]:
    """The exit code of a replay, and its one scenario."""
    code = main(["run", str(recorded / "sweep.toml"), "--replay", str(recorded), "--out", str(out), "--json", *flags])
    [folder] = Run.open(out).scenarios()
    return code, folder


def verdicts(folder: ScenarioFolder) -> list[tuple[Any, ...]]:
    """What every suite said, and how every call ended."""
    found: list[tuple[Any, ...]] = []
    for event in events(folder):
        match event:
            case SuiteRan():
                found.append((event.turn, event.attempt, event.passed, event.total, event.detail))
            case CallCompleted() | CallFailed():
                found.append((event.turn, event.attempt, event.call, type(event).__name__, event.detail))
    return found


def events(folder: ScenarioFolder) -> tuple[Event, ...]:
    found: tuple[Event, ...] = read_journal(folder.journal, Event).events
    return found


def used(folder: ScenarioFolder) -> list[Any]:
    """Every request with what it used."""
    return sorted((request.number, request.turn, request.attempt, request.call, str(request.usage)) for request in read_requests(folder.path))


@each(*REPLAYED)
def test_a_replay_on_another_day_has_the_same_verdicts_and_asks_no_model(harness: str, plays: Plays, tmp_path: Path) -> None:
    """In other folders, with other tokens, ids, process numbers and times; with the mistake, its feedback and the provider's failure that were recorded."""
    [first] = Run.open(plays.of(harness).run).scenarios()
    recorded = tmp_path / "weeks-ago"
    changed = recorded_otherwise(plays.of(harness).run, recorded, on_another_day)
    assert changed or harness not in TELLS_THE_DAY, "the day is told in a way that this test does not know"

    code, folder = replayed(recorded, tmp_path / "replay", "--set", f"sweep.turns={OUTAGE}")

    assert code == 0, folder.journal.read_text()[-2000:]
    assert verdicts(folder) == [verdict for verdict in verdicts(first) if verdict[0] <= OUTAGE]
    assert used(folder) == [entry for entry in used(first) if entry[1] <= OUTAGE]
    assert not (folder.path / LEDGER).exists()
    assert (first.path / LEDGER).exists()


@each(*REPLAYED)
def test_another_request_is_missed_loudly(harness: str, plays: Plays, tmp_path: Path) -> None:
    """At the first request that differs, with the place and both texts; the agent is not graded for it."""
    prompt = next((Run.open(plays.of(harness).run).scenarios()[0].path / "turns/001/0").glob("*/prompt.md")).read_text()
    old = "Please make 5 changes"
    assert old in prompt
    recorded = tmp_path / "tampered"
    assert recorded_otherwise(plays.of(harness).run, recorded, instead(old, "Please make 6 changes")) > 0

    code, folder = replayed(recorded, tmp_path / "replay", "--set", "sweep.turns=1")

    assert code == 1
    [failed] = [event for event in events(folder) if isinstance(event, BenchmarkFailed)]
    assert f"replay of tampered, scenario {harness}/1/0, turn 1, attempt 0, call 0, request " in failed.detail
    assert "it asks something else than the recorded request " in failed.detail
    assert ": $." in failed.detail
    assert all(text in failed.detail for text in ("make 6 changes", old)), failed.detail
    assert [event.turn for event in events(folder) if isinstance(event, SuiteRan)] == [0]
    assert json.loads((tmp_path / "replay/result.json").read_text())["cells"][0]["causes"] == {"benchmark": 1}
