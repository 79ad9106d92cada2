"""How containers and we reach each other: one network a sweep, on which they cannot see one another.

On Linux the bridge of the network is an interface of this machine: the tester reaches each container at its own address, and what listens on the bridge's
address (the model gateway, the proxy for packages) is what containers can reach. Podman neither keeps containers of one network apart, nor gives this machine
an address on an internal network: there the wardens close the ways (:meth:`actors.warden.Warden.fence`).

Elsewhere the engine lives in a virtual machine: a port of each container is published on the loopback, and containers reach this machine as
``host.docker.internal``, or, with Podman, as ``host.containers.internal``.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import attrs

from actors.docker import Engine, Missing, State, local
from actors.ownership import labels
from actors.owning import owning
from stamina.config.model import Egress
from stamina.errors import SandboxFault

INTERNAL_HOST: Final = "host.docker.internal"
PODMANS_HOST: Final = "host.containers.internal"
"""Podman writes this name into every container; the word ``host-gateway`` it takes for an address."""

LOOPBACK: Final = "127.0.0.1"
PORTS: Final = range(20_000, 32_768)
"""Below those that Linux gives to outgoing connections: one that an agent had, and that lingers, would keep its server from listening."""
_POOLS: Final = "address pool"


@attrs.frozen
class Network:
    """A sweep's network.

    Attributes:
        name: at the engine.
        gateway: this machine's address, or the engine's, on it.
        listen: where this machine listens for containers.
        reach: the host that containers reach that as.
        direct: whether containers have addresses that can be reached from here.
    """

    name: str
    gateway: str
    listen: str
    reach: str
    direct: bool
    sweep: str
    egress: Egress
    podman: bool = False

    @property
    def hosts(self) -> tuple[str, ...]:
        """Entries for a container's ``/etc/hosts``."""
        return () if self.direct or self.podman else (f"{INTERNAL_HOST}:host-gateway",)

    def port(self) -> int:
        """A port for a server: another one each time."""
        return secrets.choice(PORTS)

    def address(self, state: State, port: int) -> tuple[str, int]:
        """Where a port of a container is reached from here. Raises SandboxFault."""
        if self.direct and state.address:
            return state.address, port
        if not self.direct and f"{port}/tcp" in state.ports:
            return LOOPBACK, state.ports[f"{port}/tcp"]
        raise SandboxFault("the container has no address")


def is_direct(host: str, platform: str = sys.platform) -> bool:
    """Whether an engine's networks are interfaces of this machine."""
    return platform == "linux" and local(host)


@asynccontextmanager
async def network(engine: Engine, sweep: str, egress: Egress, *, direct: bool, podman: bool = False) -> AsyncIterator[Network]:
    """A network for the length of the block. Raises SandboxFault."""
    async with owning(f"stamina-{sweep}", engine.remove_network) as name:
        await _create(engine, _config(name, sweep, egress, direct=direct, podman=podman))
        gateway = await engine.gateway(name)
        if gateway is None:
            raise SandboxFault(f"network {name} has no address of this machine")
        listen, reach = (gateway, gateway) if direct else (LOOPBACK, PODMANS_HOST if podman else INTERNAL_HOST)
        yield Network(name, gateway, listen, reach, direct, sweep, egress, podman)


async def restored(engine: Engine, lost: Network) -> None:
    """Make sure that the network is still there, as an engine that was started anew may have lost it. Raises SandboxFault."""
    try:
        await engine.gateway(lost.name)
    except Missing:
        await _create(engine, _config(lost.name, lost.sweep, lost.egress, direct=lost.direct, podman=lost.podman))


async def _create(engine: Engine, config: dict[str, Any]) -> None:
    try:
        await engine.create_network(config)
    except SandboxFault as fault:
        if _POOLS in str(fault):
            raise SandboxFault(f"{fault}. The engine has no address left for one more network: remove some ('stamina gc', 'docker network ls')") from fault
        raise


def _config(name: str, sweep: str, egress: Egress, *, direct: bool, podman: bool) -> dict[str, Any]:
    """Internal where nothing outside is to be reached. What is published cannot be internal: there, leaving is prevented by not translating addresses."""
    closed = egress is not Egress.OPEN
    bridge = {"com.docker.network.bridge.enable_icc": "false"}
    if closed and not direct:
        bridge["com.docker.network.bridge.enable_ip_masquerade"] = "false"
    return {
        "Name": name,
        "Driver": "bridge",
        "Internal": closed and direct and not podman,
        "CheckDuplicate": True,
        "Labels": labels(sweep),
        "Options": {} if podman else bridge,
    }
