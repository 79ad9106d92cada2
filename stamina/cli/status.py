"""``stamina status``: where each scenario is, read from the journals; works while the run is played and after it was killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import attrs
import click

from scenario_store.folder import ScenarioFolder
from scenario_store.journal import History, read_journal
from scenario_store.outcomes import asked_of
from scenario_store.run import Run
from stamina.cli.board import passed_turns
from stamina.cli.console import columns, json_option, print_json, safe
from stamina.cli.runs import find_run, run_argument
from stamina.errors import HostFault, InputError
from stamina.scoring.reach import BUDGET, CUT
from stamina.turns import CallAgent, Ended, Event, Progress, Rules, RunSuite, next_step, outcome, replay
from stamina.words import counted


@attrs.frozen
class Row:
    """One scenario.

    Attributes:
        state: ``to come``, ``agent`` (a call is due), ``tests`` (a suite is due), or how it ended.
        turn, attempt: where it is; None before it began and when it has ended.
        passed: turns passed without a gap.
        cause, detail: of its end, or of the last failure that is being repeated.
    """

    cell: str
    seed: int
    repeat: int
    state: str
    turn: int | None = None
    attempt: int | None = None
    passed: int = 0
    turns: int = 0
    cause: str | None = None
    detail: str = ""


@click.command()
@run_argument
@click.option("--cell", help="Only cells whose name holds this text.")
@json_option
def status(run: str, *, cell: str | None, as_json: bool) -> None:
    """Show where each scenario of a run is: turn, attempt, cause."""
    found = find_run(run)
    rows = [row for row in _rows(found) if cell is None or cell in row.cell]
    played = found.is_played
    if as_json:
        print_json({"run": str(found.path), "playing": played, "scenarios": [attrs.asdict(row) for row in rows]})
        return
    click.echo(f"{found.path}: {'being played' if played else 'not being played'}; {_counted(rows)}")
    click.echo(columns(("cell", "seed", "repeat", "state", "turn", "attempt", "passed", "cause", "detail"), [_words(row) for row in rows]))


def _rows(run: Run) -> Iterator[Row]:
    """All scenarios of the lock, in its order."""
    lock = run.lock()
    rules = {cell: asked.rules for cell, asked in asked_of(lock).items()}
    begun = {(folder.cell, folder.seed, folder.repeat): folder for folder in run.scenarios()}
    for cell in rules:
        for seed in lock.seeds:
            for repeat in range(lock.repeats):
                folder = begun.get((cell, seed, repeat))
                yield Row(cell, seed, repeat, "to come", turns=rules[cell].turns + 1) if folder is None else _row(folder, rules[cell])


def _row(folder: ScenarioFolder, rules: Rules) -> Row:
    try:
        history: History[Event] = read_journal(folder.journal, Event)
        progress = replay(rules, history.events)
    except (InputError, HostFault) as error:
        return Row(folder.cell, folder.seed, folder.repeat, "unreadable", turns=rules.turns + 1, detail=str(error))
    played = outcome(progress, cell=folder.cell, seed=folder.seed, repeat=folder.repeat)
    return attrs.evolve(_position(progress), cell=folder.cell, seed=folder.seed, repeat=folder.repeat, passed=passed_turns(played.turns), turns=rules.turns + 1)


def _position(progress: Progress) -> Row:
    failures = progress.failures
    match next_step(progress):
        case Ended(ending, cause, detail):
            return Row("", 0, 0, ending.value, cause=cause.value if cause else BUDGET if ending in CUT else None, detail=detail)
        case CallAgent(turn, attempt):
            return Row("", 0, 0, "agent", turn, attempt, cause=failures.cause and failures.cause.value, detail=failures.detail)
        case RunSuite(turn, attempt):
            return Row("", 0, 0, "tests", turn, attempt, cause=failures.cause and failures.cause.value, detail=failures.detail)


def _counted(rows: list[Row]) -> str:
    states = Counter(row.state for row in rows)
    return f"{counted(len(rows), 'scenario')}: " + (", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none")


def _words(row: Row) -> tuple[str, ...]:
    place = ("" if row.turn is None else str(row.turn), "" if row.attempt is None else str(row.attempt))
    return (row.cell, str(row.seed), str(row.repeat), row.state, *place, f"{row.passed}/{row.turns}", row.cause or "", safe(row.detail))
