"""Effects that read what was there before: where that is proven not to show, it shows in none of all small worlds."""

import attrs
import pytest

from stamina.rest.expressions import Compute, Effect, IncrementBy, SetTo
from stamina.rest.mutants.mutant import Ground
from stamina.rest.mutants.ordering import _from_snapshot, effects_from_snapshot
from tests.rest.mutants.small_worlds import STATE, THING, A, B, acting, arithmetic, can_be_told

BEYOND, FURTHER = Effect("a", IncrementBy(9)), Effect("a", IncrementBy(8))
"""From no value of ``a`` does the result stay inside its bounds, so a fair test lets them meet null alone."""


@pytest.mark.parametrize(
    ("effects", "hidden"),
    [
        ((BEYOND, FURTHER), True),
        ((Effect("a", SetTo(None)), BEYOND), False),
        ((Effect("a", IncrementBy(1)), Effect("a", IncrementBy(1)), Effect("a", SetTo(0))), True),
        ((Effect("a", IncrementBy(1)), Effect("b", Compute(arithmetic(A, "-", B)))), False),
    ],
    ids=["neither ever writes", "what was cleared before", "what is overwritten", "what was written before"],
)
def test_reading_what_was_there_before_is_proven_only_where_it_cannot_show(effects: tuple[Effect, ...], *, hidden: bool) -> None:
    action = acting(*effects)
    state = attrs.evolve(STATE, entities=(attrs.evolve(THING, actions=(action,)), *STATE.entities[1:]))
    fault = next(effects_from_snapshot.faults(Ground(state)))
    assert bool(fault.equivalent) is hidden
    assert can_be_told(action, action, _from_snapshot) is not hidden
