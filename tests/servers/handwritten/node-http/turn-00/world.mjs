// All objects of all entities, and what can be done to them.

import { absent } from './expr.mjs';

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const STATS = {
  count: (values) => values.length,
  sum: (values) => values.reduce((a, b) => a + b, 0),
  avg: (values) => (values.length ? STATS.sum(values) / values.length : null),
  min: (values) => values.reduce((a, b) => (a === null || b < a ? b : a), null),
  max: (values) => values.reduce((a, b) => (a === null || b > a ? b : a), null),
};

const fresh = (v) => (Array.isArray(v) ? [...v] : v);

export class World {
  #entities;
  #tables = new Map();

  /** entities: name -> { fields, analytics, actions } */
  constructor(entities) {
    this.#entities = entities;
    this.reset();
  }

  reset() {
    for (const name of Object.keys(this.#entities)) this.#tables.set(name, new Map());
  }

  has(name, id) {
    return typeof id === 'string' && this.#tables.get(name).has(id);
  }

  get(name, id) {
    const found = this.#tables.get(name).get(id);
    if (!found) throw new Refusal(404, `no such ${name}`);
    return found;
  }

  all(name) {
    return [...this.#tables.get(name).values()];
  }

  /** The objects behind a list of ids. */
  items(name, ids) {
    return ids.map((id) => this.get(name, id));
  }

  #check(key, spec, value) {
    if (value === null) {
      if (!spec.nullable) throw new Refusal(400, `${key} must not be null`);
      return;
    }
    const trouble = spec.problem(value, this);
    if (trouble) throw new Refusal(400, `${key} ${trouble}`);
  }

  create(name, body) {
    const id = Object.hasOwn(body, 'id') ? body.id : undefined;
    if (typeof id !== 'string') throw new Refusal(400, 'id must be a string');
    const made = { id };
    for (const [key, spec] of Object.entries(this.#entities[name].fields)) {
      if (Object.hasOwn(body, key)) {
        this.#check(key, spec, body[key]);
        made[key] = fresh(body[key]);
      } else if (spec.default !== undefined) {
        made[key] = fresh(spec.default);
      } else if (spec.required) {
        throw new Refusal(400, `${key} is required`);
      } else {
        made[key] = null;
      }
    }
    if (this.has(name, id)) throw new Refusal(409, `${name} ${id} exists already`);
    this.#tables.get(name).set(id, made);
    return made;
  }

  update(name, id, body) {
    const target = this.get(name, id);
    if (Object.hasOwn(body, 'id') && body.id !== id) throw new Refusal(400, 'id cannot be changed');
    const changes = {};
    for (const [key, spec] of Object.entries(this.#entities[name].fields)) {
      if (!Object.hasOwn(body, key)) continue;
      this.#check(key, spec, body[key]);
      changes[key] = fresh(body[key]);
    }
    return Object.assign(target, changes);
  }

  remove(name, id) {
    this.get(name, id);
    this.#tables.get(name).delete(id);
    for (const [other, { fields }] of Object.entries(this.#entities)) {
      for (const [key, spec] of Object.entries(fields)) {
        if (spec.target !== name) continue;
        for (const object of this.all(other)) {
          if (spec.many) object[key] = object[key].filter((x) => x !== id);
          else if (object[key] === id) object[key] = null;
        }
      }
    }
  }

  count(name) {
    return STATS.count(this.all(name));
  }

  stat(name, key, kind) {
    return STATS[kind](this.all(name).map((o) => o[key]).filter((v) => !absent(v)));
  }

  act(name, id, action) {
    const self = this.get(name, id);
    if (!action.from.includes(self[action.on])) {
      throw new Refusal(400, `${action.on} does not allow this action`);
    }
    if (!(action.when ?? []).every((holds) => holds(self, this))) {
      throw new Refusal(409, 'a condition does not hold');
    }
    for (const effect of action.then ?? []) effect(self, this);
    self[action.on] = action.to;
    return self;
  }
}
