"""``stamina gateway``: the model gateway alone, to point a CLI at by hand."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import click
import trio

from actors.gateway.gate import Trouble
from actors.gateway.gateway import Options, Strayed
from actors.gateway.gateway import gateway as serving
from actors.gateway.interfaces import Caller
from actors.gateway.providers import check_proxies
from actors.gateway.scripted import scripted
from harnesses.registry import HARNESSES
from harnesses.scripted_model.ledger import Served
from stamina.cli.console import safe
from stamina.config.load import check_keys, load
from stamina.config.model import ModelConfig, Sweep
from stamina.errors import InputError
from stamina.pricing import price_of
from stamina.protocols import SERVES
from stamina.usage import ModelRequest


@click.command()
@click.option("--config", type=click.Path(path_type=Path), required=True, help="The sweep file; its models, prices and budget are used.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; 0, the default, takes any free one.")
def gateway(config: Path, host: str, port: int) -> None:
    """Serve the models of a sweep file until Ctrl-C: one token for each, and a line for each request."""
    sweep = load(config, harnesses=HARNESSES)
    models = list(sweep.models.values())
    if not models:
        raise InputError(f"{config}: there is no [model.NAME] in it")
    unpriced = [model.name for model in models if sweep.budget.binds and price_of(model) is None]
    if unpriced:
        raise InputError(
            f"{config}: there is a [budget], but no price is known for [model.{unpriced[0]}]: add price = {{ input = …, output = … }}, USD per million tokens"
        )
    check_keys(sweep, os.environ, unused=True)
    check_proxies(models, os.environ)
    trio.run(_serve, sweep, models, host, port)


async def _serve(sweep: Sweep, models: list[ModelConfig], host: str, port: int) -> None:
    options = Options(sweep.models, sweep.budget, upstreams=scripted(_tell_served), write=_tell_request, tell=_tell_trouble, strayed=_tell_strayed)
    async with serving(options) as gate:
        click.echo(gate.bind(host, port))
        with ExitStack() as seats:
            for number, model in enumerate(models):
                seat = seats.enter_context(gate.seat(Caller("by-hand", number, 0), model))
                click.echo(f"{model.name}: speaks {', '.join(SERVES[model.provider])}; token {seat.token}")
            await trio.sleep_forever()


def _tell_request(caller: Caller, request: ModelRequest) -> None:
    used = "usage unknown" if request.usage is None else f"{request.usage.input} in ({request.usage.cached} cached), {request.usage.output} out"
    detail = f": {safe(request.detail)}" if request.detail else ""
    click.echo(f"{request.model} #{request.number} {request.protocol} {request.how.value} {request.status} {used}, {request.seconds:.1f} s{detail}")


def _tell_strayed(strayed: Strayed) -> None:
    click.echo(f"{safe(strayed.method)} {safe(strayed.target)} refused {strayed.status}: {safe(strayed.reason)}")


def _tell_served(served: Served) -> None:
    """What a scripted model has to say beside what every model's requests show."""
    if served.failure is not None or served.trouble or not served.kept.whole:
        lost = "" if served.kept.whole else " the conversation lacks answers that were given;"
        click.echo(f"  as scripted:{lost} {served.failure or ''} {safe(served.trouble)}".rstrip())


def _tell_trouble(trouble: Trouble) -> None:
    click.echo(f"{trouble.model} is down, its requests wait: {safe(trouble.reason)}" if trouble.reason else f"{trouble.model} answers again", err=True)
