"""Images: finding the one that a harness runs in, building ours, and taking out of them what every container needs."""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs

from actors.container import ulimits
from actors.docker import Engine, Image
from actors.ownership import labels
from actors.owning import owning
from harnesses.recipes import BASE, WARDEN, Recipe, image_of, recipe, warden_digest
from scenario_store.atomic import host_faults, write_atomic
from stamina.errors import InputError, SandboxFault

IMAGE: Final = "stamina.image"
"""The label with an image's name."""

RECIPE: Final = "stamina.recipe"
"""The label with the digest of what it was made of."""

BUILD_SECONDS: Final = 3600.0
SMOKE_SECONDS: Final = 120.0
DEFAULT_BASE: Final = "stamina-base:trixie"
"""What ``scripts/engine base`` makes."""

BUILD_IMAGES: Final = "stamina images build"
_LINES_TOLD: Final = 15
_ACCOUNTS: Final = ("/etc/passwd", "/etc/group")


@attrs.frozen
class BuildOptions:
    """What a user adds to an image.

    Attributes:
        base: the image that the base builds on.
        ca_bundle: certificates to trust, as PEM.
        args: arguments for the Dockerfiles.
    """

    base: str = DEFAULT_BASE
    ca_bundle: bytes = b""
    args: Mapping[str, str] = attrs.field(factory=dict)


Tell: TypeAlias = Callable[[str], None]
"""Hears what a build says, line by line."""


async def find_image(engine: Engine, harness: str, given: str | None, begun: str | None = None) -> Image:
    """The image for a harness: the one (by id) that a run was begun in while the engine has it, the sweep's own, or ours.

    Raises InputError when there is none.
    """
    if begun is not None and (image := await engine.image(begun)) is not None:
        return image
    return await _given(engine, given) if given is not None else await built(engine, recipe(image_of(harness)))


async def _given(engine: Engine, ref: str) -> Image:
    image = await engine.image(ref)
    if image is None:
        raise InputError(f'[sandbox] image = "{ref}": the engine has no such image; pull or build it first')
    return image


async def built(engine: Engine, wanted: Recipe) -> Image:
    """The newest image that was made from this recipe. Raises InputError when there is none, and says what to run."""
    found = await engine.images(f"{IMAGE}={wanted.name}")
    current = [image for image in found if image.labels.get(RECIPE) == wanted.digest]
    if current:
        return next((image for image in current if image.tags), current[0])  # a build that is made again leaves its first image without a name
    problem = "is of another version of stamina" if found else "is not built"
    raise InputError(f"the image for {wanted.name} {problem}; run: {BUILD_IMAGES} {wanted.name}")


def check_arch(image: Image, arch: str, ref: str) -> None:
    """Raises InputError for an image of another kind of processor."""
    if image.arch != arch:
        raise InputError(f"image {ref} is for {image.arch}, the engine's machine is {arch}; build or pull it for {arch}")


async def build(engine: Engine, wanted: Recipe, options: BuildOptions, tell: Tell) -> Image:
    """Build one image, with its parents, and try it. Raises InputError when the base is missing, SandboxFault when a step or the smoke test fails."""
    base = await build(engine, wanted.parent, options, tell) if wanted.parent is not None else await _foundation(engine, options.base)
    args = {**options.args, "BASE": base.id}
    tag = wanted.tag(base.id.encode(), options.ca_bundle, repr(sorted(options.args.items())).encode())
    image = await engine.image(tag)
    if image is None:
        tell(f"building {tag} ...")
        await _make(engine, tag, wanted, options, args, tell)
        image = await engine.image(tag)
    if image is None:
        raise SandboxFault(f"the build left no {tag}")
    await smoke(engine, image, wanted, tell)
    return image


