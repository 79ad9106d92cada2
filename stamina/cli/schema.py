"""``stamina schema``: the sweep file for editors and programs."""

from __future__ import annotations

import click

from harnesses.registry import HARNESSES
from stamina.cli.console import print_json
from stamina.config.reference import tables
from stamina.config.schema import schema as schema_of


@click.command()
@click.option("--markdown", is_flag=True, help="Print the tables of docs/sweep-reference.md instead.")
def schema(*, markdown: bool) -> None:
    """Print the JSON Schema of sweep.toml."""
    if markdown:
        click.echo(tables())
    else:
        print_json(schema_of(HARNESSES))
