"""``stamina images``: the images that agents run in."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import attrs
import click
import trio

from actors.containers import reached
from actors.docker import Engine, connect, engine_host
from actors.images import BUILD_IMAGES, DEFAULT_BASE, IMAGE, RECIPE, BuildOptions, build
from actors.reaping import reap
from harnesses.recipes import names, recipe
from stamina.cli.console import columns, json_option, print_json, safe
from stamina.config.model import Engine as EngineName
from stamina.errors import InputError
from stamina.words import counted

Work: TypeAlias = Callable[[Engine], Awaitable[None]]

engine_option = click.option(
    "--engine",
    "engine_name",
    type=click.Choice([EngineName.DOCKER.value, EngineName.PODMAN.value]),
    default=EngineName.DOCKER.value,
    show_default=True,
    help="Which engine's usual socket is used where DOCKER_HOST names none.",
)


@click.group()
def images() -> None:
    """Build and list the images that agents run in."""


@images.command("build")
@click.argument("wanted", metavar="[NAME]...", nargs=-1)
@click.option("--base", default=DEFAULT_BASE, show_default=True, help="The image that ours build on: Debian or a relative of it.")
@click.option("--ca-bundle", type=click.Path(path_type=Path), help="A file of certificates (PEM) that builds and agents trust.")
@click.option("--build-arg", "arguments", multiple=True, metavar="NAME=VALUE", help="An argument for the Dockerfiles; may be repeated.")
@click.option("-v", "--verbose", is_flag=True, help="Show what the builder says.")
@engine_option
def build_images(wanted: Sequence[str], *, base: str, ca_bundle: Path | None, arguments: Sequence[str], verbose: bool, engine_name: str) -> None:
    """Build images, all of them by default, and try each one. What is built already is not built again."""
    options = BuildOptions(base, _certificates(ca_bundle), dict(map(_argument, arguments)))
    recipes = [recipe(name) for name in wanted or names()]

    def tell(line: str) -> None:
        if verbose or line.startswith("building ") or line.endswith(" is ready"):
            click.echo(safe(line))

    async def work(engine: Engine) -> None:
        await reap(engine)
        for each in recipes:
            await build(engine, each, options, tell)

    trio.run(with_engine, engine_name, work)


@images.command("list")
@click.option("--all", "everything", is_flag=True, help="Also images of other versions, and what builds left behind.")
@engine_option
@json_option
def list_images(*, everything: bool, engine_name: str, as_json: bool) -> None:
    """Say which images this version of stamina has, and which are still to be built."""
    found: list[Listed] = []

    async def work(engine: Engine) -> None:
        current = {name: recipe(name).digest for name in names()}
        for image in await engine.images(IMAGE):
            name = image.labels[IMAGE]
            found.append(Listed(name, next(iter(image.tags), ""), image.id, image.size, current=current.get(name) == image.labels.get(RECIPE)))

    trio.run(with_engine, engine_name, work)
    if as_json:
        print_json([attrs.asdict(row) for row in found])
    else:
        click.echo("\n".join(_all_lines(found) if everything else _lines(found)))


@attrs.frozen
class Listed:
    """An image of ours; ``current``: it is made of what this version of stamina makes it of."""

    name: str
    tag: str
    id: str
    bytes: int
    current: bool


def _lines(found: Sequence[Listed]) -> list[str]:
    """One line for each image that this version has or wants, and what to do about those that it lacks."""
    rows, lacking, shown = [], [], set()
    for name in names():
        mine = [row for row in found if row.name == name]
        current = sorted((row for row in mine if row.current), key=lambda row: not row.tag)
        if current:
            shown.add(current[0].id)
            rows.append((name, "ready", _size(current[0]), current[0].tag))
        else:
            lacking.append(name)
            rows.append((name, "of another version" if mine else "not built", "", ""))
    lines = [columns(("image", "state", "size", "tag"), rows)]
    if lacking:
        lines.append(f"to build what is not ready: {BUILD_IMAGES} {' '.join(lacking)}")
    others = {row.id for row in found} - shown
    if others:
        lines.append(f"beside them {counted(len(others), 'image')} of other versions or of builds; they share most of their bytes (--all lists them)")
    return lines


def _all_lines(found: Sequence[Listed]) -> list[str]:
    rows = [(row.name, "ready" if row.current else "of another version", _size(row), row.tag or row.id.removeprefix("sha256:")[:12]) for row in found]
    return [columns(("image", "state", "size", "tag"), sorted(rows, key=lambda row: (row[0], row[1] != "ready")))]


def _size(row: Listed) -> str:
    return f"{row.bytes / 2**20:,.0f} MiB"


async def with_engine(name: str, work: Work) -> None:
    """Do something with the engine. Raises InputError when it cannot be reached."""
    async with connect(engine_host(name, os.environ)) as engine:
        await reached(engine)
        await work(engine)


def _certificates(path: Path | None) -> bytes:
    if path is None:
        return b""
    try:
        found = path.read_bytes()
    except OSError as error:
        raise InputError(f"--ca-bundle {path}: {error.strerror}") from error
    if b"-----BEGIN CERTIFICATE-----" not in found:
        raise InputError(f"--ca-bundle {path}: there is no certificate (PEM) in it")
    return found


def _argument(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"--build-arg {text}: expected NAME=VALUE")
    return name, value
