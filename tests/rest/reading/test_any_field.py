"""Whatever a field is, its line says all of it, in a specification and in a change request."""

import attrs
from hypothesis import given, settings
from hypothesis import strategies as st

from stamina.rest.changes import AddEntity, AddEnumValue, AddField, Change, ChangeConstraints
from stamina.rest.prose import describe_change, specification
from stamina.rest.prose.fields import BOUND_WORDS
from stamina.rest.reading import read_change, read_specification
from stamina.rest.schema import (
    BooleanType,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
    StringType,
)

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
TYPE_NAMES = st.from_regex(r"[A-Z][A-Za-z0-9]{0,20}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
INTEGERS = st.integers(-(2**31), 2**31)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LENGTHS = st.integers(0, 10**6)
INSTANTS = st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0"))


def bounded(make: type[FieldType], values: st.SearchStrategy[int | float | str]) -> st.SearchStrategy[FieldType]:
    """Types with each bound or without; whether the bounds make sense together is not for the text to say."""
    maybe = st.none() | values
    return st.tuples(maybe, maybe).map(lambda pair: make(*pair))


def field(kind: st.SearchStrategy[FieldType], default: st.SearchStrategy[str | int | float | bool]) -> st.SearchStrategy[Field]:
    return st.builds(Field, NAMES, kind, st.booleans(), st.booleans(), st.none() | default)


FIELDS = st.one_of(
    field(bounded(StringType, LENGTHS), TEXTS),
    field(bounded(IntegerType, INTEGERS), INTEGERS),
    field(bounded(FloatType, FLOATS), FLOATS),
    field(st.just(BooleanType()), st.booleans()),
    field(bounded(DatetimeType, INSTANTS), INSTANTS),
    field(st.builds(EnumType, TYPE_NAMES, st.lists(TEXTS, min_size=1, max_size=5, unique=True).map(tuple)), TEXTS),
    st.builds(Field, NAMES, TYPE_NAMES.map(ReferenceType), st.booleans(), st.just(value=True)),
    st.builds(Field, NAMES, TYPE_NAMES.map(ReferenceListType), st.just(value=False)),
)
ENTITIES = st.builds(Entity, TYPE_NAMES, st.lists(FIELDS, max_size=6, unique_by=lambda each: each.name).map(tuple))


@settings(max_examples=50)
@given(st.lists(ENTITIES, max_size=4, unique_by=lambda each: each.name))
def test_in_a_specification(entities: list[Entity]) -> None:
    state = State(tuple(entities))

    assert read_specification(specification(state)) == state


@given(ENTITIES, FIELDS, TEXTS)
def test_in_a_change_request(entity: Entity, added: Field, value: str) -> None:
    """As a part of a new entity, as a new field, as a new value of its enum, as its bounds."""
    state = State((attrs.evolve(entity, fields=(*(each for each in entity.fields if each.name != added.name), added)),))
    changes: list[Change] = [AddEntity(entity), AddField(entity.name, added)]
    bounds = tuple((name, bound) for name in BOUND_WORDS if (bound := getattr(added.type, name, None)) is not None)
    if isinstance(added.type, EnumType):
        changes.append(AddEnumValue(entity.name, added.name, value))
    if bounds:
        changes.append(ChangeConstraints(entity.name, added.name, bounds))
    for change in changes:
        assert read_change(describe_change(state, change)) == change
