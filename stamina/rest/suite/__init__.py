"""The tests of a state, as data: one module a family, put together here (contract sections 2-6, H6).

What a case expects is worked out from the contract by the family that writes it; only what an action does is asked of :mod:`stamina.rest.semantics`. The
ground truth is never asked: every suite is played against it before it is used, and a difference is a fault of the benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Protocol

import attrs

from stamina.draw import Draw
from stamina.rest.expressions import Condition
from stamina.rest.memory import Removed
from stamina.rest.schema import Action, State
from stamina.rest.suite.actions import actions
from stamina.rest.suite.analytics import analytics
from stamina.rest.suite.crud import crud, server
from stamina.rest.suite.kit import Kits, Source, kits_of, make_kit, make_kits
from stamina.rest.suite.references import references
from stamina.rest.suite.removed import removed, removed_segments
from stamina.rest.suite.validation import validation
from stamina.suite import Case, Suite, Target

__all__ = ["build"]


REMEMBERED: Final = 256
"""Entities, and actions, whose cases are kept, of all scenarios of this process; some ten kB each."""

SMALL: Final = 2
"""Entities of a state whose cases may be finer: what is two cases there is one elsewhere, played with fewer requests."""

MANY: Final = 30
"""Cases of a first suite at most; finer ones are made where they are no more than this."""


class Origins(Protocol):
    """What :class:`stamina.rest.origins.Origins` knows."""

    def since(self, target: Target) -> int:
        """The turn that brought the target in or last altered it."""
        ...


def build(state: State, origins: Origins, draw: Draw, removed_conditions: Removed | None = None) -> Suite:
    """All cases of a valid state, in a fixed order; pure and deterministic.

    Args:
        state: valid by :func:`stamina.rest.validate.check`.
        origins: says for every target when it was last altered.
        draw: where the test values come from.
        removed_conditions: that must not count any more.

    Raises:
        BenchmarkFault: an action cannot be exercised, so the state is not valid.
    """
    kits = make_kits(state, draw)
    gone = removed_conditions or {}
    found = list(_cases(kits, gone, fine=True)) if len(state.entities) <= SMALL else []
    if not 0 < len(found) <= MANY:
        found = list(_cases(kits, gone, fine=False))
    cases: list[Case] = []
    taken: set[str] = set()
    for case in found:
        name = _unique(case.name, taken)
        taken.add(name)
        since = origins.since(case.target)
        cases.append(Case(name, case.title, case.family, case.rules, case.target, since, case.steps))
    return Suite(tuple(cases))


def _cases(kits: Kits, gone: Removed, *, fine: bool) -> Iterator[Case]:
    yield from server(kits, fine=fine)
    for kit in kits.by_name.values():
        yield from _alone((attrs.evolve(kit.entity, actions=()), kit.number), fine)
        if kit.references:
            yield from _referring(kits.around(kit, 1, stranger=True), fine)
        around = kits.around(kit, 2) if kit.entity.actions else ()
        for action in kit.entity.actions:
            yield from _acting(around, action, gone.get((kit.entity.name, action.name), ()))
    yield from removed_segments(kits)


# Most of a state stays as it was from turn to turn, so cases are remembered by exactly what they depend on.


@lru_cache(maxsize=REMEMBERED)
def _alone(source: Source, fine: bool) -> tuple[Case, ...]:  # noqa: FBT001 (lru_cache keys by position and by name apart)
    """The cases that depend on one entity, its actions aside."""
    kit = make_kit(source)
    return (*crud(kit, fine=fine), *validation(kit, fine=fine), *analytics(kit), *removed(kit))


@lru_cache(maxsize=REMEMBERED)
def _referring(sources: tuple[Source, ...], fine: bool) -> tuple[Case, ...]:  # noqa: FBT001
    """The cases of the first entity's references; the other entities are where they lead."""
    kits = kits_of(sources)
    return tuple(references(make_kit(sources[0]), kits, fine=fine))


@lru_cache(maxsize=REMEMBERED)
def _acting(sources: tuple[Source, ...], action: Action, gone: tuple[Condition, ...]) -> tuple[Case, ...]:
    """The cases of one action of the first entity; effects reach its neighbours, and set-up their neighbours. ``gone`` are conditions that it had once."""
    (entity, number), *others = sources
    kits = kits_of(((attrs.evolve(entity, actions=(action,)), number), *others))
    return tuple(actions(next(iter(kits.by_name.values())), kits, gone))


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number when another case has it: a field named ``age_default`` beside a default of ``age``, say."""
    number, result = 2, name
    while result in taken:
        result, number = f"{name}_{number}", number + 1
    return result
