"""Whole sweeps with real processes against a scripted model: the report's usage is what the model served, to the token; budgets, silence and busy agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.gateway.scripted import LEDGER
from harnesses.scripted_model.answer import Count
from harnesses.scripted_model.ledger import Served, due, read_line
from scenario_store.journal import read_journal
from scenario_store.usage import read_requests
from stamina.cli.app import main
from stamina.outcome import Cause
from stamina.turns import BudgetExhausted, CallCompleted, CallExpired, CallFailed, Event
from tests.drills.outage import Drill, run_drill
from tests.harnesses.mini_harness import offered

HEAD = """\
[sweep]
name = "s"
seeds = 0
turns = {turns}
retries = 0
concurrency = 8
{sweep}
[sandbox]
engine = "process"
allow_unsandboxed = true

[model.coder]
provider = "scripted"
id = "scripted-1"
context_window = 200000
{model}
[model.steady]
provider = "scripted"
id = "scripted-2"
context_window = 200000
price = {{ input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25 }}
"""


def agent(protocol: str, *, stream: bool = False, more: str = "", model: str = "coder") -> str:
    name = f"{model}-{protocol}-{'stream' if stream else 'whole'}"
    return f'[[agent]]\nharness = "mini"\nmodel = "{model}"\nname = "{name}"\nprotocol = "{protocol}"\nstream = {str(stream).lower()}\n{more}\n'


@pytest.fixture(autouse=True)
def _offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with offered():
        yield


def play(capsys: pytest.CaptureFixture[str], *agents: str, turns: int = 1, sweep: str = "", model: str = "", flags: tuple[str, ...] = ()) -> tuple[int, Any]:
    """Exit code and report."""
    Path("s.toml").write_text(HEAD.format(turns=turns, sweep=sweep, model=model) + "\n".join(agents))
    code = main(["run", "s.toml", "--json", *(part for flag in flags for part in ("--set", flag))])
    out = capsys.readouterr().out
    return code, json.loads(out)


def folders() -> list[Path]:
    return sorted(path.parent for path in Path("runs/s/scenarios").glob("*/*/*/journal.jsonl"))


def served_in(folder: Path) -> list[Served]:
    return [read_line(line) for line in (folder / LEDGER).read_text().splitlines()]


def journal(folder: Path) -> list[Event]:
    return list(read_journal(folder / "journal.jsonl", Event).events)


FAILURES = """
[[model.coder.script.failures]]
kind = "cut"
turn = 1
request = 1
times = 2

[[model.coder.script.failures]]
kind = "too-many-requests"
turn = 0
request = 2
times = 1
retry_after = 1

[[model.coder.script.failures]]
kind = "server-error"
turn = 0
request = 3
times = 1

[[model.coder.script.failures]]
kind = "malformed-call"
turn = 0
request = 4
times = 1
"""


def test_the_reports_usage_is_what_the_model_served(capsys: pytest.CaptureFixture[str]) -> None:
    """In every protocol, streaming and not, with requests refused, failed and cut off: to the token, to the dollar, and with the right coverage."""
    agents = [agent(protocol, stream=stream, more="patience = 4") for protocol in ("chat", "responses", "messages", "gemini") for stream in (False, True)]
    code, report = play(capsys, *agents, agent("messages", stream=True, model="steady"), model=FAILURES)
    assert code == 0
    cells = {cell["cell"]: cell["usage"] for cell in report["cells"]}
    assert len(cells) == 9
    for folder in folders():
        served = due(served_in(folder))
        counted = {request.number: request.usage for request in read_requests(folder)}
        assert {number: None if usage is None else (usage.input, usage.output, usage.cached, usage.cache_writes) for number, usage in counted.items()} == {
            number: None if count is None else (count.input, count.output, count.cached, count.written) for (_, number), count in served.items()
        }
        known = [count for count in served.values() if count is not None]
        told = cells[folder.parents[1].name]
        assert told["requests"] == len(served)
        assert told["coverage"] == len(known) / len(served)
        assert told["input_tokens"] == sum(count.input for count in known)
        assert told["cached_input_tokens"] == sum(count.cached for count in known)
        assert told["output_tokens"] == sum(count.output for count in known)
        struck = {entry.failure.value for entry in served_in(folder) if entry.failure}
        if folder.parents[1].name.startswith("steady"):
            assert (struck, told["coverage"]) == (set(), 1.0)
            assert told["usd"] == pytest.approx(sum(map(dollars, known)), rel=1e-12)
        else:
            assert struck == {"cut", "too-many-requests", "server-error", "malformed-call"}
            assert told["coverage"] < 1
            assert told["usd"] is None


def dollars(count: Count) -> float:
    rest = count.input - count.cached - count.written
    return (rest + 0.1 * count.cached + 1.25 * count.written + 2.0 * count.output) / 1e6


@pytest.mark.slow
def test_a_silent_model_and_a_busy_agent_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    """The model's silence ends the request, costs no attempt, and the call is repeated; an agent that is busy by itself runs out of time, and that counts."""
    silent = """
model_idle_seconds = 1.0

[[model.coder.script.failures]]
kind = "hang"
turn = 0
request = 1
times = 1
"""
    busy = """
[[model.steady.script.failures]]
kind = "slow-command"
turn = 1
request = 1
"""
    agents = [agent("chat", stream=True, more="patience = 0"), agent("chat", model="steady")]
    Path("s.toml").write_text(HEAD.format(turns=1, sweep="call_seconds = 40", model=silent) + busy + "\n".join(agents))
    code = main(["run", "s.toml", "--json"])
    cells = {cell["cell"]: cell for cell in json.loads(capsys.readouterr().out)["cells"]}
    one, other = folders()
    failed = [event for event in journal(one) if isinstance(event, CallFailed)]
    assert [(event.turn, event.attempt, event.call, event.cause) for event in failed] == [(0, 0, 0, Cause.PROVIDER)]
    assert "sent nothing for 1 s" in failed[0].detail
    assert [(event.attempt, event.call) for event in journal(one) if isinstance(event, CallCompleted)] == [(0, 1), (0, 0)]
    assert cells["coder-chat-stream"]["average_turns_passed"] == {"0": 2.0}
    expired = [event for event in journal(other) if isinstance(event, CallExpired)]
    assert [(event.turn, event.cause) for event in expired] == [(1, Cause.AGENT)]
    assert cells["steady-chat-whole"]["causes"] == {"agent": 1}
    assert code == 0


