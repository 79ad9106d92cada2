"""From a run folder to what is scored: every number can be had again from lock.json and the journals alone."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from scenario_store.folder import ScenarioFolder
from scenario_store.journal import History, read_journal
from scenario_store.run import Run
from scenario_store.usage import lost_requests, read_requests
from stamina.config.lock import Lock
from stamina.errors import HostFault, InputError
from stamina.outcome import Cause, Ending, ScenarioOutcome
from stamina.pricing import price_of
from stamina.scoring.played import Asked, Played, played
from stamina.scoring.spending import Spending, spending
from stamina.turns import Event, Rules


def outcomes_from(run: Run) -> tuple[Played, ...]:
    """Every scenario that was begun, ordered by cell, seed, repeat; works while the run is being played.

    A scenario whose journal cannot be read (damaged, unreadable, written by another version) is CRASHED with cause HOST and the message as its detail, so that
    it is neither lost nor scored as the agent's, and takes no other scenario with it. Raises InputError when lock.json cannot be read.
    """
    asked, played_now = asked_of(run.lock()), run.is_played
    return tuple(outcome_of(folder, asked[folder.cell], played_now=played_now) for folder in run.scenarios() if folder.cell in asked)


def asked_of(lock: Lock) -> Mapping[str, Asked]:
    """What each cell's scenarios are played under."""
    return {
        cell.slug: Asked(
            version=lock.benchmark,
            rules=Rules(cell.settings.turns, cell.settings.retries, cell.settings.on_exhausted, cell.settings.infra_retries),
            language=cell.settings.language,
            model=cell.model,
        )
        for cell in lock.cells
    }


def planned_of(lock: Lock) -> Mapping[str, int]:
    """How many scenarios each cell has when all is played."""
    return {cell.slug: len(lock.seeds) * lock.repeats for cell in lock.cells}


def outcome_of(folder: ScenarioFolder, asked: Asked, *, played_now: bool = True) -> Played:
    """One scenario that was begun; see :func:`outcomes_from`. ``played_now``: requests without an end may still have one."""
    try:
        history: History[Event] = read_journal(folder.journal, Event)
        folder.vouch_for(history.events)
        found = played(asked, history.events, cell=folder.cell, seed=folder.seed, repeat=folder.repeat)
        return attrs.evolve(found, spending=_spending(folder, asked, played_now=played_now))
    except (InputError, HostFault) as error:
        rules = asked.rules
        lost = ScenarioOutcome(folder.cell, folder.seed, folder.repeat, rules.turns, rules.retries, (), Ending.CRASHED, Cause.HOST, str(error))
        return Played(asked.version, lost)


def _spending(folder: ScenarioFolder, asked: Asked, *, played_now: bool) -> Spending | None:
    if asked.model is None:
        return None
    lost = [] if played_now else lost_requests(folder.path)
    return spending([*read_requests(folder.path), *lost], price_of(asked.model))
