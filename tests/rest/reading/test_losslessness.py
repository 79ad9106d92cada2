"""What the agent is told is enough to rebuild the API exactly: every state and every change is read back from its text."""

import attrs
import pytest

from stamina.domain import Sampler, ScenarioOptions
from stamina.errors import InputError
from stamina.rest.apply import transformed
from stamina.rest.expressions import Comparator, Comparison, Effect, FieldRef, Literal, SetTo
from stamina.rest.prose import change_request, describe_change, specification
from stamina.rest.prose.expressions import condition_text, effect_text
from stamina.rest.reading import read_change, read_request, read_specification
from stamina.rest.reading.expressions import read_condition, read_effect
from stamina.rest.sampling import initial, sample_transition
from stamina.rest.schema import Entity, Retired, State
from tests.rest.library import LIBRARY
from tests.rest.walks import states, walk


def described(state: State) -> State:
    """The state without the names that were freed: a specification has none (turn 0 has none either)."""
    return State(tuple(attrs.evolve(entity, retired=Retired()) for entity in state.entities))


def test_states_are_read_back_from_their_specifications() -> None:
    """Thousands of fields, hundreds of states, both samplers."""
    for state in (*states(), LIBRARY):
        assert read_specification(specification(state)) == described(state)


@pytest.mark.parametrize(
    ("seed", "sampler"), [(0, Sampler.UNIFORM), (1, Sampler.UNIFORM), (0, Sampler.DIFFICULTY), (7, Sampler.UNIFORM), (8, Sampler.DIFFICULTY)]
)
def test_changes_are_read_back_from_their_requests(seed: int, sampler: Sampler) -> None:
    """Each alone, and all of a turn together; what is read leads to the same state."""
    for transition in walk(seed, 10, sampler):
        for before, change, after in transition.steps():
            read = read_change(describe_change(before, change))
            assert transformed(before, read) == after
            assert read == change
        assert read_request(change_request(transition.states[0], transition.changes)) == transition.changes


def test_a_scenario_is_rebuilt_from_its_texts_alone() -> None:
    """The specification, then the requests of its turns, one applied to the result of the other."""
    options = ScenarioOptions(seed=3)
    state = initial(options)
    read = read_specification(specification(state))
    for turn in range(1, 26):
        transition = sample_transition(state, options, turn)
        for change in read_request(change_request(state, transition.changes)):
            read = transformed(read, change)
        state = transition.after
    assert read == state


@pytest.mark.parametrize("text", ["a, b", 'say "x"', "tick ` tock", "back\\slash", " and ", "", "line\nbreak", "é ☃"])
def test_any_string_survives(text: str) -> None:
    """As a literal in expressions, and as a default."""
    condition = Comparison(FieldRef("name"), Comparator.EQ, Literal(text))
    effect = Effect("name", SetTo(text))

    assert read_condition(condition_text(condition)) == condition
    assert read_effect(effect_text(effect)) == effect


@pytest.mark.parametrize(
    "text",
    [
        "Paint the shed",
        'Delete field "x" of "Dog"',
        'Add to entity "Dog" the field "x": text, required, nullable',
        'Change the constraints of field "x" of entity "Dog": minimum',
        'Remove action "bark" of entity "Dog" (POST /cat/{id}/bark)',
        'Add entity "Dog" with the path /dog and these fields:',
    ],
)
def test_what_is_no_change_is_refused(text: str) -> None:
    """With the line in the message."""
    with pytest.raises(InputError):
        read_change(text)


def test_the_specification_has_all_its_parts() -> None:
    """A text that lacks one is none."""
    with pytest.raises(InputError, match="has the parts"):
        read_specification(specification(State((Entity("Dog", ()),))).replace("# Actions", "Actions"))
