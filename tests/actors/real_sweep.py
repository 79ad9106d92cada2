"""A tiny sweep with real processes: run by tests as a program of its own, so that it can be killed. ``python real_sweep.py ROOT TURN``.

The agent is a shell script that writes a server which says the number it was asked for; from the turn on it works until there is a file ``go`` in ROOT.
When the sweep has been asked to stop there is a file ``draining``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

from actors.permits import Permits, Threads
from actors.ports import Ports
from actors.process_sandbox import ProcessSandbox
from actors.sandbox import Sandbox
from actors.scenario import Cast, Stage
from actors.stopping import Stop, on_signals
from actors.sweep import Company, SweepEnd, play_sweep
from harnesses.harness import CallContext, CallEnd, CallReport, Command
from scenario_store.folder import LiveFolder
from stamina.config.model import AgentConfig, Plan, Sweep, Work
from stamina.outcome import Cause
from tests.actors.fakes import SERVER_CODE, Modelless, ToyScenario, folder_of, works
from tests.waiting import SECONDS

SERVER = f"""exec {sys.executable} -I -S server.py "$1" """


@attrs.frozen
class ShellHarness(Modelless):
    """Reads the number from the prompt, as an agent reads text, and leaves a daemon behind."""

    go: Path
    waits_from: int
    name: str = "shell"

    def command(self, context: CallContext) -> Command:
        code = SERVER_CODE.replace("NUMBER", context.prompt.removeprefix("say ").strip())
        files = f"cat > run_server.sh <<'END'\n{SERVER}\nEND\ncat > server.py <<'END'\n{code}\nEND\n"
        waits = f"until [ -e '{self.go}' ]; do sleep 0.05; done; " if context.turn >= self.waits_from else ""
        script = f"{files}setsid sleep 600 &\necho $! > ~/daemon.new; mv ~/daemon.new ~/daemon; {waits}echo done"
        return Command(("bash", "-c", script))

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        done = end.exit_code == 0 and end.stdout.read_text() == "done\n"
        return CallReport(done, None if done else Cause.HARNESS, "" if done else f"exit code {end.exit_code}", "s")


def company_of(root: Path, turn: int, stop: Stop | None = None) -> Company:
    ports = Ports()

    @asynccontextmanager
    async def sandbox(work: Work, live: LiveFolder) -> AsyncIterator[Sandbox]:
        yield ProcessSandbox(live.root, ports)

    def cast(work: Work) -> Cast:
        return Cast(work, ToyScenario(), ShellHarness(root / "go", turn), folder_of(work, root))

    permits = Permits(trio.CapacityLimiter(2), trio.CapacityLimiter(2))
    stage = Stage(sandbox, permits, Threads(trio.CapacityLimiter(1)), stop or Stop(), lambda event: None, time.time)
    return Company(cast, stage, lambda report: None)


def plan_of() -> Plan:
    work = works((1, 2), turns=2, retries=0)
    return Plan(Sweep("real", (1, 2), (AgentConfig("toy"),)), (work[0].cell,), work)


async def main(root: Path, turn: int) -> SweepEnd:
    stop = Stop(grace=SECONDS)
    async with trio.open_nursery() as nursery:
        await nursery.start(on_signals, stop)
        nursery.start_soon(tell, stop, root / "draining")
        end = await play_sweep(plan_of(), company_of(root, turn, stop))
        nursery.cancel_scope.cancel()
    return end


async def tell(stop: Stop, file: Path) -> None:
    """Leave a file when it is asked to stop."""
    await stop.wait()
    await trio.Path(file).touch()


if __name__ == "__main__":
    ended = trio.run(main, Path(sys.argv[1]), int(sys.argv[2]))
    sys.exit(130 if ended.interrupted else int(not ended.clean))
