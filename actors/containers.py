"""The containers of a sweep: what is checked before anything is made, what they share, and how one is opened."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final

import attrs
import trio

from actors.container import HOME, PATH, SPOOL, WARDEN, WORKSPACE, Account, Outfit, account, check_account, check_docker_args, mount, user_mounts
from actors.container_sandbox import Body, ContainerSandbox, hand_over
from actors.docker import About, Engine, Image, Missing, State, Unreachable, connect, local
from actors.egress import ALLOW, AllowList, allow_list, proxy
from actors.images import cache_folder, check_arch, find_image, keep, tables, warden_file
from actors.network import Network, is_direct, network, restored
from actors.ownership import labels
from actors.owning import owning
from actors.reaping import reap, reaping
from actors.spool import Spool
from actors.warden import Warden
from scenario_store.folder import LiveFolder
from stamina.config.model import Egress, SandboxConfig
from stamina.errors import InputError, SandboxFault

OLDEST_API: Final = (1, 40)
DISK_FLOOR: Final = 2 << 30
"""Free bytes that the engine's disk must have before a sweep starts."""

PUBLISHED: Final = 4
"""Ports of a container that are published where its address cannot be reached; servers take them in turn."""

NOT_BEGUN: Final[Mapping[str, str]] = {}
"""A run that takes whatever images there are."""


@attrs.frozen
class Prepared:
    """Everything that containers of a sweep need, found and checked.

    Attributes:
        images: of each harness, with the passwd and group files for it.
        warden: on this machine's disk.
    """

    about: About
    account: Account
    images: Mapping[str, Dressed]
    warden: Path
    allowed: AllowList
    mounts: tuple[Mapping[str, Any], ...]


@attrs.frozen
class Dressed:
    """An image, and the mounts that give our user a name in it."""

    image: Image
    mounts: tuple[Mapping[str, Any], ...]


async def prepare(
    engine: Engine, config: SandboxConfig, harnesses: Iterable[str], environment: Mapping[str, str], begun: Mapping[str, str] = NOT_BEGUN
) -> Prepared:
    """Check the engine and all that the sweep asks of it; makes nothing that lasts. ``begun``: the images that a run was begun in, by harness.

    Raises InputError with what to do.
    """
    about = await reached(engine)
    _check(about, engine.host, config)
    user = account(config.user, rootless=about.rootless)
    check_account(user, rootless=about.rootless)
    check_docker_args(config)
    cache = cache_folder(environment)
    warden = await warden_file(engine, cache, about.arch)
    images: dict[str, Dressed] = {}
    for harness in harnesses:
        image = await find_image(engine, harness, config.image, begun.get(harness))
        check_arch(image, about.arch, config.image or image.name)
        images[harness] = Dressed(image, await _names(engine, image, user, cache))
    return Prepared(about, user, images, warden, _allowed(config, environment), tuple(user_mounts(config)))


async def reached(engine: Engine) -> About:
    """What the engine is. Raises InputError when it cannot be reached."""
    try:
        return await engine.about()
    except Unreachable as fault:
        raise InputError(_why_unreachable(engine.host, fault)) from fault


def _why_unreachable(host: str, fault: Unreachable) -> str:
    path = host.removeprefix("unix://")
    if not local(host):
        return f"no engine answers at DOCKER_HOST={host}: {fault}"
    if not os.path.exists(path):
        return (
            f"no container engine here: there is no {path}. Start Docker or Podman, or point DOCKER_HOST at its socket ('scripts/engine' makes a private one)"
        )
    if not os.access(path, os.W_OK):
        return f"no permission to use the engine at {path}: join its group ('sudo usermod -aG docker $USER', then log in again) or use a rootless engine"
    return f"the engine at {path} does not answer; is it running? ({fault})"


