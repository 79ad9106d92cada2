"""Reads ``initial_specification.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harnesses.reference_agent import part_reader
from harnesses.reference_agent.model import Api, Entity, Impossible
from harnesses.reference_agent.text import Cursor, Line, Lines, Unreadable

FILE = "initial_specification.md"
_COUNTS = re.compile(r"The API has (\d+) entit(?:y|ies), (\d+) enum types?, (\d+) relationships?, (\d+) analytics endpoints? and (\d+) actions?\.")


def specification(text: str) -> Api:
    """The API that a specification describes. Raises :class:`Unreadable`, also when the counts at its top are not those of what follows."""
    lines = Lines.of(text, FILE)
    lines.expect("# Specification of the API")
    counts = lines.next("how many of everything there are")
    _pass_prose(lines)
    enums = _enum_types(lines)
    api = Api(_entities(lines))
    _analytics(lines, api)
    _actions(lines, api)
    lines.end()
    _compare_enums(enums, api)
    _compare_counts(counts, api)
    return api


def _pass_prose(lines: Lines) -> None:
    """Move over the paragraphs that explain a part: they say nothing about this API."""
    while (line := lines.peek()) is not None and not line.text.startswith(("#", "-")):
        lines.next("prose")


def _part(lines: Lines, title: str) -> None:
    lines.expect(f"# {title}")
    _pass_prose(lines)


def _enum_types(lines: Lines) -> list[tuple[Line, str, list[str], str, str]]:
    """Each bullet's line, type, values, field and entity."""
    _part(lines, "Enum types")
    return [_enum_type(line) for line in lines.starting_with("- ")]


def _enum_type(line: Line) -> tuple[Line, str, list[str], str, str]:
    cursor = Cursor(line)
    cursor.expect("- ")
    enum = cursor.quoted()
    cursor.expect(": ")
    values = cursor.strings()
    cursor.expect(" (field ")
    field = cursor.quoted()
    cursor.expect(" of entity ")
    entity = cursor.quoted()
    cursor.expect(")")
    cursor.end()
    return line, enum, values, field, entity


def _entities(lines: Lines) -> list[Entity]:
    _part(lines, "Entities")
    return [_entity(heading, lines) for heading in _headings(lines)]


def _headings(lines: Lines) -> Iterator[Line]:
    """The headings of level 2 in this part. Whoever iterates reads what belongs to one before asking for the next."""
    while (line := lines.peek()) is not None and line.text.startswith("## "):
        yield lines.next("a heading").without("## ")


def _entity(heading: Line, lines: Lines) -> Entity:
    path = lines.next("the path of an entity").without("Path: ")
    if path.text != f"/{heading.text.lower()}":
        raise path.wrong(f'the path of "{heading.text}", which is its name in lower case')
    return Entity(heading.text, path.text, part_reader.fields(lines))


def _analytics(lines: Lines, api: Api) -> None:
    _part(lines, "Analytics endpoints")
    entities = {entity.path: entity for entity in api.entities}
    for line in lines.starting_with("- "):
        cursor = Cursor(line)
        cursor.expect("- ")
        path, endpoint = part_reader.analytics(cursor)
        cursor.expect(": ")
        if path not in entities:
            raise line.wrong("the path of an entity behind /analytics")
        entities[path].analytics.append(endpoint)


def _actions(lines: Lines, api: Api) -> None:
    _part(lines, "Actions")
    for heading in _headings(lines):
        name, _, action = heading.text.partition(".")
        path = lines.next("the path of an action").without("Path: POST ")
        try:
            entity = api.entity(name)
        except Impossible as error:
            raise heading.wrong(f"an entity before the dot ({error})") from None
        if path.text != f"{entity.path}/{{id}}/{action}":
            raise path.wrong(f"the path of the action {heading.text}")
        entity.actions.append(part_reader.action(action, lines))


def _compare_enums(enums: list[tuple[Line, str, list[str], str, str]], api: Api) -> None:
    """Enum types are listed twice: in their own part and at their fields."""
    fields = [(field.enum, field.values, field.name, entity.name) for entity in api.entities for field in entity.fields if field.enum]
    for line, *enum in enums:
        if tuple(enum) not in fields:
            raise line.wrong("an enum type as it is described at its field")
    if len(enums) != len(fields):
        raise Unreadable(f"{FILE}: lists {len(enums)} enum types, but {len(fields)} fields have one")


def _compare_counts(line: Line, api: Api) -> None:
    match = _COUNTS.fullmatch(line.text)
    fields = [field for entity in api.entities for field in entity.fields]
    found = (
        len(api.entities),
        sum(field.kind == "enum" for field in fields),
        sum(field.kind in ("reference", "list") for field in fields),
        sum(len(entity.analytics) for entity in api.entities),
        sum(len(entity.actions) for entity in api.entities),
    )
    if match is None or tuple(map(int, match.groups())) != found:
        raise line.wrong("the counts of entities, enum types, relationships, analytics endpoints and actions: {}, {}, {}, {}, {}".format(*found))
