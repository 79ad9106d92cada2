"""Scenes with more in them for a wrong server to get wrong: set references, effects that change what they write, and objects that nothing must happen to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import attrs

from stamina.rest import testdata, witness
from stamina.rest.expressions import Compute, Condition, Effect, IncrementBy, OnThis, SetTo, Subject
from stamina.rest.schema import Field, ReferenceListType
from stamina.rest.semantics import Store, is_met, run_effects, view
from stamina.rest.suite.kit import target_name
from stamina.rest.suite.misreadings import negated
from stamina.rest.suite.stage import Actors, Scene, is_legal, predict, scene_of
from stamina.rest.suite.variants import around, with_items, with_reference
from stamina.rest.values import may_be_null


def accepted(actors: Actors, scene: Scene) -> bool:
    """Whether the action may be tried in the scene, and succeeds."""
    prediction = predict(actors, scene)
    return prediction.refusal is None and is_legal(actors, scene, prediction)


def enriched(actors: Actors, scene: Scene) -> Scene:
    """The scene with more for a wrong server to get wrong: open references set, for-each lists of two, effects that change what they write.

    What would make the action fail, or a result leave its constraints, is left out.
    """
    for better in (*_fillings(actors, scene), *_contrasts(actors)):
        richer = better(scene)
        if richer is not scene and accepted(actors, richer):
            scene = richer
    return scene


def would_change(actors: Actors, scene: Scene) -> bool:
    """Whether the effects would leave a trace in a scene in which they must not take place."""
    store: Store = {entity: {key: dict(each) for key, each in objects.items()} for entity, objects in scene.store.items()}
    entity = actors.kit.entity
    run_effects(actors.action.effects, view(store[entity.name][scene.acting], store, entity))
    return store != scene.store


def provoking(actors: Actors, refused: Sequence[Scene]) -> Iterator[Scene]:
    """A scene like the last of those in which the action is refused, and in which its effects would show; none where they show there already.

    Where nothing is written no result has to stay inside its constraints, so numbers may stand where the action never meets any.
    """
    if not refused or would_change(actors, refused[-1]):
        return
    scene, reason = refused[-1], predict(actors, refused[-1]).refusal
    for better in (*_fillings(actors, scene), *_contrasts(actors)):
        richer = better(scene)
        prediction = predict(actors, richer)
        if richer is not scene and prediction.refusal is reason and is_legal(actors, richer, prediction):
            scene = richer
            if would_change(actors, scene):
                yield scene
                return


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
    entity, keys = subjects(actors, scene, effect)
    field = actors.kits.by_name[entity].entity.field(effect.target)
    for key in keys:
        scene = _different(actors, scene, (entity, key), field, value)
    return scene


def _with_operands(actors: Actors, scene: Scene, effect: Effect) -> Scene:
    """The scene in which no operand of an effect is null on any object."""
    entity, keys = subjects(actors, scene, effect)
    own = (actors.kit.entity.name, scene.acting)
    for index, key in enumerate(keys):
        scene = _counted(actors, scene, operands(effect, own, (entity, key)), index)
    return scene


def _counted(actors: Actors, scene: Scene, places: Iterable[tuple[tuple[str, str], str]], index: int = 0) -> Scene:
    """The scene in which none of these fields is null."""
    for place, name in places:
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


def subjects(actors: Actors, scene: Scene, effect: Effect) -> tuple[str, list[str]]:
    """The entity and ids of the objects that an effect writes in a scene."""
    entity = actors.kit.entity
    if isinstance(effect.scope, OnThis):
        return entity.name, [scene.acting]
    value = scene.read(entity.name, scene.acting, effect.scope.field)
    keys = value if isinstance(value, list) else [value] if value else []
    return actors.kits.target(entity.field(effect.scope.field)).entity.name, keys


def with_far_others(actors: Actors, scene: Scene) -> Scene:
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
            if accepted(actors, candidate):
                scene = candidate
    return scene


def with_empty_others(actors: Actors, scene: Scene) -> Scene:
    """The scene in which the objects that the acting one refers to hold nulls and empty lists, where the action still succeeds.

    A condition that was removed and asks whether something is there shows there.
    """
    acting = actors.kit.entity.name
    for link in actors.kit.references:
        value, kit = scene.read(acting, scene.acting, link.name), actors.kits.target(link)
        nulls = {field.name: testdata.no_value(field) for field in kit.entity.fields if may_be_null(field) or testdata.is_list(field)}
        for key in value if isinstance(value, list) else [value] if value else []:
            if (kit.entity.name, key) == (acting, scene.acting):
                continue
            for news in (nulls, *({name: each} for name, each in nulls.items())):
                candidate = scene.changed(kit.entity.name, key, news)
                if news and accepted(actors, candidate):
                    scene = candidate
                    if news is nulls:
                        break
    return scene


def shown(actors: Actors, scene: Scene) -> Iterator[Scene]:
    """Scenes for the effects that change nothing in this one, as far as there are any in which they do."""
    state, entity, action = actors.kits.state, actors.kit.entity, actors.action
    for index in range(len(action.effects)):
        without = attrs.evolve(action, effects=(*action.effects[:index], *action.effects[index + 1 :]))
        if predict(actors, scene).store == predict(attrs.evolve(actors, action=without), scene).store:
            world = witness.showing(state, entity, action, index)
            if world is not None:
                yield attrs.evolve(enriched(actors, scene_of(world, actors, f"s{index}-")), label=f"effect {index + 1} has something to write")


def unasked(actors: Actors, scenes: Sequence[Scene], gone: Sequence[Condition]) -> Iterator[Scene]:
    """Scenes in which the action succeeds and a condition that it had once does not hold, for those that hold in all of the scenes that are played anyway."""
    there = list(scenes)
    for condition in gone:
        if all(_holds(actors, condition, scene) for scene in there):
            found = next((each for each in _without_it(actors, condition, there) if accepted(actors, each) and not _holds(actors, condition, each)), None)
            if found is not None:
                there.append(attrs.evolve(found, label="a condition that was removed does not count"))
                yield there[-1]


def _holds(actors: Actors, condition: Condition, scene: Scene) -> bool:
    entity = actors.kit.entity
    return is_met(condition, view(scene.store[entity.name][scene.acting], scene.store, entity))


def _without_it(actors: Actors, condition: Condition, scenes: Sequence[Scene]) -> Iterator[Scene]:
    """Scenes in which a condition may not hold: little changed from others, then such that are looked for as a whole."""
    state, entity, action = actors.kits.state, actors.kit.entity, actors.action
    for scene in reversed(scenes):
        for each in around(actors, condition, scene):
            yield from (each, *(each.changed(entity.name, each.acting, {action.enum_field: value}) for value in action.from_values))
    turned = attrs.evolve(action, conditions=(*action.conditions, negated(condition)))
    asked = attrs.evolve(action, conditions=(*action.conditions, condition))
    for world in (witness.succeeding(state, entity, turned), witness.failing_only(state, entity, asked, len(action.conditions))):
        if world is not None:
            yield scene_of(world, actors)


def with_bystanders(actors: Actors, scene: Scene) -> Scene:
    """The scene with a twin of the acting object, and for each entity that it reaches an object that it does not refer to."""
    acting = actors.kit.entity.name
    written = dict(subjects(actors, scene, effect) for effect in actors.action.effects)
    for entity, objects in list(scene.store.items()):
        keys = [scene.acting] if entity == acting else [*written.get(entity, ()), *objects]
        model = objects[keys[0]] if keys else None
        scene = _with_first(actors, scene, entity) if model is None else scene.changed(entity, _BYSTANDER, {**model, "id": _BYSTANDER})
        scene = _with_contrast(actors, scene, entity)
    return scene


def _with_contrast(actors: Actors, scene: Scene, entity: str) -> Scene:
    """The scene in which the bystander does not hold already what an effect sets on objects of its entity, and holds the numbers that an effect reads there."""
    if _BYSTANDER not in scene.store.get(entity, {}):
        return scene
    kit, own = actors.kits.by_name[entity], actors.kit.entity
    for effect in actors.action.effects:
        there = own.name if isinstance(effect.scope, OnThis) else target_name(own.field(effect.scope.field))
        here = (entity, _BYSTANDER)
        if there == entity and isinstance(effect.assignment, SetTo):
            scene = _different(actors, scene, here, kit.entity.field(effect.target), effect.assignment.value)
        elif there == entity:
            scene = _counted(actors, scene, [place for place in operands(effect, (own.name, scene.acting), here) if place[0] == here])
    return scene


def _different(actors: Actors, scene: Scene, place: tuple[str, str], field: Field, value: object) -> Scene:
    """The scene in which a field of an object does not hold a value."""
    before = scene.read(*place, field.name)
    if testdata.is_plain(field) and before == value:
        return scene.changed(*place, {field.name: testdata.different(field, actors.kits.by_name[place[0]].number, value)})
    return scene if testdata.is_plain(field) or before else _referring(actors, scene, place, field)


_BYSTANDER: Final = "bystander"


def _with_first(actors: Actors, scene: Scene, entity: str) -> Scene:
    """The scene with an object of an entity that has none, where an effect is on objects of that entity."""
    kit, own = actors.kits.by_name[entity], actors.kit.entity
    if any(target_name(own.field(effect.scope.field)) == entity for effect in actors.action.effects if not isinstance(effect.scope, OnThis)):
        return scene.changed(entity, _BYSTANDER, kit.stored(kit.full(_BYSTANDER, 1)))
    return scene


def operands(effect: Effect, own: tuple[str, str], other: tuple[str, str] | None) -> Iterator[tuple[tuple[str, str], str]]:
    """Where the operands of an increment or arithmetic lie, and their fields."""
    match effect.assignment:
        case IncrementBy() if other is not None:
            yield other, effect.target
        case Compute(value):
            for ref in (value.left, value.right):
                place = own if ref.subject is Subject.THIS else other
                if place is not None:
                    yield place, ref.field
