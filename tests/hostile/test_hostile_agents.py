"""Every hostile agent of the catalogue ends in the outcome that docs/hostile-agents.md states, in a real container, and disturbs no neighbour.

They play at once, on one network, each a whole scenario with journal and suite, beside a neighbour that is well-behaved and must notice nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import attrs
import psutil
import pytest
import trio

from actors import container_sandbox
from actors.containers import Containers, containers
from actors.permits import Permits, Threads
from actors.sandbox import CallLimits, Sandbox
from actors.scenario import Cast, Stage, play
from actors.stopping import Stop
from actors.supervise import Restart
from harnesses.harness import CallContext, CallEnd, CallReport, Command
from scenario_store.folder import LiveFolder
from scenario_store.journal import read_journal
from stamina.config.model import AgentConfig, Cell, Egress, SandboxConfig, Settings, Work
from stamina.domain import ScenarioOptions
from stamina.outcome import Cause, Ending, ScenarioOutcome
from stamina.turns import CallCompleted, CallExpired, CallFailed, Event, FilesRestored, MachineryFailed, SuiteRan, WorkspaceMeasured
from tests.actors.fakes import Modelless, ToyScenario, folder_of
from tests.docker.container_lab import ENGINE, MIB, leftovers
from tests.hostile.agents import AGENTS, DISK, FILES, HONEST, OUTPUT, PRELUDE, UNHARMED, Agent

pytestmark = pytest.mark.docker

AT_ONCE: Final = 6
DEADLINE: Final = 600.0
"""Seconds for one agent's whole scenario, on a machine that the others keep busy; the limits of its calls end it long before."""

CHOSEN: Final = {name: AGENTS[name] for name in os.environ.get("STAMINA_HOSTILE_AGENTS", "").split() or AGENTS}
"""All of them, unless the variable names some, for a short run; the tests of one agent's effects need that one."""

SECRET: Final = "sk-canary-5f1d"
CONFIG: Final = SandboxConfig(engine=ENGINE, cpus=1.0, memory=256 * MIB, pids=128, disk=DISK, egress=Egress.REGISTRIES, egress_allow=("registry.example",))
NEIGHBOUR: Final = "neighbour"


@attrs.frozen
class ShellHarness(Modelless):
    """The agent's script in the first call, honest work in all others. Done is who says so."""

    script: str
    name: str = "shell"

    def command(self, context: CallContext) -> Command:
        first = (context.turn, context.attempt, context.call) == (0, 0, 0)
        script = self.script if first else f"rm -rf big ~/log many /tmp/big /run/lock/big; {HONEST}"
        return Command(("bash", "-c", PRELUDE.replace("NUMBER", str(context.turn)) + script), stdin=context.prompt.encode())

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        done = end.exit_code == 0 and end.stderr.read_bytes().endswith(b"DONE\n")
        return CallReport(done, None if done else Cause.HARNESS, f"exit code {end.exit_code}, signal {end.signal}", "session")


@attrs.frozen
class Limited:
    """A sandbox with the limits of a call made tighter."""

    sandbox: Sandbox

    def __getattr__(self, name: str) -> object:
        return getattr(self.sandbox, name)

    async def call(self, command: Command, *, limits: CallLimits, stdout: Path, stderr: Path) -> CallEnd:
        return await self.sandbox.call(command, limits=attrs.evolve(limits, output_bytes=OUTPUT, grace=0.5), stdout=stdout, stderr=stderr)


@attrs.frozen
class Played:
    """One agent's scenario, when it was over."""

    outcome: ScenarioOutcome | None
    events: tuple[Event, ...]
    folder: Path
    trouble: str = ""

    def path(self, turn: int) -> str:
        """What happened in a turn, in a few words."""
        return ", ".join(word for event in self.events if (word := _word(event)) and getattr(event, "turn", None) == turn)

    def stdout(self) -> str:
        """Of the first call."""
        return (self.folder / "turns/000/0/0/agent.jsonl").read_text(errors="replace")


def _word(event: Event) -> str:
    match event:
        case CallCompleted():
            return "completed"
        case CallExpired(detail=detail):
            return f"ended {detail[detail.rindex('(') :]}"
        case CallFailed(by_agent=True):
            return "sandbox broken"
        case CallFailed(cause=cause) | MachineryFailed(cause=cause):
            return f"failed ({cause})"
        case SuiteRan():
            return "passed" if event.ok else "failed"
    return ""


