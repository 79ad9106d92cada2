"""``stamina tail``: a run's log as lines for people, and on as it grows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import click

from scenario_store.run import Run
from stamina.cli.console import safe
from stamina.cli.runs import find_run, run_argument
from stamina.errors import InputError
from stamina.words import counted

LEVELS = ("debug", "info", "warning", "error", "critical")
_POLL_SECONDS = 0.2
_PLACE = ("cell", "seed", "repeat")


@attrs.frozen
class Filter:
    """Which records are shown: at least this level, and scenarios whose name (``cell/seed/repeat``) begins so."""

    level: str
    scenario: str | None

    def passes(self, record: Mapping[str, Any]) -> bool:
        """Whether it is shown."""
        level = str(record.get("level", "info"))
        loud = level not in LEVELS or LEVELS.index(level) >= LEVELS.index(self.level)
        return loud and (self.scenario is None or _begins(scenario_of(record), self.scenario))


def _begins(name: str, wanted: str) -> bool:
    """``mock/1`` begins ``mock/1/0`` and not ``mock/10/0``."""
    return f"{name}/".startswith(f"{wanted.rstrip('/')}/")


@click.command()
@run_argument
@click.option("-f", "--follow", is_flag=True, help="Go on as the log grows, until the run is no longer played.")
@click.option("--scenario", metavar="CELL[/SEED[/REPEAT]]", help="Only scenarios whose name begins so.")
@click.option("--level", type=click.Choice(LEVELS), default="info", show_default=True, help="Only this level and above.")
@click.option("-n", "--lines", type=click.IntRange(min=0), help="Only the last lines of what is there.")
@click.option("--json", "as_json", is_flag=True, help="Print records as they are.")
def tail(run: str, *, follow: bool, scenario: str | None, level: str, lines: int | None, as_json: bool) -> None:
    """Show a run's log."""
    found = find_run(run)
    _check_known(found, scenario)
    path = found.log_file
    wanted = Filter(level, scenario)
    reader = LogReader(path)
    shown = [line for line in reader.more() if wanted.passes(record_of(line))]
    for line in shown if lines is None else shown[len(shown) - min(lines, len(shown)) :]:
        _show(line, as_json=as_json)
    while follow:
        last = not found.is_played  # asked before reading: what was written until then is read
        for line in reader.more():
            if wanted.passes(record_of(line)):
                _show(line, as_json=as_json)
        if last:
            click.echo(f"{found.path} is not being played (any more)", err=True)
            return
        time.sleep(_POLL_SECONDS)


def _check_known(run: Run, scenario: str | None) -> None:
    """Raises :class:`InputError` when no scenario of the run has a name that begins so."""
    lock = run.lock()
    names = [f"{cell.slug}/{seed}/{repeat}" for cell in lock.cells for seed in lock.seeds for repeat in range(lock.repeats)]
    if scenario is not None and not any(_begins(name, scenario) for name in names):
        known = f"its {counted(len(names), 'scenario')} (CELL/SEED/REPEAT) begin with {names[0]} and end with {names[-1]}"
        raise InputError(f"--scenario {scenario}: this run has no such scenario; {known}")


class LogReader:
    """Reads whole lines as they come; a line that is still being written waits for its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def more(self) -> Iterator[str]:
        """The lines since the last time; none while there is no log yet."""
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2) < self._at:  # a new log took its place
                    self._at, self._rest = 0, b""
                file.seek(self._at)
                data = self._rest + file.read()
                self._at = file.tell()
        except FileNotFoundError:
            return
        *lines, self._rest = data.split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines if line.strip())


def record_of(line: str) -> Mapping[str, Any]:
    """A line's record; one that is no JSON object is a message of its own, so that nothing is hidden."""
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    return record if isinstance(record, dict) else {"event": line, "level": "warning"}


def scenario_of(record: Mapping[str, Any]) -> str:
    """``cell/seed/repeat``, as far as the record names them."""
    return "/".join(str(record[key]) for key in _PLACE if key in record)


def _show(line: str, *, as_json: bool) -> None:
    click.echo(line if as_json else text_of(record_of(line)))


def text_of(record: Mapping[str, Any]) -> str:
    """One line for a person."""
    known = {"timestamp", "level", "event", *_PLACE}
    rest = " ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in record.items() if key not in known)
    parts = (str(record.get("timestamp", "")), f"{record.get('level', 'info')!s:<7}", scenario_of(record), str(record.get("event", "")), rest)
    return safe(" ".join(part for part in parts if part.strip()))
