"""What a state no longer says and a server may still do: the conditions that were removed from its actions, in the names of today (D3, D6).

They are kept as a second state, the one that would be there had no condition ever been removed. Renames and deletions do to it what they do to the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from stamina.rest.apply import transformed
from stamina.rest.changes import AddCondition, Change, RemoveCondition
from stamina.rest.expressions import Condition
from stamina.rest.schema import State

Removed: TypeAlias = Mapping[tuple[str, str], tuple[Condition, ...]]
"""By entity and action, the conditions that it had once and has no more."""


def remembered(memory: State, change: Change) -> State:
    """The state that has forgotten no condition, after a change that is known to be valid.

    Raises:
        InvalidChange: what the change names is not there.
    """
    if isinstance(change, RemoveCondition):
        return memory
    if isinstance(change, AddCondition):
        action = memory.entity(change.entity).find_action(change.action)
        if action is not None and change.condition in action.conditions:
            return memory  # It was removed once and is back.
    return transformed(memory, change)


def removed(state: State, memory: State) -> Removed:
    """What ``memory`` has of a state's actions and the state has not."""
    found: dict[tuple[str, str], tuple[Condition, ...]] = {}
    for entity in state.entities:
        for action in entity.actions:
            known = memory.entity(entity.name).find_action(action.name)
            gone = tuple(each for each in known.conditions if each not in action.conditions) if known is not None else ()
            if gone:
                found[entity.name, action.name] = gone
    return found
