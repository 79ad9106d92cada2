"""Where the cases of an action are played out on paper: the objects that the server must hold, and the requests that bring them there.

A :class:`Scene` is a wish: these objects, this one acting. A :class:`Stage` writes the steps from what the server holds to the next scene, lets the action
run, and knows by :mod:`stamina.rest.semantics` what must come of it.
"""

from __future__ import annotations

from typing import Final

import attrs

from stamina.exchange import Json, Request
from stamina.rest import semantics, testdata
from stamina.rest.candidates import tame
from stamina.rest.checks import OK, UNMET, WRONG_STATE, Status, Stored
from stamina.rest.expressions import OnThis
from stamina.rest.schema import Action, Field
from stamina.rest.semantics import Refusal, Store
from stamina.rest.suite.kit import Kit, Kits, Object, create, get, listing, target_name
from stamina.rest.worlds import World
from stamina.suite import Step

_REFUSED: Final = {Refusal.WRONG_STATE: WRONG_STATE, Refusal.UNMET_CONDITION: UNMET}


@attrs.frozen(eq=False)
class Actors:
    """An action with its entity and the kits of all entities."""

    kits: Kits
    kit: Kit
    action: Action

    @property
    def path(self) -> str:
        """The last segment of the action's path, with the stroke before it."""
        return f"/{self.action.name}"


@attrs.frozen(eq=False)
class Scene:
    """Objects as they should be. ``acting`` is the id of the acting object; ``label`` says in a few words what is special."""

    acting: str
    store: Store
    pinned: frozenset[tuple[str, str, str]] = frozenset()
    label: str = ""

    def changed(self, entity: str, key: str, fields: Object, label: str = "") -> Scene:
        """This scene with other values in one object, which is made when there is none."""
        objects = self.store.get(entity, {})
        store = {**self.store, entity: {**objects, key: {**objects.get(key, {}), **fields}}}
        return Scene(self.acting, store, self.pinned, label or self.label)

    def renamed(self, kits: Kits, entity: str, old: str, new: str) -> Scene:
        """This scene with another id for one object, wherever it is mentioned."""
        store: Store = {}
        for name, objects in self.store.items():
            fields = [field.name for field in kits.by_name[name].references if target_name(field) == entity]
            named = {new if name == entity and key == old else key: each for key, each in objects.items()}
            store[name] = {key: {**each, **{field: _swapped(each[field], old, new) for field in fields}, "id": key} for key, each in named.items()}
        return attrs.evolve(self, store=store)

    def read(self, entity: str, key: str, field: str) -> Json:
        """The value of one field of one object."""
        return self.store[entity][key][field]


def _swapped(value: Json, old: str, new: str) -> Json:
    return [new if key == old else key for key in value] if isinstance(value, list) else new if value == old else value


@attrs.frozen(eq=False)
class Prediction:
    """What the action does in a scene: why it is refused (None when it is not), and the store after it."""

    refusal: Refusal | None
    store: Store


def scene_of(world: World, actors: Actors, prefix: str = "") -> Scene:
    """The scene of a witness: fields that it leaves open get ordinary values, ids get the prefix."""
    store: Store = {actors.kit.entity.name: {}, **{actors.kits.target(field).entity.name: {} for field in actors.kit.references}}
    pinned: list[tuple[str, str, str]] = []
    for index, each in enumerate(world.objects):
        kit = actors.kits.by_name[each.entity]
        key, fields = prefix + each.id, {**each.body(), **dict.fromkeys(each.omitted)}
        store.setdefault(each.entity, {})[key] = kit.stored({**kit.full(key, index), **_prefixed(kit, fields, prefix), "id": key})
        pinned.extend((each.entity, key, name) for name in fields)
    for link in world.links:
        store[link.entity][prefix + link.id].update(_prefixed(actors.kits.by_name[link.entity], link.body(), prefix))
        pinned.append((link.entity, prefix + link.id, link.field))
    return Scene(prefix + world.acting[1], store, frozenset(pinned))


def _prefixed(kit: Kit, fields: Object, prefix: str) -> Object:
    """Field values in which the ids of other objects carry the prefix."""
    news = dict(fields)
    for field in kit.references:
        value = news.get(field.name)
        if isinstance(value, list):
            news[field.name] = [prefix + key for key in value]
        elif value is not None:
            news[field.name] = prefix + value
    return news


def prefixed(scene: Scene, kits: Kits, prefix: str) -> Scene:
    """The scene with a prefix to all ids."""
    for entity, objects in scene.store.items():
        for key in objects:
            scene = scene.renamed(kits, entity, key, prefix + key)
    return attrs.evolve(scene, acting=prefix + scene.acting)


def predict(actors: Actors, scene: Scene) -> Prediction:
    """What the action does in the scene (B1-B3)."""
    store: Store = {entity: {key: dict(each) for key, each in objects.items()} for entity, objects in scene.store.items()}
    entity = actors.kit.entity
    seen = semantics.view(store[entity.name][scene.acting], store, entity)
    refusal = semantics.refusal(actors.action, seen)
    if refusal is None:
        semantics.perform(actors.action, seen)
    return Prediction(refusal, store)


def is_legal(actors: Actors, scene: Scene, prediction: Prediction) -> bool:
    """Whether a test may play the scene: every value that a request gives or an effect leaves is inside its constraints (B4)."""
    return _is_valid(actors.kits, scene.store) and (prediction.refusal is not None or _is_valid(actors.kits, prediction.store))


