"""What a mutant is: a ground truth with one fault, made by an operator that breaks one rule of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import attrs

from stamina.domain import Handler
from stamina.draw import Draw
from stamina.exchange import Request, Response
from stamina.rest.changes import Change
from stamina.rest.schema import Entity, Field, State
from stamina.rest.truth import Truth, error
from stamina.suite import Target

CRASH: Final = error(500, "internal server error")


@attrs.frozen(eq=False)
class Made:
    """One change that was made on the way to a state, with the state before it and the turn that asked for it."""

    turn: int
    before: State
    change: Change


@attrs.frozen(eq=False)
class Ground:
    """What operators work on: the state of a turn, and all changes that led to it, in order."""

    state: State
    history: tuple[Made, ...] = ()
    turn: int = 0


@attrs.frozen(eq=False)
class Fault:
    """One place in which an operator breaks its rule.

    Attributes:
        target: what in the state the fault is in; its cases are tried first.
        detail: the place in words, such as ``"Dog.age: minimum 1 instead of 0"``.
        build: makes a fresh faulty server.
        equivalent: why no test can tell it from the truth, with the rule that says so; empty when one can.
        prove: looks for such a reason where that takes time; asked about survivors only.
    """

    target: Target
    detail: str
    build: Callable[[], Handler]
    equivalent: str = ""
    prove: Callable[[], str] = str


@attrs.frozen(eq=False)
class Operator:
    """Breaks one rule wherever the state gives it a place to be broken.

    Attributes:
        name: in kebab case.
        rule: the contract's number of it.
        summary: what the faulty server does, as a clause.
        faults: all places; lazily.
        places: where finding a fault takes long: functions that each find those of one place, so that a sample need not find all.
    """

    name: str
    rule: str
    summary: str
    faults: Callable[[Ground], Iterator[Fault]]
    places: Callable[[Ground], Sequence[Callable[[], Iterator[Fault]]]] | None = None

    def drawn(self, ground: Ground, draw: Draw) -> Iterator[Fault]:
        """The faults in random order, found as they are asked for."""
        if self.places is None:
            yield from draw.shuffled(list(self.faults(ground)))
        else:
            for find in draw.shuffled(self.places(ground)):
                yield from find()


@attrs.frozen(eq=False)
class Mutant:
    """A fault with the operator that made it."""

    operator: Operator
    fault: Fault


Faults: TypeAlias = Iterator[Fault]


def operator(name: str, rule: str) -> Callable[[Callable[[Ground], Faults]], Operator]:
    """Makes the function that finds the places an operator; its docstring says what the faulty server does."""
    return lambda faults: Operator(name, rule, _summary(faults.__doc__ or ""), faults)


def _summary(text: str) -> str:
    """The first sentence of a docstring, as a clause."""
    first = text.partition("\n")[0].rstrip(".")
    return first[:1].lower() + first[1:]


def guarded(handler: Handler) -> Handler:
    """The server with 500 for whatever it does not survive: a fault may well be a crash, and a framework answers then."""

    def answer(request: Request) -> Response:
        try:
            return handler(request)
        except Exception:  # any: the server is faulty on purpose
            return CRASH

    return answer


def serving(state: State) -> Callable[[], Handler]:
    """A builder of servers that take this state for the right one."""
    return lambda: guarded(Truth(state).handle)


def each_field(ground: Ground) -> Iterator[tuple[Entity, Field]]:
    """Every field with its entity."""
    for entity in ground.state.entities:
        for field in entity.fields:
            yield entity, field


def with_entity(state: State, old: Entity, new: Entity) -> State:
    """The state with one entity changed."""
    return attrs.evolve(state, entities=tuple(new if each is old else each for each in state.entities))


def with_field(state: State, entity: Entity, old: Field, new: Field | None) -> State:
    """The state with one field changed, or gone."""
    fields = tuple(new if each is old else each for each in entity.fields)
    return with_entity(state, entity, attrs.evolve(entity, fields=tuple(each for each in fields if each is not None)))


def field_target(entity: Entity, field: Field) -> Target:
    """The target of what a fault does to a field."""
    return ("field", entity.name, field.name)


def place(entity: Entity, field: Field) -> str:
    """``Dog.age``."""
    return f"{entity.name}.{field.name}"
