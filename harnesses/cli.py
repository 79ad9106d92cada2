"""Adapters for CLIs that run a model: what they share, and what each has to say.

A module defines a :class:`CliHarness` (the command of a call), a :class:`harnesses.reading.Reading` (the events of its output) and ``REGISTRATION``.
docs/how-to/add-a-harness.md goes through it.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, ClassVar

import attrs

from harnesses.harness import CallContext, CallEnd, CallReport, Command, Harness, ModelAccess, Program
from harnesses.reading import Reading, read_call
from harnesses.registry import Registration
from stamina.config.file import key
from stamina.config.kinds import Choice
from stamina.config.model import AgentConfig, HarnessInfo
from stamina.config.structure import structured
from stamina.errors import InputError
from stamina.protocols import Protocol

# ruff: noqa: RUF009 - key() makes an attrs field, which is what belongs there


@attrs.frozen
class CliOptions:
    """Keys of ``[[agent]]`` that every CLI with a model has."""

    protocol: Annotated[Protocol, Choice(Protocol)] | None = key("What it speaks to the model; by default the first that both can.", None)


@attrs.frozen
class CliHarness(Harness):
    """A CLI that runs a model. A subclass says what :attr:`PROGRAM` is, how a call is made and how its output is read."""

    agent: AgentConfig
    options: CliOptions = attrs.field(factory=CliOptions)

    PROGRAM: ClassVar[Program]
    PROTOCOLS: ClassVar[tuple[Protocol, ...]]
    """What it can speak, the best first."""
    KEEPS_PROMPT: ClassVar[bool] = True
    """Its session still holds the prompt of a call that failed, so that the repetition's model sees it twice."""

    @property
    def name(self) -> str:
        """See :class:`Harness`."""
        return self.PROGRAM.harness

    @property
    def uses_model(self) -> bool:
        """See :class:`Harness`."""
        return True

    @property
    def program(self) -> Program:
        """See :class:`Harness`."""
        return attrs.evolve(self.PROGRAM, version=self.agent.version or self.PROGRAM.version)

    def command(self, context: CallContext) -> Command:
        """See :class:`Harness`. The sweep's own variables go before the adapter's."""
        if context.model is None:
            raise InputError(f"harness {self.name} runs a model: add model = the name of a [model.NAME]")
        command = self.start(context, context.model)
        return attrs.evolve(command, env={**command.env, **self.agent.env})

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        """See :class:`Harness`."""
        return read_call(self.reading(context), context, end, keeps_prompt=self.KEEPS_PROMPT)

    def protocol(self, model: ModelAccess) -> Protocol:
        """What is spoken: the sweep's choice, else the best that both can."""
        wanted = (self.options.protocol,) if self.options.protocol is not None else self.PROTOCOLS
        return next((protocol for protocol in wanted if protocol in model.protocols), wanted[0])

    @abstractmethod
    def start(self, context: CallContext, model: ModelAccess) -> Command:
        """The process for this call. ``self.agent.args`` belong into it."""

    @abstractmethod
    def reading(self, context: CallContext) -> Reading:
        """For the output of this call."""


def new_session(context: CallContext, model: ModelAccess) -> str:
    """An id (UUID) for a session that this call begins, for CLIs that let themselves be given one; another one for each call of each run."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{model.token} {context.turn} {context.attempt} {context.call}"))


def registration(harness: type[CliHarness], options: type[CliOptions] = CliOptions) -> Registration:
    """The registry's entry for an adapter."""
    info = HarnessInfo(harness.PROGRAM.harness, uses_model=True, options=options, protocols=tuple(protocol.value for protocol in harness.PROTOCOLS))
    return Registration(info, _maker(harness, options))


def _maker(harness: type[CliHarness], options: type[CliOptions]) -> Callable[[AgentConfig], Harness]:
    def make(agent: AgentConfig) -> Harness:
        """Raises InputError when its options are wrong."""
        found, problems = structured(dict(agent.options), options)
        if found is None:
            raise InputError("; ".join(f"{agent.harness}, {'.'.join(map(str, problem.path))}: {problem.text}" for problem in problems))
        return harness(agent, found)

    return make
