"""A recording on the standard library's http.server with keep-alive, headers and body written apart, as agents write it. Run: stdlib.py RECORDING PORT."""

from __future__ import annotations

import contextlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from replay import Replay

REPLAY = Replay(sys.argv[1])


class Handler(BaseHTTPRequestHandler):
    """Says what the recording says."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def answer(self) -> None:
        """Read the request's body, send the answer."""
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with contextlib.suppress(ValueError):  # The recording knows that it is refused.
            json.loads(sent or b"{}")
        status, text = REPLAY.answer(self.path)
        body = text.encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if body:
            self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_DELETE = answer


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
