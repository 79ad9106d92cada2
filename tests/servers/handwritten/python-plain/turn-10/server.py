"""HTTP: finds out what a request wants and has the store do it."""

import json
import socketserver
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote

from fields import Invalid
from schema import ANALYTICS, ENTITIES
from store import Conflict, NotFound, Store

STORE = Store(ENTITIES)
LOCK = threading.Lock()

PATHS = {name.lower(): name for name in ENTITIES}
REPORTS = {
    tuple(part for part in (entity.lower(), field, function) if part):
        (entity, field, function)
    for entity, field, function in ANALYTICS
}


class NotAllowed(Exception):
    pass


FAILURES = {Invalid: 400, NotFound: 404, NotAllowed: 405, Conflict: 409}


def no_constant(name):
    raise ValueError(f"{name} is not JSON")


def parse(raw):
    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise Invalid("the body is not valid JSON") from None
    if not isinstance(body, dict):
        raise Invalid("the body is not a JSON object")
    return body


def answer(method, path, raw):
    """Status and content (None for no body) of the answer."""
    parts = [unquote(part) for part in path.split("?")[0].split("/")[1:]]

    if parts == ["reset"]:
        if method != "POST":
            raise NotAllowed(method)
        STORE.reset()
        return 204, None

    if parts[:1] == ["analytics"]:
        report = REPORTS.get(tuple(parts[1:]))
        if report is None:
            raise NotFound(path)
        if method != "GET":
            raise NotAllowed(method)
        return 200, {"result": STORE.analyse(*report)}

    entity = PATHS.get(parts[0]) if parts else None
    if entity is None:
        raise NotFound(path)

    if len(parts) == 1:
        if method == "GET":
            return 200, STORE.all(entity)
        if method == "POST":
            return 201, STORE.create(entity, parse(raw))
        raise NotAllowed(method)

    if len(parts) == 2:
        id_ = parts[1]
        if method == "GET":
            return 200, STORE.get(entity, id_)
        if method == "PATCH":
            STORE.get(entity, id_)      # 404 goes before a bad body
            return 200, STORE.update(entity, id_, parse(raw))
        if method == "DELETE":
            STORE.delete(entity, id_)
            return 204, None
        raise NotAllowed(method)

    raise NotFound(path)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1                       # head and body leave in one piece
    disable_nagle_algorithm = True

    def handle_request(self):
        try:
            raw = self.read_body()
        except ValueError:
            self.close_connection = True
            return self.reply(400, b'{"error": "bad body length"}')
        with LOCK:
            try:
                status, content = answer(self.command, self.path, raw)
            except tuple(FAILURES) as problem:
                status, content = FAILURES[type(problem)], {"error": str(problem)}
            except Exception:
                traceback.print_exc()
                status, content = 500, {"error": "the server is at fault"}
            data = None if content is None else json.dumps(content).encode()
        self.reply(status, data)

    do_GET = do_POST = do_PATCH = do_DELETE = handle_request
    do_PUT = do_HEAD = do_OPTIONS = handle_request

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            pieces = []
            while size := int(self.rfile.readline(100).split(b";")[0], 16):
                if size < 0:
                    raise ValueError(size)
                pieces.append(self.rfile.read(size))
                self.rfile.readline(100)
            while self.rfile.readline(65536).strip():
                pass
            return b"".join(pieces)
        length = int(self.headers.get("Content-Length") or 0)
        if length < 0:
            raise ValueError(length)
        return self.rfile.read(length)

    def reply(self, status, data):
        self.send_response(status)
        if data is not None:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        elif status != 204:
            self.send_header("Content-Length", "0")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if data is not None and self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *args):
        pass


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # the client went away
            traceback.print_exc()


if __name__ == "__main__":
    with Server(("0.0.0.0", int(sys.argv[1])), Handler) as server:
        server.serve_forever()
