"""The command line, put together: one module a verb."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from stamina import __version__
from stamina.cli.check import check
from stamina.cli.doctor import doctor
from stamina.cli.ending import ended
from stamina.cli.gateway import gateway
from stamina.cli.gc import gc
from stamina.cli.images import images
from stamina.cli.report import report
from stamina.cli.run import resume, run
from stamina.cli.scenarios import scenarios
from stamina.cli.schema import schema
from stamina.cli.serve import serve
from stamina.cli.status import status
from stamina.cli.tail import tail
from stamina.cli.trajectories import trajectories


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="stamina")
def cli() -> None:
    """Measure the stamina of coding agents: how many change requests in a row does one survive?

    Exit codes: 0 done, 1 the verb's own negative (such as failed cases), 2 bad input, 130 interrupted.
    """


for verb in (run, resume, status, tail, report, trajectories, check, serve, gateway, scenarios, schema, images, gc, doctor):
    cli.add_command(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return ended(partial(cli.main, None if arguments is None else list(arguments), prog_name="stamina", standalone_mode=False))
