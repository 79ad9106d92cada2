import http from 'node:http';
import { entities } from './api.mjs';
import { Refusal, World } from './world.mjs';

const world = new World(entities);
const byPath = new Map(Object.keys(entities).map((name) => [name.toLowerCase(), name]));

const notFound = () => new Refusal(404, 'not found');
const notAllowed = () => new Refusal(405, 'method not allowed');

function parse(raw) {
  let body;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw));
  } catch {
    throw new Refusal(400, 'the body is not valid JSON');
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw new Refusal(400, 'the body is not a JSON object');
  }
  return body;
}

function segments(url) {
  try {
    return url.split(/[?#]/, 1)[0].split('/').slice(1).map(decodeURIComponent);
  } catch {
    throw notFound();
  }
}

function analytics(method, [path, ...rest]) {
  const name = byPath.get(path);
  const wanted = rest.join('/');
  if (!name || !(entities[name].analytics ?? []).includes(wanted)) throw notFound();
  if (method !== 'GET') throw notAllowed();
  return [200, { result: wanted === 'count' ? world.count(name) : world.stat(name, ...rest) }];
}

function collection(method, name, raw) {
  if (method === 'GET') return [200, world.all(name)];
  if (method === 'POST') return [201, world.create(name, parse(raw))];
  throw notAllowed();
}

function single(method, name, id, raw) {
  const object = world.get(name, id);
  if (method === 'GET') return [200, object];
  if (method === 'PATCH') return [200, world.update(name, id, parse(raw))];
  if (method === 'DELETE') return [204, world.remove(name, id)];
  throw notAllowed();
}

function action(method, name, id, verb) {
  const actions = entities[name].actions ?? {};
  if (!Object.hasOwn(actions, verb)) throw notFound();
  if (method !== 'POST') throw notAllowed();
  return [200, world.act(name, id, actions[verb])];
}

/** -> [status, value to send as JSON or undefined] */
function route(method, url, raw) {
  const [head, ...rest] = segments(url);
  if (head === 'analytics') return analytics(method, rest);
  if (head === 'reset' && rest.length === 0) {
    if (method !== 'POST') throw notAllowed();
    return [204, world.reset()];
  }
  const name = byPath.get(head);
  if (!name || rest.length > 2) throw notFound();
  if (rest.length === 0) return collection(method, name, raw);
  if (rest.length === 1) return single(method, name, rest[0], raw);
  return action(method, name, rest[0], rest[1]);
}

function answer(method, url, raw) {
  try {
    return route(method, url, raw);
  } catch (error) {
    if (error instanceof Refusal) return [error.status, { error: error.message }];
    console.error(error);
    return [500, { error: 'internal error' }];
  }
}

const server = http.createServer((req, res) => {
  const chunks = [];
  req.on('error', () => {});
  res.on('error', () => {});
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const [status, value] = answer(req.method, req.url, Buffer.concat(chunks));
    if (value === undefined) {
      res.writeHead(status).end();
      return;
    }
    const text = Buffer.from(JSON.stringify(value));
    res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': text.length }).end(text);
  });
});

// Clients may hold a connection open for as long as they like.
server.keepAliveTimeout = 3_600_000;
server.requestTimeout = 0;

process.on('uncaughtException', (error) => {
  console.error(error);
  if (error.syscall === 'listen') process.exit(1);
});

server.listen(Number(process.argv[2]), '0.0.0.0');
