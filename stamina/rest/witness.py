"""Worlds in which an action succeeds, or is refused for exactly one reason (contract B5, B4).

The search is constructive, bounded and deterministic; what it finds is replayed by :mod:`stamina.rest.semantics` before anybody sees it. Answers are
remembered by what they depend on: the action, the fields that it mentions, and the wish. Where the bounded search finds nothing, the action counts as not
exercisable, and the change that made it so is refused.

Every name in the action must exist (:mod:`stamina.rest.validate` looks first).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import attrs

from stamina.errors import InvalidState
from stamina.exchange import Json
from stamina.rest.backtracking import Budget, Constraint, Variable, solve
from stamina.rest.candidates import fits
from stamina.rest.demands import Demands, alone, conditions_met, effects_shown, impossible, patterns
from stamina.rest.expressions import Comparison, Compute, Condition, Count, Quantified, Subject, Sum
from stamina.rest.mentions import compared_fields
from stamina.rest.questions import Question, Stage, Wish, ask
from stamina.rest.scenes import MAIN, Domains, Scene, shapes
from stamina.rest.schema import Action, Entity, ReferenceListType, ReferenceType, State
from stamina.rest.semantics import View, compare, is_met, reference_targets, refusal, run_effect, written
from stamina.rest.values import checker, may_be_null
from stamina.rest.worlds import FieldsOf, Link, World, WorldObject

__all__ = [
    "Link",
    "Trial",
    "World",
    "WorldObject",
    "boundary",
    "empty_list",
    "exercisable",
    "failing_only",
    "null_operand",
    "null_reference",
    "own_reference",
    "showing",
    "succeeding",
    "telling",
    "with_values",
    "wrong_state",
]

STEPS: Final = 6_000
"""Candidates tried for one world at most; a few dozen are usual."""

SHAPE_STEPS: Final = 1_500
"""Candidates tried for one shape and pattern, so that one that cannot be does not starve the others."""

EXTRA_STEPS: Final = 500
"""Candidates tried for what a world should have, but need not."""

MAX_SHAPES: Final = 48
"""Combinations of what the acting object's references and lists hold that are tried."""

_REMEMBERED: Final = 4096


@attrs.frozen
class Trial:
    """A world and whether the action succeeds in it; where it does not, the reason is an unmet condition in the right state."""

    world: World
    succeeds: bool


def succeeding(state: State, entity: Entity, action: Action) -> World | None:
    """A world in which the action succeeds and, where possible, each effect shows. None when the search finds none."""
    return _find(ask(state, entity, action, Wish()))


def failing_only(state: State, entity: Entity, action: Action, index: int) -> World | None:
    """A world in the right state in which the condition with this index alone does not hold. None when the search finds none."""
    return _find(ask(state, entity, action, Wish(unmet=index)))


def wrong_state(state: State, entity: Entity, action: Action, *, null: bool = False) -> World | None:
    """A world in which all conditions hold and the enum field has a value outside the from-values, or null. None when there is no such world."""
    return _find(ask(state, entity, action, Wish(stage=Stage.NULL if null else Stage.OUTSIDE)))


def boundary(state: State, entity: Entity, action: Action, index: int, steps: Iterable[int] = (-1, 0, 1)) -> tuple[Trial, ...]:
    """Worlds in which one comparison's left side is one step below, equal to and one step above its right side, and all other conditions hold.

    ``steps`` says which of them are wanted.
    A step is 1, for floats 1/1024, for datetimes a second. Only for comparisons of numbers and datetimes; worlds that cannot be are left out.
    """
    trials = []
    for number in steps:
        for wish in (Wish(edge=(index, number), last=name) for name in _orders(action.conditions[index])):
            question = ask(state, entity, action, wish)
            world = _find(question)
            if world is not None:
                trials.append(Trial(world, _expects_success(question, world)))
                break
    return tuple(trials)


def with_values(state: State, entity: Entity, action: Action, edge: tuple[int, int], given: tuple[tuple[str, float], ...]) -> World | None:
    """A world on one comparison's edge as in :func:`boundary`, in which numbers of the acting object have these values."""
    return _find(ask(state, entity, action, Wish(edge=edge, given=given)))


