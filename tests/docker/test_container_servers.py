"""The agent's server in a real container (contract L1)."""

import httpx
import pytest

from actors.readiness import answers_http
from actors.sandbox import Server, ServerFailed, ServerLimits
from tests.docker.container_lab import Lab
from tests.waiting import SECONDS

pytestmark = pytest.mark.docker

FOREGROUND = 'exec python3 server.py "$1"'


async def test_a_server_is_reached_and_known(lab: Lab) -> None:
    """At the container's own address; the program that listens is told; after the block it is gone."""
    async with lab.sandbox() as sandbox:
        async with lab.serve(sandbox, FOREGROUND) as server:
            assert isinstance(server, Server)
            assert server.program.startswith("python3")
            assert server.pid is not None
            assert await answers_http(server.host, server.port)
        assert not await answers_http(server.host, server.port)
        assert (await sandbox.probe()).processes == 0


async def test_each_run_has_another_port_and_a_fresh_start(lab: Lab) -> None:
    """And the script may return and leave its server behind."""
    async with lab.sandbox() as sandbox:
        ports = []
        for _ in range(3):
            async with lab.serve(sandbox, 'setsid python3 server.py "$1" >/dev/null 2>&1 &') as server:
                assert isinstance(server, Server)
                ports.append(server.port)

    assert len(set(ports)) == 3


FAILING = {
    "ends at once": ("echo no such luck; exit 7", "run_server.sh ended before the server answered (exit code 7)"),
    "never listens": ("sleep 1000", "the server did not answer HTTP within 2 s"),
    "listens for itself alone": ('exec python3 server.py "$1" 127.0.0.1', "the server did not answer HTTP within 2 s"),
    "another port": ("exec python3 server.py 8000", "the server did not answer HTTP within 2 s"),
    "too much memory": ("python3 -c 'x = bytearray(10**9)'", "run_server.sh ended before the server answered (exit code 137), out of memory"),
}


@pytest.mark.parametrize("kind", FAILING)
async def test_a_server_that_does_not_come_up_is_a_value(lab: Lab, kind: str) -> None:
    """With the reason, and the end of what it said."""
    script, reason = FAILING[kind]
    async with lab.sandbox() as sandbox:
        async with lab.serve(sandbox, script, seconds=2 if "within 2 s" in reason else SECONDS) as server:
            assert isinstance(server, ServerFailed)
            assert server.reason == reason
            assert ("no such luck" in server.log) == (kind == "ends at once")
        assert (await sandbox.probe()).processes == 0


async def test_no_script_is_a_value(lab: Lab) -> None:
    """Before anything is started."""
    async with lab.sandbox() as sandbox:
        (sandbox.workspace / "run_server.sh").unlink(missing_ok=True)
        async with sandbox.serve(limits=ServerLimits(SECONDS), log=lab.root / "log") as server:
            assert isinstance(server, ServerFailed)
            assert server.reason == "there is no run_server.sh in the workspace"


async def test_a_server_of_an_earlier_call_is_no_server(lab: Lab) -> None:
    """What the agent left running is ended with its call, so a stale server answers nobody."""
    async with lab.sandbox() as sandbox:
        await lab.bash(sandbox, "(setsid python3 -m http.server 8000 >/dev/null 2>&1 &); sleep 1")
        async with lab.serve(sandbox, "sleep 1000", seconds=1) as server:
            assert isinstance(server, ServerFailed)


async def test_neighbours_are_told_apart(lab: Lab) -> None:
    """Two servers at once, each at its own address."""
    async with (
        lab.containers() as made,
        lab.open(made) as one,
        lab.open(made) as other,
        lab.serve(one, FOREGROUND, text="one") as first,
        lab.serve(other, FOREGROUND, text="other") as second,
        httpx.AsyncClient(timeout=None) as client,
    ):
        assert isinstance(first, Server)
        assert isinstance(second, Server)
        said = [(await client.get(f"http://{server.host}:{server.port}/")).text for server in (first, second)]

    assert said == ["one", "other"]
