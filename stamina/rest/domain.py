"""The REST domain: seeds become scenarios, scenarios become prompts, suites and ground truth, turn by turn and on demand."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

import attrs

from stamina.domain import FeedbackLevel, Handler, ScenarioOptions, TurnPlan
from stamina.rest.canonical import digest
from stamina.rest.changes import Change
from stamina.rest.memory import remembered, removed
from stamina.rest.origins import Origins
from stamina.rest.prose import change_headline, change_request, feedback, instructions, opening, specification
from stamina.rest.sampling import Transition, initial, root, sample_transition
from stamina.rest.schema import State
from stamina.rest.suite import build
from stamina.rest.truth import Truth
from stamina.suite import Suite, Verdict

VERSION: Final = "1"
"""Of the benchmark: text, sampler and suite (T7)."""

RECENT: Final = 3
"""How many of the latest turns a trajectory remembers, besides the milestones."""

MILESTONE: Final = 25
"""Every so many turns are remembered for good, so that going back is not going through everything again."""


@attrs.frozen
class Moment:
    """One turn of a trajectory.

    Attributes:
        turn: 0..N.
        transition: what led to its state; at turn 0 it has no changes and one state.
        origins: of its state.
        memory: the state that has forgotten no condition.
    """

    turn: int
    transition: Transition
    origins: Origins
    memory: State

    @property
    def state(self) -> State:
        """The state of this turn."""
        return self.transition.after


class Trajectory:
    """The states of one scenario, each made from the one before. Safe to use from several threads; remembers a bounded number of turns."""

    def __init__(self, options: ScenarioOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._moments: dict[int, Moment] = {}

    @property
    def remembered(self) -> tuple[int, ...]:
        """The turns that are kept at the moment, in no order that matters."""
        with self._lock:
            return tuple(self._moments)

    def at(self, turn: int) -> Moment:
        """The moment of a turn. Raises ValueError when ``turn`` is negative."""
        if turn < 0:
            raise ValueError(f"there is no turn {turn}")
        with self._lock:
            moment = self._nearest(turn)
            while moment.turn < turn:
                moment = self._next(moment)
                self._remember(moment)
            return moment

    def _nearest(self, turn: int) -> Moment:
        """The latest remembered moment that is not after ``turn``."""
        if not self._moments:
            state = initial(self._options)
            self._moments[0] = Moment(0, Transition((), (state,), short=False), Origins.of(state), state)
        return self._moments[max(known for known in self._moments if known <= turn)]

    def _next(self, moment: Moment) -> Moment:
        turn = moment.turn + 1
        transition = sample_transition(moment.state, self._options, turn)
        origins, memory = moment.origins, moment.memory
        for before, change, after in transition.steps():
            origins = origins.after(before, change, after, turn)
            memory = remembered(memory, change)
        return Moment(turn, transition, origins, memory)

    def _remember(self, moment: Moment) -> None:
        self._moments[moment.turn] = moment
        passing = [turn for turn in self._moments if turn % MILESTONE]
        for turn in sorted(passing, key=lambda known: abs(known - moment.turn))[RECENT:]:
            del self._moments[turn]


class RestScenario:
    """One scenario of the REST domain; implements :class:`stamina.domain.Scenario`."""

    def __init__(self, options: ScenarioOptions) -> None:
        self._options = options
        self._trajectory = Trajectory(options)

    @property
    def options(self) -> ScenarioOptions:
        """What it was made from."""
        return self._options

    @property
    def files(self) -> Mapping[str, str]:
        """The instructions and the specification of turn 0."""
        return {"README.md": instructions(self._options), "initial_specification.md": specification(self.state(0))}

    def state(self, number: int) -> State:
        """The state of turn ``number``."""
        return self._trajectory.at(number).state

    def changes(self, number: int) -> tuple[Change, ...]:
        """The changes of turn ``number``; none at turn 0."""
        return self._trajectory.at(number).transition.changes

    def steps(self, number: int) -> tuple[tuple[State, Change, State], ...]:
        """Each change of turn ``number`` with the states before and after it."""
        return tuple(self._trajectory.at(number).transition.steps())

    def turn(self, number: int) -> TurnPlan:
        """What turn ``number`` asks."""
        moment = self._trajectory.at(number)
        transition = moment.transition
        prompt = change_request(transition.states[0], transition.changes) if number else opening(self._options)
        lines = tuple(change_headline(before, change) for before, change, _ in transition.steps())
        return TurnPlan(number, digest(moment.state), prompt, lines, transition.short)

    def suite(self, number: int) -> Suite:
        """The tests of turn ``number``'s state."""
        moment = self._trajectory.at(number)
        # One stream for all turns: an entity that did not change keeps its cases, which are then remembered.
        return build(moment.state, moment.origins, root(self._options).at("suite"), removed(moment.state, moment.memory))

    def truth(self, number: int) -> Handler:
        """A fresh, empty ground-truth server of turn ``number``'s state."""
        return Truth(self.state(number)).handle

    def feedback(self, verdict: Verdict, level: FeedbackLevel) -> str:
        """What the agent is told about a failed attempt."""
        return feedback(verdict, level)


class RestDomain:
    """The REST domain; implements :class:`stamina.domain.Domain`."""

    @property
    def name(self) -> str:
        """``rest``."""
        return "rest"

    @property
    def version(self) -> str:
        """:data:`VERSION`."""
        return VERSION

    def scenario(self, options: ScenarioOptions) -> RestScenario:
        """The scenario that these options make; nothing is computed yet."""
        return RestScenario(options)
