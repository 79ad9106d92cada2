"""Family ``removed``: names that were freed by a deletion or a rename stay gone for the rest of the scenario (contract H6)."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from stamina.exchange import Request
from stamina.rest.checks import GONE_ACTION, Status
from stamina.rest.schema import Analytics, Retired, RetiredSegment
from stamina.rest.suite.kit import Kit, Kits, case, create, get, listing, missing, patch, post
from stamina.suite import Case, Step


def removed(kit: Kit) -> Iterator[Case]:
    """One case for all freed fields, actions and analytics endpoints of an entity, if there are any."""
    entity, retired = kit.entity, kit.entity.retired
    if retired == Retired():
        return
    yield case(
        "removed",
        f"{entity.segment}_removed",
        f"What was removed from {entity.name} or renamed is gone: {', '.join((*retired.fields, *map(analytics_label, retired.analytics), *retired.actions))}.",
        ("H6",),
        ("retired", entity.name),
        *_fields(kit, retired.fields),
        *(missing("GET", analytics_path(entity.segment, each), "the endpoint was removed or renamed") for each in retired.analytics),
        *(_action(kit, name) for name in retired.actions),
    )


def removed_segments(kits: Kits) -> Iterator[Case]:
    """One case for each path segment of an entity that was renamed or deleted."""
    for retired in kits.state.retired:
        yield _segment(retired)


def analytics_path(segment: str, analytics: Analytics) -> str:
    """The path of an analytics endpoint (A1)."""
    field = "" if analytics.field is None else f"{analytics.field}/"
    return f"/analytics/{segment}/{field}{analytics.operation.value}"


def analytics_label(analytics: Analytics) -> str:
    """How case names call it: ``age_avg``, ``count``."""
    return analytics.operation.value if analytics.field is None else f"{analytics.field}_{analytics.operation.value}"


def _fields(kit: Kit, names: tuple[str, ...]) -> Iterator[Step]:
    """An object, and where there are freed fields, answers about it without their keys."""
    body, patched = kit.full("one"), kit.full("one", 1)
    if not names:
        yield create(kit, body)
        return
    stored = kit.stored(patched)
    for step in (post(kit, body), patch(kit, patched, stored), get(kit, stored), listing(kit, (stored,))):
        yield attrs.evolve(step, expect=attrs.evolve(step.expect, forbidden=names), probe=step.request.method == "GET")  # type: ignore[misc]


def _action(kit: Kit, name: str) -> Step:
    expect = Status(GONE_ACTION, f"the action {name} was removed or renamed")
    return Step(Request("POST", f"{kit.at('one')}/{name}"), expect, probe=True)


def _segment(retired: RetiredSegment) -> Case:
    why = "the entity was renamed or deleted"
    return case(
        "removed",
        f"{retired.segment}_removed",
        f"The paths under {retired.segment} are gone.",
        ("H6",),
        ("retired-segment", retired.segment),
        missing("GET", f"/{retired.segment}", why),
        *(missing("GET", analytics_path(retired.segment, analytics), why) for analytics in retired.analytics),
    )
