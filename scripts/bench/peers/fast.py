"""The quickest server that answers the bench's suite: blocking sockets, one thread a connection, no HTTP library. Run: fast.py PORT."""

from __future__ import annotations

import json
import socket
import sys
import threading

Things = dict[str, dict[str, object]]


def respond(status: str, value: object) -> bytes:
    """A response's bytes."""
    body = json.dumps(value).encode()
    return b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


def handle(things: Things, method: str, path: str, body: bytes) -> bytes:
    """The response to one request."""
    if path == "/reset":
        things.clear()
        return respond("200 OK", {})
    if method == "POST":
        thing = json.loads(body)
        things[thing["id"]] = thing
        return respond("201 Created", thing)
    thing = things.get(path.rpartition("/")[2])
    if thing is None:
        return respond("404 Not Found", {})
    if method == "PATCH":
        thing.update(json.loads(body))
    return respond("200 OK", thing)


def read_request(connection: socket.socket) -> tuple[bytes, bytes] | None:
    """Head and body of the next request, None at the end of the connection. Clients may send the two apart."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    _, found, rest = head.partition(b"Content-Length: ")
    length = int(rest.partition(b"\r\n")[0]) if found else 0
    while len(body) < length:
        body += connection.recv(65536)
    return head, body


def serve(connection: socket.socket) -> None:
    """Answer one connection's requests until it ends; its things are its own, so that many suites can play at once."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    things: Things = {}
    while request := read_request(connection):
        head, body = request
        method, path, _ = head.decode().split(" ", 2)
        connection.sendall(handle(things, method, path, body))
    connection.close()


def main() -> None:
    """Serve on the port in the first argument."""
    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
