"""Each of the sixteen changes, from its wording to what the server does."""

from __future__ import annotations

import pytest

from harnesses.reference_agent.text import Unreadable
from tests.harnesses.agent_lab import SPECIFICATION, dog_action, request, serving, session_after

ACTION = 'of entity "Dog" (POST /dog/{id}/grow_up)'
PROSE = "- All else about it stays as it is."


def test_add_entity() -> None:
    """A new entity has all its paths and fields at once."""
    toy = (
        'Add entity "Toy" with the path /toy and these fields:\n'
        '- "id": string, required, non-nullable, unique, given by the client\n'
        '- "kind": enum "ToyKind" ("ball", "stick"), optional, nullable, default "ball"\n'
        '- "dogs": list of references to "Dog", optional, non-nullable, default []'
    )
    with serving(request(toy)) as client:
        client.dog()
        assert client.make("/toy", "t1", dogs=["d1"]) == {"id": "t1", "kind": "ball", "dogs": ["d1"]}
        client("DELETE", "/dog/d1")
        assert client.get("/toy") == [{"id": "t1", "kind": "ball", "dogs": []}]


def test_delete_entity() -> None:
    """It goes with its analytics, the fields that refer to it, and the effects that use these; the action stays."""
    gone = (
        'Delete entity "UserProfile" (path /userprofile). These go with it:\n'
        "- analytics endpoint GET /analytics/userprofile/balance/max\n"
        '- field "owner" of entity "Dog"\n'
        f'- effect `increment this.owner.balance by -2.5` of action "grow_up" {ACTION}'
    )
    with serving(request(gone)) as client:
        assert client("GET", "/userprofile")[0] == 404
        assert client("GET", "/analytics/userprofile/balance/max")[0] == 404
        assert "owner" not in client.dog()
        assert client("POST", "/dog/d1/grow_up")[1]["age"] == 4


def test_rename_entity() -> None:
    """Its paths move; the old ones are unknown."""
    renamed = (
        'Rename entity "Dog" to "BigHound":\n- /dog becomes /bighound\n'
        + "".join(f"- GET /analytics/dog/{path} becomes GET /analytics/bighound/{path}\n" for path in ("age/avg", "age/min", "age/max", "weight/sum", "count"))
        + "".join(f"- POST /dog/{{id}}/{name} becomes POST /bighound/{{id}}/{name}\n" for name in ("grow_up", "rest"))
        + PROSE
    )
    with serving(request(renamed)) as client:
        client.make("/bighound", "a", name="Rex")
        client.make("/bighound", "b", name="Max", parent="a", friends=["a"])
        assert client.get("/analytics/bighound/count") == {"result": 2}
        assert client("POST", "/bighound/a/grow_up")[0] == 200
        for path in ("/dog", "/dog/a", "/analytics/dog/count"):
            assert client("GET", path)[0] == 404
        client("DELETE", "/bighound/a")
        assert client.get("/bighound/b")["parent"] is None


def test_add_field() -> None:
    """The field is checked and has its default."""
    with serving(request('Add to entity "Dog" the field "score": integer, optional, non-nullable, minimum -5, default 0')) as client:
        assert client.dog()["score"] == 0
        assert client("PATCH", "/dog/d1", {"score": -6})[0] == 400


def test_delete_field() -> None:
    """An enum field takes its actions with it; its key is gone from every answer."""
    gone = f'Delete field "phase" of entity "Dog". These go with it:\n- action "grow_up" {ACTION}\n- action "rest" {ACTION.replace("grow_up", "rest")}'
    with serving(request(gone)) as client:
        assert "phase" not in client.dog()
        assert client("POST", "/dog/d1/grow_up")[0] in (404, 405)


def test_delete_field_without_consequences() -> None:
    """A deletion that takes nothing with it has no bullets."""
    with serving(request('Delete field "born" of entity "Dog"')) as client:
        assert "born" not in client.dog()


def test_rename_field() -> None:
    """Requests, answers, analytics, conditions, effects and transitions use the new name, in actions of any entity too."""
    changes = (
        'Rename field "balance" of entity "UserProfile" to "funds":\n'
        "- GET /analytics/userprofile/balance/max becomes GET /analytics/userprofile/funds/max\n" + PROSE,
        'Rename field "phase" of entity "Dog" to "stage":\n' + PROSE,
        'Rename field "owner" of entity "Dog" to "human":\n' + PROSE,
    )
    with serving(request(*changes)) as client:
        client.make("/userprofile", "u", email="a@b.c", funds=10)
        client.dog(human="u")
        acted = client("POST", "/dog/d1/grow_up")[1]
        assert (acted["stage"], "phase" in acted, "owner" in acted) == ("old", False, False)
        assert client.get("/userprofile/u") == {"id": "u", "email": "a@b.c", "funds": 7.5}
        assert client.get("/analytics/userprofile/funds/max") == {"result": 7.5}
        assert client("GET", "/analytics/userprofile/balance/max")[0] == 404


