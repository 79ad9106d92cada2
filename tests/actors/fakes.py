"""A toy domain, and machinery with knobs: what the tests of actors play with, in virtual time and without processes."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import attrs
import trio

from actors.observer import Event as Seen
from actors.permits import Permits
from actors.sandbox import CallLimits, Health, Server, ServerFailed, ServerLimits
from actors.scenario import Cast, Stage
from actors.stopping import Stop
from actors.supervise import Restart
from actors.tester import TesterLimits
from harnesses.harness import CallContext, CallEnd, CallReport, Command, Program
from scenario_store.folder import LiveFolder, ScenarioFolder
from stamina.config.model import AgentConfig, Cell, Settings, Work
from stamina.domain import FeedbackLevel, Handler, ScenarioOptions, TurnPlan
from stamina.errors import SandboxFault
from stamina.exchange import Answer, Request, Response
from stamina.outcome import Cause
from stamina.playing import play
from stamina.suite import Case, Step, Suite, Verdict

T = TypeVar("T")
PASS, FAIL, GIVE_UP, EXIT, KILLED, HANG, PROVIDER, FAULT, BREAK, NO_SERVER, SERVER_FAULT, FULL, BUG = (
    "pass",
    "fail",
    "give up",
    "exit",
    "killed",
    "hang",
    "provider",
    "fault",
    "break",
    "no server",
    "server fault",
    "full",
    "bug",
)
"""What a call does, or makes of the server that is tested after it."""


@attrs.frozen
class Equals:
    text: bytes

    def judge(self, request: Request, answer: Answer) -> str | None:
        got = answer.body if isinstance(answer, Response) else b"nothing"
        return None if got == self.text else f"expected {self.text!r}, got {got!r}"


@attrs.frozen
class ToyScenario:
    """Turn n asks for a server that says n. ``broken``: the turn whose suite contradicts its truth."""

    options: ScenarioOptions = attrs.field(factory=lambda: ScenarioOptions(seed=7))
    broken: int | None = None
    salt: str = ""

    @property
    def files(self) -> dict[str, str]:
        return {"README.md": "Say the number.\n", "initial_specification.md": "0\n"}

    def turn(self, number: int) -> TurnPlan:
        return TurnPlan(number, f"{self.salt}{number:064x}", f"say {number}", (f"say {number}",) if number else ())

    def suite(self, number: int) -> Suite:
        text = b"nonsense" if number == self.broken else str(number).encode()
        names = ("number", "again")
        return Suite(tuple(Case(name, f"GET /{name}", "crud", ("H1",), ("server",), number, (Step(Request("GET", "/"), Equals(text)),)) for name in names))

    def truth(self, number: int) -> Handler:
        return lambda request: Response(200, str(number).encode())

    def feedback(self, verdict: Verdict, level: FeedbackLevel) -> str:
        return f"{verdict.total - verdict.passed} failed ({level})"


SERVER_CODE = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"NUMBER")
    def log_message(self, *given): pass
http.server.HTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
"""
"""The program of a right server of a :class:`ToyScenario`, once NUMBER is the turn's."""


class Modelless:
    """What a harness owes, beside its two methods, that runs no model and needs no CLI in the sandbox: what all harnesses must have is added here, once."""

    uses_model = False
    program = None


@attrs.frozen
class ToyHarness:
    """Puts the call's place into the command, and reads the exit code."""

    name: str = "toy"
    uses_model: bool = False
    program: Program | None = None

    def command(self, context: CallContext) -> Command:
        place = (context.turn, context.attempt, context.call)
        return Command(("toy", *map(str, place), context.session or "new"), stdin=context.prompt.encode())

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        session = f"s{context.turn}"
        causes = {2: Cause.AGENT, 3: Cause.HARNESS, 4: Cause.PROVIDER}
        if end.exit_code == 0:
            return CallReport(True, None, "", session)
        return CallReport(False, causes.get(end.exit_code or 3, Cause.HARNESS), f"exit code {end.exit_code}", session)


Script = Callable[[int, int, int], str]
"""(turn, attempt, call) ► what the call does."""


def always(what: str) -> Script:
    return lambda turn, attempt, call: what


@attrs.define
class World:
    """All toy sandboxes, and what happened in them."""

    script: Script
    seconds: float = 60.0
    open: int = 0
    peak: int = 0
    opened: int = 0
    calls: list[tuple[tuple[int, int, int], str, str]] = attrs.field(factory=list)
    open_faults: int = 0
    version: str = "1.0.0"
    answers: dict[int, Handler] = attrs.field(factory=dict)
    _ports: Any = attrs.field(factory=lambda: itertools.count(1))

    @asynccontextmanager
    async def sandbox(self, work: Work, live: LiveFolder) -> AsyncIterator[ToySandbox]:
        if self.open_faults > 0:
            self.open_faults -= 1
            raise SandboxFault("no sandbox today")
        self.open += 1
        self.opened += 1
        self.peak = max(self.peak, self.open)
        try:
            yield ToySandbox(self, live)
        finally:
            self.open -= 1

    async def test(self, suite: Suite, address: tuple[str, int], limits: TesterLimits) -> Verdict:
        await trio.sleep(1.0)
        return play(suite, self.answers[address[1]])


