"""``stamina scenarios``: generate, list, show and verify scenarios; no agent is needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from cattrs.preconf.json import make_converter

from scenario_store.scenarios import StoredScenario, StoredTurn, stored_scenarios, write_scenario
from stamina.cli.console import columns, json_option, print_json
from stamina.cli.export import export
from stamina.cli.material import options_of_scenario, scenario_options
from stamina.cli.seeds import seeds_option, turns_option
from stamina.cli.show import VIEWS, as_text
from stamina.cli.verify import verify
from stamina.config.file import MAX_TURNS
from stamina.domain import ScenarioOptions
from stamina.errors import InputError
from stamina.rest.canonical import change_to_json, dumps
from stamina.rest.domain import RestDomain, RestScenario
from stamina.words import counted


@click.group()
def scenarios() -> None:
    """Generate, list, show and verify scenarios."""


@scenarios.command()
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--turn", type=click.IntRange(0, MAX_TURNS), default=0, show_default=True)
@click.option("--what", type=click.Choice(list(VIEWS)), default="request", show_default=True)
@options_of_scenario
@json_option
def show(*, seed: int, turn: int, what: str, as_json: bool, **given: Any) -> None:
    """Print one side of a turn: what the agent is told, the state behind it, or how it is tested."""
    view = VIEWS[what](RestDomain().scenario(scenario_options(seed, given)), turn)
    if as_json:
        print_json(view)
    else:
        click.echo(as_text(view))


@scenarios.command()
@seeds_option
@turns_option
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="One folder a scenario is made in it.")
@options_of_scenario
@json_option
def generate(*, seeds: Sequence[int], turns: int, out: Path, as_json: bool, **given: Any) -> None:
    """Write scenarios as files: states, changes and texts of every turn."""
    domain = RestDomain()
    manifests = []
    for seed in seeds:
        manifests.append(write_scenario(out, stored(domain, scenario_options(seed, given), turns)))
        if not as_json:
            click.echo(f"{out}/seed-{seed}: {counted(turns + 1, 'turn')}, digest {manifests[-1].digest[:16]}")
    if as_json:
        print_json([{"seed": made.options.seed, "turns": made.turns, "digest": made.digest, "benchmark": made.benchmark} for made in manifests])


@scenarios.command("list")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def list_(folder: Path, *, as_json: bool) -> None:
    """List the scenarios that `generate` wrote into a folder."""
    found = stored_scenarios(folder)
    if not found:
        raise InputError(f"{folder} holds no stored scenarios; `stamina scenarios generate --out {folder}` makes some")
    if as_json:
        print_json([make_converter().unstructure(manifest) for manifest in found])
    else:
        rows = [(str(manifest.options.seed), str(manifest.turns), manifest.benchmark, manifest.digest[:16]) for manifest in found]
        click.echo(columns(("seed", "turns", "benchmark", "digest"), rows))


def stored(domain: RestDomain, options: ScenarioOptions, turns: int) -> StoredScenario:
    """A scenario of turns 0 to ``turns`` as it is stored."""
    scenario = domain.scenario(options)
    return StoredScenario(domain.name, domain.version, options, scenario.files, tuple(_stored_turn(scenario, turn) for turn in range(turns + 1)))


def _stored_turn(scenario: RestScenario, turn: int) -> StoredTurn:
    changes = [change_to_json(change) for change in scenario.changes(turn)]
    return StoredTurn(turn, scenario.turn(turn).prompt, dumps(scenario.state(turn)), json.dumps(changes, sort_keys=True, separators=(",", ":")).encode())


scenarios.add_command(verify)
scenarios.add_command(export)
