"""``stamina gc``: remove what is ours and nobody's any more."""

from __future__ import annotations

import attrs
import click
import trio

from actors.docker import Engine, Image
from actors.images import IMAGE, RECIPE
from actors.reaping import Left, find_left, remove_left
from harnesses.recipes import names, recipe
from stamina.cli.console import json_option, print_json
from stamina.cli.images import engine_option, with_engine


@attrs.frozen
class Garbage:
    """What dead processes left, and images of other versions."""

    left: Left
    images: tuple[Image, ...]

    def lines(self) -> list[str]:
        """One a thing."""
        images = [f"image {next(iter(image.tags), image.id)} ({image.size >> 20} MiB)" for image in self.images]
        return [*(f"container {each.name}" for each in self.left.containers), *(f"network {each.name}" for each in self.left.networks), *images]


@click.command()
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@engine_option
@json_option
def gc(*, dry_run: bool, engine_name: str, as_json: bool) -> None:
    """Remove containers and networks of runs that died, and images of other versions of stamina. Only what carries stamina's own labels is ever touched."""
    lines: list[str] = []

    async def work(engine: Engine) -> None:
        garbage = await _find(engine)
        lines.extend(garbage.lines())
        if not dry_run:
            await _remove(engine, garbage)

    trio.run(with_engine, engine_name, work)
    if as_json:
        print_json({"removed": not dry_run, "found": lines})
    else:
        click.echo("\n".join(f"{'would remove' if dry_run else 'removed'} {line}" for line in lines) or "nothing to remove")


async def _find(engine: Engine) -> Garbage:
    current = {name: recipe(name).digest for name in names()}
    old = [image for image in await engine.images(IMAGE) if image.labels.get(RECIPE, "") != current.get(image.labels[IMAGE])]
    return Garbage(await find_left(engine), tuple(old))


async def _remove(engine: Engine, garbage: Garbage) -> None:
    await remove_left(engine, garbage.left)
    for image in garbage.images:
        for ref in image.tags or (image.id,):
            await engine.remove_image(ref)
