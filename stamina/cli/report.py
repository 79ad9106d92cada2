"""``stamina report``: what a run came to, also while it is being played."""

from __future__ import annotations

import click
from rich.console import Console

from scenario_store.outcomes import outcomes_from, planned_of
from stamina.cli.console import json_option, print_json
from stamina.cli.runs import find_run, run_argument
from stamina.report.machine import report_json
from stamina.report.render import markdown as as_markdown
from stamina.report.render import print_report
from stamina.report.report import make_report


@click.command()
@run_argument
@click.option("--markdown", is_flag=True, help="Print Markdown instead of text.")
@json_option
def report(run: str, *, markdown: bool, as_json: bool) -> None:
    """Print a run's tables: turns passed, pass rate, README score."""
    found = find_run(run)
    made = make_report(found.path.resolve().name, outcomes_from(found), planned_of(found.lock()))
    if as_json:
        print_json(report_json(made))
    elif markdown:
        click.echo(as_markdown(made), nl=False)
    else:
        print_report(made, Console())
