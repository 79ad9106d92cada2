"""Progress: the board's numbers, the plain lines and the live picture."""

import io

from rich.console import Console

from actors.observer import Draining, Event, Happened, Held, ScenarioCrashed, ScenarioEnded, ScenarioStarted, Waiting
from stamina.cli.board import Board
from stamina.cli.progress import line_of, picture
from stamina.config.model import Work
from stamina.outcome import Cause, Ending
from stamina.turns import CallFailed, CallStarted, Progress, Rules, SuiteRan, advance, begin, outcome
from stamina.turns import Event as TurnEvent
from tests.cli.cli_samples import attempt, sample_plan

PLAN = sample_plan()
RULES = Rules(turns=2, retries=1)


def work(cell: str, seed: int) -> Work:
    """One scenario of the plan."""
    return next(work for work in PLAN.work if (work.cell.slug, work.seed) == (cell, seed))


def story(of: Work, events: list[TurnEvent], *, ends: bool = False) -> list[Event]:
    """What observers hear when these go to a journal."""
    progress: Progress = begin(RULES)
    told: list[Event] = [ScenarioStarted(of, progress, resumed=False)]
    for event in events:
        progress = advance(progress, event)
        told.append(Happened(of, event, progress))
    result = outcome(progress, cell=of.cell.slug, seed=of.seed, repeat=of.repeat)
    return [*told, ScenarioEnded(of, result)] if ends else told


def board(*events: Event) -> Board:
    """A board that heard these."""
    made = Board(PLAN, now=0.0)
    for event in events:
        made.tell(event)
    return made


FAILING: list[TurnEvent] = [*attempt(0, 0, 10), CallStarted(1, 0, 0), CallFailed(1, 0, 0, 1.0, Cause.HARNESS, "exit code 3")]
EXHAUSTED: list[TurnEvent] = [*attempt(0, 0, 9), *attempt(0, 1, 9)]


def test_counts_scenarios_and_turns_by_cell() -> None:
    """Done, running, turns passed."""
    made = board(*story(work("reference", 0), FAILING), *story(work("mock", 0), EXHAUSTED, ends=True))
    rows = {row.cell: row for row in made.rows()}

    assert (rows["reference"].running, rows["reference"].done, rows["reference"].passed) == (1, 0, 1)
    assert (rows["mock"].running, rows["mock"].done, rows["mock"].passed) == (0, 1, 0)
    assert sorted((row.cell, row.total) for row in rows.values()) == [("mock", 2), ("reference", 2)]


def test_shows_what_fails_now() -> None:
    """And forgets it when it is over."""
    started = story(work("reference", 0), FAILING)
    waiting = Waiting(work("reference", 0), 4.0, "exit code 3")

    assert [text for _, text in board(*started).troubles()] == ["harness: exit code 3"]
    assert [text for _, text in board(*started, waiting).troubles()] == ["waits 4 s: exit code 3"]
    assert board(*started, waiting, *story(work("reference", 0), [*FAILING, *attempt(1, 0, 10)])).troubles() == []


def test_a_scenario_that_crashed_stays_visible() -> None:
    """It is the benchmark's fault, so somebody must see it."""
    made = board(*story(work("mock", 0), []), ScenarioCrashed(work("mock", 0), "KeyError: 'x'", "…"))

    assert [row.crashed for row in made.rows() if row.cell == "mock"] == [1]
    assert [text for _, text in made.troubles()] == ["KeyError: 'x'"]


def test_tells_the_time_left_once_it_can() -> None:
    """At the pace since the display began; a resumed run's earlier work does not count as speed."""
    made = board()
    assert made.seconds_left(10.0) is None

    for event in story(work("reference", 0), attempt(0, 0, 10), ends=False):
        made.tell(event)
    for event in story(work("mock", 0), EXHAUSTED, ends=True):
        made.tell(event)

    share = made.share
    assert 0 < share < 1
    assert made.seconds_left(60.0) == 60.0 * (1 - share) / share


def test_prints_one_line_for_what_matters() -> None:
    """Starts, gradings, waits, ends."""
    events = [*story(work("mock", 0), EXHAUSTED, ends=True), Waiting(work("mock", 0), 2.0, "x"), Held("little disk"), Draining(30)]

    assert [line for line in map(line_of, events) if line] == [
        "mock/0/0: starts at turn 0",
        "mock/0/0: turn 0/2, attempt 0: 9/10 tests passed",
        "mock/0/0: turn 0/2, attempt 1: 9/10 tests passed",
        "mock/0/0: exhausted with 0/3 turns passed, cause agent: turn 0 failed 2 times",
        "mock/0/0: waits 2 s: x",
        "nothing new is started: little disk",
        "stopping; what is in flight has 30 s. Ctrl-C again stops at once.",
    ]
    assert line_of(Happened(work("mock", 0), SuiteRan(1, 0, 0, 5, detail="no answer"), begin(RULES))) == (
        "mock/0/0: turn 1/2, attempt 0: 0/5 tests passed (no answer)"
    )


def test_draws_a_table_for_a_terminal() -> None:
    """Every cell, the share of the work, troubles and notices."""
    made = board(*story(work("reference", 0), FAILING), *story(work("mock", 0), EXHAUSTED, ends=True), Draining(30))
    out = io.StringIO()
    Console(file=out, width=120, force_terminal=False).print(picture(made, 90.0))
    text = out.getvalue()

    assert Ending.CENSORED.value in text
    assert "reference/0/0: harness: exit code 3" in text
    assert "in 0:01:30" in text
    assert "stopping" in text
