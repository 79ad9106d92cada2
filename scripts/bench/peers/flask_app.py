"""A recording on Flask's own server, as agents run it. Run: flask_app.py RECORDING PORT."""

from __future__ import annotations

import logging
import sys

from flask import Flask, Response, request
from replay import Replay

REPLAY = Replay(sys.argv[1])
app = Flask(__name__)


@app.route("/<path:path>", methods=["GET", "POST", "PATCH", "DELETE"])
def answer(path: str) -> Response:
    """Parse the request's body, say what the recording says."""
    request.get_json(silent=True)
    status, body = REPLAY.answer(request.path)
    return Response(body, status, mimetype="application/json")


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app.run("127.0.0.1", int(sys.argv[2]), threaded=True)
