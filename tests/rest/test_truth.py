"""The ground truth answers as the contract says (H1-H9, V3, V7, D1, A1-A3, B1)."""

from typing import Any

import pytest

from stamina.exchange import NO_BODY, RawBody, Request
from stamina.rest.expressions import Comparator, Comparison, Effect, FieldRef, IncrementBy, Literal, OnReference, SetTo
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    BooleanType,
    Entity,
    EnumType,
    Field,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
    StringType,
)
from stamina.rest.truth import Truth

OWNER = Entity("DogOwner", (Field("name", StringType(), required=False, default="nobody"), Field("visits", IntegerType(maximum=9), required=False)))
DOG = Entity(
    "Dog",
    fields=(
        Field("name", StringType(max_length=5)),
        Field("age", IntegerType(minimum=0), nullable=True),
        Field("weight", FloatType(), required=False, nullable=True, default=2.5),
        Field("tame", BooleanType(), required=True, default=False),
        Field("mood", EnumType("Mood", ("calm", "wild")), required=False),
        Field("owner", ReferenceType("DogOwner"), required=False, nullable=True),
        Field("friends", ReferenceListType("Dog"), required=False),
    ),
    analytics=(Analytics(AnalyticsOperation.COUNT), *(Analytics(AnalyticsOperation(each), "weight") for each in ("avg", "min", "max", "sum"))),
    actions=(
        Action(
            "soothe",
            "mood",
            ("wild",),
            "calm",
            (Comparison(FieldRef("age"), Comparator.GE, Literal(2)),),
            (Effect("tame", SetTo(True)), Effect("visits", IncrementBy(1), OnReference("owner"))),
        ),
    ),
)


@pytest.fixture
def api() -> "Api":
    return Api()


class Api:
    """A truth with one owner, spoken to in short lines."""

    def __init__(self) -> None:
        self.truth = Truth(State((OWNER, DOG)))
        assert self("POST", "/dogowner", {"id": "kim", "visits": 3})[0] == 201

    def __call__(self, method: str, path: str, body: Any = NO_BODY) -> tuple[int, Any]:
        response = self.truth.handle(Request(method, path, body))
        return response.status, response.json if response.body else None

    def dog(self, key: str, **fields: Any) -> dict[str, Any]:
        status, stored = self("POST", "/dog", {"id": key, "name": "rex", "age": 4} | fields)
        assert status == 201, stored
        assert isinstance(stored, dict)
        return stored


def test_a_created_object_comes_back_whole(api: Api) -> None:
    """Defaults, nulls and empty lists are filled in, also where the default belongs to a required field (V3)."""
    expected = {"id": "d1", "name": "rex", "age": 4, "weight": 2.5, "tame": False, "mood": None, "owner": None, "friends": []}
    assert api.dog("d1") == expected
    assert api("GET", "/dog/d1") == (200, expected)
    assert api("GET", "/dog") == (200, [expected])


def test_a_default_never_replaces_an_explicit_null(api: Api) -> None:
    """Null is a value where nullable (V3)."""
    assert api.dog("d1", weight=None)["weight"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"id": "d1", "age": 4},
        {"id": "d1", "name": "rexxxx", "age": 4},
        {"id": "d1", "name": "rex", "age": 4, "mood": None},
        {"id": "d1", "name": "rex", "age": 4, "owner": "nobody"},
        {"id": "d1", "name": "rex", "age": 4, "friends": ["d1"]},
        {"id": 7, "name": "rex", "age": 4},
        {"id": "", "name": "rex", "age": 4},
        {"id": None, "name": "rex", "age": 4},
        {"name": "rex", "age": 4},
        ["d1"],
        None,
        NO_BODY,
        RawBody(b"{"),
        RawBody(b'{"id": "d1", "name": "rex", "age": NaN}'),
        RawBody(b"[" * 100_000),
        RawBody(b"\xff"),
    ],
)
def test_bad_input_creates_nothing(api: Api, body: Any) -> None:
    """Refused with a short error, and the list stays empty (H2, H9)."""
    status, answer = api("POST", "/dog", body)
    assert status == 400
    assert set(answer) == {"error"}
    assert api("GET", "/dog") == (200, [])


def test_a_taken_id_is_refused(api: Api) -> None:
    """The first object stays (H3); after its deletion the id is free again (S8)."""
    first = api.dog("d1")
    assert api("POST", "/dog", {"id": "d1", "name": "ada", "age": 1})[0] == 409
    assert api("GET", "/dog/d1") == (200, first)
    assert api("DELETE", "/dog/d1") == (204, None)
    assert api.dog("d1", name="ada")["name"] == "ada"


def test_patch_changes_what_it_carries(api: Api) -> None:
    """Unknown keys are ignored, the own id may be carried, and nothing at all is fine too (H4, V7)."""
    before = api.dog("d1", owner="kim")
    assert api("PATCH", "/dog/d1", {}) == (200, before)
    after = before | {"age": None, "friends": ["d1"], "owner": None}
    assert api("PATCH", "/dog/d1", {"id": "d1", "age": None, "friends": ["d1"], "owner": None, "colour": 3}) == (200, after)
    assert api("GET", "/dog/d1") == (200, after)


@pytest.mark.parametrize(
    "body", [{"age": 5, "name": None}, {"age": 5, "weight": "heavy"}, {"age": 5, "friends": ["d9"]}, {"age": 5, "friends": None}, [], None]
)
def test_a_refused_patch_leaves_every_field(api: Api, body: Any) -> None:
    """The good key of a bad body has no effect (H2)."""
    before = api.dog("d1")
    assert api("PATCH", "/dog/d1", body)[0] == 400
    assert api("GET", "/dog/d1") == (200, before)


