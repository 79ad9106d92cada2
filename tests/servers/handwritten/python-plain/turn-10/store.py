"""The objects of all entities, in memory, and what can be done with them."""

from fractions import Fraction

from fields import Invalid, Reference, ReferenceList


class NotFound(Exception):
    pass


class Conflict(Exception):
    pass


class Store:
    def __init__(self, entities):
        self.entities = entities
        self.reset()

    def reset(self):
        self.objects = {name: {} for name in self.entities}

    def exists(self, entity, id_):
        return id_ in self.objects[entity]

    def all(self, entity):
        return list(self.objects[entity].values())

    def get(self, entity, id_):
        try:
            return self.objects[entity][id_]
        except KeyError:
            raise NotFound(f"no {entity} {id_!r}") from None

    def create(self, entity, body):
        id_ = body.get("id")
        if not isinstance(id_, str):
            raise Invalid("id must be a string")
        if self.exists(entity, id_):
            raise Conflict(f"there is a {entity} {id_!r} already")
        obj = {"id": id_}
        for name, field in self.entities[entity].items():
            obj[name] = self._value(name, field, body)
        self.objects[entity][id_] = obj
        return obj

    def update(self, entity, id_, body):
        obj = self.get(entity, id_)
        if "id" in body and body["id"] != id_:
            raise Invalid("id cannot be changed")
        changes = {name: self._value(name, field, body)
                   for name, field in self.entities[entity].items()
                   if name in body}
        obj.update(changes)
        return obj

    def _value(self, name, field, body):
        try:
            if name in body:
                return field.accept(body[name], self)
            return field.when_left_out()
        except Invalid as problem:
            raise Invalid(f"{name} {problem}") from None

    def delete(self, entity, id_):
        self.get(entity, id_)
        del self.objects[entity][id_]
        for owner, fields in self.entities.items():
            for name, field in fields.items():
                if (isinstance(field, (Reference, ReferenceList))
                        and field.entity == entity):
                    for obj in self.objects[owner].values():
                        obj[name] = field.without(obj[name], id_)

    def analyse(self, entity, field, function):
        if function == "count":
            return len(self.objects[entity])
        values = [obj[field] for obj in self.objects[entity].values()
                  if obj[field] is not None]
        return FUNCTIONS[function](values)


def _sum(values):
    total = sum(map(Fraction, values))
    # a whole number stays one, however large it is
    return int(total) if total == int(total) else float(total)


def _avg(values):
    if not values:
        return None
    mean = sum(map(Fraction, values)) / len(values)
    return int(mean) if mean.denominator == 1 else float(mean)


FUNCTIONS = {
    "sum": _sum,
    "avg": _avg,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
}
