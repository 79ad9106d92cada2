"""A bench for sweeps in containers: the quickstart as a process of its own, what it has played so far, and engines that may be killed."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest
import trio

from actors.docker import connect
from harnesses.recipes import BASE, recipe
from scenario_store.journal import read_journal
from scenario_store.run import Run
from stamina.config.model import Engine as EngineName
from stamina.turns import Event, SuiteRan
from tests.docker.container_lab import ENGINE
from tests.waiting import until

ROOT = Path(__file__).parents[2]
SWEEP_FILE = ROOT / "sweeps/quickstart-docker.toml"


@contextmanager
def playing(out: Path, host: str, *settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """The quickstart in containers, as a process of its own."""
    flags = [part for setting in settings for part in ("--set", setting)]
    argv = [sys.executable, "-m", "stamina", "run", str(SWEEP_FILE), "--out", str(out), "--set", f"sandbox.engine={ENGINE}", *flags]
    process = subprocess.Popen(argv, cwd=ROOT, env={**os.environ, "DOCKER_HOST": host}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def events(out: Path) -> list[Event]:
    """Of all scenarios."""
    if not (out / "lock.json").exists():
        return []
    return [event for folder in Run.open(out).scenarios() if folder.journal.exists() for event in read_journal(folder.journal, Event).events]


def interrupt(process: subprocess.Popen[bytes], out: Path) -> None:
    """Ctrl-C, and once it was heard, Ctrl-C."""
    process.send_signal(signal.SIGINT)
    until(lambda: "draining" in (out / "log.jsonl").read_text())
    process.send_signal(signal.SIGINT)


def suites(out: Path) -> int:
    return sum(isinstance(event, SuiteRan) for event in events(out))


@attrs.frozen
class Private:
    """An engine of a test's own, with our image, that may be killed. ``store``: whose images it shares; Podman's services may share them."""

    folder: Path
    store: Path | None
    arguments: str = "--iptables=false"

    @property
    def host(self) -> str:
        return f"unix://{self.folder}/{ENGINE}/engine.sock"

    def do(self, verb: str) -> None:
        """See ``scripts/engine``."""
        store = {} if self.store is None else {"STAMINA_ENGINE_STORE": str(self.store)}
        own = {**os.environ, "STAMINA_ENGINE_DIR": str(self.folder), "STAMINA_ENGINE_ARGS": self.arguments, "ENGINE": ENGINE, **store}
        subprocess.run([ROOT / "scripts/engine", verb], env=own, check=True, stdout=subprocess.DEVNULL, timeout=600)

    def signal(self, number: int) -> None:
        """To the engine's process."""
        os.kill(int((self.folder / ENGINE / "engine.pid").read_text()), number)


@contextmanager
def private_engine(host: str, arguments: str = "", *, image: bool = True) -> Iterator[Private]:
    """Started and, in the end, removed with all that it kept. ``image``: with ours in it."""
    if os.getuid() != 0:
        pytest.skip("starting an engine needs root")
    podman = ENGINE is EngineName.PODMAN
    store = Path(host.removeprefix("unix://")).parent if podman else None
    engine = Private(Path("/var/tmp") / f"stamina-test-{os.getpid()}-{secrets.token_hex(2)}", store, f"--iptables=false {arguments}")
    engine.do("start")
    try:
        if image and not podman:
            trio.run(copy_image, host, engine.host)
        yield engine
    finally:
        engine.do("remove")
        engine.folder.rmdir()


async def copy_image(source: str, target: str) -> None:
    """The base image, from one engine to another."""
    async with connect(source) as engine:
        image = next(image for image in await engine.images("stamina.image=base") if image.tags and image.labels["stamina.recipe"] == recipe(BASE).digest)
    sockets = [each.removeprefix("unix://") for each in (source, target)]
    script = (
        f"set -o pipefail; curl -sSf --unix-socket {sockets[0]} http://e/images/{image.tags[0]}/get | "
        f"curl -sSf --unix-socket {sockets[1]} -X POST -H 'Content-Type: application/x-tar' -T - http://e/images/load"
    )
    await trio.run_process(["bash", "-c", script], capture_stdout=True)
