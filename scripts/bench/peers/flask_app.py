"""The bench's server on Flask's own server, as agents run it. Run: flask_app.py PORT."""

from __future__ import annotations

import logging
import sys
from typing import Any

from flask import Flask, request

THINGS: dict[str, dict[str, Any]] = {}
app = Flask(__name__)


@app.post("/reset")
def reset() -> dict[str, Any]:
    """Forget everything."""
    THINGS.clear()
    return {}


@app.post("/thing")
def create() -> tuple[dict[str, Any], int]:
    """Store a thing."""
    thing = request.get_json()
    THINGS[thing["id"]] = thing
    return thing, 201


@app.get("/thing/<key>")
def read(key: str) -> tuple[dict[str, Any], int]:
    """A thing, or 404."""
    return (THINGS[key], 200) if key in THINGS else ({}, 404)


@app.patch("/thing/<key>")
def update(key: str) -> dict[str, Any]:
    """Change a thing."""
    THINGS[key].update(request.get_json())
    return THINGS[key]


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app.run("127.0.0.1", int(sys.argv[1]), threaded=True)
