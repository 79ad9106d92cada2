"""The parts of a real sweep, chosen and joined: the one place that knows domain, harnesses, sandboxes and store together."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from functools import partial

import attrs
import structlog
import trio

from actors.containers import NOT_BEGUN
from actors.gateway.gate import Trouble
from actors.gateway.gateway import Options, gateway, secrets_of
from actors.gateway.joining import Wire, beginning, restore_spending, seating, writing
from actors.gateway.redact import Redactor
from actors.gateway.scripted import ledger_in, scripted
from actors.gateway.seating import Seating, unseated
from actors.observer import Held, ModelDown, ModelUp, Observer, RoomAgain, both, logging_to, to_log
from actors.permits import Admission, Threads, look, permits, take_all_files
from actors.scenario import Cast, Stage, open_end
from actors.stopping import Stop, on_signals
from actors.sweep import Company, Report, SweepEnd, play_sweep
from harnesses.registry import make_harness
from scenario_store.outcomes import asked_of, outcome_of, outcomes_from, planned_of
from scenario_store.run import Run
from stamina import __version__
from stamina.cli.ending import Traces
from stamina.cli.places import Place, place
from stamina.config.lock import Lock, identity
from stamina.config.model import Plan, Work
from stamina.config.plan import scenario_options
from stamina.domain import Language, ScenarioOptions
from stamina.errors import HostFault
from stamina.report.machine import dumps, result_json
from stamina.report.report import make_report
from stamina.rest.domain import RestDomain
from stamina.rest.prose.instructions import instructions
from stamina.scoring.played import Played

log = structlog.get_logger()


def play_run(run: Run, plan: Plan, observer: Observer, recorded: Run | None = None) -> SweepEnd:
    """Play what is left of a plan into its run folder; the caller holds :meth:`Run.playing`. SIGINT and SIGTERM drain, a second one ends at once.

    With a ``recorded`` run no model is asked: its recordings answer.
    """
    take_all_files()
    wire = Wire(run, Redactor(secrets_of(plan.sweep.models.values(), os.environ)), recorded)
    Traces.redact = wire.redactor.text
    with logging_to(run.log_file, wire.redactor.processor):
        return trio.run(_play, run, plan, both(to_log, observer), wire)


def lock_of(plan: Plan, replay: str | None = None, images: Mapping[str, str] = NOT_BEGUN) -> Lock:
    """What a run of this plan is made of; ``replay`` and ``images`` as in :class:`Lock`."""
    domain = RestDomain()
    lock = identity(plan, benchmark=f"{domain.name}-{domain.version}", package=__version__, prompts=_prompts_digest())
    return attrs.evolve(lock, replay=replay, images=images)


def _prompts_digest() -> str:
    """The fixed text that every agent is handed, in all languages."""
    texts = [instructions(ScenarioOptions(seed=0, language=language)) for language in Language]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


async def _play(run: Run, plan: Plan, observe: Observer, wire: Wire) -> SweepEnd:
    async with place(plan, run.lock().images) as where:
        return await _play_at(run, plan, observe, where, wire)


async def _play_at(run: Run, plan: Plan, observe: Observer, where: Place, wire: Wire) -> SweepEnd:
    """With a model gateway, where some cell runs a model."""
    models = {cell.model.name: cell.model for cell in plan.cells if cell.model is not None}
    if not models:
        return await _play_scenarios(run, plan, observe, where, unseated, open_end)
    options = Options(
        models,
        plan.sweep.budget,
        upstreams=scripted(ledger_in(wire.folder)),
        begin=beginning(wire.folder),
        write=writing(wire.folder),
        tell=partial(_tell_trouble, observe),
    )
    async with wire.attached(options) as wired, gateway(wired) as gate:
        restore_spending(gate, run, models.values())
        seats = seating(gate, where.seen(gate.bind(where.listen, early=True)))
        return await _play_scenarios(run, plan, observe, where, seats, lambda: gate.money.ledger.closed)


def _tell_trouble(observe: Observer, trouble: Trouble) -> None:
    observe(ModelDown(trouble.model, trouble.reason) if trouble.reason else ModelUp(trouble.model, trouble.seconds))


async def _play_scenarios(run: Run, plan: Plan, observe: Observer, where: Place, seats: Seating, closed: Callable[[], str | None]) -> SweepEnd:
    stop = Stop()
    admission = Admission(
        look=lambda: look(run.path, *where.disks),
        held=lambda reason: observe(Held(reason)),
        freed=lambda seconds: observe(RoomAgain(seconds)),
        stop=stop,
    )
    stage = Stage(
        sandbox=where.open,
        permits=permits(plan.sweep, admission.wait),
        compute=Threads(trio.CapacityLimiter(max(2, os.cpu_count() or 1))),
        stop=stop,
        observe=observe,
        clock=time.time,
        seating=seats,
        closed=closed,
    )
    company = Company(_Casting(run).cast, stage, _Keeper(run).keep)
    async with trio.open_nursery() as nursery:
        await nursery.start(on_signals, stop)
        end = await play_sweep(plan, company)
        nursery.cancel_scope.cancel()
    return end


@attrs.frozen
class _Casting:
    """Chooses a scenario's parts."""

    run: Run
    domain: RestDomain = attrs.field(factory=RestDomain)

    def cast(self, work: Work) -> Cast:
        scenario = self.domain.scenario(scenario_options(work.cell.settings, work.seed))
        return Cast(work, scenario, make_harness(work.cell.agent), self.run.scenario(work.cell.slug, work.seed, work.repeat))


class _Keeper:
    """Keeps result.json up to date: each report replaces its scenario's row."""

    def __init__(self, run: Run) -> None:
        self._run = run
        lock = run.lock()
        self._asked, self._planned = asked_of(lock), planned_of(lock)
        self._rows: dict[tuple[str, int, int], Played] = {}
        for played in outcomes_from(run):
            self._put(played)

    def keep(self, report: Report) -> None:
        """Called for one report at a time, in a worker thread."""
        work = report.work
        folder = self._run.scenario(work.cell.slug, work.seed, work.repeat)
        self._put(outcome_of(folder, self._asked[work.cell.slug]))
        rows = [self._rows[key] for key in sorted(self._rows)]
        result = dumps(result_json(make_report(self._run.path.resolve().name, rows, self._planned))).encode()
        try:
            self._run.write_result(result)
        except HostFault as error:  # A convenience, derived from the journals: no reason to stop what is paid for.
            log.warning("result.json not written", reason=str(error))

    def _put(self, played: Played) -> None:
        outcome = played.outcome
        self._rows[outcome.cell, outcome.seed, outcome.repeat] = played
