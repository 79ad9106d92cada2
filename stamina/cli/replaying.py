"""``--replay``: which recorded run answers instead of the models, and whether it can."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from scenario_store.run import Run
from scenario_store.wire import NAME
from stamina.cli.playing import lock_of
from stamina.cli.runs import find_run
from stamina.config.lock import unrecorded
from stamina.config.model import Plan, Work
from stamina.errors import InputError

SHOWN = 5


def recorded_run(typed: str | None, plan: Plan, resumed: Path | None = None) -> Run | None:
    """The run that answers; None when the models do.

    Args:
        typed: what ``--replay`` was given.
        resumed: the run that is gone on with: its lock says what it replays, where nothing else is given.

    Raises InputError when there is no such run, when it was not recorded, or when it played something else.
    """
    found = find_run(typed) if typed is not None else _named_by(resumed)
    if found is None:
        return None
    lines = unrecorded(found.lock(), lock_of(plan))
    if lines:
        shown = "".join(f"\n  {line}" for line in lines)
        raise InputError(f"{found.path} cannot be replayed by this sweep, which asks something else:{shown}\nGive its own sweep file: {found.sweep_file}")
    _check_recordings(found, [work for work in plan.work if work.cell.model is not None])
    return found


def replay_path(recorded: Run | None, out: Path) -> str | None:
    """What a lock says of it: the way from the new run's folder, so that both can be moved together."""
    return None if recorded is None else os.path.relpath(recorded.path.resolve(), out.resolve())


def _named_by(out: Path | None) -> Run | None:
    replay = None if out is None else Run.open(out).lock().replay
    if out is None or replay is None:
        return None
    path = out.resolve() / replay
    if not (path / "lock.json").is_file():
        raise InputError(f"{out} replays the run {path.name}, which is not at {path.resolve()} any more. Say where it is with --replay")
    return Run.open(path.resolve())


def _check_recordings(run: Run, wanted: Sequence[Work]) -> None:
    if not wanted:
        raise InputError("there is nothing to replay: no cell of this sweep runs a model. Leave --replay out")
    there = {(folder.cell, folder.seed, folder.repeat) for folder in run.scenarios() if (folder.path / NAME).is_file()}
    if not there:
        raise InputError(f"{run.path} has no recording: no scenario of it has a {NAME}. Runs of older versions, and runs that asked no model, have none")
    missing = [f"{work.cell.slug}/{work.seed}/{work.repeat}" for work in wanted if (work.cell.slug, work.seed, work.repeat) not in there]
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise InputError(f"{run.path} has no recording of {', '.join(missing[:SHOWN])}{more}. Leave them out, such as with --set sweep.seeds=...")
