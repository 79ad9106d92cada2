"""Trajectories that several tests look at, made once."""

from functools import cache

from stamina.domain import Sampler, ScenarioOptions
from stamina.rest.sampling import Transition, initial, sample_transition
from stamina.rest.schema import State

SEEDS = (0, 1)
TURNS = 15


@cache
def walk(seed: int, turns: int = TURNS, sampler: Sampler = Sampler.UNIFORM) -> tuple[Transition, ...]:
    """The transitions of turns 1 to ``turns``."""
    options = ScenarioOptions(seed=seed, sampler=sampler)
    state, transitions = initial(options), list[Transition]()
    for turn in range(1, turns + 1):
        transitions.append(sample_transition(state, options, turn))
        state = transitions[-1].after
    return tuple(transitions)


@cache
def states() -> tuple[State, ...]:
    """Every state of the walks of both samplers, those between the changes of a turn included."""
    walks = [walk(seed) for seed in SEEDS] + [walk(0, 10, Sampler.DIFFICULTY)]
    return tuple(state for transitions in walks for transition in transitions for state in transition.states)