@attrs.define
class Arena:
    """Where they play."""

    root: Path
    places: dict[bool, Containers]
    played: dict[str, Played] = attrs.field(factory=dict)
    neighbours: list[Played] = attrs.field(factory=list)
    listening: set[int] = attrs.field(factory=set)

    async def play(self, name: str, agent: Agent) -> Played:
        """Two turns: the first is the agent's own, the second finds what it left behind."""
        cell = Cell(name, AgentConfig("reference"), None, Settings(turns=1, retries=2, call_seconds=agent.seconds, infra_retries=3))
        work = Work(cell, 0, 0)
        folder = folder_of(work, self.root)
        cast = Cast(work, ToyScenario(ScenarioOptions(seed=7, start_seconds=60)), ShellHarness(agent.script.replace("CANARY", str(self.canary))), folder)
        result, trouble = None, ""
        try:
            with trio.fail_after(DEADLINE):
                result = await play(cast, self.stage(agent))
        except Exception as error:
            trouble = "".join(traceback.format_exception(error))
        return Played(result, tuple(read_journal(folder.journal, Event).events), folder.path, trouble)

    def stage(self, agent: Agent) -> Stage:
        @asynccontextmanager
        async def open_sandbox(work: Work, live: LiveFolder) -> AsyncIterator[Sandbox]:
            async with self.places[agent.root].open("reference", {}, live) as sandbox:
                yield Limited(sandbox)  # type: ignore[misc]

        permits = Permits(trio.CapacityLimiter(100), trio.CapacityLimiter(8))
        return Stage(open_sandbox, permits, Threads(trio.CapacityLimiter(2)), Stop(), lambda event: None, time.time, pauses=Restart(base=0.0, cap=0.0))

    @property
    def canary(self) -> Path:
        """A file of the host that no link may lead to."""
        return self.root / "canary"

    async def play_all(self) -> None:
        """All of them, some at a time, beside the neighbour."""
        limit, over = trio.CapacityLimiter(AT_ONCE), trio.Event()

        async def one(name: str, agent: Agent) -> None:
            async with limit:
                self.played[name] = await self.play(name, agent)

        async def neighbour() -> None:
            while not over.is_set():
                self.neighbours.append(await self.play(f"{NEIGHBOUR}{len(self.neighbours)}", Agent(HONEST, "")))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(neighbour)
            async with trio.open_nursery() as playing:
                for name, agent in CHOSEN.items():
                    playing.start_soon(one, name, agent)
            over.set()


async def arena(host: str, root: Path) -> Arena:
    async with AsyncExitStack() as stack:
        places = {
            rooted: await stack.enter_async_context(containers(host, attrs.evolve(CONFIG, user="root" if rooted else None), ["reference"], os.environ))
            for rooted in (False, True)
        }
        found = Arena(root, places)
        found.canary.write_text("alive\n")
        found.listening = {each.laddr.port for each in psutil.Process().net_connections("tcp") if each.status == psutil.CONN_LISTEN}
        await found.play_all()
    return found


@pytest.fixture(scope="module")
def over(host: str) -> Iterator[Arena]:
    """All of them have played."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as root:
        patch.setattr(container_sandbox, "MOST_INODES", FILES)
        patch.setenv("ANTHROPIC_API_KEY", SECRET)
        yield trio.run(partial(arena, host, Path(root)))
        subprocess.run(["rm", "-rf", "--", *map(str, Path(root).iterdir())], check=True)  # deeper than Python's own can go


@pytest.mark.parametrize("name", CHOSEN)
def test_each_agent_has_its_outcome(over: Arena, name: str) -> None:
    """Calls and suites end as the table says, the turn passes in the end, and so does the next one: nothing is lost."""
    played = over.played[name]

    assert (played.path(0), played.path(1), played.trouble) == (AGENTS[name].outcome, UNHARMED, "")
    assert played.outcome is not None
    assert played.outcome.ending is Ending.COMPLETED


def test_no_neighbour_was_disturbed(over: Arena) -> None:
    """It played all the while."""
    assert len(over.neighbours) > 2
    assert {(played.path(0), played.path(1), played.trouble) for played in over.neighbours} == {(UNHARMED, UNHARMED, "")}


def test_nothing_is_left(over: Arena, host: str) -> None:
    """No container, no network."""
    assert trio.run(leftovers, host) == ([], [])


def test_no_secret_is_to_be_found(over: Arena) -> None:
    """Neither in the environment, nor where the kernel shows that of others."""
    said = over.played["reads-secrets"].stdout()

    assert "HOME=/home/agent" in said
    assert SECRET not in said


def test_the_orchestrator_shows_what_it_must(over: Arena) -> None:
    """Of all that this process listens on, containers find the proxy, and nothing else."""
    found = {int(port) for port in re.findall(r"\d+", over.played["scans-the-orchestrator"].stdout().partition("PORTS")[2])}
    proxies = {urlsplit(place.proxy_env["http_proxy"]).port for place in over.places.values()}

    assert len(found & proxies) == 1
    assert found & over.listening <= proxies


def test_links_lead_nowhere(over: Arena) -> None:
    """Files are put back in the place of links, not through them, and nothing behind a link is read."""
    events = over.played["links-that-lead-outside"].events

    assert over.canary.read_text() == "alive\n"
    assert [event.lines["python"] for event in events if isinstance(event, WorkspaceMeasured)] == [8, 8]


def test_output_is_kept_up_to_its_limit(over: Arena) -> None:
    """And read to its end."""
    assert (over.played["gigabyte-line"].folder / "turns/000/0/0/agent.jsonl").stat().st_size == OUTPUT


def test_the_clock_is_the_host_s(over: Arena) -> None:
    """Nobody inside can set it."""
    assert time.gmtime().tm_year > 2001


def test_the_benchmark_s_files_are_put_back(over: Arena) -> None:
    """Whatever stands in their place: links, a pipe, a folder deeper than any path."""
    for name in ("links-that-lead-outside", "pipes-and-devices", "deep-folder-in-the-way", "swaps-files-for-links"):
        restored = [event.files for event in over.played[name].events if isinstance(event, FilesRestored)]
        assert "README.md" in restored[0]
    assert not [event for event in over.played["kill-python"].events if isinstance(event, FilesRestored)]


def test_the_page_lists_every_agent_with_its_outcome() -> None:
    """docs/hostile-agents.md and the catalogue agree."""
    page = (Path(__file__).parents[2] / "docs" / "hostile-agents.md").read_text()
    rows = dict(re.findall(r"^\| `([^`]+)` \|[^|]*\| ([^|]+) \|$", page, re.MULTILINE))

    assert {name: agent.outcome for name, agent in AGENTS.items()} == rows
