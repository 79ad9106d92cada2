"""Ground truths that behave wrongly in one place: the means that several operators share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import attrs

from stamina.domain import Handler
from stamina.exchange import Json, Request, Response
from stamina.rest.mutants.mutant import guarded
from stamina.rest.resources import Resource, Slot
from stamina.rest.schema import Entity, Field, State
from stamina.rest.semantics import Object
from stamina.rest.truth import Truth, ok

POST: Final = "POST"
PATCH: Final = "PATCH"

Builder: TypeAlias = Callable[[], Handler]
SlotChange: TypeAlias = Callable[[Slot], Slot]


class Flawed(Truth):
    """A ground truth with a fault in one entity, and perhaps one member of it.

    Args:
        state: the right one.
        entity: the name of the entity; the others are served well.
        member: the field, action or the like.
    """

    def __init__(self, state: State, entity: str = "", member: str = "") -> None:
        super().__init__(state)
        self._flawed = entity
        self._member = member

    def _is_flawed(self, resource: Resource) -> bool:
        return resource.name == self._flawed


def flawed(kind: Callable[..., Truth], state: State, *arguments: object) -> Builder:
    """A builder of servers of a faulty kind."""
    return lambda: guarded(kind(state, *arguments).handle)


class SlotFault(Flawed):
    """One field is judged or filled in wrongly, in the requests of the methods named."""

    def __init__(self, state: State, entity: str, member: str, change: SlotChange, methods: tuple[str, ...]) -> None:
        super().__init__(state, entity, member)
        self._change = change
        self._methods = methods

    def _create(self, resource: Resource, body: Object | None) -> Response:
        return super()._create(self._changed(resource, POST), body)

    def _update(self, resource: Resource, stored: Object, body: Object | None) -> Response:
        return super()._update(self._changed(resource, PATCH), stored, body)

    def _changed(self, resource: Resource, method: str) -> Resource:
        if method not in self._methods or not self._is_flawed(resource):
            return resource
        slots = tuple(self._change(slot) if slot.name == self._member else slot for slot in resource.slots)
        return attrs.evolve(resource, slots=slots, by_name={slot.name: slot for slot in slots})


def slot_fault(state: State, entity: Entity, field: Field, change: SlotChange, methods: tuple[str, ...] = (POST, PATCH)) -> Builder:
    """A builder of servers in which one field's slot is changed."""
    return flawed(SlotFault, state, entity.name, field.name, change, methods)


def checks(change: Callable[[Json], str | None]) -> SlotChange:
    """A slot whose value is judged by this alone."""
    return lambda slot: attrs.evolve(slot, check=lambda value, _: change(value))


def converting(state: State, entity: Entity, field: Field, convert: Callable[[Json], Json], methods: tuple[str, ...] = (POST, PATCH)) -> Builder:
    """A builder of servers that convert one field's value before they look at it."""

    def body_after(body: Object) -> Object:
        return {name: convert(value) if name == field.name else value for name, value in body.items()}

    return rewriting(state, entity, body_after, methods)


def rewriting(state: State, entity: Entity, change: Callable[[Object], Object], methods: tuple[str, ...]) -> Builder:
    """A builder of servers that change the body of each request to one entity before they look at it."""
    path = f"/{entity.segment}"

    def handle(truth: Truth, request: Request) -> Response:
        body = request.body
        if request.method in methods and isinstance(body, dict) and (request.path == path or request.path.startswith(f"{path}/")):
            request = attrs.evolve(request, body=change(body))
        return truth.handle(request)

    return lambda: guarded(partial(handle, Truth(state)))


Tamper: TypeAlias = Callable[[Request, Response], Response]


def tampering(state: State, tamper: Tamper) -> Builder:
    """A builder of servers whose answers are changed on their way out."""

    def handle(truth: Truth, request: Request) -> Response:
        return tamper(request, truth.handle(request))

    return lambda: guarded(partial(handle, Truth(state)))


def showing(state: State, entity: Entity, change: Callable[[Object], Object]) -> Builder:
    """A builder of servers that change each object of one entity on its way out."""
    paths = f"/{entity.segment}"

    def tamper(request: Request, response: Response) -> Response:
        if response.status not in (200, 201) or request.path.split("/")[1] != paths[1:]:
            return response
        body = response.json
        return ok([change(each) for each in body] if isinstance(body, list) else change(body), response.status)

    return tampering(state, tamper)
