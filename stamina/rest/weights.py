"""The published weights of change types (contract S6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import attrs

from stamina.domain import Sampler
from stamina.rest.changes import (
    AddAction,
    AddAnalytics,
    AddCondition,
    AddEffect,
    AddEntity,
    AddEnumValue,
    AddField,
    Change,
    ChangeConstraints,
    DeleteAnalytics,
    DeleteEntity,
    DeleteField,
    RemoveAction,
    RemoveCondition,
    RemoveEffect,
    RenameEntity,
    RenameField,
)

ChangeType: TypeAlias = type[Change]


@attrs.frozen
class Reach:
    """How much of an API that stands already a typical change of one type touches; what is new counts once, however large it is.

    Attributes:
        rules: that the agent's server must keep differently afterwards.
        names: that come, go or move, and those that the change builds on.
        paths: that come, go or move.
    """

    rules: int
    names: int
    paths: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.rules + self.names + self.paths


RARITY: Final = 0.2
"""Deletions and removals weigh this much of what they would, so that states grow as S4 says."""

SHRINKING: Final[tuple[ChangeType, ...]] = (DeleteEntity, DeleteField, DeleteAnalytics, RemoveAction, RemoveCondition, RemoveEffect)
"""The change types that take something away."""

REACH: Final[Mapping[ChangeType, Reach]] = {
    AddEntity: Reach(rules=1, names=3, paths=2),
    DeleteEntity: Reach(rules=2, names=3, paths=3),
    RenameEntity: Reach(rules=2, names=4, paths=8),
    AddField: Reach(rules=2, names=1, paths=0),
    DeleteField: Reach(rules=3, names=2, paths=1),
    RenameField: Reach(rules=2, names=4, paths=2),
    ChangeConstraints: Reach(rules=2, names=0, paths=0),
    AddAnalytics: Reach(rules=2, names=0, paths=1),
    DeleteAnalytics: Reach(rules=1, names=0, paths=1),
    AddAction: Reach(rules=6, names=1, paths=1),
    RemoveAction: Reach(rules=4, names=1, paths=1),
    AddCondition: Reach(rules=3, names=0, paths=0),
    RemoveCondition: Reach(rules=2, names=0, paths=0),
    AddEffect: Reach(rules=3, names=0, paths=0),
    RemoveEffect: Reach(rules=2, names=0, paths=0),
    AddEnumValue: Reach(rules=1, names=1, paths=0),
}
"""What the weights of ``difficulty`` are made of."""


def _rarely(change: ChangeType) -> float:
    return RARITY if change in SHRINKING else 1.0


WEIGHTS: Final[Mapping[Sampler, Mapping[ChangeType, float]]] = {
    Sampler.UNIFORM: {change: _rarely(change) for change in REACH},
    Sampler.DIFFICULTY: {change: _rarely(change) * reach.total for change, reach in REACH.items()},
}
"""Relative weights; a type without a valid change is left out, and the others keep their proportions."""
