"""``stamina serve``: the ground truth of a state as a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import trio

from actors.truth import serving
from stamina.cli.material import material, options_of_material
from stamina.domain import Handler
from stamina.rest.asgi import Application


@click.command()
@options_of_material
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; 0, the default, takes any free one.")
def serve(*, seed: int | None, turn: int, state_file: Path | None, host: str, port: int, **given: Any) -> None:
    """Serve the ground truth of one state until Ctrl-C. Its address is the first line of output."""
    trio.run(_serve, material(seed, turn, state_file, given).truth, host, port)


async def _serve(handler: Handler, host: str, port: int) -> None:
    async with serving(Application(handler), host, port) as bound:
        click.echo(bound.url)
        await trio.sleep_forever()
