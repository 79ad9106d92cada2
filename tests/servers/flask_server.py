"""A Flask server of a state: JSON Schemas for the bodies, objects as dicts, answers without the keys that are null."""

from __future__ import annotations

from typing import Any

from tests.servers.python_dialect import Python, indented
from tests.servers.states import Action, Api, Entity, Field

_HEAD = '''\
"""The API, on Flask, with JSON Schema for what comes in."""

import re
import sys
from datetime import datetime
from statistics import fmean

import jsonschema
from flask import Flask, abort, jsonify, request

app = Flask(__name__)


def instant(validator, bounds, value, schema):
    """The keyword `instant`: text of the form YYYY-MM-DD hh:mm:ss, between two bounds."""
    if not isinstance(value, str):
        return
    try:
        good = re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", value) and datetime.strptime(value, "%Y-%m-%d %H:%M:%S")
    except ValueError:
        good = None
    if not good or value < (bounds[0] or value) or value > (bounds[1] or value):
        yield jsonschema.ValidationError(f"{value!r} is no instant in the range")


Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"instant": instant})


def shown(row):
    """What a client sees: fields without a value are left out."""
    return {name: value for name, value in row.items() if value is not None}


def checked(entity, body, required):
    """The body when it is good; 400 when it is not."""
    validator = Validator({"type": "object", "properties": PROPERTIES[entity], "required": required})
    problem = next(validator.iter_errors(body), None)
    if problem is not None:
        abort(400, problem.message)
    for name, target in LINKS[entity]:
        keys = body.get(name)
        for key in keys if isinstance(keys, list) else [keys]:
            if key is not None and key not in DB[target]:
                abort(400, f"{name}: there is no {target} {key}")
    return {name: value for name, value in body.items() if name in PROPERTIES[entity]}


def row_or_404(entity, key):
    return DB[entity].get(key) or abort(404)


def register(entity, path):
    """The five routes of an entity."""
    table = DB[entity]

    @app.post(f"/{path}", endpoint=f"create_{path}")
    def create():
        body = checked(entity, request.get_json(), REQUIRED[entity])
        if body["id"] in table:
            abort(409, "this id is taken")
        row = {**{name: list(value) if isinstance(value, list) else value for name, value in BLANK[entity].items()}, **body}
        table[row["id"]] = row
        return jsonify(shown(row)), 201

    @app.get(f"/{path}", endpoint=f"list_{path}")
    def index():
        return jsonify([shown(row) for row in table.values()])

    @app.get(f"/{path}/<key>", endpoint=f"read_{path}")
    def read(key):
        return jsonify(shown(row_or_404(entity, key)))

    @app.patch(f"/{path}/<key>", endpoint=f"update_{path}")
    def update(key):
        row = row_or_404(entity, key)
        row.update({**checked(entity, request.get_json(), []), "id": key})
        return jsonify(shown(row))

    @app.delete(f"/{path}/<key>", endpoint=f"delete_{path}")
    def delete(key):
        del table[row_or_404(entity, key)["id"]]
        for holder, links in LINKS.items():
            for name, target in links:
                if target != entity:
                    continue
                for row in DB[holder].values():
                    if isinstance(row[name], list):
                        row[name] = [each for each in row[name] if each != key]
                    elif row[name] == key:
                        row[name] = None
        return "", 204


def analytics(entity, path, operation, field):
    """One endpoint."""
    where = operation if field is None else f"{field}/{operation}"

    @app.get(f"/analytics/{path}/{where}", endpoint=f"{path}/{where}")
    def compute():
        rows = DB[entity].values()
        if field is None:
            return jsonify(result=len(rows))
        values = [row[field] for row in rows if row[field] is not None]
        if operation == "sum":
            return jsonify(result=sum(values))
        return jsonify(result={"avg": fmean, "min": min, "max": max}[operation](values) if values else None)


@app.post("/reset")
def reset():
    for table in DB.values():
        table.clear()
    return jsonify(status="ok")
'''

_TAIL = """

if __name__ == "__main__":
    app.run("0.0.0.0", int(sys.argv[1]))
"""


def generate(api: Api) -> dict[str, str]:
    """The files of the workspace."""
    dialect = Python(api, "{}[{!r}]".format, "DB[{!r}]".format)
    tables: dict[str, dict[str, Any]] = {
        "DB": {entity.name: {} for entity in api.entities},
        "PROPERTIES": {entity.name: {"id": {"type": "string"}, **{field.name: _schema(field) for field in entity.fields}} for entity in api.entities},
        "REQUIRED": {entity.name: ["id", *(field.name for field in entity.fields if field.must_be_sent)] for entity in api.entities},
        "BLANK": {entity.name: {field.name: [] if field.is_list else field.default for field in entity.fields} for entity in api.entities},
        "LINKS": {entity.name: [(field.name, field.target) for field in entity.fields if field.target] for entity in api.entities},
    }
    lines = [""]
    for name, table in tables.items():
        lines += [f"{name} = {{", *(f"    {entity!r}: {value!r}," for entity, value in table.items()), "}"]
    for entity in api.entities:
        lines += ["", f"register({entity.name!r}, {entity.path!r})"]
        lines += [f"analytics({entity.name!r}, {entity.path!r}, {operation!r}, {field!r})" for operation, field in entity.analytics]
        for action in entity.actions:
            lines += _action(dialect, entity, action)
    return {"app.py": _HEAD + "\n".join(lines) + "\n" + _TAIL, "run_server.sh": 'python app.py "$1" &\n'}


def _schema(field: Field) -> dict[str, Any]:
    null = ["null"] if field.takes_null else []
    match field.kind:
        case "enum":
            return {"enum": [*field.values, *([None] if field.takes_null else [])]}
        case "reference_list":
            return {"type": "array", "items": {"type": "string"}}
        case "datetime":
            return {"type": ["string", *null], "instant": [field.low, field.high]}
        case "string":
            return {"type": ["string", *null], **_bounds(field, "minLength", "maxLength")}
        case "integer" | "float":
            return {"type": [{"integer": "integer", "float": "number"}[field.kind], *null], **_bounds(field, "minimum", "maximum")}
        case _:
            return {"type": [{"reference": "string"}.get(field.kind, field.kind), *null]}


def _bounds(field: Field, low: str, high: str) -> dict[str, Any]:
    return {name: value for name, value in ((low, field.low), (high, field.high)) if value is not None}


def _action(dialect: Python, entity: Entity, action: Action) -> list[str]:
    body = [f"this = row_or_404({entity.name!r}, key)", f"if this[{action.enum_field!r}] not in {action.from_values!r}:", '    abort(400, "wrong state")']
    conditions = list(dialect.conditions(entity, action))
    if conditions:
        body += ["if not (", *(f"    {'and ' if number else ''}{condition}" for number, condition in enumerate(conditions)), "):", "    abort(409)"]
    body += [*dialect.effects(entity, action), f"this[{action.enum_field!r}] = {action.to_value!r}", "return jsonify(shown(this))"]
    return ["", "", f'@app.post("/{entity.path}/<key>/{action.name}")', f"def {entity.path}_{action.name}(key):", *indented(body)]
