"""The Engine API, for Docker and for Podman's compatible socket: the only module that knows asyncio.

aiodocker runs on one trio-asyncio loop. Every call has a deadline and a permit (removing goes first), only calls that may be made twice are repeated, and every
failure comes out as a :class:`SandboxFault` that says what was tried, or :class:`Missing` when the engine does not know the thing.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import aiodocker
import aiohttp
import attrs
import trio
import trio_asyncio
from aiodocker.stream import Stream

from actors.priority import PriorityPermits
from stamina.errors import InputError, SandboxFault

T = TypeVar("T")

SOCKETS: Final = ("/var/run/docker.sock", "/run/docker.sock")
PODMAN_SOCKETS: Final = ("/run/podman/podman.sock",)

CALLS: Final = 8
"""Calls in flight at once. Engines slow down sharply from about 16 on."""

SECONDS: Final = 120.0
"""Deadline of one call. Creating 40 containers at once took 6 s; a loaded engine may take many times that."""

SETTLE_SECONDS: Final = 15.0
"""How long a call that makes something is waited for when nobody wants its result any more: what removes the thing must not overtake it."""

TRIES: Final = 3
_PAUSE: Final = 0.3
_UNREACHABLE: Final = 900
"""The status that aiodocker gives when there was no answer."""

_NONE: Final = "no such container"
"""Podman's words, with status 500, for a container that goes while it is asked about."""

_GONE: Final = (404, 409)
"""What removing a thing twice is answered with: it is gone, or on its way."""


class Missing(SandboxFault):
    """The engine knows no such container, image or network."""


class Unreachable(SandboxFault):
    """The engine did not answer: it is not running, it is restarting, or it is too busy."""


@attrs.frozen
class About:
    """What an engine says of itself. ``arch`` is Go's name, such as ``amd64``; ``root`` is the folder that it keeps images and containers in."""

    name: str
    version: str
    api: tuple[int, int]
    arch: str
    rootless: bool
    root: Path
    runtimes: tuple[str, ...]
    cpus: int

    @property
    def podman(self) -> bool:
        """Whether it is Podman behind Docker's API."""
        return self.name == "podman"


@attrs.frozen
class Image:
    """An image: its id, tags, architecture, labels and environment (``NAME=VALUE``)."""

    id: str
    tags: tuple[str, ...]
    arch: str
    labels: Mapping[str, str]
    env: tuple[str, ...]
    created: str
    size: int

    @property
    def name(self) -> str:
        """A tag, or the id where there is none."""
        return self.tags[0] if self.tags else self.id


@attrs.frozen
class Found:
    """A container or network in a list."""

    id: str
    name: str
    labels: Mapping[str, str]
    state: str = ""


@attrs.frozen
class State:
    """A container's state. ``address`` is empty while it does not run."""

    running: bool
    exit_code: int
    oom: bool
    error: str
    address: str
    ports: Mapping[str, int]


class Channel:
    """The two ends of a container's first process that are ours: its stdin and its stdout."""

    def __init__(self, engine: Engine, stream: Stream) -> None:
        self._engine = engine
        self._stream = stream

    async def send(self, data: bytes) -> None:
        """Raises SandboxFault when the connection is broken."""
        await self._engine.plain("write to the container", lambda: self._stream.write_in(data))

    async def receive(self) -> bytes:
        """What has come, ``b""`` at the end. Raises SandboxFault when the connection breaks."""
        while True:
            message = await self._engine.plain("read from the container", self._stream.read_out)
            if message is None:
                return b""
            if message.stream == 1:
                return bytes(message.data)

    async def close(self) -> None:
        """Closes the container's stdin too."""
        await self._engine.plain("let go of the container", self._stream.close)


