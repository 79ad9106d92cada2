"""What containers can reach: the gateway's address and what the sweep allows, and never one another."""

import attrs
import pytest
import trio

from actors.containers import Containers
from actors.sandbox import Server
from stamina.config.model import Egress
from tests.docker.container_lab import SMALL, Lab
from tests.local_server import QuietHandler, listening
from tests.waiting import SECONDS

pytestmark = pytest.mark.docker


def fetch(host: str, port: int, seconds: float = 3) -> str:
    """The shell's command that tells the status of a server's answer; of one that must not be reached, after a short time."""
    return f"curl -s --noproxy '*' -m {seconds} -o /dev/null -w '%{{http_code}}' http://{host}:{port}/ || echo \" $?\""


class SaysHost(QuietHandler):
    """A server of this machine."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"host")


async def test_containers_cannot_see_each_other(lab: Lab) -> None:
    """A neighbour's server, which the tester reaches, is out of reach, and out of sight by name."""
    async with lab.containers() as made, lab.open(made) as one, lab.open(made) as other, lab.serve(one, 'exec python3 server.py "$1"') as server:
        assert isinstance(server, Server)
        done = await lab.bash(other, fetch(server.host, server.port))

    assert done.out in ("000 7\n", "000 28\n")


async def test_what_listens_on_the_network_is_reached(lab: Lab) -> None:
    """As the model gateway does."""
    async with lab.containers() as made, lab.open(made) as sandbox:
        with listening(SaysHost, made.network.listen) as port:
            done = await lab.bash(sandbox, fetch(made.network.reach, port, SECONDS))

    assert done.out == "200"


@pytest.mark.parametrize("egress", [Egress.NONE, Egress.REGISTRIES])
async def test_nothing_outside_is_reached(lab: Lab, egress: Egress) -> None:
    """No address; names fail at once instead of after a time."""
    script = "curl -s -m 3 --noproxy '*' http://198.51.100.1/; echo $?; SECONDS=0; getent hosts outside.example >/dev/null; echo $? $((SECONDS < 5))"
    config = attrs.evolve(SMALL, egress=egress, egress_allow=("registry.example",))
    async with lab.sandbox(config) as sandbox:
        done = await lab.bash(sandbox, script)

    reached, named = done.out.splitlines()
    assert reached in ("7", "28")
    assert named == "2 1"


async def proxied(made: Containers, lab: Lab, url: str, *options: str) -> str:
    """What curl gets through the proxy that the environment names: the status, then the body."""
    async with lab.open(made) as sandbox:
        done = await lab.bash(sandbox, f"curl -s -m {SECONDS} --noproxy '' {' '.join(options)} -w '%{{http_code}} %{{http_connect}} ' {url}")
    return done.out


async def test_registries_are_reached_through_the_proxy(lab: Lab) -> None:
    """In plain HTTP and through a tunnel; what is not on the list is refused."""
    with listening(SaysHost) as port, listening(SaysHost) as other:
        config = attrs.evolve(SMALL, egress=Egress.REGISTRIES, egress_allow=(f"localhost:{port}",))
        async with lab.containers(config) as made:
            found = {}

            async def get(name: str, url: str, *options: str) -> None:
                found[name] = await proxied(made, lab, url, *options)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(get, "plain", f"http://localhost:{port}/a?b=c")
                nursery.start_soon(get, "tunnel", f"http://localhost:{port}/", "-p")
                nursery.start_soon(get, "other port", f"http://localhost:{other}/")
                nursery.start_soon(get, "other host", f"http://elsewhere.example:{port}/", "-p")

    assert found["plain"].startswith("host")
    assert found["tunnel"].startswith("host")
    assert "is not on the list of this sweep" in found["other port"]
    assert found["other host"].endswith("000 403 ")


async def test_open_means_open(lab: Lab) -> None:
    """There is a way out, and still none to a neighbour."""
    async with lab.containers(attrs.evolve(SMALL, egress=Egress.OPEN)) as made, lab.open(made) as one, lab.open(made) as other:
        routes = await lab.bash(other, "awk 'NR > 1 && $2 == \"00000000\"' /proc/net/route | wc -l; cat /etc/resolv.conf | grep -c '^nameserver 127.0.0.1$'")
        async with lab.serve(one, 'exec python3 server.py "$1"') as server:
            assert isinstance(server, Server)
            done = await lab.bash(other, fetch(server.host, server.port))

    assert routes.out == "1\n0\n"
    assert done.out in ("000 7\n", "000 28\n")