def _is_valid(kits: Kits, store: Store) -> bool:
    def ids_of(entity: str) -> dict[str, Object]:
        return store.get(entity, {})

    for entity, objects in store.items():
        kit = kits.by_name[entity]
        for each in objects.values():
            for name, check in kit.checks.items():
                value = each[name]
                if value is None:
                    if name in kit.filled:
                        return False
                elif not tame(value) or check(value, ids_of) is not None:
                    return False
    return True


class Stage:
    """Writes the steps of one case and keeps what the server holds after them."""

    def __init__(self, actors: Actors) -> None:
        self._actors = actors
        entity = actors.kit.entity
        scopes = [effect.scope for effect in actors.action.effects]
        self._written = {entity.name, *(target_name(entity.field(scope.field)) for scope in scopes if not isinstance(scope, OnThis))}
        self.steps: list[Step] = []
        self.store: Store = {}
        self._unseen: dict[tuple[str, str], set[str]] = {}

    def play(self, scene: Scene) -> None:
        """Bring the scene about, let the action run in it, and expect what it must do."""
        self._act(self._entered(scene))

    def _entered(self, scene: Scene) -> Scene:
        """Create what is missing and change what differs. Objects of earlier scenes that this one does not know stay."""
        scene = self._reachable(scene)
        for entity, objects in self._in_order(scene.store):
            there = self.store.setdefault(entity, {})  # Also without objects: conditions and effects look through empty lists, too.
            for key, wanted in objects.items():
                if key not in there:
                    self._create(self._actors.kits.by_name[entity], wanted)
        for entity, objects in scene.store.items():
            for key, wanted in objects.items():
                self._change(self._actors.kits.by_name[entity], self.store[entity][key], wanted)
        return scene

    def _reachable(self, scene: Scene) -> Scene:
        """The scene with new ids for objects that no PATCH can bring about: a field that takes no explicit null is null by omission only (V3)."""
        kits, acting = self._actors.kits, self._actors.kit.entity.name
        for entity, objects in scene.store.items():
            there = self.store.get(entity, {})
            for key, wanted in objects.items():
                if key in there and any(wanted[name] is None and there[key][name] is not None for name in kits.by_name[entity].only_omitted):
                    fresh = f"{key[:28]}-{len(there)}"
                    scene = scene.renamed(kits, entity, key, fresh)
                    if (entity, key) == (acting, scene.acting):
                        scene = attrs.evolve(scene, acting=fresh)
        return scene

    def _act(self, scene: Scene) -> None:
        actors = self._actors
        prediction = predict(actors, attrs.evolve(scene, store=self.store))
        request = Request("POST", actors.kit.at(scene.acting) + actors.path)
        if prediction.refusal is None:
            self._note_unseen(scene)
            after = prediction.store[actors.kit.entity.name][scene.acting]
            self.steps.append(Step(request, Stored(OK, after, (), scene.label)))
            self.store = prediction.store
        else:
            why = scene.label or f"{actors.action.name} is refused: {prediction.refusal.value}"
            self.steps.append(Step(request, Status(_REFUSED[prediction.refusal], why)))

    def _note_unseen(self, scene: Scene) -> None:
        """What the effects write on other objects, which the action's answer does not show."""
        acting = self._actors.kit.entity
        for effect in self._actors.action.effects:
            if not isinstance(effect.scope, OnThis):
                entity, value = target_name(acting.field(effect.scope.field)), self.store[acting.name][scene.acting][effect.scope.field]
                for key in value if isinstance(value, list) else [value] if value else []:
                    if (entity, key) != (acting.name, scene.acting):
                        self._unseen.setdefault((entity, key), set()).add(effect.target)

    def look(self, why: str, *, everywhere: bool = False) -> None:
        """Read the objects of the entities that the action writes, or every object that the server holds (B1: nothing else was changed)."""
        for entity, objects in self.store.items():
            if objects and (everywhere or entity in self._written):
                self._unseen.clear()
                self.steps.append(listing(self._actors.kits.by_name[entity], objects.values(), why))

    def _in_order(self, store: Store) -> list[tuple[str, dict[str, Object]]]:
        """The acting entity last: what it refers to is there then."""
        acting = self._actors.kit.entity.name
        return [*((entity, objects) for entity, objects in store.items() if entity != acting), (acting, store[acting])]

    def _create(self, kit: Kit, wanted: Object) -> None:
        body = {name: value for name, value in wanted.items() if name == "id" or value != kit.blank[name] or name in kit.needed}
        for field in kit.entity.fields:
            if body.get(field.name, 0) is None and not testdata.takes_null(field):
                del body[field.name]
        for field in kit.references:
            if body.get(field.name) and not self._all_exist(field, body[field.name]):
                body[field.name] = kit.blank[field.name]
        self.steps.append(create(kit, body))
        self.store.setdefault(kit.entity.name, {})[wanted["id"]] = kit.stored(body)

    def _all_exist(self, field: Field, value: Json) -> bool:
        there = self.store.get(target_name(field), {})
        return all(key in there for key in (value if isinstance(value, list) else [value]))

    def _change(self, kit: Kit, current: Object, wanted: Object) -> None:
        news = {name: value for name, value in wanted.items() if value != current[name]}
        if news:
            if self._unseen.pop((kit.entity.name, wanted["id"]), set()) & set(news):
                self.steps.append(get(kit, current, "what the action wrote here"))
            # The answer holds the whole object: what an action changed that was refused before, or failed to store, shows here.
            self.store[kit.entity.name][wanted["id"]] = {**current, **news}
            self.steps.append(Step(Request("PATCH", kit.at(wanted["id"]), news), Stored(OK, {**current, **news}, (), "the other fields are as they were")))
