"""A FastAPI server of a state: pydantic models in strict mode, a response model for each entity, routes written out."""

from __future__ import annotations

from tests.servers.python_dialect import Python, indented
from tests.servers.states import Action, Api, Entity, Field

_HEAD = '''\
"""The API, on FastAPI."""

import re
from datetime import datetime
from types import SimpleNamespace
from typing import Annotated, Literal

from fastapi import FastAPI, HTTPException
from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic import Field as Bounds

app = FastAPI(title="Generated API")


def calendar(text: str) -> str:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", text) is None:
        raise ValueError("expected YYYY-MM-DD hh:mm:ss")
    datetime.fromisoformat(text)
    return text


def between(low: str | None, high: str | None) -> AfterValidator:
    def check(text: str) -> str:
        if (low is not None and text < low) or (high is not None and text > high):
            raise ValueError("out of range")
        return text

    return AfterValidator(check)


Instant = Annotated[str, AfterValidator(calendar)]


class Input(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


def found(table: dict, key: str) -> SimpleNamespace:
    if key not in table:
        raise HTTPException(404, "not found")
    return table[key]


def linked(table: dict, keys: list[str]) -> None:
    for key in keys:
        if key not in table:
            raise HTTPException(422, f"{key} does not exist")


@app.post("/reset", status_code=204)
async def reset() -> None:
    for table in TABLES:
        table.clear()
'''

_CRUD = """
@app.post("/{path}", status_code=201, response_model={name}Output)
async def create_{path}(body: {name}Input):
    if body.id in {table}:
        raise HTTPException(409, "this id is taken")
    check_{path}(body)
    {table}[body.id] = SimpleNamespace(**dict(body))
    return {table}[body.id]


@app.get("/{path}", response_model=list[{name}Output])
async def list_{path}():
    return list({table}.values())


@app.get("/{path}/{{key}}", response_model={name}Output)
async def read_{path}(key: str):
    return found({table}, key)


@app.patch("/{path}/{{key}}", response_model={name}Output)
async def update_{path}(key: str, body: {name}Patch):
    this = found({table}, key)
    check_{path}(body)
    for name in body.model_fields_set - {{"id"}}:
        setattr(this, name, getattr(body, name))
    return this


@app.delete("/{path}/{{key}}")
async def delete_{path}(key: str):
    found({table}, key)
    del {table}[key]
{cascade}
    return {{"deleted": key}}
"""

_RUN = 'exec python -m uvicorn server:app --host 0.0.0.0 --port "$1" --no-access-log\n'


def generate(api: Api) -> dict[str, str]:
    """The files of the workspace."""
    dialect = Python(api, "{}.{}".format, _table)
    parts = [_HEAD, "\n" + "\n".join(f"{_table(entity.name)}: dict[str, SimpleNamespace] = {{}}" for entity in api.entities)]
    parts.append(f"TABLES = [{', '.join(_table(entity.name) for entity in api.entities)}]\n")
    for entity in api.entities:
        parts += [_model(entity, "Input"), _model(entity, "Patch"), _output(entity), _links(entity)]
        parts.append(_CRUD.format(path=entity.path, name=entity.name, table=_table(entity.name), cascade=_cascade(api, entity)))
        parts += [_analytics(entity, *each) for each in entity.analytics]
        parts += [_action(dialect, entity, action) for action in entity.actions]
    return {"server.py": "\n".join(parts), "run_server.sh": _RUN}


def _table(name: str) -> str:
    return f"{name.lower()}_table"


def _annotation(field: Field) -> str:
    match field.kind:
        case "string":
            text = _bounded("str", min_length=field.low, max_length=field.high)
        case "integer":
            text = _bounded("int", ge=field.low, le=field.high)
        case "float":
            text = _bounded("float", ge=field.low, le=field.high)
        case "boolean":
            text = "bool"
        case "datetime":
            text = f"Annotated[Instant, between({field.low!r}, {field.high!r})]"
        case "enum":
            text = f"Literal[{', '.join(map(repr, field.values))}]"
        case "reference":
            text = "str"
        case _:
            text = "list[str]"
    return f"{text} | None" if field.takes_null else text


