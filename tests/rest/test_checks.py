"""What a step expects, judged on right, wrong and hostile answers (H1-H8, A3)."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stamina.exchange import NoResponse, Request, Response, Trouble
from stamina.rest.checks import CREATED, OK, REFUSED, Listed, Result, Status, Stored, same, shown
from stamina.suite import Expectation

REQUEST = Request("GET", "/dog/d1")
DOG = {"id": "d1", "age": 5, "good": True, "name": " x ", "owner": None, "friends": ["b", "a"]}
EXPECTATIONS: tuple[Expectation, ...] = (
    Status(REFUSED, "age must not be null"),
    Stored(OK, DOG, ("old",)),
    Listed((DOG, {**DOG, "id": "d2"}), ("old",)),
    Result(Fraction(1, 3)),
    Result(None),
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ANYTHING = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["id", "result", "age"]), inner), max_leaves=8)


def judge(expectation: Expectation, body: Any, status: int = 200) -> str | None:
    return expectation.judge(REQUEST, Response(status, json.dumps(body).encode()))


def test_an_object_as_expected_passes_whatever_the_latitude_is() -> None:
    """Numbers compare by value, lists regardless of order, an absent key is null, and extra keys do not matter (H7, H8)."""
    got = {"friends": ["a", "b"], "age": 5.0, "id": "d1", "good": True, "name": " x ", "extra": 1}
    assert judge(Stored(OK, DOG), got) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("good", 1),
        ("age", True),
        ("age", "5"),
        ("age", None),
        ("name", "x"),
        ("owner", ""),
        ("friends", None),
        ("friends", ["a"]),
        ("friends", ["a", "b", "b"]),
        ("friends", ["a", 1]),
    ],
)
def test_an_object_with_one_wrong_value_fails_and_the_line_names_the_field(field: str, value: Any) -> None:
    message = judge(Stored(OK, DOG), {**DOG, field: value})
    assert message is not None
    assert field in message


def test_a_missing_list_is_not_an_empty_one() -> None:
    """Reference lists are always present (H8)."""
    got = {name: value for name, value in DOG.items() if name != "friends"}
    assert judge(Stored(OK, {**DOG, "friends": []}), got) == "expected friends = [], got no such key"


def test_a_forbidden_key_fails_even_as_null() -> None:
    """A removed field does not appear, not even as null (H6)."""
    assert "old" in (judge(Stored(OK, DOG, ("old",)), {**DOG, "old": None}) or "")


def test_the_message_says_status_and_reason() -> None:
    assert judge(Status(REFUSED, "age must not be null"), {}, 201) == "expected status 400 or 422, got 201 (age must not be null)"


def test_no_response_is_told_with_its_trouble() -> None:
    message = Stored(CREATED, DOG).judge(REQUEST, NoResponse(Trouble.TIMEOUT, "no answer within 10 s"))
    assert message == "expected status 200 or 201, got no response (timeout: no answer within 10 s)"


def test_a_list_holds_exactly_the_objects_in_any_order() -> None:
    listed, other = Listed((DOG, {**DOG, "id": "d2"})), {**DOG, "id": "d2"}
    assert judge(listed, [other, DOG]) is None
    for wrong in ([DOG], [DOG, DOG], [DOG, other, other], {"items": []}, [DOG, {**other, "age": 6}], [DOG, 5]):
        assert judge(listed, wrong) is not None


@pytest.mark.parametrize(("got", "right"), [(1 / 3, True), (0.3333333333, True), (0.333333, False), (0, False), (None, False), ("0.33", False), (True, False)])
def test_a_result_is_compared_without_rounding(got: Any, *, right: bool) -> None:
    """Right within 1e-9 relative, at least absolute (A3)."""
    assert (judge(Result(Fraction(1, 3)), {"result": got}) is None) is right


def test_null_and_zero_are_different_results() -> None:
    """Nothing to compute is null for avg, min and max, and 0 for sum and count (A2)."""
    assert judge(Result(None), {"result": None}) is None
    assert judge(Result(None), {"result": 0}) is not None
    assert judge(Result(Fraction(0)), {"result": None}) is not None
    assert judge(Result(Fraction(0)), {"result": 0.0}) is None


@given(st.sampled_from(EXPECTATIONS), ANYTHING, st.sampled_from([200, 201, 400, 500]))
def test_judging_any_json_never_raises_and_says_one_bounded_line(expectation: Expectation, body: Any, status: int) -> None:
    message = judge(expectation, body, status)
    assert message is None or (len(message) < 1000 and message.isprintable())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"result": NaN}',
        b'{"result": 1e999}',
        b'{"result": ' + b"9" * 4000 + b"}",
        b'"' + b"x" * 1_000_000 + b'"',
        b"[" + b"0," * 300_000 + b"0]",
        b'"\\ud800"',
    ],
)
def test_hostile_bodies_fail_with_one_bounded_line(body: bytes) -> None:
    for expectation in EXPECTATIONS[1:]:
        message = expectation.judge(REQUEST, Response(200, body))
        assert message is not None
        assert len(message) < 1000
        assert message.isprintable()


@given(ANYTHING)
def test_a_value_is_shown_on_one_line_of_bounded_length(value: Any) -> None:
    assert len(shown(value)) < 800


@given(SCALARS, SCALARS)
def test_equal_values_have_equal_types_numbers_aside(one: Any, two: Any) -> None:
    if same(one, two):
        assert one == two
        assert isinstance(one, bool) is isinstance(two, bool)