def showing(state: State, entity: Entity, action: Action, index: int) -> World | None:
    """A world in which the action succeeds and the effect with this index changes something. None when the search finds none."""
    effect = action.effects[index]
    operands = effect.assignment.value if isinstance(effect.assignment, Compute) else None
    own = [] if operands is None else [ref.field for ref in (operands.left, operands.right) if ref.subject is Subject.THIS]
    worlds = (_find(ask(state, entity, action, Wish(shown=index, last=name))) for name in (None, *own))
    return next((world for world in worlds if world is not None), None)


def telling(state: State, entity: Entity, action: Action, index: int, wrong: Condition, opposite: Condition) -> World | None:
    """A world in which all other conditions hold and the condition with this index holds where ``wrong`` does not, or the other way round.

    ``opposite`` holds where ``wrong`` does not.
    """
    right = action.conditions[index]
    holding = attrs.evolve(action, conditions=(*action.conditions, opposite))
    failing = attrs.evolve(action, conditions=(*action.conditions, wrong))
    for name in _orders(right):
        world = _find(ask(state, entity, holding, Wish(last=name))) or _find(ask(state, entity, failing, Wish(unmet=index, last=name)))
        if world is not None:
            return world
    return None


def _orders(condition: Condition) -> list[str | None]:
    """Which field to solve for last: the search's own choice, then each field of a comparison of several."""
    names = list(dict.fromkeys(compared_fields(condition))) if isinstance(condition, Comparison) else []
    return [None, *names] if len(names) > 1 else [None]


def null_operand(state: State, entity: Entity, action: Action, index: int) -> tuple[World, ...]:
    """Worlds in which a comparison alone fails because one operand on the acting object is null (B2): one for each operand that can be."""
    condition = action.conditions[index]
    if not isinstance(condition, Comparison):
        return ()
    fields = {field.name: field for field in entity.fields}
    names = [name for name in dict.fromkeys(compared_fields(condition)) if name in fields and may_be_null(fields[name])]
    return _all_found(ask(state, entity, action, Wish(unmet=index, nulls=(name,))) for name in names)


def empty_list(state: State, entity: Entity, action: Action, list_field: str) -> Trial | None:
    """A world in which a list is empty and, apart from conditions over that list, everything holds (B2)."""
    for unmet in (None, *(index for index, each in enumerate(action.conditions) if _list_of(each) == list_field)):
        question = ask(state, entity, action, Wish(unmet=unmet, empty=(list_field,)))
        world = _find(question)
        if world is not None:
            return Trial(world, unmet is None)
    return None


def null_reference(state: State, entity: Entity, action: Action, reference: str) -> World | None:
    """A world in which the action succeeds although a single reference is null, so that effects on it are skipped (B3)."""
    return _find(ask(state, entity, action, Wish(nulls=(reference,))))


def own_reference(state: State, entity: Entity, action: Action, reference: str) -> World | None:
    """A world in which the action succeeds and a reference or a list of the acting object leads back to it (B3). None where it cannot."""
    if reference_targets(entity).get(reference) != entity.name:
        return None
    return _find(ask(state, entity, action, Wish(own=(reference,))))


def exercisable(state: State, entity: Entity, action: Action) -> InvalidState | None:
    """What stands against the action under B5, None when it can be exercised."""
    where = f"{entity.name}.{action.name}"
    if succeeding(state, entity, action) is None:
        return InvalidState("B5", f"{where}: no values inside all constraints let it succeed")
    for index in range(len(action.conditions)):
        if failing_only(state, entity, action, index) is None:
            return InvalidState("B5", f"{where}: no values make its condition {index + 1} fail alone")
    return None


def _all_found(questions: Iterator[Question]) -> tuple[World, ...]:
    return tuple(world for world in map(_find, questions) if world is not None)


def _list_of(condition: Condition) -> str | None:
    match condition:
        case Quantified(list_field=name) | Comparison(left=Count(name) | Sum(name)):
            return name
    return None


