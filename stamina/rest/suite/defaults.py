"""Family ``defaults``: a default fills in for a field that a POST omits, and does nothing else (contract V3, V7)."""

from __future__ import annotations

from collections.abc import Iterator

from stamina.exchange import Json
from stamina.rest import testdata
from stamina.rest.schema import BooleanType, Field, FloatType, IntegerType, StringType
from stamina.rest.suite.kit import Kit, Object, case, listing, patch, post
from stamina.suite import Case


def defaults(kit: Kit) -> Iterator[Case]:
    """One case for each field with a default."""
    for field in kit.plain:
        if field.default is not None:
            yield _default(kit, field)


def _default(kit: Kit, field: Field) -> Case:
    name, other = field.name, testdata.ordinary(field, kit.number)
    omitted = kit.minimal("omitted")
    given = [{**kit.minimal(f"given-{number}"), name: value} for number, value in enumerate((other, *_falsy(field)))]
    nulls = [{**kit.minimal("nothing"), name: None}] if field.nullable else []
    stored = [kit.stored(body) for body in (omitted, *given, *nulls)]
    patches = _unrelated(kit, field)
    steps = []
    for body, why in patches:
        stored[1] = {**stored[1], **body}
        steps.append(patch(kit, body, stored[1], why))
    return case(
        "defaults",
        f"{kit.entity.segment}_{name}_default",
        f"{kit.entity.name}.{name} is {testdata.as_text(field.default)} when a POST omits it, and only then.",
        ("V3", "V7"),
        ("field", kit.entity.name, name),
        post(kit, omitted, f"{name} was omitted and has a default"),
        *(post(kit, body, f"the default does not replace {testdata.as_text(body[name])}") for body in (*given, *nulls)),
        *steps,
        listing(kit, stored),
    )


def _unrelated(kit: Kit, field: Field) -> Iterator[tuple[Object, str]]:
    """PATCHes that do not carry the field, or set it to null: the default stays out of both."""
    others = [other for other in kit.plain if other is not field][:1]
    yield {other.name: kit.value(other, 4) for other in others}, f"PATCH does not apply the default of {field.name}"
    if field.nullable:
        yield {field.name: None}, f"PATCH sets {field.name} to null, not to its default"


def _falsy(field: Field) -> tuple[Json, ...]:
    """The empty value of the type, where the field's rules allow it and it is not the default anyway (V3)."""
    match field.type:
        case StringType(low, _):
            empty: Json = "" if not low else None
        case IntegerType(low, high) | FloatType(low, high):
            empty = 0 if (low is None or low <= 0) and (high is None or high >= 0) else None
        case BooleanType():
            empty = False
        case _:
            empty = None
    return () if empty is None or empty == field.default else (empty,)
