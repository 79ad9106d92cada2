"""``stamina doctor``: is this machine ready?"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

import attrs
import click
import trio

from actors.containers import reached
from actors.docker import connect, engine_host
from actors.images import built
from harnesses.recipes import names, recipe
from stamina.cli.console import columns, json_option, print_json
from stamina.cli.ending import DONE, NEGATIVE
from stamina.errors import InputError, StaminaError

GIB = 2**30


class Health(StrEnum):
    """How a finding bears on a run."""

    OK = "ok"
    WARNING = "warning"
    """Some sweeps cannot be played."""
    FAILED = "failed"
    """No sweep can be played."""


@attrs.frozen
class Finding:
    """One thing that was looked at; ``detail`` says what was found and what to do."""

    name: str
    health: Health
    detail: str


@click.command()
@json_option
def doctor(*, as_json: bool) -> int:
    """Look at this machine: Python, disk, ports, the container engine. Exit 1 when something makes runs impossible."""
    findings = [check() for check in CHECKS]
    if as_json:
        print_json([attrs.asdict(finding) for finding in findings])
    else:
        click.echo(columns(("what", "state", "found"), [(finding.name, finding.health.value, finding.detail) for finding in findings]))
    return NEGATIVE if any(finding.health is Health.FAILED for finding in findings) else DONE


def python_version() -> Finding:
    """3.11 or newer."""
    version = ".".join(map(str, sys.version_info[:3]))
    right = sys.version_info >= (3, 11)
    return Finding("Python", Health.OK if right else Health.FAILED, version if right else f"{version}; 3.11 or newer is needed")


def bash() -> Finding:
    """Agents' servers are started with it (contract L1)."""
    path = shutil.which("bash")
    return Finding("bash", Health.OK if path else Health.FAILED, path or "not found; servers of agents are started with `bash run_server.sh`")


def disk() -> Finding:
    """A scenario keeps workspaces, sessions and wire records."""
    free = shutil.disk_usage(Path.cwd()).free
    enough = free >= 5 * GIB
    return Finding("free disk", Health.OK if enough else Health.WARNING, f"{free / GIB:.1f} GiB here" + ("" if enough else "; large sweeps need more than 5"))


def ports() -> Finding:
    """A free port on the loopback, which every server under test needs."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            return Finding("ports", Health.OK, f"free ones can be had (such as {server.getsockname()[1]})")
    except OSError as error:
        return Finding("ports", Health.FAILED, f"cannot listen on 127.0.0.1: {error.strerror}")


def other_stamina() -> Finding:
    """PyPI's ``stamina`` is another library; installed beside us it takes the import name."""
    try:
        version = importlib.metadata.version("stamina")
    except importlib.metadata.PackageNotFoundError:
        return Finding("package names", Health.OK, "no other package called stamina is installed")
    return Finding("package names", Health.FAILED, f"another library, stamina {version}, is installed in this environment: pip uninstall stamina")


def engine() -> Finding:
    """Docker or Podman, whichever answers first."""
    answered = next((path for path in _sockets() if _answers(path)), None)
    if answered is not None:
        return Finding("container engine", Health.OK, f"answers on {answered}")
    return Finding("container engine", Health.WARNING, 'none answers; only sweeps with engine = "process" can be played')


def _sockets() -> Iterator[str]:
    host = os.environ.get("DOCKER_HOST", "")
    if host.startswith("unix://"):
        yield host.removeprefix("unix://")
    yield "/var/run/docker.sock"
    yield f"/run/user/{os.getuid()}/podman/podman.sock"
    yield "/run/podman/podman.sock"


def _answers(path: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2)
            client.connect(path)
            client.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
            return client.recv(64).startswith(b"HTTP/1.")
    except OSError:
        return False


def images() -> Finding:
    """What agents run in, at the engine that DOCKER_HOST names."""
    host = engine_host("docker", os.environ)
    try:
        tags = trio.run(_built, host)
    except InputError as error:
        return Finding("container images", Health.WARNING, str(error))
    except StaminaError as error:
        return Finding("container images", Health.WARNING, f"the engine cannot be asked: {error}")
    return Finding("container images", Health.OK, ", ".join(tags))


async def _built(host: str) -> list[str]:
    async with connect(host) as engine:
        await reached(engine)
        return [(await built(engine, recipe(name))).tags[0] for name in names()]


CHECKS: tuple[Callable[[], Finding], ...] = (python_version, bash, disk, ports, other_stamina, engine, images)
