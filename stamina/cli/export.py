"""``stamina scenarios export``: a state in the form of another tool."""

from __future__ import annotations

from typing import Any

import click

from stamina.cli.console import print_json
from stamina.cli.material import options_of_scenario, scenario_options
from stamina.config.file import MAX_TURNS
from stamina.rest.domain import RestDomain
from stamina.rest.openapi import document


@click.command()
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--turn", type=click.IntRange(0, MAX_TURNS), default=0, show_default=True)
@click.option("--format", "form", type=click.Choice(["openapi"]), default="openapi", show_default=True)
@options_of_scenario
def export(*, seed: int, turn: int, form: str, **given: Any) -> None:
    """Print the API of a turn as an OpenAPI 3.1 document, in JSON."""
    state = RestDomain().scenario(scenario_options(seed, given)).state(turn)
    print_json(document(state, f"seed {seed}, turn {turn}"))
