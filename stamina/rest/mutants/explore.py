"""Looks for requests that tell a faulty server from the ground truth: the reproducer of a mutant that the suite let live.

Requests are drawn, not designed: ordinary, extreme and odd values for the fields of the entities around the fault, changes, deletions, actions. Where the
contract leaves the answer open, two answers count as the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from stamina.draw import Draw
from stamina.exchange import NO_BODY, Json, RawBody, Request, Response
from stamina.rest import testdata
from stamina.rest.checks import same
from stamina.rest.mutants.mutant import Mutant
from stamina.rest.schema import DatetimeType, Entity, Field, FloatType, IntegerType, ReferenceListType, ReferenceType, State, StringType
from stamina.rest.suite.removed import analytics_path
from stamina.rest.truth import Truth

ROUNDS: Final = 150
"""Sequences that are tried for one mutant."""

LENGTH: Final = 40
"""Requests in one of them."""

_IDS: Final = ("a", "b", "c")
_RESET: Final = Request("POST", "/reset")


def distinguishing(state: State, mutant: Mutant, draw: Draw) -> tuple[Request, ...]:
    """Requests, from a reset on, of which the last is answered wrongly by the mutant; empty when none were found."""
    for number in range(ROUNDS):
        requests = list(_requests(state, mutant.fault.target[1:2], draw.at(number)))
        length = _first_difference(state, mutant, requests)
        if length is not None:
            return _shortened(state, mutant, requests[:length])
    return ()


def _first_difference(state: State, mutant: Mutant, requests: Sequence[Request]) -> int | None:
    truth, wrong = Truth(state).handle, mutant.fault.build()
    for number, request in enumerate(requests, 1):
        if not _alike(request, truth(request), wrong(request)):
            return number
    return None


def _shortened(state: State, mutant: Mutant, requests: Sequence[Request]) -> tuple[Request, ...]:
    """The sequence without the requests that it does not need."""
    kept = list(requests)
    for request in requests[1:-1]:
        fewer = [each for each in kept if each is not request]
        if _first_difference(state, mutant, fewer) == len(fewer):
            kept = fewer
    return tuple(kept)


def _alike(request: Request, right: Response, got: Response) -> bool:
    """Whether the contract allows both answers, as far as it matters here (H1-H3, H6, H8, B1)."""
    if right.status < 300:
        return got.status < 300 and _same_body(right.json, got.json)
    classes: tuple[tuple[int, ...], ...] = ((404,), (405,), (400, 422), (409,))
    if request.method == "POST" and request.path.count("/") == 1:
        classes = ((404,), (405,), (400, 409, 422))
    elif right.status == 400 and request.method == "POST":
        classes = ((400, 409),)
    return any(right.status in each and got.status in each for each in classes)


def _same_body(right: Json, got: Json) -> bool:
    if isinstance(right, list):
        return isinstance(got, list) and len(right) == len(got) and all(_same_body(one, two) for one, two in zip(_sorted(right), _sorted(got), strict=True))
    if isinstance(right, dict):
        return isinstance(got, dict) and got.keys() == right.keys() and all(same(value, got.get(name)) for name, value in right.items())
    return True


def _sorted(objects: list[Json]) -> list[Json]:
    return sorted(objects, key=lambda each: str(each.get("id")) if isinstance(each, dict) else "")


def _requests(state: State, near: tuple[str, ...], draw: Draw) -> Iterator[Request]:
    """A reset, then requests on the entity of the fault and those that it is connected with."""
    entities = _around(state, near)
    yield _RESET
    for number in range(LENGTH):
        place = draw.at(number)
        yield _request(state, place.pick(entities), place, early=number < 3 * len(entities))


def _around(state: State, near: tuple[str, ...]) -> list[Entity]:
    """The entity of the fault several times, what its references lead to, and one more."""
    main = next((entity for entity in state.entities if entity.name in near), None)
    if main is None:
        return list(state.entities)
    targets = {field.type.target for field in main.fields if isinstance(field.type, ReferenceType | ReferenceListType)}
    holders = [entity for entity in state.entities if any(getattr(field.type, "target", None) == main.name for field in entity.fields)]
    return [main, main, main, *(state.entity(name) for name in sorted(targets)), *holders[:2], state.entities[0], state.entities[-1]]


def _request(state: State, entity: Entity, draw: Draw, *, early: bool) -> Request:
    path, key = f"/{entity.segment}", draw.pick(_IDS)
    kind = draw.pick(
        ("create",) if early else ("create", "create", "update", "update", "update", "delete", "read", "list", "act", "act", "act", "compute", "old")
    )
    if kind == "act" and entity.actions:
        return Request("POST", f"{path}/{key}/{draw.pick(entity.actions).name}")
    if kind == "compute" and entity.analytics:
        return Request("GET", analytics_path(entity.segment, draw.pick(entity.analytics)))
    if kind == "old" and state.retired:
        return Request("GET", f"/{draw.pick(state.retired).segment}")
    if kind == "create":
        return Request("POST", path, {"id": key, **_body(entity, draw, all_needed=draw.chance(0.9))})
    if kind == "update":
        return Request("PATCH", f"{path}/{key}", _body(entity, draw, all_needed=False))
    if kind in ("delete", "read"):
        return Request("DELETE" if kind == "delete" else "GET", f"{path}/{key}")
    return Request("GET", path)


def _body(entity: Entity, draw: Draw, *, all_needed: bool) -> dict[str, Json]:
    odd = draw.at("odd").integer(0, 3 * len(entity.fields))
    body: dict[str, Json] = {}
    for number, field in enumerate(entity.fields):
        place = draw.at(field.name)
        if number == odd:
            body[field.name] = place.pick(_odd_values(field))
        elif (all_needed and testdata.needed(field)) or place.chance(0.5):
            body[field.name] = _good_value(field, place)
    return body


def _good_value(field: Field, draw: Draw) -> Json:
    match field.type:
        case ReferenceType():
            return draw.pick((*_IDS, None))
        case ReferenceListType():
            return draw.sample(_IDS, draw.integer(0, 2))
        case _:
            values: list[Json] = [probe.value for probe in testdata.inside(field)]
            values += [testdata.ordinary(field, draw.integer(0, 40)) for _ in range(3)] + [None] * field.nullable
            return draw.pick([*values, *_unusual(field)])


def _unusual(field: Field) -> list[Json]:
    """Good values that a careless server may take for bad ones, or change."""
    match field.type:
        case StringType(low, high):
            return [text for text in ("Ab  <c> ",) if (low or 0) <= len(text) and (high is None or len(text) <= high)]
        case FloatType(low, high) | IntegerType(low, high):
            return [number for number in range(-2, 12) if (low is None or number >= low) and (high is None or number <= high)]
        case _:
            return []


def _odd_values(field: Field) -> list[Json]:
    values = [probe.value for number in range(3) for probe in (*testdata.outside(field), *testdata.wrong(field, number))]
    if isinstance(field.type, DatetimeType):
        values.append(testdata.ordinary(field, 1)[:11] + "25:61:61")
    return [*values, None, "nowhere", ["nowhere"], "a", 7]


def as_text(requests: Sequence[Request]) -> tuple[str, ...]:
    """The sequence as lines that a person can follow."""
    return tuple(f"{request.method} {request.path}{_body_text(request)}" for request in requests)


def _body_text(request: Request) -> str:
    if request.body is NO_BODY:
        return ""
    if isinstance(request.body, RawBody):
        return f" {request.body.data!r}"
    payload = attrs.evolve(request).payload() or b""
    return f" {payload.decode()}"