def test_change_constraints() -> None:
    """The bounds named are set; the others stay."""
    with serving(request('Change the constraints of field "age" of entity "Dog": minimum 1')) as client:
        client.dog(age=30)
        assert [client("PATCH", "/dog/d1", {"age": age})[0] for age in (0, 1, 31)] == [400, 200, 400]


def test_add_enum_value() -> None:
    """The new value is accepted; actions start from the same values as before."""
    with serving(request('Add the value "ancient" to enum "DogPhase" of field "phase" of entity "Dog", after its other values')) as client:
        client.dog(phase="ancient")
        assert client("POST", "/dog/d1/grow_up")[0] == 400


def test_add_and_delete_analytics() -> None:
    """An endpoint is there from its addition to its deletion."""
    changes = (
        'Add to entity "Dog" the analytics endpoint GET /analytics/dog/weight/max: the largest "weight" over all "Dog" objects',
        'Delete from entity "Dog" the analytics endpoint GET /analytics/dog/count',
    )
    with serving(request(*changes)) as client:
        assert client.get("/analytics/dog/weight/max") == {"result": None}
        assert client("GET", "/analytics/dog/count")[0] == 404


def test_add_and_remove_action() -> None:
    """An action is there from its addition to its removal."""
    with serving(request(dog_action([], []), f'Remove action "grow_up" {ACTION}')) as client:
        client.dog()
        assert client("POST", "/dog/d1/grow_up")[0] == 404
        assert client("POST", "/dog/d1/act")[1]["phase"] == "old"


def test_add_and_remove_condition_and_effect() -> None:
    """New ones go behind the others, and what is removed is gone."""
    changes = (
        f'Add to action "grow_up" {ACTION}, after its other conditions, the condition `this.good == false`',
        f'Add to action "grow_up" {ACTION}, after its other effects, the effect `set this.age to this.age * this.age`',
        f'Remove from action "grow_up" {ACTION} the condition `this.nickname != "a `b` \\"c\\""`',
        f'Remove from action "grow_up" {ACTION} the effect `increment this.owner.balance by -2.5`',
    )
    with serving(request(*changes)) as client:
        client.dog()
        assert client("POST", "/dog/d1/grow_up")[0] == 409
        client("PATCH", "/dog/d1", {"good": False, "nickname": None})
        assert client("POST", "/dog/d1/grow_up")[1]["age"] == 16


def test_more_than_nine_changes() -> None:
    """What belongs to change 10 is indented by one more."""
    fields = [f'Add to entity "Dog" the field "extra{number}": boolean, optional, nullable' for number in range(9)]
    with serving(request(*fields, dog_action(["this.age >= 2"], []))) as client:
        assert "extra8" in client.dog()
        assert client("POST", "/dog/d1/act")[0] == 200


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ('Delete field "age" of entity "Dog"', "does not list what the rules take away"),
        (
            'Delete field "born" of entity "Dog". These go with it:\n- action "rest" of entity "Dog" (POST /dog/{id}/rest)',
            "lists what the rules would not take",
        ),
        ('Rename field "age" of entity "Dog" to "years":\n' + PROSE, "the paths that move are not those listed"),
        ('Rename field "age" of entity "Dog" to "name":\n' + PROSE, 'there is in entity "Dog" a field "name" already'),
        ('Add to entity "Dog" the field "age": boolean, optional, nullable', "already"),
        ('Remove action "rest" of entity "Dog" (POST /hound/{id}/rest)', "the path of entity"),
        ('Add the value "x" to enum "Phase" of field "phase" of entity "Dog", after its other values', "the enum type"),
        (dog_action(["this.wings > 2"], []), 'there is no field "wings"'),
        ('Add entity "Toy" with the path /toys and these fields:', "the path of"),
    ],
)
def test_what_contradicts_the_api_is_refused(change: str, reason: str) -> None:
    """A request that does not fit what the agent knows shows a gap in the text or in its reading; it must not pass in silence."""
    with pytest.raises(Unreadable, match=reason):
        session_after(request(change)).api()


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("2 entities", "3 entities"),
        ('"grown", "old" (field', '"grown" (field'),
        ("Path: /dog\n", "Path: /dogs\n"),
        ("GET /analytics/dog/count", "GET /analytics/cat/count"),
        ("optional, nullable, maximum 1000.0", "optional, nullable, maximum very much"),
        ("# Actions\n", "# Deeds\n"),
        ("`increment this.age by 1`", "increment this.age by 1"),
    ],
)
def test_a_specification_that_contradicts_itself_is_refused(right: str, wrong: str) -> None:
    """The same for the specification."""
    assert right in SPECIFICATION
    session = session_after()
    session.specification = SPECIFICATION.replace(right, wrong)
    with pytest.raises(Unreadable, match=r"initial_specification\.md:\d+: expected"):
        session.api()