def _check(about: About, host: str, config: SandboxConfig) -> None:
    if about.api < OLDEST_API:
        wanted, got = (".".join(map(str, version)) for version in (OLDEST_API, about.api))
        raise InputError(f"the engine is too old: {about.name} {about.version} speaks API {got}, {wanted} (Docker 19.03) is needed")
    if config.runtime is not None and about.runtimes and config.runtime not in about.runtimes:
        raise InputError(f'[sandbox] runtime = "{config.runtime}": the engine has {", ".join(sorted(about.runtimes))}')
    if about.podman and not is_direct(host) and config.egress is not Egress.OPEN:
        raise InputError(
            f'[sandbox] egress = "{config.egress}": Podman cannot keep containers from the outside where their addresses are not reached from here ({host}). '
            'Use egress = "open", Docker, or Podman on this machine'
        )
    if local(host) and os.path.isdir(about.root):
        disk = os.statvfs(about.root)
        free = disk.f_bavail * disk.f_frsize
        if free < DISK_FLOOR:
            raise InputError(
                f"{free >> 20} MiB are free where the engine keeps containers ({about.root}), {DISK_FLOOR >> 20} MiB are needed: 'stamina gc --images' helps"
            )


def _allowed(config: SandboxConfig, environment: Mapping[str, str]) -> AllowList:
    allowed = allow_list(config.egress_allow, environment)
    if config.egress is Egress.REGISTRIES and not allowed.entries:
        raise InputError(
            '[sandbox] egress = "registries": no registry is named. List hosts in egress_allow, or for all sweeps of this machine in '
            f"the variable {ALLOW} (divided by commas); docs/containers.md says how to find them"
        )
    return allowed


async def _names(engine: Engine, image: Image, user: Account, cache: Path) -> tuple[Mapping[str, Any], ...]:
    """passwd and group with our user. Root has its names in every image."""
    if user.root:
        return ()
    passwd, group = await tables(engine, image)
    found = []
    for name, content in (("passwd", user.passwd(passwd)), ("group", user.group(group))):
        path = cache / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}"
        if not path.exists():
            keep(path, content, 0o644)
        found.append(mount(path, PurePosixPath("/etc") / name, read_only=True))
    return tuple(found)


