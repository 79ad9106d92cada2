"""What stands in the way of a run, looked at before anything is made: ``run`` stops at the first, ``run --dry-run`` tells them all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from actors.gateway.providers import check_proxies
from actors.permits import FLOOR, look
from scenario_store.run import Run
from stamina.cli.places import check_place
from stamina.cli.playing import lock_of
from stamina.cli.replaying import recorded_run, replay_path
from stamina.config.load import check_keys
from stamina.config.lock import difference
from stamina.config.model import Plan
from stamina.errors import HostFault, StaminaError


def obstacles(plan: Plan, out: Path, replay: str | None) -> Iterator[str]:
    """Every one that ``run`` would meet here and now.

    Args:
        plan: what is to be played.
        out: the run's folder, absolute.
        replay: what ``--replay`` was given.
    """
    try:
        recorded = recorded_run(replay, plan)
    except StaminaError as error:
        yield str(error)
        return
    images: dict[str, str] = {}
    checks: Sequence[Callable[[], None]] = (
        partial(check_models, plan, recorded),
        partial(check_room, out),
        lambda: images.update(images_of(plan, out)),
        partial(_check_mixing, plan, out, recorded, images),
    )
    for check in checks:
        try:
            check()
        except StaminaError as error:
            yield str(error)


def check_models(plan: Plan, recorded: Run | None) -> None:
    """Raises InputError when the models cannot be reached from here; a replay reaches none."""
    if recorded is None:
        check_keys(plan.sweep, os.environ)
        check_proxies([cell.model for cell in plan.cells if cell.model is not None], os.environ)


def check_room(out: Path) -> None:
    """Raises :class:`HostFault` when this machine has too little left of something for a run to begin; once begun it waits instead."""
    there = next(path for path in (out, *out.parents) if path.exists())
    lacks = look(there).lacks(FLOOR)
    if lacks is not None:
        raise HostFault(f"{out}: {lacks}. Make room, or choose a folder on another disk with --out")


def images_of(plan: Plan, out: Path) -> Mapping[str, str]:
    """The images that a run is played in: those that it was begun in, where it was. Raises InputError when nothing here can run its sandboxes."""
    begun = Run.open(out).lock().images if (out / "lock.json").exists() else {}
    return check_place(plan, begun)


def _check_mixing(plan: Plan, out: Path, recorded: Run | None, images: Mapping[str, str]) -> None:
    if (out / "lock.json").exists():
        difference(Run.open(out).lock(), lock_of(plan, replay_path(recorded, out), images)).check(str(out))
    else:
        Run(out).check_free()
