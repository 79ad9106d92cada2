"""What the sampler makes (S4-S7, D4, B5)."""

import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import get_args

import attrs
import pytest

from stamina.domain import Sampler, ScenarioOptions
from stamina.draw import Draw
from stamina.rest import expressions, names, sampling, schema
from stamina.rest.canonical import digest
from stamina.rest.changes import AddAction, AddCondition, AddEffect, AddField, Change, ChangeConstraints, DeleteAnalytics
from stamina.rest.constraints import FLOAT_LIMIT, FLOAT_STEP, INTEGER_LIMIT
from stamina.rest.naming import name_problem, segment_problem, type_name_problem
from stamina.rest.proposing import PROPOSERS
from stamina.rest.sampling import initial, sample_transition, sample_turn
from stamina.rest.schema import EnumType, Field, FieldType, ReferenceListType, ReferenceType, State
from stamina.rest.validate import problems
from stamina.rest.weights import REACH, SHRINKING, WEIGHTS
from tests.rest.walks import SEEDS, states, walk

FIRST = [initial(ScenarioOptions(seed=seed)) for seed in range(30)]


def references(state: State) -> list[Field]:
    return [field for entity in state.entities for field in entity.fields if isinstance(field.type, ReferenceType | ReferenceListType)]


@pytest.mark.parametrize("state", FIRST[:10])
def test_a_first_state_is_valid(state: State) -> None:
    """Turn 0 breaks no rule."""
    assert problems(state) == []


def test_first_states_are_of_the_published_size() -> None:
    """2-3 entities of 4-5 fields, 1-2 analytics, enums, at most one relationship, and every such size occurs (S4)."""
    assert {len(state.entities) for state in FIRST} == {2, 3}
    assert {len(entity.fields) for state in FIRST for entity in state.entities} == {4, 5}
    assert {sum(len(entity.analytics) for entity in state.entities) for state in FIRST} == {1, 2}
    assert {len(references(state)) for state in FIRST} == {0, 1}
    assert {sum(len(entity.actions) for entity in state.entities) for state in FIRST} == {0, 1, 2}
    assert all(any(isinstance(field.type, EnumType) for entity in state.entities for field in entity.fields) for state in FIRST)


def test_the_same_seed_makes_the_same_scenario() -> None:
    """Nothing but the options decides, and each of them that should does."""
    options = ScenarioOptions(seed=5)
    first = initial(options)
    assert digest(first) == digest(initial(options))
    assert sample_turn(first, options, 1) == sample_turn(first, options, 1)
    assert sample_turn(first, options, 1) != sample_turn(first, options, 2)
    assert digest(initial(attrs.evolve(options, seed=6))) != digest(first)
    assert digest(initial(attrs.evolve(options, seed_salt="pepper"))) != digest(first)


def test_k_changes_a_turn() -> None:
    """A request holds as many changes as the options ask for; a longer one begins like a shorter one."""
    state = FIRST[0]
    one, seven = (sample_transition(state, ScenarioOptions(seed=0, changes_per_turn=k), 1) for k in (1, 7))
    assert (len(one.changes), len(seven.changes)) == (1, 7)
    assert seven.changes[:1] == one.changes
    assert not seven.short


