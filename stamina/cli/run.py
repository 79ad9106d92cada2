"""``stamina run`` and ``stamina resume``: play a sweep, go on with it, or make it longer."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click
from rich.console import Console

from actors.sweep import SweepEnd
from harnesses.registry import HARNESSES
from scenario_store.journal import Journal
from scenario_store.outcomes import asked_of, outcome_of, outcomes_from, planned_of
from scenario_store.run import Run
from stamina.cli.conformance import play
from stamina.cli.console import json_option, print_json, safe
from stamina.cli.ending import DONE, INTERRUPTED, NEGATIVE, Traces
from stamina.cli.obstacles import check_models, check_room, images_of, obstacles
from stamina.cli.playing import lock_of, play_run
from stamina.cli.progress import plain, showing
from stamina.cli.replaying import recorded_run, replay_path
from stamina.cli.runs import RUNS, find_run, run_argument
from stamina.config.dump import resolved
from stamina.config.estimate import describe, estimate
from stamina.config.load import parse, read_text
from stamina.config.lock import Lock, difference, merged
from stamina.config.model import Engine, Plan
from stamina.config.plan import plan as plan_of
from stamina.errors import StaminaError
from stamina.outcome import Cause, Ending, ScenarioOutcome
from stamina.report.machine import report_json
from stamina.report.render import print_report
from stamina.report.report import make_report
from stamina.scoring.played import Played
from stamina.scoring.reach import BUDGET, CUT
from stamina.turns import Event, Reopened
from stamina.words import counted

RETRIABLE = (*map(str, (Cause.PROVIDER, Cause.SANDBOX, Cause.HOST, Cause.BENCHMARK)), BUDGET)


@click.command()
@click.argument("sweep", type=click.Path(path_type=Path), required=False)
@click.option(
    "--harness-check", "checked", metavar="NAME", help="Play two turns of this harness against the scripted model, in its image, and say what was seen."
)
@click.option("--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE", help="Give one key of the sweep file; may be repeated.")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder, instead of runs/NAME.")
@click.option("--replay", metavar="RUN", help="Ask no model: the recording of this run answers. The folder is runs/NAME-replay by default.")
@click.option("--dry-run", is_flag=True, help="Print the plan and what it costs at most; make nothing.")
@json_option
def run(sweep: Path | None, *, checked: str | None, overrides: Sequence[str], out: Path | None, replay: str | None, dry_run: bool, as_json: bool) -> int:
    """Play a sweep file. Given again, it goes on where it stopped; a longer sweep extends the run."""
    if checked is not None:
        if sweep is not None or dry_run or replay is not None:
            raise click.UsageError("--harness-check takes neither a sweep file, --replay nor --dry-run: it plays a sweep of its own")
        return _check_harness(checked, out, overrides, as_json=as_json)
    if sweep is None:
        raise click.UsageError("give a sweep file, such as sweeps/quickstart.toml")
    text = read_text(sweep)
    plan = plan_of(parse(text, str(sweep), overrides, harnesses=HARNESSES))
    out = out or RUNS / (plan.sweep.name + ("-replay" if replay is not None else ""))
    if dry_run:
        _print_plan(plan, _begun(out.absolute()), as_json=as_json)
        return _told_obstacles(plan, out.absolute(), replay)
    return _play(plan, out, resolved(text, overrides), replay=replay, as_json=as_json)


def _check_harness(harness: str, out: Path | None, overrides: Sequence[str], *, as_json: bool) -> int:
    """The first thing to do with a new version of a CLI."""
    folder = out if out is not None else Path(tempfile.mkdtemp(prefix="stamina-check-")) / "run"
    found = play(harness, folder, (lambda event: None) if as_json else plain, overrides=overrides)
    if as_json:
        print_json({"harness": harness, "run": str(folder), "findings": [attrs.asdict(finding) for finding in found]})
    else:
        for finding in found:
            click.echo(safe(f"{'yes' if finding.right else 'NO ':3} {finding.behaviour.value}: {finding.detail}"))
        click.echo(f"\nAll of it is in {folder}")
    return DONE if all(finding.right for finding in found) else NEGATIVE


@click.command()
@run_argument
@click.option(
    "--retry-cause",
    "causes",
    metavar="CAUSE[,CAUSE]",
    default="",
    help=f"Play on scenarios that were censored or crashed for these causes: {', '.join(RETRIABLE)}.",
)
@click.option(
    "--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE", help="Give one key of the run's sweep file anew, such as a budget; may be repeated."
)
@click.option("--replay", metavar="RUN", help="Where the recorded run is now, for a run that replays one that was moved.")
@click.option("--other-images", is_flag=True, help="Go on in other images when those that the run was begun in are gone; lock.json says so.")
@json_option
def resume(run: str, *, causes: str, overrides: Sequence[str], replay: str | None, other_images: bool, as_json: bool) -> int:
    """Go on with a run that was interrupted."""
    wanted = _causes(causes)
    found = find_run(run)
    text = read_text(found.sweep_file)
    plan = plan_of(parse(text, str(found.sweep_file), overrides, harnesses=HARNESSES))
    return _play(plan, found.path, resolved(text, overrides), replay=replay, resumed=True, other_images=other_images, reopen=wanted, as_json=as_json)


def _causes(text: str) -> Sequence[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in RETRIABLE:
            raise click.BadParameter(f"{name} is none of {', '.join(RETRIABLE)}", param_hint="--retry-cause")
    return names


@attrs.frozen
class _Begun:
    """What a run holds already, which is not played again. ``ended`` and ``under_way`` count scenarios, ``turns`` graded ones of all."""

    run: str
    ended: int
    under_way: int
    turns: int


def _begun(out: Path) -> _Begun | None:
    """None where nothing is, or nothing that can be read: the obstacles tell of it."""
    try:
        rows = [row.outcome for row in outcomes_from(Run.open(out))] if (out / "lock.json").exists() else []
    except StaminaError:
        return None
    if not rows:
        return None
    under_way = sum(row.ending is Ending.RUNNING for row in rows)
    return _Begun(str(out), len(rows) - under_way, under_way, sum(len(row.turns) for row in rows))


def _print_plan(plan: Plan, begun: _Begun | None, *, as_json: bool) -> None:
    if not as_json:
        click.echo(describe(plan))
        if begun is not None:
            click.echo(
                f"begun in {_shown(Path(begun.run))}: {begun.ended} of {counted(len(plan.work), 'scenario')} ended, {begun.under_way} under way; "
                f"not played again: {counted(begun.turns, 'graded turn')}"
            )
        return
    bounds = estimate(plan)
    totals: dict[str, Any] = {"scenarios": bounds.scenarios, "agent_calls": bounds.agent_calls, "requests": bounds.requests}
    print_json({"name": plan.sweep.name, **totals, **attrs.asdict(bounds), "begun": None if begun is None else attrs.asdict(begun)})


def _told_obstacles(plan: Plan, out: Path, replay: str | None) -> int:
    found = list(obstacles(plan, out, replay))
    for obstacle in found:
        click.echo(f"run would refuse: {obstacle}", err=True)
    return NEGATIVE if found else DONE


def _play(
    plan: Plan,
    out: Path,
    text: str,
    *,
    replay: str | None = None,
    resumed: bool = False,
    other_images: bool = False,
    reopen: Sequence[str] = (),
    as_json: bool,
) -> int:
    """Everything that can be refused is refused before anything is made."""
    out = out.absolute()  # processes of the run have working folders of their own
    say = partial(_say, quiet=as_json)
    engine = plan.sweep.sandbox.engine
    if engine is not Engine.PROCESS:
        say(f"looking at {engine.value} and its images ...")
    recorded = recorded_run(replay, plan, out if resumed else None)
    check_models(plan, recorded)
    check_room(out)
    lock = lock_of(plan, replay_path(recorded, out), images_of(plan, out))
    run = _prepared(out, text, lock)
    Traces.folder = run.path
    with run.playing():
        _extend(run, lock, text, other_images=other_images)
        if reopen:
            _reopen(run, reopen)
        say(f"playing {counted(len(plan.work), 'scenario')} into {_shown(out)}, {plan.sweep.concurrency} at a time ...")
        with showing(plan, quiet=as_json) as observer:
            end = play_run(run, plan, observer, recorded)
    return _told(run, end, as_json=as_json)


def _say(line: str, *, quiet: bool) -> None:
    """What is being done, for whoever waits; nobody may be there to read it."""
    if not quiet:
        with suppress(OSError):
            click.echo(line, err=True)


def _prepared(out: Path, text: str, lock: Lock) -> Run:
    if (out / "lock.json").exists():
        return Run.open(out)
    return Run.create(out, text.encode(), lock)


def _extend(run: Run, new: Lock, text: str, *, other_images: bool) -> None:
    """Take a longer sweep into the run; refuse a different one."""
    old = run.lock()
    found = difference(old, new, other_images=other_images)
    found.check(str(run.path))
    for line in found.extensions:
        click.echo(f"the run grows: {line}", err=True)
    for line in found.kept:
        click.echo(f"left out this time: {line}", err=True)
    if found.extensions or (not found.kept and text.encode() != run.sweep_file.read_bytes()):  # another budget, say: the run has what it is played with
        run.extend(text.encode(), merged(old, new))


def _reopen(run: Run, causes: Sequence[str]) -> None:
    """Let scenarios that ended for these causes go on."""
    asked = asked_of(run.lock())
    for folder in run.scenarios():
        outcome = outcome_of(folder, asked[folder.cell]).outcome
        if outcome.ending in CUT and _ended_for(outcome) in causes:
            opened: Journal[Event] = Journal.open(folder.journal, Event, clock=time.time)
            with opened as journal:
                journal.append(Reopened(f"resume --retry-cause {_ended_for(outcome)}"))


def _ended_for(outcome: ScenarioOutcome) -> str:
    """What cut a scenario short: a cause, or the money."""
    return outcome.cause.value if outcome.cause else BUDGET


def _shown(path: Path) -> Path:
    """As a person would type it from here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _told(run: Run, end: SweepEnd, *, as_json: bool) -> int:
    rows = outcomes_from(run)
    report = make_report(run.path.resolve().name, rows, planned_of(run.lock()))
    if as_json:
        print_json(report_json(report))
    else:
        print_report(report, Console())
        paid = " (a replay: no model was asked, and what it cost is what the recorded run did)" if run.lock().replay is not None else ""
        click.echo(f"\nAll of it is in {_shown(run.path)}{paid}")
    for line in _advice(run, end, rows):
        click.echo(line, err=True)
    if end.interrupted:
        return INTERRUPTED
    return DONE if end.clean else NEGATIVE


def _advice(run: Run, end: SweepEnd, rows: Sequence[Played]) -> Iterator[str]:
    """What was not played, and how it is."""
    again = f"stamina resume {_shown(run.path)}"
    if end.interrupted:
        yield f"interrupted; go on with: {again}"
        return
    unpaid = sum(row.outcome.ending in CUT and _ended_for(row.outcome) == BUDGET for row in rows)
    if end.closed is not None:
        yield f"some scenarios were not begun: {end.closed}"
    if unpaid:
        yield f"a budget stopped scenarios: {unpaid}"
    if unpaid or end.closed is not None:
        yield f"with more money, go on with: {again} --retry-cause {BUDGET} --set budget.KEY=USD"
    if end.storm is not None:
        yield f"stopped: {end.storm}; go on with: {again}"
