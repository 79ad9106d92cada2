"""Progress of a running sweep: a live table on a terminal, plain lines anywhere else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import click
import structlog
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors.observer import Draining, Event, Happened, Held, ModelDown, ModelUp, Observer, RoomAgain, ScenarioCrashed, ScenarioEnded, ScenarioStarted, Waiting
from stamina.cli.board import Board, key_of, name_of, passed_turns
from stamina.cli.console import safe
from stamina.config.model import Plan
from stamina.outcome import Ending
from stamina.turns import Ended, SuiteRan, next_step

log = structlog.get_logger()

REFRESH_PER_SECOND = 4


@contextmanager
def showing(plan: Plan, *, quiet: bool) -> Iterator[Observer]:
    """An observer that shows progress on stderr for the length of the block; nothing when ``quiet``.

    A terminal that closes or a reader that goes ends the showing, not what is shown.
    """
    console = Console(stderr=True)
    if quiet:
        yield lambda event: None
    elif console.is_terminal:
        with _live(plan, console) as observer:
            yield observer
    else:
        yield _while_read(plain)


def plain(event: Event) -> None:
    """One line for each event that says something new."""
    line = line_of(event)
    if line is not None:
        click.echo(safe(line), err=True)


def line_of(event: Event) -> str | None:
    """An event for people; None for those that are steps of something that gets a line of its own."""
    match event:
        case ScenarioStarted(work, progress, resumed):
            if isinstance(next_step(progress), Ended):
                return None  # nothing is played: its end has a line of its own
            return f"{name_of(key_of(work))}: {'goes on at' if resumed else 'starts at'} turn {progress.turn}"
        case Happened(work, SuiteRan() as ran, _):
            detail = f" ({ran.detail})" if ran.detail else ""
            turns = work.cell.settings.turns
            return f"{name_of(key_of(work))}: turn {ran.turn}/{turns}, attempt {ran.attempt}: {ran.passed}/{ran.total} tests passed{detail}"
        case Waiting(work, seconds, reason):
            return f"{name_of(key_of(work))}: waits {seconds:.0f} s: {reason}"
        case ScenarioEnded(work, outcome):
            cause = f", cause {outcome.cause.value}" if outcome.cause else ""
            detail = f": {outcome.detail}" if outcome.detail else ""
            word = "interrupted" if outcome.ending is Ending.RUNNING else outcome.ending.value
            return f"{name_of(key_of(work))}: {word} with {passed_turns(outcome.turns)}/{outcome.turns_planned + 1} turns passed{cause}{detail}"
        case ScenarioCrashed(work, error, traceback):
            return f"{name_of(key_of(work))}: {'crashed through a bug' if traceback else 'stopped, to be put right'}: {error}"
        case Held(reason):
            return f"nothing new is started: {reason}"
        case RoomAgain(seconds):
            return f"there is room again after {seconds:.0f} s: all goes on"
        case ModelDown(model, reason):
            return f"model {model} is down, its requests wait: {reason}"
        case ModelUp(model, seconds):
            return f"model {model} answers again after {seconds:.0f} s"
        case Draining(seconds):
            return f"stopping; what is in flight has {seconds:.0f} s. Ctrl-C again stops at once."
        case _:
            return None


@contextmanager
def _live(plan: Plan, console: Console) -> Iterator[Observer]:
    board = Board(plan, time.monotonic())
    lock = threading.Lock()  # rich draws from a thread of its own

    def draw() -> RenderableType:
        with lock:
            return picture(board, time.monotonic())

    live = Live(get_renderable=draw, console=console, refresh_per_second=REFRESH_PER_SECOND, transient=True)
    live.start()
    try:
        yield _locked(board.tell, lock)
    finally:
        with suppress(OSError):  # the terminal has closed
            live.stop()


def _while_read(show: Observer) -> Observer:
    """Shows until that fails, which is told once to the log."""
    read = True

    def observer(event: Event) -> None:
        nonlocal read
        if not read:
            return
        try:
            show(event)
        except OSError as error:
            read = False
            log.warning("progress is shown no more: its reader is gone; all goes on, `stamina tail` shows it", reason=str(error))

    return observer


def _locked(tell: Callable[[Event], None], lock: threading.Lock) -> Observer:
    def observer(event: Event) -> None:
        with lock:
            tell(event)

    return observer


def picture(board: Board, now: float) -> RenderableType:
    """The live table, with what goes wrong below it."""
    table = Table(title_justify="left", header_style="bold")
    for header, justify in (
        ("cell", "left"),
        ("", "left"),
        ("done", "right"),
        ("running", "right"),
        ("turns passed", "right"),
        ("censored", "right"),
        ("crashed", "right"),
    ):
        table.add_column(header, justify=justify)  # type: ignore[arg-type]
    for row in board.rows():
        bar = ProgressBar(total=1.0, completed=row.share, width=20)
        table.add_row(Text(row.cell), bar, f"{row.done}/{row.total}", str(row.running), str(row.passed), _count(row.censored), _count(row.crashed))
    parts: list[RenderableType] = [table, Text(_clock(board, now))]
    parts += [Text(safe(f"{name_of(key)}: {trouble}"), style="yellow", overflow="ellipsis", no_wrap=True) for key, trouble in board.troubles()]
    return Group(*parts, *([Text(board.notice, style="bold")] if board.notice else []))


def _clock(board: Board, now: float) -> str:
    left = board.seconds_left(now)
    return f"{board.share:.0%} in {_span(board.elapsed(now))}, {'time left unknown' if left is None else f'about {_span(left)} left'}"


def _span(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _count(number: int) -> str:
    return str(number) if number else ""
