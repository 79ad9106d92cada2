"""Paths, analytics and actions as text; the specification and the change requests share them."""

from __future__ import annotations

from stamina.rest.prose.expressions import condition_text, effect_text
from stamina.rest.prose.literals import listed, quoted
from stamina.rest.schema import Action, Analytics, AnalyticsOperation, Entity

_COMPUTES = {
    AnalyticsOperation.AVG: "the average of",
    AnalyticsOperation.MIN: "the smallest",
    AnalyticsOperation.MAX: "the largest",
    AnalyticsOperation.SUM: "the sum of",
}


def analytics_path(entity: Entity, analytics: Analytics) -> str:
    """Such as ``/analytics/dog/age/avg`` or ``/analytics/dog/count``."""
    middle = "" if analytics.field is None else f"/{analytics.field}"
    return f"/analytics/{entity.segment}{middle}/{analytics.operation}"


def analytics_text(entity: Entity, analytics: Analytics) -> str:
    """An analytics endpoint in one line: its path and what it computes."""
    return f"GET {analytics_path(entity, analytics)}: {_computed(entity, analytics)}"


def action_path(entity: Entity, action: str) -> str:
    """Such as ``/dog/{id}/approve``."""
    return f"/{entity.segment}/{{id}}/{action}"


def action_name(entity: Entity, action: str) -> str:
    """An action as the change requests name it, with its entity and its path."""
    return f"action {quoted(action)} of entity {quoted(entity.name)} (POST {action_path(entity, action)})"


def action_lines(action: Action) -> list[str]:
    """What an action does: its transition, its conditions and its effects, in their order."""
    return [
        f"- Transition: {quoted(action.enum_field)} from {listed(action.from_values)} to {quoted(action.to_value)}",
        *_numbered("Conditions", [condition_text(condition) for condition in action.conditions]),
        *_numbered("Effects", [effect_text(effect) for effect in action.effects]),
    ]


def _computed(entity: Entity, analytics: Analytics) -> str:
    if analytics.field is None:
        return f"the number of {quoted(entity.name)} objects"
    return f"{_COMPUTES[analytics.operation]} {quoted(analytics.field)} over all {quoted(entity.name)} objects"


def _numbered(title: str, texts: list[str]) -> list[str]:
    if not texts:
        return [f"- {title}: none"]
    return [f"- {title}:", *(f"  {number}. `{text}`" for number, text in enumerate(texts, 1))]
