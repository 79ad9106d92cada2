"""``initial_specification.md``: the API of turn 0, so complete that the state can be rebuilt from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stamina.rest.prose.endpoints import action_lines, action_path, analytics_text
from stamina.rest.prose.fields import ID_LINE, field_text
from stamina.rest.prose.literals import listed, quoted
from stamina.rest.schema import Entity, EnumType, Field, ReferenceListType, ReferenceType, State
from stamina.words import counted

_ENUMS = "Values are case-sensitive. Each enum type belongs to the one field named behind it."
_ENTITIES = "Each entity has create, list, read, update and delete under its path, as README.md describes. All bounds are inclusive."
_ANALYTICS = 'Each answers 200 with a JSON object that has the key "result".'
_ACTIONS = "An action is called by POST without a body on an object. It moves an enum field of that object from one of the values listed to another value."


def specification(state: State) -> str:
    """The text of ``state``. Names freed in earlier turns are not in it: turn 0 has none."""
    lines = [
        "# Specification of the API",
        "",
        _overview(state),
        "",
        "README.md says how all of this behaves: statuses, validation, defaults, references, analytics and actions.",
        *_section("Enum types", _ENUMS, _enum_lines(state)),
        *_section("Entities", _ENTITIES, _entity_lines(state)),
        *_section("Analytics endpoints", _ANALYTICS, _analytics_lines(state)),
        *_section("Actions", _ACTIONS, _action_lines(state)),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def entity_field_lines(entity: Entity) -> list[str]:
    """The fields of an entity, ``id`` first."""
    return [f"- {ID_LINE}", *(f"- {field_text(field)}" for field in entity.fields)]


def _overview(state: State) -> str:
    kinds = [field.type for entity in state.entities for field in entity.fields]
    parts = [
        counted(len(state.entities), "entity", "entities"),
        counted(sum(isinstance(kind, EnumType) for kind in kinds), "enum type", "enum types"),
        counted(sum(isinstance(kind, ReferenceType | ReferenceListType) for kind in kinds), "relationship", "relationships"),
        counted(sum(len(entity.analytics) for entity in state.entities), "analytics endpoint", "analytics endpoints"),
        counted(sum(len(entity.actions) for entity in state.entities), "action", "actions"),
    ]
    return f"The API has {', '.join(parts[:-1])} and {parts[-1]}."


def _section(title: str, note: str, lines: Iterable[str]) -> list[str]:
    body = list(lines)
    return ["", f"# {title}", "", *([note, "", *body] if body else ["None."])]


def _enum_lines(state: State) -> Iterator[str]:
    for entity in state.entities:
        for field in entity.fields:
            if isinstance(field.type, EnumType):
                yield f"- {_enum_line(entity, field, field.type)}"


def _enum_line(entity: Entity, field: Field, kind: EnumType) -> str:
    return f"{quoted(kind.name)}: {listed(kind.values)} (field {quoted(field.name)} of entity {quoted(entity.name)})"


def _entity_lines(state: State) -> list[str]:
    blocks = [[f"## {entity.name}", "", f"Path: /{entity.segment}", "", *entity_field_lines(entity)] for entity in state.entities]
    return _joined(blocks)


def _analytics_lines(state: State) -> list[str]:
    return [f"- {analytics_text(entity, analytics)}" for entity in state.entities for analytics in entity.analytics]


def _action_lines(state: State) -> list[str]:
    blocks = [
        [f"## {entity.name}.{action.name}", "", f"Path: POST {action_path(entity, action.name)}", "", *action_lines(action)]
        for entity in state.entities
        for action in entity.actions
    ]
    return _joined(blocks)


def _joined(blocks: list[list[str]]) -> list[str]:
    lines = [line for block in blocks for line in [*block, ""]]
    return lines[:-1]
