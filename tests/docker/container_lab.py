"""A bench for containers: open some, call a shell in them, look at what is left."""

import itertools
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs

from actors.container_sandbox import ContainerSandbox
from actors.containers import Containers, containers
from actors.docker import Engine, Found, connect
from actors.ownership import OWNER, Owner
from actors.sandbox import CallLimits, ServerLimits
from harnesses.harness import CallEnd, Command
from scenario_store.folder import LiveFolder
from stamina.config.model import Engine as EngineName
from stamina.config.model import SandboxConfig
from tests.waiting import SECONDS

MIB = 1 << 20
ENGINE = EngineName(os.environ.get("STAMINA_TEST_ENGINE", "docker"))
SMALL = SandboxConfig(engine=ENGINE, cpus=1.0, memory=256 * MIB, pids=64)

SERVER = """\
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"TEXT")
    def log_message(self, *given): pass
http.server.HTTPServer((sys.argv[2] if len(sys.argv) > 2 else "", int(sys.argv[1])), Handler).serve_forever()
"""


@attrs.frozen
class Ended:
    """A call's end, with what it said."""

    end: CallEnd
    out: str
    err: str


@attrs.define
class Lab:
    """Opens sandboxes in a temporary folder."""

    host: str
    root: Path
    _numbers: Any = attrs.field(factory=itertools.count)

    @asynccontextmanager
    async def containers(self, config: SandboxConfig = SMALL, environment: Mapping[str, str] | None = None) -> AsyncIterator[Containers]:
        async with containers(self.host, config, ["reference"], os.environ if environment is None else environment) as made:
            yield made

    @asynccontextmanager
    async def sandbox(self, config: SandboxConfig = SMALL, env: Mapping[str, str] | None = None) -> AsyncIterator[ContainerSandbox]:
        async with self.containers(config) as made, self.open(made, env) as sandbox:
            yield sandbox

    @asynccontextmanager
    async def open(self, made: Containers, env: Mapping[str, str] | None = None) -> AsyncIterator[ContainerSandbox]:
        async with made.open("reference", env or {}, self.folder()) as sandbox:
            yield sandbox

    def folder(self) -> LiveFolder:
        live = LiveFolder(self.root / f"live{next(self._numbers)}")
        for path in (live.workspace, live.home, live.tmp):
            path.mkdir(parents=True)
        return live

    async def bash(self, sandbox: ContainerSandbox, script: str, *, stdin: bytes = b"", limits: CallLimits | None = None, **command: Any) -> Ended:
        """A shell script as an agent call."""
        number = next(self._numbers)
        out, err = self.root / f"{number}.out", self.root / f"{number}.err"
        limits = limits or CallLimits(SECONDS, grace=0.5)
        end = await sandbox.call(Command(("bash", "-c", script), stdin, **command), limits=limits, stdout=out, stderr=err)
        return Ended(end, out.read_text(errors="replace"), err.read_text(errors="replace"))

    def serve(self, sandbox: ContainerSandbox, script: str, *, text: str = "ok", seconds: float = SECONDS) -> Any:
        """``run_server.sh`` with this content, beside a ``server.py``."""
        (sandbox.workspace / "run_server.sh").write_text(script)
        (sandbox.workspace / "server.py").write_text(SERVER.replace("TEXT", text))
        return sandbox.serve(limits=ServerLimits(seconds, grace=0.5), log=self.root / "server.log")


async def leftovers(host: str, *pids: int) -> tuple[list[str], list[str]]:
    """Names of the containers and networks that these processes made, this one by default: others may be at work on the same engine."""
    async with connect(host) as engine:
        return await names(engine, *pids)


async def names(engine: Engine, *pids: int) -> tuple[list[str], list[str]]:
    """See :func:`leftovers`."""
    return _owned(await engine.containers(OWNER), pids), _owned(await engine.networks(OWNER), pids)


def _owned(found: Sequence[Found], pids: tuple[int, ...]) -> list[str]:
    owners = [Owner.parse(each.labels[OWNER]) for each in found]
    return [each.name for each, owner in zip(found, owners, strict=True) if owner is not None and owner.pid in (pids or (os.getpid(),))]
