"""Since when each thing in a state is what it is, so that a failed case tells whether something new or something old broke."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeAlias

import attrs

from stamina.rest.changes import Change, RenameEntity
from stamina.rest.schema import Analytics, Entity, State
from stamina.suite import Target

Key: TypeAlias = tuple[str, ...]
"""A target without its entity: ``("field", "age")``, ``("analytics", "age", "avg")``, ``("retired-action", "approve")``."""


@attrs.frozen
class _Owner:
    """One entity: when it came or was last renamed, and the same for everything that it owns."""

    since: int
    members: Mapping[Key, int]


@attrs.frozen
class Origins:
    """The turn in which everything was brought in or last altered; things keep their turn when their owner is renamed, and a new name is an alteration.

    Values are immutable and share what did not change, as states do.
    """

    _owners: Mapping[str, _Owner]
    _segments: Mapping[str, int]

    @classmethod
    def of(cls, state: State, turn: int = 0) -> Origins:
        """Those of a state that came into being as a whole."""
        return cls(
            {entity.name: _Owner(turn, {key: turn for key, _ in _contents(entity)}) for entity in state.entities},
            {retired.segment: turn for retired in state.retired},
        )

    def after(self, before: State, change: Change, after: State, turn: int) -> Origins:
        """Those of ``after``, to which ``change`` led from ``before`` in ``turn``."""
        segments = {retired.segment: self._segments.get(retired.segment, turn) for retired in after.retired}
        if isinstance(change, RenameEntity):
            return Origins(self._with_new_name(change, turn), segments)
        return Origins({entity.name: self._owner(before.find(entity.name), entity, turn) for entity in after.entities}, segments)

    def since(self, target: Target) -> int:
        """The turn in which a target was brought in or last altered; 0 for the server as a whole, the entity's own for a part of it that is not known.

        Raises:
            KeyError: the target's entity or segment is not there.
        """
        kind = target[0]
        if kind == "server":
            return 0
        if kind == "retired-segment":
            return self._segments[target[1]]
        owner = self._owners[target[1]]
        if kind == "retired":
            return max((since for key, since in owner.members.items() if key[0].startswith("retired-")), default=owner.since)
        return owner.members.get((kind, *target[2:]), owner.since)

    def _with_new_name(self, change: RenameEntity, turn: int) -> dict[str, _Owner]:
        """A new name of an entity moves the paths of its own endpoints, and nothing else (D3)."""
        old = self._owners[change.entity]
        moved = _Owner(turn, {key: turn if key[0] in ("action", "analytics") else since for key, since in old.members.items()})
        return {change.new_name if name == change.entity else name: moved if name == change.entity else owner for name, owner in self._owners.items()}

    def _owner(self, old: Entity | None, new: Entity, turn: int) -> _Owner:
        if old is None:
            return _Owner(turn, {key: turn for key, _ in _contents(new)})
        owner = self._owners[new.name]
        if old is new:
            return owner
        known = dict(_contents(old))
        return _Owner(owner.since, {key: owner.members[key] if known.get(key) == content else turn for key, content in _contents(new)})


def _contents(entity: Entity) -> Iterator[tuple[Key, Hashable]]:
    """Everything that an entity owns, by key."""
    for field in entity.fields:
        yield ("field", field.name), field
    for action in entity.actions:
        yield ("action", action.name), action
    for analytics in entity.analytics:
        yield ("analytics", *_path(analytics)), analytics
    for name in entity.retired.fields:
        yield ("retired-field", name), name
    for name in entity.retired.actions:
        yield ("retired-action", name), name
    for analytics in entity.retired.analytics:
        yield ("retired-analytics", *_path(analytics)), analytics


def _path(analytics: Analytics) -> Key:
    return (analytics.field or "", analytics.operation.value)
