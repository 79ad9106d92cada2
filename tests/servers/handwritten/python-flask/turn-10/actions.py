"""Actions: transition, conditions and effects.

Conditions and effects are functions of a Scope, put together from the
builders below. A path such as "this.a", "this.ref.a" or "item.a" is given
as its text."""
import operator

COMPARE = {"==": operator.eq, "!=": operator.ne, "<": operator.lt,
           "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Scope:
    def __init__(self, store, entities, entity, this, item=None, item_entity=None):
        self.store = store
        self.entities = entities
        self.roots = {"this": (entity, this), "item": (item_entity, item)}

    def owner(self, path):
        """The object that holds the last name of the path (None if a reference
        on the way is null), the name of its entity and that last name."""
        root, *way, last = path.split(".")
        entity, obj = self.roots[root]
        for name in way:
            entity, oid = self.entities[entity][name].target, obj[name]
            if oid is None:
                return None, entity, last
            obj = self.store[entity][oid]
        return obj, entity, last

    def get(self, path):
        obj, _, last = self.owner(path)
        return None if obj is None else obj[last]

    def items(self, path):
        obj, entity, last = self.owner(path)
        target = self.entities[entity][last].target
        this = self.roots["this"]
        return [Scope(self.store, self.entities, *this, self.store[target][oid], target)
                for oid in obj[last]]


# Operands

def literal(value):
    return lambda scope: value


def field(path):
    return lambda scope: scope.get(path)


# Conditions

def compare(left, op, right):
    def holds(scope):
        a, b = left(scope), right(scope)
        return a is not None and b is not None and COMPARE[op](a, b)
    return holds


def is_null(path):
    return lambda scope: scope.get(path) is None


def is_not_null(path):
    return lambda scope: scope.get(path) is not None


def every(path, condition):
    return lambda scope: all(condition(s) for s in scope.items(path))


# Effects

def put(path, value):
    def effect(scope):
        obj, _, last = scope.owner(path)
        if obj is not None:
            obj[last] = value
    return effect


def increment(path, by):
    def effect(scope):
        obj, _, last = scope.owner(path)
        if obj is not None and obj[last] is not None:
            obj[last] += by
    return effect


class Action:
    def __init__(self, entity, name, on, start, end, conditions=(), effects=()):
        self.entity = entity
        self.name = name
        self.on = on
        self.start = start
        self.end = end
        self.conditions = conditions
        self.effects = effects

    def run(self, store, entities, obj):
        """Perform the action; returns the status of a refusal or None."""
        if obj[self.on] not in self.start:
            return 400
        scope = Scope(store, entities, self.entity, obj)
        if not all(condition(scope) for condition in self.conditions):
            return 409
        for effect in self.effects:
            effect(scope)
        obj[self.on] = self.end
        return None
