"""Writes the server into the workspace: the program, the API as data, and the script that starts it."""

from __future__ import annotations

import json
import os
import pkgutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harnesses.reference_agent.model import Action, Api, Entity

RUN_SERVER = """#!/usr/bin/env bash
exec python3 server.py "$1"
"""


def server_source() -> str:
    """The program that serves any API."""
    source = pkgutil.get_data(__package__ or "", "server_template.py")
    assert source is not None
    return source.decode()


def api_data(api: Api) -> dict[str, Any]:
    """The API as the server reads it: ``paths`` to entity names, and the entities."""
    return {
        "paths": {entity.path: entity.name for entity in api.entities},
        "entities": [_entity_data(entity) for entity in api.entities],
    }


def _entity_data(entity: Entity) -> dict[str, Any]:
    return {
        "name": entity.name,
        "fields": [asdict(field) for field in entity.fields],
        "analytics": [asdict(endpoint) for endpoint in entity.analytics],
        "actions": [_action_data(action) for action in entity.actions],
    }


def _action_data(action: Action) -> dict[str, Any]:
    return {
        "name": action.name,
        "field": action.field,
        "sources": action.sources,
        "goal": action.goal,
        "conditions": [condition.data() for condition in action.conditions],
        "effects": [effect.data() for effect in action.effects],
    }


def server_files(data: Mapping[str, Any]) -> dict[str, str]:
    """All files of the server, by name."""
    return {
        "server.py": server_source(),
        "api.json": json.dumps(data, indent=1) + "\n",
        "run_server.sh": RUN_SERVER,
    }


def write_atomically(path: Path, text: str) -> None:
    """Replace a file by a whole one: who is ended half-way leaves the old one. Raises OSError."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
