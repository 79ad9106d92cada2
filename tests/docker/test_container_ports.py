"""Engines whose containers have no address that can be reached from here, as on a Mac: what is reached, and what is not, through published ports.

An engine behind a TCP address counts as one of those, so a relay to the engine of this machine makes the same code run.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import attrs
import httpx
import pytest
import trio

from actors.container_sandbox import ContainerSandbox
from actors.containers import PUBLISHED, containers
from actors.sandbox import Server, Serving
from stamina.config.model import Egress
from stamina.config.model import Engine as EngineName
from tests.docker.container_lab import ENGINE, SMALL, Lab, leftovers
from tests.docker.test_container_network import SaysHost, fetch
from tests.local_server import listening
from tests.waiting import SECONDS

pytestmark = pytest.mark.docker

FOREGROUND = 'exec python3 server.py "$1"'


@asynccontextmanager
async def relayed(host: str) -> AsyncIterator[str]:
    """The engine behind a TCP address."""

    async def relay(client: trio.SocketStream) -> None:
        async with client, await trio.open_unix_socket(host.removeprefix("unix://")) as engine, trio.open_nursery() as nursery:
            nursery.start_soon(pump, client, engine)
            nursery.start_soon(pump, engine, client)

    async def pump(source: trio.SocketStream, target: trio.SocketStream) -> None:
        try:
            async for data in source:
                await target.send_all(data)
            await target.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, relay, [listener])
        try:
            yield f"tcp://127.0.0.1:{listener.socket.getsockname()[1]}"
        finally:
            nursery.cancel_scope.cancel()


CONFIG = attrs.evolve(SMALL, egress=Egress.OPEN if ENGINE is EngineName.PODMAN else Egress.NONE)
"""Podman cannot keep containers from the outside there, and says so."""


async def test_servers_are_reached_through_published_ports(lab: Lab) -> None:
    """More of them, one after the other, than there are ports; two at once; each is told from the other."""
    said, ports = [], set()

    def served(sandbox: ContainerSandbox, text: str) -> Serving:
        return lab.serve(sandbox, FOREGROUND, text=text)

    async with (
        relayed(lab.host) as host,
        containers(host, CONFIG, ["reference"], os.environ) as made,
        lab.open(made) as one,
        lab.open(made) as other,
        httpx.AsyncClient(timeout=None) as client,
    ):
        assert (made.network.direct, made.network.listen) == (False, "127.0.0.1")
        for number in range(PUBLISHED + 1):
            async with served(one, f"one {number}") as first, served(other, f"other {number}") as second:
                assert isinstance(first, Server)
                assert isinstance(second, Server)
                said += [(await client.get(f"http://{server.host}:{server.port}/")).text for server in (first, second)]
                ports |= {first.port, second.port}
                assert {first.host, second.host} == {"127.0.0.1"}

    assert said == [text for number in range(PUBLISHED + 1) for text in (f"one {number}", f"other {number}")]
    assert len(ports) == 2 * PUBLISHED
    assert await leftovers(lab.host) == ([], [])


async def test_what_containers_reach_there(lab: Lab) -> None:
    """This machine by its name; not each other, by whatever way; not the outside."""
    async with (
        relayed(lab.host) as host,
        containers(host, CONFIG, ["reference"], os.environ) as made,
        lab.open(made) as one,
        lab.open(made) as other,
        lab.serve(one, FOREGROUND) as server,
    ):
        assert isinstance(server, Server)
        state = await made.engine.state(one.body.name)
        assert state is not None
        inside = next(int(port.partition("/")[0]) for port, published in state.ports.items() if published == server.port)
        with listening(SaysHost, "0.0.0.0") as port:
            machine = await lab.bash(other, fetch(made.network.reach, port, SECONDS))
        neighbour = await lab.bash(other, fetch(state.address, inside))
        outside = await lab.bash(other, fetch("198.51.100.1", 80))

    assert machine.out == "200"
    assert neighbour.out in ("000 7\n", "000 28\n")
    assert CONFIG.egress is Egress.OPEN or outside.out in ("000 7\n", "000 28\n")
