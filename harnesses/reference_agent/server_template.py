"""The server: ``python3 server.py PORT``. The API is described by api.json beside this file; the rules that are the same for every API are here."""

from __future__ import annotations

import json
import math
import operator
import re
import socketserver
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

Object = dict[str, Any]
Answer = tuple[int, Any]
Condition = Callable[[Object, Object], bool]
Value = Callable[[Object, Object], Any]
Effect = Callable[[Object, Object], None]
Owner = Callable[[Object, Object], "Object | None"]

BAD_INPUT, NOT_FOUND, NOT_ALLOWED, CONFLICT, BROKEN = 400, 404, 405, 409, 500
LARGEST_BODY = 64 * 1024 * 1024
DATETIME = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})")


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


# ---------------------------------------------------------------- entities


class Field:
    """A field: what values it takes."""

    def __init__(self, data: dict[str, Any], api: Api) -> None:
        self.name: str = data["name"]
        self.kind: str = data["kind"]
        self.required: bool = data["required"]
        self.nullable: bool = data["nullable"]
        self.values: list[str] = data["values"]
        self.target: str = data["target"]
        self.has_default: bool = data["has_default"]
        self._default: Any = data["default"]
        self._bounds: dict[str, Any] = data["bounds"]
        self._api = api
        self._check: Callable[[Any], bool] = getattr(self, f"_is_{self.kind}")

    def check(self, value: Any) -> None:
        """Raises Refused unless the field takes this value."""
        if value is None:
            if not self.nullable:
                raise Refused(BAD_INPUT, f"{self.name} must not be null")
        elif not self._check(value):
            raise Refused(BAD_INPUT, f"{self.name} does not take this value")

    def left_out(self) -> Any:
        """The value of the field in an object that is created without it."""
        if self.has_default:
            return list(self._default) if self.kind == "list" else self._default
        if self.required:
            raise Refused(BAD_INPUT, f"{self.name} is required")
        return None

    def _within(self, size: Any, low: str, high: str) -> bool:
        return not ((low in self._bounds and size < self._bounds[low]) or (high in self._bounds and size > self._bounds[high]))

    def _is_string(self, value: Any) -> bool:
        return type(value) is str and self._within(len(value), "minimum length", "maximum length")

    def _is_integer(self, value: Any) -> bool:
        return type(value) is int and self._within(value, "minimum", "maximum")

    def _is_float(self, value: Any) -> bool:
        return type(value) in (int, float) and is_finite(value) and self._within(value, "minimum", "maximum")

    def _is_boolean(self, value: Any) -> bool:
        return type(value) is bool

    def _is_datetime(self, value: Any) -> bool:
        return type(value) is str and is_datetime(value) and self._within(value, "earliest", "latest")

    def _is_enum(self, value: Any) -> bool:
        return type(value) is str and value in self.values

    def _is_reference(self, value: Any) -> bool:
        return type(value) is str and value in self._api.entities[self.target].objects

    def _is_list(self, value: Any) -> bool:
        return type(value) is list and all(self._is_reference(each) for each in value)


