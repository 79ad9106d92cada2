"""Family ``removed``: names that were freed by a deletion or a rename stay gone for the rest of the scenario (contract H6)."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from stamina.exchange import Request
from stamina.rest.checks import GONE_ACTION, Status
from stamina.rest.schema import Analytics, RetiredSegment
from stamina.rest.suite.kit import Kit, Kits, case, create, get, listing, missing, patch, post
from stamina.suite import Case, Step


def removed(kit: Kit) -> Iterator[Case]:
    """One case for each freed field, action and analytics endpoint of an entity."""
    entity, retired = kit.entity, kit.entity.retired
    for name in retired.fields:
        yield _field(kit, name)
    for name in retired.actions:
        yield _action(kit, name)
    for analytics in retired.analytics:
        label = analytics_label(analytics)
        yield case(
            "removed",
            f"{entity.segment}_{label}_removed",
            f"The analytics endpoint {label} of {entity.name} is gone.",
            ("H6",),
            ("retired-analytics", entity.name, analytics.field or "", analytics.operation.value),
            create(kit, kit.minimal("one")),
            missing("GET", analytics_path(entity.segment, analytics), "the endpoint was removed or renamed"),
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


def _field(kit: Kit, name: str) -> Case:
    body, patched = kit.full("one"), kit.full("one", 1)
    stored = kit.stored(body)
    steps = (post(kit, body), get(kit, stored), listing(kit, (stored,)), patch(kit, patched, kit.stored(patched)))
    return case(
        "removed",
        f"{kit.entity.segment}_{name}_removed",
        f"The key {name} no longer appears in what the server answers about {kit.entity.name}.",
        ("H6",),
        ("retired-field", kit.entity.name, name),
        *(_forbidding(step, name) for step in steps),
    )


def _forbidding(step: Step, name: str) -> Step:
    return attrs.evolve(step, expect=attrs.evolve(step.expect, forbidden=(name,)))  # type: ignore[misc]


def _action(kit: Kit, name: str) -> Case:
    expect = Status(GONE_ACTION, "the action was removed or renamed")
    return case(
        "removed",
        f"{kit.entity.segment}_{name}_removed",
        f"The action {name} of {kit.entity.name} is gone.",
        ("H6",),
        ("retired-action", kit.entity.name, name),
        create(kit, kit.full("one")),
        Step(Request("POST", f"{kit.at('one')}/{name}"), expect),
    )


def _segment(retired: RetiredSegment) -> Case:
    why = "the entity was renamed or deleted"
    return case(
        "removed",
        f"{retired.segment}_removed",
        f"The paths under {retired.segment} are gone.",
        ("H6",),
        ("retired-segment", retired.segment),
        missing("GET", f"/{retired.segment}", why),
        missing("GET", f"/{retired.segment}/one", why),
        *(missing("GET", analytics_path(retired.segment, analytics), why) for analytics in retired.analytics),
    )
