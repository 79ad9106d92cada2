"""Whole scenarios are rebuilt from their texts alone: two each in `make test`, thousands of states and tens of thousands of changes marked slow."""

from collections.abc import Mapping
from typing import cast

import attrs
import pytest

from stamina.domain import Sampler, ScenarioOptions
from stamina.rest.apply import transformed
from stamina.rest.prose import change_request, describe_change, specification
from stamina.rest.reading import read_change, read_request, read_specification
from stamina.rest.sampling import initial, sample_transition
from stamina.rest.schema import Retired, State
from stamina.rest.weights import REACH, SHRINKING, WEIGHTS, ChangeType

MIXES: dict[str, Mapping[ChangeType, float]] = {
    "uniform": WEIGHTS[Sampler.UNIFORM],
    "difficulty": WEIGHTS[Sampler.DIFFICULTY],
    # Nothing is rare: old things go as often as new ones come.
    "level": dict.fromkeys(REACH, 1.0),
    # Much goes, so that consequences are listed in nearly every request.
    "shrinking": {change: 2.0 if change in SHRINKING else 1.0 for change in REACH},
}
"""Weights of change types, the published ones and others."""


@attrs.frozen
class Count:
    """What was read."""

    states: int = 0
    changes: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.states + other.states, self.changes + other.changes)


def described(state: State) -> State:
    """The state without the names that were freed, of which a specification says nothing."""
    return State(tuple(attrs.evolve(entity, retired=Retired()) for entity in state.entities))


def rebuilt(seed: int, turns: int, changes: int = 5) -> Count:
    """Read the first specification and every request: what comes of them must be the scenario, state by state. Each turn's own specification too."""
    options = ScenarioOptions(seed=seed, changes_per_turn=changes)
    state = initial(options)
    read = read_specification(specification(state))
    assert read == state
    count = Count(states=1)
    for turn in range(1, turns + 1):
        transition = sample_transition(state, options, turn)
        for before, change, after in transition.steps():
            assert read_change(describe_change(before, change)) == change
            read = transformed(read, change)
            assert read == after
        assert read_request(change_request(state, transition.changes)) == transition.changes
        state = transition.after
        assert read_specification(specification(state)) == described(state)
        count += Count(1, len(transition.changes))
    return count


@pytest.fixture
def mixed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sampler draws by one of the mixes."""
    monkeypatch.setitem(cast(dict[Sampler, Mapping[ChangeType, float]], WEIGHTS), Sampler.UNIFORM, MIXES[request.param])


@pytest.mark.parametrize("mixed", MIXES, indirect=True)
def test_scenarios_are_rebuilt_from_their_texts(mixed: None) -> None:
    count = sum((rebuilt(seed, 12, changes) for seed, changes in ((200, 5), (201, 12))), Count())

    assert count.states == 26
    assert count.changes > 150


@pytest.mark.slow
@pytest.mark.parametrize("mixed", MIXES, indirect=True)
def test_thousands_of_states_are_rebuilt_from_their_texts(mixed: None) -> None:
    """Twelve seeds of 101 turns for each mix: 4,848 states, 24,000 changes."""
    count = sum((rebuilt(seed, 100) for seed in range(300, 312)), Count())

    assert count.states == 1212
    assert count.changes > 5900
