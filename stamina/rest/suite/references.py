"""Family ``references``: set, read back, change and clear a reference or list, and what the deletion of its target does (contract V5, V7, D1, S7, S8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs

from stamina.exchange import Json
from stamina.rest import testdata
from stamina.rest.schema import Field
from stamina.rest.suite.kit import Kit, Kits, Object, case, create, delete, listing, patch, post
from stamina.rest.suite.validation import refused_patches, refused_posts
from stamina.rest.testdata import Probe
from stamina.suite import Case, Step

_RULES: Final = ("V3", "V4", "V5", "V7", "H2", "H8", "S3")


@attrs.frozen(eq=False)
class _Plot:
    """One reference or list as its cases see it.

    Attributes:
        kit: of the entity that holds it.
        target: of the entity that it leads to.
        stranger: of an entity whose objects it must not name, None where there is no other.
        field: the reference or list.
    """

    kit: Kit
    target: Kit
    stranger: Kit | None
    field: Field

    def holder(self, key: str, value: Json) -> Object:
        """A body with this value in the field."""
        return {**self.kit.minimal(key), self.field.name: value}

    def targets(self) -> list[Step]:
        """Two objects that it may name."""
        return [create(self.target, self.target.minimal(key)) for key in ("t1", "t2")]

    def own(self) -> list[Object]:
        """The targets as the holder's list shows them: only when they are objects of the same entity."""
        return [self.kit.stored(self.kit.minimal(key)) for key in ("t1", "t2")] if self.kit is self.target else []

    @property
    def cascade(self) -> str:
        """What the deletion of a target does, as a clause."""
        place, target = f"{self.kit.entity.name}.{self.field.name}", self.target.entity.name
        if testdata.is_list(self.field):
            return f"deleting a {target} removes its id from every {place}, and only that id"
        return f"deleting a {target} sets every {place} that refers to it to null, and no other"

    @property
    def values(self) -> str:
        """What the field holds, as a sentence without its end."""
        place, target = f"{self.kit.entity.name}.{self.field.name}", self.target.entity.name
        if testdata.is_list(self.field):
            return f"{place} holds ids of {target} and nothing else; a list that is sent replaces the one before"
        return f"{place} holds the id of a {target} and nothing else, and can be set, changed and cleared"


def references(kit: Kit, kits: Kits, *, fine: bool) -> Iterator[Case]:
    """One case for each reference and list, or two: its values, and the cascade."""
    for field in kit.references:
        target = kits.target(field)
        stranger = kit if kit is not target else next((each for each in kits.by_name.values() if each is not kit), None)
        yield from _cases(_Plot(kit, target, stranger, field), fine=fine)


def _cases(plot: _Plot, *, fine: bool) -> Iterator[Case]:
    noun = "list" if testdata.is_list(plot.field) else "reference"
    stored, values = _list_values(plot) if testdata.is_list(plot.field) else _reference_values(plot)
    cascade = f"{plot.cascade[:1].upper()}{plot.cascade[1:]}."
    if fine:
        seen = listing(plot.kit, (stored, *plot.own()), "the refused requests changed nothing")
        yield _case(plot, noun, f"{plot.values}.", _RULES, (*plot.targets(), *values, seen))
        yield _case(plot, "cascade", cascade, ("D1", "S8"), (*plot.targets(), *_cascade(plot, None)))
    else:
        yield _case(plot, noun, f"{plot.values}. {cascade}", (*_RULES, "D1", "S8"), (*plot.targets(), *values, *_cascade(plot, stored)))


def _case(plot: _Plot, kind: str, title: str, rules: tuple[str, ...], steps: tuple[Step, ...]) -> Case:
    entity, name = plot.kit.entity, plot.field.name
    return case("references", f"{entity.segment}_{name}_{kind}", title, rules, ("field", entity.name, name), *steps)


