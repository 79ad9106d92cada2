"""Family ``validation``: every field takes what its rules allow and refuses what they do not, on POST and on PATCH (contract section 3).

One case a field. Its accepted values come first, so that the refused PATCHes act on an object that must stay as it is; each of those carries valid values for
the neighbouring fields too, before and after the bad one, so that a PATCH which is applied half shows in the list at the end (H2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stamina.exchange import Json
from stamina.rest import testdata
from stamina.rest.schema import EnumType, Field
from stamina.rest.suite.kit import Kit, Object, case, listing, patch, post, refuse_patch, refuse_post
from stamina.rest.testdata import Probe
from stamina.suite import Case, Step


def validation(kit: Kit) -> Iterator[Case]:
    """One case for each plain field. What references refuse is in their own family (:mod:`stamina.rest.suite.references`)."""
    return (_validation(kit, field) for field in kit.plain)


def _validation(kit: Kit, field: Field) -> Case:
    stored, accepted = _accepted(kit, field)
    nulls = [] if field.nullable else [Probe(None, f"{field.name} must not be null")]
    beyond = [*nulls, *testdata.outside(field)]
    wrong = testdata.wrong(field, kit.number + len(field.name))
    return case(
        "validation",
        f"{kit.entity.segment}_{field.name}_validation",
        f"{kit.entity.name}.{field.name} takes exactly the values that its rules allow, on POST and on PATCH.",
        _rules(field),
        ("field", kit.entity.name, field.name),
        *accepted,
        *_refused_posts(kit, field, (*beyond, *wrong)),
        *_refused_patches(kit, field, (*beyond, wrong[0]), stored[0]),
        listing(kit, stored, "the refused requests changed nothing"),
    )


def _rules(field: Field) -> tuple[str, ...]:
    form = "V2" if testdata.is_instant_type(field.type) else "V1"
    return (form, "V3", "V4", "V7", "H2")


def _accepted(kit: Kit, field: Field) -> tuple[list[Object], list[Step]]:
    """The objects that are stored in the end, and the steps that store them: every extreme by POST, then the first object goes through them by PATCH."""
    probes = testdata.inside(field)
    bodies = [({**kit.minimal(f"in-{number}"), field.name: probe.value}, probe.why) for number, probe in enumerate(probes)]
    if field.nullable:
        bodies.append(({**kit.minimal("in-null"), field.name: None}, f"{field.name} may be null"))
    if not testdata.needed(field) and field.default is None:
        bodies.append((kit.minimal("in-none"), f"{field.name} is optional and counts as null"))
    steps = [post(kit, body, why) for body, why in bodies]
    stored = [kit.stored(body) for body, _ in bodies]
    for value, why in _moves(field, probes):
        stored[0] = {**stored[0], field.name: value}
        steps.append(patch(kit, {field.name: value}, stored[0], why))
    return stored, steps


def _moves(field: Field, probes: Sequence[Probe]) -> Iterator[tuple[Json, str]]:
    """What the first object is set to by PATCH, one after the other; in the end it is not null, so that a lost value shows.

    Of an enum's values only the last, which is the newest: the POSTs have shown the others.
    """
    if field.nullable:
        yield None, f"{field.name} may be null"
    yield from ((probe.value, probe.why) for probe in (probes[-1:] if isinstance(field.type, EnumType) else (*probes[1:], *probes[:1])))


def _refused_posts(kit: Kit, field: Field, probes: Sequence[Probe]) -> Iterator[Step]:
    base = kit.minimal("refused")
    if testdata.needed(field):
        yield refuse_post(kit, {name: value for name, value in base.items() if name != field.name}, f"{field.name} is required")
    for probe in probes:
        yield refuse_post(kit, {**base, field.name: probe.value}, probe.why)


def _refused_patches(kit: Kit, field: Field, probes: Sequence[Probe], stored: Object) -> Iterator[Step]:
    before, after = _neighbours(kit, field, stored)
    for probe in probes:
        yield refuse_patch(kit, stored["id"], {**before, field.name: probe.value, **after}, probe.why)


def _neighbours(kit: Kit, field: Field, stored: Object) -> tuple[Object, Object]:
    """Valid new values for the plain field before this one and the one after it, around the end of the list; empty where there is none."""
    others = [other for other in kit.plain if other is not field]
    if not others:
        return {}, {}
    position = sum(other in others for other in kit.entity.fields[: kit.entity.fields.index(field)])
    previous, following = others[position - 1], others[position % len(others)]
    after = {} if following is previous else {following.name: _other_value(kit, following, stored)}
    return {previous.name: _other_value(kit, previous, stored)}, after


def _other_value(kit: Kit, field: Field, stored: Object) -> Json:
    return testdata.different(field, kit.number + 2, stored[field.name])


def bad_ids(kit: Kit, target: Kit, field: Field, *, holder: str, there: str) -> list[Probe]:
    """Values that a reference or list must refuse, where ``holder`` is the id of an object of its own entity and ``there`` that of a target."""
    name, what = field.name, target.entity.name
    elsewhere = [] if kit is target else [(holder, f"{name} names an object of {kit.entity.name}, not of {what}")]
    unknown = [("nowhere", f"{name} names no existing {what}"), *elsewhere]
    if testdata.is_list(field):
        lists = [Probe([there, key], why) for key, why in unknown]
        return [*lists, Probe(None, f"{name} must not be null"), Probe(there, f"{name} is a string"), Probe([7], f"{name} holds a number")]
    return [*(Probe(key, why) for key, why in unknown), Probe(7, f"{name} is a number"), Probe([there], f"{name} is an array")]


def refusals(kit: Kit, field: Field, probes: Sequence[Probe], stored: Object) -> Iterator[Step]:
    """Each value refused by POST, and by PATCH of the stored object."""
    yield from _refused_posts(kit, field, probes)
    yield from _refused_patches(kit, field, probes, stored)
