"""A bench for the runners of ours that are part of an image: where they live, one conversation of several calls, against a stub of a model."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import attrs
import trio

from actors.container_sandbox import ContainerSandbox
from actors.containers import containers
from actors.sandbox import CallLimits
from harnesses.harness import CallEnd, Command
from scenario_store.folder import LiveFolder
from stamina.config.model import SandboxConfig
from tests.docker.chat_stub import Answer, Body, Model, Stub, serving
from tests.docker.container_lab import ENGINE, MIB
from tests.waiting import until_true

DEADLINE: Final = 600.0
"""Seconds; nothing here takes so long on any machine."""

CONFIG: Final = SandboxConfig(engine=ENGINE, cpus=2.0, memory=2048 * MIB, pids=512)


@attrs.frozen
class Called:
    """A call's end, what it told, and whatever else it printed.

    Attributes:
        events: its whole lines.
        rest: of a last line that it did not come to the end of.
    """

    end: CallEnd
    events: list[dict[str, Any]]
    rest: bytes
    err: str

    @property
    def result(self) -> dict[str, Any]:
        """The last event, which has the exit code that it ended with."""
        assert self.events, self.err
        last = self.events[-1]
        assert last["type"] == "result", (last, self.err)
        assert last["exit_code"] == self.end.exit_code
        return last

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Its events of a type."""
        return [each for each in self.events if each["type"] == kind]


@attrs.define
class Agent:
    """A runner in its container, and the model that it asks.

    Attributes:
        begin: its command line for the model's address, without what a test adds.
        env: of the runner.
    """

    sandbox: ContainerSandbox
    stub: Stub
    begin: tuple[str, ...]
    env: dict[str, str]
    folder: Path
    _numbers: Any = attrs.field(factory=itertools.count)

    @property
    def workspace(self) -> Path:
        return self.sandbox.workspace

    @property
    def home(self) -> Path:
        return self.sandbox.home

    async def turn(self, prompt: str | bytes, *more: str) -> Called:
        """One call, to its end."""
        given = prompt if isinstance(prompt, bytes) else prompt.encode()
        number = next(self._numbers)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        end = await self.sandbox.call(Command((*self.begin, *more), given, self.env), limits=CallLimits(DEADLINE, grace=0), stdout=out, stderr=err)
        assert end.expired is None, f"it did not end within {DEADLINE:.0f} s"
        return _called(end, out, err)

    async def killed(self, prompt: str, *more: str, when: Path) -> tuple[bytes, str]:
        """One call, ended with SIGKILL together with all that it started as soon as this file is there; what it had told."""
        number = next(self._numbers)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        command = Command((*self.begin, *more), prompt.encode(), self.env)
        async with trio.open_nursery() as nursery:

            async def run() -> None:
                await self.sandbox.call(command, limits=CallLimits(DEADLINE, grace=0), stdout=out, stderr=err)
                raise AssertionError(f"it ended by itself: {err.read_text()}")

            nursery.start_soon(run)
            await until_true(when.exists)
            nursery.cancel_scope.cancel()
        return out.read_bytes(), err.read_text()

    def sent(self, request: int = -1) -> list[tuple[str, str]]:
        """Role and text of each message of a request."""
        return [(each["role"], text_of(each.get("content"))) for each in self.stub.requests[request]["messages"]]


def _called(end: CallEnd, out: Path, err: Path) -> Called:
    *lines, rest = out.read_bytes().split(b"\n")
    return Called(end, [json.loads(line) for line in lines], rest, err.read_text(errors="replace"))


def text_of(content: Any) -> str:
    """The text of a message, in either of its forms."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


@attrs.frozen
class Runners:
    """Opens containers of one image."""

    host: str
    harness: str
    root: Path

    @asynccontextmanager
    async def agent(self, model: Model, begin: Callable[[str], Iterable[str]], env: dict[str, str]) -> AsyncIterator[Agent]:
        """A runner, and the stub of its model where containers reach it. ``begin`` makes the command line from the model's address."""
        live = LiveFolder(self.root / "live")
        for path in (live.workspace, live.home, live.tmp):
            path.mkdir(parents=True)
        async with (
            containers(self.host, CONFIG, [self.harness], os.environ) as made,
            made.open(self.harness, {}, live) as sandbox,
        ):
            with serving(model, made.network.listen, made.network.reach) as stub:
                yield Agent(sandbox, stub, tuple(begin(stub.base_url)), env, self.root)


def answers(*given: Answer, then: Model) -> Model:
    """A model that gives these answers in turn, and then as the other one does."""
    left = list(given)

    def model(body: Body) -> Answer:
        return left.pop(0) if left else then(body)

    return model


def valid(messages: list[Body]) -> None:
    """Every tool call has its result right behind it, and every result its call."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls, "a result without a call"
            open_calls.remove(message["tool_call_id"])
        else:
            assert not open_calls, f"{open_calls} have no result"
            open_calls = [each["id"] for each in message.get("tool_calls") or []]


UNTIL_KILLED: Final = "echo > mark; sleep 600"
"""A command whose beginning can be seen in the workspace, and which does not end."""
