"""The Flask application: one set of handlers for all entities."""
import json

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from fields import BadInput
import spec

STATS = {
    "avg": lambda v: sum(v) / len(v) if v else None,
    "min": lambda v: min(v, default=None),
    "max": lambda v: max(v, default=None),
    "sum": sum,
}

store = {name: {} for name in spec.ENTITIES}
app = Flask(__name__, static_folder=None)


def reply(data, status=200):
    return Response(json.dumps(data) + "\n", status, mimetype="application/json")


def complain(status, text):
    return reply({"error": text}, status)


@app.errorhandler(BadInput)
def on_bad_input(exc):
    return complain(400, str(exc))


@app.errorhandler(HTTPException)
def on_http_error(exc):
    return complain(exc.code or 500, exc.name)


def read_body():
    def refuse(word):
        raise ValueError(word)
    try:
        body = json.loads(request.get_data().decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise BadInput("the body is not valid JSON") from None
    if not isinstance(body, dict):
        raise BadInput("the body is not a JSON object")
    return body


def check(fields, key, value):
    try:
        return fields[key].accept(value, store)
    except BadInput as exc:
        raise BadInput(f"{key}: {exc}") from None


def drop_references(entity, oid):
    for name, fields in spec.ENTITIES.items():
        for key, field in fields.items():
            if field.target != entity:
                continue
            for obj in store[name].values():
                if field.is_list:
                    obj[key] = [i for i in obj[key] if i != oid]
                elif obj[key] == oid:
                    obj[key] = None


def add_entity(entity, fields):
    path = "/" + entity.lower()
    objects = store[entity]

    def found(view):
        def wrapped(oid):
            if oid not in objects:
                return complain(404, f"no {entity} has this id")
            return view(objects[oid])
        return wrapped

    def create():
        body = read_body()
        oid = body.get("id")
        if not isinstance(oid, str):
            raise BadInput("id: must be a string")
        if oid in objects:
            return complain(409, "id: is taken")
        obj = {"id": oid}
        for key, field in fields.items():
            if key in body:
                obj[key] = check(fields, key, body[key])
            else:
                try:
                    obj[key] = field.when_left_out()
                except BadInput as exc:
                    raise BadInput(f"{key}: {exc}") from None
        objects[oid] = obj
        return reply(obj, 201)

    def list_all():
        return reply(list(objects.values()))

    @found
    def read(obj):
        return reply(obj)

    @found
    def update(obj):
        body = read_body()
        if "id" in body and body["id"] != obj["id"]:
            raise BadInput("id: cannot be changed")
        obj.update({key: check(fields, key, body[key])
                    for key in fields if key in body})
        return reply(obj)

    @found
    def delete(obj):
        del objects[obj["id"]]
        drop_references(entity, obj["id"])
        return Response(status=204)

    for method, rule, view in (
        ("POST", path, create),
        ("GET", path, list_all),
        ("GET", path + "/<oid>", read),
        ("PATCH", path + "/<oid>", update),
        ("DELETE", path + "/<oid>", delete),
    ):
        app.add_url_rule(rule, f"{method} {rule}", view, methods=[method])


def add_statistic(entity, what):
    objects = store[entity]
    field, _, kind = what.rpartition("/")

    def view():
        if not field:
            return reply({"result": len(objects)})
        values = [o[field] for o in objects.values() if o[field] is not None]
        return reply({"result": STATS[kind](values)})

    rule = f"/analytics/{entity.lower()}/{what}"
    app.add_url_rule(rule, rule, view, methods=["GET"])


@app.post("/reset")
def reset():
    for objects in store.values():
        objects.clear()
    return Response(status=204)


for _name, _fields in spec.ENTITIES.items():
    add_entity(_name, _fields)
for _name, _whats in spec.ANALYTICS.items():
    for _what in _whats:
        add_statistic(_name, _what)