@attrs.frozen
class Containers:
    """Opens the containers of one sweep; made by :func:`containers`.

    Attributes:
        network: theirs; ``network.listen`` is where the gateway listens for them.
    """

    engine: Engine
    config: SandboxConfig
    prepared: Prepared
    network: Network
    proxy_env: Mapping[str, str]
    _going: dict[Path, set[str]] = attrs.field(factory=dict)
    """Containers that are not known to be gone, by their working folder."""

    @asynccontextmanager
    async def open(self, harness: str, env: Mapping[str, str], folder: LiveFolder) -> AsyncIterator[ContainerSandbox]:
        """A container around a working folder. It is gone when the block ends, the folder stays. Raises SandboxFault, HostFault."""
        dressed = self.prepared.images[harness]
        for before in sorted(self._going.get(folder.root, ())):
            await self._remove(folder.root, before)  # an engine that did not answer may have left it running, with an agent at work in this folder
        spool = await trio.to_thread.run_sync(self._laid, folder)
        ports = () if self.network.direct else tuple(self.network.port() for _ in range(PUBLISHED))
        async with owning(f"stamina-{secrets.token_hex(8)}", partial(self._remove, folder.root)) as name:
            await self._create(name, self._outfit(dressed, folder, spool, ports))
            async with self._started(name) as (warden, state):
                all_env = self._environment(dressed.image, env)
                config, user = self.config, self.prepared.account
                disks = (folder.root, self.prepared.about.root) if local(self.engine.host) else (folder.root,)
                body = Body(name, self.engine, warden, self.network, user, state, ports, all_env, disks, config.disk, not config.read_only_root)
                yield ContainerSandbox(folder, body, spool)

    async def _remove(self, root: Path, name: str) -> None:
        """Remove the container of a working folder, and know until it is gone that it may not be."""
        going = self._going.setdefault(root, set())
        going.add(name)
        await self.engine.remove(name)
        going.discard(name)

    def _laid(self, folder: LiveFolder) -> Spool:
        """The folder made ready for a new container. In a thread: an agent may have left a million files."""
        if os.getuid() == 0:
            hand_over((folder.workspace, folder.home), self.prepared.account)
        return Spool.make(folder.root / "spool")

    async def _create(self, name: str, outfit: Outfit) -> None:
        try:
            await self.engine.create(name, outfit.request())
            await self.engine.start(name)
        except Missing as missing:
            # An engine that was started anew may have lost the network; what has been created is removed by whoever owns the name.
            await self.engine.remove(name)
            if await self.engine.image(outfit.image) is None:
                raise InputError(
                    f"the engine does not have image {outfit.image} any more, which this run is played in: somebody removed it. Bring it back, or go on in "
                    "others with 'stamina resume --other-images'"
                ) from missing
            await restored(self.engine, self.network)
            await self.engine.create(name, outfit.request())
            await self.engine.start(name)

    @asynccontextmanager
    async def _started(self, name: str) -> AsyncIterator[tuple[Warden, State]]:
        channel = await self.engine.attach(name)
        try:
            async with trio.open_nursery() as nursery:
                warden = Warden(channel)
                nursery.start_soon(warden.listen)
                await warden.hello()
                if self.prepared.about.podman:
                    await warden.fence(self.network.gateway, closed=self.config.egress is not Egress.OPEN and self.network.direct)
                state = await self.engine.state(name)
                if state is None:
                    raise SandboxFault("the container was removed by somebody else")
                yield warden, state
                nursery.cancel_scope.cancel()
        finally:
            with trio.move_on_after(5, shield=True):
                await channel.close()

    def _outfit(self, dressed: Dressed, folder: LiveFolder, spool: Spool, ports: tuple[int, ...]) -> Outfit:
        prepared = self.prepared
        own = (
            mount(folder.workspace, WORKSPACE),
            mount(folder.home, HOME),
            mount(spool.path, SPOOL),
            mount(prepared.warden, WARDEN, read_only=True),
        )
        return Outfit(
            image=dressed.image.id,
            labels=labels(self.network.sweep),
            network=self.network.name,
            mounts=(*own, *dressed.mounts, *prepared.mounts),
            account=prepared.account,
            config=self.config,
            cpus=prepared.about.cpus,
            blind=self.config.egress is not Egress.OPEN and self.network.direct,
            podman=prepared.about.podman,
            ports=ports,
            hosts=self.network.hosts,
        )

    def _environment(self, image: Image, env: Mapping[str, str]) -> dict[str, str]:
        """Nothing of this machine's."""
        of_image = dict(pair.split("=", 1) for pair in image.env if "=" in pair)
        base = {"PATH": PATH, "LANG": "C.UTF-8", **of_image, "HOME": str(HOME), "USER": "root" if self.prepared.account.root else "agent"}
        return {**base, **self.proxy_env, **self.config.env, **env}


@asynccontextmanager
async def containers(
    host: str, config: SandboxConfig, harnesses: Iterable[str], environment: Mapping[str, str], begun: Mapping[str, str] = NOT_BEGUN
) -> AsyncIterator[Containers]:
    """The containers of a sweep, with their network, the way out that it allows, and a reaper. Everything is gone when the block ends. ``begun``: see
    :func:`prepare`.

    Raises InputError for what cannot be used, SandboxFault when the engine fails.
    """
    sweep = secrets.token_hex(8)
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(connect(host))
        prepared = await prepare(engine, config, harnesses, environment, begun)
        await reap(engine)
        await stack.enter_async_context(reaping(engine, sweep))
        net = await stack.enter_async_context(network(engine, sweep, config.egress, direct=is_direct(host), podman=prepared.about.podman))
        proxy_env: Mapping[str, str] = {}
        if config.egress is Egress.REGISTRIES:
            port = await stack.enter_async_context(proxy(net.listen, prepared.allowed))
            proxy_env = _proxy_env(net.reach, port)
        yield Containers(engine, config, prepared, net, proxy_env)


def _proxy_env(host: str, port: int) -> dict[str, str]:
    """In the spellings that package managers read."""
    url = f"http://{host}:{port}"
    names = {"http_proxy": url, "https_proxy": url, "no_proxy": f"localhost,127.0.0.1,{host}"}
    return {**names, **{name.upper(): value for name, value in names.items()}}
