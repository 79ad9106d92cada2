"""``stamina scenarios``: generate, list, show and verify scenarios; no agent is needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
from cattrs.preconf.json import make_converter

from scenario_store.scenarios import StoredScenario, StoredTurn, stored_scenarios, write_scenario
from stamina.cli.console import columns, json_option, print_json
from stamina.cli.ending import DONE, NEGATIVE
from stamina.cli.material import options_of_scenario, scenario_options
from stamina.cli.show import VIEWS, as_text
from stamina.config.kinds import Seeds, Unexpected
from stamina.domain import ScenarioOptions
from stamina.errors import InputError
from stamina.playing import play
from stamina.rest.canonical import change_to_json, dumps
from stamina.rest.domain import RestDomain, RestScenario
from stamina.suite import CaseStatus

turns_option = click.option("--turns", type=click.IntRange(min=0), default=100, show_default=True, help="N; turns 0 to N are made.")


class SeedsType(click.ParamType[tuple[int, ...]]):
    """``0-4`` or ``0,3,7-9``, as in a sweep file."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """A tuple of seeds."""
        try:
            return Seeds().read(value)
        except Unexpected as error:
            self.fail(str(error), param, ctx)


seeds_option = click.option("--seeds", type=SeedsType(), default="0", show_default=True, help="Such as 0-4 or 0,3,7-9.")


@click.group()
def scenarios() -> None:
    """Generate, list, show and verify scenarios."""


@scenarios.command()
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--turn", type=click.IntRange(min=0), default=0, show_default=True)
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
            click.echo(f"{out}/seed-{seed}: {turns + 1} turns, digest {manifests[-1].digest[:16]}")
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


@attrs.frozen
class Checked:
    """A turn's suite, played against its ground truth. ``failed``: names and messages of cases that did not pass, a fault of the benchmark."""

    seed: int
    turn: int
    passed: int
    total: int
    requests: int
    failed: tuple[str, ...]


@scenarios.command()
@seeds_option
@turns_option
@options_of_scenario
@json_option
def verify(*, seeds: Sequence[int], turns: int, as_json: bool, **given: Any) -> int:
    """Play every suite against its ground truth. Exit 1 when one fails: that is a fault of the benchmark."""
    domain = RestDomain()
    checked = []
    for seed in seeds:
        scenario = domain.scenario(scenario_options(seed, given))
        rows = [verified(scenario, turn) for turn in range(turns + 1)]
        checked += rows
        if not as_json:
            _print_seed(rows)
    good = all(row.passed == row.total > 0 for row in checked)
    passed, total = sum(row.passed for row in checked), sum(row.total for row in checked)
    if as_json:
        print_json({"passed": passed, "total": total, "turns": [attrs.asdict(row) for row in checked]})
    else:
        click.echo(f"{passed} of {total} cases passed against the ground truth in {len(checked)} turns")
    return DONE if good else NEGATIVE


def stored(domain: RestDomain, options: ScenarioOptions, turns: int) -> StoredScenario:
    """A scenario of turns 0 to ``turns`` as it is stored."""
    scenario = domain.scenario(options)
    return StoredScenario(domain.name, domain.version, options, scenario.files, tuple(_stored_turn(scenario, turn) for turn in range(turns + 1)))


def _stored_turn(scenario: RestScenario, turn: int) -> StoredTurn:
    changes = [change_to_json(change) for change in scenario.changes(turn)]
    return StoredTurn(turn, scenario.turn(turn).prompt, dumps(scenario.state(turn)), json.dumps(changes, sort_keys=True, separators=(",", ":")).encode())


def verified(scenario: RestScenario, turn: int) -> Checked:
    """One turn's suite against its ground truth."""
    suite = scenario.suite(turn)
    verdict = play(suite, scenario.truth(turn))
    failed = [result for result in verdict.results if result.status is not CaseStatus.PASSED]
    lines = tuple(f"{result.case.name}: {result.failure.message if result.failure else result.reason}" for result in failed)
    return Checked(scenario.options.seed, turn, verdict.passed, verdict.total, suite.requests, lines)


def _print_seed(rows: Sequence[Checked]) -> None:
    """One line a seed, and one for each case that failed."""
    passed, total, requests = (sum(pick(row) for row in rows) for pick in _SUMS)
    click.echo(f"seed {rows[0].seed}: {len(rows)} turns, {passed}/{total} cases, {requests} requests, last suite {rows[-1].total} cases")
    for row in rows:
        for line in row.failed:
            click.echo(f"  turn {row.turn}: {line}")


_SUMS: tuple[Callable[[Checked], int], ...] = (lambda row: row.passed, lambda row: row.total, lambda row: row.requests)