def test_stored_lists_are_not_the_request_s(api: Api) -> None:
    """A test may send one list in two requests."""
    api.dog("d1")
    friends = ["d1"]
    api.dog("d2", friends=friends)
    api("PATCH", "/dog/d1", {"friends": friends})
    api("DELETE", "/dog/d1")
    assert friends == ["d1"]
    assert api("GET", "/dog/d2")[1]["friends"] == []


def test_deleting_clears_references(api: Api) -> None:
    """Single references become null, lists lose the id and keep the others (D1)."""
    for key in ("d1", "d2", "d3"):
        api.dog(key, owner="kim")
    api("PATCH", "/dog/d1", {"friends": ["d2", "d3"]})
    assert api("DELETE", "/dog/d2")[0] == 204
    assert api("DELETE", "/dogowner/kim")[0] == 204
    stored = api("GET", "/dog/d1")[1]
    assert (stored["owner"], stored["friends"]) == (None, ["d3"])


def test_reset_empties_everything(api: Api) -> None:
    """All entities, whatever refers to what (H5)."""
    api.dog("d1", owner="kim")
    assert api("POST", "/reset") == (204, None)
    assert api("GET", "/dog") == api("GET", "/dogowner") == (200, [])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/cat"),
        ("GET", "/Dog"),
        ("GET", "/"),
        ("GET", "dog"),
        ("GET", ""),
        ("GET", "/dog/d9"),
        ("PATCH", "/dog/d9"),
        ("DELETE", "/dog/d9"),
        ("POST", "/dog/d9/soothe"),
        ("POST", "/dog/d1/tame"),
        ("GET", "/dog/d1/soothe"),
        ("POST", "/dog/d1/soothe/now"),
        ("GET", "/analytics/dog/age/avg"),
        ("GET", "/analytics/dogowner/count"),
        ("GET", "/analytics/dog/weight"),
        ("GET", "/analytics/dog"),
        ("GET", "/analytics"),
        ("GET", "/analytics/cat/count"),
    ],
)
def test_what_is_not_there_answers_404(api: Api, method: str, path: str) -> None:
    """Names that a state does not have simply do not exist (H6)."""
    api.dog("d1")
    assert api(method, path, {})[0] == 404


@pytest.mark.parametrize(("method", "path"), [("PUT", "/dog"), ("POST", "/dog/d1"), ("GET", "/reset"), ("POST", "/analytics/dog/count")])
def test_other_methods_answer_405(api: Api, method: str, path: str) -> None:
    """Not specified (H7), but never an accident."""
    api.dog("d1")
    assert api(method, path, {})[0] == 405


def test_analytics_of_nothing(api: Api) -> None:
    """Nulls count as nothing to compute (A2)."""
    results = [api("GET", f"/analytics/dog/{path}")[1]["result"] for path in ("count", "weight/avg", "weight/min", "weight/max", "weight/sum")]
    assert results == [0, None, None, None, 0]
    api.dog("d1", weight=None)
    results = [api("GET", f"/analytics/dog/{path}")[1]["result"] for path in ("count", "weight/avg", "weight/min", "weight/max", "weight/sum")]
    assert results == [1, None, None, None, 0]


def test_analytics_skip_nulls_and_do_not_round(api: Api) -> None:
    """The average divides by the number of values and is a fraction (A2, A3)."""
    for key, weight in (("d1", 1), ("d2", 2.25), ("d3", None), ("d4", 2)):
        api.dog(key, weight=weight)
    results = [api("GET", f"/analytics/dog/{path}")[1]["result"] for path in ("count", "weight/avg", "weight/min", "weight/max", "weight/sum")]
    assert results == [4, 1.75, 1, 2.25, 5.25]


def test_analytics_are_exact_in_any_order(api: Api) -> None:
    """Large numbers of both signs do not swallow small ones."""
    for key, weight in (("d1", 1e16), ("d2", 1.0), ("d3", -1e16)):
        api.dog(key, weight=weight)
    assert api("GET", "/analytics/dog/weight/sum")[1]["result"] == 1.0


def test_an_action_moves_the_state_and_writes_its_effects(api: Api) -> None:
    """The answer is the updated object; the referenced object is written too (B1, B3)."""
    before = api.dog("d1", mood="wild", owner="kim")
    after = before | {"mood": "calm", "tame": True}
    assert api("POST", "/dog/d1/soothe") == (200, after)
    assert api("GET", "/dog/d1") == (200, after)
    assert api("GET", "/dogowner/kim")[1]["visits"] == 4


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"mood": "calm", "age": 9}, 400),
        ({"age": 9}, 400),
        ({"mood": "calm", "age": 1}, 400),
        ({"mood": "wild", "age": 1}, 409),
        ({"mood": "wild", "age": None}, 409),
    ],
)
def test_a_refused_action_changes_nothing(api: Api, fields: dict[str, Any], status: int) -> None:
    """Wrong state (null included) comes before an unmet condition (B1)."""
    before = api.dog("d1", owner="kim", **fields)
    assert api("POST", "/dog/d1/soothe")[0] == status
    assert api("GET", "/dog/d1") == (200, before)
    assert api("GET", "/dogowner/kim")[1]["visits"] == 3
