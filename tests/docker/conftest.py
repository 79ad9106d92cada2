"""Containers on a real engine. ``make test-docker`` runs these, and fails where there is none; elsewhere they are skipped, and say why."""

import os
import re
from pathlib import Path

import pytest
import trio

from actors.containers import prepare
from actors.docker import connect, engine_host
from stamina.config.model import SandboxConfig
from stamina.errors import InputError
from tests.docker.container_lab import Lab
from tests.docker.harness_plays import Plays

NOTHING = re.compile(r"[\[-]NOTSET[\]-]")
"""What pytest calls a test for an empty list."""


async def _look(host: str) -> str | None:
    async with connect(host) as engine:
        try:
            await prepare(engine, SandboxConfig(), ["reference"], os.environ)
        except InputError as error:
            return str(error)
    return None


@pytest.fixture(scope="session")
def host() -> str:
    """Where the engine is; it has our images."""
    found = engine_host("docker", os.environ)
    missing = trio.run(_look, found)
    if missing is None:
        return found
    if os.environ.get("STAMINA_REQUIRE_DOCKER") == "1":
        pytest.fail(missing)
    pytest.skip(missing)


@pytest.fixture
def lab(host: str, tmp_path: Path) -> Lab:
    """Opens sandboxes."""
    return Lab(host, tmp_path)


@pytest.fixture(scope="session")
def plays(host: str, tmp_path_factory: pytest.TempPathFactory) -> Plays:
    """Long plays of harnesses; each is made once."""
    return Plays(tmp_path_factory.mktemp("plays"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test for none of the harnesses that were chosen is not there, rather than skipped."""
    nothing = [item for item in items if "harness" in getattr(item, "fixturenames", ()) and NOTHING.search(item.name)]
    if nothing:
        items[:] = [item for item in items if item not in nothing]
        config.hook.pytest_deselected(items=nothing)
