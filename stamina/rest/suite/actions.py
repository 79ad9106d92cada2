"""Family ``actions``: what every action does, and when it is refused (contract section 6).

The worlds in which an action succeeds, or is refused for one reason, come from :mod:`stamina.rest.witness`; from there each case moves on by PATCH, so that
one set of objects shows a whole edge. What must come back is predicted by :mod:`stamina.rest.semantics` (see :mod:`stamina.rest.suite.stage`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import attrs

from stamina.errors import BenchmarkFault
from stamina.rest import testdata, witness
from stamina.rest.expressions import Compute, Effect, IncrementBy, OnEach, OnReference, OnThis, SetTo, Subject
from stamina.rest.schema import EnumType, Field, ReferenceListType
from stamina.rest.semantics import Store, run_effects, view
from stamina.rest.suite.kit import Kit, Kits, case, missing, target_name
from stamina.rest.suite.misreadings import Choice, Misreading, edge_of, fewest, negated
from stamina.rest.suite.stage import Actors, Scene, Stage, is_legal, predict, prefixed, scene_of
from stamina.rest.suite.variants import around, extremes, products, with_items, with_null, with_reference
from stamina.rest.worlds import World
from stamina.suite import Case, Step


def actions(kit: Kit, kits: Kits) -> Iterator[Case]:
    """The cases of each action: success, states (404 first), one for each condition, and what special objects do.

    Raises:
        BenchmarkFault: the state is not valid, for an action cannot be exercised (B5).
    """
    for action in kit.entity.actions:
        actors = Actors(kits, kit, action)
        world = witness.succeeding(kits.state, kit.entity, action)
        if world is None:
            raise BenchmarkFault(f"{kit.entity.name}.{action.name} cannot be exercised, so it cannot be tested (rule B5)")
        scene = scene_of(world, actors)
        rich = _enriched(actors, scene)
        yield _succeeds(actors, rich)
        yield _states(actors, rich)
        yield from (_condition(actors, scene, index) for index in range(len(action.conditions)))
        yield from _special(actors, rich)


def _case(actors: Actors, kind: str, title: str, rules: tuple[str, ...], steps: Iterable[Step]) -> Case:
    entity, action = actors.kit.entity, actors.action
    return case("actions", f"{entity.segment}_{action.name}_{kind}", title, rules, ("action", entity.name, action.name), *steps)


def _succeeds(actors: Actors, scene: Scene) -> Case:
    full = _with_bystanders(actors, _with_far_others(actors, scene))
    stage = Stage(actors)
    stage.play(full)
    stage.look(f"what {actors.action.name} writes is written, and nothing else", everywhere=True)
    # Open fields at their extremes: what is not among the conditions does not count, a condition that was removed included.
    for each in extremes(actors, full, lambda candidate: _accepted(actors, candidate)):
        stage.play(each)
    return _case(
        actors,
        "succeeds",
        f"The action {actors.action.name} has every effect that it should have on every object and no other, whatever else the objects hold.",
        ("B1", "B2", "B3"),
        stage.steps,
    )


def _accepted(actors: Actors, scene: Scene) -> bool:
    """Whether the action may be tried in the scene, and succeeds."""
    prediction = predict(actors, scene)
    return prediction.refusal is None and is_legal(actors, scene, prediction)


def _enriched(actors: Actors, scene: Scene) -> Scene:
    """The scene with more for a wrong server to get wrong: open references set, for-each lists of two, effects that change what they write.

    What would make the action fail, or a result leave its constraints, is left out.
    """
    for better in (*_fillings(actors, scene), *_contrasts(actors)):
        richer = better(scene)
        if richer is not scene and _accepted(actors, richer):
            scene = richer
    return scene


Enrichment = Callable[[Scene], Scene]


def _fillings(actors: Actors, scene: Scene) -> Iterator[Enrichment]:
    for field in actors.kit.references:
        yield lambda scene, field=field: _filled(actors, scene, field)  # type: ignore[misc]


def _filled(actors: Actors, scene: Scene, field: Field) -> Scene:
    """The scene with an object in an open reference, or two in a list."""
    entity = actors.kit.entity.name
    value = scene.read(entity, scene.acting, field.name)
    if isinstance(field.type, ReferenceListType):
        return scene if len(value) > 1 else with_items(actors, scene, field.name, 2)
    return scene if value is not None else with_reference(actors, scene, (entity, scene.acting), field)


def _contrasts(actors: Actors) -> Iterator[Enrichment]:
    for effect in actors.action.effects:
        if isinstance(effect.assignment, SetTo):
            yield lambda scene, effect=effect, value=effect.assignment.value: _contrasted(actors, scene, effect, value)  # type: ignore[misc]
        else:
            yield lambda scene, effect=effect: _with_operands(actors, scene, effect)  # type: ignore[misc]


def _contrasted(actors: Actors, scene: Scene, effect: Effect, value: object) -> Scene:
    """The scene in which the objects that an effect sets hold something else before."""
    entity, keys = _subjects(actors, scene, effect)
    field = actors.kits.by_name[entity].entity.field(effect.target)
    for key in keys:
        scene = _different(actors, scene, (entity, key), field, value)
    return scene


def _with_operands(actors: Actors, scene: Scene, effect: Effect) -> Scene:
    """The scene in which no operand of an effect is null on any object."""
    entity, keys = _subjects(actors, scene, effect)
    own = (actors.kit.entity.name, scene.acting)
    for index, key in enumerate(keys):
        for place, name in _operands(effect, own, (entity, key)):
            if scene.read(*place, name) is None:
                kit = actors.kits.by_name[place[0]]
                scene = scene.changed(*place, {name: kit.value(kit.entity.field(name), index)})
    return scene


def _referring(actors: Actors, scene: Scene, place: tuple[str, str], field: Field) -> Scene:
    """The scene with one new object in a reference or list of any object."""
    target, key = actors.kits.target(field), f"{field.name[:20]}-before"
    value = [key] if isinstance(field.type, ReferenceListType) else key
    scene = scene.changed(target.entity.name, key, target.stored(target.full(key, 2)))
    return scene.changed(*place, {field.name: value})


def _subjects(actors: Actors, scene: Scene, effect: Effect) -> tuple[str, list[str]]:
    """The entity and ids of the objects that an effect writes in a scene."""
    entity = actors.kit.entity
    if isinstance(effect.scope, OnThis):
        return entity.name, [scene.acting]
    value = scene.read(entity.name, scene.acting, effect.scope.field)
    keys = value if isinstance(value, list) else [value] if value else []
    return actors.kits.target(entity.field(effect.scope.field)).entity.name, keys


def _with_far_others(actors: Actors, scene: Scene) -> Scene:
    """The scene in which the other objects hold low and high values by turns, and references, in what the action does not mention of them.

    A condition or an effect on them that was removed shows there.
    """
    here = (actors.kit.entity.name, scene.acting)
    mentioned = {(entity, name) for entity, key, name in scene.pinned if (entity, key) != here}
    for entity, objects in scene.store.items():
        kit = actors.kits.by_name[entity]
        ends = {field.name: testdata.ends(field) for field in kit.plain if (entity, field.name) not in mentioned}
        # Kits reach two references from the acting object; what those objects refer to may lie further away.
        links = [field for field in kit.references if (entity, field.name) not in mentioned and target_name(field) in actors.kits.by_name]
        for number, key in enumerate(key for key in objects if (entity, key) != here):
            news = {name: pair[number % 2] for name, pair in ends.items()}
            for field in links:
                there = [each for each in scene.store.get(target_name(field), {}) if each not in (key, scene.acting)][:1]
                if there and not objects[key][field.name]:
                    news[field.name] = there if testdata.is_list(field) else there[0]
            candidate = scene.changed(entity, key, news)
            for field in links if number == 0 else ():
                if not candidate.read(entity, key, field.name):
                    candidate = _referring(actors, candidate, (entity, key), field)
            if _accepted(actors, candidate):
                scene = candidate
    return scene


def _with_bystanders(actors: Actors, scene: Scene) -> Scene:
    """The scene with a twin of the acting object, and for each entity that it reaches an object that it does not refer to."""
    acting = actors.kit.entity.name
    written = dict(_subjects(actors, scene, effect) for effect in actors.action.effects)
    for entity, objects in list(scene.store.items()):
        keys = [scene.acting] if entity == acting else [*written.get(entity, ()), *objects]
        model = objects[keys[0]] if keys else None
        scene = _with_first(actors, scene, entity) if model is None else scene.changed(entity, _BYSTANDER, {**model, "id": _BYSTANDER})
        scene = _with_contrast(actors, scene, entity)
    return scene


def _with_contrast(actors: Actors, scene: Scene, entity: str) -> Scene:
    """The scene in which the bystander does not hold already what an effect sets on objects of its entity."""
    if _BYSTANDER not in scene.store.get(entity, {}):
        return scene
    kit, own = actors.kits.by_name[entity], actors.kit.entity
    for effect in actors.action.effects:
        there = own.name if isinstance(effect.scope, OnThis) else target_name(own.field(effect.scope.field))
        if there == entity and isinstance(effect.assignment, SetTo):
            scene = _different(actors, scene, (entity, _BYSTANDER), kit.entity.field(effect.target), effect.assignment.value)
    return scene


def _different(actors: Actors, scene: Scene, place: tuple[str, str], field: Field, value: object) -> Scene:
    """The scene in which a field of an object does not hold a value."""
    before = scene.read(*place, field.name)
    if testdata.is_plain(field) and before == value:
        return scene.changed(*place, {field.name: testdata.different(field, actors.kits.by_name[place[0]].number, value)})
    return scene if testdata.is_plain(field) or before else _referring(actors, scene, place, field)


_BYSTANDER: Final = "bystander"


def _with_first(actors: Actors, scene: Scene, entity: str) -> Scene:
    """The scene with an object of an entity that has none, on which each effect on objects of that entity would show, if there is one."""
    kit, own = actors.kits.by_name[entity], actors.kit.entity
    for effect in actors.action.effects:
        if isinstance(effect.scope, OnThis) or target_name(own.field(effect.scope.field)) != entity:
            continue
        if _BYSTANDER not in scene.store[entity]:
            scene = scene.changed(entity, _BYSTANDER, kit.stored(kit.full(_BYSTANDER, 1)))
        field = kit.entity.field(effect.target)
        if isinstance(effect.assignment, SetTo) and testdata.is_plain(field):
            scene = scene.changed(entity, _BYSTANDER, {field.name: testdata.different(field, kit.number + 1, effect.assignment.value)})
        elif isinstance(effect.assignment, SetTo):
            scene = _referring(actors, scene, (entity, _BYSTANDER), field)
    return scene


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
    for scene in sorted(refused, key=lambda each: _would_change(actors, each)):
        stage.play(scene)
    if refused:
        stage.look("the refused action changed nothing")
    for scene in taken:
        stage.play(scene)
    if taken and look:
        stage.look(f"{actors.action.name} changed what it should")
    return stage.steps


def _would_change(actors: Actors, scene: Scene) -> bool:
    """Whether the effects would leave a trace in a scene in which they must not take place."""
    store: Store = {entity: {key: dict(each) for key, each in objects.items()} for entity, objects in scene.store.items()}
    entity = actors.kit.entity
    run_effects(actors.action.effects, view(store[entity.name][scene.acting], store, entity))
    return store != scene.store


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
    if choice.hidden:
        scenes += _searched(actors, bad, index, choice.hidden)
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
    worlds: list[World | None] = []
    edges: dict[int, None] = {}
    for wrong in (each.condition for each in hidden if each.condition is not None):
        edge = edge_of(action.conditions[index], wrong)
        if edge is not None:
            edges[edge] = None
        else:
            worlds.append(witness.telling(state, entity, action, index, wrong, negated(wrong)))
    for edge in edges:
        yield from products(actors, action.conditions[index], bad, edge)
    worlds += [trial.world for trial in witness.boundary(state, entity, action, index, edges)]
    for number, world in enumerate(worlds):
        yield from _scenes(actors, world, f"e{number}-", f"beside the edge of condition {index + 1}")


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
        entity, keys = _subjects(actors, scene, effect)
        own = (actors.kit.entity.name, scene.acting)
        other = (entity, keys[0]) if keys else None
        for place, name in dict.fromkeys(_operands(effect, own, other)):
            empty = with_null(actors, scene, place, name)
            if empty is not None:
                yield empty


def _operands(effect: Effect, own: tuple[str, str], other: tuple[str, str] | None) -> Iterator[tuple[tuple[str, str], str]]:
    """Where the operands of an increment or arithmetic lie, and their fields."""
    match effect.assignment:
        case IncrementBy() if other is not None:
            yield other, effect.target
        case Compute(value):
            for ref in (value.left, value.right):
                place = own if ref.subject is Subject.THIS else other
                if place is not None:
                    yield place, ref.field


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
            yield attrs.evolve(_enriched(actors, scene_of(world, actors, f"o{number}-")), label=label)
        elif actors.kits.target(entity.field(name)) is actors.kit:
            before = rich.read(entity.name, rich.acting, name)
            value = [*before, rich.acting] if isinstance(before, list) else rich.acting
            scenes = (rich.changed(entity.name, rich.acting, {name: value, action.enum_field: each}, label) for each in action.from_values)
            yield from [_enriched(actors, scene) for scene in scenes if _accepted(actors, scene)][:1]


def _scenes(actors: Actors, world: World | None, prefix: str, label: str) -> Iterator[Scene]:
    if world is not None:
        yield attrs.evolve(scene_of(world, actors, prefix), label=label)
