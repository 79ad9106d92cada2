"""What goes with a deletion, as text: one line each (contract D2)."""

from __future__ import annotations

from typing import assert_never

from stamina.rest.changes import DeleteEntity, DeleteField
from stamina.rest.consequences import ActionGone, AnalyticsGone, ConditionGone, Consequence, EffectGone, FieldGone, consequences
from stamina.rest.prose.endpoints import action_name, analytics_path
from stamina.rest.prose.expressions import condition_text, effect_text
from stamina.rest.prose.literals import quoted
from stamina.rest.schema import State


def consequence_lines(state: State, change: DeleteEntity | DeleteField) -> list[str]:
    """What goes besides the deleted thing itself, in the order of the state, by the names that it has in ``state``."""
    return [_line(state, consequence) for consequence in consequences(state, change)]


def _line(state: State, consequence: Consequence) -> str:
    entity = state.entity(consequence.entity)
    match consequence:
        case FieldGone(field=field):
            return f"field {quoted(field)} of entity {quoted(entity.name)}"
        case AnalyticsGone(analytics=analytics):
            return f"analytics endpoint GET {analytics_path(entity, analytics)}"
        case ActionGone(action=action):
            return action_name(entity, action)
        case ConditionGone(action=action, condition=condition):
            return f"condition `{condition_text(condition)}` of {action_name(entity, action)}"
        case EffectGone(action=action, effect=effect):
            return f"effect `{effect_text(effect)}` of {action_name(entity, action)}"
        case _:
            assert_never(consequence)