class Engine:
    """A connection to an engine; made by :func:`connect`. Every method raises :class:`SandboxFault`.

    Attributes:
        host: such as ``unix:///var/run/docker.sock``.
    """

    def __init__(self, host: str, loop: trio_asyncio.TrioEventLoop, docker: aiodocker.Docker) -> None:
        self.host = host
        self._loop = loop
        self._docker = docker
        self._permits = PriorityPermits(CALLS)

    async def about(self) -> About:
        """What it is."""
        version = await self._do("ask for the engine's version", self._docker.version, again=True)
        info = await self._do("ask what the engine is", self._docker.system.info, again=True)
        major, _, minor = str(version["ApiVersion"]).partition(".")
        security = [str(option) for option in info.get("SecurityOptions") or ()]
        podman = any("podman" in str(part.get("Name", "")).lower() for part in version.get("Components") or ())
        return About(
            name="podman" if podman else "docker",
            version=str(version["Version"]),
            api=(int(major), int(minor or 0)),
            arch=str(version["Arch"]),
            rootless=any("rootless" in option for option in security),
            root=Path(str(info.get("DockerRootDir") or "/")),
            runtimes=tuple(info.get("Runtimes") or ()),
            cpus=int(info.get("NCPU") or os.cpu_count() or 1),
        )

    async def image(self, ref: str) -> Image | None:
        """An image by tag or id, None when there is none."""
        try:
            found = await self._do(f"look for image {ref}", lambda: self._docker.images.inspect(ref), again=True)
        except Missing:
            return None
        config = found.get("Config") or {}
        labels, env = config.get("Labels") or {}, config.get("Env") or ()
        return Image(found["Id"], tuple(found.get("RepoTags") or ()), found["Architecture"], labels, tuple(env), str(found["Created"]), int(found["Size"]))

    async def images(self, label: str) -> list[Image]:
        """All images with this label (``KEY`` or ``KEY=VALUE``), the newest first."""
        listed = await self._do("list images", lambda: self._docker.images.list(filters={"label": label}), again=True)
        found = [await self.image(each["Id"]) for each in listed]
        return sorted((image for image in found if image is not None), key=lambda image: image.created, reverse=True)

    async def remove_image(self, ref: str) -> None:
        """Remove an image, or one of its tags. None of this name is no error; raises SandboxFault when it is in use."""
        try:
            await self._do(f"remove image {ref}", lambda: self._docker.images.delete(ref), again=True, urgent=True)
        except Missing:
            return

    async def build(self, context: bytes, tag: str, *, labels: Mapping[str, str], args: Mapping[str, str], seconds: float) -> AsyncIterator[str]:
        """Build an image from a tar archive with a Dockerfile; yields the builder's output as it comes."""
        steps = self._docker.images.build(
            fileobj=io.BytesIO(context), encoding="identity", tag=tag, labels=labels, buildargs=args, rm=True, forcerm=True, stream=True
        ).__aiter__()
        deadline = trio.current_time() + seconds
        while True:
            try:
                step = await self._within(f"build {tag}", steps.__anext__, deadline - trio.current_time())
            except StopAsyncIteration:
                return
            yield str(step.get("stream") or step.get("status") or "")

    async def create(self, name: str, config: Mapping[str, Any]) -> str:
        """Make a container; its id. Never repeated."""
        made = await self._do(f"create container {name}", lambda: self._docker.containers.create(dict(config), name=name))
        return str(made.id)

    async def start(self, name: str) -> None:
        """Start a container; one that runs is no error."""
        await self._do(f"start container {name}", self._container(name).start)

    async def attach(self, name: str) -> Channel:
        """Take hold of a container's stdin and stdout."""
        stream = self._container(name).attach(stdin=True, stdout=True)
        await self._do(f"attach to container {name}", stream._init)  # the public way is a block; our stream outlives this call
        return Channel(self, stream)

    async def state(self, name: str) -> State | None:
        """How a container is, None when there is none."""
        try:
            found = await self._do(f"look at container {name}", self._container(name).show, again=True)
        except Missing:
            return None
        state, networks = found["State"], found["NetworkSettings"]
        addresses = [network.get("IPAddress") for network in (networks.get("Networks") or {}).values()]
        ports = {port: int(bound[0]["HostPort"]) for port, bound in (networks.get("Ports") or {}).items() if bound}
        address = next((address for address in addresses if address), "")
        return State(bool(state["Running"]), int(state["ExitCode"]), bool(state["OOMKilled"]), str(state.get("Error") or ""), address, ports)

    async def processor_seconds(self, name: str) -> float | None:
        """Processor time of all that ran in a container so far; None when the engine does not count it."""
        found = await self._do(f"ask what container {name} uses", lambda: self._container(name).stats(stream=False), again=True)
        used = (found[0].get("cpu_stats") or {}).get("cpu_usage", {}).get("total_usage") if found else None
        return used / 1e9 if used else None

    async def wait(self, name: str, seconds: float) -> int:
        """A container's exit code, when it has ended."""
        done = await self._within(f"wait for container {name}", self._container(name).wait, seconds)
        return int(done["StatusCode"])

    async def logs(self, name: str) -> str:
        """All that a container has written."""
        lines = await self._do(f"read what container {name} wrote", lambda: self._container(name).log(stdout=True, stderr=True), again=True)
        return "".join(lines)

    async def remove(self, name: str) -> None:
        """End a container and remove it with its volumes; none of this name is no error."""
        await self._removing(f"remove container {name}", lambda: self._container(name).delete(force=True, v=True))

    async def files(self, name: str, paths: Iterable[str]) -> dict[str, bytes]:
        """Regular files of a container that need not run; what is not there is left out."""
        found: dict[str, bytes] = {}
        for path in paths:
            try:
                archive = await self._do(f"read {path} of container {name}", lambda path=path: self._container(name).get_archive(path), again=True)  # type: ignore[misc]
            except Missing:
                continue
            with archive:
                found.update((path, data) for data in _regular(archive))
        return found

    async def containers(self, label: str) -> list[Found]:
        """All containers with this label, running or not."""
        listed = await self._do("list containers", lambda: self._docker.containers.list(all=True, filters={"label": [label]}), again=True)
        return [Found(each["Id"], each["Names"][0].lstrip("/"), each["Labels"] or {}, each["State"]) for each in listed]

    async def networks(self, label: str) -> list[Found]:
        """All networks with this label."""
        listed = await self._do("list networks", lambda: self._docker.networks.list(filters={"label": label}), again=True)
        return [Found(each["Id"], each["Name"], each.get("Labels") or {}) for each in listed]

    async def volumes(self) -> list[str]:
        """The names of all volumes, whosever they are: containers of ours have none."""
        listed = await self._do("list volumes", self._docker.volumes.list, again=True)
        return [str(each["Name"]) for each in listed.get("Volumes") or ()]

    async def create_network(self, config: Mapping[str, Any]) -> str:
        """Make a network; its id."""
        made = await self._do(f"create network {config['Name']}", lambda: self._docker.networks.create(dict(config)))
        return str(made.id)

    async def gateway(self, network: str) -> str | None:
        """The host's address on a network; None when it has none. Raises Missing for no such network."""
        found = await self._do(f"look at network {network}", lambda: self._network(network).show(), again=True)
        return next((str(each["Gateway"]).partition("/")[0] for each in found["IPAM"]["Config"] or () if each.get("Gateway")), None)

    async def remove_network(self, name: str) -> None:
        """Remove a network; none of this name is no error."""
        await self._removing(f"remove network {name}", self._network(name).delete)

    def _container(self, name: str) -> aiodocker.containers.DockerContainer:
        return self._docker.containers.container(name)

    def _network(self, name: str) -> aiodocker.networks.DockerNetwork:
        return aiodocker.networks.DockerNetwork(self._docker, name)  # type: ignore[no-untyped-call]

    async def _removing(self, what: str, call: Callable[[], Awaitable[object]]) -> None:
        for attempt in range(1, TRIES + 1):
            try:
                await self._do(what, call, again=True, urgent=True)
            except Missing:
                return
            except Unreachable:
                raise
            except SandboxFault as fault:
                if _is_going(fault):
                    return
                if attempt == TRIES:
                    raise
                await trio.sleep(_PAUSE * attempt)  # Podman refuses to remove a container that is ending at this moment
            else:
                return

    async def _do(self, what: str, call: Callable[[], Awaitable[T]], *, again: bool = False, urgent: bool = False) -> T:
        """One call, under a permit; repeated while the engine does not answer, when it may be. What may not be repeated is not let go of half-way either."""
        for attempt in range(1, TRIES + 1):
            async with self._permits.permit(urgent=urgent):
                try:
                    return await self._within(what, call, SECONDS) if again else await _settled(partial(self._within, what, call, SECONDS))
                except Unreachable:
                    if not again or attempt == TRIES:
                        raise
            await trio.sleep(_PAUSE * attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _within(self, what: str, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        with trio.move_on_after(seconds) as scope:
            return await self.plain(what, call)
        assert scope.cancelled_caught
        raise Unreachable(f"cannot {what}: the engine did not answer within {seconds:.0f} s")

    async def plain(self, what: str, call: Callable[[], Awaitable[T]]) -> T:
        """A call on the loop, with its failures translated: the one place where that is done."""
        try:
            result: T = await self._loop.run_aio_coroutine(_awaited(call))
        except aiodocker.DockerError as error:
            raise _fault(what, error) from error
        except (TimeoutError, aiohttp.ClientError, OSError, RuntimeError, AssertionError) as error:  # aiodocker asserts that a connection is open
            raise Unreachable(f"cannot {what}: {error or type(error).__name__}") from error
        return result


@asynccontextmanager
async def connect(host: str) -> AsyncIterator[Engine]:
    """A connection to an engine for the length of the block; nothing is asked yet. Raises InputError for an address that cannot be used."""
    check_host(host)
    failure: Exception | None = None
    async with trio_asyncio.open_loop() as loop:
        docker = await loop.run_aio_coroutine(_client(host))
        try:
            yield Engine(host, loop, docker)
        except Exception as error:
            failure = error  # raised again below, where the loop does not wrap it in a group
        finally:
            with trio.move_on_after(5, shield=True):
                await loop.run_aio_coroutine(_close(docker))
    if failure is not None:
        raise failure


def engine_host(engine: str, environment: Mapping[str, str]) -> str:
    """Where the engine is: DOCKER_HOST (or CONTAINER_HOST for podman), else the first usual socket that exists, else the most usual one."""
    named = (environment.get("CONTAINER_HOST") if engine == "podman" else None) or environment.get("DOCKER_HOST")
    if named:
        return named
    own = (*PODMAN_SOCKETS, f"/run/user/{os.getuid()}/podman/podman.sock") if engine == "podman" else (*SOCKETS, f"{Path.home()}/.docker/run/docker.sock")
    return f"unix://{next((path for path in own if os.path.exists(path)), own[0])}"


def check_host(host: str) -> None:
    """Raises InputError when an engine cannot be reached there in principle."""
    if not host.startswith(("unix://", "tcp://", "http://")):
        raise InputError(f"DOCKER_HOST={host}: an engine is reached over unix:///path/to/socket or tcp://host:port")


def local(host: str) -> bool:
    """Whether the engine is on this machine, as far as its address tells."""
    return host.startswith("unix://")


async def _client(host: str) -> aiodocker.Docker:
    """Without aiohttp's limit of connections: each container that runs holds one."""
    connector: aiohttp.BaseConnector
    connector = aiohttp.UnixConnector(host.removeprefix("unix://"), limit=0) if local(host) else aiohttp.TCPConnector(limit=0)
    docker = aiodocker.Docker(url=host, connector=connector)
    # What aiodocker does to its address when it makes the connector itself; the host in a Unix socket's is for show.
    docker.docker_host = "unix://localhost" if local(host) else f"http://{host.partition('://')[2]}"
    return docker


async def _close(docker: aiodocker.Docker) -> None:
    """aiodocker leaves a connector that it did not make to its maker."""
    await docker.close()
    await docker.connector.close()


async def _settled(call: Callable[[], Awaitable[T]]) -> T:
    """A call that goes on for a while when it is cancelled. An engine that is asked to remove what it is about to start leaves some of it behind."""
    results: list[T] = []
    failure: Exception | None = None
    async with trio.open_nursery() as nursery:
        with trio.CancelScope(shield=True) as scope:
            nursery.start_soon(_bounded, scope)
            try:
                results.append(await call())
            except Exception as error:
                failure = error  # raised again below, where no nursery wraps it in a group
        nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return results[0]


async def _bounded(scope: trio.CancelScope) -> None:
    """Once cancelled, let the scope have little more time."""
    try:
        await trio.sleep_forever()
    finally:
        scope.deadline = min(scope.deadline, trio.current_time() + SETTLE_SECONDS)


async def _awaited(call: Callable[[], Awaitable[T]]) -> T:
    return await call()


def _fault(what: str, error: aiodocker.DockerError) -> SandboxFault:
    if error.status == 404 or _NONE in str(error.message):
        return Missing(f"cannot {what}: {error.message}")
    if error.status == _UNREACHABLE:
        return Unreachable(f"cannot {what}: {error.message}")
    return SandboxFault(f"cannot {what}: {error.message}")


def _is_going(fault: SandboxFault) -> bool:
    return isinstance(fault.__cause__, aiodocker.DockerError) and fault.__cause__.status in _GONE and "in progress" in str(fault)


def _regular(archive: tarfile.TarFile) -> Sequence[bytes]:
    files = [archive.extractfile(member) for member in archive.getmembers() if member.isfile()]
    return [file.read() for file in files if file is not None]
