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
from stamina.cli.ending import DONE, NEGATIVE
from stamina.cli.images import engine_option, with_engine
from stamina.errors import SandboxFault


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
@click.option("--keep-images", is_flag=True, help="Leave images alone.")
@engine_option
@json_option
def gc(*, dry_run: bool, keep_images: bool, engine_name: str, as_json: bool) -> int:
    """Remove containers and networks of runs that died, and images of other versions of stamina. Only what carries stamina's own labels is ever touched.
    Exit 1 when something cannot be removed."""
    lines: list[str] = []
    kept: dict[str, str] = {}

    async def work(engine: Engine) -> None:
        garbage = await _find(engine, images=not keep_images)
        if not dry_run:
            kept.update(await _remove(engine, garbage))
        lines.extend(line for line in garbage.lines() if line.split()[1] not in kept)

    trio.run(with_engine, engine_name, work)
    if as_json:
        print_json({"removed": not dry_run, "found": lines, "kept": list(kept.values())})
    else:
        click.echo("\n".join(f"{'would remove' if dry_run else 'removed'} {line}" for line in lines) or "nothing to remove")
        for reason in kept.values():
            click.echo(reason, err=True)
    return NEGATIVE if kept else DONE


async def _find(engine: Engine, *, images: bool) -> Garbage:
    current = {name: recipe(name).digest for name in names()}
    built = await engine.images(IMAGE) if images else []
    old = [image for image in built if image.labels.get(RECIPE, "") != current.get(image.labels[IMAGE])]
    return Garbage(await find_left(engine), tuple(old))


async def _remove(engine: Engine, garbage: Garbage) -> dict[str, str]:
    """What could not be removed, by name, and why."""
    kept = await remove_left(engine, garbage.left)
    for image in garbage.images:
        for ref in image.tags or (image.id,):
            try:
                await engine.remove_image(ref)
            except SandboxFault as fault:
                kept[ref] = str(fault)
    return kept
