"""The small CLI as a harness of a sweep file: ``harness = "mini"``. Whoever wants it says :func:`offered` first."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated, Final

import attrs

from harnesses.harness import CallContext, Command
from harnesses.reference import ReferenceHarness
from harnesses.registry import BUILT_IN, GROUP, HARNESSES, Registration
from stamina.config.file import key
from stamina.config.kinds import Flag, Whole
from stamina.config.model import AgentConfig, HarnessInfo
from stamina.config.structure import structured

PROGRAM: Final = Path(__file__).with_name("mini_agent.py")


@attrs.frozen
class MiniOptions:
    protocol: str = key("What it speaks.", "chat")
    stream: Annotated[bool, Flag()] = key("Whether it asks for streams.", default=False)
    compact_at: Annotated[int, Whole(0)] = key("Bytes of conversation above which a call begins with a summary.", 10**9)
    patience: Annotated[int, Whole(0)] = key("How often it asks again.", 2)


@attrs.frozen
class MiniHarness(ReferenceHarness):
    """Its output is read as the reference agent's."""

    options: MiniOptions = attrs.field(factory=MiniOptions)

    @property
    def name(self) -> str:
        return "mini"

    @property
    def uses_model(self) -> bool:
        return True

    def command(self, context: CallContext) -> Command:
        assert context.model is not None
        options, model = self.options, context.model
        words = (options.protocol, "stream" if options.stream else "whole", str(options.compact_at), str(options.patience))
        session = () if context.session is None else (context.session,)
        env = {"MODEL_URL": model.base_url, "MODEL_TOKEN": model.token, "MODEL_NAME": model.model}
        return Command((sys.executable, str(PROGRAM), *words, *session), context.prompt.encode(), env)


def make(agent: AgentConfig) -> MiniHarness:
    options, problems = structured(dict(agent.options), MiniOptions)
    assert options is not None, problems
    return MiniHarness(options)


REGISTRATION: Final = Registration(HarnessInfo("mini", uses_model=True, options=MiniOptions), make)


@contextmanager
def offered() -> Iterator[None]:
    """The harness is known for the length of the block."""
    entries = HARNESSES._find

    def forget() -> None:
        HARNESSES.__dict__.pop("_entries", None)

    HARNESSES._find = lambda: (*BUILT_IN, EntryPoint("mini", "tests.harnesses.mini_harness:REGISTRATION", GROUP))
    forget()
    try:
        yield
    finally:
        HARNESSES._find = entries
        forget()
