"""The mistakes that the mock agent makes. Each is a real one: in the data that it writes about the API, or in the program itself.

A mistake about a part of the API has a target, found when it is made; when the target is gone, so is the mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from harnesses.reference_agent.model import Api
from harnesses.reference_agent.session import Flaw, Session
from harnesses.reference_agent.text import Unreadable
from harnesses.reference_agent.writer import api_data, server_files

Data = dict[str, Any]
Target = list[str]


class Mistake(StrEnum):
    """Every kind of mistake."""

    NULL_ACCEPTED = "null-accepted"
    BOUND_OFF_BY_ONE = "bound-off-by-one"
    DEFAULT_IGNORED = "default-ignored"
    REQUIRED_IGNORED = "required-ignored"
    ENUM_VALUE_MISSING = "enum-value-missing"
    CONDITION_DROPPED = "condition-dropped"
    EFFECT_DROPPED = "effect-dropped"
    ANALYTICS_MISSING = "analytics-missing"
    OLD_PATH_KEPT = "old-path-kept"
    OLD_FIELD_KEPT = "old-field-kept"
    CHANGE_FORGOTTEN = "change-forgotten"
    CASCADE_MISSED = "cascade-missed"
    ANALYTICS_ROUNDED = "analytics-rounded"
    BOOLEANS_ARE_NUMBERS = "booleans-are-numbers"
    CALENDAR_IGNORED = "calendar-ignored"
    PATCH_HALF_DONE = "patch-half-done"
    PATCH_FILLS_DEFAULTS = "patch-fills-defaults"
    CONFLICT_IS_BAD_INPUT = "conflict-is-bad-input"
    SERVER_CRASHES = "server-crashes"
    SERVER_DOES_NOT_START = "server-does-not-start"


def committed(session: Session, kinds: list[str], pick: int) -> Flaw | None:
    """The first of these mistakes that can be made now; None when none can."""
    data = api_data(session.api())
    for kind in kinds:
        if kind in EDITS:
            return Flaw(kind)
        targets = list(_forgettable(session) if kind == Mistake.CHANGE_FORGOTTEN else _TARGETS[kind](data, session.api()))
        if targets:
            return Flaw(kind, targets[pick % len(targets)])
    return None


def flawed_files(session: Session) -> dict[str, str]:
    """The server's files with all mistakes in them; mistakes that have lost their target are taken off the session."""
    data = api_data(_api_with_gaps(session))
    for flaw in list(session.flaws):
        if flaw.kind in _SPOILERS and not _spoil(flaw, data, session):
            session.flaws.remove(flaw)
    files = server_files(data)
    for flaw in session.flaws:
        for name, right, wrong in EDITS.get(flaw.kind, ()):
            files[name] = files[name].replace(right, wrong)
    return files


def _spoil(flaw: Flaw, data: Data, session: Session) -> bool:
    """Whether the mistake's target was there to be spoiled."""
    there = flaw.target in _TARGETS[flaw.kind](data, session.api())
    if there:
        _SPOILERS[flaw.kind](data, flaw.target)
    return there


def _forgettable(session: Session) -> Iterator[Target]:
    """The changes of the latest request without which the others still make sense."""
    number = len(session.requests)
    for place in range(len(session.steps(number)) if number else 0):
        try:
            session.api({(number, place)})
        except Unreadable:
            continue
        yield [str(number), str(place)]


def _api_with_gaps(session: Session) -> Api:
    """The API without the changes that were forgotten. Once a later change needs one of them, it is remembered."""
    while True:
        gaps = [flaw for flaw in session.flaws if flaw.kind == Mistake.CHANGE_FORGOTTEN]
        try:
            return session.api({(int(flaw.target[0]), int(flaw.target[1])) for flaw in gaps})
        except Unreadable:
            if not gaps:
                raise
            session.flaws.remove(gaps[0])


# ---------------------------------------------------------------- mistakes in the data


def _entity(data: Data, name: str) -> Data:
    return next(entity for entity in data["entities"] if entity["name"] == name)


def _part(data: Data, target: Target, parts: str) -> Data:
    """A field or action, by the names of its entity and its own."""
    found: Data = next(part for part in _entity(data, target[0])[parts] if part["name"] == target[1])
    return found


def _fields(wanted: Callable[[Data], Any]) -> Callable[[Data, Api], Iterator[Target]]:
    """Targets: the fields of a kind."""

    def targets(data: Data, _: Api) -> Iterator[Target]:
        for entity in data["entities"]:
            yield from ([entity["name"], field["name"]] for field in entity["fields"] if wanted(field))

    return targets


def _rules(parts: str) -> Callable[[Data, Api], Iterator[Target]]:
    """Targets: the conditions or effects of all actions."""

    def targets(data: Data, _: Api) -> Iterator[Target]:
        for entity in data["entities"]:
            for action in entity["actions"]:
                yield from ([entity["name"], action["name"], str(place)] for place in range(len(action[parts])))

    return targets


def _endpoints(data: Data, _: Api) -> Iterator[Target]:
    for entity in data["entities"]:
        yield from ([entity["name"], each["field"], each["operation"]] for each in entity["analytics"])


def _former_paths(data: Data, api: Api) -> Iterator[Target]:
    there = [entity["name"] for entity in data["entities"]]
    for entity in api.entities:
        yield from ([entity.name, path] for path in entity.former_paths if entity.name in there and path not in data["paths"])


