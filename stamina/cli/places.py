"""Where agents run: plain processes of this machine, or containers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from actors.containers import NOT_BEGUN, containers, prepare
from actors.docker import connect, engine_host, local
from actors.ports import Ports
from actors.process_sandbox import ProcessSandbox
from actors.sandbox import Sandbox
from actors.scenario import SandboxFactory
from harnesses.registry import make_harness
from scenario_store.folder import LiveFolder
from stamina.config.model import Engine, Plan, SandboxConfig, Work
from stamina.config.plan import label_of
from stamina.errors import InputError

LOCAL: Final = "127.0.0.1"


@attrs.frozen
class Place:
    """Where the sandboxes of a sweep are.

    Attributes:
        open: opens one.
        listen: the address of this machine that they reach.
        reach: the host by which they reach it.
        disks: folders on disks, beside the run's, that must have room.
    """

    open: SandboxFactory
    listen: str = LOCAL
    reach: str = LOCAL
    disks: tuple[Path, ...] = ()

    def seen(self, url: str) -> str:
        """An address of ours as processes in a sandbox see it."""
        return url.replace(self.listen, self.reach, 1)


def check_place(plan: Plan, begun: Mapping[str, str] = NOT_BEGUN) -> Mapping[str, str]:
    """The ids of the images that sandboxes of each harness have; those that a run was ``begun`` in while they are there. Makes nothing that lasts.

    Raises InputError when nothing here can run these sandboxes.
    """
    if plan.sweep.sandbox.engine is Engine.PROCESS:
        return {}
    check_versions(plan)
    return trio.run(_check, plan, begun)


def check_versions(plan: Plan) -> None:
    """Raises InputError for an agent whose version is not the one that our image has. What an image of the user's own has is asked in the sandbox."""
    if plan.sweep.sandbox.image is not None:
        return
    for agent in (cell.agent for cell in plan.cells if cell.agent.version is not None):
        program = make_harness(attrs.evolve(agent, version=None)).program
        if program is not None and program.version not in (None, agent.version):
            raise InputError(
                f'[[agent]] {label_of(agent)}: version = "{agent.version}", but our image for {agent.harness} has {program.version}, which this stamina was '
                f"proven with. Leave version out to play that one, or name an image that has {agent.version} in [sandbox] image"
            )


async def _check(plan: Plan, begun: Mapping[str, str]) -> Mapping[str, str]:
    config = plan.sweep.sandbox
    async with connect(_host(config)) as engine:
        prepared = await prepare(engine, config, _harnesses(plan), os.environ, begun)
    return {harness: dressed.image.id for harness, dressed in prepared.images.items()}


@asynccontextmanager
async def place(plan: Plan, begun: Mapping[str, str]) -> AsyncIterator[Place]:
    """The place that a sweep asks for; ``begun`` as in :func:`check_place`. Raises InputError, SandboxFault."""
    config = plan.sweep.sandbox
    if config.engine is Engine.PROCESS:
        yield Place(_processes(config))
        return
    async with containers(_host(config), config, _harnesses(plan), os.environ, begun) as made:

        @asynccontextmanager
        async def open_sandbox(work: Work, folder: LiveFolder) -> AsyncIterator[Sandbox]:
            async with made.open(work.cell.agent.harness, work.cell.agent.env, folder) as sandbox:
                yield sandbox

        disks = (made.prepared.about.root,) if local(made.engine.host) else ()
        yield Place(open_sandbox, made.network.listen, made.network.reach, disks)


def _processes(config: SandboxConfig) -> SandboxFactory:
    ports = Ports()

    @asynccontextmanager
    async def open_sandbox(work: Work, folder: LiveFolder) -> AsyncIterator[Sandbox]:
        env: Mapping[str, str] = {**config.env, **work.cell.agent.env}
        sandbox = ProcessSandbox(folder.root, ports, env)
        await sandbox.fence()
        yield sandbox

    return open_sandbox


def _host(config: SandboxConfig) -> str:
    return engine_host(config.engine.value, os.environ)


def _harnesses(plan: Plan) -> list[str]:
    return list(dict.fromkeys(cell.agent.harness for cell in plan.cells))
