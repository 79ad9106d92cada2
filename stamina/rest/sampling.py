"""The programmatic sampler (contract S4, S6, D4): the first state of a scenario, and the changes of each turn.

A change type is drawn by weight, then a target uniformly among those for which a valid change is found, then whatever is new about it. The stream of
each place is its own (:mod:`stamina.draw`), so turn 7 depends on the seed and on turn 6's state alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from stamina.domain import ScenarioOptions
from stamina.draw import Draw
from stamina.errors import BenchmarkFault, InvalidChange
from stamina.rest import inventing
from stamina.rest.apply import apply
from stamina.rest.changes import AddEntity, Change
from stamina.rest.footprint import Footprint, compatible, footprint
from stamina.rest.proposing import PROPOSERS, add_action, add_analytics
from stamina.rest.schema import EnumType, IntegerType, State
from stamina.rest.weights import WEIGHTS, ChangeType

TRIES: Final = 60
"""How many candidates of one type are applied before the type counts as having no valid change."""


@attrs.frozen
class Transition:
    """The changes of one turn.

    Attributes:
        changes: in the order in which they apply.
        states: the state before them, then the one after each of them.
        short: fewer than k valid changes were found (S6).
    """

    changes: tuple[Change, ...]
    states: tuple[State, ...]
    short: bool

    @property
    def after(self) -> State:
        """The turn's state."""
        return self.states[-1]

    def steps(self) -> Iterator[tuple[State, Change, State]]:
        """Each change with the states before and after it."""
        return zip(self.states, self.changes, self.states[1:], strict=False)


def initial(options: ScenarioOptions) -> State:
    """The state of turn 0: 2 or 3 entities of 4 or 5 fields, 1 or 2 analytics, enums, at most one relationship, at most two actions (S4)."""
    draw = root(options).at("initial")
    state = _entities(draw)
    for number in range(draw.integer(1, 2)):
        state = _must(_valid(add_analytics(draw.at("analytics", number), state), state, Footprint()))[1]
    for number in range(draw.integer(0, 2)):
        state = _must(_valid(add_action(draw.at("action", number), state), state, Footprint()))[1]
    return state


def sample_turn(state: State, options: ScenarioOptions, turn: int) -> tuple[Change, ...]:
    """The changes that turn ``turn`` asks of ``state``: ``options.changes_per_turn`` of them with disjoint footprints, or fewer (S6)."""
    return sample_transition(state, options, turn).changes


def sample_transition(state: State, options: ScenarioOptions, turn: int) -> Transition:
    """:func:`sample_turn` with the states in between."""
    draw = root(options).at("turn", turn)
    states, changes, taken = [state], list[Change](), Footprint()
    for number in range(options.changes_per_turn):
        found = _next(draw.at(number), states[-1], dict(WEIGHTS[options.sampler]), taken)
        if found is None:
            break
        change, after = found
        taken |= footprint(states[-1], change)
        changes.append(change)
        states.append(after)
    return Transition(tuple(changes), tuple(states), short=len(changes) < options.changes_per_turn)


def root(options: ScenarioOptions) -> Draw:
    """The stream of chance of a scenario; its places are ``initial``, ``turn`` and ``suite``."""
    return Draw("rest", options.seed_salt, options.seed)


def _entities(draw: Draw) -> State:
    """Two or three entities; the last may refer to one of them or to itself."""
    state = State(())
    count = draw.integer(2, 3)
    for number in range(count):
        # The first has something to transition and something to compute, so that a scenario starts with its main subjects.
        kinds = (EnumType, IntegerType) if number == 0 else ()
        place = draw.at("entity", number)
        references = int(number == count - 1 and place.chance(0.5))
        state = apply(state, AddEntity(inventing.entity(place, state, references=references, kinds=kinds)))
    return state


def _next(draw: Draw, state: State, weights: dict[ChangeType, float], taken: Footprint) -> tuple[Change, State] | None:
    """A valid change with a footprint beside ``taken``, and the state after it; None when no type has one."""
    while weights:
        kind = draw.weighted(tuple(weights), tuple(weights.values()))
        found = _valid(PROPOSERS[kind](draw.at(kind.__name__), state), state, taken)
        if found is not None:
            return found
        del weights[kind]
    return None


def _valid(candidates: Iterator[Change], state: State, taken: Footprint) -> tuple[Change, State] | None:
    """The first candidate that is compatible and valid, and the state after it."""
    tries = 0
    for change in candidates:
        if not compatible(taken, footprint(state, change)):
            continue
        try:
            return change, apply(state, change)
        except InvalidChange:
            tries += 1
        if tries == TRIES:
            return None
    return None


def _must(found: tuple[Change, State] | None) -> tuple[Change, State]:
    if found is None:
        raise BenchmarkFault("the sampler found no valid first state")
    return found
