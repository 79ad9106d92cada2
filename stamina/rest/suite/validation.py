"""Families ``validation`` and ``defaults``: every field takes what its rules allow and refuses what they do not, on POST and on PATCH (contract section 3).

One case a field. What is accepted comes first; then refused PATCHes act on an object that must stay as it is. Each of those carries valid values for the
neighbouring fields too, before and after the bad one, and the last PATCH answers with the whole object, so that one that was applied half shows (H2).

Of the values of the wrong type or form each is sent by POST or by PATCH, not by both: a server that converts does so everywhere. Some value of another JSON
type is among what each of them sends, though, and null and bounds are tried on both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stamina.exchange import Json
from stamina.rest import testdata
from stamina.rest.schema import EnumType, Field
from stamina.rest.suite.kit import Kit, Object, case, get, patch, post, refuse_patch, refuse_post
from stamina.rest.testdata import Probe
from stamina.suite import Case, Step


def validation(kit: Kit, *, fine: bool) -> Iterator[Case]:
    """One case for each plain field; its default, if it has one, is another case or part of it.

    What references refuse is in their own family (:mod:`stamina.rest.suite.references`).
    """
    for field in kit.plain:
        yield _validation(kit, field, with_default=not fine)
        if fine and field.default is not None:
            yield _default(kit, field)


def _validation(kit: Kit, field: Field, *, with_default: bool) -> Case:
    first, *others = _accepted(kit, field)
    stored = kit.stored({**kit.minimal("taken"), field.name: first.value})
    *between, last = ([Probe(None, f"{field.name} may be null")] if field.nullable else []) + others
    steps = [post(kit, {**kit.minimal("taken"), field.name: first.value}, first.why)]
    if field.default is None or with_default:
        steps += _left_out(kit, field)
    for probe in between:
        stored = {**stored, field.name: probe.value}
        steps.append(patch(kit, {field.name: probe.value}, stored, probe.why))
    bounds, wrong = testdata.outside(field), testdata.wrong(field, kit.number + len(field.name), kit.plain)
    null = () if field.nullable else (Probe(None, f"{field.name} must not be null"),)
    steps += refused_posts(kit, field, (*(() if testdata.needed(field) else null), *bounds, *wrong[::2]))
    steps += refused_patches(kit, field, (*null, *_one(bounds, kit.number), *wrong[1::2]), stored)
    if len(kit.plain) == 1:
        steps.append(get(kit, stored, "the refused requests changed nothing"))
    stored = {**stored, field.name: last.value}
    steps.append(patch(kit, {field.name: last.value}, stored, f"{last.why}, and the refused requests changed nothing"))
    about = f"; {_about_default(field)}" if field.default is not None and with_default else ""
    return case(
        "validation",
        f"{kit.entity.segment}_{field.name}_validation",
        f"{kit.entity.name}.{field.name} takes exactly the values that its rules allow, on POST and on PATCH{about}.",
        ("V2" if testdata.is_instant_type(field.type) else "V1", "V3", "V4", "V7", "H2"),
        ("field", kit.entity.name, field.name),
        *steps,
    )


def _about_default(field: Field) -> str:
    return f"it is {testdata.as_text(field.default)} when a POST omits it, and only then"


def _one(probes: Sequence[Probe], number: int) -> Sequence[Probe]:
    return [probes[number % len(probes)]] if probes else ()


def _accepted(kit: Kit, field: Field) -> list[Probe]:
    """At least two values that must be taken. The first is not the default, and false if possible: ``0``, ``""`` and ``false`` are values (V3)."""
    probes = list(testdata.inside(field))
    if isinstance(field.type, EnumType):
        probes.reverse()  # The newest value first: it is the one that is sent by POST.
    if len(probes) < 2:
        other = testdata.different(field, kit.number + 1, probes[0].value)
        probes.append(Probe(other, f"{field.name} = {testdata.as_text(other)} is allowed"))
    if probes[0].value == field.default:
        probes.append(probes.pop(0))
    return probes


def _left_out(kit: Kit, field: Field) -> Iterator[Step]:
    """POSTs without the field and with null, as far as they are taken."""
    if field.default is not None:
        yield post(kit, kit.minimal("omitted"), f"{field.name} was omitted and has a default")
    elif not testdata.needed(field):
        yield post(kit, kit.minimal("omitted"), f"{field.name} is optional and counts as null")
    if field.nullable and (field.required or field.default is not None):
        why = f"{field.name} may be null" if field.default is None else "the default does not replace null"
        yield post(kit, {**kit.minimal("nothing"), field.name: None}, why)


def _default(kit: Kit, field: Field) -> Case:
    name = field.name
    given = {**kit.minimal("given"), name: next(probe.value for probe in _accepted(kit, field))}
    others = {other.name: kit.value(other, 4) for other in [other for other in kit.plain if other is not field][:1]}
    return case(
        "defaults",
        f"{kit.entity.segment}_{name}_default",
        f"{kit.entity.name}.{name}: {_about_default(field)}.",
        ("V3", "V7"),
        ("field", kit.entity.name, name),
        *_left_out(kit, field),
        post(kit, given, f"the default does not replace {testdata.as_text(given[name])}"),
        patch(kit, others, {**kit.stored(given), **others}, f"PATCH does not apply the default of {name}"),
    )


def refused_posts(kit: Kit, field: Field, probes: Sequence[Probe]) -> Iterator[Step]:
    """POSTs that are refused: without the field where it is required, and with each of these values."""
    if testdata.needed(field):
        yield refuse_post(kit, {name: value for name, value in kit.minimal("no-0").items() if name != field.name}, f"{field.name} is required")
    for number, probe in enumerate(probes, 1):
        yield refuse_post(kit, {**kit.minimal(f"no-{number}"), field.name: probe.value}, probe.why)


def refused_patches(kit: Kit, field: Field, probes: Sequence[Probe], stored: Object) -> Iterator[Step]:
    """PATCHes of the stored object that are refused, each with valid values for the neighbouring fields."""
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
