"""From what a user typed to a run: a folder, or a name below ``runs/``."""

from __future__ import annotations

from pathlib import Path

import click

from scenario_store.run import Run
from stamina.cli.ending import Traces
from stamina.config.kinds import suggestion
from stamina.errors import InputError

RUNS = Path("runs")

run_argument = click.argument("run", metavar="RUN")


def find_run(typed: str) -> Run:
    """The run that was meant. Raises :class:`InputError` that lists what there is."""
    for path in (Path(typed), RUNS / typed):
        if (path / "lock.json").is_file():
            Traces.folder = path
            return Run.open(path)
    if Path(typed).suffix == ".toml":
        raise InputError(f"{typed} is a sweep file; expected a run, which `stamina run {typed}` makes: {_there(Path(typed).stem)}")
    for path in (Path(typed), RUNS / typed):
        if (path / "sweep.toml").exists():
            raise InputError(Run.without_lock(path))
    places = " and ".join(dict.fromkeys(str(path / "lock.json") for path in (Path(typed), RUNS / typed)))
    raise InputError(f"{typed} is not a run (looked for {places}); {_there(Path(typed).name)}")


def _there(typed: str) -> str:
    names = sorted(path.parent.name for path in RUNS.glob("*/lock.json"))
    return suggestion(typed, names, f"runs in {RUNS}/")
