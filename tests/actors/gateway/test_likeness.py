"""What may differ between a recorded request and the one that is asked in a replay, and what may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.gateway.likeness import difference, normal_bytes

SAME = [
    ("session f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "session 0b8b4c5e-1111-42d0-9f65-00a0c91e6bf7"),
    ("msg_13b24038-de52-5c49-b538-0a1b2c3d4e5f", "msg_36d9a717-996e-561b-a300-f0e1d2c3b4a5"),
    ("run 01ARZ3NDEKTSV4RRFFQ69G5FAV", "run 01BX5ZZKBKACTAV9WEVGEMMVRZ"),
    ("ses_4a7fKq2mZp0RstUv, call_abcdef1234567", "ses_9b7fKq2mZp0RstUw, call_abcdef1234568"),
    ("Today is Mon Nov 30 2026.", "Today is Tue Dec 1 2026."),
    ("Today's date: 2026-11-30", "Today's date: 2027-01-02"),
    ("at 2026-11-30T08:15:01.123Z", "at 2026-12-01T09:00:00.9Z"),
    ("cwd: /home/a/runs/x/live/0123456789abcdef/workspace", "cwd: /srv/y/live/fedcba9876543210/workspace"),
    ("listening on http://127.0.0.1:40123/", "listening on http://127.0.0.1:38999/"),
    ("wrote tmpab12_xyz", "wrote tmpzz99qqqq"),
]
OTHER = [
    ("a string of at most 20 characters", "a string of at most 30 characters"),
    ("3 tests failed", "2 tests failed"),
    ("field customer_name", "field customer_mail"),
    ("total_transportation", "total_transformation"),
    ("", "x"),
]
RESULTS = [
    ("3 passed in 0.12s", "3 passed in 1.07s"),
    ("-rw-r--r-- 1 root root  912 Nov 30 08:15 a.py", "-rw-r--r-- 1 root root 1001 Dec  1 09:00 a.py"),
    ("[main a1b2c3d] turn 3", "[main 9f8e7d6] turn 3"),
    ("Chunk ID: 9c41fb\nWall time: 0.1 s", "Chunk ID: facade\nWall time: 2 s"),
    ("<Server at 0x7f00a1>, pid 4123", "<Server at 0x7fffb2>, pid 77"),
]


def of_result(protocol: str, text: str) -> bytes:
    """A request with what a tool gave back."""
    bodies: dict[str, dict[str, Any]] = {
        "chat": {"messages": [{"role": "tool", "tool_call_id": "c", "content": text}]},
        "responses": {"input": [{"type": "function_call_output", "call_id": "c", "output": text}]},
        "messages": {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": text}]}]}]},
        "gemini": {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": text}}}]}]},
    }
    return json.dumps(bodies[protocol]).encode()


def of_prompt(text: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text}]}).encode()


@pytest.mark.parametrize(("one", "two"), SAME)
def test_ids_times_and_places_may_differ(one: str, two: str) -> None:
    assert difference(of_prompt(one), of_prompt(two)) is None
    assert normal_bytes(b"," + of_prompt(one)) == normal_bytes(of_prompt(two))


@pytest.mark.parametrize(("one", "two"), OTHER)
def test_what_is_asked_may_not(one: str, two: str) -> None:
    found = difference(of_prompt(one), of_prompt(two))
    assert found is not None
    assert found.startswith("$.messages[0].content was ")
    assert normal_bytes(of_prompt(one)) != normal_bytes(of_prompt(two))


@pytest.mark.parametrize("protocol", ["chat", "responses", "messages", "gemini"])
@pytest.mark.parametrize(("one", "two"), [*SAME, *RESULTS])
def test_results_of_commands_may_differ_in_numbers_too(protocol: str, one: str, two: str) -> None:
    assert difference(of_result(protocol, one), of_result(protocol, two)) is None
    assert difference(of_result(protocol, "ok"), of_result(protocol, "FAILED")) is not None


@pytest.mark.parametrize(("one", "two"), RESULTS)
def test_numbers_in_what_was_said_may_not(one: str, two: str) -> None:
    assert difference(of_prompt(one), of_prompt(two)) is not None


def test_names_of_properties_are_no_marks() -> None:
    """Tools may have a parameter that is called "type", or "role"."""
    tools = {"tools": [{"parameters": {"properties": {"type": {"enum": ["a"]}, "role": ["tool"]}}}]}
    old, new = (json.dumps({**tools, "n": number}).encode() for number in (1, 2))
    assert difference(old, old) is None
    assert difference(old, new) == "$.n was 1, is 2"
    assert normal_bytes(old) == normal_bytes(old)


def test_the_difference_has_a_path() -> None:
    """For a person who looks for it in a long conversation."""
    old = {"a": [1, {"b": "x" * 500 + "one"}], "c": True, "d": [1]}
    cases = [
        ({**old, "a": [1, {"b": "x" * 500 + "two"}]}, '$.a[1].b was …"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxone", is …"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxtwo"'),
        ({**old, "c": 1}, "$.c was true, is 1"),
        ({**old, "d": [1, 2]}, "$.d had 1 elements, has 2; what is new begins there with 2"),
        ({**old, "d": []}, "$.d had 1 elements, has 0; what is missing begins there with 1"),
        ({**old, "e": None}, "$.e is new: null"),
        ({"a": old["a"], "d": [1]}, "$.c was true, is missing"),
    ]
    for new, expected in cases:
        assert difference(json.dumps(old).encode(), json.dumps(new).encode()) == expected
    assert difference(b'{"a": 1, "b": 2}', b'{"b":2,"a":1}') is None