def is_finite(value: float) -> bool:
    """Whether a number is one that a 64-bit double can hold."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def is_datetime(text: str) -> bool:
    """Whether a string is of the form YYYY-MM-DD hh:mm:ss and in the calendar."""
    match = DATETIME.fullmatch(text)
    if match is None:
        return False
    try:
        datetime(*map(int, match.groups()))  # type: ignore[arg-type]
    except ValueError:
        return False
    return True


class Entity:
    """An entity and its objects by id."""

    def __init__(self, data: dict[str, Any], api: Api) -> None:
        self.name: str = data["name"]
        self.fields = {each["name"]: Field(each, api) for each in data["fields"]}
        self.objects: dict[str, Object] = {}
        self.actions: dict[str, Action] = {}
        self.incoming: list[tuple[Entity, Field]] = []
        self.analytics: set[tuple[str, str]] = {(each["field"], each["operation"]) for each in data["analytics"]}

    def find(self, key: str) -> Object:
        """The object with this id. Raises Refused when there is none."""
        found = self.objects.get(key)
        if found is None:
            raise Refused(NOT_FOUND, f"no {self.name} has the id {key}")
        return found

    def create(self, body: Object) -> Object:
        """Store a new object."""
        key = body.get("id")
        if type(key) is not str:
            raise Refused(BAD_INPUT, "id must be a string")
        if key in self.objects:
            raise Refused(CONFLICT, f"id {key} is taken")
        created: Object = {"id": key}
        for name, field in self.fields.items():
            if name in body:
                field.check(body[name])
                created[name] = body[name]
            else:
                created[name] = field.left_out()
        self.objects[key] = created
        return created

    def change(self, key: str, body: Object) -> Object:
        """Change the fields that the body carries, or none of them."""
        found = self.find(key)
        if "id" in body and body["id"] != key:
            raise Refused(BAD_INPUT, "id cannot be changed")
        changes = {}
        for name, value in body.items():
            if name in self.fields:
                self.fields[name].check(value)
                changes[name] = value
        found.update(changes)
        return found

    def delete(self, key: str) -> None:
        """Remove an object, and its id wherever something refers to it."""
        self.find(key)
        del self.objects[key]
        for entity, field in self.incoming:
            empty_references(entity, field.name, key)

    def compute(self, field: str, operation: str) -> Any:
        """The result of an analytics endpoint."""
        if operation == "count":
            return len(self.objects)
        values = [each[field] for each in self.objects.values() if each[field] is not None]
        if operation == "sum":
            return sum(values)
        if not values:
            return None
        if operation == "avg":
            return sum(values) / len(values)
        return min(values) if operation == "min" else max(values)


def empty_references(entity: Entity, name: str, key: str) -> None:
    """Take an id out of a field of all objects of an entity."""
    for each in entity.objects.values():
        value = each[name]
        if type(value) is list:
            if key in value:
                each[name] = [one for one in value if one != key]
        elif value == key:
            each[name] = None


# ---------------------------------------------------------------- conditions and effects

COMPARATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class Action:
    """An action, its conditions and effects made into functions of (this, item)."""

    def __init__(self, data: dict[str, Any], entity: Entity, api: Api) -> None:
        compiler = Compiler(entity, api)
        self._field: str = data["field"]
        self._sources: list[str] = data["sources"]
        self._goal: str = data["goal"]
        self._conditions = [compiler.condition(each) for each in data["conditions"]]
        self._effects = [compiler.effect(each) for each in data["effects"]]

    def perform(self, this: Object) -> Object:
        """Check, take effect, make the transition."""
        if this[self._field] not in self._sources:
            raise Refused(BAD_INPUT, f"not possible while {self._field} is {this[self._field]}")
        if not all(condition(this, this) for condition in self._conditions):
            raise Refused(CONFLICT, "a condition does not hold")
        for effect in self._effects:
            effect(this, this)
        this[self._field] = self._goal
        return this


class Compiler:
    """Makes functions of the conditions and effects of one entity's actions. Where there is no item, it is not looked at."""

    def __init__(self, entity: Entity, api: Api) -> None:
        self._entity = entity
        self._api = api

    def condition(self, data: list[Any]) -> Condition:
        """A condition."""
        kind, *parts = data
        if kind == "compare":
            return comparison(self._value(parts[0]), COMPARATORS[parts[1]], self._value(parts[2]))
        if kind in ("any", "every"):
            return quantified(any if kind == "any" else all, self._items(parts[0]), self.condition(parts[1]))
        value = self._value(parts[0])
        if kind == "is null":
            return lambda this, item: value(this, item) is None
        return lambda this, item: value(this, item) is not None

    def effect(self, data: list[Any]) -> Effect:
        """An effect."""
        kind, target, what = data
        if kind == "for each":
            return for_each(self._items(target), self.effect(what))
        owner, name = self._owner(target[1:-1]), target[-1]
        if kind == "increment":
            return increment(owner, name, what[1])
        if what[0] == "literal":
            return set_literal(owner, name, what[1])
        return set_result(owner, name, self._value(what))

    def _value(self, data: list[Any]) -> Value:
        kind, *parts = data
        if kind == "literal":
            return lambda this, item: parts[0]
        if kind == "arithmetic":
            return arithmetic(self._value(parts[0]), OPERATORS[parts[1]], self._value(parts[2]))
        if kind == "count":
            return lambda this, item: len(this[parts[0]])
        if kind == "sum":
            return total(self._items(parts[0]), parts[1])
        return value_of(self._owner(parts[:-1]), parts[-1])

    def _owner(self, names: list[str]) -> Owner:
        """The object that has the field: this, item, or what a reference of this refers to."""
        if names == ["item"]:
            return lambda this, item: item
        if names == ["this"]:
            return lambda this, item: this
        _, reference = names
        objects = self._target(reference).objects
        return lambda this, item: objects.get(this[reference])

    def _items(self, name: str) -> Callable[[Object], Iterator[Object]]:
        objects = self._target(name).objects
        return lambda this: (objects[key] for key in list(this[name]))

    def _target(self, name: str) -> Entity:
        return self._api.entities[self._entity.fields[name].target]