def _reference_values(plot: _Plot) -> tuple[Object, list[Step]]:
    """The object that holds the reference in the end, and the steps that show what it may hold."""
    kit, field, name = plot.kit, plot.field, plot.field.name
    body = plot.holder("h1", "t1")
    one = kit.stored(body)
    moved = {**one, name: "t2"}
    steps = [
        post(kit, body),
        patch(kit, {name: None}, {**one, name: None}, f"{name} may be null"),
        *_to_itself(plot, "h1", one),
        patch(kit, {name: "t2"}, moved),
    ]
    unknown, foreign = _unknown(plot), _foreign(plot)
    steps += _strangers(plot)
    steps += refused_posts(kit, field, (*foreign, Probe(["t1"], f"{name} is an array")))
    steps += refused_patches(kit, field, (unknown, Probe(7, f"{name} is a number")), moved)
    return moved, steps


def _list_values(plot: _Plot) -> tuple[Object, list[Step]]:
    """The object that holds the list in the end, and the steps that show what it may hold."""
    kit, field, name = plot.kit, plot.field, plot.field.name
    body = plot.holder("h1", ["t1", "t2"])
    one = kit.stored(body)
    emptied: Object = {**one, name: []}
    steps = [
        post(kit, body),
        patch(kit, {name: ["t2"]}, {**one, name: ["t2"]}, "the list was replaced"),
        *_to_itself(plot, ["h1"], one),
        patch(kit, {name: []}, emptied, "the list was emptied"),
    ]
    unknown, foreign = _unknown(plot), _foreign(plot)
    within = [attrs.evolve(probe, value=["t1", probe.value]) for probe in (unknown, *foreign)]
    steps += _strangers(plot)
    steps += refused_posts(kit, field, (*within[1:], Probe("t1", f"{name} is a string")))
    no_lists = (Probe(None, f"{name} must not be null"), Probe("t1", f"{name} is a string"))
    steps += refused_patches(kit, field, (within[0], *no_lists, Probe([7], f"{name} holds a number")), emptied)
    return emptied, steps


def _to_itself(plot: _Plot, value: Json, stored: Object) -> list[Step]:
    """A PATCH that makes the object refer to itself, where the field allows that (S7)."""
    if plot.kit is not plot.target:
        return []
    return [patch(plot.kit, {plot.field.name: value}, {**stored, plot.field.name: value}, "an object may refer to itself")]


def _unknown(plot: _Plot) -> Probe:
    return Probe("nowhere", f"{plot.field.name} names no existing {plot.target.entity.name}")


def _foreign(plot: _Plot) -> list[Probe]:
    """The id of an object of another entity: of the holder itself where it is one, else of a stranger."""
    if plot.stranger is None:
        return []
    why = f"{plot.field.name} names an object of {plot.stranger.entity.name}, not of {plot.target.entity.name}"
    return [Probe("h1" if plot.stranger is plot.kit else "s1", why)]


def _strangers(plot: _Plot) -> list[Step]:
    stranger = plot.stranger
    return [] if stranger is None or stranger is plot.kit else [create(stranger, stranger.minimal("s1"))]


def _cascade(plot: _Plot, other: Object | None) -> Iterator[Step]:
    """A target goes and another of its id comes; ``other`` is an object that is there and does not refer to it, made first where it is None."""
    kit, target, name = plot.kit, plot.target, plot.field.name
    is_list = testdata.is_list(plot.field)
    if other is None:
        body = plot.holder("h1", ["t2"] if is_list else "t2")
        other = kit.stored(body)
        yield create(kit, body)
    held = (["t2", "t1"], ["t1"]) if is_list else ("t1", "t1")
    left: tuple[Json, Json] = (["t2"], []) if is_list else (None, None)
    bodies = [plot.holder(key, value) for key, value in zip(("h2", "h3"), held, strict=True)]
    after = [kit.stored({**body, name: value}) for body, value in zip(bodies, left, strict=True)]
    yield from (create(kit, body) for body in bodies)
    yield delete(target, "t1")
    yield post(target, target.minimal("t1"), "the id is free again")
    yield listing(kit, (other, *after, *plot.own()), "t1 was deleted, and the new t1 is another object")
