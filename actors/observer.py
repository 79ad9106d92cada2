"""What a sweep tells while it runs: typed events to one hook. Progress displays and the log listen; nothing waits for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TextIO, TypeAlias, cast

import attrs
import structlog
from structlog.typing import Processor

from actors.log_file import LogFile
from stamina.config.model import Work
from stamina.outcome import ScenarioOutcome
from stamina.turns import Event as TurnEvent
from stamina.turns import Progress


@attrs.frozen
class ScenarioStarted:
    """A scenario plays, from ``progress`` on; ``resumed`` when it had been played before."""

    work: Work
    progress: Progress
    resumed: bool


@attrs.frozen
class Happened:
    """An event went to the journal; ``progress`` is after it."""

    work: Work
    event: TurnEvent
    progress: Progress


@attrs.frozen
class Waiting:
    """A scenario pauses after failures of the machinery."""

    work: Work
    seconds: float
    reason: str


@attrs.frozen
class ScenarioEnded:
    """A scenario has ended, or was stopped in between (RUNNING)."""

    work: Work
    outcome: ScenarioOutcome


@attrs.frozen
class ScenarioCrashed:
    """A bug ended a scenario; ``traceback`` is kept beside its journal too. Or input that cannot be used did, which has none: a CLI of another version, a
    damaged journal."""

    work: Work
    error: str
    traceback: str


@attrs.frozen
class Held:
    """Nothing new is started: the host has too little of something."""

    reason: str


@attrs.frozen
class RoomAgain:
    """The host has enough again, after so many seconds."""

    seconds: float


@attrs.frozen
class ModelDown:
    """The provider of a model fails for everyone: its requests wait, and what waits costs nobody an attempt. Goes on by itself."""

    model: str
    reason: str


@attrs.frozen
class ModelUp:
    """It answers again, after so many seconds."""

    model: str
    seconds: float


@attrs.frozen
class Draining:
    """Somebody asked to stop: no new turns; what is in flight has ``seconds`` to end."""

    seconds: float


Event: TypeAlias = ScenarioStarted | Happened | Waiting | ScenarioEnded | ScenarioCrashed | Held | RoomAgain | ModelDown | ModelUp | Draining

Observer: TypeAlias = Callable[[Event], None]
"""Called in the event loop: quick, and it never raises."""

log = structlog.get_logger()


def nobody(event: Event) -> None:
    """Listens to nothing."""


def both(*observers: Observer) -> Observer:
    """Tells all of them, in order."""

    def tell(event: Event) -> None:
        for observer in observers:
            observer(event)

    return tell


def to_log(event: Event) -> None:
    """One line of the log for each event. Prompts and the agent's words are never in it."""
    match event:
        case ScenarioStarted():
            log.info("scenario started", turn=event.progress.turn, resumed=event.resumed)
        case Happened():
            log.info(type(event.event).__name__, **attrs.asdict(event.event))
        case Waiting():
            log.warning("waiting", seconds=event.seconds, reason=event.reason)
        case ScenarioEnded():
            cause = event.outcome.cause
            log.info("scenario ended", ending=event.outcome.ending.value, cause=cause and cause.value, detail=event.outcome.detail)
        case ScenarioCrashed():
            if event.traceback:
                log.error("scenario crashed", error=event.error, traceback=event.traceback)
            else:
                log.error("scenario stopped, to be put right", error=event.error)
        case Held():
            log.warning("held", reason=event.reason)
        case RoomAgain():
            log.warning("room again", seconds=event.seconds)
        case ModelDown():
            log.warning("model down", model=event.model, reason=event.reason)
        case ModelUp():
            log.warning("model up again", model=event.model, seconds=event.seconds)
        case Draining():
            log.warning("draining", seconds=event.seconds)


@contextmanager
def logging_to(path: Path, redact: Processor | None = None) -> Iterator[None]:
    """Send structlog to a file of JSON lines for the length of the block; each line carries what is bound to the task (cell, seed, repeat, turn).

    ``redact`` takes secrets out of each line. Raises HostFault when the file cannot be opened.
    """
    with closing(LogFile(path)) as file:
        _configure(file, redact)
        try:
            yield
        finally:
            structlog.reset_defaults()


def _configure(file: LogFile, redact: Processor | None) -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *(() if redact is None else (redact,)),
            structlog.processors.JSONRenderer(default=str),
        ],
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, file)),
        cache_logger_on_first_use=False,
    )