def comparison(left: Value, compare: Callable[[Any, Any], bool], right: Value) -> Condition:
    """A comparison; with null in it, it is false."""

    def holds(this: Object, item: Object) -> bool:
        one, other = left(this, item), right(this, item)
        return one is not None and other is not None and compare(one, other)

    return holds


def quantified(fold: Callable[[Iterator[bool]], bool], items: Callable[[Object], Iterator[Object]], test: Condition) -> Condition:
    """Whether any or every item of a list passes a test."""
    return lambda this, item: fold(test(this, each) for each in items(this))


def arithmetic(left: Value, operate: Callable[[Any, Any], Any], right: Value) -> Value:
    """Two values joined; null when one of them is."""

    def result(this: Object, item: Object) -> Any:
        one, other = left(this, item), right(this, item)
        return None if one is None or other is None else operate(one, other)

    return result


def total(items: Callable[[Object], Iterator[Object]], name: str) -> Value:
    """The sum of a field over a list, nulls left out."""
    return lambda this, item: sum(each[name] for each in items(this) if each[name] is not None)


def value_of(owner: Owner, name: str) -> Value:
    """The value of a field; null when there is no object."""

    def value(this: Object, item: Object) -> Any:
        found = owner(this, item)
        return None if found is None else found[name]

    return value


def for_each(items: Callable[[Object], Iterator[Object]], effect: Effect) -> Effect:
    """An effect on every object of a list."""

    def take_effect(this: Object, item: Object) -> None:
        for each in items(this):
            effect(this, each)

    return take_effect


def increment(owner: Owner, name: str, by: float) -> Effect:
    """Add to a field; null stays null."""

    def take_effect(this: Object, item: Object) -> None:
        found = owner(this, item)
        if found is not None and found[name] is not None:
            found[name] += by

    return take_effect


def set_literal(owner: Owner, name: str, value: Any) -> Effect:
    """Store a value; a list is stored as one of its own."""

    def take_effect(this: Object, item: Object) -> None:
        found = owner(this, item)
        if found is not None:
            found[name] = list(value) if type(value) is list else value

    return take_effect


def set_result(owner: Owner, name: str, value: Value) -> Effect:
    """Store the result of arithmetic; without one the field is left as it is."""

    def take_effect(this: Object, item: Object) -> None:
        found, result = owner(this, item), value(this, item)
        if found is not None and result is not None:
            found[name] = result

    return take_effect


# ---------------------------------------------------------------- the API


