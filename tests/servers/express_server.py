"""An Express server of a state: zod schemas, Maps, a factory for the five routes, handlers for the actions."""

from __future__ import annotations

import json

from tests.servers.expressions import Dialect, Place
from tests.servers.states import Action, Api, Entity, Field

_HEAD = """\
'use strict';
// The API, on Express, with zod for what comes in.

const express = require('express');
const { z } = require('zod');

const app = express();
app.use(express.json());

const db = {};
const links = {};

const instant = (from, to) => z.string().regex(/^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d$/).refine((text) => {
  const [year, month, day, hour, minute, second] = text.split(/[- :]/).map(Number);
  const days = month === 2 ? ((year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  const exists = month >= 1 && month <= 12 && day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60;
  return exists && (from === null || text >= from) && (to === null || text <= to);
});

class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const find = (entity, key) => {
  if (!db[entity].has(key)) throw new Problem(404, `no ${entity} with id ${key}`);
  return db[entity].get(key);
};

const parse = (schema, entity, body) => {
  const result = schema.safeParse(body);
  if (!result.success) throw new Problem(422, result.error.message);
  for (const [field, target] of links[entity]) {
    const value = result.data[field] ?? [];
    for (const key of Array.isArray(value) ? value : [value]) {
      if (!db[target].has(key)) throw new Problem(422, `${field}: no ${target} with id ${key}`);
    }
  }
  return result.data;
};

function crud(entity, path, schema, patch) {
  const table = db[entity];
  app.post(path, (req, res) => {
    const object = parse(schema, entity, req.body);
    if (table.has(object.id)) throw new Problem(409, 'this id is taken');
    table.set(object.id, object);
    res.status(201).json(object);
  });
  app.get(path, (req, res) => res.json([...table.values()]));
  app.get(`${path}/:id`, (req, res) => res.json(find(entity, req.params.id)));
  app.patch(`${path}/:id`, (req, res) => {
    const object = find(entity, req.params.id);
    const { id, ...news } = parse(patch, entity, req.body);
    res.json(Object.assign(object, news));
  });
  app.delete(`${path}/:id`, (req, res) => {
    const { id } = find(entity, req.params.id);
    table.delete(id);
    for (const [holder, fields] of Object.entries(links)) {
      for (const [field] of fields.filter(([, target]) => target === entity)) {
        for (const object of db[holder].values()) {
          if (Array.isArray(object[field])) object[field] = object[field].filter((key) => key !== id);
          else if (object[field] === id) object[field] = null;
        }
      }
    }
    res.sendStatus(200);
  });
}

const present = (entity, field) => [...db[entity].values()].map((object) => object[field] ?? null).filter((value) => value !== null);
const total = (values) => values.reduce((sum, value) => sum + value, 0);
const average = (values) => (values.length ? total(values) / values.length : null);
const least = (values) => (values.length ? Math.min(...values) : null);
const most = (values) => (values.length ? Math.max(...values) : null);

app.post('/reset', (req, res) => {
  for (const table of Object.values(db)) table.clear();
  res.status(204).end();
});
"""

_TAIL = """
app.use((error, req, res, next) => res.status(error.status ?? 500).json({ message: error.message }));

app.listen(Number(process.argv[2]), '0.0.0.0');
"""

_RUN = 'exec node server.js "$1"\n'

_ANALYTICS = {"avg": "average", "sum": "total", "min": "least", "max": "most"}


def generate(api: Api) -> dict[str, str]:
    """The files of the workspace; it needs ``node_modules`` beside them."""
    dialect = JavaScript(api)
    lines: list[str] = []
    for entity in api.entities:
        pairs = [[field.name, field.target] for field in entity.fields if field.target]
        lines += [f"db.{entity.name} = new Map();", f"links.{entity.name} = {json.dumps(pairs)};"]
    for entity in api.entities:
        schema, patch = _schema(entity, patch=False), _schema(entity, patch=True)
        lines += ["", f"crud('{entity.name}', '/{entity.path}', z.object({{", *schema, "}), z.object({", *patch, "}));"]
        lines += [_analytics(entity, *each) for each in entity.analytics]
        for action in entity.actions:
            lines += _action(dialect, entity, action)
    return {"server.js": _HEAD + "\n" + "\n".join(lines) + "\n" + _TAIL, "run_server.sh": _RUN}


