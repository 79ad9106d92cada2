"""The CLI in a sandbox is the one that is meant, or nothing is played."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

import attrs
import pytest

from actors import vetting
from actors.agent import ModelSeen, judge
from actors.ports import Ports
from actors.process_sandbox import ProcessSandbox
from actors.sandbox import Health
from actors.scenario import play
from actors.vetting import check_drift, version_of
from harnesses.failures import Failure
from harnesses.harness import CallContext, CallEnd, CallReport, Program
from harnesses.trajectory import Message
from scenario_store.folder import LiveFolder
from scenario_store.journal import read_journal
from stamina.errors import InputError, SandboxFault
from stamina.outcome import Cause
from stamina.turns import CallFailed, Event, HarnessSeen
from tests.actors import fakes
from tests.actors.fakes import ToyHarness, World, always, cast_of, folder_of, stage_of, works


@asynccontextmanager
async def sandbox(root: Path) -> AsyncIterator[ProcessSandbox]:
    live = LiveFolder(root / "live")
    for path in (live.workspace, live.home, live.tmp):
        path.mkdir(parents=True)
    yield ProcessSandbox(live.root, Ports(), {})


def program(script: str, version: str | None = "1.2.3") -> Program:
    return Program("toy", version, ("sh", "-c", script), ())


@pytest.mark.parametrize(
    ("script", "version", "found"),
    [
        ("echo 1.2.3", "1.2.3", "1.2.3"),
        ("echo 'toy-cli 1.2.3 (Toy)'", "1.2.3", "1.2.3"),
        ("echo v2.0.0a1 >&2", "2.0.0a1", "2.0.0a1"),
        ("echo 9.9", None, "9.9"),
    ],
)
async def test_versions_are_found_in_what_a_cli_prints(tmp_path: Path, script: str, version: str | None, found: str) -> None:
    async with sandbox(tmp_path) as box:
        assert await version_of(program(script, version), box, tmp_path) == found


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo 1.2.4",
            'has toy 1.2.4, wanted is 1.2.3: have an image with that one, or, if the other is meant, give the agent version = "1.2.4"',
        ),
        ("echo hello", "does not tell a version of toy"),
        ("echo 1.2.3; echo broken >&2; exit 3", "exit code 3, broken"),
        ("exit 127", "the sandbox has no sh"),
    ],
)
async def test_a_wrong_or_missing_cli_is_told_with_what_to_do(tmp_path: Path, script: str, message: str) -> None:
    async with sandbox(tmp_path) as box:
        with pytest.raises(InputError) as caught:
            await version_of(program(script), box, tmp_path)
    assert message in str(caught.value)


async def test_a_cli_that_does_not_say_in_time_is_no_wrong_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's failure, which is repeated, and not the sweep file's."""
    monkeypatch.setattr(vetting, "ASK_SECONDS", 0.2)
    async with sandbox(tmp_path) as box:
        with pytest.raises(SandboxFault, match=r"does not tell a version of toy within 0\.2 s"):
            await version_of(program("sleep 100"), box, tmp_path)


TOY = Program("toy", None, ("toy", "--version"), ())


async def test_the_version_is_in_the_journal_and_another_one_on_resume_is_refused(tmp_path: Path, autojump_clock: object) -> None:
    """Asked once for each sandbox, before the first call in it."""
    world = World(lambda turn, attempt, call: fakes.FAULT if (turn, call) == (1, 0) else fakes.PASS)
    work = works(turns=1)[0]
    cast = attrs.evolve(cast_of(work, tmp_path), harness=ToyHarness(program=TOY))
    await play(cast, stage_of(world))
    events = read_journal(folder_of(work, tmp_path).journal, Event).events
    assert [event for event in events if isinstance(event, HarnessSeen)] == [HarnessSeen(0, "toy", "1.0.0"), HarnessSeen(1, "toy", "1.0.0")]
    world.version = "1.0.1"
    longer = attrs.evolve(cast, work=works(turns=2)[0])
    with pytest.raises(InputError, match=r"begun with toy 1\.0\.0, and now its sandbox has 1\.0\.1"):
        await play(longer, stage_of(world))


async def test_a_calls_trajectory_is_kept_beside_its_output(tmp_path: Path, autojump_clock: object) -> None:
    """With the call's place and version before it, and its end behind it."""

    class Telling(ToyHarness):
        def read(self, context: CallContext, end: CallEnd) -> CallReport:
            return CallReport(True, None, "", "s", steps=(Message("Hello."),), unknown={"new": 2})

    world = World(always(fakes.PASS))
    work = works(turns=0)[0]
    cast = attrs.evolve(cast_of(work, tmp_path), harness=Telling(program=TOY))
    await play(cast, stage_of(world))
    (path,) = cast.folder.path.glob("turns/000/0/0/trajectory.jsonl")
    first, said, last = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["step"], first["turn"], first["harness"], first["version"]) == ("begin", 0, "toy", "1.0.0")
    assert (said["text"], last["completed"], last["unknown"]) == ("Hello.", True, {"new": 2})


def test_a_cli_cannot_excuse_itself_with_a_provider_that_answered() -> None:
    """What the gateway saw goes before what the CLI, or who plays one, prints."""
    end = CallEnd(1, None, 1.0, None, Path(), Path())
    said = CallReport(False, Cause.PROVIDER, "status 503", "s")
    context = CallContext(0, 0, 0, "p", None, PurePosixPath("/w"), PurePosixPath("/h"))
    health = Health(None, 1 << 40, 1 << 20, 0)
    causes = [judge(context, end, said, health, seen) for seen in (ModelSeen(3), ModelSeen(3, "status 503"), None)]
    assert [event.cause for event in causes if isinstance(event, CallFailed)] == [Cause.HARNESS, Cause.PROVIDER, Cause.PROVIDER]


@pytest.mark.parametrize(
    ("failure", "seconds", "load", "seen", "cause"),
    [
        (Failure.START, 121.0, 14.6, ModelSeen(0), Cause.HOST),
        (Failure.START, 121.0, 1.2, ModelSeen(0), Cause.HARNESS),
        (Failure.START, 2.0, 14.6, ModelSeen(0), Cause.HARNESS),
        (Failure.START, 121.0, 14.6, ModelSeen(1), Cause.HARNESS),
        (Failure.CRASH, 121.0, 14.6, ModelSeen(0), Cause.HARNESS),
    ],
    ids=["crowded", "idle machine", "at once", "it was up", "a crash"],
)
def test_a_cli_that_is_not_up_in_time_on_a_crowded_machine_is_nobodys_failure(
    failure: Failure, seconds: float, load: float, seen: ModelSeen, cause: Cause
) -> None:
    """Where it has a limit of its own for that: the scenario waits, and no attempt is consumed."""
    end = CallEnd(2, None, seconds, None, Path(), Path())
    said = CallReport(False, failure.cause, "not started: no server within 120 s", "s", failure)
    context = CallContext(0, 0, 0, "p", None, PurePosixPath("/w"), PurePosixPath("/h"))
    event = judge(context, end, said, Health(None, 1 << 40, 1 << 20, 0, load), seen)
    assert isinstance(event, CallFailed)
    assert (event.cause, "15 processes want each processor" in event.detail) == (cause, cause is Cause.HOST)


def test_another_version_on_resume_is_refused() -> None:
    check_drift("toy", None, "1.2.3")
    check_drift("toy", "1.2.3", "1.2.3")
    with pytest.raises(InputError, match=r"begun with toy 1\.2\.3, and now its sandbox has 1\.2\.4"):
        check_drift("toy", "1.2.3", "1.2.4")