@lru_cache(maxsize=_REMEMBERED)
def _find(question: Question) -> World | None:
    """The first world of the most telling shape that has one."""
    budget, domains = Budget(STEPS), Domains(question)
    for number, shape in enumerate(itertools.islice(shapes(question), MAX_SHAPES)):
        scene = Scene(question, shape, domains)
        if number == 0 and not solve(list(scene.variables.values()), alone(question, scene), Budget(STEPS), last=_last(scene, question)):
            return None
        if impossible(question, scene):
            continue
        demands = effects_shown(question, scene)
        for chosen in patterns(question, scene):
            if _settle(scene, conditions_met(question, scene, chosen), demands, question, budget):
                world = scene.world()
                if _is_true(question, world):
                    return world
        if budget.steps < 0:
            return None
    return None


def _last(scene: Scene, question: Question) -> Variable | None:
    """The variable that the wish wants to be solved for last."""
    return None if question.wish.last is None else next(iter(scene.over(scene.main, question.wish.last)), None)


def _settle(scene: Scene, conditions: list[Constraint], demands: Demands, question: Question, budget: Budget) -> bool:
    """Assign the scene's variables: what must hold does, and of what should hold as much as possible."""
    # A refused action runs no effects, but effects that would have shown give a wrong server away.
    runs = question.wish.unmet is None and question.wish.stage is Stage.INSIDE and _holds_on_edge(question)
    must = [*conditions, *demands.valid, *demands.shown] if runs else conditions
    should = demands.telling if runs else (*demands.valid, *demands.telling)
    variables = list(scene.variables.values())
    last = _last(scene, question)
    if solve(variables, [*must, *should], Budget(EXTRA_STEPS), last=last):
        return True
    if not solve(variables, must, budget.part(SHAPE_STEPS), last=last):
        return False
    kept = list(must)
    for each in should:
        if solve(variables, [*kept, each], Budget(EXTRA_STEPS), last=last):
            kept.append(each)
    return solve(variables, kept, Budget(STEPS), last=last)


def _holds_on_edge(question: Question) -> bool:
    """Whether the condition that is wished on its edge holds there; True when none is."""
    if question.wish.edge is None:
        return True
    index, steps = question.wish.edge
    condition = question.action.conditions[index]
    return not isinstance(condition, Comparison) or compare(steps, condition.comparator, 0)


def _is_true(question: Question, world: World) -> bool:
    """Replay the world: every value is valid, the outcome is the wished one, and no result leaves its field's constraints."""
    fields = question.fields_of()
    store = world.store(fields)
    entity = Entity(question.owner, tuple(fields[question.owner].values()))
    seen = View(store[question.owner][MAIN], store, reference_targets(entity))
    if not all(_is_valid(each, world, fields) for each in world.objects) or not _is_wished(question, seen):
        return False
    return refusal(question.action, seen) is not None or _stays_valid(question.action, seen, fields)


def _is_wished(question: Question, seen: View) -> bool:
    wish = question.wish
    if (seen.this[question.action.enum_field] in question.action.from_values) is not (wish.stage is Stage.INSIDE):
        return False
    free = None if wish.edge is None else wish.edge[0]
    return all(is_met(each, seen) is (index != wish.unmet) for index, each in enumerate(question.action.conditions) if index != free)


def _is_valid(placed: WorldObject, world: World, fields: FieldsOf) -> bool:
    known = {entity: {each.id for each in world.objects if each.entity == entity} for entity in fields}
    own, body = fields[placed.entity], placed.body()
    given = all(name == "id" or checker(own[name])(value, known.__getitem__) is None for name, value in body.items())
    return given and all(not own[name].required and own[name].default is None for name in placed.omitted)


def _stays_valid(action: Action, seen: View, fields: FieldsOf) -> bool:
    """Run the effects one by one; every result must be one that its field takes."""
    owner = {id(each): entity for entity, objects in seen.store.items() for each in objects.values()}
    for effect in action.effects:
        subjects = list(written(effect.scope, seen))
        run_effect(effect, seen)
        for subject in subjects:
            field = fields[owner[id(subject)]][effect.target]
            value: Json = subject[effect.target]
            if value is not None and not isinstance(field.type, ReferenceType | ReferenceListType) and not fits(field, value):
                return False
    return True


def _expects_success(question: Question, world: World) -> bool:
    fields = question.fields_of()
    store = world.store(fields)
    entity = Entity(question.owner, tuple(fields[question.owner].values()))
    return refusal(question.action, View(store[question.owner][MAIN], store, reference_targets(entity))) is None
