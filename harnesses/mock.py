"""The ``mock`` harness: the reference agent with weaknesses that the sweep file scripts.

It exercises everything that real agents do to the benchmark, without a model: mistakes that tests find, repairs after feedback, crashes, hangs, calls that
claim nothing. The choices are drawn here, from the option ``seed`` and the session id; the agent is told what to do in a variable. The session id is made
of the specification, so one scenario goes the same way each time and two scenarios go different ways. Repeats of a scenario are alike.
"""

# ruff: noqa: RUF009 - key() makes an attrs field, which is what belongs there

from __future__ import annotations

import json
from typing import Annotated, Any, Final

import attrs

from harnesses.harness import CallContext, CallEnd, CallReport, Command, Harness, Program
from harnesses.reference import ReferenceHarness
from harnesses.reference_agent.mistakes import Mistake
from harnesses.reference_agent.orders import VARIABLE
from harnesses.registry import Registration
from stamina.config.file import key
from stamina.config.kinds import Choice, Number, Whole
from stamina.config.model import AgentConfig, HarnessInfo
from stamina.config.structure import structured
from stamina.draw import Draw
from stamina.errors import InputError

Chance = Annotated[float, Number(low=0, high=1)]
TurnNumber = Annotated[int, Whole(0, 10_000)]

ALTERNATIVES: Final = 64
"""Orders drawn for a first call, whose session id is not known yet; the agent takes the one that its id leads to."""


@attrs.frozen
class Scripted:
    """A failure of the first calls of a turn's first attempt."""

    turn: TurnNumber = key("The turn whose calls fail.")
    times: Annotated[int, Whole(1, 1000)] = key("How many calls in a row, counted from the first.", 1)

    def strikes(self, context: CallContext) -> bool:
        """Whether this call is one of them."""
        return (context.turn, context.attempt) == (self.turn, 0) and context.call < self.times


@attrs.frozen
class ExitNonzero(Scripted):
    """The same, with an exit code."""

    status: Annotated[int, Whole(1, 125)] = key("The exit code.", 3)


@attrs.frozen
class MockOptions:
    """The weaknesses; all chances are independent of each other."""

    seed: int = key("Of all choices of the mock agent; has nothing to do with the seeds of scenarios.", 0)
    mistake_chance: Chance = key("That a turn's first attempt puts a mistake into the server.", 0.1)
    mistakes: tuple[Annotated[Mistake, Choice(Mistake)], ...] = key("The kinds of mistake that it makes.", tuple(Mistake))
    fix_chance: Chance = key("That an attempt with feedback repairs all mistakes.", 0.75)
    crash_chance: Chance = key("That a call dies of a signal in the middle of writing.", 0.0)
    hang_chance: Chance = key("That a call hangs until it is ended.", 0.0)
    exit_nonzero: ExitNonzero | None = key("Calls that end with a non-zero exit code.", None)
    kill_itself: Scripted | None = key("Calls that kill themselves with SIGKILL.", None)
    no_final_event: Scripted | None = key("Calls that exit with 0 and do not say that they are done.", None)
    hang: Scripted | None = key("Calls that hang until they are ended.", None)
    quit_turn: TurnNumber | None = key("From this turn on it does nothing and says that it is done.", None)


@attrs.frozen
class MockHarness(Harness):
    """See the module."""

    options: MockOptions = attrs.field(factory=MockOptions)
    _reference: ReferenceHarness = attrs.field(factory=ReferenceHarness, init=False)

    @property
    def name(self) -> str:
        """See :class:`Harness`."""
        return "mock"

    @property
    def uses_model(self) -> bool:
        """See :class:`Harness`."""
        return False

    @property
    def program(self) -> Program | None:
        """See :class:`Harness`."""
        return None

    def command(self, context: CallContext) -> Command:
        """See :class:`Harness`."""
        command = self._reference.command(context)
        places = [context.session] if context.session is not None else [str(number) for number in range(ALTERNATIVES)]
        return attrs.evolve(command, env={**command.env, VARIABLE: json.dumps([self._orders(context, place) for place in places])})

    def read(self, context: CallContext, end: CallEnd) -> CallReport:
        """See :class:`Harness`."""
        return self._reference.read(context, end)

    def _orders(self, context: CallContext, place: str) -> dict[str, Any]:
        """See :class:`harnesses.reference_agent.orders.Orders`. What it makes of the work is the same in every repetition of a call; its failures are not."""
        options = self.options
        draw = Draw(options.seed, "mock", place, "turn", context.turn, "attempt", context.attempt)
        wrong = context.attempt == 0 and draw.at("mistake").chance(options.mistake_chance)
        return {
            "mistakes": [kind.value for kind in draw.at("kind").shuffled(options.mistakes)] if wrong else [],
            "pick": draw.at("target").integer(0, 9999),
            "fix": draw.at("fix").chance(options.fix_chance),
            "idle": options.quit_turn is not None and context.turn >= options.quit_turn,
            "failure": self._failure(context, draw.at("call", context.call)),
            "status": 0 if options.exit_nonzero is None else options.exit_nonzero.status,
        }

    def _failure(self, context: CallContext, draw: Draw) -> str:
        """The first failure that strikes: scripted ones before those of chance."""
        options = self.options
        scripted = {"exit": options.exit_nonzero, "kill": options.kill_itself, "hang": options.hang, "silent": options.no_final_event}
        for failure, script in scripted.items():
            if script is not None and script.strikes(context):
                return failure
        for failure, chance in (("crash", options.crash_chance), ("hang", options.hang_chance)):
            if draw.at(failure).chance(chance):
                return failure
        return ""


def make(agent: AgentConfig) -> MockHarness:
    """The adapter for an agent of a sweep file. Raises InputError when its options are wrong."""
    options, problems = structured(dict(agent.options), MockOptions)
    if options is None:
        raise InputError("; ".join(f"mock agent, {'.'.join(map(str, problem.path))}: {problem.text}" for problem in problems))
    return MockHarness(options)


REGISTRATION: Final = Registration(HarnessInfo("mock", uses_model=False, options=MockOptions), make)
