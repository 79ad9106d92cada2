"""Family ``actions``: what every action does, and when it is refused (contract section 6).

The worlds in which an action succeeds, or is refused for one reason, come from :mod:`stamina.rest.witness`; from there each case moves on by PATCH, so that
one set of objects shows a whole edge. What must come back is predicted by :mod:`stamina.rest.semantics` (see :mod:`stamina.rest.suite.stage`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from stamina.errors import BenchmarkFault
from stamina.rest import witness
from stamina.rest.expressions import Condition, OnEach, OnReference, OnThis
from stamina.rest.schema import EnumType
from stamina.rest.semantics import view
from stamina.rest.suite.kit import Kit, Kits, case, missing
from stamina.rest.suite.misreadings import Choice, Misreading, edge_of, fewest, negated
from stamina.rest.suite.rich import (
    accepted,
    enriched,
    operands,
    provoking,
    shown,
    subjects,
    unasked,
    with_bystanders,
    with_empty_others,
    with_far_others,
    would_change,
)
from stamina.rest.suite.stage import Actors, Scene, Stage, is_legal, predict, prefixed, scene_of
from stamina.rest.suite.variants import around, extremes, pairs, with_items, with_null
from stamina.rest.worlds import World
from stamina.suite import Case, Step


def actions(kit: Kit, kits: Kits, gone: tuple[Condition, ...] = ()) -> Iterator[Case]:
    """The cases of each action: success, states (404 first), one for each condition, and what special objects do. ``gone`` are conditions that it had once.

    Raises:
        BenchmarkFault: the state is not valid, for an action cannot be exercised (B5).
    """
    for action in kit.entity.actions:
        actors = Actors(kits, kit, action)
        world = witness.succeeding(kits.state, kit.entity, action)
        if world is None:
            raise BenchmarkFault(f"{kit.entity.name}.{action.name} cannot be exercised, so it cannot be tested (rule B5)")
        scene = scene_of(world, actors)
        rich = enriched(actors, scene)
        yield _succeeds(actors, rich, gone)
        yield _states(actors, rich)
        yield from (_condition(actors, scene, index) for index in range(len(action.conditions)))
        yield from _special(actors, rich)


def _case(actors: Actors, kind: str, title: str, rules: tuple[str, ...], steps: Iterable[Step]) -> Case:
    entity, action = actors.kit.entity, actors.action
    return case("actions", f"{entity.segment}_{action.name}_{kind}", title, rules, ("action", entity.name, action.name), *steps)


def _succeeds(actors: Actors, scene: Scene, gone: tuple[Condition, ...]) -> Case:
    full = with_bystanders(actors, with_far_others(actors, scene))
    stage = Stage(actors)
    stage.play(full)
    stage.look(f"what {actors.action.name} writes is written, and nothing else", everywhere=True)
    # Open fields at their extremes: what is not among the conditions does not count, a condition that was removed included.
    far = list(extremes(actors, full, lambda candidate: accepted(actors, candidate)))
    far[1:2] = [with_empty_others(actors, each) for each in far[1:2]]
    for each in (*far, *unasked(actors, (full, *far), gone)):
        stage.play(each)
    for each in shown(actors, full):
        stage.play(with_bystanders(actors, each))
        stage.look(f"what {actors.action.name} writes is written, and nothing else")
    return _case(
        actors,
        "succeeds",
        f"The action {actors.action.name} has every effect that it should have on every object and no other, whatever else the objects hold.",
        ("B1", "B2", "B3"),
        stage.steps,
    )


def _states(actors: Actors, scene: Scene) -> Case:
    """404 before anything else; then the enum field at every value: refused outside the from-values, taken at each of them.

    The value from which another case lets the action succeed is left out where there are others.
    """
    action = actors.action
    field = actors.kit.entity.field(action.enum_field)
    assert isinstance(field.type, EnumType)
    here = (actors.kit.entity.name, scene.acting)
    # A refused action that moves the field nevertheless shows only where it did not stand at the target, so that comes first.
    values = sorted(field.type.values, key=lambda value: value != action.to_value)
    shown = scene.read(*here, field.name)
    values = [value for value in values if value != shown or value == action.to_value] or values
    scenes = [scene.changed(*here, {field.name: value}, f"{field.name} is {value}") for value in values]
    empty = with_null(actors, scene, here, field.name)
    return _case(
        actors,
        "states",
        f"The action {action.name} is taken only on an existing object whose {field.name} is {_one_of(action.from_values)}; refused, it changes nothing.",
        ("B1",),
        (missing("POST", actors.kit.at("nobody") + actors.path, "there is no such id"), *_played(actors, (*scenes, *([] if empty is None else [empty])))),
    )


def _one_of(values: tuple[str, ...]) -> str:
    return values[0] if len(values) == 1 else f"one of {', '.join(values)}"


def _played(actors: Actors, scenes: Iterable[Scene], *, look: bool = False) -> list[Step]:
    """Enter each scene and let the action run; refused ones first, then a look at what it might have changed, then the others.

    Their answers hold all that they change of the acting object; ``look`` asks for the others, too.
    """
    stage = Stage(actors)
    refused, taken = _sorted_out(actors, scenes)
    # Effects that take place nevertheless show in the last one if anywhere; what they do before may be overwritten on the way to the next scene.
    refused.sort(key=lambda each: would_change(actors, each))
    for scene in (*refused, *provoking(actors, refused)):
        stage.play(scene)
    if refused:
        stage.look("the refused action changed nothing")
    for scene in taken:
        stage.play(scene)
    if taken and look:
        stage.look(f"{actors.action.name} changed what it should")
    return stage.steps


def _sorted_out(actors: Actors, scenes: Iterable[Scene]) -> tuple[list[Scene], list[Scene]]:
    """The legal scenes, without those that repeat another, by whether the action is refused."""
    refused: list[Scene] = []
    taken: list[Scene] = []
    for scene in scenes:
        prediction = predict(actors, scene)
        group = taken if prediction.refusal is None else refused
        if is_legal(actors, scene, prediction) and all(scene.store != each.store for each in group):
            group.append(scene)
    return refused, taken


def _condition(actors: Actors, good: Scene, index: int) -> Case:
    """One condition: refused when it alone does not hold, and its edge from both sides."""
    entity, action = actors.kit.entity, actors.action
    world = witness.failing_only(actors.kits.state, entity, action, index)
    if world is None:
        raise BenchmarkFault(f"condition {index + 1} of {entity.name}.{action.name} cannot fail alone (rule B5)")
    bad = attrs.evolve(scene_of(world, actors), label=f"condition {index + 1} does not hold")
    return _case(
        actors,
        f"condition_{index + 1}",
        f"The action {action.name} is refused exactly when its condition {index + 1} does not hold, all else being right.",
        ("B1", "B2"),
        _played(actors, _telling(actors, good, bad, index)),
    )


def _telling(actors: Actors, good: Scene, bad: Scene, index: int) -> list[Scene]:
    """The fewest scenes that tell the condition from what a server may take it for; more are looked for as long as one does not show."""
    condition = actors.action.conditions[index]
    scenes = [bad, *around(actors, condition, bad)]
    choice = _fewest(actors, scenes, index)
    if choice.hidden:
        # Items on the other side of the edge, beside items that satisfy the condition, tell ``any`` from ``all``.
        scenes += around(actors, condition, attrs.evolve(prefixed(good, actors.kits, "g-"), label="all conditions hold"))
        choice = _fewest(actors, scenes, index)
    for search in (_searched, _held):
        if choice.hidden:
            scenes += search(actors, bad, index, choice.hidden)
            choice = _fewest(actors, scenes, index)
    return [scenes[position] for position in choice.positions]


def _fewest(actors: Actors, scenes: list[Scene], index: int) -> Choice:
    entity = actors.kit.entity

    def usable(position: int) -> bool:
        return is_legal(actors, scenes[position], predict(actors, scenes[position]))

    views = [view(scene.store[entity.name][scene.acting], scene.store, entity) for scene in scenes]
    return fewest(actors.action, index, views, usable)


def _searched(actors: Actors, bad: Scene, index: int, hidden: list[Misreading]) -> Iterator[Scene]:
    """Scenes in which a condition and a misreading of it differ, looked for as a whole: moving one operand alone upset another condition."""
    state, entity, action = actors.kits.state, actors.kit.entity, actors.action
    condition, edges = action.conditions[index], _edges(actors, index, hidden)
    others = [each.condition for each in hidden if each.condition is not None and edge_of(condition, each.condition) is None]
    worlds = [witness.telling(state, entity, action, index, wrong, negated(wrong)) for wrong in others]
    for edge in edges:
        for values in pairs(actors, condition, edge):
            yield bad.changed(entity.name, bad.acting, dict(values), f"{' and '.join(name for name, _ in values)} come to the edge of condition {index + 1}")
    worlds += [trial.world for trial in witness.boundary(state, entity, action, index, edges)]
    for number, world in enumerate(worlds):
        yield from _scenes(actors, world, f"e{number}-", f"beside the edge of condition {index + 1}")


def _held(actors: Actors, _: Scene, index: int, hidden: list[Misreading]) -> Iterator[Scene]:
    """Scenes on the edge of arithmetic in which both operands are held fast and all others follow: the search as a whole missed the few pairs of values that
    come to it."""
    state, entity, action = actors.kits.state, actors.kit.entity, actors.action
    for edge in _edges(actors, index, hidden):
        for number, values in enumerate(pairs(actors, action.conditions[index], edge)):
            world = witness.with_values(state, entity, action, (index, edge), values)
            if world is not None:
                yield from _scenes(actors, world, f"h{number}-", f"beside the edge of condition {index + 1}")
                break


def _edges(actors: Actors, index: int, hidden: list[Misreading]) -> list[int]:
    """The steps above the right side at which hidden misreadings differ from the condition."""
    edges = [edge_of(actors.action.conditions[index], each.condition) for each in hidden if each.condition is not None]
    return [edge for edge in dict.fromkeys(edges) if edge is not None]


def _special(actors: Actors, scene: Scene) -> Iterator[Case]:
    """Null operands, nothing to write to, and references back to the acting object."""
    name = actors.action.name
    groups = (
        ("null_operand", f"The action {name} leaves a field as it is when an operand of its arithmetic is null.", ("B3",), _null_operands(actors, scene)),
        ("nothing_to_write", f"The action {name} skips effects whose reference is null or whose list is empty.", ("B3",), _nobody(actors, scene)),
        ("refers_to_itself", f"The action {name} works on an object that refers to itself.", ("B3", "S7"), _own(actors, scene)),
    )
    for kind, title, rules, scenes in groups:
        taken = _sorted_out(actors, scenes)[1]
        if taken:
            yield _case(actors, kind, title, rules, _played(actors, taken, look=True))


def _null_operands(actors: Actors, scene: Scene) -> Iterator[Scene]:
    for effect in actors.action.effects:
        entity, keys = subjects(actors, scene, effect)
        own = (actors.kit.entity.name, scene.acting)
        other = (entity, keys[0]) if keys else None
        for place, name in dict.fromkeys(operands(effect, own, other)):
            empty = with_null(actors, scene, place, name)
            if empty is not None:
                yield empty


def _nobody(actors: Actors, scene: Scene) -> Iterator[Scene]:
    state, entity, action = actors.kits.state, actors.kit.entity, actors.action
    scopes = dict.fromkeys(effect.scope for effect in action.effects)
    for number, scope in enumerate(scopes):
        if isinstance(scope, OnReference):
            yield from _scenes(actors, witness.null_reference(state, entity, action, scope.field), f"n{number}-", f"{scope.field} is null")
        elif isinstance(scope, OnEach):
            yield with_items(actors, scene, scope.field, 0)


def _own(actors: Actors, rich: Scene) -> Iterator[Scene]:
    """Scenes in which a reference or list leads back to the acting object: alone, or where that cannot be, with the others that the list holds."""
    state, entity, action = actors.kits.state, actors.kit.entity, actors.action
    used = dict.fromkeys(effect.scope.field for effect in action.effects if not isinstance(effect.scope, OnThis))
    for number, name in enumerate(used):
        label = f"{name} leads back to the acting object"
        world = witness.own_reference(state, entity, action, name)
        if world is not None:
            yield attrs.evolve(enriched(actors, scene_of(world, actors, f"o{number}-")), label=label)
        elif actors.kits.target(entity.field(name)) is actors.kit:
            before = rich.read(entity.name, rich.acting, name)
            value = [*before, rich.acting] if isinstance(before, list) else rich.acting
            scenes = (rich.changed(entity.name, rich.acting, {name: value, action.enum_field: each}, label) for each in action.from_values)
            yield from [enriched(actors, scene) for scene in scenes if accepted(actors, scene)][:1]


def _scenes(actors: Actors, world: World | None, prefix: str, label: str) -> Iterator[Scene]:
    if world is not None:
        yield attrs.evolve(scene_of(world, actors, prefix), label=label)
