"""Agents whose servers misbehave, each a shell script, played for a whole scenario in a process sandbox: what their calls leave, and what must come of it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from actors.permits import Permits
from actors.ports import Ports
from actors.process_sandbox import ProcessSandbox
from actors.sandbox import Sandbox
from actors.scenario import Cast, Stage, play
from actors.stopping import Stop
from actors.supervise import Restart
from harnesses.harness import CallContext, CallEnd, CallReport, Command
from scenario_store.folder import LiveFolder
from stamina.config.model import Work
from stamina.domain import FeedbackLevel, Handler, ScenarioOptions, TurnPlan
from stamina.exchange import Response
from stamina.outcome import Cause, ScenarioOutcome
from stamina.suite import Suite, Verdict
from tests.actors.fakes import Modelless, Watcher, folder_of, inline, works
from tests.hostile.servers import GOOD
from tests.hostile.things import suite

PROGRAM: Final = (Path(__file__).parent / "rogue_server.py").read_text()
RUN: Final = f"{sys.executable} -I -S server.py"

SHORT: Final = 2
"""Seconds to start for a server that never does."""

PATIENT: Final = 120

WHOLE_RUN: Final = 300
"""Seconds after which all of them together count as hung; their own limits end every one long before."""

NEVER: Final = ("not run",) * 5
PASSED: Final = ("passed",) * 5


@attrs.frozen
class Rogue:
    """One agent.

    Attributes:
        script: its ``run_server.sh``; ``$1`` is the port.
        outcome: of the five cases of attempt 0.
        detail: why nothing, or not everything, ran.
        start, answer: limits in seconds.
        call: what its call does beside writing the files.
    """

    script: str
    outcome: tuple[str, ...]
    detail: str = ""
    start: int = PATIENT
    answer: int = PATIENT
    call: str = ""

    @property
    def mends(self) -> bool:
        """Whether a second attempt brings an honest server: where it needs one, and no short limit could decide about it."""
        return self.outcome != PASSED and SHORT not in (self.start, self.answer)


def rogue(kind: str, *outcome: str, detail: str = "", start: int = PATIENT, answer: int = PATIENT) -> Rogue:
    """One that does nothing but run the rogue server."""
    return Rogue(f'exec {RUN} {kind} "$1"', outcome, detail, start, answer)


def too_late(kind: str) -> Rogue:
    """One that is never found ready."""
    return rogue(kind, *NEVER, detail=f"the server did not answer HTTP within {SHORT} s", start=SHORT)


GONE: Final = "not run: server gone"

ROGUES: Final[dict[str, Rogue]] = {
    "binds late": Rogue(f'sleep 1.5; exec {RUN} honest "$1"', PASSED),
    "never binds": too_late("never-binds"),
    "binds another port": too_late("never-on-its-port"),
    "binds and dies": rogue("never-more-than-bound", *NEVER, detail="run_server.sh ended before the server answered (exit code 3)"),
    "is no script": Rogue("\0\0 (((", NEVER, "run_server.sh ended before the server answered (exit code 126)"),
    "returns at once": Rogue("exit 0", NEVER, "run_server.sh ended before the server answered (exit code 0)"),
    "relies on its call": Rogue(
        "exit 0", NEVER, "run_server.sh ended before the server answered (exit code 0)", call=f"(setsid env -i {RUN} honest 0 >/dev/null 2>&1 &)"
    ),
    "forks away a daemon": Rogue(f'(setsid env -i {RUN} ignores-sigterm "$1" >/dev/null 2>&1 &); exit 0', PASSED),
    "leaves a stale daemon": Rogue(f'(setsid env -i {RUN} wrong-for-ever "$1" >/dev/null 2>&1 &); exit 0', ("500",) * 5),
    "ignores SIGTERM": rogue("ignores-sigterm", *PASSED),
    "floods its log": rogue("floods-its-log", *PASSED),
    "never speaks HTTP": too_late("never-http"),
    "never sends more than a byte": too_late("never-more-than-a-byte"),
    "answers garbage": rogue("garbage", *["garbage"] * 5),
    "sends an endless body": rogue("endless-body", *["too large"] * 5),
    "sends endless headers": rogue("endless-headers", *["too large"] * 5),
    "sends one byte a minute": rogue("byte-a-minute", *["timeout"] * 3, *["not run"] * 2, detail=GONE, answer=SHORT),
    "redirects elsewhere": rogue("redirects", *["302"] * 5),
    "dies in the first test": rogue("dies", "closed", "refused", "refused", "not run", "not run", detail=GONE),
    "stops itself": rogue("stops", *["timeout"] * 3, *["not run"] * 2, detail=GONE, answer=SHORT),
}
"""What the agent's server does ► the agent."""

