"""The suite finds a server with one fault, and the family that is responsible does."""

import attrs
import pytest

from stamina.draw import Draw
from stamina.exchange import Request, Response
from stamina.playing import play
from stamina.rest.expressions import Effect, IncrementBy, OnEach, SetTo
from stamina.rest.mutants.mutant import Ground
from stamina.rest.mutants.running import effects_on_refusal
from stamina.rest.origins import Origins
from stamina.rest.schema import Action, Entity, EnumType, Field, FloatType, State
from stamina.rest.suite import build
from stamina.rest.truth import Truth
from tests.rest.faults import BEHAVIOURS, Behaviour, default_for_null, faulty, state_faults
from tests.rest.library import LEND, LIBRARY


def altered(entity: Entity) -> Entity:
    """The library's entity without what makes a fault equivalent: a for-each that clears what a condition wants clear, and no default that may be null."""
    effects = tuple(Effect("spare", SetTo(True), OnEach("books")) if isinstance(effect.scope, OnEach) else effect for effect in LEND.effects)
    actions = tuple(attrs.evolve(action, effects=effects) if action.name == LEND.name else action for action in entity.actions)
    return attrs.evolve(entity, actions=actions, fields=tuple(map(nullable_default, entity.fields)))


def nullable_default(field: Field) -> Field:
    return attrs.evolve(field, nullable=True) if field.name == "price" else field


SHOP = attrs.evolve(LIBRARY, entities=tuple(map(altered, LIBRARY.entities)))
SUITE = build(SHOP, Origins.of(SHOP), Draw("strength"))
FAULTS = tuple(state_faults(SHOP))


def families_that_fail(handler: object) -> set[str]:
    assert callable(handler)
    return {result.case.family for result in play(SUITE, handler).results if result.failure}


def test_the_unaltered_server_passes() -> None:
    assert families_that_fail(Truth(SHOP).handle) == set()


@pytest.mark.parametrize("fault", FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_state_misread_in_one_place_is_found(fault: tuple[str, str, State]) -> None:
    _, family, state = fault
    assert family in families_that_fail(Truth(state).handle)


@pytest.mark.parametrize(("behaviour", "family"), [*BEHAVIOURS, (default_for_null, "validation")], ids=lambda value: getattr(value, "__name__", value))
def test_a_server_that_behaves_wrongly_in_one_way_is_found(behaviour: Behaviour, family: str) -> None:
    assert family in families_that_fail(faulty(SHOP, behaviour))


@pytest.mark.parametrize("status", [200, 404, 500])
def test_a_server_that_always_answers_the_same_passes_nothing(status: int) -> None:
    def handler(request: Request) -> Response:
        return Response(status, b"{}")

    assert play(SUITE, handler).passed == 0


def test_effects_that_take_place_on_refusal_are_found_though_no_fair_test_may_let_them_run() -> None:
    """Every result would leave the bounds, so where the action is taken the field is null; where it is refused it need not be."""
    field = Field("latitude", FloatType(9.75, 10.0), required=False, nullable=True)
    kind = EnumType("ThingState", ("on", "off", "broken"))
    action = Action("act", "state", ("on",), "off", effects=(Effect("latitude", IncrementBy(1.5)),))
    state = State((Entity("Thing", (Field("state", kind), field), actions=(action,)),))
    suite = build(state, Origins.of(state), Draw("refusal"))
    (fault,) = effects_on_refusal.faults(Ground(state))
    assert play(suite, Truth(state).handle).ok
    assert not play(suite, fault.build()).ok
