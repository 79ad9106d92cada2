"""The catalogue of hostile servers once more, through a container's network: the outcomes are those of docs/hostile-servers.md."""

import json
import sysconfig
from pathlib import Path

import attrs
import pytest
import trio

from actors.sandbox import Server, ServerLimits
from tests.docker.container_lab import MIB, SMALL, Lab
from tests.hostile.test_hostile_servers import EXPECTED, HUNG, LIMITS, PATIENT, play
from tests.waiting import SECONDS

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
LIBRARIES = "/libraries"
SCRIPT = f'PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={LIBRARIES}:/catalogue exec python3 -m tests.hostile.serve_catalogue "$1"\n'
CONFIG = attrs.evolve(SMALL, memory=512 * MIB, mounts=(f"{sysconfig.get_path('purelib')}:{LIBRARIES}:ro", f"{ROOT / 'tests'}:/catalogue/tests:ro"))


async def test_each_server_has_its_outcome_in_a_container_too(host: str, tmp_path: Path) -> None:
    """All of them are one agent's server, and it is still there in the end."""
    lab, found = Lab(host, tmp_path), {}

    async def one(address: str, port: int, name: str) -> None:
        limits = LIMITS if EXPECTED.get(name) is HUNG else attrs.evolve(LIMITS, answer_seconds=PATIENT.answer_seconds)
        async with limit:
            found[name] = await play((address, port), limits)

    limit = trio.CapacityLimiter(4)
    async with lab.sandbox(CONFIG) as sandbox:
        (sandbox.workspace / "run_server.sh").write_text(SCRIPT)
        async with sandbox.serve(limits=ServerLimits(SECONDS), log=tmp_path / "server.log") as server:
            assert isinstance(server, Server), server
            ports = json.loads((sandbox.workspace / "ports.json").read_text())
            async with trio.open_nursery() as nursery:
                for name, port in ports.items():
                    nursery.start_soon(one, server.host, port, name)
            assert await play((server.host, ports["honest"]), PATIENT) == EXPECTED["honest"]
        assert (await sandbox.probe()).processes == 0

    assert found.pop("dies-after-4") == ("passed", "passed", "refused", "refused", "not run")
    assert found == EXPECTED