@attrs.define
class ToySandbox:
    world: World
    live: LiveFolder
    said: int = -1
    last: str = PASS
    broken: str | None = None
    full: bool = False

    @property
    def workspace(self) -> Path:
        return self.live.workspace

    @property
    def home(self) -> Path:
        return self.live.home

    @property
    def inside(self) -> tuple[PurePosixPath, PurePosixPath]:
        return PurePosixPath("/workspace"), PurePosixPath("/home/agent")

    async def call(self, command: Command, *, limits: CallLimits, stdout: Path, stderr: Path) -> CallEnd:
        if command.argv[1:] == ("--version",):
            await trio.Path(stdout).write_text(f"toy {self.world.version}\n")
            return CallEnd(0, None, 0.1, None, stdout, stderr)
        turn, attempt, call = map(int, command.argv[1:4])
        what = self.world.script(turn, attempt, call)
        self.world.calls.append(((turn, attempt, call), command.stdin.decode(), command.argv[4]))
        self.last, self.broken = what, None
        if what == HANG:
            await trio.sleep(limits.wall)
            return CallEnd(None, 15, limits.wall, "wall", stdout, stderr)
        await trio.sleep(self.world.seconds)
        if what == FAULT:
            raise SandboxFault("the engine is gone")
        if what == BUG:
            raise RuntimeError("a bug of ours")
        if what == BREAK:
            self.broken = "/bin is gone"
        if what in (PASS, FULL):
            (self.workspace / "said.py").write_text(f"print({turn})\n")
        if what == KILLED:
            return CallEnd(None, 9, self.world.seconds, None, stdout, stderr)
        code = {GIVE_UP: 2, EXIT: 3, PROVIDER: 4}.get(what, 0)
        return CallEnd(code, None, self.world.seconds, None, stdout, stderr)

    @asynccontextmanager
    async def serve(self, *, limits: ServerLimits, log: Path) -> AsyncIterator[Server | ServerFailed]:
        if self.last == FULL:
            self.last, self.full = PASS, True
            yield ServerFailed("run_server.sh ended", "no space left on device")
            return
        if self.last == SERVER_FAULT:
            self.last = PASS
            raise SandboxFault("the engine is gone")
        if self.last == NO_SERVER:
            yield ServerFailed("run_server.sh ended", "no module named flask")
            return
        port = next(self.world._ports)
        self.world.answers[port] = lambda request: Response(200, self.says())
        yield Server("toy", port, 1, "python3.11")
        del self.world.answers[port]

    def says(self) -> bytes:
        file = self.workspace / "said.py"
        return file.read_bytes()[6:-2] if file.exists() else b""

    async def probe(self) -> Health:
        full, self.full = self.full, False
        return Health(self.broken, 0 if full else 1 << 40, 1 << 20, 0)


async def inline(work: Callable[[], T], /) -> T:
    """Computes on the spot: threads and virtual time do not mix."""
    await trio.lowlevel.checkpoint()
    return work()


def works(seeds: Iterable[int] = (7,), *, cells: Iterable[str] = ("toy",), **settings: Any) -> tuple[Work, ...]:
    made = [Cell(slug, AgentConfig("toy"), None, Settings(**{"turns": 3, "retries": 2, **settings})) for slug in cells]
    return tuple(Work(cell, seed, 0) for seed in seeds for cell in made)


def folder_of(work: Work, root: Path) -> ScenarioFolder:
    path = root / work.cell.slug / str(work.seed) / str(work.repeat)
    path.mkdir(parents=True, exist_ok=True)
    return ScenarioFolder(path, root / "live", work.cell.slug, work.seed, work.repeat)


def cast_of(work: Work, root: Path, scenario: ToyScenario | None = None) -> Cast:
    return Cast(work, scenario or ToyScenario(), ToyHarness(), folder_of(work, root))


@attrs.define
class Watcher:
    """What an observer saw."""

    events: list[Seen] = attrs.field(factory=list)

    def __call__(self, event: Seen) -> None:
        self.events.append(event)

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]


def stage_of(world: World, *, scenarios: float = 10, suites: float = 4, stop: Stop | None = None, seen: Watcher | None = None) -> Stage:
    permits = Permits(trio.CapacityLimiter(scenarios), trio.CapacityLimiter(suites))
    return Stage(
        world.sandbox, permits, inline, stop or Stop(), seen or Watcher(), clock=lambda: 0.0, pauses=Restart(base=1.0, cap=8.0), test=world.test, disk=inline
    )
