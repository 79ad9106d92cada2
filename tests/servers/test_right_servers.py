"""Right servers pass every suite: those generated for four frameworks, and those that others wrote by hand from the texts alone.

The generators (`*_server.py` here) read a state in its canonical JSON and write what a programmer of that framework would: its own validation, JSON, routing
and habits. They share the benchmark's reading of its rules, and nothing else. The servers under `handwritten/` share nothing at all.
"""

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.servers import express_server, fastapi_server, flask_server, go_server
from tests.servers.lab import api, failures, packages, scenario, write
from tests.servers.snapshots import SNAPSHOTS, Snapshot
from tests.servers.states import Api

SEEDS = range(5)
TURNS = (0, 10, 25, 50, 100)

Generate: TypeAlias = Callable[[Api], dict[str, str]]
Lay: TypeAlias = Callable[[Path], None]
"""Fills the workspace of a server."""

PYTHON: dict[str, Generate] = {"flask": flask_server.generate, "fastapi": fastapi_server.generate}
OTHERS: dict[str, Generate] = {"express": express_server.generate, "go": go_server.generate}
QUICK = {("flask", 0, 0), ("flask", 1, 10), ("fastapi", 2, 0), ("fastapi", 3, 10)}
"""What `make test` plays; `make test-servers` plays one turn a seed, and all of them when it is told so."""


def generated(generate: Generate, seed: int, turn: int, workspace: Path) -> None:
    write(workspace, generate(api(seed, turn)))


def copied(snapshot: Snapshot, workspace: Path) -> None:
    shutil.copytree(snapshot.folder, workspace, symlinks=True)


def servers() -> Iterator[Any]:
    """All of them, with the marks that say when they are played."""
    for number, (name, generate) in enumerate({**PYTHON, **OTHERS}.items()):
        for seed in SEEDS:
            for turn in TURNS:
                sampled = turn == TURNS[(seed + number) % len(TURNS)]
                marks = () if (name, seed, turn) in QUICK else (pytest.mark.servers,) if sampled else (pytest.mark.servers, pytest.mark.slow)
                yield pytest.param(partial(generated, generate, seed, turn), seed, turn, id=f"{name}-{seed}-{turn}", marks=marks)
    for each in SNAPSHOTS:
        marks = () if each.language == "python" else (pytest.mark.servers,)
        yield pytest.param(partial(copied, each), each.seed, each.turn, id=f"by_hand-{each.name}-{each.turn}", marks=marks)


@pytest.mark.parametrize(("lay", "seed", "turn"), list(servers()))
async def test_no_suite_fails_a_right_server(lay: Lay, seed: int, turn: int, tmp_path: Path) -> None:
    lay(tmp_path / "workspace")
    packages(tmp_path / "workspace")

    assert await failures(tmp_path, scenario(seed).suite(turn)) == []


@pytest.mark.parametrize("generate", PYTHON.values(), ids=PYTHON)
async def test_a_server_that_missed_a_turn_fails(generate: Generate, tmp_path: Path) -> None:
    """So that passing means something: the suite is one turn ahead of the server."""
    generated(generate, 1, 4, tmp_path / "workspace")

    assert await failures(tmp_path, scenario(1).suite(5)) != []
