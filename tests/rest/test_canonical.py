"""Canonical JSON of states and changes (S1)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stamina.errors import InputError
from stamina.rest.canonical import change_from_json, change_to_json, digest, dumps, dumps_change, from_json, to_json
from stamina.rest.changes import ChangeConstraints
from stamina.rest.schema import State
from tests.rest.library import LIBRARY, READER, with_field
from tests.rest.walks import SEEDS, states, walk


def data() -> Any:
    return json.loads(dumps(LIBRARY))


def at(path: str) -> Any:
    """The part of LIBRARY's JSON behind a path such as ``entities/0/fields``, and the whole of it."""
    whole = part = data()
    for key in path.split("/"):
        part = part[int(key) if key.isdigit() else key]
    return whole, part


@settings(max_examples=40, deadline=None)
@given(st.deferred(lambda: st.sampled_from(states())))
def test_a_state_survives_the_round_trip(state: State) -> None:
    """What is read back equals what was written, and is written with the same bytes."""
    again = from_json(json.loads(dumps(state)))
    assert again == state
    assert dumps(again) == dumps(state)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_survives_the_round_trip(seed: int) -> None:
    """Every change of a walk is read back as it was written."""
    for transition in walk(seed):
        for change in transition.changes:
            assert change_from_json(json.loads(dumps_change(change))) == change
            assert change_from_json(change_to_json(change)) == change


def test_the_bytes_are_sorted_and_compact() -> None:
    """The canonical bytes are those of sorted keys without spaces."""
    assert dumps(LIBRARY) == json.dumps(data(), sort_keys=True, separators=(",", ":")).encode()
    assert from_json(to_json(LIBRARY)) == LIBRARY


def test_the_digest_is_pinned() -> None:
    """The canonical form is an interface: it does not change by accident."""
    assert digest(LIBRARY) == "f5c44ccea25faca1fddedfeca6ccb78b8207c7fddc1b17256de66d3723b9f416"


def test_an_integer_and_a_float_of_the_same_value_differ() -> None:
    """A literal 5 and a literal 5.0 have different bytes and keep their type when read."""
    five = dumps_change(ChangeConstraints("Book", "price", (("maximum", 5),)))
    five_point_zero = dumps_change(ChangeConstraints("Book", "price", (("maximum", 5.0),)))
    assert five != five_point_zero
    bounds = change_from_json(json.loads(five_point_zero)).bounds  # type: ignore[union-attr]
    assert type(bounds[0][1]) is float


def test_what_equals_its_default_is_left_out() -> None:
    """A hand-written field needs its name and its type only."""
    assert to_json(LIBRARY)["entities"][0]["fields"][0] == {"name": "title", "type": {"kind": "string", "min_length": 1, "max_length": 40}}


def test_a_whole_number_will_do_for_a_float_bound() -> None:
    """People write 5 where they mean 5.0."""
    whole, kind = at("entities/0/fields/2/type")
    kind["maximum"] = 900
    assert from_json(whole) == LIBRARY


@pytest.mark.parametrize(
    ("path", "key", "value", "expected"),
    [
        ("entities/0/fields/0", "name", 5, "expected a string, found an integer, at state.entities[0].fields[0].name"),
        ("entities/0/fields/0", "tpye", {}, "unknown key 'tpye', at state.entities[0].fields[0]"),
        ("entities/0/fields/0", "required", "yes", "expected true or false, found a string, at state.entities[0].fields[0].required"),
        ("entities/0/fields/1/type", "minimum", "1", "expected an integer or null, found a string, at state.entities[0].fields[1].type.minimum"),
        ("entities/0/fields/1/type", "minimum", True, "expected an integer or null, found true or false, at state.entities[0].fields[1].type.minimum"),
        ("entities/0/fields/1/type", "kind", "int", "'kind' must be one of string, integer"),
        ("entities/0", "fields", {}, "expected an array, found an object, at state.entities[0].fields"),
        ("entities/0/fields", 0, "title", "expected an object, found a string, at state.entities[0].fields[0]"),
        (
            "entities/1/actions/0/conditions/0",
            "comparator",
            "=>",
            "expected one of ==, !=, <, <=, >, >=; found '=>', at state.entities[1].actions[0].conditions[0].comparator",
        ),
        ("entities/1/actions/0/effects/0/assignment", "value", [1], "expected a string, a number, true, false, null or [], at state.entities[1].actions[0]"),
        ("entities/1/actions/0/effects/0", "assignment", None, "expected an object with a 'kind', found null"),
    ],
)
def test_an_error_names_the_path(path: str, key: Any, value: Any, expected: str) -> None:
    """Whatever is wrong in form is an InputError that says where and what was expected."""
    whole, part = at(path)
    part[key] = value
    with pytest.raises(InputError) as caught:
        from_json(whole)
    assert expected in str(caught.value)


def test_a_missing_key_is_named() -> None:
    """A field without a type is told so."""
    whole, field = at("entities/0/fields/0")
    del field["type"]
    with pytest.raises(InputError, match=r"the key 'type' is missing, at state\.entities\[0\]\.fields\[0\]"):
        from_json(whole)


def test_every_error_is_listed() -> None:
    """Two faults are two lines, so that a file is put right in one go."""
    whole = data()
    whole["entities"][0]["name"] = 1
    whole["entities"][1]["name"] = 2
    with pytest.raises(InputError) as caught:
        from_json(whole)
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize("nonsense", [None, [], 5, "state", {"entities": None}])
def test_what_is_no_state_at_all_is_refused(nonsense: Any) -> None:
    """Any JSON value is refused with an InputError, never with another exception."""
    with pytest.raises(InputError):
        from_json(nonsense)


def test_alterations_alter_the_digest() -> None:
    """Two different states have different digests."""
    assert digest(with_field(READER, "level", nullable=True)) != digest(LIBRARY)