def _schema(entity: Entity, *, patch: bool) -> list[str]:
    lines = ["  id: z.string()" + (".optional()," if patch else ",")]
    for field in entity.fields:
        text = _type(field)
        if patch:
            text += ".optional()"
        elif field.is_list:
            text += ".default(() => [])"
        elif field.default is not None:
            text += f".default({json.dumps(field.default)})"
        elif not field.required:
            text += ".optional()"
        lines.append(f"  {field.name}: {text},")
    return lines


def _type(field: Field) -> str:
    bound = {"string": ("min", "max"), "integer": ("gte", "lte"), "float": ("gte", "lte")}.get(field.kind)
    names = {
        "string": "z.string()",
        "integer": "z.number().int()",
        "float": "z.number()",
        "boolean": "z.boolean()",
        "datetime": f"instant({json.dumps(field.low)}, {json.dumps(field.high)})",
        "enum": f"z.enum({json.dumps(field.values)})",
        "reference": "z.string()",
        "reference_list": "z.array(z.string())",
    }
    text = names[field.kind]
    if bound is not None:
        text += "".join(f".{name}({json.dumps(value)})" for name, value in zip(bound, (field.low, field.high), strict=True) if value is not None)
    return text + (".nullable()" if field.takes_null else "")


def _analytics(entity: Entity, operation: str, field: str | None) -> str:
    if field is None:
        return f"app.get('/analytics/{entity.path}/count', (req, res) => res.json({{ result: db.{entity.name}.size }}));"
    computed = f"{_ANALYTICS[operation]}(present('{entity.name}', '{field}'))"
    return f"app.get('/analytics/{entity.path}/{field}/{operation}', (req, res) => res.json({{ result: {computed} }}));"


def _action(dialect: JavaScript, entity: Entity, action: Action) -> list[str]:
    body = [f"const self = find('{entity.name}', req.params.id);"]
    body.append(f"if (!{json.dumps(action.from_values)}.includes(self.{action.enum_field})) throw new Problem(400, 'wrong state');")
    body += [f"if (!{condition}) throw new Problem(409, 'a condition does not hold');" for condition in dialect.conditions(entity, action)]
    body += [*dialect.effects(entity, action), f"self.{action.enum_field} = {json.dumps(action.to_value)};", "res.json(self);"]
    return [f"app.post('/{entity.path}/:id/{action.name}', (req, res) => {{", *("  " + line for line in body), "});"]


class JavaScript(Dialect):
    """``== null`` is true of null and of what is not there."""

    AND = "&&"
    THIS = "self"

    def is_null(self, place: Place, field: Field, *, null: bool) -> str:
        return f"({self.value(place, field)} {'==' if null else '!='} null)"

    def value(self, place: Place, field: Field) -> str:
        return f"{place.variable}.{field.name}"

    def literal(self, value: object, field: Field | None) -> str:
        return json.dumps(value)

    def comparison(self, left: str, comparator: str, right: str) -> str:
        return f"{left} {({'==': '===', '!=': '!=='}).get(comparator, comparator)} {right}"

    def count(self, place: Place, field: Field) -> str:
        return f"{self.value(place, field)}.length"

    def sum(self, place: Place, field: Field, item: Place, summed: Field) -> str:
        return f"total({self.listed(place, field)}.map(({item.variable}) => {self.value(item, summed)} ?? 0))"

    def quantified(self, quantifier: str, place: Place, field: Field, item: Place, condition: str) -> str:
        method = {"any": "some", "all": "every"}[quantifier]
        return f"{self.listed(place, field)}.{method}(({item.variable}) => {condition})"

    def listed(self, place: Place, field: Field) -> str:
        """The objects of a list."""
        return f"{self.value(place, field)}.map((key) => db.{field.target}.get(key))"

    def store(self, place: Place, field: Field, text: str) -> str:
        return f"{self.value(place, field)} = {text};"

    def when(self, guards: tuple[str, ...], lines: list[str]) -> list[str]:
        return [f"if ({' && '.join(guards)}) {{", *("  " + line for line in lines), "}"]

    def with_other(self, place: Place, field: Field, other: Place, lines: list[str]) -> list[str]:
        fetched = f"const {other.variable} = db.{field.target}.get({self.value(place, field)});"
        return self.when((self.is_null(place, field, null=False),), [fetched, *lines])

    def with_each(self, place: Place, field: Field, item: Place, lines: list[str]) -> list[str]:
        return [f"for (const {item.variable} of {self.listed(place, field)}) {{", *("  " + line for line in lines), "}"]