def _bounded(kind: str, **bounds: object) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in bounds.items() if value is not None)
    return f"Annotated[{kind}, Bounds({given})]" if given else kind


def _model(entity: Entity, suffix: str) -> str:
    """The body of a POST, or with every field optional that of a PATCH."""
    patch = suffix == "Patch"
    lines = [f"\nclass {entity.name}{suffix}(Input):", "    id: str" + (" = None" if patch else "")]
    for field in entity.fields:
        default = "[]" if field.is_list else repr(field.default)
        lines.append(f"    {field.name}: {_annotation(field)}" + (" = None" if patch else "" if field.must_be_sent else f" = {default}"))
    return "\n".join(lines) + "\n"


def _output(entity: Entity) -> str:
    plain = {"integer": "int", "float": "float", "boolean": "bool"}
    lines = [f"\nclass {entity.name}Output(BaseModel):", "    id: str"]
    lines += [f"    {field.name}: {'list[str]' if field.is_list else plain.get(field.kind, 'str') + ' | None'}" for field in entity.fields]
    return "\n".join(lines) + "\n"


def _links(entity: Entity) -> str:
    lines = [f"\ndef check_{entity.path}(body: {entity.name}Input | {entity.name}Patch) -> None:"]
    for field in entity.fields:
        if field.is_reference:
            lines.append(f"    linked({_table(field.target)}, [] if body.{field.name} is None else [body.{field.name}])")
        elif field.is_list:
            lines.append(f"    linked({_table(field.target)}, body.{field.name} or [])")
    return "\n".join(lines if len(lines) > 1 else [*lines, "    return"]) + "\n"


def _cascade(api: Api, entity: Entity) -> str:
    lines: list[str] = []
    for holder, field in api.referring_to(entity):
        lines.append(f"for holder in {_table(holder.name)}.values():")
        value = f"holder.{field.name}"
        if field.is_list:
            lines.append(f"    {value} = [each for each in {value} if each != key]")
        else:
            lines += [f"    if {value} == key:", f"        {value} = None"]
    return "\n".join(indented(lines))


def _analytics(entity: Entity, operation: str, field: str | None) -> str:
    path = f"/analytics/{entity.path}/" + (operation if field is None else f"{field}/{operation}")
    results = {
        "count": f"len({_table(entity.name)})",
        "sum": "sum(values)",
        "avg": "sum(values) / len(values) if values else None",
        "min": "min(values, default=None)",
        "max": "max(values, default=None)",
    }
    lines = [f'\n@app.get("{path}")', f"async def {entity.path}_{field or 'all'}_{operation}():"]
    if field is not None:
        lines.append(f"    values = [each.{field} for each in {_table(entity.name)}.values() if each.{field} is not None]")
    return "\n".join([*lines, f'    return {{"result": {results[operation]}}}', ""])


def _action(dialect: Python, entity: Entity, action: Action) -> str:
    lines = [f'\n@app.post("/{entity.path}/{{key}}/{action.name}", response_model={entity.name}Output)', f"async def {entity.path}_{action.name}(key: str):"]
    body = [f"this = found({_table(entity.name)}, key)", f"if this.{action.enum_field} not in {list(action.from_values)!r}:"]
    body.append(f'    raise HTTPException(400, "not possible while {action.enum_field} is as it is")')
    for condition in dialect.conditions(entity, action):
        body += [f"if not ({condition}):", '    raise HTTPException(409, "a condition does not hold")']
    body += [*dialect.effects(entity, action), f"this.{action.enum_field} = {action.to_value!r}", "return this"]
    return "\n".join([*lines, *indented(body), ""])
