"""The reference agent's server, sentence by sentence of the agent's README.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.harnesses.agent_lab import Client, dog_action, request, serving


@pytest.fixture(scope="module")
def running() -> Iterator[Client]:
    with serving() as client:
        yield client


@pytest.fixture
def client(running: Client) -> Client:
    assert running("POST", "/reset") == (200, {})
    return running


def test_create_read_change_delete(client: Client) -> None:
    """The life of an object; after it, its id is unknown and may be used again."""
    made = client.make("/userprofile", "u-1", email="a@b.c", balance=5)
    assert client.get("/userprofile/u-1") == made
    assert client("PATCH", "/userprofile/u-1", {"balance": 5.5, "id": "u-1"}) == (200, made | {"balance": 5.5})
    assert client("PATCH", "/userprofile/u-1", {}) == (200, made | {"balance": 5.5})
    assert client("DELETE", "/userprofile/u-1")[0] == 204
    for method in ("GET", "PATCH", "DELETE"):
        assert client(method, "/userprofile/u-1", {} if method == "PATCH" else None)[0] == 404
    assert client.get("/userprofile") == []
    client.make("/userprofile", "u-1", email="a@b.c")


@pytest.mark.parametrize("key", [None, 5, True, {}, "missing"])
def test_an_id_must_be_given_as_a_string(client: Client, key: Any) -> None:
    """Without an id, with null or with another type, nothing is created."""
    body = {"email": "a@b.c"} | ({} if key == "missing" else {"id": key})
    assert client("POST", "/userprofile", body)[0] == 400
    assert client.get("/userprofile") == []


def test_an_id_is_unique_within_its_entity(client: Client) -> None:
    """A second object with the id is refused and the first stays; another entity may use it."""
    client.make("/userprofile", "x", email="a@b.c")
    assert client("POST", "/userprofile", {"id": "x", "email": "other@b.c"})[0] in (400, 409, 422)
    assert client.get("/userprofile/x")["email"] == "a@b.c"
    client.dog("x")


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("name", ["", " x ", "X"], [None, 5, True, [], {}]),
        ("nickname", [None, "", "x" * 20], ["x" * 21, 5]),
        ("age", [None, 0, 30], [-1, 31, 2.5, "5", True, False]),
        ("legs", [0, -3, 2147483647], [None, "4", 1.5, True]),
        ("weight", [0.5, 90.0, 90, 1], [0.49, 90.01, None, "1", True]),
        ("good", [True, False, None], [0, 1, "true", ""]),
        ("born", [None, "2000-01-01 00:00:00", "2026-12-31 23:59:59", "2024-02-29 00:00:00"], ["1999-12-31 23:59:59", "2027-01-01 00:00:00", 5]),
        ("born", [], ["2023-02-29 00:00:00", "2023-13-01 00:00:00", "2023-01-01 24:00:00", "2023-01-01 00:60:00", "2023-01-01 00:00:60"]),
        ("born", [], ["2023-1-01 00:00:00", "2023-01-01T00:00:00", "2023-01-01 00:00:00Z", "2023-01-01", "", "2023-01-01 00:00:00.0"]),
        ("phase", ["young", "old"], [None, "Young", "", "ancient", 1]),
        ("owner", [None], ["nobody", 5, {}, ["u"], "d1"]),
        ("friends", [[], ["d1"]], [None, "d1", ["nobody"], [None], [5], {}]),
    ],
)
def test_fields_take_exactly_their_values(client: Client, field: str, good: list[Any], bad: list[Any]) -> None:
    """POST and PATCH make the same checks; values come back as they were given; a refused PATCH changes nothing at all."""
    client.dog()
    for value in good:
        assert client("PATCH", "/dog/d1", {field: value})[1][field] == value
        assert client("POST", "/dog", {"id": f"new-{value!s:.20}", "name": "Rex", field: value})[1][field] == value
    before = client.get("/dog")
    for value in bad:
        assert client("PATCH", "/dog/d1", {"name": "Max", "good": False, field: value})[0] in (400, 422), value
        assert client("POST", "/dog", {"id": "refused", "name": "Rex", field: value})[0] in (400, 422), value
    assert client.get("/dog") == before


def test_fields_that_are_left_out(client: Client) -> None:
    """Defaults, also of required fields; null without one; lists are empty; a required field without a default is missed."""
    assert client("POST", "/dog", {"id": "d1", "name": "Rex"})[1] == {
        "id": "d1", "name": "Rex", "nickname": 'say "hi"', "age": 3, "legs": None, "weight": 10.0,
        "good": True, "born": None, "phase": "young", "owner": None, "parent": None, "friends": [],
    }  # fmt: skip
    assert client("POST", "/dog", {"id": "d2"})[0] == 400
    assert client("PATCH", "/dog/d1", {"legs": None})[0] == 400


def test_null_zero_and_false_are_values(client: Client) -> None:
    """No default takes the place of what was sent."""
    made = client.dog(nickname="", age=0, good=False, born=None)
    assert (made["nickname"], made["age"], made["good"]) == ("", 0, False)
    assert client("PATCH", "/dog/d1", {"nickname": None, "age": None})[1]["age"] is None
    assert client("PATCH", "/dog/d1", {"name": "Max"})[1]["nickname"] is None


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b"5", b"null", b'{"id": NaN}', b"\xff{}", b"[" * 100_000, b'{"id":"a","name":' + b"9" * 5000 + b"}"]
)
def test_bodies_that_are_no_objects_are_bad_input(client: Client, body: bytes) -> None:
    """Neither POST nor PATCH takes them, and the server lives on."""
    client.dog()
    assert client("POST", "/dog", body)[0] == 400
    assert client("PATCH", "/dog/d1", body)[0] == 400
    assert len(client.get("/dog")) == 1


def test_deleting_empties_references(client: Client) -> None:
    """Single references become null, ids leave lists, nothing else is deleted; an object of another entity with the same id is not meant."""
    client.make("/userprofile", "a", email="a@b.c")
    client.dog("a")
    client.dog("b", owner="a", parent="a")
    client("PATCH", "/dog/b", {"friends": ["a", "b"]})
    assert client("DELETE", "/dog/a")[0] == 204
    left = client.get("/dog/b")
    assert (left["owner"], left["parent"], left["friends"]) == ("a", None, ["b"])
    assert client("DELETE", "/userprofile/a")[0] == 204
    assert client.get("/dog/b")["owner"] is None
    client.make("/userprofile", "a", email="a@b.c")
    assert client.get("/dog/b")["owner"] is None


def test_analytics(client: Client) -> None:
    """Exact results; nulls are skipped but counted; without values null, and a sum of 0."""
    paths = ("age/avg", "age/min", "age/max", "weight/sum", "count")

    def results() -> list[Any]:
        return [client.get(f"/analytics/dog/{path}")["result"] for path in paths]

    assert results() == [None, None, None, 0, 0]
    client.dog("a", age=1, weight=0.5)
    client.dog("b", age=2, weight=1.25)
    client.dog("c", age=None, weight=1)
    assert results() == [1.5, 1, 2, 2.75, 3]
    assert client("GET", "/analytics/dog/weight/avg")[0] == 404
    assert client("GET", "/analytics/cat/count")[0] == 404


def test_an_action_checks_in_order(client: Client) -> None:
    """404 before 400 before 409; what is refused changes nothing; then 200 with the whole object."""
    client.make("/userprofile", "u", email="a@b.c", balance=10)
    client.dog(age=1, phase="old", owner="u")
    assert client("POST", "/dog/nobody/grow_up")[0] == 404
    assert client("POST", "/dog/d1/grow_up")[0] == 400
    client("PATCH", "/dog/d1", {"phase": "young"})
    before = client.get("/dog/d1")
    assert client("POST", "/dog/d1/grow_up")[0] == 409
    assert (client.get("/dog/d1"), client.get("/userprofile/u")["balance"]) == (before, 10)
    client("PATCH", "/dog/d1", {"age": 2})
    assert client("POST", "/dog/d1/grow_up") == (200, before | {"age": 3, "phase": "old"})
    assert client.get("/userprofile/u")["balance"] == 7.5
    assert client("POST", "/dog/d1/rest")[1]["phase"] == "grown"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("this.age == 4", True),
        ("this.age == 4.0", True),
        ("this.age < this.weight", True),
        ("this.age + this.legs >= 8", True),
        ("this.age * this.legs != 16", False),
        ("this.age - this.legs < 0", False),
        ('this.born != "2020-01-01 00:00:00"', False),
        ("this.born is null", True),
        ("this.owner is null", True),
        ("this.parent is not null", True),
        ("this.legs is not null", True),
        ('this.nickname == "Say \\"hi\\""', False),
        ("this.good == true", True),
        ("count(this.friends) == 2", True),
        ("sum(this.friends.age) == 7", True),
        ("any item in this.friends satisfies item.born is not null", False),
        ("any item in this.friends satisfies item.age > this.age", True),
        ("every item in this.friends satisfies item.age > this.age", False),
        ("every item in this.friends satisfies item.age + item.legs > 5", False),
        ('every item in this.friends satisfies item.name == "Rex"', True),
    ],
)
def test_conditions(condition: str, holds: bool) -> None:
    """Each form, with null in it where that matters."""
    with serving(request(dog_action([condition], []))) as client:
        client.dog("a", age=7)
        client.dog("b", age=None)
        client.dog("me", age=4, legs=4, parent="a", friends=["a", "b"])
        assert client("POST", "/dog/me/act")[0] == (200 if holds else 409)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("count(this.friends) == 0", True),
        ("sum(this.friends.age) == 0", True),
        ("any item in this.friends satisfies item.age > 0", False),
        ("every item in this.friends satisfies item.age > 0", True),
        ("this.legs != 3", False),
        ("this.legs + this.age > 0", False),
    ],
)
def test_conditions_over_nothing(condition: str, holds: bool) -> None:
    """Empty lists, and a field without a value."""
    with serving(request(dog_action([condition], []))) as client:
        client("POST", "/dog", {"id": "me", "name": "Rex"})
        assert client("POST", "/dog/me/act")[0] == (200 if holds else 409)


@pytest.mark.parametrize(
    ("effects", "me", "other"),
    [
        (["set this.nickname to null"], {"nickname": None}, {}),
        (["set this.friends to []"], {"friends": []}, {}),
        (["set this.good to false"], {"good": False}, {}),
        (["increment this.age by 40"], {"age": 44}, {}),
        (["increment this.age by 1", "set this.legs to this.age * this.age"], {"age": 5, "legs": 25}, {}),
        (["set this.legs to null", "increment this.legs by 1", "set this.age to this.legs + this.age"], {"legs": None, "age": 4}, {}),
        (["set this.parent.age to this.age + this.parent.age"], {}, {"age": 11}),
        (["increment this.parent.age by -7", "set this.parent.legs to this.age - this.parent.age"], {}, {"age": 0, "legs": 4}),
        (["set this.parent to null", "set this.parent.age to 1", "set this.age to 9"], {"parent": None, "age": 9}, {}),
        (['set this.owner.email to "x"', "increment this.age by 1"], {"age": 5}, {}),
        (["for each item in this.friends: set item.legs to item.age + this.age"], {"legs": 8}, {"legs": 11}),
        (["for each item in this.friends: increment item.age by 2"], {"age": 6}, {"age": 9}),
        (['for each item in this.friends: set item.phase to "grown"'], {"phase": "old"}, {"phase": "grown"}),
        (['set this.phase to "grown"'], {"phase": "old"}, {}),
    ],
)
def test_effects(effects: list[str], me: dict[str, Any], other: dict[str, Any]) -> None:
    """Each form, on this object (which is one of its own friends), on the one referred to, and on those in a list."""
    with serving(request(dog_action([], effects))) as client:
        before = client.dog("other", age=7, legs=4)
        client.dog("me", age=4, legs=4, parent="other", friends=["other"])
        mine = client("PATCH", "/dog/me", {"friends": ["other", "me"]})[1]
        status, after = client("POST", "/dog/me/act")
        assert (status, after) == (200, mine | {"phase": "old"} | me)
        assert client.get("/dog/me") == after
        assert client.get("/dog/other") == before | other


def test_lists_set_by_an_effect_are_not_shared() -> None:
    """Two objects whose lists were emptied by the same effect have two lists."""
    with serving(request(dog_action([], ["set this.friends to []"]))) as client:
        for key in ("a", "b"):
            client.dog(key)
            client("POST", f"/dog/{key}/act")
        client("PATCH", "/dog/a", {"friends": ["b"]})
        assert client.get("/dog/b")["friends"] == []
