"""Agents whose servers misbehave, from the call to the verdict, in process sandboxes: the cause, the limits, the neighbour, and what is kept."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TypeAlias

import pytest
import trio

from scenario_store.journal import read_journal
from stamina.outcome import AttemptOutcome, Cause, Ending
from stamina.turns import Event, MachineryFailed, SuiteRan
from stamina.verdicts import VerdictSummary, read_verdict
from tests.actors.fakes import folder_of
from tests.hostile.rogues import PASSED, ROGUES, Played, play_all
from tests.hostile.things import CASES

All: TypeAlias = tuple[dict[str, Played], Played]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> All:
    """All of them, played at once beside the neighbour."""
    return trio.run(play_all, tmp_path_factory.mktemp("rogues"))


def verdict(played: Played, attempt: int) -> VerdictSummary:
    folder = folder_of(played.work, played.root).latest(0, attempt)
    assert folder is not None
    return read_verdict(json.loads((folder / "tests.json").read_bytes()))


def events(played: Played) -> tuple[Event, ...]:
    return read_journal(folder_of(played.work, played.root).journal, Event).events


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("name", ROGUES)
def test_each_ends_with_its_cause(everything: All, name: str) -> None:
    """The cases of attempt 0 end as the table says, the journal says why, and what failed is the agent's."""
    played, made = everything[0][name], ROGUES[name]
    cases = verdict(played, 0).cases
    got = tuple(case.failure.message if case.failure else case.status.value for case in cases)
    [first, *_] = [event for event in events(played) if isinstance(event, SuiteRan)]

    assert (got, first.detail) == (made.outcome, made.detail)
    passed = made.outcome.count("passed")
    cause = None if passed == CASES else Cause.AGENT
    assert played.outcome.turns[0].attempts[0] == AttemptOutcome(0, passed == CASES, passed, CASES, cause)


@pytest.mark.parametrize("name", ROGUES)
def test_no_machinery_fails(everything: All, name: str) -> None:
    """Nothing that these do is taken for a fault of the sandbox or the host."""
    assert [event for event in events(everything[0][name]) if isinstance(event, MachineryFailed)] == []


@pytest.mark.parametrize("name", [name for name, made in ROGUES.items() if made.mends])
def test_the_next_attempt_starts_clean(everything: All, name: str) -> None:
    """With an honest server the retry passes: nothing of the first attempt is in its way, and both attempts are kept."""
    played = everything[0][name]

    assert played.outcome.ending is Ending.COMPLETED
    assert [attempt.passed for attempt in played.outcome.turns[0].attempts] == [False, True]
    assert verdict(played, 1).ok
    assert not (played.workspace / "alive").exists()


@pytest.mark.parametrize("name", ROGUES)
def test_nothing_is_left_alive(everything: All, name: str) -> None:
    """Whatever it forked, ignored or stopped."""
    noted = everything[0][name].workspace / "pids"
    pids = [int(line) for line in noted.read_text().split()] if noted.exists() else []

    assert [pid for pid in pids if alive(pid)] == []


@pytest.mark.parametrize("name", ROGUES)
def test_its_output_is_kept_and_bounded(everything: All, name: str) -> None:
    """A log that nobody limits fills the disk of everybody."""
    played = everything[0][name]
    folder = folder_of(played.work, played.root).latest(0, 0)
    assert folder is not None

    assert (folder / "server.log").stat().st_size <= 1024 * 1024


def test_the_neighbour_is_not_disturbed(everything: All) -> None:
    """An honest agent beside all of them passes every turn at once."""
    neighbour = everything[1].outcome

    assert neighbour.ending is Ending.COMPLETED
    assert [[attempt.passed for attempt in turn.attempts] for turn in neighbour.turns] == [[True]] * 5


def test_the_page_lists_every_rogue_with_its_outcome() -> None:
    """docs/hostile-servers.md and the table here agree."""
    page = (Path(__file__).parents[2] / "docs" / "hostile-servers.md").read_text()
    rows = re.findall(r"^\| (\w[^|]*) \| ([^|]+) \| ([^|]*?) ?\|$", page.partition("## Whole scenarios")[2], re.MULTILINE)

    assert rows[0] == ("the agent's server", "outcome of its cases", "why")
    assert rows[1:] == [(name, ", ".join(dict.fromkeys(made.outcome)), made.detail) for name, made in ROGUES.items()]


def test_most_of_them_fail() -> None:
    """The table is about servers that fail; a table of servers that pass would test nothing."""
    assert sum(made.outcome == PASSED for made in ROGUES.values()) < len(ROGUES) / 2
