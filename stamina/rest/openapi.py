"""A state as an OpenAPI 3.1 document, for judges that are not ours.

The document says what JSON Schema can say. What it cannot is in the descriptions, and 400 is documented wherever it may be the answer: that an instant is in
the calendar and in its range, that the ids of references exist, that an id is not taken, that a number is far beyond what any double holds.
"""

from __future__ import annotations

from typing import Any, Final

from stamina.exchange import Json
from stamina.rest.expressions import Scalar
from stamina.rest.prose.endpoints import action_lines
from stamina.rest.schema import (
    Action,
    Analytics,
    AnalyticsOperation,
    BooleanType,
    DatetimeType,
    Entity,
    EnumType,
    Field,
    FieldType,
    FloatType,
    IntegerType,
    ReferenceListType,
    ReferenceType,
    State,
    StringType,
)
from stamina.rest.suite.removed import analytics_label, analytics_path
from stamina.rest.testdata import needed, takes_null
from stamina.rest.values import may_be_null

Schema = dict[str, Json]

_ID: Final[Schema] = {"type": "string", "minLength": 1}
_INSTANT: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$"
_ERROR: Final = "#/components/schemas/Error"


def document(state: State, title: str = "API") -> dict[str, Json]:
    """The document of a state, as JSON values."""
    paths: dict[str, Json] = {"/reset": {"post": _operation("reset", "Empty everything", {"204": _nothing("Everything is gone.")})}}
    schemas: dict[str, Schema] = {"Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}}
    for entity in state.entities:
        paths.update(_paths(entity))
        schemas.update(_schemas(entity))
    return {"openapi": "3.1.0", "info": {"title": title, "version": "1"}, "paths": paths, "components": {"schemas": schemas}}


def _paths(entity: Entity) -> dict[str, Json]:
    one, path = f"/{entity.segment}/{{id}}", f"/{entity.segment}"
    parameter = {"name": "id", "in": "path", "required": True, "schema": _ID}
    return {
        path: {
            "get": _operation(f"list_{entity.segment}", f"All objects of {entity.name}", {"200": _json({"type": "array", "items": _ref(entity.name)})}),
            "post": _create(entity),
        },
        one: {
            "parameters": [parameter],
            "get": _operation(f"get_{entity.segment}", f"One {entity.name}", {"200": _json(_ref(entity.name)), **_refusals(404)}),
            "patch": _update(entity),
            "delete": _operation(f"delete_{entity.segment}", f"Delete one {entity.name}", {"204": _nothing("It is gone."), **_refusals(404)}),
        },
        **{f"{one}/{action.name}": {"parameters": [parameter], "post": _act(entity, action)} for action in entity.actions},
        **{analytics_path(entity.segment, each): {"get": _compute(entity, each)} for each in entity.analytics},
    }


def _create(entity: Entity) -> Schema:
    users = [f"{verb}_{entity.segment}" for verb in ("get", "update", "delete")] + [f"{entity.segment}_{action.name}" for action in entity.actions]
    links = {user: {"operationId": user, "parameters": {"id": "$response.body#/id"}} for user in users}
    answers = {"201": {**_json(_ref(entity.name)), "links": links}, **_refusals(400, 409)}
    return {**_operation(f"create_{entity.segment}", f"Create one {entity.name}", answers), **_body(f"{entity.name}Create")}


def _update(entity: Entity) -> Schema:
    answers = {"200": _json(_ref(entity.name)), **_refusals(400, 404)}
    return {**_operation(f"update_{entity.segment}", f"Change the fields of one {entity.name} that are given", answers), **_body(f"{entity.name}Update")}


def _act(entity: Entity, action: Action) -> Schema:
    answers = {"200": _json(_ref(entity.name)), **_refusals(400, 404, 409)}
    operation = _operation(f"{entity.segment}_{action.name}", f"The action {action.name}", answers)
    return {**operation, "description": "\n".join(action_lines(action))}


def _compute(entity: Entity, analytics: Analytics) -> Schema:
    may_be_nothing = analytics.operation in (AnalyticsOperation.AVG, AnalyticsOperation.MIN, AnalyticsOperation.MAX)
    kind = "integer" if analytics.operation is AnalyticsOperation.COUNT else "number"
    result = {"type": "object", "required": ["result"], "properties": {"result": {"type": [kind, "null"] if may_be_nothing else kind}}}
    label = analytics_label(analytics)
    return _operation(f"{entity.segment}_{label}", f"{label} of {entity.name}", {"200": _json(result)})


def _schemas(entity: Entity) -> dict[str, Schema]:
    given = {field.name: _given(field) for field in entity.fields}
    stored = {field.name: _stored(field) for field in entity.fields}
    required = ["id", *(field.name for field in entity.fields if needed(field))]
    return {
        entity.name: {"type": "object", "required": ["id", *stored], "properties": {"id": _ID, **stored}},
        f"{entity.name}Create": {"type": "object", "required": required, "properties": {"id": _ID, **given}},
        # A body with an id other than the object's own is not specified (H4), so the document knows of none.
        f"{entity.name}Update": {"type": "object", "properties": given},
    }


def _given(field: Field) -> Schema:
    """What a request may carry for the field (V1-V5)."""
    schema = _or_null(_limited(field.type), nullable=takes_null(field))
    return schema if field.default is None else {**schema, "default": field.default}


def _stored(field: Field) -> Schema:
    """What an answer carries: effects heed no bounds (B4), so there are none."""
    return _or_null(_bare(field.type), nullable=may_be_null(field))


def _or_null(schema: Schema, *, nullable: bool) -> Schema:
    if not nullable:
        return schema
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **values}


def _bare(kind: FieldType) -> Schema:
    match kind:
        case StringType() | DatetimeType():
            return {"type": "string"}
        case IntegerType():
            return {"type": "integer"}
        case FloatType():
            return {"type": "number"}
        case BooleanType():
            return {"type": "boolean"}
        case EnumType(_, values):
            return {"type": "string", "enum": list(values)}
        case ReferenceType(target):
            return {"type": "string", "description": f"The id of a {target} that exists."}
        case ReferenceListType(target):
            return {"type": "array", "items": {"type": "string"}, "description": f"Ids of objects of {target} that exist; their order does not matter."}


def _limited(kind: FieldType) -> Schema:
    bare = _bare(kind)
    match kind:
        case StringType(low, high):
            return {**bare, **_known(minLength=low, maxLength=high)}
        case IntegerType(low, high) | FloatType(low, high):
            return {**bare, **_known(minimum=low, maximum=high)}
        case DatetimeType(low, high):
            limits = [f"not before {low}" if low else "", f"not after {high}" if high else ""]
            return {**bare, "pattern": _INSTANT, "description": ", ".join(["An instant that is in the calendar", *filter(None, limits)]) + "."}
        case _:
            return bare


def _known(**bounds: Scalar | None) -> Schema:
    return {name: value for name, value in bounds.items() if value is not None}


def _operation(name: str, summary: str, answers: dict[str, Json]) -> Schema:
    return {"operationId": name, "summary": summary, "responses": answers}


def _body(schema: str) -> Schema:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _ref(schema)}}}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: Schema, description: str = "Done.") -> Schema:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _nothing(description: str) -> Schema:
    return {"description": description}


_WHY: Final = {400: "Bad input, or a wrong state.", 404: "There is no such id.", 409: "A conflict: the id is taken, or a condition does not hold."}


def _refusals(*statuses: int) -> dict[str, Any]:
    return {str(status): _json({"$ref": _ERROR}, _WHY[status]) for status in statuses}