def test_a_turn_without_enough_changes_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for more than there is, the sampler makes do and says so (S6)."""
    monkeypatch.setattr(sampling, "WEIGHTS", {Sampler.UNIFORM: {DeleteAnalytics: 1.0}})
    there = sum(len(entity.analytics) for entity in FIRST[0].entities)
    turn = sample_transition(FIRST[0], ScenarioOptions(seed=0, changes_per_turn=20), 1)
    assert turn.short
    assert 1 <= len(turn.changes) <= there


def test_every_type_of_change_occurs() -> None:
    """Within a few walks each type is there, deletions less often than the rest (S6)."""
    counts = Counter(type(change) for seed in SEEDS for transition in walk(seed) for change in transition.changes)
    assert set(counts) | set(SHRINKING) == set(PROPOSERS) == set(get_args(Change))
    growing = [kind for kind in PROPOSERS if kind not in SHRINKING]
    assert sum(counts[kind] for kind in SHRINKING) / len(SHRINKING) < sum(counts[kind] for kind in growing) / len(growing)


def test_weights_are_published_for_every_type() -> None:
    """``uniform`` is equal weights but for what takes away; ``difficulty`` follows the reach (S6)."""
    uniform, difficulty = WEIGHTS[Sampler.UNIFORM], WEIGHTS[Sampler.DIFFICULTY]
    assert set(uniform) == set(difficulty) == set(get_args(Change))
    assert {uniform[kind] for kind in uniform if kind not in SHRINKING} == {1.0}
    assert {uniform[kind] for kind in SHRINKING} == {0.2}
    assert all(difficulty[kind] == uniform[kind] * REACH[kind].total for kind in difficulty)


def test_the_published_table_is_that_of_the_code() -> None:
    """docs/sampler.md lists the weights that are used."""
    page = (Path(__file__).parents[2] / "docs" / "sampler.md").read_text()
    for kind, reach in REACH.items():
        weights = " | ".join(f"{WEIGHTS[sampler][kind]:g}" for sampler in (Sampler.UNIFORM, Sampler.DIFFICULTY))
        assert f"| {kind.__name__} | {reach.rules} | {reach.names} | {reach.paths} | {weights} |" in page


def parts(value: object) -> Iterator[object]:
    """A frozen value and everything in it."""
    yield value
    if attrs.has(type(value)):
        for attribute in attrs.fields(type(value)):
            yield from parts(getattr(value, attribute.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from parts(item)


def test_every_form_of_expression_and_type_occurs() -> None:
    """Each class of condition, operand, effect and field type is in what a few walks hold or could add next, as are self references."""
    wanted = {cls for module in (expressions, schema) for _, cls in inspect.getmembers(module, attrs.has) if cls.__module__ == module.__name__}
    next_ones = [
        change
        for seed in SEEDS
        for kind in (AddAction, AddCondition, AddEffect)
        for attempt in range(3)
        for change in PROPOSERS[kind](Draw(attempt), walk(seed)[-1].after)
    ]
    seen = {type(part) for value in (*states()[::10], *next_ones) for part in parts(value)}
    assert wanted - seen == set()
    owned = [(entity.name, field.type) for state in states() for entity in state.entities for field in entity.fields]
    assert any(isinstance(kind, ReferenceType | ReferenceListType) and kind.target == owner for owner, kind in owned)


def test_fields_of_every_kind_occur() -> None:
    """Optional non-nullable fields without a default, defaults on required and on optional ones, bounded and unbounded types (S3)."""
    fields = {field for state in (*FIRST, *states()) for entity in state.entities for field in entity.fields}
    plain = [field for field in fields if not isinstance(field.type, ReferenceType | ReferenceListType)]
    properties = {(field.required, field.nullable, field.default is not None) for field in plain}
    assert len(properties) == 8
    for kind in get_args(FieldType):
        names = [attribute.name for attribute in attrs.fields(kind) if attribute.name not in ("name", "values", "target")]
        bounded = {tuple(getattr(field.type, name) is not None for name in names) for field in fields if isinstance(field.type, kind)}
        assert len(bounded) == 2 ** len(names), kind


def test_numbers_are_modest() -> None:
    """Every number in a state is far inside the limits, and every float a multiple of 1/1024 (V8)."""
    numbers = {part for state in states()[::7] for part in parts(state) if type(part) in (int, float)}
    for number in numbers:
        if isinstance(number, int):
            assert abs(number) ** 2 <= INTEGER_LIMIT * 10
        else:
            assert isinstance(number, float)
            assert abs(number) < FLOAT_LIMIT / 1024
            assert (number / FLOAT_STEP).is_integer()


def test_names_are_never_used_again() -> None:
    """A segment, and a name of an owner, that was freed never comes back within a scenario (S5)."""
    for seed in SEEDS:
        freed: set[str] = set()
        before: set[str] = set()
        for transition in walk(seed):
            for state in transition.states:
                segments = {entity.segment for entity in state.entities}
                freed |= before - segments
                assert not segments & freed
                assert {retired.segment for retired in state.retired} == freed
                before = segments


def test_changes_are_no_empty_ones() -> None:
    """New constraints differ from the old ones, and an added field has a new name."""
    for before, change, after in (step for seed in SEEDS for transition in walk(seed) for step in transition.steps()):
        assert before != after
        if isinstance(change, ChangeConstraints):
            old = before.entity(change.entity).field(change.field).type
            assert all(getattr(old, name) != value for name, value in change.bounds)
        if isinstance(change, AddField):
            assert before.entity(change.entity).find_field(change.field.name) is None


@pytest.mark.parametrize(
    "words", [value for name, value in vars(names).items() if name.isupper() and name not in ("THEMES", "ENTITIES", "TEXTS") and isinstance(value, tuple)]
)
def test_words_are_no_reserved_names(words: tuple[str, ...]) -> None:
    """Every word for fields, actions and values may be a name, and is there once."""
    plain = [word for word in words if word.islower()]
    assert [problem for word in plain if (problem := name_problem(word))] == []
    assert len(set(words)) == len(words)


def test_words_for_entities_and_values_are_no_reserved_names() -> None:
    """Entities make good types and paths; enum values are names too, ten to a theme."""
    assert [word for word in names.ENTITIES if type_name_problem(word) or segment_problem(word)] == []
    for theme, values in names.THEMES:
        assert [problem for word in (theme, *values) if (problem := name_problem(word))] == []
        assert len(set(values)) == len(values) >= 10


@pytest.mark.parametrize("sampler", Sampler)
@pytest.mark.slow
def test_states_grow_as_published(sampler: Sampler) -> None:
    """Over 20 seeds the median is at least 10 entities at turn 25 and 24 at turn 100 (S4)."""
    walks = [walk(seed, 100, sampler) for seed in range(20)]
    assert median(len(transitions[24].after.entities) for transitions in walks) >= 10
    assert median(len(transitions[99].after.entities) for transitions in walks) >= 24
    assert not any(transition.short for transitions in walks for transition in transitions)
