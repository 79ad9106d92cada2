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
from stamina.words import counted


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
@click.option(
    "--images",
    is_flag=True,
    help="Remove images of other versions of stamina too. Another checkout that shares the engine, or a run begun earlier, may need them.",
)
@engine_option
@json_option
def gc(*, dry_run: bool, images: bool, engine_name: str, as_json: bool) -> int:
    """Remove containers and networks of runs that died; with --images, also images of other versions. Only what carries stamina's own labels is ever touched.
    Exit 1 when something cannot be removed."""
    lines: list[str] = []
    others: list[str] = []
    kept: dict[str, str] = {}

    async def work(engine: Engine) -> None:
        garbage = await _find(engine)
        wanted = garbage if images else attrs.evolve(garbage, images=())
        if not dry_run:
            kept.update(await _remove(engine, wanted))
        lines.extend(line for line in wanted.lines() if line.split()[1] not in kept)
        others.extend([] if images else Garbage(Left((), ()), garbage.images).lines())

    trio.run(with_engine, engine_name, work)
    if as_json:
        print_json({"removed": not dry_run, "found": lines, "kept": list(kept.values()), "images": others})
    else:
        click.echo("\n".join(f"{'would remove' if dry_run else 'removed'} {line}" for line in lines) or "nothing to remove")
        if others:
            click.echo(f"kept: {counted(len(others), 'image')} of other versions ('stamina images list --all' shows them, 'stamina gc --images' removes them)")
        for reason in kept.values():
            click.echo(reason, err=True)
    return NEGATIVE if kept else DONE


async def _find(engine: Engine) -> Garbage:
    current = {name: recipe(name).digest for name in names()}
    old = [image for image in await engine.images(IMAGE) if image.labels.get(RECIPE, "") != current.get(image.labels[IMAGE])]
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