async def _make(engine: Engine, tag: str, wanted: Recipe, options: BuildOptions, args: Mapping[str, str], tell: Tell) -> None:
    """Raises SandboxFault with the last lines of the builder's output when it fails."""
    said: deque[str] = deque(maxlen=_LINES_TOLD)
    try:
        async for line in engine.build(
            wanted.context(options.ca_bundle), tag, labels={IMAGE: wanted.name, RECIPE: wanted.digest}, args=args, seconds=BUILD_SECONDS
        ):
            said.append(line.rstrip())
            tell(line.rstrip())
    except SandboxFault as fault:
        distrust = not options.ca_bundle and any("certificate" in line.lower() for line in said)
        hint = ("a registry's certificate is not trusted in there: give what this network signs with by --ca-bundle FILE",) if distrust else ()
        raise SandboxFault("\n".join((*filter(None, said), str(fault), *hint))) from fault


async def _foundation(engine: Engine, ref: str) -> Image:
    image = await engine.image(ref)
    if image is None:
        hint = "scripts/engine base makes it; or give another Debian or Ubuntu image with --base" if ref == DEFAULT_BASE else "pull it first"
        raise InputError(f"the engine has no image {ref} to build on: {hint}")
    return image


async def smoke(engine: Engine, image: Image, wanted: Recipe, tell: Tell) -> None:
    """Run the image's smoke test, and its parent's. Raises SandboxFault with what it said when it fails. An image that fails is removed: nobody may use it."""
    script = "\n".join(each.smoke for each in (wanted.parent, wanted) if each is not None)
    async with _container(engine, image, ["/bin/sh", "-c", script]) as name:
        await engine.start(name)
        code = await engine.wait(name, SMOKE_SECONDS)
        said = await engine.logs(name)
    if code:
        await engine.remove_image(image.id)
        raise SandboxFault(f"image {wanted.name} is no good: {said.strip() or f'its smoke test ended with {code}'}")
    tell(f"{image.name} is ready")


async def warden_file(engine: Engine, folder: Path, arch: str) -> Path:
    """The warden as a program of the host's disk, to be mounted into containers of any image; taken out of the base image once. Raises InputError."""
    path = folder / f"warden-{warden_digest()[:16]}-{arch}"
    if path.exists():
        return path
    image = await built(engine, recipe(BASE))
    found = await _read(engine, image, WARDEN)
    if WARDEN not in found:
        raise SandboxFault(f"the base image has no {WARDEN}; build it again: {BUILD_IMAGES} {BASE}")
    keep(path, found[WARDEN], 0o755)
    return path


def keep(path: Path, data: bytes, mode: int) -> None:
    """Write a file of the cache: whoever sees it sees all of it. Raises HostFault."""
    with host_faults("create", path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    write_atomic(beside, data)
    with host_faults("write", path):
        beside.chmod(mode)
        beside.rename(path)


async def tables(engine: Engine, image: Image) -> tuple[bytes, bytes]:
    """An image's ``/etc/passwd`` and ``/etc/group``; empty where it has none."""
    found = await _read(engine, image, *_ACCOUNTS)
    passwd, group = (found.get(path, b"") for path in _ACCOUNTS)
    return passwd, group


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where things that can be made again are kept: ``$XDG_CACHE_HOME/stamina``."""
    return Path(environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "stamina"


async def _read(engine: Engine, image: Image, *paths: str) -> dict[str, bytes]:
    async with _container(engine, image, ["/bin/true"]) as name:
        return await engine.files(name, paths)


@asynccontextmanager
async def _container(engine: Engine, image: Image, command: list[str]) -> AsyncIterator[str]:
    """A container of an image, not started, for the length of the block."""
    token = secrets.token_hex(8)
    host: dict[str, Any] = {"NetworkMode": "none", "Memory": 1 << 30, "Ulimits": ulimits(podman=True)}
    config = {"Image": image.id, "Entrypoint": command, "Cmd": [], "User": "0:0", "Labels": labels(token), "HostConfig": host}
    async with owning(f"stamina-{token}", engine.remove) as name:
        await engine.create(name, config)
        yield name