def _former_fields(data: Data, api: Api) -> Iterator[Target]:
    fields = {entity["name"]: [field["name"] for field in entity["fields"]] for entity in data["entities"]}
    for entity in api.entities:
        yield from ([entity.name, name] for name in entity.former_fields if name not in fields.get(entity.name, [name]))


_BOUNDS = ("minimum length", "maximum length", "minimum", "maximum")


def _count_bounds(field: Data) -> list[str]:
    bounds = field["bounds"]
    return [words for words in _BOUNDS if words in bounds and (words != "minimum length" or bounds[words] > 0)]


def _loosen(data: Data, target: Target) -> None:
    field = _part(data, target, "fields")
    words = _count_bounds(field)[-1]
    field["bounds"][words] += 1 if words.startswith("max") else -1


def _set(**values: Any) -> Callable[[Data, Target], None]:
    return lambda data, target: _part(data, target, "fields").update(values)


def _drop_value(data: Data, target: Target) -> None:
    _part(data, target, "fields")["values"].pop()


def _drop_rule(parts: str) -> Callable[[Data, Target], None]:
    return lambda data, target: _part(data, target, "actions")[parts].pop(int(target[2]))


def _drop_endpoint(data: Data, target: Target) -> None:
    _entity(data, target[0])["analytics"].remove({"field": target[1], "operation": target[2]})


def _keep_path(data: Data, target: Target) -> None:
    data["paths"][target[1]] = target[0]


def _keep_field(data: Data, target: Target) -> None:
    kept = {"name": target[1], "kind": "string", "required": False, "nullable": True, "bounds": {}, "has_default": False}
    _entity(data, target[0])["fields"].append({**kept, "default": None, "enum": "", "values": [], "target": ""})


_TARGETS: dict[str, Callable[[Data, Api], Iterator[Target]]] = {
    Mistake.NULL_ACCEPTED: _fields(lambda field: not field["nullable"] and field["kind"] != "list"),
    Mistake.BOUND_OFF_BY_ONE: _fields(_count_bounds),
    Mistake.DEFAULT_IGNORED: _fields(lambda field: field["has_default"] and field["kind"] != "list"),
    Mistake.REQUIRED_IGNORED: _fields(lambda field: field["required"] and not field["has_default"]),
    Mistake.ENUM_VALUE_MISSING: _fields(lambda field: len(field["values"]) > 1),
    Mistake.CONDITION_DROPPED: _rules("conditions"),
    Mistake.EFFECT_DROPPED: _rules("effects"),
    Mistake.ANALYTICS_MISSING: _endpoints,
    Mistake.OLD_PATH_KEPT: _former_paths,
    Mistake.OLD_FIELD_KEPT: _former_fields,
}

_SPOILERS: dict[str, Callable[[Data, Target], None]] = {
    Mistake.NULL_ACCEPTED: _set(nullable=True),
    Mistake.BOUND_OFF_BY_ONE: _loosen,
    Mistake.DEFAULT_IGNORED: _set(has_default=False),
    Mistake.REQUIRED_IGNORED: _set(required=False),
    Mistake.ENUM_VALUE_MISSING: _drop_value,
    Mistake.CONDITION_DROPPED: _drop_rule("conditions"),
    Mistake.EFFECT_DROPPED: _drop_rule("effects"),
    Mistake.ANALYTICS_MISSING: _drop_endpoint,
    Mistake.OLD_PATH_KEPT: _keep_path,
    Mistake.OLD_FIELD_KEPT: _keep_field,
}

# ---------------------------------------------------------------- mistakes in the program

Edit = tuple[str, str, str]

EDITS: dict[str, tuple[Edit, ...]] = {
    Mistake.CASCADE_MISSED: (("server.py", "in self.incoming:\n            empty_references(", "in self.incoming[1:]:\n            empty_references("),),
    Mistake.ANALYTICS_ROUNDED: (("server.py", "return sum(values) / len(values)", "return sum(values) // len(values)"),),
    Mistake.BOOLEANS_ARE_NUMBERS: (
        ("server.py", "type(value) is int and", "isinstance(value, int) and"),
        ("server.py", "type(value) in (int, float) and", "isinstance(value, (int, float)) and"),
    ),
    Mistake.CALENDAR_IGNORED: (
        ("server.py", "    except ValueError:\n        return False\n    return True\n", "    except ValueError:\n        return True\n    return True\n"),
    ),
    Mistake.PATCH_HALF_DONE: (("server.py", "                changes[name] = value\n", "                found[name] = value\n"),),
    Mistake.PATCH_FILLS_DEFAULTS: (
        (
            "server.py",
            "        found.update(changes)\n",
            "        found.update({name: each.left_out() for name, each in self.fields.items() if each.has_default} | changes)\n",
        ),
    ),
    Mistake.CONFLICT_IS_BAD_INPUT: (("server.py", 'raise Refused(CONFLICT, "a condition', 'raise Refused(BAD_INPUT, "a condition'),),
    Mistake.SERVER_CRASHES: (
        ("server.py", "import math\n", "import math\nimport os\n"),
        ("server.py", 'raise Refused(BAD_INPUT, "the body is not a JSON object")', "os._exit(1)"),
    ),
    Mistake.SERVER_DOES_NOT_START: (("run_server.sh", "python3 server.py", "python3 servers.py"),),
}
"""Mistake ► file, right text (there once), wrong text."""
