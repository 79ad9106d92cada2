"""A ground truth that is right in another way: wherever the contract leaves a choice open, it takes one by lot (H1-H3, H5-H8, B1, A3).

No suite may fail it. A suite that does expects something that the text does not say.
"""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from typing import Final

import attrs

from stamina.draw import Draw
from stamina.exchange import Json, Request, Response
from stamina.rest.resources import Resource, analytics_path
from stamina.rest.schema import Action, Analytics, AnalyticsOperation, Entity, FloatType, IntegerType, State
from stamina.rest.semantics import Object, Refusal, View
from stamina.rest.truth import NO_PATH, Truth, error, object_in

_ERRORS: Final = (b"", b"no", b'{"detail": [{"msg": "bad"}]}', b"<html><body>Bad Request</body></html>", b"null")
_EXTRA: Final = "_links"
"""A key that no field can have, for its name is no snake_case that begins with a letter."""


@attrs.frozen
class Latitude:
    """One choice for everything that the contract leaves open.

    Attributes:
        created, deleted, reset: statuses of success (H1, H5).
        refused, taken: statuses of bad input and of a duplicate (H2, H3).
        wrong_state: of an action in a wrong state (B1).
        gone_action: of an action that does not exist (H6).
        taken_first: whether a duplicate is noticed before other faults of its body.
        body_first: whether a PATCH of an unknown id looks at the body first (H7).
        strict_keys: whether keys that belong to no field are refused (H7).
        conditions_first: whether an action looks at its conditions before its state (B1: both wrong, either status).
        nulls: whether keys with null are there (H8).
        reversed: whether lists and reference lists come in reversed order (H7, H8).
        extra: whether objects carry a key that nobody asked for (H7).
        numbers: ``plain``, ``pointed`` (5.0 for 5) or ``exponent`` (5e0 for 5): numbers compare by value (H8).
        error_body: of refusals (H7).
        slip: a relative error of averages and sums, as of another order of adding (A3).
    """

    created: int
    deleted: int
    reset: int
    refused: int
    taken: int
    wrong_state: int
    gone_action: int
    taken_first: bool
    body_first: bool
    strict_keys: bool
    conditions_first: bool
    nulls: bool
    reversed: bool
    extra: bool
    numbers: str
    error_body: bytes
    slip: float

    @classmethod
    def drawn(cls, draw: Draw) -> Latitude:
        """One of all the choices."""

        def coin(name: str) -> bool:
            return draw.at(name).chance(0.5)

        return cls(
            created=draw.at("created").pick((200, 201)),
            deleted=draw.at("deleted").pick((200, 204)),
            reset=draw.at("reset").pick((200, 204)),
            refused=draw.at("refused").pick((400, 422)),
            taken=draw.at("taken").pick((400, 409, 422)),
            wrong_state=draw.at("wrong state").pick((400, 409)),
            gone_action=draw.at("gone action").pick((404, 405)),
            taken_first=coin("taken first"),
            body_first=coin("body first"),
            strict_keys=coin("strict keys"),
            conditions_first=coin("conditions first"),
            nulls=coin("nulls"),
            reversed=coin("reversed"),
            extra=coin("extra"),
            numbers=draw.at("numbers").pick(("plain", "pointed", "exponent")),
            error_body=draw.at("error body").pick(_ERRORS),
            slip=draw.at("slip").pick((0.0, 1e-12, -1e-12)),
        )


