"""``stamina scenarios export``: a scenario in the form of another tool, or as the texts that an agent reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from stamina.cli.console import print_json
from stamina.cli.material import options_of_scenario, scenario_options
from stamina.config.file import MAX_TURNS
from stamina.errors import InputError
from stamina.rest.domain import RestDomain, RestScenario
from stamina.rest.openapi import document
from stamina.words import counted


@click.command()
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--turn", type=click.IntRange(0, MAX_TURNS), default=0, show_default=True, help="The turn; with `texts` the last one.")
@click.option("--format", "form", type=click.Choice(["openapi", "texts"]), default="openapi", show_default=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Where `texts` are written: a new folder, or an empty one.")
@options_of_scenario
def export(*, seed: int, turn: int, form: str, out: Path | None, **given: Any) -> None:
    """Print the API of a turn as an OpenAPI 3.1 document, or write what an agent reads up to that turn, and nothing else, as files."""
    if (form == "texts") is (out is None):
        raise click.UsageError("--out DIR belongs to --format texts, and is needed there")
    scenario = RestDomain().scenario(scenario_options(seed, given))
    if out is None:
        print_json(document(scenario.state(turn), f"seed {seed}, turn {turn}"))
    else:
        _write(out, texts(scenario, turn))


def texts(scenario: RestScenario, last: int) -> dict[str, str]:
    """The texts of turns 0 to ``last`` by file name: instructions, specification, and one ``turn-01.md`` a change request."""
    return {**scenario.files, **{f"turn-{turn:02}.md": scenario.turn(turn).prompt + "\n" for turn in range(1, last + 1)}}


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder} is not empty; give a folder that is, or a new one")
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: the texts cannot be written: {error.strerror}") from error
    click.echo(f"{folder}: {counted(len(files), 'file')}")
