"""The bench's server on the standard library's http.server with keep-alive, as agents write it. Run: stdlib.py PORT."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

THINGS: dict[str, dict[str, Any]] = {}


class Handler(BaseHTTPRequestHandler):
    """Things by id."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def answer(self, status: int, value: object) -> None:
        """Send a JSON answer."""
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> Any:
        """The request's JSON."""
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")

    def do_POST(self) -> None:
        """Forget everything, or store a thing."""
        thing = self.body()
        if self.path == "/reset":
            THINGS.clear()
            self.answer(200, {})
        else:
            THINGS[thing["id"]] = thing
            self.answer(201, thing)

    def do_PATCH(self) -> None:
        """Change a thing."""
        change = self.body()
        THINGS[self.path.rpartition("/")[2]].update(change)
        self.do_GET()

    def do_GET(self) -> None:
        """A thing, or 404."""
        thing = THINGS.get(self.path.rpartition("/")[2])
        self.answer(200 if thing else 404, thing or {})


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
