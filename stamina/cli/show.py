"""What ``stamina scenarios show`` prints of one turn, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, cast

import attrs

from stamina.exchange import NO_BODY, RawBody, Request, Response
from stamina.playing import playing
from stamina.rest.canonical import change_to_json, to_json
from stamina.rest.domain import RestScenario
from stamina.rest.prose.specification import specification
from stamina.suite import Case, Expectation, Step

View: TypeAlias = Callable[[RestScenario, int], Any]
"""A turn's view: text, or a JSON value."""


def state_view(scenario: RestScenario, turn: int) -> Any:
    """The state in its canonical form; `check --state` and `serve --state` take it."""
    return to_json(scenario.state(turn))


def suite_view(scenario: RestScenario, turn: int) -> Any:
    """Every case with its steps."""
    return [_case(case) for case in scenario.suite(turn).cases]


def changes_view(scenario: RestScenario, turn: int) -> Any:
    """The changes that led to the state."""
    return [change_to_json(change) for change in scenario.changes(turn)]


def truth_view(scenario: RestScenario, turn: int) -> Any:
    """What the ground truth answers to every request of the suite."""
    handle = scenario.truth(turn)
    game = playing(scenario.suite(turn))
    exchanges = []
    try:
        request = next(game)
        while True:
            response = handle(request)
            exchanges.append(_request(request) | {"status": response.status, "answer": _answer(response)})
            request = game.send(response)
    except StopIteration:
        return exchanges


VIEWS: Mapping[str, View] = {
    "spec": lambda scenario, turn: specification(scenario.state(turn)),
    "request": lambda scenario, turn: scenario.turn(turn).prompt,
    "instructions": lambda scenario, turn: scenario.files["README.md"],
    "state": state_view,
    "suite": suite_view,
    "changes": changes_view,
    "truth": truth_view,
}


def as_text(value: Any) -> str:
    """A view for people: text as it is, states indented, lists one element a line or block."""
    if isinstance(value, str):
        return value.rstrip("\n")
    if isinstance(value, list):
        return "\n".join(_element(element) for element in value)
    return json.dumps(value, indent=2, ensure_ascii=False)


def _element(value: dict[str, Any]) -> str:
    if "steps" in value:
        steps = "\n".join(f"    {_line(step)}  ► {_expected(step['expects'])}{', preparation' if step['setup'] else ''}" for step in value["steps"])
        return f"{value['case']} [{value['family']}; {', '.join(value['rules'])}] {value['title']}\n{steps}"
    if "status" in value:
        return f"{_line(value)}  ► {value['status']} {_compact(value['answer'])}"
    return _compact(value)


def _line(request: dict[str, Any]) -> str:
    body = "" if "body" not in request else f" {_compact(request['body'])}"
    return f"{request['method']} {request['path']}{body}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _case(case: Case) -> dict[str, Any]:
    steps = [_step(step) for step in case.steps]
    target = list(case.target)
    return {
        "case": case.name,
        "family": case.family,
        "rules": list(case.rules),
        "title": case.title,
        "target": target,
        "since": case.since,
        "steps": steps,
    }


def _step(step: Step) -> dict[str, Any]:
    return _request(step.request) | {"expects": _expectation(step.expect), "setup": step.setup}


def _expectation(expect: Expectation) -> dict[str, Any]:
    """Its kind and what it says; what it leaves open is left out."""
    said = {name: _plain(value) for name, value in attrs.asdict(cast(Any, expect), recurse=False).items() if value not in ("", ())}
    return {"kind": type(expect).__name__, **said}


def _plain(value: Any) -> Any:
    """As JSON; an exact fraction becomes the nearest float."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else float(value)
    return list(value) if isinstance(value, tuple) else value


def _expected(said: dict[str, Any]) -> str:
    """An expectation in a line: statuses, body, reason."""
    statuses = " or ".join(map(str, said.get("statuses", (200,))))
    body = f" {_compact(said['expected'])}" if "expected" in said else ""
    missing = f" without {', '.join(said['forbidden'])}" if "forbidden" in said else ""
    return statuses + body + missing + (f" ({said['why']})" if "why" in said else "")


def _request(request: Request) -> dict[str, Any]:
    """A body that is no JSON is shown as text."""
    head = {"method": request.method, "path": request.path}
    if request.body is NO_BODY:
        return head
    body = request.body.data.decode("utf-8", "backslashreplace") if isinstance(request.body, RawBody) else request.body
    return {**head, "body": body}


def _answer(response: Response) -> Any:
    return response.json if response.body else None
