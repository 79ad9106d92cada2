"""A suite as a person would write it for pytest and requests: one test function a case, one session for all, each answer's status and JSON looked at."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from stamina.exchange import RawBody, Request
from stamina.rest.checks import Listed, Result, Status, Stored
from stamina.suite import Step, Suite

HEAD = '''
import json

import pytest
import requests

BASE = {base!r}
SESSION = requests.Session()
JSON = {{"Content-Type": "application/json"}}


def ask(method, path, statuses, **body):
    response = SESSION.request(method, BASE + path, timeout=30, **body)
    assert response.status_code in statuses
    return response


def plain(thing, expected):
    """The declared fields; a key that is absent is null, lists have no order."""
    return {{key: sorted(thing[key]) if isinstance(thing.get(key), list) else thing.get(key) for key in expected}}


def stored(response, expected, forbidden):
    thing = response.json()
    assert plain(thing, expected) == expected
    assert not any(key in thing for key in forbidden)


def listed(response, expected, forbidden):
    things = {{thing["id"]: thing for thing in response.json()}}
    assert len(things) == len(expected)
    for one in expected:
        assert plain(things[one["id"]], one) == one
        assert not any(key in things[one["id"]] for key in forbidden)


def result(response, expected):
    got = response.json()["result"]
    assert got is None if expected is None else got == pytest.approx(expected, rel=1e-9, abs=1e-9)
'''


def as_pytest(suite: Suite, base: str) -> str:
    """The file's text; ``base`` is the server's URL."""
    lines = [HEAD.format(base=base)]
    for case in suite.cases:
        lines += ["", "", f"def test_{case.name}():", *(f"    {line}" for step in case.steps for line in _step(step))]
    return "\n".join(lines) + "\n"


def _step(step: Step) -> Iterator[str]:
    expect = step.expect
    match expect:
        case Status(statuses=statuses):
            yield _asked(step.request, statuses)
        case Stored(statuses=statuses, expected=expected, forbidden=forbidden):
            yield f"stored({_asked(step.request, statuses)}, {_plain(expected)!r}, {forbidden!r})"
        case Listed(expected=things, forbidden=forbidden):
            yield f"listed({_asked(step.request, (200,))}, {[_plain(thing) for thing in things]!r}, {forbidden!r})"
        case Result(expected=number):
            yield f"result({_asked(step.request, (200,))}, {_number(number)!r})"
        case _:
            raise NotImplementedError(f"an expectation that pytest is not told of: {expect!r}")


def _plain(thing: dict[str, object]) -> dict[str, object]:
    return {key: sorted(value) if isinstance(value, list) else value for key, value in thing.items()}


def _number(exact: Fraction | None) -> float | None:
    return None if exact is None else float(exact)


def _asked(request: Request, statuses: tuple[int, ...]) -> str:
    body = ""
    if isinstance(request.body, RawBody):
        body = f", data={request.body.data!r}, headers=JSON"
    elif request.payload() is not None:
        body = f", data=json.dumps({request.body!r}), headers=JSON" if request.body is None else f", json={request.body!r}"
    return f"ask({request.method!r}, {request.path!r}, {statuses!r}{body})"