HONEST: Final = rogue("honest", *PASSED)


@attrs.frozen
class ThingScenario:
    """Asks for the same at each turn: that ``GET /thing`` says that the thing is ok."""

    options: ScenarioOptions

    @property
    def files(self) -> dict[str, str]:
        return {"README.md": "The thing is ok.\n"}

    def turn(self, number: int) -> TurnPlan:
        return TurnPlan(number, f"{number:064x}", "go on", ())

    def suite(self, number: int) -> Suite:
        return suite()

    def truth(self, number: int) -> Handler:
        return lambda request: Response(200, GOOD)

    def feedback(self, verdict: Verdict, level: FeedbackLevel) -> str:
        return f"{verdict.passed} of {verdict.total}"


@attrs.frozen
class RogueHarness(Modelless):
    """Leaves the rogue's server at attempt 0, an honest one after it. Each call first notes which processes of the calls and servers before are still there."""

    rogue: Rogue
    name: str = "rogue"

    def command(self, context: CallContext) -> Command:
        made = HONEST if context.attempt else self.rogue
        look = 'for pid in $(cat pids 2>/dev/null); do kill -0 "$pid" 2>/dev/null && echo "$pid" >> alive; done'
        body = made.script.encode().decode("latin-1")
        write = f"cat > server.py; printf '%b' '{_escaped(body)}' > run_server.sh"
        return Command(("bash", "-c", f"{look}; {write}; {made.call or 'true'}"), stdin=PROGRAM.encode())

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        return CallReport(end.exit_code == 0, None if end.exit_code == 0 else Cause.HARNESS, f"exit code {end.exit_code}", "s")


def _escaped(text: str) -> str:
    """For ``printf %b`` between single quotes."""
    return "".join(f"\\0{ord(character):o}" for character in text)


@attrs.frozen
class Played:
    """A scenario that came to its end: its outcome, its folder, and the sandbox's workspace."""

    outcome: ScenarioOutcome
    work: Work
    root: Path

    @property
    def workspace(self) -> Path:
        return folder_of(self.work, self.root).live().workspace


def work_of(name: str, made: Rogue, turns: int = 0) -> Work:
    return works(cells=[name.replace(" ", "-")], turns=turns, retries=int(made.mends))[0]


async def play_rogue(name: str, made: Rogue, root: Path, ports: Ports, turns: int = 0) -> Played:
    """One scenario from beginning to end, with everything real but the model."""
    work = work_of(name, made, turns)
    scenario = ThingScenario(ScenarioOptions(seed=7, start_seconds=made.start, answer_seconds=made.answer))

    @asynccontextmanager
    async def sandbox(work: Work, live: LiveFolder) -> AsyncIterator[Sandbox]:
        yield ProcessSandbox(live.root, ports)

    permits = Permits(trio.CapacityLimiter(100), trio.CapacityLimiter(100))
    stage = Stage(sandbox, permits, inline, Stop(), Watcher(), clock=lambda: 0.0, pauses=Restart(base=0.1, cap=1.0), disk=inline)
    outcome = await play(Cast(work, scenario, RogueHarness(made), folder_of(work, root)), stage)
    return Played(outcome, work, root)


async def play_all(root: Path) -> tuple[dict[str, Played], Played]:
    """All rogues at once, and beside them an honest neighbour of several turns; their ports come from one place."""
    ports = Ports()
    played: dict[str, Played] = {}
    neighbours: list[Played] = []

    async def one(name: str) -> None:
        played[name] = await play_rogue(name, ROGUES[name], root, ports)

    async def neighbour() -> None:
        neighbours.append(await play_rogue("neighbour", HONEST, root, ports, turns=4))

    with trio.fail_after(WHOLE_RUN):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(neighbour)
            for name in ROGUES:
                nursery.start_soon(one, name)
    return played, neighbours[0]