class Api:
    """All entities, and the answer to every request."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.entities: dict[str, Entity] = {}
        for each in data["entities"]:
            self.entities[each["name"]] = Entity(each, self)
        self._paths = {path.strip("/"): self.entities[name] for path, name in data["paths"].items()}
        for entity in self.entities.values():
            for field in entity.fields.values():
                if field.target:
                    self.entities[field.target].incoming.append((entity, field))
        for each in data["entities"]:
            entity = self.entities[each["name"]]
            entity.actions = {action["name"]: Action(action, entity, self) for action in each["actions"]}

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        """Status and JSON value of the answer. Raises Refused."""
        parts = [unquote(part) for part in path.partition("?")[0].strip("/").split("/")]
        if parts == ["reset"] and method == "POST":
            return self._reset()
        if parts[0] == "analytics" and len(parts) > 2 and method == "GET":
            return self._analytics(parts[1], parts[2:])
        entity = self._paths.get(parts[0])
        if entity is None or len(parts) > 3:
            raise Refused(NOT_FOUND, "no such path")
        if len(parts) == 1:
            return self._collection(entity, method, body)
        if len(parts) == 2:
            return self._object(entity, parts[1], method, body)
        return self._action(entity, parts[1], parts[2], method)

    def _reset(self) -> Answer:
        for entity in self.entities.values():
            entity.objects.clear()
        return 200, {}

    def _analytics(self, segment: str, parts: list[str]) -> Answer:
        entity = self._paths.get(segment)
        endpoint = ("", *parts) if len(parts) == 1 else tuple(parts)
        if entity is None or endpoint not in entity.analytics:
            raise Refused(NOT_FOUND, "no such analytics endpoint")
        return 200, {"result": entity.compute(*endpoint)}

    def _collection(self, entity: Entity, method: str, body: bytes) -> Answer:
        if method == "GET":
            return 200, list(entity.objects.values())
        if method == "POST":
            return 201, entity.create(parse_object(body))
        raise Refused(NOT_ALLOWED, "only GET and POST here")

    def _object(self, entity: Entity, key: str, method: str, body: bytes) -> Answer:
        if method == "GET":
            return 200, entity.find(key)
        if method == "PATCH":
            return 200, entity.change(key, parse_object(body))
        if method == "DELETE":
            entity.delete(key)
            return 204, None
        raise Refused(NOT_ALLOWED, "only GET, PATCH and DELETE here")

    def _action(self, entity: Entity, key: str, name: str, method: str) -> Answer:
        action = entity.actions.get(name)
        if action is None:
            raise Refused(NOT_FOUND, "no such action")
        if method != "POST":
            raise Refused(NOT_ALLOWED, "only POST here")
        return 200, action.perform(entity.find(key))


# ---------------------------------------------------------------- JSON and HTTP


def refuse_constant(name: str) -> Any:
    """NaN and Infinity are not JSON."""
    raise ValueError(f"{name} is not JSON")


DECODE = json.JSONDecoder(parse_constant=refuse_constant).decode
ENCODE = json.JSONEncoder(separators=(",", ":")).encode


def encode(value: Any) -> bytes:
    """A JSON value as bytes, all of them ASCII."""
    return ENCODE(value).encode("ascii")


def parse_object(body: bytes) -> Object:
    """The JSON object in a body. Raises Refused."""
    try:
        value = DECODE(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refused(BAD_INPUT, "the body is not valid JSON") from None
    if type(value) is not dict:
        raise Refused(BAD_INPUT, "the body is not a JSON object")
    return value


REASONS = {
    200: "OK",
    201: "Created",
    204: "No Content",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    500: "Internal Server Error",
}


class BadHttp(Exception):
    """Something that is not HTTP; the connection cannot go on."""


class Connection(socketserver.StreamRequestHandler):
    """One connection: request after request until one side has enough."""

    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        """Answer requests until the connection ends."""
        try:
            while self._serve_one():
                pass
        except BadHttp as error:
            self._send(BAD_INPUT, encode({"error": str(error)}), keep=False)
        except OSError:
            pass  # the other side went away, which is its right

    def _serve_one(self) -> bool:
        """Whether another request may follow."""
        line = self.rfile.readline(65537)
        if not line:
            return False
        words = line.split()
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            raise BadHttp("not a request line")
        method, path, version = (word.decode("latin-1") for word in words)
        headers = self._headers()
        body = self._body(headers)
        status, content = self.server.answer(method, path, body)
        connection = headers.get("connection", "").lower()
        keep = "close" not in connection if version == "HTTP/1.1" else "keep-alive" in connection
        keep = keep and method != "HEAD"  # its answer would have to come without a body
        self._send(status, content, keep=keep)
        return keep

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        for _ in range(200):
            line = self.rfile.readline(65537)
            if line in (b"\r\n", b"\n"):
                return headers
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon:
                raise BadHttp("not a header")
            headers[name.strip().lower()] = value.strip()
        raise BadHttp("too many headers")

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._chunks()
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise BadHttp("Content-Length is not a number")
        return self._exactly(length, 10)

    def _chunks(self) -> bytes:
        body = b""
        while True:
            chunk = self._exactly(self.rfile.readline(1000).partition(b";")[0].strip().decode("latin-1"), 16)
            if not chunk:
                self._headers()
                return body
            self.rfile.readline(3)
            body += chunk

    def _exactly(self, length: str, base: int) -> bytes:
        try:
            size = int(length, base)
        except ValueError:
            raise BadHttp("not a length") from None
        if not 0 <= size <= LARGEST_BODY:
            raise BadHttp("body too large")
        data = self.rfile.read(size)
        if len(data) < size:
            raise BadHttp("the body ends too early")
        return data

    def _send(self, status: int, content: bytes, *, keep: bool) -> None:
        length = "" if status == 204 else f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        end = "" if keep else "Connection: close\r\n"
        self.wfile.write(f"HTTP/1.1 {status} {REASONS[status]}\r\n{length}{end}\r\n".encode() + content)


class Server(socketserver.ThreadingTCPServer):
    """Listens on all interfaces; a thread for each connection, one request at a time."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, port: int, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        super().__init__(("0.0.0.0", port), Connection)  # noqa: S104

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer, whatever the request."""
        with self._lock:
            try:
                status, value = self._api.answer(method, path, body)
                return status, b"" if status == 204 else encode(value)
            except Refused as refused:
                return refused.status, encode({"error": str(refused)})
            except Exception:  # the server must survive whatever it is sent
                traceback.print_exc()
                return BROKEN, encode({"error": "internal error"})


def main() -> None:
    """Serve until somebody ends the process."""
    api = Api(json.loads(Path(__file__).with_name("api.json").read_text(encoding="utf-8")))
    with Server(int(sys.argv[1]), api) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
