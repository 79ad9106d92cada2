"""Starts the server of a workspace as the benchmark does and plays a suite against it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from actors.ports import Ports
from actors.process_sandbox import ProcessSandbox
from actors.sandbox import Server, ServerLimits
from actors.tester import TesterLimits, run_suite
from stamina.domain import Sampler, ScenarioOptions
from stamina.rest.canonical import dumps
from stamina.rest.domain import RestDomain, RestScenario
from stamina.suite import CaseStatus, Suite
from tests.servers.states import Api
from tests.waiting import SECONDS

PORTS = Ports()


@cache
def scenario(seed: int, sampler: Sampler = Sampler.UNIFORM) -> RestScenario:
    """The scenario of a seed, made once."""
    return RestDomain().scenario(ScenarioOptions(seed=seed, sampler=sampler))


def api(seed: int, turn: int) -> Api:
    """What `stamina scenarios show --what state --json` prints, as the generators read it."""
    return Api.read(json.loads(dumps(scenario(seed).state(turn))))


def write(workspace: Path, files: Mapping[str, str]) -> None:
    """Make the workspace of these files."""
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def packages(workspace: Path) -> None:
    """Lay the packages of `tests/servers/express` beside the files of a workspace that has none of its own; `make test-servers` installs them."""
    if not (workspace / "node_modules").exists():
        (workspace / "node_modules").symlink_to(Path(__file__).with_name("express") / "node_modules")


async def failures(root: Path, suite: Suite) -> list[str]:
    """Play the suite against the server in ``root/workspace``; a line for each case that did not pass, and why the server did not start."""
    # The interpreter of these tests comes first, as `python`, with the frameworks that are installed beside it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # One build cache for all: newer versions of Go compile their own library into it.
    sandbox = ProcessSandbox(root, PORTS, env={"PATH": path, "GOCACHE": str(root.parent / "go-cache")})
    async with sandbox.serve(limits=ServerLimits(start=5 * SECONDS), log=root / "server.log") as server:
        if not isinstance(server, Server):
            return [f"{server.reason}: {server.log}"]
        verdict = await run_suite(suite, (server.host, server.port), TesterLimits(answer_seconds=SECONDS))
    assert verdict.total == len(suite.cases) > 0
    return [
        f"{result.case.name}: {result.failure.request} ► {result.failure.message}" if result.failure else f"{result.case.name}: {result.reason}"
        for result in verdict.results
        if result.status is not CaseStatus.PASSED
    ]
