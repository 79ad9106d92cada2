"""``stamina trajectories``: what agents did, in a form that other tools read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from harnesses.atif import Totals, document
from scenario_store.atomic import host_faults, write_atomic
from scenario_store.folder import ScenarioFolder
from scenario_store.usage import read_requests
from stamina.cli.runs import find_run, run_argument


@click.command()
@run_argument
@click.option("--out", type=click.Path(path_type=Path), help="Where the documents go; the run's folder atif by default.")
def trajectories(run: str, *, out: Path | None) -> None:
    """Write the trajectory of each scenario as ATIF v1.8, one document each."""
    found = find_run(run)
    folder = out if out is not None else found.path / "atif"
    with host_faults("create", folder):
        folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for scenario in found.scenarios():
        made = _document(scenario)
        if made is not None:
            write_atomic(folder / f"{scenario.cell}-{scenario.seed}-{scenario.repeat}.json", json.dumps(made, indent=1).encode() + b"\n")
            written += 1
    click.echo(f"{written} documents are in {folder}" if written else "no agent of this run has left a trajectory: those that need no model leave none")


def _document(scenario: ScenarioFolder) -> dict[str, Any] | None:
    uses = [request.usage for request in read_requests(scenario.path) if request.usage is not None]
    totals = Totals(sum(use.input for use in uses), sum(use.output for use in uses), sum(use.cached for use in uses))
    extra = {"cell": scenario.cell, "seed": scenario.seed, "repeat": scenario.repeat}
    return document(f"{scenario.cell}/{scenario.seed}/{scenario.repeat}", _calls(scenario.path), totals, extra)


def _calls(folder: Path) -> Iterator[list[Mapping[str, Any]]]:
    """The lines of each call, in the order of the calls; half a line at the end of one that is being written is left out."""
    paths = (folder / "turns").glob("*/*/*/trajectory.jsonl")
    for path in sorted(paths, key=lambda path: tuple(float(part) for part in path.parts[-4:-1])):
        with host_faults("read", path):
            text = path.read_text(encoding="utf-8", errors="replace")
        yield [json.loads(line) for line in text.split("\n")[:-1]]