class Permissive(Truth):
    """A right server with a latitude of its own.

    Every other one has several, and takes another with each request: nothing says that a server must choose the same way twice. Every other one has analytics
    that nobody asked for: only those that were asked for *need* to exist.

    Args:
        state: a valid state.
        draw: decides the latitudes.
    """

    def __init__(self, state: State, draw: Draw) -> None:
        super().__init__(state)
        others = draw.at("others").pick((0, 4))
        self.latitudes = (Latitude.drawn(draw), *(Latitude.drawn(draw.at("other", number)) for number in range(others)))
        self.latitude = self.latitudes[0]
        self._next = itertools.cycle(self.latitudes)
        if draw.at("spare analytics").chance(0.5):
            self._resources = {entity.segment: _with_spare_analytics(self._resources[entity.segment], entity) for entity in state.entities}

    def handle(self, request: Request) -> Response:
        """Answer one request. Never raises for what a client can send."""
        self.latitude = next(self._next)
        response = super().handle(request)
        if response.status >= 400:
            return Response(response.status, self.latitude.error_body)
        if request.path == "/reset":
            return Response(self.latitude.reset, b"" if self.latitude.reset == 204 else b"{}")
        if request.method == "DELETE":
            return Response(self.latitude.deleted, b"" if self.latitude.deleted == 204 else b"null")
        status = self.latitude.created if response.status == 201 else response.status
        return Response(status, written(self._shown(response.json), self.latitude.numbers).encode())

    def _entity(self, resource: Resource, request: Request, rest: list[str]) -> Response:
        if len(rest) == 2 and request.method == "POST" and rest[1] not in resource.actions:
            return error(self.latitude.gone_action, "no such action") if self.latitude.gone_action == 405 else NO_PATH
        if self.latitude.body_first and len(rest) == 1 and request.method == "PATCH" and rest[0] not in self._store[resource.name]:
            absent = self._update(resource, {"id": rest[0]}, object_in(request))
            return absent if absent.status >= 400 else super()._entity(resource, request, rest)
        return self._refusing(super()._entity(resource, request, rest), rest)

    def _refusing(self, response: Response, rest: list[str]) -> Response:
        """The response with this server's status for bad input; an action's statuses are its own."""
        return error(self.latitude.refused, "bad input") if response.status == 400 and len(rest) < 2 else response

    def _create(self, resource: Resource, body: Object | None) -> Response:
        if body is not None and self._knows_all(resource, body):
            if self.latitude.taken_first and isinstance(body.get("id"), str) and body["id"] in self._store[resource.name]:
                return self._taken(resource, body)
            return super()._create(resource, body)
        return error(400, "bad input")

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        return super()._update(resource, stored, body if body is not None and self._knows_all(resource, body) else None)

    def _knows_all(self, resource: Resource, body: Object) -> bool:
        return not self.latitude.strict_keys or all(name in resource.by_name or name == "id" for name in body)

    def _taken(self, resource: Resource, created: Object) -> Response:
        # As a status of its own: 400 would be changed into that of bad input, which is right as well.
        return error(self.latitude.taken, "taken")

    def _refusal(self, action: Action, seen: View) -> Refusal | None:
        reason = super()._refusal(action, seen)
        if reason is Refusal.WRONG_STATE and self.latitude.conditions_first:
            anywhere = attrs.evolve(action, from_values=(*action.from_values, seen.this[action.enum_field]))
            return super()._refusal(anywhere, seen) or reason
        return reason

    def _refused(self, reason: Refusal) -> Response:
        return error(self.latitude.wrong_state if reason is Refusal.WRONG_STATE else 409, "refused")

    def _computed(self, operation: AnalyticsOperation, field: str, objects: list[Object]) -> Json:
        value = super()._computed(operation, field, objects)
        if operation in (AnalyticsOperation.AVG, AnalyticsOperation.SUM) and value is not None:
            return value * (1 + self.latitude.slip)
        return value

    def _shown(self, body: Json) -> Json:
        """The body as this server shows it; ``result`` objects are left alone but for their numbers."""
        if isinstance(body, list):
            return [self._shown(each) for each in (reversed(body) if self.latitude.reversed else body)]
        if "id" not in body:
            return {**body, _EXTRA: {}} if self.latitude.extra else body
        shown = {name: value[::-1] if isinstance(value, list) and self.latitude.reversed else value for name, value in body.items()}
        if not self.latitude.nulls:
            shown = {name: value for name, value in shown.items() if value is not None}
        return {**shown, _EXTRA: {"self": body["id"], "n": 1}} if self.latitude.extra else shown


def _with_spare_analytics(resource: Resource, entity: Entity) -> Resource:
    """The resource with every analytics endpoint that its fields allow, without those that were removed (H6, A1)."""
    numeric = [field.name for field in entity.fields if isinstance(field.type, IntegerType | FloatType)]
    computed = [Analytics(operation, name) for name in numeric for operation in AnalyticsOperation if operation is not AnalyticsOperation.COUNT]
    allowed = [each for each in (Analytics(AnalyticsOperation.COUNT), *computed) if each not in entity.retired.analytics]
    return attrs.evolve(resource, analytics={analytics_path(each): each.operation for each in allowed})


def written(value: Json, numbers: str) -> str:
    """JSON with numbers in this style: ``plain``, ``pointed`` or ``exponent``."""
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(name)}: {written(each, numbers)}" for name, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(written(each, numbers) for each in value) + "]"
        case bool() | None | str():
            return json.dumps(value)
        case _ if numbers == "plain":
            return json.dumps(value)
        case _:
            return _number(value, numbers)


def _number(value: float, style: str) -> str:
    """The same number, written otherwise."""
    # repr of a double reads back as the same double, and Decimal spells it with or without an exponent.
    exact = Decimal(repr(value))
    if style == "exponent":
        return format(exact, "e")
    text = format(exact, "f")
    return text if "." in text else f"{text}.0"