@pytest.mark.slow
def test_an_agent_that_hangs_is_ended_and_called_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Its command sleeps for an hour: a wedge of the harness, long before the wall clock, that costs no attempt."""
    hang = """
[[model.coder.script.failures]]
kind = "slow-command"
turn = 1
request = 1
times = 1
"""
    code, report = play(capsys, agent("chat"), turns=1, sweep="call_model_idle_seconds = 10", model=hang)
    (folder,) = folders()
    (failed,) = [event for event in journal(folder) if isinstance(event, CallFailed)]
    assert (failed.turn, failed.attempt, failed.call, failed.cause) == (1, 0, 0, Cause.HARNESS)
    assert "model_idle" in failed.detail
    assert [(event.turn, event.call) for event in journal(folder) if isinstance(event, CallCompleted)] == [(0, 0), (1, 1)]
    (cell,) = report["cells"]
    assert (code, cell["average_turns_passed"], cell["causes"]) == (0, {"0": 2.0}, {})


def test_a_spent_budget_censors_the_scenario_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """It stops where the money ends; what it spent is what the model served, and within the limit."""
    code, report = play(capsys, agent("messages", model="steady"), turns=20, flags=("budget.scenario_usd=0.15",))
    (cell,) = report["cells"]
    assert (code, cell["causes"], cell["censored"]) == (1, {"budget": 1}, 1)
    (folder,) = folders()
    last = journal(folder)[-1]
    assert isinstance(last, BudgetExhausted)
    assert "scenario_usd = $0.15" in last.detail
    known = [count for count in due(served_in(folder)).values() if count is not None]
    assert 0.05 < cell["usage"]["usd"] == pytest.approx(sum(map(dollars, known)), rel=1e-12)
    assert cell["usage"]["usd"] <= 0.15
    assert cell["average_turns_passed"]["0"] >= 1


def test_more_money_plays_a_censored_scenario_on(capsys: pytest.CaptureFixture[str]) -> None:
    """As `run` advises; the run records the new limit, what was spent counts, and no turn is paid twice."""
    play(capsys, agent("messages", model="steady"), turns=20, flags=("budget.scenario_usd=0.15",))
    (folder,) = folders()
    before = journal(folder)
    assert main(["run", "s.toml", "--set", "budget.scenario_usd=0.15", "--set", "sweep.turns=20"]) == 1
    assert "stamina resume runs/s --retry-cause budget --set budget.KEY=USD" in capsys.readouterr().err
    assert main(["status", "s"]) == 0
    assert "budget" in capsys.readouterr().out

    assert main(["resume", "s", "--retry-cause", "budget", "--set", "budget.scenario_usd=5", "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert (cell["causes"], cell["average_turns_passed"]) == ({}, {"0": 21.0})
    assert journal(folder)[: len(before)] == before
    assert "scenario_usd = 5" in Path("runs/s/sweep.toml").read_text()
    known = [count for count in due(served_in(folder)).values() if count is not None]
    assert cell["usage"]["usd"] == pytest.approx(sum(map(dollars, known)), rel=1e-12)


def test_the_drill_tells_what_each_scenario_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    """On the smallest scale: no attempt, no repetition, one message."""
    rows = run_drill(Drill(scenarios=1, turns=1, after=0.0, seconds=3.0, kind="no-connection"), Path("drill"))
    capsys.readouterr()
    (row,) = rows.scenarios
    assert (row.ending, row.turns_passed, row.attempts, row.calls, row.failed, row.agree, rows.messages) == ("completed", 2, 2, 2, 0, True, 1)
    assert row.held > 2
