"""A drill: ``kill -9`` in the middle of a sweep in containers, and what the engine has then. ``make drill-kill`` plays it.

It prints the list of containers and networks (``docker ps -a``, ``docker network ls``) before the kill and after it until nothing is left; then the same with
the reaper killed as well, where the next start removes what is left. It ends with exit code 1 when something stays.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs
import psutil
import trio

from actors.docker import connect, engine_host
from actors.ownership import OWNER, Owner
from tests.docker.container_lab import ENGINE
from tests.docker.sweep_lab import playing, suites

PATIENCE: Final = 60.0


@attrs.frozen
class Had:
    """What the engine had of one process at one moment."""

    containers: tuple[str, ...]
    networks: tuple[str, ...]

    @classmethod
    async def by(cls, pid: int, host: str) -> Had:
        """Ask the engine."""
        async with connect(host) as engine:
            containers, networks = await engine.containers(OWNER), await engine.networks(OWNER)
        mine = [[each for each in found if (owner := Owner.parse(each.labels[OWNER])) and owner.pid == pid] for found in (containers, networks)]
        return cls(tuple(f"{each.name} {each.state}" for each in mine[0]), tuple(each.name for each in mine[1]))

    def text(self) -> str:
        """Two lists."""
        lines = [*(f"  container {each}" for each in self.containers), *(f"  network   {each}" for each in self.networks)]
        return "\n".join(lines) or "  nothing"


def tell(when: str, had: Had) -> None:
    print(f"{when}:\n{had.text()}", flush=True)


def follow(pid: int, host: str, over: Callable[[Had], bool]) -> Had:
    """Print each change until it is over, or for as long as patience lasts."""
    begun, last = time.monotonic(), None
    while True:
        had = trio.run(Had.by, pid, host)
        passed = time.monotonic() - begun
        if had != last:
            tell(f"{passed:.1f} s after the kill", had)
            last = had
        if over(had) or passed > PATIENCE:
            return had
        time.sleep(0.2)


def drill(host: str, root: Path, *, reaper: bool) -> Had:
    """One sweep, killed; ``reaper``: its reaper before it."""
    with playing(root, host, "sweep.turns=5") as process:
        while suites(root) < 4 or len(trio.run(Had.by, process.pid, host).containers) < 3:
            time.sleep(0.2)
        tell("in mid-sweep", trio.run(Had.by, process.pid, host))
        for child in psutil.Process(process.pid).children():
            if reaper and any(part.endswith("reaper.py") for part in child.cmdline()):
                child.kill()
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not reaper:
            return follow(process.pid, host, lambda had: not had.containers and not had.networks)
        follow(process.pid, host, lambda had: not any(each.endswith(" running") for each in had.containers))
        pid = process.pid
    with playing(root, host, "sweep.turns=5") as process:
        process.wait()
    had = trio.run(Had.by, pid, host)
    tell(f"after the same command again, which ended with exit code {process.returncode}", had)
    return had


def main() -> int:
    """Both ways."""
    host = engine_host(ENGINE, os.environ)
    left = False
    for reaper in (False, True):
        print("== kill -9 of the sweep and of its reaper" if reaper else "== kill -9 of the sweep")
        with tempfile.TemporaryDirectory() as folder:
            had = drill(host, Path(folder) / "run", reaper=reaper)
        left = left or bool(had.containers or had.networks)
    return int(left)


if __name__ == "__main__":
    sys.exit(main())
